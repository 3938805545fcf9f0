"""Metrics of scores and flags against labels, with NumPy only. `bad` is True for unsupported rows.

>>> bad = np.array([True, True, False, False])
>>> auroc(bad, np.array([0.9, 0.4, 0.4, 0.1]))
0.875
>>> f1(bad, np.array([True, False, True, False])), balanced_accuracy(bad, np.array([True, True, True, False]))
(0.5, 0.75)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Flags = NDArray[np.bool_]
Scores = NDArray[np.float64]
Range = tuple[int, int]
NAN = float("nan")
BINS = 10  # of the calibration error; the usual number


def auroc(bad: Flags, score: Scores) -> float:
    """Probability that an unsupported row scores above a supported one; equal scores count half."""
    positives, negatives = int(bad.sum()), int((~bad).sum())
    if not positives or not negatives:
        return NAN
    _, place, counts = np.unique(score, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[place]
    above = ranks[bad].sum() - positives * (positives + 1) / 2
    return float(above / (positives * negatives))


def precision(bad: Flags, flagged: Flags) -> float:
    return _share(int((bad & flagged).sum()), int(flagged.sum()))


def recall(bad: Flags, flagged: Flags) -> float:
    return _share(int((bad & flagged).sum()), int(bad.sum()))


def f1(bad: Flags, flagged: Flags) -> float:
    """F1 of the unsupported class; NaN if there are no such rows and no flags."""
    return _share(2 * int((bad & flagged).sum()), int(bad.sum()) + int(flagged.sum()))


def balanced_accuracy(bad: Flags, flagged: Flags) -> float:
    """Mean recall of both classes: .5 for a constant answer."""
    return (recall(bad, flagged) + recall(~bad, ~flagged)) / 2


@dataclass(frozen=True, slots=True)
class Bin:
    """Rows with a similar stated risk: its mean, the share of unsupported rows, and the count."""

    stated: float
    true: float
    rows: int


def reliability(bad: Flags, risk: Scores, bins: int = BINS) -> list[Bin]:
    """Equal-width bins of the stated risk, without empty ones."""
    which = np.clip((risk * bins).astype(int), 0, bins - 1)
    return [
        Bin(float(risk[inside].mean()), float(bad[inside].mean()), int(inside.sum()))
        for inside in (which == number for number in range(bins))
        if inside.any()
    ]


def calibration_error(bad: Flags, risk: Scores, bins: int = BINS) -> float:
    """Expected calibration error: mean distance of stated and true risk over rows."""
    if not len(bad):
        return NAN
    return sum(b.rows * abs(b.stated - b.true) for b in reliability(bad, risk, bins)) / len(bad)


def precision_recall(bad: Flags, score: Scores) -> tuple[Scores, Scores]:
    """Recall and precision for each threshold, from the highest score down."""
    values, place = np.unique(-score, return_inverse=True)
    flagged = np.cumsum(np.bincount(place, minlength=len(values))).astype(np.float64)
    hits = np.cumsum(np.bincount(place, weights=bad.astype(np.float64), minlength=len(values)))
    return hits / max(1, int(bad.sum())), hits / np.maximum(flagged, 1)


@dataclass(frozen=True, slots=True)
class SpanCount:
    """Characters marked by both, by us (`marked`) and by annotators (`true`)."""

    both: int
    marked: int
    true: int

    @property
    def f1(self) -> float:
        return _share(2 * self.both, self.marked + self.true)


def span_count(pairs: Iterable[tuple[Sequence[Range], Sequence[Range]]]) -> SpanCount:
    """Counts over all rows, each a pair (marked by us, marked by annotators)."""
    both = marked = true = 0
    for ours, theirs in pairs:
        mine, gold = _characters(ours), _characters(theirs)
        both += len(mine & gold)
        marked += len(mine)
        true += len(gold)
    return SpanCount(both, marked, true)


def _characters(ranges: Sequence[Range]) -> set[int]:
    return {at for start, end in ranges for at in range(start, end)}


def _share(part: int, whole: int) -> float:
    return part / whole if whole else NAN
