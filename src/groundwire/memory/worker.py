"""Verifying what was put off: jobs from the queue, each settled once, whoever dies meanwhile."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from enum import StrEnum

from sqlalchemy import Connection

from groundwire.config import Config
from groundwire.engine import Groundwire
from groundwire.errors import BackendError, InputError, RateLimited
from groundwire.memory.decision import DOUBT, Decision, by_verdict, failure_of, undecided
from groundwire.memory.gate import Aside, verified
from groundwire.memory.writer import KIND, Candidate, Keeper
from groundwire.stores import facts
from groundwire.stores.database import Database, alone
from groundwire.stores.queue import Job, Queue, Terms
from groundwire.stores.reading import get
from groundwire.types import Fact, FactStatus

_SHARE = 0.8  # of the lease; whoever takes longer would work on someone else's job
_POLL = 5.0


class Outcome(StrEnum):
    """`later`: put off once more. `gone`: the fact or the job is not there any more, or someone else's."""

    VERIFIED = "verified"
    UNVERIFIED = "unverified"
    REJECTED = "rejected"
    LATER = "later"
    GONE = "gone"


@dataclass(frozen=True, slots=True)
class Settled:
    """What became of one job."""

    fact_id: str
    outcome: Outcome
    text: str = ""
    reason: str = ""
    confidence: float | None = None


class Worker:
    """Takes one job after the other. Any number of them, in any number of processes, share the queue."""

    def __init__(
        self,
        database: Database,
        engine: Groundwire,
        config: Config | None = None,
        *,
        terms: Terms | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.queue = Queue(database, KIND, terms, clock=clock)
        self._database = database
        self._engine = engine
        self._rules = (config or engine.config).hallucination.memory_gate
        self._keeper = Keeper(database, self.queue, config or engine.config, engine.metrics)
        self._aside = Aside()
        self._clock = clock

    async def step(self) -> Settled | None:
        """Settle one job; None where none is due."""
        job = await asyncio.to_thread(self.queue.claim)
        if job is None:
            return None
        fact = await asyncio.to_thread(self._fact, job)
        if fact is None or fact.status is not FactStatus.PENDING:
            return await asyncio.to_thread(self._drop, job)
        candidate = Candidate(fact, (), fact.confidence / DOUBT)
        try:
            if job.attempts > self.queue.terms.attempts:
                raise InputError("every worker that took the job died")
            candidate = Candidate.loaded(job.payload, fact)
            found = await self._aside.run(verified(self._engine, candidate), self.queue.terms.lease * _SHARE)
        except BackendError as error:
            return await asyncio.to_thread(self._fail, job, candidate, error)
        except InputError as error:  # no later try would go better
            lasting = BackendError(str(error))
            return await asyncio.to_thread(self._fail, job, candidate, lasting, for_good=True)
        failed = failure_of(found)
        if failed is not None:
            return await asyncio.to_thread(self._fail, job, candidate, failed)
        return await asyncio.to_thread(self._finish, job, candidate, by_verdict(found, self._rules))

    async def drain(self) -> AsyncIterator[Settled]:
        """Settle all that is due now. What is put off again is not waited for."""
        while (settled := await self.step()) is not None:
            yield settled

    async def watch(self) -> AsyncIterator[Settled]:
        """Settle what is due, for ever."""
        while True:
            async for settled in self.drain():
                yield settled
            due = await asyncio.to_thread(self.queue.next_due)
            wait = _POLL if due is None else min(_POLL, max(0.05, due - self._clock()))
            await asyncio.sleep(wait)

    async def aclose(self) -> None:
        await asyncio.to_thread(self._aside.close)

    def _fact(self, job: Job) -> Fact | None:
        with self._database.read() as connection:
            return get(connection, job.key)

    def _drop(self, job: Job) -> Settled:
        with self._database.write() as connection:
            self.queue.complete(connection, job)
        return Settled(job.key, Outcome.GONE)

    def _finish(self, job: Job, candidate: Candidate, decision: Decision) -> Settled:
        """The verdict and the end of the job in one transaction: both, or neither."""
        with self._database.write() as connection:
            alone(connection)  # before the job's row: the gate takes the two locks in this order
            mine = self.queue.complete(connection, job)
            if mine:
                self._write(connection, candidate, decision)
        return self._told(job, candidate, decision, mine)

    def _fail(
        self, job: Job, candidate: Candidate, error: BackendError, *, for_good: bool = False
    ) -> Settled:
        """Try again later; after the last try the job is dead, and the fact is kept with doubt or refused."""
        doubtful = undecided(BackendError(str(error)), candidate.confidence, self._rules)
        dead = for_good or self.queue.is_spent(job)
        with self._database.write() as connection:
            alone(connection)
            if not dead:
                after = error.retry_after if isinstance(error, RateLimited) else None
                mine = self.queue.retry(connection, job, str(error), after=after)
            elif mine := self.queue.bury(connection, job, str(error)):
                self._write(connection, candidate, doubtful)
        if mine and not dead:
            return Settled(job.key, Outcome.LATER, candidate.text, str(error))
        return self._told(job, candidate, doubtful, mine)

    def _write(self, connection: Connection, candidate: Candidate, decision: Decision) -> None:
        if decision.status is None:
            facts.remove(connection, candidate.fact.id)
            self._keeper.write_refusal(connection, candidate, decision)
        else:
            facts.settle(
                connection,
                candidate.fact.id,
                status=decision.status,
                confidence=decision.confidence,
                record=decision.record,
            )

    def _told(self, job: Job, candidate: Candidate, decision: Decision, mine: bool) -> Settled:
        if not mine:
            return Settled(job.key, Outcome.GONE)
        outcome = Outcome.REJECTED if decision.status is None else Outcome(decision.status.value)
        self._keeper.note(outcome.value, candidate, decision)
        return Settled(job.key, outcome, candidate.text, decision.reason, decision.confidence)
