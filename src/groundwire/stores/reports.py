"""Stored reports of the service: list, fetch, share by a token, count, and prune."""

from __future__ import annotations

import hashlib
import secrets
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Integer,
    Row,
    Select,
    cast,
    delete,
    func,
    insert,
    literal,
    or_,
    select,
)

from groundwire.stores.database import Database, storable_text
from groundwire.stores.tables import report_bodies, report_counts, report_shares, reports

HOUR = 3600
_PRUNE_BATCH = 500  # rows per transaction, to keep the write lock short
_NAME_CHARS = 200
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
class ClaimCount:
    """Claims and flagged claims by hallucination type or by source."""

    name: str
    claims: int
    flagged: int


@dataclass(frozen=True, slots=True)
class StoredReport:
    """A report to store; `body` is its JSON text and is returned unchanged."""

    summary: ReportSummary
    body: str
    types: tuple[ClaimCount, ...] = ()
    sources: tuple[ClaimCount, ...] = ()


@dataclass(frozen=True, slots=True)
class HourlyCount:
    """Totals of one interval, which begins at `hour` (hours since 1970)."""

    hour: int
    reports: int
    flagged_reports: int
    failed_reports: int
    claims: int
    flagged_claims: int
    unchecked: int


@dataclass(frozen=True, slots=True)
class ReportStats:
    """Totals over time, and the types and sources with the most flags."""

    moments: tuple[HourlyCount, ...]
    types: tuple[ClaimCount, ...]
    sources: tuple[ClaimCount, ...]


@dataclass(frozen=True, slots=True)
class StatsQuery:
    """A statistics query: start time, interval in hours, and owner (None: all)."""

    since: float
    step: int = 24
    owner: str | None = None


class ReportStore:
    """The stored reports. Every method is one transaction."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, many: Sequence[StoredReport]) -> None:
        """Store reports in one transaction."""
        with self._database.write() as connection:
            for stored in many:
                _add(connection, stored)

    def get(
        self, identity: str, owner: str | None = None, token: str = ""
    ) -> tuple[ReportSummary, str] | None:
        """The summary and the JSON text of a report, if it is the owner's or was shared with this token."""
        query = select(reports, report_bodies.c.body).join(report_bodies).where(reports.c.id == identity)
        if owner is not None:
            shared = select(report_shares.c.report).where(report_shares.c.digest == _digest(token))
            query = query.where(or_(*_owned(owner), reports.c.number.in_(shared)))
        with self._database.read() as connection:
            row = connection.execute(query).one_or_none()
        return None if row is None else (_summary(row), zlib.decompress(row.body).decode())

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
            return [_summary(row) for row in connection.execute(query)]

    def share(self, identity: str, owner: str | None = None) -> str:
        """Make a token that lets others read a report; "" if the owner has no such report."""
        token = secrets.token_urlsafe(24)
        own = select(reports.c.number, literal(_digest(token))).where(
            reports.c.id == identity, *_owned(owner)
        )
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

    def figures(self, query_range: StatsQuery, most: int = 12) -> ReportStats:
        with self._database.read() as connection:
            return ReportStats(
                tuple(HourlyCount(*row) for row in connection.execute(_moments(query_range))),
                _counts(connection, "type", query_range, most),
                _counts(connection, "source", query_range, most),
            )


def _add(connection: Connection, stored: StoredReport) -> None:
    summary = stored.summary
    hour = int(summary.created // HOUR)
    values = {**asdict(summary), "hour": hour, "title": storable_text(summary.title)}
    added = connection.execute(insert(reports).values(**values).returning(reports.c.number))
    number = added.scalar_one()
    body = zlib.compress(stored.body.encode("utf-8", "replace"), 6)
    connection.execute(insert(report_bodies).values(report=number, body=body))
    rows = [
        {"report": number, "dimension": dimension, "hour": hour, **asdict(count)}
        for dimension, counts in (("type", stored.types), ("source", stored.sources))
        for count in merge_counts(counts)
    ]
    if rows:
        connection.execute(insert(report_counts), rows)


def merge_counts(counts: Iterable[ClaimCount]) -> list[ClaimCount]:
    """Merge counts whose names are equal after cutting them to the length of an index key."""
    found: dict[str, ClaimCount] = {}
    for count in counts:
        name = storable_text(count.name)[:_NAME_CHARS]
        so_far = found.get(name, ClaimCount(name, 0, 0))
        found[name] = ClaimCount(name, so_far.claims + count.claims, so_far.flagged + count.flagged)
    return list(found.values())


def _moments(query_range: StatsQuery) -> Select[Any]:
    start = ((reports.c.hour // query_range.step) * query_range.step).label("start")
    return (
        select(
            start,
            func.count(),
            _sum(cast(reports.c.flagged, Integer)),
            _sum(cast(reports.c.flagged.is_(None), Integer)),
            _sum(reports.c.claims),
            _sum(reports.c.flagged_claims),
            _sum(reports.c.unchecked),
        )
        .where(reports.c.created >= query_range.since, *_owned(query_range.owner))
        .group_by(start)
        .order_by(start)
    )


def _counts(
    connection: Connection, dimension: str, query_range: StatsQuery, most: int
) -> tuple[ClaimCount, ...]:
    claims, flagged = _sum(report_counts.c.claims), _sum(report_counts.c.flagged)
    query = select(report_counts.c.name, claims, flagged).where(
        report_counts.c.dimension == dimension, report_counts.c.hour >= int(query_range.since // HOUR)
    )
    if query_range.owner is not None:
        mine = select(reports.c.number).where(reports.c.owner == query_range.owner)
        query = query.where(report_counts.c.report.in_(mine))
    query = query.group_by(report_counts.c.name)
    query = query.order_by(flagged.desc(), claims.desc(), report_counts.c.name).limit(most)
    return tuple(ClaimCount(row[0], int(row[1]), int(row[2])) for row in connection.execute(query))


def _sum(column: ColumnElement[Any]) -> ColumnElement[int]:
    return cast(func.coalesce(func.sum(column), 0), Integer)


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


def _owned(owner: str | None) -> list[ColumnElement[bool]]:
    return [] if owner is None else [reports.c.owner == owner]


_FIELDS = tuple(field.name for field in fields(ReportSummary))


def _summary(row: Row[Any]) -> ReportSummary:
    return ReportSummary(*(getattr(row, name) for name in _FIELDS))
