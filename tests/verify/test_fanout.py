from __future__ import annotations

import asyncio

import pytest

from groundwire.errors import ConfigError
from groundwire.types import Estimate, Query
from groundwire.verify.fanout import Fanout

GOOD = Estimate.point(0.5, 0.5, "m")


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
    assert await Fanout(judge)(queries) == [GOOD] * 5
    together = dict(seen)
    assert together["a1"] | together["b1"] == {"a1", "b1"}
    assert {"a2", "a3"} <= together["a2"]


async def test_no_more_at_once_than_allowed() -> None:
    running = peak = 0

    async def judge(query: Query) -> Estimate:
        nonlocal running, peak
        running += 1
        peak = max(peak, running)
        await asyncio.sleep(0)
        running -= 1
        return GOOD

    fanout = Fanout(judge, concurrency=3)
    queries = [Query(str(i), str(i % 7)) for i in range(40)]
    await asyncio.gather(fanout(queries), fanout(queries))
    assert peak == 3


async def test_every_failure_of_ours_is_one_exception_not_a_group() -> None:
    async def judge(query: Query) -> Estimate:
        raise ConfigError("no key")

    with pytest.raises(ConfigError):
        await Fanout(judge)([Query("a", "c"), Query("b", "d")])


def test_a_second_event_loop_is_fine() -> None:
    async def judge(query: Query) -> Estimate:
        await asyncio.sleep(0)
        return GOOD

    fanout = Fanout(judge, concurrency=1)
    for _ in range(2):
        assert len(asyncio.run(fanout([Query(str(i), str(i)) for i in range(4)]))) == 4
