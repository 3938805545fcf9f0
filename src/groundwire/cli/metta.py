"""`groundwire metta`: run MeTTa programs with the predicates of groundwire."""

from __future__ import annotations

from typing import Annotated

import typer

from groundwire.cli.options import AsJson, Backend, ConfigFile, command_app, settings

app = command_app()


@app.command()
def metta(
    program: Annotated[str, typer.Argument(metavar="FILE.metta", help="A file, '-' for stdin, or text.")],
    kb: Annotated[str | None, typer.Option(help="A knowledge base; the program sees it as &kb.")] = None,
    history: Annotated[
        str | None, typer.Option(help="The conversation so far; the program sees it as &dialogue.")
    ] = None,
    allow_python: Annotated[
        bool, typer.Option("--allow-python", help="Let the program use Python, any module and any file.")
    ] = False,
    steps: Annotated[int, typer.Option(min=1, help="Stop the program after this many steps.")] = 1_000_000,
    as_json: AsJson = False,
    backend: Backend = None,
    config: ConfigFile = None,
) -> None:
    """Run a MeTTa program that detects, explains and repairs hallucinations."""
    from groundwire.integrations.metta import MettaRequest, run_metta

    request = MettaRequest(program, kb, history, allow_python, steps, as_json)
    raise typer.Exit(run_metta(request, settings(config, backend)))
