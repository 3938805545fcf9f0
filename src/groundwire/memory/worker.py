"""Verify pending facts from the queue. Each job is completed once, even if workers die."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from enum import StrEnum

from sqlalchemy import Connection

from groundwire._loop import EventLoopThread
from groundwire.config import Config
from groundwire.engine import Groundwire
from groundwire.errors import BackendError, InputError, RateLimited
from groundwire.memory.decision import (
    UNCHECKED_FACTOR,
    Decision,
    decide_by_verdict,
    decide_unchecked,
    verification_error,
)
from groundwire.memory.gate import CLOSE_SECONDS, verify_within
from groundwire.memory.writer import QUEUE_NAME, Candidate, FactWriter
from groundwire.stores import facts
from groundwire.stores.database import Database, lock_for_writing
from groundwire.stores.facts import get
from groundwire.stores.queue import JobQueue, QueuedJob, RetryPolicy
from groundwire.types import Fact, FactStatus

_LEASE_SHARE = 0.8  # a worker stops before its lease ends and another one takes the job
_POLL_SECONDS = 5.0  # between two looks at an empty queue
_MIN_WAIT_SECONDS = 0.05  # against a busy loop if the clocks of two processes differ


class JobOutcome(StrEnum):
    """`later`: scheduled for a retry. `gone`: the fact or job no longer exists, or another worker has it."""

    VERIFIED = "verified"
    UNVERIFIED = "unverified"
    REJECTED = "rejected"
    LATER = "later"
    GONE = "gone"


@dataclass(frozen=True, slots=True)
class JobResult:
    """The outcome of one job."""

    fact_id: str
    outcome: JobOutcome
    text: str = ""
    reason: str = ""
    confidence: float | None = None


class Worker:
    """Processes one job at a time. Any number of workers and processes may share the queue."""

    def __init__(
        self,
        database: Database,
        engine: Groundwire,
        config: Config | None = None,
        *,
        terms: RetryPolicy | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.queue = JobQueue(database, QUEUE_NAME, terms, clock=clock)
        self._database = database
        self._engine = engine
        self._rules = (config or engine.config).hallucination.memory_gate
        self._writer = FactWriter(database, self.queue, config or engine.config, engine.metrics)
        self._thread = EventLoopThread("groundwire-worker")
        self._clock = clock

    async def step(self) -> JobResult | None:
        """Process one job; return None if none is due."""
        job = await asyncio.to_thread(self.queue.claim)
        if job is None:
            return None
        fact = await asyncio.to_thread(self._fact, job)
        if fact is None or fact.status is not FactStatus.PENDING:
            return await asyncio.to_thread(self._drop, job)
        candidate = Candidate(fact, (), fact.confidence / UNCHECKED_FACTOR)
        try:
            if job.attempts > self.queue.terms.attempts:
                raise InputError("every worker that took the job died")
            candidate = Candidate.from_payload(job.payload, fact)
            found = await verify_within(
                self._thread, self._engine, candidate, self.queue.terms.lease * _LEASE_SHARE
            )
        except BackendError as error:
            return await asyncio.to_thread(self._fail, job, candidate, error)
        except InputError as error:  # a retry would fail again
            failure = BackendError(str(error))
            return await asyncio.to_thread(self._fail, job, candidate, failure, permanent=True)
        failed = verification_error(found)
        if failed is not None:
            return await asyncio.to_thread(self._fail, job, candidate, failed)
        return await asyncio.to_thread(self._finish, job, candidate, decide_by_verdict(found, self._rules))

    async def drain(self) -> AsyncIterator[JobResult]:
        """Process all jobs that are due now, but do not wait for retries."""
        while (settled := await self.step()) is not None:
            yield settled

    async def watch(self) -> AsyncIterator[JobResult]:
        """Process jobs as they become due, forever."""
        while True:
            async for settled in self.drain():
                yield settled
            due = await asyncio.to_thread(self.queue.next_due)
            wait = _POLL_SECONDS if due is None else max(_MIN_WAIT_SECONDS, due - self._clock())
            await asyncio.sleep(min(_POLL_SECONDS, wait))

    async def aclose(self) -> None:
        await asyncio.to_thread(self._thread.close, CLOSE_SECONDS)

    def _fact(self, job: QueuedJob) -> Fact | None:
        with self._database.read() as connection:
            return get(connection, job.key)

    def _drop(self, job: QueuedJob) -> JobResult:
        with self._database.write() as connection:
            self.queue.complete(connection, job)
        return JobResult(job.key, JobOutcome.GONE)

    def _finish(self, job: QueuedJob, candidate: Candidate, decision: Decision) -> JobResult:
        """Store the verdict and complete the job in one transaction."""
        with self._database.write() as connection:
            lock_for_writing(connection)  # before the job's row, in the lock order of the gate
            owned = self.queue.complete(connection, job)
            if owned:
                self._write(connection, candidate, decision)
        return self._result(job, candidate, decision, owned)

    def _fail(
        self, job: QueuedJob, candidate: Candidate, error: BackendError, *, permanent: bool = False
    ) -> JobResult:
        """Schedule a retry; after the last one the fact is stored as unverified or rejected."""
        unchecked = decide_unchecked(BackendError(str(error)), candidate.confidence, self._rules)
        dead = permanent or self.queue.is_spent(job)
        with self._database.write() as connection:
            lock_for_writing(connection)
            if not dead:
                after = error.retry_after if isinstance(error, RateLimited) else None
                owned = self.queue.retry(connection, job, str(error), after=after)
            elif owned := self.queue.bury(connection, job, str(error)):
                self._write(connection, candidate, unchecked)
        if owned and not dead:
            return JobResult(job.key, JobOutcome.LATER, candidate.text, str(error))
        return self._result(job, candidate, unchecked, owned)

    def _write(self, connection: Connection, candidate: Candidate, decision: Decision) -> None:
        if decision.status is None:
            facts.remove(connection, candidate.fact.id)
            self._writer.write_rejection(connection, candidate, decision)
        else:
            facts.apply_verdict(
                connection,
                candidate.fact.id,
                status=decision.status,
                confidence=decision.confidence,
                record=decision.record,
            )

    def _result(self, job: QueuedJob, candidate: Candidate, decision: Decision, owned: bool) -> JobResult:
        if not owned:
            return JobResult(job.key, JobOutcome.GONE)
        outcome = JobOutcome.REJECTED if decision.status is None else JobOutcome(decision.status.value)
        self._writer.log(outcome.value, candidate, decision)
        return JobResult(job.key, outcome, candidate.text, decision.reason, decision.confidence)
