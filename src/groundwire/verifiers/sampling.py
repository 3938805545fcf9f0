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
    numbered_answers,
    off_topic,
    parse_answer,
    shared_estimates,
)
from groundwire.verifiers.prompts import PROMPT_VERSION, answers_schema, yes_no, yes_no_all
from groundwire.verifiers.shared import SharedRequests
from groundwire.verifiers.wrappers import Fanout

_TEMPERATURE = 1.0  # samples the model's own distribution
_TOKENS_A_CLAIM = 12  # of a shared reply: a number and an answer, quoted


def tally(answers: Sequence[LogprobAnswer | None], method: str) -> Estimate | None:
    """Shares of the answers with a Wilson interval; None if fewer than half of the samples are answers.

    A sample that is not an answer could have been any of them, so it widens the interval on both sides.
    """
    counts = Counter(answer for answer in answers if answer is not None)
    given, asked = counts.total(), len(answers)
    if not given or given < MIN_SHARE * asked:
        return None
    yes, no, unsure = (counts[answer] for answer in (LogprobAnswer.YES, LogprobAnswer.NO, LogprobAnswer.UNSURE))
    low, _ = wilson(yes, asked)
    _, high = wilson(yes + asked - given, asked)
    return Estimate(yes / given, no / given, unsure / given, low, high, method)


async def sample(generator: Generator, query: Query, samples: int, method: str) -> Estimate:
    """Judge one query by `samples` answers."""
    completions = await generator.complete(yes_no(query), max_tokens=MAX_TOKENS, temperature=_TEMPERATURE, n=samples)
    found = tally([parse_answer(completion.text) for completion in completions], method)
    return found or off_topic(completions[0], method)


class SamplingVerifier:
    """Verifier for servers without logprobs: `samples` answers per query; the rest as `LogprobVerifier`."""

    def __init__(self, generator: Generator, *, label: str = "openai", samples: int = 10, concurrency: int = 8) -> None:
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

    After the first clear answer without logprobs they are not requested again. Arguments: see
    `LogprobVerifier`, `SamplingVerifier` and `SharedRequests`.
    """

    def __init__(
        self,
        generator: Generator,
        *,
        label: str = "openai",
        top_logprobs: int = TOP,
        samples: int = 10,
        concurrency: int = 8,
        claims_per_request: int = 1,
        room: int = 18_000,
    ) -> None:
        self.generator = generator
        settings = f"top={top_logprobs}|n={samples}|shared={claims_per_request}|prompt={PROMPT_VERSION}"
        self.identity = f"{label}/logprob-or-sampling|{generator.name}|{settings}"
        self._by_logprob, self._by_sampling = f"{label}/logprob", f"{label}/sampling({samples})"
        self._top = top_logprobs
        self._samples = samples
        self._has_logprobs = True
        alone = Fanout(self._judge, concurrency)
        self._ask = SharedRequests(self._judge_together, alone, claims_per_request, room)

    async def estimate(self, queries: Sequence[Query]) -> list[Estimate]:
        return await self._ask(queries)

    async def _judge(self, query: Query) -> Estimate:
        if self._has_logprobs:
            try:
                return await ask(self.generator, query, self._top, self._by_logprob)
            except NoLogprobs:
                self._has_logprobs = False
        return await sample(self.generator, query, self._samples, self._by_sampling)

    async def _judge_together(self, queries: Sequence[Query]) -> list[Estimate | None]:
        count = len(queries)
        prompt, schema = yes_no_all(queries), answers_schema(count)
        length = MAX_TOKENS + _TOKENS_A_CLAIM * count
        if self._has_logprobs:
            [reply] = await self.generator.complete(prompt, max_tokens=length, top_logprobs=self._top, schema=schema)
            if reply.positions:
                return shared_estimates(reply, count, self._by_logprob)
            if not numbered_answers(reply.text):  # no answer at all says nothing about logprobs
                return [None] * count
            self._has_logprobs = False
        replies = await self.generator.complete(
            prompt, max_tokens=length, temperature=_TEMPERATURE, n=self._samples, schema=schema
        )
        given = [{number: answer for number, answer, _ in numbered_answers(r.text)} for r in replies]
        return [tally([answers.get(number) for answers in given], self._by_sampling) for number in range(1, count + 1)]

    async def aclose(self) -> None:
        await self.generator.aclose()
