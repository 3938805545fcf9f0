"""A response as the detectors see it, for tests of one detector alone."""

from __future__ import annotations

from datetime import datetime

from groundwire.claims.kind import kind_of
from groundwire.claims.times import times
from groundwire.detect.view import Dialogue, View
from groundwire.text.segment import sentences
from groundwire.types import ClaimKind, Segment, Source, Turn, Verifier

NOW = datetime(2026, 6, 15)


def segments_of(text: str, now: datetime = NOW) -> tuple[Segment, ...]:
    return tuple(
        Segment(
            i, text[span.start : span.end], span.start, span.end,
            times=tuple(times(text[span.start : span.end], span.start, now)),
            assertive=kind_of(text[span.start : span.end]) is ClaimKind.ASSERTION,
        )
        for i, span in enumerate(sentences(text))
    )  # fmt: skip


def view_of(
    text: str,
    *,
    now: datetime = NOW,
    sources: tuple[str, ...] = (),
    turns: tuple[tuple[str, str], ...] = (),
    verifier: Verifier | None = None,
) -> View:
    """`turns` are (role, text), oldest first."""
    said = tuple(Turn(i, role, spoken) for i, (role, spoken) in enumerate(turns, start=1))
    given = tuple(Source(f"S{i}", source) for i, source in enumerate(sources))
    return View(text, segments_of(text, now), now, Dialogue(turns=said), sources=given, verifier=verifier)
