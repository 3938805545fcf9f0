"""`groundwire metta`: run MeTTa programs with the predicates of groundwire."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from groundwire._loop import run
from groundwire.cli.console import ExitCode, safe_stdout, stdin_bytes
from groundwire.cli.options import AsJson, Backend, ConfigFile, command_app, settings
from groundwire.config import Config
from groundwire.engine import Groundwire
from groundwire.integrations.metta import register
from groundwire.integrations.metta_atoms import head_of
from groundwire.integrations.metta_runner import evaluate, in_child, new_metta
from groundwire.retrieval.history import parse_history
from groundwire.retrieval.load import as_path, load_answer
from groundwire.stores.knowledge_base import Knowledge
from groundwire.types import Turn

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
    request = MettaRequest(program, kb, history, allow_python, steps, as_json)
    raise typer.Exit(run_metta(request, settings(config, backend)))


@dataclass(frozen=True, slots=True)
class MettaRequest:
    program: str
    kb: str | None = None
    history: str | None = None
    allow_python: bool = False
    steps: int = 1_000_000
    as_json: bool = False


def run_metta(request: MettaRequest, config: Config) -> ExitCode:
    """Run a file and print the results of each `!`. Exit code 2 if one is an error."""
    limit = config.limits.max_source_bytes
    program = load_answer(request.program, stdin=stdin_bytes(), max_bytes=limit)
    turns_text = request.history and load_answer(request.history, stdin=stdin_bytes(), max_bytes=limit)
    turns = parse_history(turns_text) if turns_text else ()
    shown, failed = in_child(lambda: _results(request, config, program, turns))
    plain = (f"[{', '.join(result)}]" for result in shown)
    with safe_stdout():
        lines = [json.dumps(shown, ensure_ascii=False)] if request.as_json else plain
        sys.stdout.write("".join(f"{line}\n" for line in lines))
    return ExitCode.BAD_INPUT if failed else ExitCode.OK


def _results(
    request: MettaRequest, config: Config, program: str, turns: Sequence[Turn]
) -> tuple[list[list[str]], bool]:
    """The results of each `!` as text, and whether one is an error."""
    path = as_path(request.program) if request.program != "-" else None
    folder = None if request.allow_python else (path.parent if path else Path())
    metta = new_metta(allow_python=request.allow_python, folder=folder, steps=request.steps)
    engine = Groundwire(config)
    kb = Knowledge.open(request.kb, create=False) if request.kb else None
    own = register(metta, engine, kb=kb, history=turns, folder=folder)
    try:
        results = evaluate(metta, program, request.steps)
    finally:
        own.close()
        if kb is not None:
            kb.close()
        run(engine.aclose())
    failed = any(head_of(atom) == "Error" for result in results for atom in result)
    return [[str(atom) for atom in result] for result in results], failed
