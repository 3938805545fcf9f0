"""The evidence budget, in bits. Pure maths: nothing here knows about text or models.

>>> round(kl_bits(0.95, 0.05), 3)
3.823
>>> b = budget(p1=0.02, p0=0.60, target=0.95)     # the evidence speaks against the claim
>>> b.observed_bits < 0 < b.gap_bits
True
>>> budget(p1=0.99, p0=0.97, target=0.95).required_bits    # believed without any evidence
0.0
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite, log2, sqrt

EPSILON = 1e-6
Z95 = 1.959963984540054


def clip(p: float) -> float:
    """Keep a probability far enough from 0 and 1 that every logarithm is finite."""
    if not isfinite(p):
        raise ValueError(f"a probability must be a finite number, not {p}")
    return min(max(p, EPSILON), 1.0 - EPSILON)


def kl_bits(p: float, q: float) -> float:
    """KL(Ber(p) ‖ Ber(q)) in bits: what it costs to believe q where p holds."""
    p, q = clip(p), clip(q)
    if p == q:
        return 0.0
    return max(0.0, p * log2(p / q) + (1.0 - p) * log2((1.0 - p) / (1.0 - q)))


def required_bits(p0: float, target: float) -> float:
    """Evidence needed to lift the prior `p0` to `target`; nothing where it is there already."""
    return kl_bits(target, p0) if p0 < target else 0.0


def observed_bits(p1: float, p0: float) -> float:
    """Evidence seen, signed: what speaks against a claim counts against it."""
    return kl_bits(p1, p0) if p1 >= p0 else -kl_bits(p1, p0)


@dataclass(frozen=True, slots=True)
class Budget:
    """required − observed = gap. A positive gap means the evidence does not support the claim enough.

    `gap_low`/`gap_high` bound the gap where the probabilities are intervals.
    """

    required_bits: float
    observed_bits: float
    gap_bits: float
    gap_low: float
    gap_high: float

    def exceeds(self, threshold_bits: float) -> bool:
        return self.gap_bits > threshold_bits

    def certain(self, threshold_bits: float) -> bool:
        """True if the whole interval lies on the same side of the threshold."""
        return (self.gap_low > threshold_bits) == (self.gap_high > threshold_bits)


def budget(
    p1: float,
    p0: float,
    target: float = 0.95,
    p1_interval: tuple[float, float] | None = None,
    p0_interval: tuple[float, float] | None = None,
) -> Budget:
    """The budget of one claim, with the range its gap can take over the given intervals."""
    required, observed = required_bits(p0, target), observed_bits(p1, p0)
    gap = required - observed
    low, high = _gap_range(p1_interval or (p1, p1), p0_interval or (p0, p0), target)
    return Budget(required, observed, gap, min(low, gap), max(high, gap))


def _gap_range(p1: tuple[float, float], p0: tuple[float, float], target: float) -> tuple[float, float]:
    """Extremes of the gap over a box of probabilities.

    The gap falls as p1 rises, so p1 matters only at its ends. In p0 it is monotone between the kinks at
    p1 and at the target, except for a dip midway between them if the evidence contradicts the claim.
    """
    low, high = p0
    gaps = [
        required_bits(q, target) - observed_bits(p, q)
        for p in p1
        for q in (low, high, *(k for k in (p, target, (p + target) / 2) if low < k < high))
    ]
    return min(gaps), max(gaps)


def wilson(successes: float, trials: int, z: float = Z95) -> tuple[float, float]:
    """Wilson score interval of a proportion; (0, 1) without trials."""
    if trials <= 0:
        return 0.0, 1.0
    if not 0 <= successes <= trials:
        raise ValueError(f"{successes} successes in {trials} trials")
    share, z2 = successes / trials, z * z
    centre = (share + z2 / (2 * trials)) / (1 + z2 / trials)
    half = z / (1 + z2 / trials) * sqrt(share * (1 - share) / trials + z2 / (4 * trials * trials))
    return min(share, max(0.0, centre - half)), max(share, min(1.0, centre + half))


def adjusted_confidence(stated: float, result: Budget, contradicted: bool = False) -> float:
    """The confidence that the evidence justifies; never more than the stated one."""
    if contradicted:
        return 0.0
    if result.required_bits == 0.0:
        return stated
    return min(stated, max(0.0, min(1.0, result.observed_bits / result.required_bits)))
