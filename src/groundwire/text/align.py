"""Carry ranges of a cleaned text back to the raw text it was made from."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher

from groundwire.types import Span

MATCH_LIMIT = 4_000_000
"""Matching grows with the product of the lengths; beyond this the whole claim is marked instead."""


def place_spans(clean: str, raw: str, spans: Sequence[Span], offset: int = 0) -> tuple[Span, ...]:
    """Ranges of `clean` as ranges of `raw`, shifted by `offset`. What has no counterpart is dropped.

    >>> place_spans("It is red.", "It is **red**.", [Span(6, 9)], 100)
    (Span(start=108, end=111, score=1.0),)
    """
    if clean == raw:
        return tuple(Span(s.start + offset, s.end + offset, s.score) for s in spans)
    if not spans:
        return ()
    positions = _positions(clean, raw)
    placed = []
    for span in spans:
        there = [p for p in positions[span.start : span.end] if p is not None]
        if there:
            placed.append(Span(there[0] + offset, there[-1] + 1 + offset, span.score))
    return tuple(placed)


def _positions(clean: str, raw: str) -> list[int | None]:
    """For each character of `clean`, where it stands in `raw`."""
    positions: list[int | None] = [None] * len(clean)
    at = 0
    for i, character in enumerate(clean):
        at = raw.find(character, at)
        if at < 0:
            return _matched(clean, raw)
        positions[i] = at
        at += 1
    return positions


def _matched(clean: str, raw: str) -> list[int | None]:
    """The slow way, for text that was not only shortened but also reworded (a row with its headers)."""
    positions: list[int | None] = [None] * len(clean)
    if len(clean) * len(raw) <= MATCH_LIMIT:
        for a, b, size in SequenceMatcher(None, clean, raw, autojunk=False).get_matching_blocks():
            positions[a : a + size] = range(b, b + size)
    return positions
