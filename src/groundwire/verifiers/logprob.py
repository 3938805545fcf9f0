"""P(YES) from the probabilities of an answer's first token."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import exp

from groundwire.errors import BackendError
from groundwire.llm.base import Completion, Generator, TokenLogprob
from groundwire.types import Estimate, Query
from groundwire.verifiers.prompts import PROMPT_VERSION, yes_no
from groundwire.verifiers.wrappers import Fanout

TOP = 20
_MAX_TOKENS = 4  # room for a blank or a mark before the word
_MIN_MASS = 0.01  # below this share of the probability the model was not answering the question
_AROUND = " \t\r\n\u00a0▁ĠĊ*_#>`~'\"“”‘’.,:;!?-–—()[]{}<|\\/"


class LogprobAnswer(StrEnum):
    YES = "yes"
    NO = "no"
    UNSURE = "unsure"


def meaning(token: str) -> LogprobAnswer | None:
    """Which answer a first token is, or begins; case, blanks and markup around it do not matter.

    A token may be the beginning of an answer that the tokenizer splits: two letters are enough, a single one
    only as a capital. Anything else ("Not", "You", "Sure") is no answer.

    >>> [str(meaning(t)) for t in ("Yes", " YES", "**yes", "Ye", "N", "unsu")]
    ['yes', 'yes', 'yes', 'yes', 'no', 'unsure']
    >>> [meaning(t) for t in ("Not", "You", "n", "", "none")]
    [None, None, None, None, None]
    """
    word = token.strip(_AROUND)
    if not word or (len(word) == 1 and not word.isupper()):
        return None
    lowered = word.casefold()
    return next((answer for answer in LogprobAnswer if answer.startswith(lowered)), None)


@dataclass(frozen=True, slots=True)
class Masses:
    """How much probability each answer got, each as (at least, at most)."""

    yes: tuple[float, float]
    no: tuple[float, float]
    unsure: tuple[float, float]

    def estimate(self, method: str) -> Estimate:
        """Normalised over the three answers; what lies outside the top-k counts half its bound."""
        yes, no, unsure = (sum(pair) / 2 for pair in (self.yes, self.no, self.unsure))
        total = yes + no + unsure
        p_yes = yes / total
        low = _share(self.yes[0], self.no[1] + self.unsure[1])
        high = _share(self.yes[1], self.no[0] + self.unsure[0])
        return Estimate(p_yes, no / total, unsure / total, min(low, p_yes), max(high, p_yes), method)


def _share(part: float, others: float) -> float:
    return part / (part + others) if part > 0 else 0.0


def masses(candidates: Sequence[TokenLogprob]) -> Masses | None:
    """The mass of each answer among the top candidates; None where they hold (almost) no answer at all.

    An answer of which no variant is among them is not impossible: each is at most as likely as the
    last candidate, and together they are at most what the candidates leave over.
    """
    seen = dict.fromkeys(LogprobAnswer, 0.0)
    for candidate in candidates:
        answer = meaning(candidate.token)
        if answer is not None:
            seen[answer] += exp(candidate.logprob)
    if sum(seen.values()) < _MIN_MASS:
        return None
    probabilities = [exp(candidate.logprob) for candidate in candidates]
    unseen = min(*probabilities, max(0.0, 1.0 - sum(probabilities)))
    bounds = {answer: (mass, mass or unseen) for answer, mass in seen.items()}
    return Masses(bounds[LogprobAnswer.YES], bounds[LogprobAnswer.NO], bounds[LogprobAnswer.UNSURE])


class NoLogprobs(BackendError):
    """The server answered, but gave no probabilities."""


async def ask(generator: Generator, query: Query, top: int, method: str) -> Estimate:
    """One judgement by logprobs. A model that answers something else has not judged: that is a failure."""
    [completion] = await generator.complete(yes_no(query), max_tokens=_MAX_TOKENS, top_logprobs=top)
    if not completion.top_logprobs:
        raise NoLogprobs(f"{generator.name} returns no logprobs", hint="use the sampling verifier")
    found = masses(completion.top_logprobs)
    return found.estimate(method) if found else off_topic(completion, method)


def off_topic(completion: Completion, method: str) -> Estimate:
    said = " ".join(completion.text.split())[:40]
    return Estimate.failed(f"error: the model answered none of YES, NO, UNSURE, but '{said}'", method)


class LogprobVerifier:
    """For servers that return logprobs: one request a query."""

    def __init__(
        self, generator: Generator, *, label: str = "openai", top_logprobs: int = TOP, concurrency: int = 8
    ) -> None:
        self.generator = generator
        self.identity = f"{label}/logprob|{generator.name}|top={top_logprobs}|prompt={PROMPT_VERSION}"
        self._top = top_logprobs
        self._method = f"{label}/logprob"
        self._fanout = Fanout(self._judge, concurrency)

    async def estimate(self, queries: Sequence[Query]) -> list[Estimate]:
        return await self._fanout(queries)

    async def _judge(self, query: Query) -> Estimate:
        return await ask(self.generator, query, self._top, self._method)

    async def aclose(self) -> None:
        await self.generator.aclose()
