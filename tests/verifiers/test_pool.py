"""Callers of one model share its batches: fairly, without waiting for each other's failures."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from groundwire.config import Config
from groundwire.errors import BackendDown, BackendTimeout
from groundwire.types import Estimate, Query
from groundwire.verifiers.backends import open_backend
from groundwire.verifiers.batching import BatchingVerifier
from groundwire.verifiers.fake import FakeVerifier
from groundwire.verifiers.wrappers import failure_code


def queries(name: str, count: int) -> list[Query]:
    return [Query(f"{name}{n}", "context") for n in range(count)]


def names(call: Sequence[Query]) -> str:
    """Whose queries a batch holds, by their first letter."""
    return "".join(query.claim[0] for query in call)


async def turns() -> None:
    """Let everybody get as far as they can."""
    for _ in range(20):
        await asyncio.sleep(0)


class Gate:
    """A model that works on one batch until it is told that it is done."""

    def __init__(self) -> None:
        self.batches: list[tuple[Query, ...]] = []
        self._open: list[asyncio.Event] = []

    async def estimate(self, asked: Sequence[Query]) -> list[Estimate]:
        self.batches.append(tuple(asked))
        self._open.append(asyncio.Event())
        await self._open[-1].wait()
        return [Estimate.point(0.9, 0.05, query.claim) for query in asked]

    async def done(self, batch: int) -> None:
        self._open[batch].set()
        await turns()


async def test_a_lone_caller_is_asked_at_once() -> None:
    fake = FakeVerifier()
    assert len(await BatchingVerifier(fake, 32).estimate(queries("a", 3))) == 3
    assert [names(call) for call in fake.calls] == ["aaa"]


@pytest.mark.spec("SPEC-08.29")
async def test_who_comes_while_the_model_is_busy_rides_in_the_next_batch() -> None:
    gate = Gate()
    pool = BatchingVerifier(gate, 8, concurrency=1)
    callers = [asyncio.create_task(pool.estimate(queries("a", 2)))]
    await turns()
    callers += [asyncio.create_task(pool.estimate(queries(name, 2))) for name in "bcd"]
    await turns()
    assert [names(batch) for batch in gate.batches] == ["aa"]
    await gate.done(0)
    assert [names(batch) for batch in gate.batches] == ["aa", "bbccdd"]
    await gate.done(1)
    found = await asyncio.gather(*callers)
    assert [[estimate.method for estimate in one] for one in found] == [
        [f"{name}{n}" for n in range(2)] for name in "abcd"
    ]


async def test_a_huge_request_does_not_keep_small_ones_waiting() -> None:
    gate = Gate()
    pool = BatchingVerifier(gate, 6, concurrency=1)
    huge = asyncio.create_task(pool.estimate(queries("H", 1000)))
    await turns()
    small = [asyncio.create_task(pool.estimate(queries(name, 2))) for name in "ab"]
    await turns()
    await gate.done(0)
    assert sorted(names(gate.batches[1])) == sorted("HHaabb")
    await gate.done(1)
    await asyncio.gather(*small)
    huge.cancel()


async def test_everybody_has_his_turn_in_the_smallest_batches() -> None:
    fake = FakeVerifier()
    pool = BatchingVerifier(fake, 1, concurrency=1)
    await asyncio.gather(pool.estimate(queries("H", 6)), *(pool.estimate(queries(name, 2)) for name in "ab"))
    assert "".join(map(names, fake.calls)) == "HabHabHHHH"


async def test_what_is_left_of_a_batch_goes_to_those_who_still_want_it() -> None:
    gate = Gate()
    pool = BatchingVerifier(gate, 10, concurrency=1)
    first = asyncio.create_task(pool.estimate(queries("x", 1)))
    await turns()
    others = [asyncio.create_task(pool.estimate(queries("a", 1))), asyncio.create_task(pool.estimate(queries("H", 50)))]
    await turns()
    await gate.done(0)
    assert sorted(names(gate.batches[1])) == sorted("a" + 9 * "H")
    for task in (first, *others):
        task.cancel()


async def test_two_batches_are_under_way_at_once() -> None:
    gate = Gate()
    pool = BatchingVerifier(gate, 2, concurrency=2)
    caller = asyncio.create_task(pool.estimate(queries("a", 6)))
    await turns()
    assert len(gate.batches) == 2
    await gate.done(1)
    assert len(gate.batches) == 3
    await gate.done(0)
    await gate.done(2)
    assert [estimate.method for estimate in await caller] == [f"a{n}" for n in range(6)]


async def test_a_caller_who_leaves_takes_his_queries_out() -> None:
    gate = Gate()
    pool = BatchingVerifier(gate, 4, concurrency=1)
    first = asyncio.create_task(pool.estimate(queries("x", 1)))
    await turns()
    leaving, staying = (asyncio.create_task(pool.estimate(queries(name, 2))) for name in "ab")
    await turns()
    leaving.cancel()
    await turns()
    await gate.done(0)
    assert names(gate.batches[1]) == "bb"
    await gate.done(1)
    await asyncio.gather(first, staying)
    assert leaving.cancelled()


async def test_a_caller_who_leaves_in_the_middle_of_a_batch_disturbs_nobody() -> None:
    gate = Gate()
    pool = BatchingVerifier(gate, 4, concurrency=1)
    first = asyncio.create_task(pool.estimate(queries("x", 1)))
    await turns()
    leaving, staying = (asyncio.create_task(pool.estimate(queries(name, 2))) for name in "ab")
    await turns()
    await gate.done(0)
    leaving.cancel()
    await gate.done(1)
    assert [estimate.method for estimate in await staying] == ["b0", "b1"]
    await first


class Poisoned:
    """Fails for every batch that holds a claim it cannot bear."""

    def __init__(self, error: Exception) -> None:
        self.error = error
        self.calls: list[str] = []

    async def estimate(self, asked: Sequence[Query]) -> list[Estimate]:
        self.calls.append(names(asked))
        await asyncio.sleep(0)
        if any(query.claim.startswith("!") for query in asked):
            raise self.error
        return [Estimate.point(0.9, 0.05, query.claim) for query in asked]


async def test_a_failure_costs_only_those_it_concerns() -> None:
    poisoned = Poisoned(BackendDown("it fell over"))
    pool = BatchingVerifier(poisoned, 32, concurrency=1)
    good, bad, late = await asyncio.gather(*(pool.estimate(queries(name, 3)) for name in "a!b"))
    assert [estimate.error for estimate in (*good, *late)] == [None] * 6
    assert {failure_code(estimate) for estimate in bad} == {"error"}


async def test_whoever_is_asked_alone_after_a_failure_is_not_kept_waiting_for_ever() -> None:
    poisoned = Poisoned(BackendDown("it fell over"))
    pool = BatchingVerifier(poisoned, 4, concurrency=1)
    huge = asyncio.create_task(pool.estimate(queries("H", 400)))
    await asyncio.gather(pool.estimate(queries("a", 2)), pool.estimate(queries("!", 2)))
    assert not huge.done()
    assert len(poisoned.calls) < 20
    await huge


async def test_a_bug_is_raised_to_the_one_whose_query_it_was() -> None:
    pool = BatchingVerifier(Poisoned(ZeroDivisionError("a bug")), 32, concurrency=1)
    good, bad = await asyncio.gather(*(pool.estimate(queries(name, 2)) for name in "a!"), return_exceptions=True)
    assert isinstance(bad, ZeroDivisionError)
    assert not isinstance(good, BaseException)
    assert await pool.estimate(queries("c", 1))


async def test_a_batch_that_fails_costs_its_own_queries_only() -> None:
    fake = FakeVerifier(failing=[None, BackendTimeout("too slow"), None])
    found = await BatchingVerifier(fake, 2, concurrency=1).estimate(queries("a", 6))
    assert [failure_code(estimate) for estimate in found] == [None, None, "timeout", "timeout", None, None]


async def test_a_model_that_answers_too_little_is_broken() -> None:
    class Short:
        async def estimate(self, asked: Sequence[Query]) -> list[Estimate]:
            return [Estimate.point(0.5, 0.1, "short")]

    (one, two) = await BatchingVerifier(Short(), 32).estimate(queries("a", 2))
    assert "1 estimates for 2 queries" in (one.error or "")
    assert two.error


async def test_after_the_deadline_what_is_finished_is_kept() -> None:
    release = asyncio.Event()

    class Stuck:
        calls = 0

        async def estimate(self, asked: Sequence[Query]) -> list[Estimate]:
            self.calls += 1
            if self.calls > 1:
                await release.wait()
            return [Estimate.point(0.9, 0.05, query.claim) for query in asked]

    found = await BatchingVerifier(Stuck(), 2, concurrency=1, deadline=0.05).estimate(queries("a", 4))
    assert [failure_code(estimate) for estimate in found] == [None, None, "timeout", "timeout"]
    release.set()


def test_threads_with_loops_of_their_own_share_it() -> None:
    pool = BatchingVerifier(FakeVerifier(), 4)

    async def in_threads() -> list[list[Estimate]]:
        async def one() -> list[Estimate]:
            return await pool.estimate(queries("a", 9))

        work: Callable[[], Awaitable[list[Estimate]]] = lambda: asyncio.to_thread(lambda: asyncio.run(one()))  # noqa: E731
        return await asyncio.gather(*(work() for _ in range(4)))

    assert [len(found) for found in asyncio.run(in_threads())] == [9] * 4


@settings(max_examples=40)
@given(
    sizes=st.lists(st.integers(0, 20), min_size=1, max_size=8),
    size=st.integers(1, 12),
    concurrency=st.integers(1, 3),
    leave=st.integers(0, 7),
)
def test_everybody_gets_exactly_his_own_answers(sizes: list[int], size: int, concurrency: int, leave: int) -> None:
    """Whatever the sizes, and though one of them leaves on the way."""

    class Echo:
        async def estimate(self, asked: Sequence[Query]) -> list[Estimate]:
            assert 0 < len(asked) <= size
            await asyncio.sleep(0)
            return [Estimate.point(0.5, 0.1, query.claim) for query in asked]

    async def all_of_them() -> None:
        pool = BatchingVerifier(Echo(), size, concurrency=concurrency)
        asked = [queries(f"{number}-", count) for number, count in enumerate(sizes)]
        tasks = [asyncio.create_task(pool.estimate(one)) for one in asked]
        await asyncio.sleep(0)
        if leave < len(tasks):
            tasks[leave].cancel()
        found = await asyncio.gather(*tasks, return_exceptions=True)
        for wanted, got in zip(asked, found, strict=True):
            if isinstance(got, asyncio.CancelledError):
                continue
            assert not isinstance(got, BaseException)
            assert [estimate.method for estimate in got] == [query.claim for query in wanted]

    asyncio.run(all_of_them())


async def test_the_embedded_model_is_pooled() -> None:
    backend = open_backend(Config(), name="local")
    one = [Query("Paris has 67 people.", "Paris has 67 people.")]
    alone = await backend.verifier.estimate(one)
    assert await asyncio.gather(*(backend.verifier.estimate(one) for _ in range(3))) == [alone] * 3
