"""Reports, audits and any other result on a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.pretty import Pretty
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from groundwire.reports import plaintext
from groundwire.reports.plaintext import MarkedPiece, format_number, percent, reason_line, shorten
from groundwire.text.controls import sanitize
from groundwire.types import (
    NOTHING_TO_CHECK,
    ActionKind,
    ActionVerdict,
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

if TYPE_CHECKING:
    from groundwire.reports.batch import BatchSummary, ClaimChange, RunComparison

TABLE_WIDTH = 100
"""Columns. On a narrower terminal a table would squeeze the claims, so each gets lines of its own."""
LOG_SECONDS = 10.0
"""Seconds between two lines of progress in a log."""
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


class _LogProgress(Progress):
    """Progress in a log: a line now and then instead of a bar. `clock` counts seconds."""

    def __init__(self, console: Console, clock: Callable[[], float]) -> None:
        super().__init__(console=console, disable=True)
        self._out, self._clock, self._told = console, clock, clock()

    def advance(self, task_id: TaskID, advance: float = 1) -> None:
        super().advance(task_id, advance)
        if self._clock() - self._told >= LOG_SECONDS:
            self._told = self._clock()
            task = next(task for task in self.tasks if task.id == task_id)
            total = "" if task.total is None else f" of {task.total:,.0f} ({task.percentage:.0f} %)"
            self._out.print(f"{task.description}: {task.completed:,.0f}{total}", highlight=False)


@contextmanager
def progress_bar(console: Console, clock: Callable[[], float] = monotonic) -> Iterator[Progress]:
    """A progress bar on a terminal; a line every `LOG_SECONDS` in a log."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    bar = Progress(*columns, console=console, transient=True) if console.is_terminal else _LogProgress(console, clock)
    with bar as progress:
        yield progress


# ---- reports


def show_report(report: HallucinationReport, console: Console, *, bits: bool = False) -> None:
    """Print the answer with its unsupported parts marked, one row per claim, the flags and the verdict.

    Args:
        bits: show the bits of evidence of every claim, not only where an LLM measured them.
    """
    console.print(marked_text(plaintext.reflow(sanitize(report.response.rstrip()), report.spans), console))
    console.print()
    show_claims(report.claims, console, bits=bits)
    for claim in report.skipped:
        console.print(Text(f"  skipped ({claim.kind.value}): {shorten(claim.text)}", style="dim"))
    _show_flags(report.flags, console)
    if report.flags:
        console.print()
    console.print(_verdict(report))


def show_claims(claims: Sequence[ClaimVerification], console: Console, *, bits: bool = False) -> None:
    """Print one row per claim, or a few lines per claim on a narrow terminal."""
    bits = bits or plaintext.measures_bits(claims)
    if claims and console.width >= TABLE_WIDTH:
        console.print(_claims_table(claims, bits))
    elif claims:
        console.print(Group(*(_claim_block(claim, bits) for claim in claims)))


def marked_text(pieces: Iterable[MarkedPiece], console: Console) -> Text:
    """An answer with its unsupported parts in red, or in brackets where there is no colour."""
    if console.no_color or not console.is_terminal:
        return Text(plaintext.bracketed(pieces))
    return Text.assemble(*((piece.text, "bold red underline" if piece.marked else "") for piece in pieces))


def _new_table() -> Table:
    return Table(box=None, pad_edge=False, padding=(0, 1), header_style="bold", expand=False)


def _claims_table(claims: Sequence[ClaimVerification], bits: bool) -> Table:
    table = _new_table()
    for name in ("", "verdict"):
        table.add_column(name, no_wrap=True)
    for name in ("p1", "p0", "required", "observed", "gap") if bits else ("support",):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("claim, evidence, reason", overflow="fold", ratio=1)
    for claim in claims:
        figures = [value for _, value in _figures(claim)] if bits else [percent(claim.p1)]
        text = Padding(Group(*_claim_lines(claim)), (0, 0, 1, 0))
        table.add_row(claim.claim_id, _status(claim.status), *figures, text)
    return table


def _figures(claim: ClaimVerification) -> list[tuple[str, str]]:
    """The probabilities and bits of a claim, by name."""
    bits = {"required": claim.required_bits, "observed": claim.observed_bits, "gap": claim.budget_gap}
    found = [("p1", format_number(claim.p1, 2)), ("p0", format_number(claim.p0, 2))]
    return found + [(name, format_number(value, 1)) for name, value in bits.items()]


