"""Feedback on a verdict: find the claim in a report, and store the user's judgement."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from groundwire.config import Config
from groundwire.errors import InputError
from groundwire.reports.history import recall_report, report_key
from groundwire.reports.json import to_json
from groundwire.stores.database import open_database
from groundwire.stores.feedback import FeedbackReport, FeedbackStore, ReviewedVerdict
from groundwire.types import Feedback, HallucinationReport, Status

_WITHOUT_VERDICT = (Status.UNCHECKED, Status.UNVERIFIABLE)
_MAX_NOTE_CHARS = 2000
_CLAIM_HINT = "use c1, c2, … or the claim's key"


@contextmanager
def open_feedback(config: Config, *, create: bool = False) -> Iterator[FeedbackStore]:
    database = open_database(config.store.url, create=create)
    try:
        yield FeedbackStore(database)
    finally:
        database.close()


def add_feedback(judged: FeedbackReport, verdict: ReviewedVerdict, right: bool, note: str, config: Config) -> Feedback:
    """Store feedback. Raises `InputError` if the claim has no verdict or the note is too long."""
    if verdict.status in _WITHOUT_VERDICT:
        raise InputError(f"there is no verdict on this claim to mark: it is {verdict.status.words}")
    if len(note) > _MAX_NOTE_CHARS:
        raise InputError(f"the note has {len(note):,} characters", hint=f"the limit is {_MAX_NOTE_CHARS:,}")
    feedback = Feedback(right, verdict.status, verdict.flagged, datetime.now(UTC), note.strip())
    with open_feedback(config, create=True) as store:
        store.add(judged, verdict, feedback)
    return feedback


class _ReportedClaim(BaseModel):
    model_config = ConfigDict(strict=True)

    id: str
    key: str
    text: str
    status: str
    gap_type: str | None = None
    flagged: bool
    p1: float | None = None
    p0: float | None = None
    budget_gap: float | None = None
    method: str = ""


class _ReportJson(BaseModel):
    """The parts of a report's JSON that feedback needs."""

    model_config = ConfigDict(strict=True)

    id: str = ""
    risk: float | None
    backend: str
    profile: str
    claims: list[_ReportedClaim]


class _StoredReport(BaseModel):
    report: _ReportJson


def find_claim(claim: str, file: Path | None, config: Config) -> tuple[FeedbackReport, ReviewedVerdict]:
    """A claim by its key or by `c2`, in the file or else in the last reports made on this machine."""
    if file is None:
        text = recall_report(claim, config)
        if not text:
            raise InputError("it was not checked here recently", hint="name its report with --report FILE.json")
        return _first(_parse(text), claim, "the last report")
    found = [pair for report in _read(file) for pair in _matching(report, claim)]
    if not found:
        raise InputError(f"{file} has no claim {claim}")
    if len({verdict.key for _, verdict in found}) > 1:
        raise InputError(f"{file} has several claims {claim}", hint="use the key of the one you mean")
    return found[-1]


def claim_of_report(report: HallucinationReport, claim: str) -> tuple[FeedbackReport, ReviewedVerdict]:
    return _first(_parse(to_json(report)), claim, "the last report")


def claim_of_stored_report(text: str, claim: str) -> tuple[FeedbackReport, ReviewedVerdict]:
    """A claim of a report that the server stored; its JSON is the value of the key `report`."""
    try:
        stored = _StoredReport.model_validate_json(text)
    except ValidationError:  # audits are stored too, and have no claims
        raise InputError("this report cannot be marked") from None
    return _first(stored.report, claim, "the report")


def _first(report: _ReportJson, claim: str, name: str) -> tuple[FeedbackReport, ReviewedVerdict]:
    found = _matching(report, claim)
    if not found:
        raise InputError(f"{name} has no claim {claim}", hint=_CLAIM_HINT)
    return found[0]


def _read(file: Path) -> Iterator[_ReportJson]:
    """One report, or one per line as `groundwire batch` writes them."""
    try:
        text = file.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise InputError(f"{file} is not a report: it is not UTF-8") from None
    except OSError as error:
        raise InputError(f"cannot read {file}: {error.strerror}") from None
    try:
        whole = _parse(text)
    except InputError:
        for line in filter(str.strip, text.splitlines()):
            yield _parse(line, str(file))
    else:
        yield whole


def _parse(text: str, name: str = "the cached report") -> _ReportJson:
    try:
        return _ReportJson.model_validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"]))
        hint = "make one with groundwire check --json"
        raise InputError(f"{name} is not a report ({place}: {first['msg']})", hint=hint) from None


def _matching(report: _ReportJson, claim: str) -> list[tuple[FeedbackReport, ReviewedVerdict]]:
    judged = FeedbackReport(
        report_key([c.key for c in report.claims]),
        report.id,
        report.risk,
        report.backend,
        report.profile,
        len(report.claims),
        tuple(dict.fromkeys(c.key for c in report.claims if c.flagged)),
    )
    return [(judged, _verdict(c)) for c in report.claims if claim in (c.key, c.id)]


def _verdict(claim: _ReportedClaim) -> ReviewedVerdict:
    if claim.status not in Status.__members__:
        raise InputError(f"unknown status '{claim.status}' of a claim")
    return ReviewedVerdict(
        claim.key,
        claim.text,
        Status(claim.status),
        claim.gap_type,
        claim.flagged,
        claim.p1,
        claim.p0,
        claim.budget_gap,
        claim.method,
    )
