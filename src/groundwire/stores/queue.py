"""The memory gate's durable state: a queue of jobs with leases, and the facts it rejected.

A job is done when its result and its removal are committed in one transaction (`complete`). If a worker dies
before that, the job can be claimed again after its lease. Each claim has a token of its own (`holder`), and
only the newest one settles the job: a worker that is late finds that `complete` returns false, and must write
nothing.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

from sqlalchemy import Connection, delete, func, insert, select, update

from groundwire.errors import FactNotGrounded
from groundwire.stores.database import Database, record_of
from groundwire.stores.tables import jobs, rejected_facts

WAITING, DEAD = "waiting", "dead"
MAX_REASON = 500  # characters kept of a failure reason


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Lease and retry settings; times are in seconds."""

    lease: float = 60.0
    attempts: int = 20
    first: float = 5.0
    longest: float = 3600.0

    def wait(self, attempt: int, uniform: float) -> float:
        """Exponential backoff, half of it random, so that jobs that failed together do not return together.

        >>> RetryPolicy().wait(1, 1.0), RetryPolicy().wait(3, 0.0), RetryPolicy().wait(99, 1.0)
        (5.0, 10.0, 3600.0)
        """
        whole = min(self.longest, self.first * 2.0 ** min(attempt - 1, 40))
        return whole * (0.5 + uniform / 2)


@dataclass(frozen=True, slots=True)
class QueuedJob:
    """A claimed job. `holder` identifies this claim; `attempts` counts claims including this one."""

    id: int
    key: str
    payload: str
    attempts: int
    holder: str
    state: str
    due: float
    reason: str
    created: float


class JobQueue:
    """The jobs of one kind. Enqueueing a key again replaces its job."""

    def __init__(
        self,
        database: Database,
        kind: str,
        terms: RetryPolicy | None = None,
        *,
        clock: Callable[[], float] = time.time,
        uniform: Callable[[], float] = random.random,
    ) -> None:
        self.terms = terms or RetryPolicy()
        self._database = database
        self._kind = kind
        self._clock = clock
        self._uniform = uniform

    def enqueue(self, connection: Connection, key: str, payload: str, *, delay: float = 0.0, reason: str = "") -> None:
        """Enqueue in the caller's transaction, so that the job exists exactly if its subject does."""
        now = self._clock()
        connection.execute(delete(jobs).where(jobs.c.kind == self._kind, jobs.c.key == key))
        connection.execute(
            insert(jobs).values(
                kind=self._kind,
                key=key,
                payload=payload,
                state=WAITING,
                due=now + delay,
                holder="",
                attempts=0,
                reason=reason[:MAX_REASON],
                created=now,
            )
        )

    def claim(self) -> QueuedJob | None:
        """Claim the job that has been due longest. No two workers get the same one."""
        if self.next_due(self._clock()) is None:  # reading first avoids taking the write lock for nothing
            return None
        with self._database.write() as connection:
            now = self._clock()  # not before: waiting for the write lock must not use up the lease
            due = (
                select(jobs)
                .where(jobs.c.kind == self._kind, jobs.c.state == WAITING, jobs.c.due <= now)
                .order_by(jobs.c.due, jobs.c.id)
                .limit(1)
                .with_for_update(skip_locked=True)  # ignored by SQLite, which has one writer anyway
            )
            row = connection.execute(due).first()
            if row is None:
                return None
            taken = {"holder": uuid4().hex, "attempts": row.attempts + 1, "due": now + self.terms.lease}
            connection.execute(update(jobs).where(jobs.c.id == row.id).values(taken))
            return record_of(QueuedJob, row, **taken)

    def complete(self, connection: Connection, job: QueuedJob) -> bool:
        """Remove a job in the transaction that writes its result. False if another worker has claimed it."""
        return connection.execute(delete(jobs).where(*_mine(job))).rowcount == 1

    def retry(self, connection: Connection, job: QueuedJob, reason: str, *, after: float | None = None) -> bool:
        """Reschedule a job, at the earliest `after` seconds from now if a server asked for that."""
        wait = max(self.terms.wait(job.attempts, self._uniform()), after or 0.0)
        return self._set(connection, job, {"due": self._clock() + wait, "holder": "", "reason": reason})

    def bury(self, connection: Connection, job: QueuedJob, reason: str) -> bool:
        """Give a job up, keeping the reason."""
        return self._set(connection, job, {"state": DEAD, "holder": "", "reason": reason})

    def is_spent(self, job: QueuedJob) -> bool:
        """True if this was the last attempt."""
        return job.attempts >= self.terms.attempts

    def next_due(self, before: float | None = None) -> float | None:
        """When the next job is due; None if there is none (before the given time)."""
        wanted = select(func.min(jobs.c.due)).where(jobs.c.kind == self._kind, jobs.c.state == WAITING)
        with self._database.read() as connection:
            due: float | None = connection.execute(wanted).scalar()
        return None if due is None or (before is not None and due > before) else due

    def counts(self) -> dict[str, int]:
        """Numbers of waiting and dead jobs."""
        wanted = (
            select(jobs.c.state, func.count().label("number")).where(jobs.c.kind == self._kind).group_by(jobs.c.state)
        )
        with self._database.read() as connection:
            found = {str(row.state): int(row.number) for row in connection.execute(wanted)}
        return {WAITING: 0, DEAD: 0, **found}

    def jobs(self, state: str = WAITING, limit: int = 1000) -> list[QueuedJob]:
        wanted = select(jobs).where(jobs.c.kind == self._kind, jobs.c.state == state)
        with self._database.read() as connection:
            rows = connection.execute(wanted.order_by(jobs.c.due, jobs.c.id).limit(limit))
            return [record_of(QueuedJob, row) for row in rows]

    def _set(self, connection: Connection, job: QueuedJob, values: dict[str, str | float]) -> bool:
        values["reason"] = str(values["reason"])[:MAX_REASON]
        return connection.execute(update(jobs).where(*_mine(job)).values(values)).rowcount == 1


