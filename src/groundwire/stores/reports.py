"""Stored reports of the service: list, fetch, share by a token, and prune."""

from __future__ import annotations

import hashlib
import secrets
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, delete, insert, literal, or_, select

from groundwire.stores.database import Database, record_of, storable_text
from groundwire.stores.tables import report_bodies, report_shares, reports

HOUR = 3600
_PRUNE_BATCH = 500  # rows per transaction, to keep the write lock short
_ALL: Mapping[str, Any] = {}


@dataclass(frozen=True, slots=True)
class ReportSummary:
    """A report without its body, as shown in lists."""

    id: str
    kind: str
    owner: str
    created: float
    title: str
    flagged: bool | None
    risk: float | None
    grounding: float | None
    claims: int
    flagged_claims: int
    unchecked: int
    backend: str
    profile: str


@dataclass(frozen=True, slots=True)
class StoredReport:
    """A report to store; `body` is its JSON text and is returned unchanged."""

    summary: ReportSummary
    body: str


class ReportStore:
    """The stored reports. Every method is one transaction."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, many: Sequence[StoredReport]) -> None:
        """Store reports in one transaction."""
        with self._database.write() as connection:
            for stored in many:
                _add(connection, stored)

    def get(self, identity: str, owner: str | None = None, token: str = "") -> tuple[ReportSummary, str] | None:
        """The summary and the JSON text of a report, if it is the owner's or was shared with this token."""
        query = select(reports, report_bodies.c.body).join(report_bodies).where(reports.c.id == identity)
        if owner is not None:
            shared = select(report_shares.c.report).where(report_shares.c.digest == _digest(token))
            query = query.where(or_(*_owned(owner), reports.c.number.in_(shared)))
        with self._database.read() as connection:
            row = connection.execute(query).one_or_none()
        return None if row is None else (record_of(ReportSummary, row), zlib.decompress(row.body).decode())

    def recent(
        self, limit: int, *, before: str = "", owner: str | None = None, only: Mapping[str, Any] = _ALL
    ) -> list[ReportSummary]:
        """Summaries, newest first; `before` is the last id of the previous page, `only` filters by column."""
        query = select(reports).order_by(reports.c.number.desc()).limit(limit).where(*_owned(owner))
        if before:
            query = query.where(
                reports.c.number < select(reports.c.number).where(reports.c.id == before).scalar_subquery()
            )
        for name, value in only.items():
            query = query.where(reports.c[name].is_not_distinct_from(value))
        with self._database.read() as connection:
            return [record_of(ReportSummary, row) for row in connection.execute(query)]

    def share(self, identity: str, owner: str | None = None) -> str:
        """Make a token that lets others read a report; "" if the owner has no such report."""
        token = secrets.token_urlsafe(24)
        own = select(reports.c.number, literal(_digest(token))).where(reports.c.id == identity, *_owned(owner))
        with self._database.write() as connection:
            added = connection.execute(insert(report_shares).from_select(["report", "digest"], own))
        return token if added.rowcount else ""

    def unshare(self, identity: str, owner: str | None = None) -> int:
        """Revoke all tokens of a report; returns how many there were."""
        own = select(reports.c.number).where(reports.c.id == identity, *_owned(owner))
        with self._database.write() as connection:
            return connection.execute(delete(report_shares).where(report_shares.c.report.in_(own))).rowcount

    def delete(self, identity: str, owner: str | None = None) -> bool:
        with self._database.write() as connection:
            query = delete(reports).where(reports.c.id == identity, *_owned(owner))
            return bool(connection.execute(query).rowcount)

    def prune(self, before: float) -> int:
        """Delete older reports in batches, so that the write lock is held briefly."""
        gone = 0
        while True:
            old = select(reports.c.number).where(reports.c.created < before).limit(_PRUNE_BATCH)
            with self._database.write() as connection:
                some = connection.execute(delete(reports).where(reports.c.number.in_(old))).rowcount
            gone += some
            if some < _PRUNE_BATCH:
                return gone


def _add(connection: Connection, stored: StoredReport) -> None:
    summary = stored.summary
    values = {**asdict(summary), "hour": int(summary.created // HOUR), "title": storable_text(summary.title)}
    added = connection.execute(insert(reports).values(**values).returning(reports.c.number))
    body = zlib.compress(stored.body.encode("utf-8", "replace"), 6)
    connection.execute(insert(report_bodies).values(report=added.scalar_one(), body=body))


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


def _owned(owner: str | None) -> list[ColumnElement[bool]]:
    return [] if owner is None else [reports.c.owner == owner]
