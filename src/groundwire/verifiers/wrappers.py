"""Wrappers around a verifier. Each wraps a `Verifier` and is one.

From the inside out: `ThreadedVerifier` keeps computation off the event loop, `Timeout` limits one attempt,
`RateLimit` delays attempts, `Breaker` stops calling a backend that is down, `Retry` repeats failed calls.
They raise; `Batched` and `SafeVerifier` turn exceptions into failed estimates.
"""

from __future__ import annotations

import asyncio
import logging
import math
import random
import re
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import KW_ONLY, dataclass, field
from hashlib import sha256
from math import isfinite
from pathlib import Path
from traceback import extract_tb
from typing import Literal, TypeVar

from groundwire.errors import BackendDown, BackendError, BackendTimeout, GroundwireError, QueryRefused, RateLimited
from groundwire.metrics import Metrics
from groundwire.types import Estimate, Query, Verifier

# `Estimate.error` is `"<code>: <message>"`, where the code is one of
#     rate_limited   the backend asked to retry later; the message ends in "(in 30 s)" if it said when
#     timeout        no answer in time
#     error          anything else
# so that a caller can tell "try again later" from "broken" without parsing prose.

T = TypeVar("T")
FailureCode = Literal["rate_limited", "timeout", "error"]
_CODES: tuple[FailureCode, ...] = ("rate_limited", "timeout", "error")
_LATER = re.compile(r" \(in (\d+(?:\.\d+)?) s\)$")


def failure(error: GroundwireError) -> str:
    """The `Estimate.error` of an exception."""
    match error:
        case RateLimited():
            when = "" if error.retry_after is None else f" (in {error.retry_after:.1f} s)"
            return f"rate_limited: {error}{when}"
        case BackendTimeout():
            return f"timeout: {error}"
        case _:
            return f"error: {error}"


def brief(error: str) -> str:
    """Shorten an error for the log: replies of servers and models are removed, since they may quote sources.

    >>> brief("error: host refused the request (400): 'The patient …' is too long")
    'error: host refused the request (400)'
    >>> brief("error: the model answered none of YES, NO, UNSURE, but 'The patient'")
    "error: the model answered none of YES, NO, UNSURE, but '…'"
    """
    return re.sub(r"'.*'", "'…'", ": ".join(error.split(": ")[:2]))


def failure_code(estimate: Estimate) -> FailureCode | None:
    """The code of a failed estimate (`error` if it has none of ours), None for a good one."""
    if estimate.error is None:
        return None
    code = estimate.error.partition(":")[0]
    return code if code in _CODES else "error"


def all_failed(count: int, error: GroundwireError) -> list[Estimate]:
    return [Estimate.failed(failure(error))] * count


def as_error(estimate: Estimate) -> BackendError:
    """Convert a failed estimate back into its exception; the reverse of `failure`.

    >>> as_error(Estimate.failed(failure(RateLimited("host is busy", retry_after=30)))).retry_after
    30.0
    """
    code, message = failure_code(estimate), estimate.error or "no estimate"
    message = message.removeprefix(f"{code}: ")
    match code:
        case "rate_limited":
            later = _LATER.search(message)
            wait = float(later[1]) if later else None
            return RateLimited(_LATER.sub("", message), retry_after=wait)
        case "timeout":
            return BackendTimeout(message)
        case _:
            return BackendError(message)


def matched(estimates: list[T], count: int) -> list[T]:
    """Return `estimates`; raises `BackendDown` unless there is one per query."""
    if len(estimates) != count:
        raise BackendDown(f"the verifier returned {len(estimates)} estimates for {count} queries")
    return estimates


async def estimate_probability(verifier: Verifier, claim: str, context: str) -> float:
    """P(claim | context) of a single claim. Raises the `BackendError` of a failed estimate."""
    return (await batch_estimate(verifier, [claim], context))[0]


async def batch_estimate(verifier: Verifier, claims: Sequence[str], context: str) -> list[float]:
    """P(claim | context) of each claim, in one call. Raises the `BackendError` of a failed estimate."""
    estimates = matched(await verifier.estimate([Query(claim, context) for claim in claims]), len(claims))
    for estimate in estimates:
        if estimate.error is not None:
            raise as_error(estimate)
    return [estimate.p_yes for estimate in estimates]


Clock = Callable[[], float]
Sleep = Callable[[float], Awaitable[object]]

_RETRYABLE = ("rate_limited", "timeout")


@dataclass(frozen=True, eq=False)
class Timeout:
    """Limit one attempt to `seconds`."""

    inner: Verifier
    seconds: float

    async def estimate(self, queries: Sequence[Query]) -> list[Estimate]:
        try:
            async with asyncio.timeout(self.seconds):
                return await self.inner.estimate(queries)
        except TimeoutError as error:
            raise BackendTimeout(f"the verifier did not answer within {self.seconds:g} s") from error


