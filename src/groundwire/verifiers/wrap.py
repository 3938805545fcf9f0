"""What stands between a verifier and an unreliable world. Each wraps a Verifier and is one.

Inside out: `Offloaded` keeps computation off the event loop, `Timeout` bounds one attempt, `RateLimit` spaces
attempts, `Breaker` stops asking what is down, `Retry` asks again. They raise; `Batched` and `Guarded` turn
what they raise into failed estimates.
"""

from __future__ import annotations

import asyncio
import math
import random
import time
from collections.abc import Awaitable, Callable, Sequence

from groundwire.errors import (
    BackendDown,
    BackendError,
    BackendTimeout,
    GroundwireError,
    QueryRefused,
    RateLimited,
)
from groundwire.types import Estimate, Query, Verifier
from groundwire.verifiers.failure import as_error, failure_code, matched

Clock = Callable[[], float]
Sleep = Callable[[float], Awaitable[object]]

_AGAIN = ("rate_limited", "timeout")


class Timeout:
    """One attempt takes at most `seconds`."""

    def __init__(self, inner: Verifier, seconds: float) -> None:
        self._inner = inner
        self._seconds = seconds

    async def estimate(self, queries: Sequence[Query]) -> list[Estimate]:
        try:
            async with asyncio.timeout(self._seconds):
                return await self._inner.estimate(queries)
        except TimeoutError as error:
            raise BackendTimeout(f"the verifier did not answer within {self._seconds:g} s") from error


class Offloaded:
    """Computes in a thread, so that the event loop goes on meanwhile and a timeout can end the wait."""

    def __init__(self, inner: Verifier) -> None:
        self._inner = inner

    async def estimate(self, queries: Sequence[Query]) -> list[Estimate]:
        async def compute() -> list[Estimate]:
            return await self._inner.estimate(queries)

        return await asyncio.to_thread(lambda: asyncio.run(compute()))


class RateLimit:
    """A token bucket: `per_second` requests on average, `burst` at once, callers served in order.

    `cost` is how many requests one call of `inner` makes. Who would have to wait longer than `longest`
    seconds is told so instead.
    """

    def __init__(
        self,
        inner: Verifier,
        per_second: float,
        *,
        cost: int = 1,
        burst: float | None = None,
        longest: float = math.inf,
        clock: Clock = time.monotonic,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self._inner = inner
        self._longest = longest
        self._rate = per_second
        self._cost = cost
        self._burst = max(float(cost), per_second if burst is None else burst)
        self._clock = clock
        self._sleep = sleep
        self._tokens = self._burst
        self._seen = clock()

    async def estimate(self, queries: Sequence[Query]) -> list[Estimate]:
        await self._take()
        return await self._inner.estimate(queries)

    async def _take(self) -> None:
        now = self._clock()
        self._tokens = min(self._burst, self._tokens + max(0.0, now - self._seen) * self._rate)
        self._seen = now
        self._tokens -= self._cost  # below zero is a place in the queue
        if self._tokens < 0:
            wait = -self._tokens / self._rate
            if wait > self._longest:
                self._tokens += self._cost
                raise RateLimited(f"more than {self._rate:g} requests a second are wanted", retry_after=wait)
            try:
                await self._sleep(wait)
            except asyncio.CancelledError:
                self._tokens += self._cost
                raise


class Breaker:
    """After `failures` in a row it fails at once for `cooldown` seconds; then one probe decides.

    While it is open it raises the kind of error that opened it, so that "come back later" stays that.
    """

    def __init__(
        self, inner: Verifier, failures: int, cooldown: float, *, clock: Clock = time.monotonic
    ) -> None:
        self._inner = inner
        self._limit = failures
        self._cooldown = cooldown
        self._clock = clock
        self._failures = 0
        self._opened: float | None = None
        self._last: BackendError | None = None
        self._probing = False

    @property
    def is_open(self) -> bool:
        return self._opened is not None

    async def estimate(self, queries: Sequence[Query]) -> list[Estimate]:
        probe = self._admit()
        try:
            estimates = await self._inner.estimate(queries)
        except QueryRefused:
            self._close()  # about this query alone, and said by a backend that is well
            raise
        except BackendError as error:
            self._failed(error)
            raise
        finally:
            if probe:
                self._probing = False
        if estimates and all(failure_code(estimate) in _AGAIN for estimate in estimates):
            self._failed(as_error(estimates[0]))
        else:  # an answer that says nothing about the claim is still an answer
            self._close()
        return estimates

    def _admit(self) -> bool:
        """True for a probe, False for an ordinary call; raises while open."""
        if self._opened is None:
            return False
        left = self._opened + self._cooldown - self._clock()
        if left > 0 or self._probing:
            raise self._refusal(max(left, 0.0))
        self._probing = True
        return True

    def _refusal(self, left: float) -> BackendError:
        cause, hint = (self._last.message, self._last.hint) if self._last else ("", "")
        message = f"{cause} ({self._failures} failures in a row, not asked for another {left:.0f} s)"
        refusal: BackendError
        match self._last:
            case RateLimited():
                refusal = RateLimited(message, retry_after=left, hint=hint)
            case BackendTimeout():
                refusal = BackendTimeout(message, hint=hint)
            case _:
                refusal = BackendDown(message, hint=hint)
        refusal.retryable = False  # waiting is the breaker's business now
        return refusal

    def _failed(self, error: BackendError) -> None:
        self._failures += 1
        self._last = error
        if self._failures >= self._limit:
            self._opened = self._clock()

    def _close(self) -> None:
        self._failures, self._opened, self._last = 0, None, None


class Retry:
    """Asks again, at most `retries` times, what failed in a way that may pass.

    Waits between attempts are exponential with full jitter and never shorter than the server's
    Retry-After; a server that wants more than `longest` seconds is not waited for. Where only some
    of the queries failed, only those are asked again.
    """

    def __init__(
        self,
        inner: Verifier,
        retries: int,
        *,
        first: float = 0.5,
        longest: float = 20.0,
        sleep: Sleep = asyncio.sleep,
        uniform: Callable[[], float] = random.random,
    ) -> None:
        self._inner = inner
        self._retries = retries
        self._first = first
        self._longest = longest
        self._sleep = sleep
        self._uniform = uniform

    async def estimate(self, queries: Sequence[Query]) -> list[Estimate]:
        answers: dict[int, Estimate] = {}
        pending = list(range(len(queries)))
        for attempt in range(self._retries + 1):
            error: GroundwireError | None = None
            last = attempt == self._retries
            try:
                fresh = matched(await self._inner.estimate([queries[i] for i in pending]), len(pending))
            except GroundwireError as caught:
                error = caught
                if not answers and (last or not self._waits_for(caught)):
                    raise
            else:
                answers.update(zip(pending, fresh, strict=True))
                pending = [i for i in pending if failure_code(answers[i]) in _AGAIN]
            if last or not pending or (error and not self._waits_for(error)):
                break
            await self._sleep(self._delay(attempt, error))
        return [answers[i] for i in range(len(queries))]

    def _waits_for(self, error: GroundwireError) -> bool:
        wanted = error.retry_after if isinstance(error, RateLimited) else None
        return error.retryable and (wanted or 0.0) <= self._longest

    def _delay(self, attempt: int, error: GroundwireError | None) -> float:
        jitter = self._uniform() * min(self._longest, self._first * 2.0**attempt)
        wanted = error.retry_after if isinstance(error, RateLimited) else None
        return max(jitter, wanted or 0.0)
