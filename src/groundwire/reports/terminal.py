"""Reports, audits and any other result on a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import singledispatch

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.pretty import Pretty
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from groundwire.reports.plaintext import (
    answer_line,
    bracket_spans,
    feedback_line,
    flag_counts,
    format_number,
    is_bad_step,
    nearest_evidence,
    repair_guidance,
    repaired_text,
    shorten,
    split_at_spans,
    steps_line,
)
from groundwire.text.controls import sanitize
from groundwire.types import (
    NOTHING_TO_CHECK,
    ClaimVerification,
    Derived,
    Detection,
    Flag,
    HallucinationReport,
    PostHoc,
    Repair,
    Status,
    StepVerdict,
    TraceAudit,
)

TABLE_WIDTH = 100
"""Columns. On a narrower terminal a table would squeeze the claims, so each gets lines of its own."""
_STATUS_STYLE = {
    Status.ENTAILED: "green",
    Status.CONTRADICTED: "bold red",
    Status.NOT_IN_CONTEXT: "red",
    Status.UNVERIFIABLE: "yellow",
    Status.UNCHECKED: "yellow",
}
_ANSWER_STYLE = {Derived.YES: "green", Derived.NO: "bold red", Derived.UNCHECKED: "yellow"}
_DIFF_STYLE = {"-": "red", "+": "green", "@": "dim"}
_REPL_CHARS = 20_000
_REPL_ITEMS = 200
"""Bounds for values shown by the REPL: a source read into a variable may have megabytes."""


@contextmanager
def progress_bar(console: Console) -> Iterator[Progress]:
    """A progress bar on a terminal; nothing in a pipe."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, disable=not console.is_terminal, transient=True) as progress:
        yield progress


# ---- reports


def show_report(report: HallucinationReport, console: Console) -> None:
    """Print the answer with its unsupported parts marked, one row per claim, the flags and the verdict."""
    console.print(_answer(report, colour=console.is_terminal and not console.no_color))
    console.print()
    show_claims(report.claims, console)
    for claim in report.skipped:
        console.print(Text(f"  skipped ({claim.kind.value}): {shorten(claim.text)}", style="dim"))
    _show_flags(report.flags, console)
    if report.flags:
        console.print()
    console.print(_verdict(report))


def show_claims(claims: Sequence[ClaimVerification], console: Console) -> None:
    """Print one row per claim, or a few lines per claim on a narrow terminal."""
    if claims and console.width >= TABLE_WIDTH:
        console.print(_claims_table(claims))
    elif claims:
        console.print(Group(*(_claim_block(claim) for claim in claims)))


def _answer(report: HallucinationReport, colour: bool) -> RenderableType:
    response = sanitize(report.response.rstrip())
    if not colour:
        return Text(bracket_spans(response, report.spans))
    text = Text()
    for piece in split_at_spans(response, report.spans):
        text.append(piece.text, style="bold red underline" if piece.marked else "")
    return text


def _new_table() -> Table:
    return Table(box=None, pad_edge=False, padding=(0, 1), header_style="bold", expand=False)