@dataclass(frozen=True, eq=False)
class ThreadedVerifier:
    """Compute in a thread, so that the event loop is not blocked and a timeout takes effect."""

    inner: Verifier

    async def estimate(self, queries: Sequence[Query]) -> list[Estimate]:
        async def compute() -> list[Estimate]:
            return await self.inner.estimate(queries)

        return await asyncio.to_thread(lambda: asyncio.run(compute()))


@dataclass(eq=False)
class RateLimit:
    """A token bucket; callers are served in order.

    Args:
        per_second: average number of requests per second.
        cost: number of requests that one call of `inner` makes.
        burst: number of requests allowed at once, default `per_second`.
        longest: raise `RateLimited` instead of waiting longer than this many seconds.
    """

    inner: Verifier
    per_second: float
    _: KW_ONLY
    cost: int = 1
    burst: float | None = None
    longest: float = math.inf
    clock: Clock = time.monotonic
    sleep: Sleep = asyncio.sleep

    def __post_init__(self) -> None:
        self._most = max(float(self.cost), self.per_second if self.burst is None else self.burst)
        self._tokens, self._seen = self._most, self.clock()

    async def estimate(self, queries: Sequence[Query]) -> list[Estimate]:
        await self._take()
        return await self.inner.estimate(queries)

    async def _take(self) -> None:
        now = self.clock()
        self._tokens = min(self._most, self._tokens + max(0.0, now - self._seen) * self.per_second)
        self._seen = now
        self._tokens -= self.cost  # a negative balance is a position in the queue
        if self._tokens < 0:
            wait = -self._tokens / self.per_second
            if wait > self.longest:
                self._tokens += self.cost
                raise RateLimited(f"more than {self.per_second:g} requests per second", retry_after=wait)
            try:
                await self.sleep(wait)
            except asyncio.CancelledError:
                self._tokens += self.cost
                raise


class Breaker:
    """A circuit breaker: after `failures` in a row, fail at once for `cooldown` seconds, then send one probe.

    While it is open it raises the type of error that opened it, so that a rate limit is still seen as one.
    """

    def __init__(self, inner: Verifier, failures: int, cooldown: float, *, clock: Clock = time.monotonic) -> None:
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
            self._close()  # concerns this query only; the backend works
            raise
        except BackendError as error:
            self._failed(error)
            raise
        finally:
            if probe:
                self._probing = False
        if estimates and all(failure_code(estimate) in _RETRYABLE for estimate in estimates):
            self._failed(as_error(estimates[0]))
        else:  # even an unusable answer shows that the backend works
            self._close()
        return estimates

    def _admit(self) -> bool:
        """Return True for a probe, False for an ordinary call; raises while the breaker is open."""
        if self._opened is None:
            return False
        left = self._opened + self._cooldown - self._clock()
        if left > 0 or self._probing:
            raise self._refusal(max(left, 0.0))
        self._probing = True
        return True

    def _refusal(self, left: float) -> BackendError:
        cause, hint = (self._last.message, self._last.hint) if self._last else ("", "")
        message = f"{cause} ({self._failures} failures in a row, next attempt in {left:.0f} s)"
        refusal: BackendError
        match self._last:
            case RateLimited():
                refusal = RateLimited(message, retry_after=left, hint=hint)
            case BackendTimeout():
                refusal = BackendTimeout(message, hint=hint)
            case _:
                refusal = BackendDown(message, hint=hint)
        refusal.retryable = False  # the breaker decides when to try again
        return refusal

    def _failed(self, error: BackendError) -> None:
        self._failures += 1
        self._last = error
        if self._failures >= self._limit:
            self._opened = self._clock()

    def _close(self) -> None:
        self._failures, self._opened, self._last = 0, None, None


@dataclass(frozen=True, eq=False)
class Retry:
    """Repeat calls that failed with a retryable error, at most `retries` times.

    Args:
        first: upper bound of the first delay in seconds; it doubles with each attempt (full jitter).
        longest: upper bound of any delay; if the server's Retry-After is longer, the error is raised.
        uniform: random numbers in [0, 1) for the jitter.

    If only some of the queries failed, only those are repeated.
    """

    inner: Verifier
    retries: int
    _: KW_ONLY
    first: float = 0.5
    longest: float = 20.0
    sleep: Sleep = asyncio.sleep
    uniform: Callable[[], float] = random.random

    async def estimate(self, queries: Sequence[Query]) -> list[Estimate]:
        answers: dict[int, Estimate] = {}
        pending = list(range(len(queries)))
        for attempt in range(self.retries + 1):
            error: GroundwireError | None = None
            last = attempt == self.retries
            try:
                fresh = matched(await self.inner.estimate([queries[i] for i in pending]), len(pending))
            except GroundwireError as caught:
                error = caught
                if not answers and (last or not self._waits_for(caught)):
                    raise
            else:
                answers.update(zip(pending, fresh, strict=True))
                pending = [i for i in pending if failure_code(answers[i]) in _RETRYABLE]
            if last or not pending or (error and not self._waits_for(error)):
                break
            await self.sleep(self._delay(attempt, error))
        return [answers[i] for i in range(len(queries))]

    def _waits_for(self, error: GroundwireError) -> bool:
        wanted = error.retry_after if isinstance(error, RateLimited) else None
        return error.retryable and (wanted or 0.0) <= self.longest

    def _delay(self, attempt: int, error: GroundwireError | None) -> float:
        jitter = self.uniform() * min(self.longest, self.first * 2.0**attempt)
        wanted = error.retry_after if isinstance(error, RateLimited) else None
        return max(jitter, wanted or 0.0)