def _mine(job: QueuedJob) -> tuple[Any, Any]:
    return jobs.c.id == job.id, jobs.c.holder == job.holder


@dataclass(frozen=True, slots=True)
class RejectedFact:
    """A rejected fact with its measurements; `fact` and `evidence` are JSON."""

    text: str
    fact: str
    evidence: str
    confidence: float
    threshold_bits: float
    verdict: str
    reason: str
    method: str = ""
    adjusted: float | None = None
    p0: float | None = None
    p1: float | None = None
    required_bits: float | None = None
    observed_bits: float | None = None
    gap_bits: float | None = None
    id: int = 0
    recorded: float = 0.0

    @property
    def recorded_at(self) -> str:
        return datetime.fromtimestamp(self.recorded, UTC).isoformat(timespec="seconds")

    def as_json(self) -> dict[str, object]:
        """The JSON object that the command line and the HTTP API return."""
        names = ("confidence", "adjusted", "p0", "p1", "required_bits", "observed_bits", "gap_bits")
        figures = {name: getattr(self, name) for name in names}
        return {
            "text": self.text,
            "status": FactNotGrounded.status,
            "fact": json.loads(self.fact),
            "evidence": json.loads(self.evidence),
            **{name: None if value is None else round(value, 4) for name, value in figures.items()},
            "threshold_bits": self.threshold_bits,
            "verdict": self.verdict,
            "method": self.method,
            "reason": self.reason,
            "recorded": self.recorded_at,
        }


class RejectedFacts:
    """Rejected facts, kept for inspection. Never used as knowledge."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, connection: Connection, rejected: RejectedFact) -> None:
        values = {name: getattr(rejected, name) for name in RejectedFact.__slots__ if name != "id"}
        # A lone surrogate may be the very reason for the rejection, and no database stores it.
        values |= {k: v.encode(errors="replace").decode() for k, v in values.items() if isinstance(v, str)}
        connection.execute(insert(rejected_facts).values({**values, "recorded": time.time()}))

    def latest(self, limit: int = 100) -> list[RejectedFact]:
        """The newest first."""
        newest = select(rejected_facts).order_by(rejected_facts.c.recorded.desc(), rejected_facts.c.id.desc())
        with self._database.read() as connection:
            return [record_of(RejectedFact, row) for row in connection.execute(newest.limit(limit))]

    def count(self) -> int:
        with self._database.read() as connection:
            return int(connection.execute(select(func.count()).select_from(rejected_facts)).scalar_one())
