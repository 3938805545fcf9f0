"""Stored reports as the service shows them: rows of a list, one opened, and the figures of many."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, Field

from groundwire.config import Config
from groundwire.reports.json import feedback_object
from groundwire.stores.feedback import Opinions
from groundwire.stores.reports import HOUR, Count, Figures, Moment, Summary

if TYPE_CHECKING:
    from groundwire.server.service import Service

_DAY = 86_400


class SummaryOut(BaseModel):
    """A report in a line. `flagged` is null where it could not be found out."""

    id: str
    kind: str = Field(description="`check`, `audit`, or the door it came through.")
    created: str
    expires: str
    title: str = Field(description="The question, or the beginning of the answer.")
    flagged: bool | None
    risk: float | None
    grounding_ratio: float | None
    claims: int
    flagged_claims: int
    unchecked: int
    backend: str
    profile: str


class ReportList(BaseModel):
    reports: list[SummaryOut]
    next: str | None = Field(description="Give it as `before` for those that come after these.")


class SourceOut(BaseModel):
    id: str
    text: str
    origin: str


class StoredOut(SummaryOut):
    """A report with what it was made from. A check has `report` and `answer`, an audit `audit`."""

    report: dict[str, Any] | None = Field(default=None, description="As `/v1/check` answered it.")
    audit: dict[str, Any] | None = Field(default=None, description="As `/v1/traces/audit` answered it.")
    answer: str | None = None
    question: str
    history: list[Any]
    sources: list[SourceOut]
    sources_kept: bool = Field(description="False where the sources were too large to be kept.")


class MomentOut(BaseModel):
    start: str
    reports: int
    flagged_reports: int
    failed_reports: int
    claims: int
    flagged_claims: int
    unchecked: int


class CountOut(BaseModel):
    name: str
    claims: int
    flagged: int


class StatsOut(BaseModel):
    """`moments` without anything in them are left out."""

    since: str
    step_hours: int
    totals: dict[str, int]
    moments: list[MomentOut]
    types: list[CountOut]
    sources: list[CountOut]


def summary_object(summary: Summary, config: Config) -> dict[str, Any]:
    found = asdict(summary)
    del found["owner"]
    found["grounding_ratio"] = found.pop("grounding")
    found["created"] = _iso(summary.created)
    found["expires"] = _iso(summary.created + config.server.keep_days * _DAY)
    return found


def opened(summary: Summary, body: str, held: Service) -> dict[str, Any]:
    """A report with what people said of its claims since."""
    stored: dict[str, Any] = json.loads(body)
    claims = [*stored.get("report", {}).get("claims", ()), *stored.get("audit", {}).get("steps", ())]
    said = Opinions(held.database).of(claim["key"] for claim in claims)
    for claim in claims:
        opinion = said.get(claim["key"])
        claim["feedback"] = feedback_object(opinion) if opinion else None
    return {**summary_object(summary, held.config), **stored}


def stats_object(figures: Figures, since: float, step: int) -> dict[str, Any]:
    names = [name for name in Moment.__slots__ if name != "hour"]
    return {
        "since": _iso(since),
        "step_hours": step,
        "totals": {name: sum(getattr(moment, name) for moment in figures.moments) for name in names},
        "moments": [
            {"start": _iso(moment.hour * HOUR), **{name: getattr(moment, name) for name in names}}
            for moment in figures.moments
        ],
        "types": _counts(figures.types),
        "sources": _counts(figures.sources),
    }


def _counts(counts: Iterable[Count]) -> list[dict[str, Any]]:
    return [asdict(count) for count in counts]


def _iso(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds")
