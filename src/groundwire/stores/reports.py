"""Reports of the service, kept for a while: listed, read by an id nobody can guess, counted, forgotten."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

from sqlalchemy import ColumnElement, Connection, Integer, Row, Select, cast, delete, func, insert, select

from groundwire.stores.database import Database
from groundwire.stores.tables import report_bodies, report_counts, reports

HOUR = 3600
_AT_ONCE = 500
_NAME_CHARS = 200
_ALL: Mapping[str, Any] = {}
_UNKEEPABLE = {0: "\ufffd", **dict.fromkeys(range(0xD800, 0xE000), "\ufffd")}


@dataclass(frozen=True, slots=True)
class ReportSummary:
    """A report in one row: what lists show and figures count."""

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
    """How many claims of a report had to do with something, and how many of them were flagged."""

    name: str
    claims: int
    flagged: int


@dataclass(frozen=True, slots=True)
class StoredReport:
    """A report to be kept. `body` is its JSON text, which is handed out as it came."""

    summary: ReportSummary
    body: str
    types: tuple[ClaimCount, ...] = ()
    sources: tuple[ClaimCount, ...] = ()


@dataclass(frozen=True, slots=True)
class HourlyCount:
    """What was checked from an hour on, until the next moment. `hour` counts from 1970."""

    hour: int
    reports: int
    flagged_reports: int
    failed_reports: int
    claims: int
    flagged_claims: int
    unchecked: int


@dataclass(frozen=True, slots=True)
class ReportStats:
    """`types` and `sources` are the commonest, most flagged first."""

    moments: tuple[HourlyCount, ...]
    types: tuple[ClaimCount, ...]
    sources: tuple[ClaimCount, ...]


@dataclass(frozen=True, slots=True)
class StatsQuery:
    """From when on, in steps of how many hours; `owner` None means everybody's."""

    since: float
    step: int = 24
    owner: str | None = None


class ReportStore:
    """Every method is one transaction."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, many: Sequence[StoredReport]) -> None:
        """All of them or, on an error, none."""
        with self._database.write() as connection:
            for stored in many:
                _add(connection, stored)

    def get(self, identity: str) -> tuple[ReportSummary, str] | None:
        """A report and its JSON text."""
        query = select(reports, report_bodies.c.body).join(report_bodies).where(reports.c.id == identity)
        with self._database.read() as connection:
            row = connection.execute(query).one_or_none()
        return None if row is None else (_summary(row), zlib.decompress(row.body).decode())

    def recent(
        self, limit: int, *, before: str = "", owner: str | None = None, only: Mapping[str, Any] = _ALL
    ) -> list[ReportSummary]:
        """The newest first; `before` is the id of the last one seen. `only` are columns and their values."""
        query = select(reports).order_by(reports.c.number.desc()).limit(limit).where(*_owned(owner))
        if before:
            query = query.where(
                reports.c.number < select(reports.c.number).where(reports.c.id == before).scalar_subquery()
            )
        for name, value in only.items():
            query = query.where(reports.c[name].is_not_distinct_from(value))
        with self._database.read() as connection:
            return [_summary(row) for row in connection.execute(query)]

    def delete(self, identity: str, owner: str | None = None) -> bool:
        with self._database.write() as connection:
            query = delete(reports).where(reports.c.id == identity, *_owned(owner))
            return bool(connection.execute(query).rowcount)

    def prune(self, before: float) -> int:
        """Forget what is older; a part at a time, so that nobody waits long for the lock."""
        gone = 0
        while True:
            old = select(reports.c.number).where(reports.c.created < before).limit(_AT_ONCE)
            with self._database.write() as connection:
                some = connection.execute(delete(reports).where(reports.c.number.in_(old))).rowcount
            gone += some
            if some < _AT_ONCE:
                return gone

    def figures(self, stretch: StatsQuery, most: int = 12) -> ReportStats:
        with self._database.read() as connection:
            return ReportStats(
                tuple(HourlyCount(*row) for row in connection.execute(_moments(stretch))),
                _counts(connection, "type", stretch, most),
                _counts(connection, "source", stretch, most),
            )


def _add(connection: Connection, stored: StoredReport) -> None:
    summary = stored.summary
    hour = int(summary.created // HOUR)
    values = {**asdict(summary), "hour": hour, "title": keepable(summary.title)}
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
    """One count a name: names too long to be an index's key are cut, and may then be the same."""
    found: dict[str, ClaimCount] = {}
    for count in counts:
        name = keepable(count.name)[:_NAME_CHARS]
        so_far = found.get(name, ClaimCount(name, 0, 0))
        found[name] = ClaimCount(name, so_far.claims + count.claims, so_far.flagged + count.flagged)
    return list(found.values())


def _moments(stretch: StatsQuery) -> Select[Any]:
    start = ((reports.c.hour // stretch.step) * stretch.step).label("start")
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
        .where(reports.c.created >= stretch.since, *_owned(stretch.owner))
        .group_by(start)
        .order_by(start)
    )


def _counts(connection: Connection, dimension: str, stretch: StatsQuery, most: int) -> tuple[ClaimCount, ...]:
    claims, flagged = _sum(report_counts.c.claims), _sum(report_counts.c.flagged)
    query = select(report_counts.c.name, claims, flagged).where(
        report_counts.c.dimension == dimension, report_counts.c.hour >= int(stretch.since // HOUR)
    )
    if stretch.owner is not None:
        mine = select(reports.c.number).where(reports.c.owner == stretch.owner)
        query = query.where(report_counts.c.report.in_(mine))
    query = query.group_by(report_counts.c.name)
    query = query.order_by(flagged.desc(), claims.desc(), report_counts.c.name).limit(most)
    return tuple(ClaimCount(row[0], int(row[1]), int(row[2])) for row in connection.execute(query))


def _sum(column: ColumnElement[Any]) -> ColumnElement[int]:
    return cast(func.coalesce(func.sum(column), 0), Integer)


def _owned(owner: str | None) -> list[ColumnElement[bool]]:
    return [] if owner is None else [reports.c.owner == owner]


_FIELDS = tuple(field.name for field in fields(ReportSummary))


def _summary(row: Row[Any]) -> ReportSummary:
    return ReportSummary(*(getattr(row, name) for name in _FIELDS))


def keepable(text: str) -> str:
    """PostgreSQL keeps no NUL, and no database half a surrogate pair."""
    return text.translate(_UNKEEPABLE)
