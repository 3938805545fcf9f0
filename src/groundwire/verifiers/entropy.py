"""Semantic entropy: the entropy, in bits, of the meanings of a model's answers to one question.

Samples with the same meaning form a cluster; the entropy is that of the cluster sizes. An estimate from few
samples is biased low (some answers were not sampled), so `bits` includes the Miller-Madow correction
((clusters - 1) / (2 N ln 2)), and the interval's upper end allows for an answer not yet seen.
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
"""Clustering compares up to n²/2 pairs; more samples hardly narrow the interval."""


@dataclass(frozen=True, slots=True)
class SemanticEntropy:
    """`bits` in [low, high]; `clusters` hold the indices of the samples, largest cluster first."""

    bits: float
    low: float
    high: float
    clusters: tuple[tuple[int, ...], ...]
    samples: int

    def __float__(self) -> float:
        return self.bits


async def semantic_entropy(samples: Sequence[str], verifier: Verifier, question: str = "") -> SemanticEntropy:
    """Compute the entropy of the samples' meanings, in bits.

    Args:
        samples: answers to the same question, at most 200.
        verifier: decides whether two answers mean the same where their words do not.
        question: the question that the samples answer.

    Raises `InputError` for no or too many samples, `BackendError` if they cannot be compared.
    """
    if not samples or not all(isinstance(text, str) for text in samples):
        raise InputError("semantic entropy needs samples", hint="pass a list of at least one string")
    if len(samples) > MAX_SAMPLES:
        raise InputError(f"too many samples: {len(samples)}", hint=f"pass at most {MAX_SAMPLES}")
    clusters = await cluster(samples, verifier, question)
    return entropy_of([len(one) for one in clusters], clusters)


async def cluster(samples: Sequence[str], verifier: Verifier, question: str = "") -> tuple[tuple[int, ...], ...]:
    """Cluster samples by meaning; a cluster's first sample is compared with all that are left in one call."""
    left, found = list(range(len(samples))), []
    while left:
        head, *rest = left
        alike = await agreement(verifier, [(samples[head], samples[other]) for other in rest], question)
        if None in alike:
            raise BackendError("the samples could not be compared")
        same = [other for other, value in zip(rest, alike, strict=True) if value is not None and value >= SAME]
        found.append((head, *same))
        left = [other for other in rest if other not in set(same)]
    return tuple(sorted(found, key=len, reverse=True))


def entropy_of(counts: Sequence[int], clusters: tuple[tuple[int, ...], ...] = ()) -> SemanticEntropy:
    """The bias-corrected entropy of cluster sizes, with a 95 % interval.

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
    """Upper bound, in bits, of what one unseen answer could add; Wilson's bound limits its share."""
    share = min(0.5, wilson(0, total)[1])
    return -share * log2(share) - (1 - share) * log2(1 - share)
