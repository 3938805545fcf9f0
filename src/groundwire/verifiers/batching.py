"""Batching: split a call into batches (`Batched`), merge the calls of many callers (`BatchingVerifier`)."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, field

from groundwire._loop import PerLoop
from groundwire.errors import BackendTimeout, GroundwireError
from groundwire.types import Estimate, Query, Verifier
from groundwire.verifiers.wrappers import all_failed, matched

EstimateTask = asyncio.Task[list[Estimate]]


@dataclass(eq=False)
class Batched:
    """Split each call into batches of `size`, with the queries of one context next to each other.

    Args:
        concurrency: maximum number of simultaneous batches over all callers.
        by_context: never mix contexts in a batch (for verifiers with one request per context), and send the
            first batch of a context before the others, which then hit the server's prefix cache.
        deadline: seconds after which unfinished batches are cancelled and their queries fail.

    If a batch fails, only its own queries fail.
    """

    inner: Verifier
    size: int
    _: KW_ONLY
    concurrency: int = 1
    by_context: bool = False
    deadline: float | None = None

    def __post_init__(self) -> None:
        self._gate = PerLoop(lambda: asyncio.Semaphore(self.concurrency))

    async def estimate(self, queries: Sequence[Query]) -> list[Estimate]:
        if not queries:
            return []
        batches = plan(queries, self.size, by_context=self.by_context)
        tasks = self._start([[queries[i] for i in batch] for batch in batches])
        try:
            await asyncio.wait(tasks, timeout=self.deadline, return_when=asyncio.FIRST_EXCEPTION)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        answers: dict[int, Estimate] = {}
        late = BackendTimeout(f"not checked within {self.deadline or 0:g} s")
        for batch, task in zip(batches, tasks, strict=True):
            found = all_failed(len(batch), late) if task.cancelled() else task.result()
            answers.update(zip(batch, found, strict=True))
        return [answers[i] for i in range(len(queries))]

    def _start(self, batches: Sequence[Sequence[Query]]) -> list[EstimateTask]:
        first: dict[str, EstimateTask] = {}
        tasks: list[EstimateTask] = []
        for batch in batches:
            ahead = first.get(batch[0].context) if self.by_context else None
            tasks.append(asyncio.create_task(self._run(batch, ahead)))
            first.setdefault(batch[0].context, tasks[-1])
        return tasks

    async def _run(self, batch: Sequence[Query], ahead: EstimateTask | None) -> list[Estimate]:
        if ahead is not None:
            await asyncio.wait([ahead])
        async with self._gate.get():
            try:
                return matched(await self.inner.estimate(batch), len(batch))
            except GroundwireError as error:
                return all_failed(len(batch), error)


def plan(queries: Sequence[Query], size: int, *, by_context: bool = False) -> list[list[int]]:
    """Group queries into batches of at most `size`; returns their indices.

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


# Dynamic batching: queries that arrive while the model is busy are merged into the next batch.
#
# A single caller never waits. Every waiting caller gets an equal share of a batch, so that a long answer does
# not delay short ones; unused places go to callers with more queries.

CONCURRENT_BATCHES = 2
"""While the network computes one batch, the texts of the next are split and tokenised."""


@dataclass(slots=True, eq=False)
class _Caller:
    """A call in progress: the indices still waiting, the answers so far, and the future of its caller.

    `alone`: a batch shared with other callers has failed, so the rest of this call gets batches of its own;
    a second failure then concerns this caller only.
    """

    queries: Sequence[Query]
    waiting: deque[int]
    done: asyncio.Future[None]
    answers: dict[int, Estimate] = field(default_factory=dict)
    alone: bool = False

    def answered(self, numbers: Sequence[int], estimates: Sequence[Estimate]) -> None:
        self.answers.update(zip(numbers, estimates, strict=True))
        if len(self.answers) == len(self.queries):
            self.finish()

    def finish(self, error: BaseException | None = None) -> None:
        if self.done.done():
            return
        if error is None:
            self.done.set_result(None)
        else:
            self.done.set_exception(error)


Shares = list[tuple[_Caller, list[int]]]


