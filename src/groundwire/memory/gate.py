"""`MemoryGate.remember` verifies and stores a fact within a time limit; a `Worker` verifies pending ones."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, replace
from enum import StrEnum

from sqlalchemy import Connection

from groundwire import _loop
from groundwire._loop import EventLoopThread
from groundwire.config import Config
from groundwire.engine import Groundwire
from groundwire.errors import BackendError, BackendTimeout, FactNotGrounded, GroundwireError, InputError, RateLimited
from groundwire.memory.writer import (
    QUEUE_NAME,
    UNCHECKED_FACTOR,
    Candidate,
    Decision,
    FactWriter,
    decide_by_verdict,
    decide_unchecked,
    fact_from_sentence,
)
from groundwire.requests import Sources, as_sources, as_text
from groundwire.stores import facts
from groundwire.stores.database import Database, lock_for_writing
from groundwire.stores.knowledge_base import Knowledge
from groundwire.stores.queue import JobQueue, QueuedJob, RetryPolicy
from groundwire.types import ClaimVerification, Estimate, Fact, FactStatus, Query, Status
from groundwire.verifiers.wrappers import as_error

DEFAULT_CONFIDENCE = 0.95  # the stated confidence of a fact that comes without one: the target of the default profile
CLOSE_SECONDS = 0.5
"""How long closing waits for the event loop; one that a backend blocks ends with the process instead."""
_VERIFY_SHARE = 0.9  # of the gate's time limit; the rest is for the store
_UNCHECKED = "could not be checked: "  # how the reason of an unchecked claim begins
_LOAD_ATTEMPTS = 5  # each may take the gate's time limit while the model goes on loading in its thread
_log = logging.getLogger("groundwire.memory")


async def verify_candidate(engine: Groundwire, candidate: Candidate) -> ClaimVerification:
    """Return the verdict on the fact's sentence; raises only `InputError`, or `BackendError` if it was not checked."""
    try:
        verdict = await engine.verify_claim(candidate.text, candidate.sources, candidate.confidence)
        if verdict.status is Status.UNCHECKED:
            raise as_error(Estimate.failed(verdict.reason.removeprefix(_UNCHECKED)))
        return verdict
    except (InputError, BackendError):
        raise
    except GroundwireError as error:
        raise BackendError(str(error)) from error
    except Exception as bug:  # memory must keep working if verification does not
        _log.exception("bug in verification: %s", type(bug).__name__)
        raise BackendError(f"verification failed ({type(bug).__name__})") from bug


async def load_model(engine: Groundwire) -> None:
    """Load an embedded model in advance: it takes a second or two, more than the gate's time limit."""
    if not engine.backend.free:
        return
    for _ in range(_LOAD_ATTEMPTS):
        (estimate,) = await engine.backend.verifier.estimate([Query("The sky is blue.", "The sky is blue.")])
        if estimate.error is None:
            return


def with_full_timeout(config: Config) -> Config:
    """Return a configuration in which the gate has the full time limit of a check, for deferred work."""
    settings = config.hallucination
    gate = settings.memory_gate.model_copy(update={"timeout": settings.timeout})
    return config.model_copy(update={"hallucination": settings.model_copy(update={"memory_gate": gate})})


