"""`groundwire compare`: what changed between two batch runs."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from groundwire.cli.console import ExitCode, open_console, print_json, safe_stdout
from groundwire.cli.options import AsJson, command_app
from groundwire.cli.rows import read_reports
from groundwire.errors import InputError
from groundwire.reports.batch import RunComparison, compare_runs
from groundwire.reports.terminal import show_comparison

app = command_app()
_RUN_HELP = "What `groundwire batch -o` wrote."


@app.command()
def compare(
    run1: Annotated[Path, typer.Argument(metavar="RUN1", help=f"{_RUN_HELP} The earlier run.")],
    run2: Annotated[Path, typer.Argument(metavar="RUN2", help=f"{_RUN_HELP} The later run.")],
    as_json: AsJson = False,
) -> None:
    """Show which responses and claims changed from RUN1 to RUN2. Exit code 1 if any became flagged."""
    found = compare_runs(read_run(run1), read_run(run2))
    if not found.responses:
        raise InputError(f"{run1} and {run2} have no response in common", hint="responses are matched by id")
    with safe_stdout():
        if as_json:
            print_json(comparison_object(found))
        else:
            show_comparison(found, open_console())
    raise typer.Exit(ExitCode.of(bool(found.broken)))


def comparison_object(found: RunComparison) -> dict[str, Any]:
    return {**asdict(found), "p_value": round(found.p_value, 6)}


def read_run(path: Path) -> dict[str, dict[str, Any]]:
    """The reports of a run by id."""
    found: dict[str, dict[str, Any]] = {}
    try:
        for number, line in enumerate(read_reports(path), start=1):
            report = _report(line)
            if report is None:
                raise InputError(f"{path}: line {number} is not a report", hint="give the -o file of a batch")
            if report["id"] in found:
                raise InputError(f"{path}: the id {report['id']!r} occurs twice", hint="ids must be unique")
            found[report["id"]] = report
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read {path}: {error}") from None
    return found


def _report(line: str) -> dict[str, Any] | None:
    try:
        report = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return report if isinstance(report, dict) and {"id", "flagged", "claims"} <= report.keys() else None
