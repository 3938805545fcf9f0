"""`groundwire trajectory`: what a run of the orchestrator did, step by step."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from groundwire.cli.options import AsJson
from groundwire.cli.streams import open_console

app = typer.Typer(rich_markup_mode=None)


@app.command()
def trajectory(
    file: Annotated[Path, typer.Argument(help="The JSON lines a run wrote.")], as_json: AsJson = False
) -> None:
    """Show what runs of the orchestrator did, their verifications, and what they come to."""
    from groundwire.cli.trajectory import run_trajectory

    raise typer.Exit(run_trajectory(file, open_console(), as_json=as_json))
