"""Does the answer hang on the evidence? Sampled with it and without it, for models without logprobs.

p1 is the share of samples with the evidence that mean the answer, p0 the share without it; both are
proportions, so both have Wilson intervals, and the dependence |p1 - p0| has Newcombe's, made of the two.
In bits it is what the evidence brings, signed: KL(p1 ‖ p0), negative where the evidence speaks against it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import sqrt

from groundwire.budget import observed_bits, wilson
from groundwire.errors import BackendError, InputError
from groundwire.llm.base import Generator
from groundwire.types import Verifier
from groundwire.verifiers.meaning import SAME, agreement
from groundwire.verifiers.prompts import answer as asking

SAMPLES = 5
MAX_SAMPLES = 200
_MAX_TOKENS = 128
_TEMPERATURE = 1.0  # the model's own distribution, neither sharpened nor flattened


@dataclass(frozen=True, slots=True)
class Dependence:
    """`value` in [low, high]: 0 where the evidence changed nothing. `bits` in [bits_low, bits_high].

    `samples` is how many answers of each kind could be compared, the fewer of the two.
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
    """A question, its evidence, and the answer that is looked into (else the model's own, unsampled one)."""

    question: str
    evidence: str
    answer: str = ""
    without: str = ""


async def dependence(
    generator: Generator, verifier: Verifier, inquiry: Inquiry, *, samples: int = SAMPLES
) -> Dependence:
    """Sample answers with and without the evidence, and compare each with the answer, by meaning."""
    if not inquiry.question.strip():
        raise InputError("there is no question to ask again")
    if not 1 <= samples <= MAX_SAMPLES:
        raise InputError(f"{samples} samples are not between 1 and {MAX_SAMPLES}")
    given = inquiry.answer.strip() or await _own(generator, inquiry)
    carried, bare = await asyncio.gather(
        _sampled(generator, inquiry, inquiry.evidence, samples),
        _sampled(generator, inquiry, inquiry.without, samples),
    )
    pairs = [(text, given) for text in (*carried, *bare)]
    alike = await agreement(verifier, pairs, inquiry.question)
    found = estimate(alike[: len(carried)], alike[len(carried) :])
    return _told(found, given, carried, bare)


def estimate(carried: Sequence[float | None], bare: Sequence[float | None]) -> Dependence:
    """From agreements with the answer to the dependence and its interval; None is no sample."""
    one, two = ([value >= SAME for value in side if value is not None] for side in (carried, bare))
    if not one or not two:
        raise BackendError("the sampled answers could not be compared")
    return from_counts((sum(one), len(one)), (sum(two), len(two)))


def from_counts(carried: tuple[int, int], bare: tuple[int, int]) -> Dependence:
    """Hits and trials with the evidence and without it.

    >>> found = from_counts((20, 20), (0, 20))
    >>> found.value, found.low > 0.7, found.bits > 3
    (1.0, True, True)
    """
    p1, p0 = carried[0] / carried[1], bare[0] / bare[1]
    one, two = wilson(*carried), wilson(*bare)
    shift = p1 - p0
    low = shift - sqrt((p1 - one[0]) ** 2 + (two[1] - p0) ** 2)
    high = shift + sqrt((one[1] - p1) ** 2 + (p0 - two[0]) ** 2)
    least = 0.0 if low <= 0.0 <= high else min(abs(low), abs(high))
    return Dependence(
        value=abs(shift),
        low=least,
        high=min(1.0, max(abs(low), abs(high))),
        bits=observed_bits(_settled(*carried), _settled(*bare)),
        samples=min(carried[1], bare[1]),
        p1=p1,
        p0=p0,
        bits_low=observed_bits(one[0], two[1]),
        bits_high=observed_bits(_below_certain(one[1], carried[1]), 1 - _below_certain(1 - two[0], bare[1])),
    )


def _settled(hits: int, trials: int) -> float:
    """Jeffreys' point: all of five samples are no certainty, and a certainty would be worth endless bits."""
    return (hits + 0.5) / (trials + 1)


def _below_certain(share: float, trials: int) -> float:
    return min(share, 1.0 - 1.0 / (2.0 * (trials + 1.0) ** 2))


async def _own(generator: Generator, inquiry: Inquiry) -> str:
    """What the model answers when it does not sample: a reference that the samples had no part in."""
    found = await generator.complete(asking(inquiry.question, inquiry.evidence), max_tokens=_MAX_TOKENS)
    return found[0].text.strip()


async def _sampled(generator: Generator, inquiry: Inquiry, context: str, samples: int) -> tuple[str, ...]:
    completions = await generator.complete(
        asking(inquiry.question, context), max_tokens=_MAX_TOKENS, temperature=_TEMPERATURE, n=samples
    )
    return tuple(completion.text.strip() for completion in completions)


def _told(found: Dependence, given: str, carried: Sequence[str], bare: Sequence[str]) -> Dependence:
    return replace(found, answer=given, with_evidence=tuple(carried), without_evidence=tuple(bare))
