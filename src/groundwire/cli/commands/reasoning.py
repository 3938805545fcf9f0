"""`groundwire audit`: reasoning, looked at afterwards."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from groundwire.cli.options import SOURCE_HELP, AsJson, Backend, ConfigFile, Store, settings
from groundwire.cli.streams import open_console

app = typer.Typer(rich_markup_mode=None)


@app.command()
def audit(
    trace: Annotated[str, typer.Argument(help="Steps as JSON, messages or text: a file, '-' or the text.")],
    source: Annotated[list[str] | None, typer.Option("-s", "--source", help=SOURCE_HELP)] = None,
    question: Annotated[str, typer.Option("-q", "--question", help="What was asked.")] = "",
    answer: Annotated[str, typer.Option(help="The final answer, where the trace does not hold it.")] = "",
    backend: Backend = None,
    as_json: AsJson = False,
    html: Annotated[Path | None, typer.Option(help="Write the report as one HTML page.")] = None,
    store: Store = None,
    config: ConfigFile = None,
) -> None:
    """Judge each step of TRACE, and whether its answer follows from the steps. Exit code 1 if not."""
    from groundwire.cli.audit import Request, run_audit

    request = Request(trace, tuple(source or ()), question, answer, as_json, html, store)
    raise typer.Exit(run_audit(request, settings(config, backend), open_console()))
