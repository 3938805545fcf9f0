"""User feedback on verdicts. The newest on a claim counts; older rows stay as history."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Row, delete, func, select

from groundwire.stores.database import Database, record_of, select_in, storable_text, upsert
from groundwire.stores.tables import feedback, feedback_reports
from groundwire.types import Feedback, Status

_LAST = select(func.max(feedback.c.id)).group_by(feedback.c.key)
_NEWEST = select(feedback).where(feedback.c.id.in_(_LAST))


@dataclass(frozen=True, slots=True)
class ReviewedVerdict:
    """A verdict as reported; `key` identifies the claim across reports."""

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
    """The report of a verdict, reduced to what calibration needs. `flagged` are keys of flagged claims."""

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
    """A report with feedback. `supported` is None while a flagged claim has no feedback."""

    report: FeedbackReport
    supported: bool | None


class FeedbackStore:
    """The stored feedback. Every method is one transaction."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, report: FeedbackReport, verdict: ReviewedVerdict, opinion: Feedback, owner: str = "") -> None:
        """Store feedback on a report of `owner`, the id of an API key; "" without keys."""
        flagged = tuple(_owned(key, owner) for key in report.flagged)
        report = replace(report, key=_owned(report.key, owner), flagged=flagged)
        verdict = replace(verdict, key=_owned(verdict.key, owner))
        with self._database.write() as connection:
            known = _columns(report)
            insert = upsert(connection, feedback_reports).values(known)
            connection.execute(insert.on_conflict_do_update(index_elements=["key"], set_=known))
            values = _columns(verdict) | {
                "report": report.key,
                "right": opinion.right,
                "note": storable_text(opinion.note),
                "at": opinion.at.timestamp(),
            }
            connection.execute(feedback.insert().values(values))

    def of(self, keys: Iterable[str], owner: str = "") -> dict[str, Feedback]:
        """The newest feedback on each of the claims that has any, in reports of `owner`."""
        names = {_owned(key, owner): key for key in keys}
        with self._database.read() as connection:
            rows = select_in(connection, _NEWEST, feedback.c.key, names)
            return {names[row.key]: _opinion(row) for row in rows}

    def entries(self) -> list[FeedbackEntry]:
        """The newest feedback on every claim, newest first."""
        with self._database.read() as connection:
            rows = connection.execute(_NEWEST.order_by(feedback.c.id.desc()))
            return [
                FeedbackEntry(record_of(ReviewedVerdict, row, status=Status(row.status)), row.report, _opinion(row))
                for row in rows
            ]

    def reviewed(self) -> list[ReviewedReport]:
        """All reports with feedback, labelled as a whole. Feedback on a claim applies to all its reports."""
        labels = {entry.verdict.key: entry.feedback.supported for entry in self.entries()}
        marked: dict[str, set[str]] = {}
        with self._database.read() as connection:
            for report, key in connection.execute(select(feedback.c.report, feedback.c.key).distinct()):
                marked.setdefault(report, set()).add(key)
            rows = connection.execute(select(feedback_reports))
            reports = [record_of(FeedbackReport, row, flagged=tuple(row.flagged)) for row in rows]
        return [ReviewedReport(r, _label(r, marked[r.key], labels)) for r in reports if r.key in marked]

    def forget(self, key: str) -> int:
        """Delete all feedback on a claim; returns the number of rows."""
        with self._database.write() as connection:
            gone = connection.execute(delete(feedback).where(feedback.c.key == key)).rowcount
            in_use = select(feedback.c.report)
            connection.execute(delete(feedback_reports).where(feedback_reports.c.key.not_in(in_use)))
        return int(gone)


def _owned(key: str, owner: str) -> str:
    """The key of a claim or report of one owner: equal texts of two API keys must not share their feedback."""
    return hashlib.sha256(f"{owner} {key}".encode()).hexdigest()[:24] if owner else key


def _label(report: FeedbackReport, marked: set[str], labels: Mapping[str, bool]) -> bool | None:
    """False if one claim is unsupported; true if every flag was marked as a false alarm; else None.

    Claims that are neither flagged nor marked count as supported.
    """
    marks = {key: labels[key] for key in marked | set(report.flagged) if key in labels}
    if not all(marks.values()):
        return False
    return True if all(key in marks for key in report.flagged) else None


def _columns(item: ReviewedVerdict | FeedbackReport) -> dict[str, Any]:
    return {name: storable_text(v) if isinstance(v, str) else v for name, v in asdict(item).items()}


def _opinion(row: Row[Any]) -> Feedback:
    return record_of(Feedback, row, status=Status(row.status), at=datetime.fromtimestamp(row.at, UTC))