def _claim_block(claim: ClaimVerification, bits: bool) -> RenderableType:
    """The content of a table row, for a narrow terminal."""
    head = Text(f"{claim.claim_id}  ").append_text(_status(claim.status))
    if claim.p1 is not None:
        head.append(f"  {percent(claim.p1)}", style="dim")
    lines = _claim_lines(claim)
    if bits and claim.p1 is not None:
        lines.append(Text(" · ".join(f"{name} {value}" for name, value in _figures(claim)), style="dim"))
    return Group(head, Padding(Group(*lines), (0, 0, 1, 4)))


def _claim_lines(claim: ClaimVerification) -> list[RenderableType]:
    text = Text(shorten(claim.claim_text))
    if claim.citations:
        text.append(f" [{shorten(', '.join(claim.citations))}]", style="dim")
    lines: list[RenderableType] = [text]
    ref = plaintext.nearest_evidence(claim)
    if ref is not None:
        lines.append(Text(f"{shorten(ref.source)}: “{shorten(ref.text)}”", style="dim"))
    if reason_line(claim):
        lines.append(Text(shorten(reason_line(claim)), style="red" if claim.is_flagged else "dim"))
    if claim.shares:
        lines.append(Text(shorten(plaintext.shares_line(claim)), style="dim"))
    if claim.feedback:
        lines.append(Text(shorten(plaintext.feedback_line(claim.feedback)), style="cyan"))
    return lines


def _status(status: Status) -> Text:
    return Text(status.words, style=_STATUS_STYLE[status])


def _verdict_style(flagged: bool | None) -> str:
    return "bold yellow" if flagged is None else "bold red" if flagged else "bold green"


def _verdict(report: HallucinationReport) -> Text:
    text = Text(f"{' · '.join(plaintext.flag_counts(report))} · ", style=_verdict_style(report.flagged))
    text.append(" · ".join(plaintext.report_facts(report)), style="dim")
    if report.error:
        why = ": the answer asserts nothing that could be checked" if report.error == NOTHING_TO_CHECK else ""
        text.append(f"\n{sanitize(report.error)}{why}", style="yellow")
    return text


def show_batch(figures: BatchSummary, gate: str, console: Console) -> None:
    """Print the counts of a batch, the outcome of its gate, and one row per group."""
    console.print("\n".join(filter(None, (figures.describe(), gate))), highlight=False)
    heads, *rows = figures.group_table() or [()]
    if rows:
        table = _new_table()
        for number, name in enumerate(heads):
            table.add_column(name, justify="right" if number else "left", overflow="fold")
        for row in rows:
            table.add_row(*(Text(shorten(cell)) for cell in row))
        console.print(table)


_LISTED_CHANGES = 50
"""Changed claims listed; `--json` has all."""


def show_comparison(found: RunComparison, console: Console) -> None:
    """Print what changed between two runs: responses with a significance test, then the claims."""
    before, after = (percent(n / found.responses) for n in (found.flagged_before, found.flagged_after))
    console.print(f"{found.responses} responses in both runs: {before} → {after} flagged", highlight=False)
    console.print(
        f"{len(found.cleared)} no longer flagged, {len(found.broken)} newly flagged"
        f" (McNemar's exact test: p = {found.p_value:.2g})",
        highlight=False,
    )
    for words, names in (
        ("no longer flagged", found.cleared),
        ("newly flagged", found.broken),
        ("could not be checked in one of the runs", found.unsettled),
        ("only in the first run", found.only_before),
        ("only in the second run", found.only_after),
    ):
        if names:
            console.print(Text(f"  {words}: {shorten(', '.join(names))}"))
    console.print(
        f"{found.claims} claims in both: {len(found.flipped)} flipped, "
        f"{len(found.changes) - len(found.flipped)} with another verdict; "
        f"{found.claims_gone} gone, {found.claims_new} new",
        highlight=False,
    )
    for change in found.changes[:_LISTED_CHANGES]:
        console.print(_change_lines(change))
    if len(found.changes) > _LISTED_CHANGES:
        console.print(f"  … and {len(found.changes) - _LISTED_CHANGES} more", highlight=False)


