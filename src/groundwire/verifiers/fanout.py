"""One request per query, many at once: the order, the bound and the failures of every LLM verifier."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress

from groundwire._loop import PerLoop
from groundwire.errors import GroundwireError
from groundwire.types import Estimate, Query
from groundwire.verifiers.failure import failure

Judge = Callable[[Query], Awaitable[Estimate]]
Outcome = Estimate | GroundwireError

_GIVE_UP = 8
"""So many failures without one success, and the rest is not even asked: each could cost a whole timeout."""
_PATIENCE = 5.0
"""Seconds for which others wait for the first; a server that takes longer may as well get all at once."""
_REMEMBERED = 64


class Fanout:
    """Asks `judge` for every query, at most `concurrency` at a time.

    Of each context one query goes first, and the others follow when its answer is there: they then find the
    context in the server's prefix cache. Bound and order hold over all callers. A query that fails has
    failed alone; if all of a call fail, the backend has, and the first error is raised.
    """

    def __init__(self, judge: Judge, concurrency: int = 8) -> None:
        self._judge = judge
        self._gate = PerLoop(lambda: asyncio.Semaphore(concurrency))
        self._leads = PerLoop(Leads)

    async def __call__(self, queries: Sequence[Query]) -> list[Estimate]:
        run = _Run(self._judge, self._gate.get(), self._leads.get())
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(run.one(query)) for query in queries]
        return run.estimates([task.result() for task in tasks])


class Leads:
    """Who goes first over a context; the latest contexts are remembered as read."""

    def __init__(self) -> None:
        self._read: OrderedDict[str, asyncio.Event] = OrderedDict()

    @asynccontextmanager
    async def turn(self, context: str) -> AsyncIterator[None]:
        first = context not in self._read
        read = self._read.setdefault(context, asyncio.Event())
        self._read.move_to_end(context)
        if len(self._read) > _REMEMBERED:
            self._read.popitem(last=False)
        if not first:
            with suppress(TimeoutError):
                await asyncio.wait_for(read.wait(), _PATIENCE)
        try:
            yield
        finally:
            read.set()  # after a failure too: the others must not wait for nothing


class _Run:
    """One call: its failures and successes as they come in."""

    def __init__(self, judge: Judge, gate: asyncio.Semaphore, leads: Leads) -> None:
        self._judge = judge
        self._gate = gate
        self._leads = leads
        self._failures: list[GroundwireError] = []
        self._successes = 0

    async def one(self, query: Query) -> Outcome:
        async with self._leads.turn(query.context), self._gate:
            if len(self._failures) >= _GIVE_UP and not self._successes:
                return self._failures[-1]
            try:
                estimate = await self._judge(query)
            except GroundwireError as error:
                self._failures.append(error)
                return error
            self._successes += 1
            return estimate

    def estimates(self, outcomes: Sequence[Outcome]) -> list[Estimate]:
        if self._failures and not self._successes:
            raise self._failures[0]
        return [Estimate.failed(failure(o)) if isinstance(o, GroundwireError) else o for o in outcomes]
