"""`groundwire feedback`: mark verdicts as right or wrong."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from typer.core import TyperGroup

from groundwire.cli.console import print_line, safe_stdout, write_atomic
from groundwire.cli.options import command, group
from groundwire.config import Config
from groundwire.errors import InputError
from groundwire.reports.feedback import add_feedback, find_claim, open_feedback
from groundwire.reports.json import feedback_object
from groundwire.reports.plaintext import counted, feedback_line
from groundwire.stores.feedback import FeedbackEntry
from groundwire.text.controls import json_text

RIGHT, WRONG = "right", "wrong"


class _DefaultToMark(TyperGroup):
    """`feedback c2 wrong` means `feedback mark c2 wrong`: anything that is not a subcommand names a claim."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        known = args and (args[0] in self.commands or args[0].startswith("-"))
        return super().resolve_command(ctx, args if known else ["mark", *args])


feedback = group(
    "feedback", "Mark a verdict as right or wrong: groundwire feedback CLAIM right|wrong.", cls=_DefaultToMark
)


@command("store", parent=feedback)
def mark(
    claim: Annotated[str, typer.Argument(help="c2 of the last check here, or a claim's key.")],
    verdict: Annotated[str, typer.Argument(metavar="right|wrong", help="Was the verdict right?")],
    note: Annotated[str, typer.Option(help="Why; shown with the verdict from then on.")] = "",
    report: Annotated[Path | None, typer.Option(help="The report with the claim: JSON or JSON lines.")] = None,
    *,
    config: Config,
    console: Console,
) -> None:
    """Give feedback on a verdict (`mark` may be omitted)."""
    if verdict not in (RIGHT, WRONG):
        raise InputError(f"the verdict must be marked right or wrong, got '{verdict}'")
    judged, found = find_claim(claim, report, config)
    stored = add_feedback(judged, found, verdict == RIGHT, note, config)
    print_line(console, f"{found.key}  {found.claim}")
    print_line(console, feedback_line(stored))


@command("store", parent=feedback)
def list_(*, config: Config, console: Console) -> None:
    """All feedback, newest first."""
    with open_feedback(config) as store:
        entries = store.entries()
    with safe_stdout():
        for entry in entries:
            print_line(console, f"{entry.verdict.key}  {entry.verdict.claim}")
            print_line(console, f"    {feedback_line(entry.feedback)}", "dim")
        if not entries:
            console.print("nothing was marked yet")


@command("store", parent=feedback)
def export(
    out: Annotated[Path | None, typer.Option("-o", "--out", help="Write to this file.")] = None, *, config: Config
) -> None:
    """Every marked claim with its figures and its label, one JSON object per line."""
    with open_feedback(config) as store:
        lines = "".join(_export_line(entry) for entry in store.entries())
    if out is not None:
        write_atomic(out, lines)
    else:
        with safe_stdout():
            sys.stdout.write(lines)


@command("store", parent=feedback)
def forget(claim: Annotated[str, typer.Argument(help="A claim's key.")], *, config: Config, console: Console) -> None:
    """Delete the feedback on a claim."""
    with open_feedback(config) as store:
        deleted = store.forget(claim)
    if not deleted:
        raise InputError(f"there is no feedback on {claim}", hint="groundwire feedback list names the claims")
    print_line(console, f"{counted(deleted, 'mark')} on {claim} deleted")


def _export_line(entry: FeedbackEntry) -> str:
    verdict = entry.verdict
    own: dict[str, object] = {"key": verdict.key, "claim": verdict.claim, "report": entry.report}
    own |= {name: getattr(verdict, name) for name in ("gap_type", "flagged", "p1", "p0")}
    own |= {"budget_gap": verdict.gap_bits, "method": verdict.method}
    return json_text({**own, **feedback_object(entry.feedback)}) + "\n"
