"""Batches: order, sharing of contexts, side by side, and what one failure costs."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from groundwire.errors import BackendDown, RateLimited
from groundwire.types import Estimate, Query
from groundwire.verifiers.batching import Batched, plan
from groundwire.verifiers.fake import FakeVerifier
from groundwire.verifiers.wrappers import failure_code

queries_strategy = st.lists(st.builds(Query, claim=st.text(max_size=3), context=st.sampled_from("abc")), max_size=40)


async def turns(count: int = 20) -> None:
    """Let everything that can run do so."""
    for _ in range(count):
        await asyncio.sleep(0)


def queries(count: int, contexts: int = 1) -> list[Query]:
    return [Query(f"claim {i}", f"context {i % contexts}") for i in range(count)]


@settings(max_examples=50)
@given(queries_strategy, st.integers(1, 7), st.booleans())
def test_a_plan_holds_every_query_once_and_keeps_contexts_together(
    asked: list[Query], size: int, by_context: bool
) -> None:
    batches = plan(asked, size, by_context=by_context)
    flat = [i for batch in batches for i in batch]
    assert sorted(flat) == list(range(len(asked)))
    assert all(1 <= len(batch) <= size for batch in batches)
    runs = [asked[i].context for i in flat]
    assert sum(a != b for a, b in pairwise(runs)) == max(0, len(set(runs)) - 1)
    if by_context:
        assert all(len({asked[i].context for i in batch}) == 1 for batch in batches)


@pytest.mark.spec("SPEC-08.29")
async def test_many_claims_over_one_context_are_one_call() -> None:
    fake = FakeVerifier()
    await Batched(fake, 32).estimate(queries(32))
    assert [len(call) for call in fake.calls] == [32]


@pytest.mark.spec("SPEC-08.29")
async def test_answers_come_back_in_the_order_of_the_questions() -> None:
    fake = FakeVerifier(lambda q: (int(q.claim.split()[1]) / 100, 0.0))
    estimates = await Batched(fake, 3, concurrency=4).estimate(queries(20, contexts=3))
    assert [e.p_yes for e in estimates] == [i / 100 for i in range(20)]


@pytest.mark.spec("SPEC-08.42", "SPEC-08.43")
async def test_a_failed_batch_costs_its_own_queries_only() -> None:
    fake = FakeVerifier(failing=[None, RateLimited("busy"), None])
    estimates = await Batched(fake, 2).estimate(queries(6))
    assert [failure_code(e) for e in estimates] == [None, None, "rate_limited", "rate_limited", None, None]


@pytest.mark.spec("SPEC-16.26")
async def test_batches_run_side_by_side_up_to_the_limit_over_all_callers() -> None:
    release = asyncio.Event()
    fake = FakeVerifier(hold=release)
    batched = Batched(fake, 1, concurrency=3)
    callers = [asyncio.create_task(batched.estimate(queries(4))) for _ in range(2)]
    await turns()
    assert len(fake.calls) == 3
    release.set()
    await asyncio.gather(*callers)
    assert (fake.peak, fake.queries) == (3, 8)


@pytest.mark.spec("SPEC-08.29")
async def test_one_query_of_each_context_goes_ahead_to_warm_the_prefix() -> None:
    release = asyncio.Event()
    fake = FakeVerifier(hold=release)
    asked = queries(6, contexts=2)
    task = asyncio.create_task(Batched(fake, 1, concurrency=8, by_context=True).estimate(asked))
    await turns()
    assert fake.calls == [(asked[0],), (asked[1],)]
    release.set()
    assert len(await task) == 6
    assert fake.queries == 6


async def test_a_context_whose_first_query_fails_goes_on() -> None:
    fake = FakeVerifier(failing=[BackendDown("gone")])
    estimates = await Batched(fake, 1, concurrency=8, by_context=True).estimate(queries(3))
    assert [failure_code(e) for e in estimates] == ["error", None, None]


async def test_one_at_a_time_where_nothing_is_to_be_gained() -> None:
    fake = FakeVerifier()
    await Batched(fake, 1, concurrency=1).estimate(queries(5))
    assert fake.peak == 1


@pytest.mark.spec("SPEC-08.38", "SPEC-08.42")
async def test_what_is_finished_at_the_deadline_is_kept() -> None:
    class Slow:
        async def estimate(self, queries: Sequence[Query]) -> list[Estimate]:
            if queries[0].claim == "claim 1":
                await asyncio.Event().wait()
            return [Estimate.point(0.9, 0.0, "slow") for _ in queries]

    estimates = await Batched(Slow(), 1, concurrency=3, deadline=0.01).estimate(queries(3))
    assert [failure_code(e) for e in estimates] == [None, "timeout", None]
    assert estimates[1].error == "timeout: not checked within 0.01 s"


async def test_cancelling_the_caller_ends_every_batch() -> None:
    fake = FakeVerifier(hold=asyncio.Event())
    task = asyncio.create_task(Batched(fake, 1, concurrency=8).estimate(queries(4)))
    await turns()
    assert len(fake.calls) == 4
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert len(asyncio.all_tasks()) == 1


async def test_a_bug_is_not_hidden_as_a_failure() -> None:
    def broken(_: Query) -> Estimate:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await Batched(FakeVerifier(broken), 1, concurrency=2).estimate(queries(4))
    assert len(asyncio.all_tasks()) == 1


async def test_a_batch_with_the_wrong_number_of_answers_has_failed() -> None:
    class Short:
        async def estimate(self, queries: Sequence[Query]) -> list[Estimate]:
            return [Estimate.point(1.0, 0.0, "short")]

    estimates = await Batched(Short(), 2).estimate(queries(3))
    assert [failure_code(e) for e in estimates] == ["error", "error", None]


def test_it_can_be_used_from_one_event_loop_after_another() -> None:
    fake = FakeVerifier(failing=[BackendDown("gone")])
    batched = Batched(fake, 1, concurrency=1)
    for _ in range(2):
        assert len(asyncio.run(batched.estimate(queries(5)))) == 5
