"""An operating point with a promise that holds for any model and any data: split conformal prediction.

Let n supported responses have been scored, and a new one come from where they came from (exchangeable: no
trend, no selection). Flag what scores above the k-th smallest of the n. By symmetry the new one's rank among
all n + 1 is as likely to be any, so it lies above with probability at most (n + 1 − k) / (n + 1), whatever
the scores mean and however many are equal.

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
    """The promise asked for needs more supported rows than there are."""

    def __init__(self, needed: int, given: int) -> None:
        super().__init__(f"{needed} supported rows are needed, {given} are given")
        self.needed = needed
        self.given = given


def rows_needed(max_fpr: float, confidence: float | None = None) -> int:
    """The fewest supported rows that can carry the promise at all."""
    _refuse_nonsense(max_fpr, confidence)
    if confidence is None:
        return ceil(1 / Fraction(str(max_fpr))) - 1
    return max(1, ceil(log(1 - confidence) / log1p(-max_fpr) - 1e-9))


def rank(rows: int, max_fpr: float, confidence: float | None = None) -> int:
    """Which of the scores in rising order (from 1) is the threshold; raises `TooFewRows`."""
    needed = rows_needed(max_fpr, confidence)
    if rows < needed:
        raise TooFewRows(needed, rows)
    if confidence is None:
        return rows + 1 - floor((rows + 1) * Fraction(str(max_fpr)))
    tails = accumulate(_binomial(rows, above, max_fpr) for above in range(rows))
    above = sum(1 for tail in tails if tail <= 1 - confidence + 1e-12) - 1
    return rows - max(above, 0)


def threshold(scores: Sequence[float], max_fpr: float, confidence: float | None = None) -> float:
    """The score above which a response is flagged, from the scores of supported ones."""
    return sorted(scores)[rank(len(scores), max_fpr, confidence) - 1]


def _binomial(n: int, k: int, p: float) -> float:
    """P(Binomial(n, p) = k), by logarithms: n may be large."""
    ways = lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)
    return exp(ways + k * log(p) + (n - k) * log1p(-p))


def _refuse_nonsense(max_fpr: float, confidence: float | None) -> None:
    if not 0.0 < max_fpr < 1.0:
        raise ValueError(f"a false alarm rate lies between 0 and 1, not at {max_fpr}")
    if confidence is not None and not 0.0 < confidence < 1.0:
        raise ValueError(f"a confidence lies between 0 and 1, not at {confidence}")
