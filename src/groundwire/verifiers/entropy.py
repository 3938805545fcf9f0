"""Semantic entropy: how many bits of meaning a model's answers to one question scatter over.

Samples that mean the same form a cluster; the entropy is that of the clusters' shares. What a handful of
samples shows is biased low (answers not yet seen), so `bits` carries the Miller-Madow correction
((clusters - 1) / (2 N ln 2)), and the interval reaches up to what the unseen could add.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log, log2, sqrt

from groundwire.budget import Z95, wilson
from groundwire.errors import BackendError, InputError
from groundwire.types import Verifier
from groundwire.verifiers.meaning import SAME, agreement

MAX_SAMPLES = 200


@dataclass(frozen=True, slots=True)
class SemanticEntropy:
    """`bits` in [low, high]; `clusters` are the samples' numbers, the largest cluster first."""

    bits: float
    low: float
    high: float
    clusters: tuple[tuple[int, ...], ...]
    samples: int

    def __float__(self) -> float:
        return self.bits


async def semantic_entropy(samples: Sequence[str], verifier: Verifier, question: str = "") -> SemanticEntropy:
    """The entropy of the samples' meanings, in bits. Raises `BackendError` where they cannot be compared."""
    if not samples or not all(isinstance(text, str) for text in samples):
        raise InputError("semantic entropy needs samples", hint="give a list of at least one text")
    if len(samples) > MAX_SAMPLES:
        raise InputError(f"{len(samples)} samples are too many", hint=f"{MAX_SAMPLES} say as much")
    clusters = await cluster(samples, verifier, question)
    return entropy_of([len(one) for one in clusters], clusters)


async def cluster(
    samples: Sequence[str], verifier: Verifier, question: str = ""
) -> tuple[tuple[int, ...], ...]:
    """Samples by meaning. A cluster's first sample is compared with all that are left: a call a cluster."""
    left, found = list(range(len(samples))), []
    while left:
        head, *rest = left
        alike = await agreement(verifier, [(samples[head], samples[other]) for other in rest], question)
        if None in alike:
            raise BackendError("the samples could not be compared")
        same = [
            other for other, value in zip(rest, alike, strict=True) if value is not None and value >= SAME
        ]
        found.append((head, *same))
        left = [other for other in rest if other not in set(same)]
    return tuple(sorted(found, key=len, reverse=True))


def entropy_of(counts: Sequence[int], clusters: tuple[tuple[int, ...], ...] = ()) -> SemanticEntropy:
    """The entropy of counts, corrected and with an interval.

    >>> round(entropy_of([5, 5]).bits, 2), entropy_of([10]).bits
    (1.07, 0.0)
    """
    total = sum(counts)
    shares = [count / total for count in counts if count]
    plain = max(0.0, -sum(p * log2(p) for p in shares))
    corrected = plain + (len(shares) - 1) / (2 * total * log(2))
    scatter = Z95 * sqrt(max(0.0, sum(p * log2(p) ** 2 for p in shares) - plain**2) / total)
    high = corrected + scatter + _unseen(total)
    return SemanticEntropy(corrected, max(0.0, plain - scatter), high, clusters, total)


def _unseen(total: int) -> float:
    """The most that one answer nobody has seen yet could add: its share is at most Wilson's upper bound."""
    share = min(0.5, wilson(0, total)[1])
    return -share * log2(share) - (1 - share) * log2(1 - share)
