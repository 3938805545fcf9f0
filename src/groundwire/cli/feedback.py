"""`groundwire feedback`: people mark verdicts as right or wrong."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.text import Text
from typer.core import TyperGroup

from groundwire.cli.console import ExitCode, open_console, safe_stdout, write_atomic
from groundwire.cli.options import ConfigFile, Store, group_app, store_settings
from groundwire.config import Config
from groundwire.errors import InputError
from groundwire.reports.feedback import add_feedback, find_claim, open_feedback
from groundwire.reports.json import feedback_object
from groundwire.reports.plaintext import feedback_line
from groundwire.stores.feedback import FeedbackEntry
from groundwire.text.controls import json_text, sanitize

RIGHT, WRONG = "right", "wrong"


class _DefaultToMark(TyperGroup):
    """`feedback c2 wrong` means `feedback mark c2 wrong`: anything that is not a subcommand names a claim."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        known = args and (args[0] in self.commands or args[0].startswith("-"))
        return super().resolve_command(ctx, args if known else ["mark", *args])


app = group_app("Mark a verdict as right or wrong: groundwire feedback CLAIM right|wrong.", cls=_DefaultToMark)


@app.command()
def mark(
    claim: Annotated[str, typer.Argument(help="c2 of the last check here, or a claim's key.")],
    verdict: Annotated[str, typer.Argument(metavar="right|wrong", help="Was the verdict right?")],
    note: Annotated[str, typer.Option(help="Why; shown with the verdict from then on.")] = "",
    report: Annotated[Path | None, typer.Option(help="The report with the claim: JSON or JSON lines.")] = None,
    store: Store = None,
    config: ConfigFile = None,
) -> None:
    """Give feedback on a verdict (`mark` may be omitted)."""
    raise typer.Exit(run_mark(claim, verdict, note, report, store_settings(config, store), open_console()))


@app.command("list")
def list_(store: Store = None, config: ConfigFile = None) -> None:
    """All feedback, newest first."""
    raise typer.Exit(run_list(store_settings(config, store), open_console()))


@app.command()
def export(
    out: Annotated[Path | None, typer.Option("-o", "--out", help="Write to this file.")] = None,
    store: Store = None,
    config: ConfigFile = None,
) -> None:
    """Every marked claim with its figures and its label, one JSON object per line."""
    raise typer.Exit(run_export(out, store_settings(config, store)))


@app.command()
def forget(
    claim: Annotated[str, typer.Argument(help="A claim's key.")], store: Store = None, config: ConfigFile = None
) -> None:
    """Delete the feedback on a claim."""
    raise typer.Exit(run_forget(claim, store_settings(config, store), open_console()))


def run_mark(claim: str, verdict: str, note: str, report: Path | None, config: Config, console: Console) -> ExitCode:
    if verdict not in (RIGHT, WRONG):
        raise InputError(f"the verdict must be marked right or wrong, got '{verdict}'")
    judged, found = find_claim(claim, report, config)
    stored = add_feedback(judged, found, verdict == RIGHT, note, config)
    console.print(Text(f"{found.key}  {sanitize(found.claim)}"))
    console.print(Text(sanitize(feedback_line(stored))))
    return ExitCode.OK


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
    return json_text(row) + "\n"