_log = logging.getLogger(__name__)
_SLACK = 1e-6  # float rounding in sums and bounds of probabilities


@dataclass(frozen=True, eq=False)
class SafeVerifier:
    """The outermost wrapper: one valid estimate per query, whatever fails inside.

    Args:
        backend: the backend's name in logs and metrics.
        details: log the replies of servers and models too, which may quote sources.

    Errors and invalid probabilities become failed estimates; every call is counted and timed. Cancellation is
    passed on. Any exception but a `GroundwireError` is a bug: it is logged as one, and the claims are
    unchecked.
    """

    inner: Verifier
    backend: str
    _: KW_ONLY
    metrics: Metrics | None = None
    details: bool = False
    clock: Clock = time.perf_counter

    async def estimate(self, queries: Sequence[Query]) -> list[Estimate]:
        if not queries:
            return []
        began = self.clock()
        try:
            estimates = matched(await self.inner.estimate(queries), len(queries))
        except GroundwireError as error:
            estimates = all_failed(len(queries), error)
        except Exception as bug:  # the one place that catches everything
            estimates = all_failed(len(queries), self._reported(bug))
        estimates = [sound(estimate) for estimate in estimates]
        self._record(estimates, self.clock() - began)
        return estimates

    def _reported(self, bug: Exception) -> BackendError:
        """Log and convert a bug by its type and line; its message may quote a source."""
        place = extract_tb(bug.__traceback__)[-1]
        what = f"{type(bug).__name__} in {Path(place.filename).name}:{place.lineno}"
        _log.error("%s: a bug: %s", self.backend, what, exc_info=bug if self.details else None)
        return BackendError(f"the verifier failed ({what})", hint="this is a bug, please report it")

    def _record(self, estimates: Sequence[Estimate], seconds: float) -> None:
        failures = [estimate for estimate in estimates if estimate.error]
        if failures:
            why = failures[0].error or ""
            shown = why if self.details else brief(why)
            _log.warning("%s: %d of %d not checked: %s", self.backend, len(failures), len(estimates), shown)
        if self.metrics is not None:
            self.metrics.call(self.backend, len(estimates), seconds)
            for estimate in failures:
                self.metrics.failures(failure_code(estimate) or "error")


def sound(estimate: Estimate) -> Estimate:
    """Return the estimate, or a failed one if its numbers are not probabilities.

    >>> sound(Estimate.point(float("nan"), 0.0, "made up")).error
    'error: made up returned invalid probabilities'
    """
    shares = (estimate.p_yes, estimate.p_no, estimate.p_unsure, estimate.low, estimate.high)
    in_range = all(isfinite(share) and -_SLACK <= share <= 1 + _SLACK for share in shares)
    adds_up = in_range and abs(sum(shares[:3]) - 1.0) < 1e-3
    ordered = estimate.low - _SLACK <= estimate.p_yes <= estimate.high + _SLACK
    if estimate.error is not None or (adds_up and ordered):
        return estimate
    return Estimate.failed(f"error: {estimate.method} returned invalid probabilities", estimate.method)


@dataclass(slots=True, eq=False)
class MemoizedVerifier:
    """Remember estimates in memory. Failures are not stored.

    Used for a growing text: the check at its end does not repeat the queries of its beginning. Keys are
    digests, because the contexts of all claims together are many times as long as the sources.
    """

    inner: Verifier
    known: dict[str, Estimate] = field(default_factory=dict)
    hits: int = 0
    misses: int = 0

    async def estimate(self, queries: Sequence[Query]) -> list[Estimate]:
        keys = query_keys(queries)
        asked = {key: query for key, query in zip(keys, queries, strict=True) if key not in self.known}
        self.hits += len(queries) - len(asked)
        self.misses += len(asked)
        fresh = await self.inner.estimate(list(asked.values())) if asked else []
        answers = dict(zip(asked, fresh, strict=True))
        self.known |= {key: estimate for key, estimate in answers.items() if estimate.error is None}
        return [self.known.get(key) or answers[key] for key in keys]


def query_keys(queries: Sequence[Query], identity: str = "") -> list[str]:
    """One digest per query; a context shared by many claims is hashed once."""
    contexts = {query.context: _digest(query.context) for query in queries}
    return [
        _digest("".join(map(_digest, (identity, query.claim, query.question))) + contexts[query.context])
        for query in queries
    ]


def _digest(text: str) -> str:
    return sha256(text.encode(errors="surrogatepass")).hexdigest()
