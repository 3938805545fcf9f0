"""Facts the memory gate refused, with what they were measured by: to be looked at, never to be believed."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from sqlalchemy import Connection, func, insert, select

from groundwire.stores.database import Database
from groundwire.stores.tables import rejected_facts


@dataclass(frozen=True, slots=True)
class Rejected:
    """`fact` is the fact as JSON, `evidence` the sources it was held against, as JSON too."""

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


class RejectedFacts:
    """The table of refusals: written in the gate's transaction, read by people."""

    def __init__(self, database: Database, *, clock: Callable[[], float] = time.time) -> None:
        self._database = database
        self._clock = clock

    def add(self, connection: Connection, rejected: Rejected) -> None:
        values = {name: getattr(rejected, name) for name in Rejected.__slots__ if name != "id"}
        connection.execute(insert(rejected_facts).values({**values, "recorded": self._clock()}))

    def latest(self, limit: int = 100) -> list[Rejected]:
        """The newest first."""
        newest = select(rejected_facts).order_by(rejected_facts.c.recorded.desc(), rejected_facts.c.id.desc())
        with self._database.read() as connection:
            return [Rejected(**row._asdict()) for row in connection.execute(newest.limit(limit))]

    def count(self) -> int:
        with self._database.read() as connection:
            return int(connection.execute(select(func.count()).select_from(rejected_facts)).scalar_one())