def _claims_table(claims: Sequence[ClaimVerification]) -> Table:
    table = _new_table()
    for name in ("", "status"):
        table.add_column(name, no_wrap=True)
    for name in ("p1", "p0", "required", "observed", "gap"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("cites", overflow="fold", max_width=16)
    table.add_column("claim, evidence, reason", overflow="fold", ratio=1)
    for claim in claims:
        table.add_row(
            claim.claim_id,
            _status(claim.status),
            format_number(claim.p1, 2),
            format_number(claim.p0, 2),
            format_number(claim.required_bits, 1),
            format_number(claim.observed_bits, 1),
            Text(format_number(claim.budget_gap, 1), style="red" if claim.is_flagged else "green"),
            Text(shorten(", ".join(claim.citations)) or "–"),
            Padding(Group(*_claim_lines(claim)), (0, 0, 1, 0)),
        )
    return table


def _claim_block(claim: ClaimVerification) -> RenderableType:
    """The content of a table row, for a narrow terminal."""
    head = Text(f"{claim.claim_id}  ").append_text(_status(claim.status))
    if claim.citations:
        head.append(f"  cites {shorten(', '.join(claim.citations))}")
    lines = _claim_lines(claim)
    if claim.p1 is not None:
        bits = {"required": claim.required_bits, "observed": claim.observed_bits, "gap": claim.budget_gap}
        figures = [f"p1 {format_number(claim.p1, 2)}", f"p0 {format_number(claim.p0, 2)}"]
        figures += [f"{name} {format_number(value, 1)}" for name, value in bits.items()]
        lines.append(Text(" · ".join(figures), style="dim"))
    return Group(head, Padding(Group(*lines), (0, 0, 1, 4)))


def _claim_lines(claim: ClaimVerification) -> list[RenderableType]:
    lines: list[RenderableType] = [Text(shorten(claim.claim_text))]
    ref = nearest_evidence(claim)
    if ref is not None:
        lines.append(Text(f"{shorten(ref.source)}: “{shorten(ref.text)}”", style="dim"))
    lines.append(Text(shorten(claim.reason), style="red" if claim.is_flagged else "dim"))
    if claim.feedback:
        lines.append(Text(shorten(feedback_line(claim.feedback)), style="cyan"))
    return lines


def _status(status: Status) -> Text:
    return Text(status.value, style=_STATUS_STYLE[status])


def _verdict_style(flagged: bool | None) -> str:
    return "bold yellow" if flagged is None else "bold red" if flagged else "bold green"


def _verdict(report: HallucinationReport) -> Text:
    risk = "unknown" if report.risk is None else f"{report.risk:.2f}"
    text = Text(f"{' · '.join(flag_counts(report))} · ", style=_verdict_style(report.flagged))
    text.append(f"risk {risk} · backend {report.backend} · profile {report.profile}", style="dim")
    if report.error:
        why = ": the answer asserts nothing that could be checked" if report.error == NOTHING_TO_CHECK else ""
        text.append(f"\n{sanitize(report.error)}{why}", style="yellow")
    return text


# ---- detector flags and repairs


def _show_flags(flags: Sequence[Flag], console: Console) -> None:
    for flag in flags:
        head = Text(f"{flag.type.value} {flag.confidence:.2f}  ", style="bold red")
        console.print(head.append(shorten(flag.content), style="not bold default"))
        for text in (flag.type.description, flag.evidence, flag.suggestion):
            if text:
                console.print(Text(f"    {shorten(text)}", style="dim"))


def show_repair(repair: Repair, diff: str, console: Console) -> None:
    """Print the repaired answer and what changed, or why it was not repaired."""
    guidance = repair_guidance(repair)
    for text in guidance:
        console.print(Text(sanitize(text), style="yellow"))
    if repair.edits:
        console.print(Text("\nThe repaired answer", style="bold"))
        console.print(Text(sanitize(repaired_text(repair).strip())))
        console.print()
        for line in sanitize(diff).splitlines():
            console.print(Text(line, style=_DIFF_STYLE.get(line[:1], "")))
    elif not guidance:
        console.print(Text("There is nothing to repair.", style="green"))


# ---- audits of reasoning traces


def show_audit(audit: TraceAudit, console: Console) -> None:
    """Print one row per step, then the answer and who derived it again, then the verdict."""
    if audit.question:
        console.print(Text(shorten(audit.question), style="bold"))
        console.print()
    if console.width >= TABLE_WIDTH:
        console.print(_steps_table(audit))
    else:
        console.print(Group(*(_step_block(step) for step in audit.steps)))
    if audit.post_hoc.outcome is not Derived.ABSENT:
        console.print(_audit_answer(audit.post_hoc))
        console.print()
    console.print(_audit_verdict(audit))


def _steps_table(audit: TraceAudit) -> Table:
    table = _new_table()
    for name in ("step", "status"):
        table.add_column(name, no_wrap=True)
    for name in ("p1", "gap"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("rests on", overflow="fold", max_width=18)
    table.add_column("what it says, and why", overflow="fold", ratio=1)
    for step in audit.steps:
        table.add_row(
            shorten(step.step.id),
            _status(step.status),
            format_number(step.verdict.p1, 2),
            Text(format_number(step.verdict.budget_gap, 1), style="red" if is_bad_step(step) else "green"),
            Text(_premises(step) or "–"),
            Padding(Group(*_step_lines(step)), (0, 0, 1, 0)),
        )
    return table


def _step_block(step: StepVerdict) -> RenderableType:
    """The content of a table row, for a narrow terminal."""
    head = Text(f"{shorten(step.step.id)}  ").append_text(_status(step.status))
    if _premises(step):
        head.append(f"  rests on {_premises(step)}")
    return Group(head, Padding(Group(*_step_lines(step)), (0, 0, 1, 4)))


def _premises(step: StepVerdict) -> str:
    return shorten(", ".join(dict.fromkeys((*step.step.cites, *step.premises))))


def _step_lines(step: StepVerdict) -> list[RenderableType]:
    lines: list[RenderableType] = [Text(shorten(step.step.text))]
    lines.append(Text(shorten(step.verdict.reason), style="red" if step.verdict.is_flagged else "dim"))
    # A reason may name the contradiction already.
    if step.contradicts and "contradicts" not in step.verdict.reason:
        lines.append(Text(shorten(f"contradicts {', '.join(step.contradicts)}"), style="red"))
    return lines


def _audit_answer(found: PostHoc) -> Text:
    text = Text(f"answer: {shorten(found.answer)}\n")
    text.append(answer_line(found), style=_ANSWER_STYLE[found.outcome])
    text.append(f": {shorten(found.reason)}")
    if found.executor:
        derived = f", which arrived at: {shorten(found.derived_answer)}" if found.derived_answer else ""
        text.append(f"\nderived again by {shorten(found.executor)}{derived}", style="dim")
    return text


def _audit_verdict(audit: TraceAudit) -> Text:
    text = Text(steps_line(audit), style=_verdict_style(audit.flagged))
    if audit.post_hoc.outcome is Derived.NO:
        text.append(f" · {answer_line(audit.post_hoc)}", style="bold red")
    text.append(f" · backend {audit.backend}", style="dim")
    if audit.error:
        text.append(f"\n{shorten(audit.error)}", style="yellow")
    return text


# ---- any result, for the REPL


@singledispatch
def show_result(result: object, console: Console) -> None:
    """Print a result by its type: claims as a table, an audit by steps, other values as their repr."""
    if isinstance(result, Sequence) and result and all(isinstance(r, ClaimVerification) for r in result):
        show_claims(result, console)
    elif isinstance(result, str):
        console.print(Text(sanitize(repr(result)[:_REPL_CHARS])))
    else:
        console.print(Pretty(result, max_length=_REPL_ITEMS, max_string=_REPL_CHARS))


@show_result.register
def _(result: HallucinationReport, console: Console) -> None:
    show_report(result, console)


@show_result.register
def _(result: ClaimVerification, console: Console) -> None:
    show_claims([result], console)


@show_result.register
def _(result: TraceAudit, console: Console) -> None:
    show_audit(result, console)


@show_result.register
def _(result: Detection, console: Console) -> None:
    _show_flags(result.flags, console)
    if not result.flags:
        console.print(Text("nothing found", style="green"))