@dataclass(slots=True, eq=False)
class _Queue:
    """The waiting callers of one event loop, in turn, and the workers that serve them."""

    callers: deque[_Caller] = field(default_factory=deque)
    workers: set[asyncio.Task[None]] = field(default_factory=set)

    def leave(self, caller: _Caller) -> None:
        caller.waiting.clear()
        if caller in self.callers:
            self.callers.remove(caller)

    def take(self, size: int) -> Shares:
        """The next batch: at most `size` queries, divided equally among the callers."""
        if self.callers[0].alone:
            return [self._share(size)]
        apart = [caller for caller in self.callers if caller.alone]
        self.callers = deque(caller for caller in self.callers if not caller.alone)
        taken: dict[_Caller, list[int]] = {}
        room = size
        while room > 0 and self.callers:
            for caller, numbers in self._round(room):
                taken.setdefault(caller, []).extend(numbers)
                room -= len(numbers)
        self.callers.extendleft(reversed(apart))  # they are served next
        return list(taken.items())

    def _round(self, room: int) -> Iterator[tuple[_Caller, list[int]]]:
        """An equal share for each; if there is not enough room, the next call starts with the next caller."""
        each = max(1, room // len(self.callers))
        for _ in range(min(room, len(self.callers))):
            yield self._share(each)

    def put_back(self, caller: _Caller, numbers: Sequence[int]) -> None:
        """Queue these queries again, in a batch without other callers."""
        if caller.done.done():
            return
        caller.alone = True
        caller.waiting.extendleft(reversed(numbers))
        if caller not in self.callers:
            self.callers.append(caller)

    def _share(self, most: int) -> tuple[_Caller, list[int]]:
        """Take up to `most` queries of the first caller, who goes to the end of the queue if any are left."""
        caller = self.callers.popleft()
        numbers = [caller.waiting.popleft() for _ in range(min(most, len(caller.waiting)))]
        if caller.waiting:
            self.callers.append(caller)
        return caller, numbers


@dataclass(eq=False)
class BatchingVerifier:
    """Collect the queries of all callers of an event loop into batches of `size`.

    Args:
        concurrency: maximum number of simultaneous batches.
        deadline: seconds after which the unfinished queries of a call fail.

    If a batch fails, only its own queries fail; if several callers shared it, each of them is retried once in
    a batch of its own. The queries of a cancelled caller are removed.
    """

    inner: Verifier
    size: int
    _: KW_ONLY
    concurrency: int = CONCURRENT_BATCHES
    deadline: float | None = None

    def __post_init__(self) -> None:
        self._queue = PerLoop(_Queue)

    async def estimate(self, queries: Sequence[Query]) -> list[Estimate]:
        if not queries:
            return []
        queue = self._queue.get()
        order = (number for batch in plan(queries, len(queries)) for number in batch)
        caller = _Caller(queries, deque(order), asyncio.get_running_loop().create_future())
        queue.callers.append(caller)
        self._serve(queue)
        try:
            async with asyncio.timeout(self.deadline):
                await caller.done
        except TimeoutError:
            pass  # the answers so far are still returned
        finally:
            queue.leave(caller)
        late = all_failed(1, BackendTimeout(f"not checked within {self.deadline or 0:g} s"))[0]
        return [caller.answers.get(number, late) for number in range(len(queries))]

    def _serve(self, queue: _Queue) -> None:
        """Start another worker unless the maximum is running."""
        if len(queue.workers) < self.concurrency:
            queue.workers.add(asyncio.get_running_loop().create_task(self._work(queue)))

    async def _work(self, queue: _Queue) -> None:
        try:
            await self._empty(queue)
        finally:  # not in a done callback: a caller that arrives before it runs needs a new worker
            queue.workers -= {task for task in queue.workers if task is asyncio.current_task()}

    async def _empty(self, queue: _Queue) -> None:
        while queue.callers:
            shares = queue.take(self.size)
            if queue.callers:
                self._serve(queue)
            batch = [caller.queries[number] for caller, numbers in shares for number in numbers]
            # gather() returns exceptions, so that they reach the callers and the worker continues
            (found,) = await asyncio.gather(self._answers(batch), return_exceptions=True)
            if isinstance(found, BaseException):
                _failed(shares, found, queue)
            else:
                answers = iter(found)
                for caller, numbers in shares:
                    caller.answered(numbers, [next(answers) for _ in numbers])

    async def _answers(self, batch: Sequence[Query]) -> list[Estimate]:
        return matched(await self.inner.estimate(batch), len(batch))


def _failed(shares: Shares, error: BaseException, queue: _Queue) -> None:
    if len(shares) > 1:
        for caller, numbers in shares:
            queue.put_back(caller, numbers)
        return
    caller, numbers = shares[0]
    if isinstance(error, GroundwireError):
        caller.answered(numbers, all_failed(len(numbers), error))
    else:
        caller.finish(error)
