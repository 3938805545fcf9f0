"""The backend `cascade`: a free verifier settles what it is sure of, a language model judges the rest."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from groundwire.config import Price
from groundwire.llm.base import Completion, track_usage
from groundwire.text.structure import evidence_removed
from groundwire.types import Estimate, Query, Verifier
from groundwire.verifiers.wrappers import brief, matched

_REMEMBERED = 4096  # claims whose further contexts go to the language model as well: many answers' worth


@dataclass(slots=True)
class CascadeBudget:
    """What the language model may cost while the backend is open: requests, US dollars; None is no limit."""

    max_calls: int | None = None
    max_usd: float | None = None
    prices: Mapping[str, Price] = field(default_factory=dict)
    calls: int = 0
    usd: float = 0.0

    @property
    def is_spent(self) -> bool:
        calls = self.max_calls is not None and self.calls >= self.max_calls
        return calls or (self.max_usd is not None and self.usd >= self.max_usd)

    def count(self, name: str, done: Completion) -> None:
        """Count one request."""
        price = self.prices.get(done.model) or self.prices.get(name) or Price()
        self.calls += 1
        self.usd += (price.input * done.prompt_tokens + price.output * done.completion_tokens) / 1e6


@dataclass(eq=False)
class CascadeVerifier:
    """Ask `first` about every query and `second` about those where P(yes) is between `low` and `high`.

    Args:
        size: claims that `second` is asked about before the budget is looked at again.

    `method` of an estimate tells who decided. Where `second` fails or the budget is spent, the estimate of
    `first` stands, and says so. Contexts without evidence are asked about only if the claim itself was in
    doubt: p1 and p0 of a claim come from the same verifier.
    """

    first: Verifier
    second: Verifier
    low: float
    high: float
    budget: CascadeBudget
    size: int = 8
    _doubted: OrderedDict[str, None] = field(default_factory=OrderedDict)

    async def estimate(self, queries: Sequence[Query]) -> list[Estimate]:
        found = matched(await self.first.estimate(queries), len(queries))
        # Contexts without evidence last: whether they are asked about depends on their claim's own estimate.
        order = sorted(range(len(queries)), key=lambda i: evidence_removed(queries[i].context))
        doubtful = [i for i in order if self._is_doubtful(queries[i], found[i])]
        for start in range(0, len(doubtful), self.size):
            part = doubtful[start : start + self.size]
            for i, answer in zip(part, await self._ask([queries[i] for i in part]), strict=True):
                if answer.error is None or found[i].error is not None:
                    found[i] = answer
                else:
                    found[i] = replace(found[i], method=f"{found[i].method} (in doubt; {brief(answer.error)})")
        return found

    def _is_doubtful(self, query: Query, estimate: Estimate) -> bool:
        if evidence_removed(query.context):
            return query.claim in self._doubted
        doubtful = estimate.error is not None or self.low < estimate.p_yes < self.high
        if doubtful:
            self._doubted[query.claim] = None
            self._doubted.move_to_end(query.claim)
            while len(self._doubted) > _REMEMBERED:
                self._doubted.popitem(last=False)
        return doubtful

    async def _ask(self, queries: Sequence[Query]) -> list[Estimate]:
        if self.budget.is_spent:
            return [Estimate.failed("error: the budget of the cascade is spent")] * len(queries)
        with track_usage(self.budget.count, nested=True):
            return matched(await self.second.estimate(queries), len(queries))
