"""A threshold with a guaranteed false positive rate, for any model and any data: split conformal prediction.

Let n supported responses be scored, and let a new one be exchangeable with them (no trend, no selection).
Flag scores above the k-th smallest of the n. By symmetry the rank of the new score among all n + 1 is
uniform, so it is flagged with probability at most (n + 1 − k) / (n + 1), whatever the scores mean and
however many are equal.

- On average over calibration sets: k = n + 1 − ⌊(n + 1) · max_fpr⌋, which needs n ≥ 1 / max_fpr − 1.
- With confidence c for *this* set: the share of supported responses above the k-th smallest exceeds max_fpr
  with probability at most P(Binomial(n, max_fpr) ≤ n − k), so k is the least that keeps this within 1 − c.

>>> rows_needed(0.05), rows_needed(0.05, confidence=0.95)
(19, 59)
>>> threshold([n / 100 for n in range(1, 101)], 0.05)
0.96
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate
from math import ceil, exp, floor, lgamma, log, log1p


class TooFewRows(ValueError):
    """The guarantee needs more supported rows than there are."""

    def __init__(self, needed: int, given: int) -> None:
        super().__init__(f"{needed} supported rows are needed, got {given}")
        self.needed = needed
        self.given = given


def rows_needed(max_fpr: float, confidence: float | None = None) -> int:
    """The minimum number of supported rows for the guarantee.

    Args:
        max_fpr: the guaranteed false positive rate, between 0 and 1.
        confidence: guarantee it for this calibration set with this probability; None: on average.
    """
    _validate(max_fpr, confidence)
    if confidence is None:
        return ceil(1 / Fraction(str(max_fpr))) - 1
    return max(1, ceil(log(1 - confidence) / log1p(-max_fpr) - 1e-9))


def rank(rows: int, max_fpr: float, confidence: float | None = None) -> int:
    """The rank of the threshold among the scores in ascending order, from 1. Raises `TooFewRows`."""
    needed = rows_needed(max_fpr, confidence)
    if rows < needed:
        raise TooFewRows(needed, rows)
    if confidence is None:
        return rows + 1 - floor((rows + 1) * Fraction(str(max_fpr)))
    tails = accumulate(_binomial(rows, above, max_fpr) for above in range(rows))
    above = sum(1 for tail in tails if tail <= 1 - confidence + 1e-12) - 1
    return rows - max(above, 0)


def threshold(scores: Sequence[float], max_fpr: float, confidence: float | None = None) -> float:
    """The score above which a response is flagged, from the scores of supported ones; see `rows_needed`."""
    return sorted(scores)[rank(len(scores), max_fpr, confidence) - 1]


def _binomial(n: int, k: int, p: float) -> float:
    """P(Binomial(n, p) = k), by logarithms, because n may be large."""
    ways = lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)
    return exp(ways + k * log(p) + (n - k) * log1p(-p))


def _validate(max_fpr: float, confidence: float | None) -> None:
    if not 0.0 < max_fpr < 1.0:
        raise ValueError(f"max_fpr must be between 0 and 1, got {max_fpr}")
    if confidence is not None and not 0.0 < confidence < 1.0:
        raise ValueError(f"confidence must be between 0 and 1, got {confidence}")
