"""Timeout, rate limit, breaker and retry, each alone, on clocks that tests hold in their hands."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from itertools import pairwise, repeat

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from groundwire.errors import BackendDown, BackendError, BackendTimeout, InputError, QueryRefused, RateLimited
from groundwire.types import Estimate, Query
from groundwire.verifiers.fake import Answer, FakeVerifier
from groundwire.verifiers.wrappers import Breaker, RateLimit, Retry, ThreadedVerifier, Timeout

A, B = Query("a", "context"), Query("b", "context")


class Time:
    """A clock that moves only when someone sleeps on it."""

    def __init__(self) -> None:
        self.now = 100.0
        self.slept: list[float] = []

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


@pytest.fixture
def time() -> Time:
    return Time()


def retry(inner: FakeVerifier, time: Time, retries: int = 2, uniform: float = 1.0) -> Retry:
    return Retry(inner, retries, first=1.0, longest=8.0, sleep=time.sleep, uniform=lambda: uniform)


class TestTimeout:
    @pytest.mark.spec("SPEC-08.42")
    async def test_a_hang_becomes_a_timeout_error(self) -> None:
        with pytest.raises(BackendTimeout, match=r"within 0\.001 s"):
            await Timeout(FakeVerifier(hold=asyncio.Event()), 0.001).estimate([A])

    async def test_an_answer_in_time_passes(self) -> None:
        assert len(await Timeout(FakeVerifier(), 60).estimate([A, B])) == 2

    async def test_cancelling_the_caller_is_no_timeout(self) -> None:
        task = asyncio.create_task(Timeout(FakeVerifier(hold=asyncio.Event()), 60).estimate([A]))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task


class TestOffloaded:
    async def test_the_event_loop_goes_on_meanwhile_and_a_timeout_ends_the_wait(self) -> None:
        release = threading.Event()

        class Computing:
            async def estimate(self, queries: Sequence[Query]) -> list[Estimate]:
                release.wait()  # noqa: ASYNC251, RUF100 (it blocks its loop: that is the point)
                return [Estimate.point(0.9, 0.0, "slow") for _ in queries]

        with pytest.raises(BackendTimeout):
            await Timeout(ThreadedVerifier(Computing()), 0.01).estimate([A])
        release.set()

    async def test_errors_come_through(self) -> None:
        with pytest.raises(BackendDown):
            await ThreadedVerifier(FakeVerifier(failing=[BackendDown("gone")])).estimate([A])


class TestRetry:
    async def test_it_asks_again_after_a_failure_that_may_pass(self, time: Time) -> None:
        fake = FakeVerifier(failing=[BackendTimeout("slow"), BackendDown("5xx", retryable=True)])
        assert len(await retry(fake, time).estimate([A, B])) == 2
        assert len(fake.calls) == 3

    async def test_it_gives_up_after_the_last_retry_and_raises_what_happened(self, time: Time) -> None:
        fake = FakeVerifier(failing=repeat(BackendTimeout("slow")))
        with pytest.raises(BackendTimeout, match="slow"):
            await retry(fake, time).estimate([A])
        assert len(fake.calls) == 3

    @pytest.mark.parametrize("error", [BackendDown("nonsense"), InputError("bad"), BackendError("refused")])
    async def test_what_will_not_pass_is_not_asked_again(self, time: Time, error: BackendError) -> None:
        fake = FakeVerifier(failing=[error])
        with pytest.raises(type(error)):
            await retry(fake, time).estimate([A])
        assert len(fake.calls) == 1

    async def test_waits_double_and_are_jittered_over_their_whole_length(self, time: Time) -> None:
        fake = FakeVerifier(failing=[BackendTimeout("slow")] * 5)
        await retry(fake, time, retries=5, uniform=0.5).estimate([A])
        assert time.slept == [0.5, 1.0, 2.0, 4.0, 4.0]

    async def test_retry_after_is_the_least_wait(self, time: Time) -> None:
        fake = FakeVerifier(failing=[RateLimited("busy", retry_after=5.0), RateLimited("busy")])
        await retry(fake, time).estimate([A])
        assert time.slept == [5.0, 2.0]

    async def test_a_server_that_wants_a_long_pause_is_not_waited_for(self, time: Time) -> None:
        fake = FakeVerifier(failing=[RateLimited("busy", retry_after=3600.0)])
        with pytest.raises(RateLimited):
            await retry(fake, time).estimate([A])
        assert time.slept == []

    async def test_only_the_queries_that_failed_are_asked_again(self, time: Time) -> None:
        seen: list[str] = []

        def script(query: Query) -> Estimate:
            seen.append(query.claim)
            if query.claim == "b" and seen.count("b") == 1:
                return Estimate.failed("rate_limited: later")
            return Estimate.point(0.9, 0.0, "fake")

        estimates = await retry(FakeVerifier(script), time).estimate([A, B])
        assert [e.error for e in estimates] == [None, None]
        assert seen == ["a", "b", "b"]

    async def test_what_was_answered_survives_a_retry_that_fails(self, time: Time) -> None:
        answers: dict[str, Answer] = {"a": (0.9, 0.0), "b": Estimate.failed("timeout: slow")}
        fake = FakeVerifier(answers, failing=[None, BackendDown("gone")])
        good, bad = await retry(fake, time).estimate([A, B])
        assert (good.p_yes, bad.error) == (0.9, "timeout: slow")

    async def test_cancellation_is_not_retried(self, time: Time) -> None:
        fake = FakeVerifier(hold=asyncio.Event())
        task = asyncio.create_task(retry(fake, time).estimate([A]))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert len(fake.calls) == 1

    async def test_a_verifier_that_answers_too_few_is_down(self, time: Time) -> None:
        class Short:
            async def estimate(self, queries: Sequence[Query]) -> list[Estimate]:
                return []

        with pytest.raises(BackendDown, match="0 estimates for 1"):
            await Retry(Short(), 2, sleep=time.sleep).estimate([A])


class TestRateLimit:
    async def test_a_burst_passes_and_then_calls_are_spaced(self, time: Time) -> None:
        limited = RateLimit(FakeVerifier(), 2.0, burst=2, clock=time, sleep=time.sleep)
        for _ in range(4):
            await limited.estimate([A])
        assert time.slept == [0.5, 0.5]

    async def test_a_call_that_makes_several_requests_pays_for_each(self, time: Time) -> None:
        limited = RateLimit(FakeVerifier(), 1.0, cost=2, clock=time, sleep=time.sleep)
        for _ in range(3):
            await limited.estimate([A])
        assert time.slept == [2.0, 2.0]

    async def test_idle_time_fills_the_bucket_up_to_the_burst(self, time: Time) -> None:
        limited = RateLimit(FakeVerifier(), 1.0, burst=2, clock=time, sleep=time.sleep)
        await limited.estimate([A])
        time.now += 60
        for _ in range(2):
            await limited.estimate([A])
        assert time.slept == []

    async def test_callers_at_the_same_moment_queue_up(self, time: Time) -> None:
        waits: list[float] = []

        async def stand_still(seconds: float) -> None:
            waits.append(seconds)

        limited = RateLimit(FakeVerifier(), 1.0, burst=1, clock=time, sleep=stand_still)
        await asyncio.gather(*(limited.estimate([A]) for _ in range(3)))
        assert waits == [1.0, 2.0]

    async def test_who_leaves_the_queue_gives_the_place_back(self, time: Time) -> None:
        async def cancelled(_: float) -> None:
            raise asyncio.CancelledError

        limited = RateLimit(FakeVerifier(), 1.0, burst=1, clock=time, sleep=cancelled)
        await limited.estimate([A])
        for _ in range(5):
            with pytest.raises(asyncio.CancelledError):
                await limited.estimate([A])
        time.now += 1.0
        assert len(await limited.estimate([A])) == 1

    @settings(max_examples=30)
    @given(st.floats(0.1, 50.0), st.lists(st.floats(0.0, 3.0), min_size=1, max_size=30))
    def test_never_more_than_the_rate_over_any_stretch(self, rate: float, pauses: list[float]) -> None:
        time, sent = Time(), []

        async def run() -> None:
            limited = RateLimit(FakeVerifier(), rate, burst=1, clock=time, sleep=time.sleep)
            for pause in pauses:
                time.now += pause
                await limited.estimate([A])
                sent.append(time.now)

        asyncio.run(run())
        assert all(later - earlier >= 1 / rate - 1e-9 for earlier, later in pairwise(sent))


class TestBreaker:
    async def _fail(self, breaker: Breaker, times: int) -> None:
        for _ in range(times):
            with pytest.raises(BackendError):
                await breaker.estimate([A])

    async def test_it_opens_after_failures_in_a_row_and_asks_no_more(self, time: Time) -> None:
        fake = FakeVerifier(failing=repeat(BackendDown("gone", hint="is it running?")))
        breaker = Breaker(fake, 3, 30.0, clock=time)
        await self._fail(breaker, 10)
        assert len(fake.calls) == 3
        with pytest.raises(BackendDown, match=r"^gone \(3 failures in a row, next attempt in 30 s\): is it running\?$"):
            await breaker.estimate([A])

    async def test_a_success_in_between_starts_the_count_again(self, time: Time) -> None:
        gone = BackendDown("gone")
        fake = FakeVerifier(failing=[gone, gone, None, gone, gone, None])
        breaker = Breaker(fake, 3, 30.0, clock=time)
        for _ in range(2):
            await self._fail(breaker, 2)
            await breaker.estimate([A])
        assert not breaker.is_open

    async def test_after_the_cooldown_one_probe_closes_it(self, time: Time) -> None:
        fake = FakeVerifier(failing=[BackendDown("gone")] * 2)
        breaker = Breaker(fake, 2, 30.0, clock=time)
        await self._fail(breaker, 2)
        time.now += 30.0
        await breaker.estimate([A])
        assert not breaker.is_open

    async def test_a_failed_probe_keeps_it_open_for_another_cooldown(self, time: Time) -> None:
        fake = FakeVerifier(failing=repeat(BackendDown("gone")))
        breaker = Breaker(fake, 2, 30.0, clock=time)
        await self._fail(breaker, 2)
        time.now += 30.0
        await self._fail(breaker, 3)
        assert len(fake.calls) == 3

    async def test_only_one_probe_at_a_time(self, time: Time) -> None:
        release = asyncio.Event()
        fake = FakeVerifier(failing=[BackendDown("gone")], hold=release)
        breaker = Breaker(fake, 1, 30.0, clock=time)
        release.set()
        await self._fail(breaker, 1)
        release.clear()
        time.now += 30.0
        probe = asyncio.create_task(breaker.estimate([A]))
        await asyncio.sleep(0)
        await self._fail(breaker, 2)
        release.set()
        assert len(await probe) == 1

    async def test_a_cancelled_probe_leaves_room_for_the_next(self, time: Time) -> None:
        hold = asyncio.Event()
        hold.set()
        breaker = Breaker(FakeVerifier(failing=[BackendDown("gone")], hold=hold), 1, 30.0, clock=time)
        await self._fail(breaker, 1)
        hold.clear()
        time.now += 30.0
        probe = asyncio.create_task(breaker.estimate([A]))
        await asyncio.sleep(0)
        probe.cancel()
        with pytest.raises(asyncio.CancelledError):
            await probe
        hold.set()
        assert len(await breaker.estimate([A])) == 1

    async def test_being_told_to_come_back_later_stays_recognisable_and_is_not_retried(self, time: Time) -> None:
        fake = FakeVerifier(failing=repeat(RateLimited("busy")))
        breaker = Breaker(fake, 1, 30.0, clock=time)
        await self._fail(breaker, 1)
        with pytest.raises(RateLimited) as caught:
            await breaker.estimate([A])
        assert (caught.value.retryable, caught.value.retry_after) == (False, 30.0)

    async def test_a_timeout_stays_one_and_is_not_retried_while_it_is_open(self, time: Time) -> None:
        breaker = Breaker(FakeVerifier(failing=repeat(BackendTimeout("slow"))), 1, 30.0, clock=time)
        await self._fail(breaker, 1)
        with pytest.raises(BackendTimeout, match="next attempt") as caught:
            await breaker.estimate([A])
        assert not caught.value.retryable

    async def test_a_call_without_any_answer_counts_as_a_failure(self, time: Time) -> None:
        fake = FakeVerifier(lambda _: Estimate.failed("timeout: slow"))
        breaker = Breaker(fake, 1, 30.0, clock=time)
        await breaker.estimate([A])
        with pytest.raises(BackendError, match=r"slow \(1 failures"):
            await breaker.estimate([A])

    async def test_a_model_that_answers_something_else_is_not_down(self, time: Time) -> None:
        fake = FakeVerifier(lambda _: Estimate.failed("error: the model answered none of YES, NO, UNSURE"))
        breaker = Breaker(fake, 1, 30.0, clock=time)
        await breaker.estimate([A])
        assert not breaker.is_open

    async def test_queries_that_are_refused_one_by_one_do_not_open_it(self, time: Time) -> None:
        fake = FakeVerifier(failing=[QueryRefused("too long")] * 5)
        breaker = Breaker(fake, 2, 30.0, clock=time)
        await self._fail(breaker, 5)
        assert len(await breaker.estimate([A])) == 1

    async def test_our_own_mistakes_do_not_open_it(self, time: Time) -> None:
        breaker = Breaker(FakeVerifier(failing=[InputError("bad")]), 1, 30.0, clock=time)
        with pytest.raises(InputError):
            await breaker.estimate([A])
        assert not breaker.is_open
