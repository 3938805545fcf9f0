"""Evidence dependence: sample answers with and without the evidence, for models without logprobs.

p1 is the share of samples with the evidence that agree with the answer, p0 the share without it. Both have
Wilson intervals; the dependence |p1 - p0| has Newcombe's interval, which is computed from the two. In bits it
is the signed KL(p1 ‖ p0), negative if the evidence makes the answer less likely.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import log, log2, sqrt

from groundwire.budget import Z95, observed_bits, wilson
from groundwire.errors import BackendError, InputError
from groundwire.llm.base import Generator
from groundwire.types import Verifier
from groundwire.verifiers.meaning import SAME, agreement
from groundwire.verifiers.prompts import answer as asking

SAMPLES = 5  # per side; a compromise between ten requests and the width of the interval
MAX_SAMPLES = 200  # per side; beyond that the interval hardly narrows
_MAX_TOKENS = 128  # the prompt asks for one sentence
_TEMPERATURE = 1.0  # samples the model's own distribution


@dataclass(frozen=True, slots=True)
class Dependence:
    """`value` in [low, high], 0 if the evidence changed nothing; `bits` in [bits_low, bits_high].

    `samples` is the number of answers that could be compared, the smaller of both sides.
    """

    value: float
    low: float
    high: float
    bits: float
    samples: int
    p1: float
    p0: float
    bits_low: float
    bits_high: float
    answer: str = ""
    with_evidence: tuple[str, ...] = ()
    without_evidence: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Inquiry:
    """A question, its evidence, and the answer to examine (default: the model's own at temperature 0)."""

    question: str
    evidence: str
    answer: str = ""


async def dependence(
    generator: Generator, verifier: Verifier, inquiry: Inquiry, *, samples: int = SAMPLES
) -> Dependence:
    """Sample answers with and without the evidence, and compare the meaning of each with the answer.

    Args:
        generator: answers the question.
        verifier: compares answers.
        samples: number of answers per side.

    Raises `InputError` without a question or for an invalid number of samples, `BackendError` if the answers
    cannot be compared.
    """
    if not inquiry.question.strip():
        raise InputError("question must not be empty")
    if not 1 <= samples <= MAX_SAMPLES:
        raise InputError(f"samples must be between 1 and {MAX_SAMPLES}, got {samples}")
    # Without an answer, the model's own at temperature 0: a reference independent of the samples.
    given = inquiry.answer.strip() or (await _sampled(generator, inquiry, inquiry.evidence, 1, 0.0))[0]
    with_evidence, without = await asyncio.gather(
        _sampled(generator, inquiry, inquiry.evidence, samples), _sampled(generator, inquiry, "", samples)
    )
    pairs = [(text, given) for text in (*with_evidence, *without)]
    alike = await agreement(verifier, pairs, inquiry.question)
    found = estimate(alike[: len(with_evidence)], alike[len(with_evidence) :])
    return replace(found, answer=given, with_evidence=with_evidence, without_evidence=without)


def estimate(with_evidence: Sequence[float | None], without: Sequence[float | None]) -> Dependence:
    """The dependence from each sample's agreement with the answer; samples with None are left out."""
    one, two = ([value >= SAME for value in side if value is not None] for side in (with_evidence, without))
    if not one or not two:
        raise BackendError("the sampled answers could not be compared")
    return from_counts((sum(one), len(one)), (sum(two), len(two)))


def from_counts(with_evidence: tuple[int, int], without: tuple[int, int]) -> Dependence:
    """The dependence from (hits, trials) with the evidence and without it.

    >>> found = from_counts((20, 20), (0, 20))
    >>> found.value, found.low > 0.7, found.bits > 3
    (1.0, True, True)
    """
    p1, p0 = with_evidence[0] / with_evidence[1], without[0] / without[1]
    one, two = wilson(*with_evidence), wilson(*without)
    shift = p1 - p0
    low = shift - sqrt((p1 - one[0]) ** 2 + (two[1] - p0) ** 2)
    high = shift + sqrt((one[1] - p1) ** 2 + (p0 - two[0]) ** 2)
    least = 0.0 if low <= 0.0 <= high else min(abs(low), abs(high))
    return Dependence(
        value=abs(shift),
        low=least,
        high=min(1.0, max(abs(low), abs(high))),
        bits=observed_bits(_jeffreys(*with_evidence), _jeffreys(*without)),
        samples=min(with_evidence[1], without[1]),
        p1=p1,
        p0=p0,
        bits_low=observed_bits(one[0], two[1]),
        bits_high=observed_bits(_below_certain(one[1], with_evidence[1]), 1 - _below_certain(1 - two[0], without[1])),
    )


def _jeffreys(hits: int, trials: int) -> float:
    """Jeffreys' estimate of a share: it never reaches 0 or 1, where the bits would be infinite."""
    return (hits + 0.5) / (trials + 1)


def _below_certain(share: float, trials: int) -> float:
    """Limit a bound to less than 1, so that its bits are finite."""
    return min(share, 1.0 - 1.0 / (2.0 * (trials + 1.0) ** 2))


async def _sampled(
    generator: Generator, inquiry: Inquiry, context: str, samples: int, temperature: float = _TEMPERATURE
) -> tuple[str, ...]:
    prompt = asking(inquiry.question, context)
    completions = await generator.complete(prompt, max_tokens=_MAX_TOKENS, temperature=temperature, n=samples)
    return tuple(completion.text.strip() for completion in completions)


# Semantic entropy: the entropy, in bits, of the meanings of a model's answers to one question.
#
# Samples with the same meaning form a cluster; the entropy is that of the cluster sizes. An estimate from few
# samples is biased low (some answers were not sampled), so `bits` includes the Miller-Madow correction
# ((clusters - 1) / (2 N ln 2)), and the interval's upper end allows for an answer not yet seen.


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
