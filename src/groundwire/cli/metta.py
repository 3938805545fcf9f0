"""`groundwire metta`: run MeTTa programs with the predicates of groundwire."""

from __future__ import annotations

import json
import sys
from contextlib import closing, nullcontext
from pathlib import Path
from typing import Annotated

import typer

from groundwire._loop import run
from groundwire.cli.console import ExitCode, InputReader, safe_stdout
from groundwire.cli.options import AsJson, command
from groundwire.config import Config
from groundwire.engine import Groundwire
from groundwire.integrations.metta import register
from groundwire.integrations.metta_atoms import head_of
from groundwire.integrations.metta_runner import evaluate, in_child, new_metta
from groundwire.retrieval.load import as_path
from groundwire.stores.knowledge_base import Knowledge


@command("backend")
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
    *,
    config: Config,
) -> ExitCode:
    """Run a MeTTa program that detects, explains and repairs hallucinations."""
    inputs = InputReader(config, program=program, history=history)
    text, turns = inputs.text(program), inputs.history(history)
    path = as_path(program) if program != "-" else None
    folder = None if allow_python else (path.parent if path else Path())

    def results() -> tuple[list[list[str]], bool]:
        """The results of each `!` as text, and whether one is an error."""
        runner = new_metta(allow_python=allow_python, folder=folder, steps=steps)
        engine = Groundwire(config)
        with closing(Knowledge.open(kb, create=False)) if kb else nullcontext() as known:
            own = register(runner, engine, kb=known, history=turns, folder=folder)
            try:
                found = evaluate(runner, text, steps)
            finally:
                own.close()
                run(engine.aclose())
        failed = any(head_of(atom) == "Error" for result in found for atom in result)
        return [[str(atom) for atom in result] for result in found], failed

    shown, failed = in_child(results)
    lines = [json.dumps(shown, ensure_ascii=False)] if as_json else [f"[{', '.join(result)}]" for result in shown]
    with safe_stdout():
        sys.stdout.write("".join(f"{line}\n" for line in lines))
    return ExitCode.BAD_INPUT if failed else ExitCode.OK
