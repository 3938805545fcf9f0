"""P(YES) from repeated samples, for servers that do not return logprobs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from groundwire.budget import wilson
from groundwire.llm.base import Generator
from groundwire.types import Estimate, Query
from groundwire.verifiers.logprob import (
    MAX_TOKENS,
    MIN_SHARE,
    TOP,
    LogprobAnswer,
    NoLogprobs,
    ask,
    off_topic,
    parse_answer,
)
from groundwire.verifiers.prompts import PROMPT_VERSION, yes_no
from groundwire.verifiers.wrappers import Fanout

_TEMPERATURE = 1.0  # samples the model's own distribution


def tally(answers: Sequence[LogprobAnswer | None], method: str) -> Estimate | None:
    """Shares of the answers with a Wilson interval; None if fewer than half of the samples are answers.

    A sample that is not an answer could have been any of them, so it widens the interval on both sides.
    """
    counts = Counter(answer for answer in answers if answer is not None)
    given, asked = counts.total(), len(answers)
    if not given or given < MIN_SHARE * asked:
        return None
    yes, no, unsure = (
        counts[answer] for answer in (LogprobAnswer.YES, LogprobAnswer.NO, LogprobAnswer.UNSURE)
    )
    low, _ = wilson(yes, asked)
    _, high = wilson(yes + asked - given, asked)
    return Estimate(yes / given, no / given, unsure / given, low, high, method)


async def sample(generator: Generator, query: Query, samples: int, method: str) -> Estimate:
    """Judge one query by `samples` answers."""
    completions = await generator.complete(
        yes_no(query), max_tokens=MAX_TOKENS, temperature=_TEMPERATURE, n=samples
    )
    found = tally([parse_answer(completion.text) for completion in completions], method)
    return found or off_topic(completions[0], method)


class SamplingVerifier:
    """Verifier for servers without logprobs: `samples` answers per query; the rest as `LogprobVerifier`."""

    def __init__(
        self, generator: Generator, *, label: str = "openai", samples: int = 10, concurrency: int = 8
    ) -> None:
        self.generator = generator
        self._samples = samples
        self._method = f"{label}/sampling({samples})"
        self.identity = f"{self._method}|{generator.name}|prompt={PROMPT_VERSION}"
        self._fanout = Fanout(self._judge, concurrency)

    async def estimate(self, queries: Sequence[Query]) -> list[Estimate]:
        return await self._fanout(queries)

    async def _judge(self, query: Query) -> Estimate:
        return await sample(self.generator, query, self._samples, self._method)

    async def aclose(self) -> None:
        await self.generator.aclose()


class LogprobOrSampling:
    """Logprobs if the server returns them, else samples; the estimate's `method` tells which.

    After the first answer without logprobs they are not requested again. Arguments: see `LogprobVerifier`
    and `SamplingVerifier`.
    """

    def __init__(
        self,
        generator: Generator,
        *,
        label: str = "openai",
        top_logprobs: int = TOP,
        samples: int = 10,
        concurrency: int = 8,
    ) -> None:
        self.generator = generator
        settings = f"top={top_logprobs}|n={samples}|prompt={PROMPT_VERSION}"
        self.identity = f"{label}/logprob-or-sampling|{generator.name}|{settings}"
        self._label = label
        self._top = top_logprobs
        self._samples = samples
        self._has_logprobs = True
        self._fanout = Fanout(self._judge, concurrency)

    async def estimate(self, queries: Sequence[Query]) -> list[Estimate]:
        return await self._fanout(queries)

    async def _judge(self, query: Query) -> Estimate:
        if self._has_logprobs:
            try:
                return await ask(self.generator, query, self._top, f"{self._label}/logprob")
            except NoLogprobs:
                self._has_logprobs = False
        return await sample(self.generator, query, self._samples, f"{self._label}/sampling({self._samples})")

    async def aclose(self) -> None:
        await self.generator.aclose()
