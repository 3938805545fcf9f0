"""`groundwire feedback`: people mark verdicts as right or wrong."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic import BaseModel, ConfigDict, ValidationError
from rich.console import Console
from rich.text import Text
from typer.core import TyperGroup

from groundwire.cli.console import ExitCode, open_console, safe_stdout, write_atomic
from groundwire.cli.options import ConfigFile, Store, group_app, settings
from groundwire.cli.report_history import recall_report, report_key
from groundwire.config import Config
from groundwire.errors import InputError
from groundwire.reports.json import feedback_object, to_json
from groundwire.reports.plaintext import feedback_line, sanitize
from groundwire.stores.database import open_database
from groundwire.stores.feedback import FeedbackEntry, FeedbackReport, FeedbackStore, ReviewedVerdict
from groundwire.types import Feedback, HallucinationReport, Status

RIGHT, WRONG = "right", "wrong"
_WITHOUT_VERDICT = (Status.UNCHECKED, Status.UNVERIFIABLE)
_MAX_NOTE_CHARS = 2000
_CLAIM_HINT = "use c1, c2, … or the claim's key"


class _DefaultToMark(TyperGroup):
    """`feedback c2 wrong` means `feedback mark c2 wrong`: anything that is not a subcommand names a claim."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        known = args and (args[0] in self.commands or args[0].startswith("-"))
        return super().resolve_command(ctx, args if known else ["mark", *args])


app = group_app(
    "Mark a verdict as right or wrong: groundwire feedback CLAIM right|wrong.", cls=_DefaultToMark
)


@app.command()
def mark(
    claim: Annotated[str, typer.Argument(help="c2 of the last check here, or a claim's key.")],
    verdict: Annotated[str, typer.Argument(metavar="right|wrong", help="Was the verdict right?")],
    note: Annotated[str, typer.Option(help="Why; shown with the verdict from then on.")] = "",
    report: Annotated[
        Path | None, typer.Option(help="The report with the claim: JSON or JSON lines.")
    ] = None,
    store: Store = None,
    config: ConfigFile = None,
) -> None:
    """Give feedback on a verdict (`mark` may be omitted)."""
    raise typer.Exit(run_mark(claim, verdict, note, report, settings(config, store=store), open_console()))


@app.command("list")
def list_(store: Store = None, config: ConfigFile = None) -> None:
    """All feedback, newest first."""
    raise typer.Exit(run_list(settings(config, store=store), open_console()))


@app.command()
def export(
    out: Annotated[Path | None, typer.Option("-o", "--out", help="Write to this file.")] = None,
    store: Store = None,
    config: ConfigFile = None,
) -> None:
    """Every marked claim with its figures and its label, one JSON object per line."""
    raise typer.Exit(run_export(out, settings(config, store=store)))


@app.command()
def forget(
    claim: Annotated[str, typer.Argument(help="A claim's key.")],
    store: Store = None,
    config: ConfigFile = None,
) -> None:
    """Delete the feedback on a claim."""
    raise typer.Exit(run_forget(claim, settings(config, store=store), open_console()))


def run_mark(
    claim: str, verdict: str, note: str, report: Path | None, config: Config, console: Console
) -> ExitCode:
    if verdict not in (RIGHT, WRONG):
        raise InputError(f"the verdict must be marked right or wrong, got '{verdict}'")
    judged, found = find_claim(claim, report, config)
    stored = add_feedback(judged, found, verdict == RIGHT, note, config)
    console.print(Text(f"{found.key}  {sanitize(found.claim)}"))
    console.print(Text(sanitize(feedback_line(stored))))
    return ExitCode.OK


def add_feedback(
    judged: FeedbackReport, verdict: ReviewedVerdict, right: bool, note: str, config: Config
) -> Feedback:
    """Store feedback. Raises `InputError` if the claim has no verdict or the note is too long."""
    if verdict.status in _WITHOUT_VERDICT:
        raise InputError(f"there is no verdict on this claim to mark: it is {verdict.status.value}")
    if len(note) > _MAX_NOTE_CHARS:
        raise InputError(f"the note has {len(note):,} characters", hint=f"the limit is {_MAX_NOTE_CHARS:,}")
    feedback = Feedback(right, verdict.status, verdict.flagged, datetime.now(UTC), note.strip())
    with open_feedback(config, create=True) as store:
        store.add(judged, verdict, feedback)
    return feedback


def run_list(config: Config, console: Console) -> ExitCode:
    with open_feedback(config) as store:
        entries = store.entries()
    with safe_stdout():
        for entry in entries:
            console.print(Text(f"{entry.verdict.key}  {sanitize(entry.verdict.claim)}"), soft_wrap=True)
            console.print(Text(f"    {sanitize(feedback_line(entry.feedback))}", style="dim"), soft_wrap=True)
        if not entries:
            console.print("nothing was marked yet")
    return ExitCode.OK


def run_export(out: Path | None, config: Config) -> ExitCode:
    with open_feedback(config) as store:
        lines = "".join(_export_line(entry) for entry in store.entries())
    if out is not None:
        write_atomic(out, lines)
        return ExitCode.OK
    with safe_stdout():
        sys.stdout.write(lines)
    return ExitCode.OK


def run_forget(key: str, config: Config, console: Console) -> ExitCode:
    with open_feedback(config) as store:
        deleted = store.forget(key)
    if not deleted:
        raise InputError(f"there is no feedback on {key}", hint="groundwire feedback list names the claims")
    console.print(f"{deleted} mark{'s' if deleted > 1 else ''} on {key} deleted", highlight=False)
    return ExitCode.OK


@contextmanager
def open_feedback(config: Config, *, create: bool = False) -> Iterator[FeedbackStore]:
    database = open_database(config.store.url, create=create)
    try:
        yield FeedbackStore(database)
    finally:
        database.close()


def _export_line(entry: FeedbackEntry) -> str:
    verdict = entry.verdict
    row = {
        "key": verdict.key,
        "claim": verdict.claim,
        "report": entry.report,
        "gap_type": verdict.gap_type,
        "flagged": verdict.flagged,
        "p1": verdict.p1,
        "p0": verdict.p0,
        "budget_gap": verdict.gap_bits,
        "method": verdict.method,
        **feedback_object(entry.feedback),
    }
    return json.dumps(row, ensure_ascii=False) + "\n"


# ---- find a claim in a report


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
            raise InputError(
                "it was not checked here recently", hint="name its report with --report FILE.json"
            )
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
