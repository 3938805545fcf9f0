"""Opinions on verdicts, kept: the newest on a claim counts, the older ones stay for who wants to look."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, Row, delete, func, select
from sqlalchemy.dialects import postgresql, sqlite

from groundwire.stores.database import Database
from groundwire.stores.tables import feedback, feedback_reports
from groundwire.types import Feedback, Status

_AT_ONCE = 500
_INSERT = {"sqlite": sqlite.insert, "postgresql": postgresql.insert}
_UNKEEPABLE = {0: "\ufffd", **dict.fromkeys(range(0xD800, 0xE000), "\ufffd")}


@dataclass(frozen=True, slots=True)
class ReviewedVerdict:
    """A claim's verdict as a report told it; `key` names the claim in every report."""

    key: str
    claim: str
    status: Status
    gap_type: str | None
    flagged: bool
    p1: float | None = None
    p0: float | None = None
    gap_bits: float | None = None
    method: str = ""


@dataclass(frozen=True, slots=True)
class FeedbackReport:
    """The report a verdict stood in: what calibration needs of it. `flagged` are the keys of its flags."""

    key: str
    name: str
    risk: float | None
    backend: str
    profile: str
    claims: int
    flagged: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FeedbackEntry:
    verdict: ReviewedVerdict
    report: str
    feedback: Feedback


@dataclass(frozen=True, slots=True)
class ReviewedReport:
    """A report with opinions on it. `supported` is None while a claim of its flags has none."""

    report: FeedbackReport
    supported: bool | None


class FeedbackStore:
    """What people said of verdicts. Every method is one transaction."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, report: FeedbackReport, verdict: ReviewedVerdict, opinion: Feedback) -> None:
        with self._database.write() as connection:
            _keep_report(connection, report)
            connection.execute(
                feedback.insert().values(
                    key=verdict.key,
                    report=report.key,
                    claim=_keepable(verdict.claim),
                    status=verdict.status.value,
                    gap_type=verdict.gap_type,
                    flagged=verdict.flagged,
                    p1=verdict.p1,
                    p0=verdict.p0,
                    gap_bits=verdict.gap_bits,
                    method=_keepable(verdict.method),
                    right=opinion.right,
                    note=_keepable(opinion.note),
                    at=opinion.at.timestamp(),
                )
            )

    def of(self, keys: Iterable[str]) -> dict[str, Feedback]:
        """The newest opinion on each of the claims, where there is one."""
        wanted = list(dict.fromkeys(keys))
        found: dict[str, Feedback] = {}
        with self._database.read() as connection:
            for start in range(0, len(wanted), _AT_ONCE):
                some = wanted[start : start + _AT_ONCE]
                rows = connection.execute(_newest().where(feedback.c.key.in_(some)))
                found |= {row.key: _opinion(row) for row in rows}
        return found

    def entries(self) -> list[FeedbackEntry]:
        """The newest opinion on every claim, newest first."""
        with self._database.read() as connection:
            rows = connection.execute(_newest().order_by(feedback.c.id.desc()))
            return [FeedbackEntry(_verdict(row), row.report, _opinion(row)) for row in rows]

    def reviewed(self) -> list[ReviewedReport]:
        """Every report somebody spoke about, with what follows for it as a whole.

        A claim that stands in several reports needs to be marked in one of them only.
        """
        labels = {entry.verdict.key: entry.feedback.supported for entry in self.entries()}
        marked: dict[str, set[str]] = {}
        with self._database.read() as connection:
            for report, key in connection.execute(select(feedback.c.report, feedback.c.key).distinct()):
                marked.setdefault(report, set()).add(key)
            reports = [_judged(row) for row in connection.execute(select(feedback_reports))]
        return [ReviewedReport(r, _label(r, marked[r.key], labels)) for r in reports if r.key in marked]

    def forget(self, key: str) -> int:
        """Take back all opinions on a claim; how many there were."""
        with self._database.write() as connection:
            gone = connection.execute(delete(feedback).where(feedback.c.key == key)).rowcount
            spoken_of = select(feedback.c.report)
            connection.execute(delete(feedback_reports).where(feedback_reports.c.key.not_in(spoken_of)))
        return int(gone)


def _label(report: FeedbackReport, marked: set[str], labels: Mapping[str, bool]) -> bool | None:
    """One unsupported claim settles it; else every flag must have been called a false alarm.

    What was neither flagged nor marked is taken as supported: whoever marked the rest has seen it.
    """
    said = {key: labels[key] for key in marked | set(report.flagged) if key in labels}
    if not all(said.values()):
        return False
    return True if all(key in said for key in report.flagged) else None


def _newest() -> Any:
    last = select(func.max(feedback.c.id)).group_by(feedback.c.key)
    return select(feedback).where(feedback.c.id.in_(last))


def _keep_report(connection: Connection, report: FeedbackReport) -> None:
    values = {
        "name": _keepable(report.name),
        "risk": report.risk,
        "backend": _keepable(report.backend),
        "profile": _keepable(report.profile),
        "claims": report.claims,
        "flagged": list(report.flagged),
    }
    insert: Any = _INSERT[connection.dialect.name](feedback_reports).values(key=report.key, **values)
    connection.execute(insert.on_conflict_do_update(index_elements=["key"], set_=values))


def _judged(row: Row[Any]) -> FeedbackReport:
    flagged: Sequence[str] = row.flagged
    return FeedbackReport(row.key, row.name, row.risk, row.backend, row.profile, row.claims, tuple(flagged))


def _verdict(row: Row[Any]) -> ReviewedVerdict:
    return ReviewedVerdict(
        row.key,
        row.claim,
        Status(row.status),
        row.gap_type,
        row.flagged,
        row.p1,
        row.p0,
        row.gap_bits,
        row.method,
    )


def _opinion(row: Row[Any]) -> Feedback:
    at = datetime.fromtimestamp(row.at, UTC)
    return Feedback(row.right, Status(row.status), row.flagged, at, row.note)


def _keepable(text: str) -> str:
    """PostgreSQL keeps no NUL, and no database half a surrogate pair."""
    return text.translate(_UNKEEPABLE)
