"""One request per query, many at once: the order, the bound and the failures of every LLM verifier."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from groundwire.errors import GroundwireError
from groundwire.llm.perloop import PerLoop
from groundwire.types import Estimate, Query
from groundwire.verify.failure import failure

Judge = Callable[[Query], Awaitable[Estimate]]
Outcome = Estimate | GroundwireError

_GIVE_UP = 8
"""So many failures without one success, and the rest is not even asked: each could cost a whole timeout."""


class Fanout:
    """Asks `judge` for every query, at most `concurrency` at a time over all callers.

    Of each context one query goes first, and the others follow when its answer is there: they then find
    the context in the server's prefix cache. A query that fails has failed alone; if all fail, the backend
    has, and the first error is raised.
    """

    def __init__(self, judge: Judge, concurrency: int = 8) -> None:
        self._judge = judge
        self._gate = PerLoop(lambda: asyncio.Semaphore(concurrency))

    async def __call__(self, queries: Sequence[Query]) -> list[Estimate]:
        by_context: dict[str, list[int]] = {}
        for index, query in enumerate(queries):
            by_context.setdefault(query.context, []).append(index)
        run = _Run(self._judge, self._gate.get(), queries)
        async with asyncio.TaskGroup() as group:
            for indices in by_context.values():
                group.create_task(run.one_context(indices))
        return run.estimates()


class _Run:
    """The outcomes of one call, as they come in."""

    def __init__(self, judge: Judge, gate: asyncio.Semaphore, queries: Sequence[Query]) -> None:
        self._judge = judge
        self._gate = gate
        self._queries = queries
        self._outcomes: dict[int, Outcome] = {}
        self._failures: list[GroundwireError] = []
        self._successes = 0

    async def one_context(self, indices: Sequence[int]) -> None:
        await self._one(indices[0])
        async with asyncio.TaskGroup() as group:
            for index in indices[1:]:
                group.create_task(self._one(index))

    async def _one(self, index: int) -> None:
        async with self._gate:
            if len(self._failures) >= _GIVE_UP and not self._successes:
                self._outcomes[index] = self._failures[-1]
                return
            try:
                self._outcomes[index] = await self._judge(self._queries[index])
                self._successes += 1
            except GroundwireError as error:
                self._outcomes[index] = error
                self._failures.append(error)

    def estimates(self) -> list[Estimate]:
        if self._failures and not self._successes:
            raise self._failures[0]
        outcomes = (self._outcomes[index] for index in range(len(self._queries)))
        return [Estimate.failed(failure(o)) if isinstance(o, GroundwireError) else o for o in outcomes]
