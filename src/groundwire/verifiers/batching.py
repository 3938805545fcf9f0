"""Many queries in few calls: cut into batches, run side by side, put back in order."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

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


# Dynamic batching: queries that arrive while the model is busy are merged into the next batch.
#
# A single caller never waits. Every waiting caller gets an equal share of a batch, so that a long answer does
# not delay short ones; unused places go to callers with more queries.

SIDE_BY_SIDE = 2
"""Batches under way at once: while the network reads one, the next is cut, counted and judged."""


@dataclass(slots=True, eq=False)
class _Caller:
    """One call on its way: what is still to be asked (by index), what is known, and who waits for it.

    `alone` means that a batch it shared has failed: it is asked by itself from then on, so that the failure
    stays with whom it concerns.
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
class _Desk:
    """What one event loop has waiting, in turn, and the workers that serve it."""

    line: deque[_Caller] = field(default_factory=deque)
    workers: set[asyncio.Task[None]] = field(default_factory=set)

    def leave(self, caller: _Caller) -> None:
        caller.waiting.clear()
        if caller in self.line:
            self.line.remove(caller)

    def take(self, size: int) -> Shares:
        """The next batch: at most `size` queries, the same number from each as far as they have so many."""
        if self.line[0].alone:
            return [self._share(size)]
        apart = [caller for caller in self.line if caller.alone]
        self.line = deque(caller for caller in self.line if not caller.alone)
        taken: dict[_Caller, list[int]] = {}
        room = size
        while room > 0 and self.line:
            for caller, numbers in self._round(room):
                taken.setdefault(caller, []).extend(numbers)
                room -= len(numbers)
        self.line.extendleft(reversed(apart))  # theirs is the next turn
        return list(taken.items())

    def _round(self, room: int) -> Iterator[tuple[_Caller, list[int]]]:
        """A like share for each; where it runs out, the next in line begins next time."""
        each = max(1, room // len(self.line))
        for _ in range(min(room, len(self.line))):
            yield self._share(each)

    def put_back(self, caller: _Caller, numbers: Sequence[int]) -> None:
        """Ask these once more, apart from everybody else's."""
        if caller.done.done():
            return
        caller.alone = True
        caller.waiting.extendleft(reversed(numbers))
        if caller not in self.line:
            self.line.append(caller)

    def _share(self, most: int) -> tuple[_Caller, list[int]]:
        """What the first in line may ask now; he goes to the end where he has more."""
        caller = self.line.popleft()
        numbers = [caller.waiting.popleft() for _ in range(min(most, len(caller.waiting)))]
        if caller.waiting:
            self.line.append(caller)
        return caller, numbers


class BatchingVerifier:
    """Gathers the queries of all callers of a loop into batches of `size`, `side_by_side` of them at once.

    A batch that fails costs its own queries only; where several callers shared it, each is asked again by
    himself, once. Whoever is cancelled takes his queries out. After `deadline` seconds what is finished is
    kept and the rest has failed.
    """

    def __init__(
        self,
        inner: Verifier,
        size: int,
        *,
        side_by_side: int = SIDE_BY_SIDE,
        deadline: float | None = None,
    ) -> None:
        self._inner = inner
        self._size = size
        self._side_by_side = side_by_side
        self._deadline = deadline
        self._desk = PerLoop(_Desk)

    async def estimate(self, queries: Sequence[Query]) -> list[Estimate]:
        if not queries:
            return []
        desk = self._desk.get()
        order = (number for batch in plan(queries, len(queries)) for number in batch)
        caller = _Caller(queries, deque(order), asyncio.get_running_loop().create_future())
        desk.line.append(caller)
        self._serve(desk)
        try:
            async with asyncio.timeout(self._deadline):
                await caller.done
        except TimeoutError:
            pass  # what is finished by now is kept
        finally:
            desk.leave(caller)
        late = all_failed(1, BackendTimeout(f"not checked within {self._deadline or 0:g} s"))[0]
        return [caller.answers.get(number, late) for number in range(len(queries))]

    def _serve(self, desk: _Desk) -> None:
        """A worker more, where one is to be had."""
        if len(desk.workers) < self._side_by_side:
            worker = asyncio.get_running_loop().create_task(self._work(desk))
            desk.workers.add(worker)

    async def _work(self, desk: _Desk) -> None:
        try:
            await self._empty(desk)
        finally:  # at once: whoever comes before the loop gets round to its callbacks needs a new one
            desk.workers -= {task for task in desk.workers if task is asyncio.current_task()}

    async def _empty(self, desk: _Desk) -> None:
        while desk.line:
            shares = desk.take(self._size)
            if desk.line:
                self._serve(desk)
            batch = [caller.queries[number] for caller, numbers in shares for number in numbers]
            # gathered, so that whatever is raised in there reaches those who asked, and this goes on
            (found,) = await asyncio.gather(self._answers(batch), return_exceptions=True)
            if isinstance(found, BaseException):
                _failed(shares, found, desk)
            else:
                answers = iter(found)
                for caller, numbers in shares:
                    caller.answered(numbers, [next(answers) for _ in numbers])

    async def _answers(self, batch: Sequence[Query]) -> list[Estimate]:
        return matched(await self._inner.estimate(batch), len(batch))


def _failed(shares: Shares, error: BaseException, desk: _Desk) -> None:
    if len(shares) > 1:
        for caller, numbers in shares:
            desk.put_back(caller, numbers)
        return
    caller, numbers = shares[0]
    if isinstance(error, GroundwireError):
        caller.answered(numbers, all_failed(len(numbers), error))
    else:
        caller.finish(error)
