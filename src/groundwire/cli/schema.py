"""`groundwire schema`: print the JSON Schema of reports."""

from __future__ import annotations

from groundwire.cli.console import print_json, safe_stdout
from groundwire.cli.options import command_app
from groundwire.reports.schema import report_schema

app = command_app()


@app.command()
def schema() -> None:
    """Print the JSON Schema of a report: of `check --json`, a line of `batch`, and `POST /v1/check`."""
    with safe_stdout():
        print_json(report_schema())
