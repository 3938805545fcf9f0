"""Claims with labels at sentence level, for the hybrid and for stage 2: one row per sentence of an answer."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from training.data import Row

from groundwire.text.sentences import blocks, sentences

MIN_OVERLAP = 2


@dataclass(frozen=True, slots=True)
class Claim:
    """`label` 1 supported, 0 not, -1 unknown (only the whole answer's label is known)."""

    row: int
    text: str
    start: int
    label: int
    spans: tuple[tuple[int, int], ...]
    kind: str


def split(text: str) -> list[tuple[int, int]]:
    """Sentences of an answer through its Markdown, with offsets."""
    found: list[tuple[int, int]] = []
    for block in blocks(text):
        for line in block.lines:
            for span in sentences(text[line.start : line.end]):
                found.append((line.start + span.start, line.start + span.end))
    return [(a, b) for a, b in found if sum(c.isalnum() for c in text[a:b]) >= 3]


def claims_of(index: int, row: Row) -> list[Claim]:
    """The sentences of a row; a single claim stays whole."""
    text = row["claim"]
    spans = row["spans"]
    if row["dataset"] not in ("ragtruth", "faithjudge_silver", "quintd", "qags", "aggrefact_err"):
        return [Claim(index, text, 0, row["label"], (), row["nli"] or "")]
    found = []
    for start, end in split(text):
        inside: list[tuple[int, int]] = []
        kinds: list[str] = []
        for span in spans or ():
            a, b = max(start, span["start"]), min(end, span["end"])
            if b - a >= MIN_OVERLAP and any(c.isalnum() for c in text[a:b]):
                inside.append((a - start, b - start))
                kinds.append(span["type"])
        label = -1 if spans is None and row["label"] == 0 else 0 if inside else 1
        if row["label"] == 0 and spans is not None and not spans:
            label = -1
        found.append(Claim(index, text[start:end], start, label, tuple(inside), "|".join(kinds)))
    return found


def weakest(rows: list[Row], claims: list[Claim], suspicion: np.ndarray) -> np.ndarray:
    """Labels where only whole answers have one: all sentences of a good answer are right (1), of a bad one
    the most suspicious is wrong (0) and the others are unknown (-1)."""
    row = np.array([claim.row for claim in claims])
    good = np.array([one["label"] == 1 for one in rows])
    label = np.where(good[row], 1, -1)
    order = np.lexsort((-suspicion, row))
    first = order[np.r_[True, np.diff(row[order]) > 0]]
    label[first[~good[row[first]]]] = 0
    return label