class _FactVerifier:
    """What the gate and its worker share: the queue, the writer, and a thread to verify in."""

    def __init__(
        self,
        database: Database,
        engine: Groundwire,
        config: Config | None = None,
        *,
        terms: RetryPolicy | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.config = config or engine.config
        self.queue = JobQueue(database, QUEUE_NAME, terms, clock=clock)
        self._database = database
        self._engine = engine
        self._rules = self.config.hallucination.memory_gate
        self._writer = FactWriter(database, self.queue, self.config, engine.metrics)
        self._thread = EventLoopThread("groundwire-memory")
        self._clock = clock

    async def _verify(self, candidate: Candidate, seconds: float) -> ClaimVerification:
        """Return the verdict, or raise `BackendTimeout` after `seconds`.

        The work runs on the loop of a thread: a timeout on the caller's own loop could not fire while a long
        text or an embedded model blocks that loop.
        """
        try:
            async with asyncio.timeout(seconds):
                return await self._thread.run(verify_candidate(self._engine, candidate))
        except TimeoutError:
            raise BackendTimeout(f"no answer within {seconds:.2g} s") from None

    def close(self) -> None:
        self._thread.close(CLOSE_SECONDS)


class MemoryGate(_FactVerifier):
    """Stores facts that pass verification. `engine` should be opened for the operation `memory_gate`."""

    async def remember(
        self, fact: Fact | str, evidence: Sources, *, confidence: float = DEFAULT_CONFIDENCE, verify: bool | None = None
    ) -> Fact:
        """Verify a fact against its evidence and store it.

        A fact that cannot be checked within `memory_gate.timeout` is stored as unverified with half its
        confidence; if the backend asks to retry later, it is stored as pending.

        fact: a `Fact`, or a sentence that is parsed into one.
        evidence: the sources that should support it.
        confidence: the stated confidence, 0 to 1.
        verify: overrides the configuration; without verification the fact is stored as asserted.

        Raises `FactNotGrounded` if the evidence does not support the fact.
        """
        stored, _ = await self.admit(fact, evidence, confidence=confidence, verify=verify)
        return stored

    async def admit(
        self, fact: Fact | str, evidence: Sources, *, confidence: float, verify: bool | None
    ) -> tuple[Fact, Decision]:
        """Like `remember`, but also return the decision."""
        candidate, settings = _candidate(fact, evidence, confidence), self.config.hallucination
        if (settings.enabled and settings.memory_gate.enabled) if verify is None else verify:
            decision = await self._decide(candidate)
        else:
            decision = Decision(FactStatus.ASSERTED, confidence)
        if decision.status is not None:
            return await asyncio.to_thread(self._writer.store, candidate, decision), decision
        await asyncio.to_thread(self._writer.reject, candidate, decision)
        raise FactNotGrounded(f"rejected: {decision.reason}", gap_bits=decision.gap_bits)

    def remember_now(
        self, fact: Fact | str, evidence: Sources, *, confidence: float = DEFAULT_CONFIDENCE, verify: bool | None = None
    ) -> Fact:
        """`remember` for synchronous callers."""
        return _loop.run(self.remember(fact, evidence, confidence=confidence, verify=verify))

    def ready(self) -> None:
        """Load an embedded model before the first fact arrives."""
        _loop.run(load_model(self._engine))

    async def _decide(self, candidate: Candidate) -> Decision:
        try:
            return decide_by_verdict(await self._verify(candidate, self._rules.timeout * _VERIFY_SHARE), self._rules)
        except BackendError as error:
            return decide_unchecked(error, candidate.confidence, self._rules)

    async def __aenter__(self) -> MemoryGate:
        return self

    async def __aexit__(self, *_: object) -> None:
        await asyncio.to_thread(self.close)


def _candidate(fact: Fact | str, evidence: Sources, confidence: float) -> Candidate:
    if not 0.0 <= confidence <= 1.0:
        raise InputError(f"confidence must be between 0 and 1, got {confidence}")
    from_sentence = not isinstance(fact, Fact)
    made = fact if isinstance(fact, Fact) else fact_from_sentence(as_text(fact, "the fact"))
    candidate = Candidate(made, as_sources(evidence), confidence, from_sentence)
    if not candidate.text.strip(" ."):
        raise InputError("the fact is empty")
    return replace(candidate, fact=replace(made, text=made.text.strip()))


# Pending facts from the queue. Each job is completed once, even if workers die.

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


class Worker(_FactVerifier):
    """Processes one job at a time. Any number of workers and processes may share the queue."""

    async def step(self) -> JobResult | None:
        """Process one job; return None if none is due."""
        job = await asyncio.to_thread(self.queue.claim)
        if job is None:
            return None
        fact = await asyncio.to_thread(Knowledge(self._database).fact, job.key)
        if fact is None or fact.status is not FactStatus.PENDING:
            return await asyncio.to_thread(self._drop, job)
        candidate = Candidate(fact, (), fact.confidence / UNCHECKED_FACTOR)
        try:
            if job.attempts > self.queue.terms.attempts:
                raise InputError("every worker that took the job died")
            candidate = Candidate.from_payload(job.payload, fact)
            found = await self._verify(candidate, self.queue.terms.lease * _LEASE_SHARE)
        except BackendError as error:
            return await asyncio.to_thread(self._fail, job, candidate, error)
        except InputError as error:  # a retry would fail again
            failure = BackendError(str(error))
            return await asyncio.to_thread(self._fail, job, candidate, failure, permanent=True)
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
        await asyncio.to_thread(self.close)

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

    def _fail(self, job: QueuedJob, candidate: Candidate, error: BackendError, *, permanent: bool = False) -> JobResult:
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
            facts.apply_verdict(connection, candidate.fact.id, decision.status, decision.confidence, decision.record)

    def _result(self, job: QueuedJob, candidate: Candidate, decision: Decision, owned: bool) -> JobResult:
        if not owned:
            return JobResult(job.key, JobOutcome.GONE)
        outcome = JobOutcome.REJECTED if decision.status is None else JobOutcome(decision.status.value)
        self._writer.log(outcome.value, candidate, decision)
        return JobResult(job.key, outcome, candidate.text, decision.reason, decision.confidence)
