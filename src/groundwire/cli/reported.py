"""Claims of reports made before: the last ones on this machine, and those in report files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from groundwire.cli.remembered import recall, report_key
from groundwire.config import Config
from groundwire.errors import InputError
from groundwire.reports.json import to_json
from groundwire.stores.feedback import Judged, Verdict
from groundwire.types import HallucinationReport, Status


class _Claim(BaseModel):
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


class _Report(BaseModel):
    model_config = ConfigDict(strict=True)

    id: str = ""
    risk: float | None
    backend: str
    profile: str
    claims: list[_Claim]


class _Stored(BaseModel):
    report: _Report


def find(claim: str, file: Path | None, config: Config) -> tuple[Judged, Verdict]:
    """The verdict that a name means: a key, or `c2` of the one report at hand."""
    if file is None:
        return _remembered(claim, config)
    found = [pair for report in _read(file) for pair in _matching(report, claim)]
    if not found:
        raise InputError(f"{file} holds no claim {claim}")
    if len({verdict.key for _, verdict in found}) > 1:
        raise InputError(f"{file} holds several claims {claim}", hint="use the key of the one that is meant")
    return found[-1]


def named(report: HallucinationReport, claim: str) -> tuple[Judged, Verdict]:
    """A claim of a report at hand."""
    found = _matching(_parsed(to_json(report)), claim)
    if not found:
        raise InputError(f"the last report has no claim {claim}", hint="use c1, c2, … or the claim's key")
    return found[0]


def named_in(text: str, claim: str) -> tuple[Judged, Verdict]:
    """A claim of a stored report, whose JSON stands under `report` in the text; audits have none."""
    try:
        stored = _Stored.model_validate_json(text)
    except ValidationError:
        raise InputError("this report cannot be marked") from None
    found = _matching(stored.report, claim)
    if not found:
        raise InputError(f"the report has no claim {claim}", hint="use c1, c2, … or the claim's key")
    return found[0]


def _remembered(claim: str, config: Config) -> tuple[Judged, Verdict]:
    text = recall(claim, config)
    if not text:
        raise InputError("it was not checked here lately", hint="name its report with --report FILE.json")
    found = _matching(_parsed(text), claim)
    if not found:
        raise InputError(f"the last report has no claim {claim}", hint="use c1, c2, … or the claim's key")
    return found[0]


def _read(file: Path) -> Iterator[_Report]:
    """One report, or one a line as `groundwire batch` writes them."""
    try:
        text = file.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise InputError(f"{file} is no report: it is not UTF-8") from None
    except OSError as error:
        raise InputError(f"cannot read {file}: {error.strerror}") from None
    try:
        whole = _parsed(text)
    except InputError:
        for line in filter(str.strip, text.splitlines()):
            yield _parsed(line, str(file))
    else:
        yield whole


def _parsed(text: str, where: str = "what was remembered") -> _Report:
    try:
        return _Report.model_validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise InputError(
            f"{where} is no report ({place}: {first['msg']})", hint="make one with groundwire check --json"
        ) from None


def _matching(report: _Report, claim: str) -> list[tuple[Judged, Verdict]]:
    judged = Judged(
        report_key([c.key for c in report.claims]),
        report.id,
        report.risk,
        report.backend,
        report.profile,
        len(report.claims),
        tuple(dict.fromkeys(c.key for c in report.claims if c.flagged)),
    )
    return [(judged, _verdict(c)) for c in report.claims if claim in (c.key, c.id)]


def _verdict(claim: _Claim) -> Verdict:
    if claim.status not in Status.__members__:
        raise InputError(f"'{claim.status}' is no status of a claim")
    return Verdict(
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
