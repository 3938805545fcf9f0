"""`groundwire metta`: MeTTa programs with the predicates of groundwire."""

from __future__ import annotations

from typing import Annotated

import typer

from groundwire.cli.options import AsJson, Backend, ConfigFile, settings

app = typer.Typer(rich_markup_mode=None)


@app.command()
def metta(
    program: Annotated[str, typer.Argument(metavar="FILE.metta", help="A file, '-' for stdin, or text.")],
    kb: Annotated[str | None, typer.Option(help="A knowledge base, in the program &kb.")] = None,
    history: Annotated[str | None, typer.Option(help="The chat before, in the program &dialogue.")] = None,
    allow_python: Annotated[
        bool, typer.Option("--allow-python", help="Open py-atom, py-dot and Python modules to the program.")
    ] = False,
    steps: Annotated[int, typer.Option(min=1, help="Stop a program after so many steps.")] = 1_000_000,
    as_json: AsJson = False,
    backend: Backend = None,
    config: ConfigFile = None,
) -> None:
    """Run a MeTTa program that detects, explains and mends hallucinations."""
    from groundwire.integrations.metta import Request, run_metta

    request = Request(program, kb, history, allow_python, steps, as_json)
    raise typer.Exit(run_metta(request, settings(config, backend)))
