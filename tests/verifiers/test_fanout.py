from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from groundwire.errors import BackendDown, ConfigError
from groundwire.llm.fake import ScriptedGenerator
from groundwire.types import Estimate, Query
from groundwire.verifiers.shared import LLMVerifier

GOOD = Estimate.point(0.5, 0.5, "m")


class Alone(LLMVerifier):
    """Judges each query in a request of its own."""

    def __init__(self, one: Callable[[Query], Awaitable[Estimate]], **limits: int) -> None:
        super().__init__(ScriptedGenerator([]), "test", **limits)
        self._one = one

    async def judge(self, query: Query) -> Estimate:
        return await self._one(query)


@pytest.mark.spec("SPEC-08.29", "SPEC-16.26")
async def test_of_each_context_one_goes_first_and_the_rest_follow_together() -> None:
    under_way: set[str] = set()
    seen: list[tuple[str, frozenset[str]]] = []

    async def judge(query: Query) -> Estimate:
        under_way.add(query.claim)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        seen.append((query.claim, frozenset(under_way)))
        under_way.discard(query.claim)
        return GOOD

    queries = [Query("a1", "a"), Query("b1", "b"), Query("a2", "a"), Query("a3", "a"), Query("b2", "b")]
    assert await Alone(judge).estimate(queries) == [GOOD] * 5
    together = dict(seen)
    assert together["a1"] | together["b1"] == {"a1", "b1"}
    assert {"a2", "a3"} <= together["a2"]


@pytest.mark.spec("SPEC-08.29")
async def test_the_order_holds_over_separate_calls_too() -> None:
    release = asyncio.Event()
    asked: list[str] = []

    async def judge(query: Query) -> Estimate:
        asked.append(query.claim)
        if query.claim == "first":
            await release.wait()
        return GOOD

    verifier = Alone(judge)
    calls = [asyncio.create_task(verifier.estimate([Query(claim, "c")])) for claim in ("first", "second", "third")]
    other = asyncio.create_task(verifier.estimate([Query("elsewhere", "d")]))
    await other
    assert asked == ["first", "elsewhere"]
    release.set()
    await asyncio.gather(*calls)
    assert asked[2:] == ["second", "third"]
    await verifier.estimate([Query("later", "c")])
    assert asked[-1] == "later"


async def test_nobody_waits_for_a_first_that_failed_or_was_cancelled() -> None:
    async def judge(query: Query) -> Estimate:
        if query.claim == "fails":
            raise BackendDown("gone")
        if query.claim == "hangs":
            await asyncio.Event().wait()
        return GOOD

    verifier = Alone(judge)
    failed, good = await verifier.estimate([Query("fails", "c"), Query("fine", "c")])
    assert (failed.error, good.error) == ("error: gone", None)
    hanging = asyncio.create_task(verifier.estimate([Query("hangs", "d")]))
    waiting = asyncio.create_task(verifier.estimate([Query("fine", "d")]))
    await asyncio.sleep(0)
    hanging.cancel()
    assert await waiting == [GOOD]


async def test_many_contexts_do_not_pile_up() -> None:
    async def judge(query: Query) -> Estimate:
        return GOOD

    verifier = Alone(judge)
    assert len(await verifier.estimate([Query("a", str(i)) for i in range(300)])) == 300
    assert len(verifier._leads.get()._read) <= 64


async def test_no_more_at_once_than_allowed() -> None:
    running = peak = 0

    async def judge(query: Query) -> Estimate:
        nonlocal running, peak
        running += 1
        peak = max(peak, running)
        await asyncio.sleep(0)
        running -= 1
        return GOOD

    verifier = Alone(judge, concurrency=3)
    queries = [Query(str(i), str(i % 7)) for i in range(40)]
    await asyncio.gather(verifier.estimate(queries), verifier.estimate(queries))
    assert peak == 3


async def test_every_failure_of_ours_is_one_exception_not_a_group() -> None:
    async def judge(query: Query) -> Estimate:
        raise ConfigError("no key")

    with pytest.raises(ConfigError):
        await Alone(judge).estimate([Query("a", "c"), Query("b", "d")])


def test_a_second_event_loop_is_fine() -> None:
    async def judge(query: Query) -> Estimate:
        await asyncio.sleep(0)
        return GOOD

    verifier = Alone(judge, concurrency=1)
    for _ in range(2):
        assert len(asyncio.run(verifier.estimate([Query(str(i), str(i)) for i in range(4)]))) == 4
