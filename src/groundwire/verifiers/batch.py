"""Many queries in few calls: cut into batches, run side by side, put back in order."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from groundwire._loop import PerLoop
from groundwire.errors import BackendTimeout, GroundwireError
from groundwire.types import Estimate, Query, Verifier
from groundwire.verifiers.wrappers import all_failed, matched

Answering = asyncio.Task[list[Estimate]]


class Batched:
    """Splits a call into batches of `size`; queries of one context stand together, for a shared prefix.

    A batch that fails costs its own queries only. `by_context` never mixes contexts in a batch (for
    verifiers that make one request per context) and sends the first batch of a context ahead of the others,
    which then find it in the server's prefix cache. `concurrency` bounds the batches under way over all
    callers. After `deadline` seconds what is finished is kept and the rest has failed.
    """

    def __init__(
        self,
        inner: Verifier,
        size: int,
        *,
        concurrency: int = 1,
        by_context: bool = False,
        deadline: float | None = None,
    ) -> None:
        self._inner = inner
        self._size = size
        self._by_context = by_context
        self._deadline = deadline
        self._gate = PerLoop(lambda: asyncio.Semaphore(concurrency))

    async def estimate(self, queries: Sequence[Query]) -> list[Estimate]:
        if not queries:
            return []
        batches = plan(queries, self._size, by_context=self._by_context)
        tasks = self._start([[queries[i] for i in batch] for batch in batches])
        try:
            await asyncio.wait(tasks, timeout=self._deadline, return_when=asyncio.FIRST_EXCEPTION)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        answers: dict[int, Estimate] = {}
        for batch, task in zip(batches, tasks, strict=True):
            answers.update(zip(batch, self._outcome(task, len(batch)), strict=True))
        return [answers[i] for i in range(len(queries))]

    def _start(self, batches: Sequence[Sequence[Query]]) -> list[Answering]:
        first: dict[str, Answering] = {}
        tasks: list[Answering] = []
        for batch in batches:
            ahead = first.get(batch[0].context) if self._by_context else None
            tasks.append(asyncio.create_task(self._run(batch, ahead)))
            first.setdefault(batch[0].context, tasks[-1])
        return tasks

    async def _run(self, batch: Sequence[Query], ahead: Answering | None) -> list[Estimate]:
        if ahead is not None:
            await asyncio.wait([ahead])
        async with self._gate.get():
            try:
                return matched(await self._inner.estimate(batch), len(batch))
            except GroundwireError as error:
                return all_failed(len(batch), error)

    def _outcome(self, task: Answering, count: int) -> list[Estimate]:
        if task.cancelled():
            return all_failed(count, BackendTimeout(f"not checked within {self._deadline or 0:g} s"))
        return task.result()


def plan(queries: Sequence[Query], size: int, *, by_context: bool = False) -> list[list[int]]:
    """Which query goes into which batch, by index.

    >>> a, b = Query("1", "a"), Query("2", "b")
    >>> plan([a, b, a, b, a], 2)
    [[0, 2], [4, 1], [3]]
    >>> plan([a, b, a, b, a], 2, by_context=True)
    [[0, 2], [4], [1, 3]]
    """
    groups: dict[tuple[str, str], list[int]] = {}
    for i, query in enumerate(queries):
        groups.setdefault((query.context, query.question), []).append(i)
    rows = list(groups.values()) if by_context else [[i for group in groups.values() for i in group]]
    return [row[i : i + size] for row in rows for i in range(0, len(row), size)]