def _change_lines(change: ClaimChange) -> Text:
    before, after = Status(change.before), Status(change.after)
    text = Text(f"  {shorten(change.response)}: ").append_text(_status(before)).append(" → ")
    text.append_text(_status(after)).append(f" ({percent(change.p1_before)} → {percent(change.p1_after)})")
    return text.append(f"\n    {shorten(change.text)}", style="dim")


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
    guidance = plaintext.repair_guidance(repair)
    if any(action.kind is ActionKind.REGENERATE for action in repair.actions):
        why = "\nThe answer was not repaired: too much of it is wrong. To get a better one, send:"
        console.print(Text(why, style="bold"))
    for text in guidance:
        console.print(Text(sanitize(text), style="yellow"))
    if repair.edits:
        console.print(Text("\nThe repaired answer", style="bold"))
        console.print(Text(sanitize(plaintext.repaired_text(repair).strip())))
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
    if audit.actions:
        console.print(Group(*map(_action_line, audit.actions)))
        console.print()
    console.print(_audit_verdict(audit))


def _steps_table(audit: TraceAudit) -> Table:
    table = _new_table()
    for name in ("step", "verdict"):
        table.add_column(name, no_wrap=True)
    table.add_column("support", justify="right", no_wrap=True)
    table.add_column("rests on", overflow="fold", max_width=18)
    table.add_column("what it says, and why", overflow="fold", ratio=1)
    for step in audit.steps:
        table.add_row(
            shorten(step.step.id),
            Text(step.words, style=_STATUS_STYLE[step.status]),
            Text(percent(step.verdict.p1), style="red" if plaintext.is_bad_step(step) else ""),
            Text(_premises(step) or "–"),
            Padding(Group(*_step_lines(step)), (0, 0, 1, 0)),
        )
    return table


def _step_block(step: StepVerdict) -> RenderableType:
    """The content of a table row, for a narrow terminal."""
    head = Text(f"{shorten(step.step.id)}  ").append(step.words, style=_STATUS_STYLE[step.status])
    if _premises(step):
        head.append(f"  rests on {_premises(step)}")
    return Group(head, Padding(Group(*_step_lines(step)), (0, 0, 1, 4)))


def _premises(step: StepVerdict) -> str:
    return shorten(", ".join(dict.fromkeys((*step.step.cites, *step.premises))))


def _step_lines(step: StepVerdict) -> list[RenderableType]:
    lines: list[RenderableType] = [Text(shorten(step.step.text))]
    if reason_line(step.verdict):
        lines.append(Text(shorten(step.verdict.reason), style="red" if step.verdict.is_flagged else "dim"))
    # A reason may name the contradiction already.
    if step.contradicts and "contradicts" not in step.verdict.reason:
        lines.append(Text(shorten(f"contradicts {', '.join(step.contradicts)}"), style="red"))
    return lines


def _audit_answer(found: PostHoc) -> Text:
    text = Text(f"answer: {shorten(found.answer)}\n")
    text.append(plaintext.answer_line(found), style=_ANSWER_STYLE[found.outcome])
    text.append(f": {shorten(found.reason)}")
    if found.executor:
        derived = f", which arrived at: {shorten(found.derived_answer)}" if found.derived_answer else ""
        text.append(f"\nderived again by {shorten(found.executor)}{derived}", style="dim")
    return text


def _action_line(action: ActionVerdict) -> Text:
    text = Text(f"{action.status}  ", style="red" if action.is_flagged else "green")
    text.append(shorten(action.text), style="default")
    return text.append(f"\n    {shorten(action.reason)}", style="dim") if action.reason else text


def _audit_verdict(audit: TraceAudit) -> Text:
    text = Text(plaintext.steps_line(audit), style=_verdict_style(audit.flagged))
    if audit.post_hoc.outcome is Derived.NO:
        text.append(f" · {plaintext.answer_line(audit.post_hoc)}", style="bold red")
    text.append(f" · backend {audit.backend}", style="dim")
    if audit.error:
        text.append(f"\n{shorten(audit.error)}", style="yellow")
    return text


# ---- any result, for the REPL


def show_result(result: object, console: Console) -> None:
    """Print a result by its type: claims as a table, an audit by steps, other values as their repr."""
    match result:
        case HallucinationReport():
            show_report(result, console)
        case TraceAudit():
            show_audit(result, console)
        case ClaimVerification():
            show_claims([result], console)
        case Detection(flags=()):
            console.print(Text("nothing found", style="green"))
        case Detection():
            _show_flags(result.flags, console)
        case str():
            console.print(Text(sanitize(repr(result)[:_REPL_CHARS])))
        case [ClaimVerification(), *_] if all(isinstance(one, ClaimVerification) for one in result):
            show_claims([one for one in result if isinstance(one, ClaimVerification)], console)
        case _:
            console.print(Pretty(result, max_length=_REPL_ITEMS, max_string=_REPL_CHARS))
