"""`groundwire chat`: a conversation whose answers are verified."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from groundwire.agent.trajectory import Recorder
from groundwire.cli.chat_commands import COMMANDS, obey
from groundwire.cli.lines import Read, is_interactive, piped, typed
from groundwire.cli.models import STRONGER, is_local, open_writer
from groundwire.cli.streams import delivered, stdin_bytes
from groundwire.cli.talk import Talk, attempted
from groundwire.config import Config
from groundwire.engine import Groundwire
from groundwire.errors import InputError
from groundwire.llm import Generator
from groundwire.retrieval.load import load_sources

PROMPT = "> "


@dataclass(frozen=True, slots=True)
class Request:
    files: tuple[str, ...] = ()
    question: str | None = None
    provider: str | None = None
    model: str | None = None
    kb: str | None = None
    simple: bool = False
    trajectory: Path | None = None


def run_chat(request: Request, config: Config, console: Console, generator: Generator | None = None) -> int:
    """Talk until the end of input; one question alone where it is given. `generator` is for tests."""
    if "-" in request.files and request.question is None:
        raise InputError("standard input cannot hold both a source and the questions", hint="give -q")
    writer = generator or open_writer(config, request.provider, request.model)
    talk = Talk(config, Groundwire(config), writer, console, simple=request.simple)
    interactive = request.question is None and is_interactive()
    try:
        with (
            delivered(),
            Recorder(request.trajectory) if request.trajectory else nullcontext() as talk.record,
        ):
            _prepare(talk, request)
            if request.question is not None:
                talk.ask(request.question)
            else:
                _greet(talk, interactive)
                converse(talk, typed(config, "chat", _completed) if interactive else _piped(console))
    finally:
        talk.close()
    return 0 if interactive else talk.worst


def with_verification(config: Config, mode: str | None, on_failure: str | None) -> Config:
    """The configuration with what the command line says about verification."""
    given = {"mode": mode, "on_failure": on_failure}
    changes = {name: value for name, value in given.items() if value is not None}
    return config.changed(verification={**config.verification.model_dump(), **changes}) if changes else config


def converse(talk: Talk, read: Read) -> None:
    """A line is a command or a question. An interrupt stops what is under way, and nothing else."""
    while not talk.ended:
        try:
            line = read(PROMPT)
            if line is None:
                return
            _take(talk, line.strip())
        except KeyboardInterrupt:
            talk.say("stopped")


def _take(talk: Talk, line: str) -> None:
    if line.startswith("//"):
        attempted(talk, line[1:])
    elif line.startswith("/"):
        obey(talk, line)
    elif line:
        attempted(talk, line)
    if line:
        talk.console.print()


def _prepare(talk: Talk, request: Request) -> None:
    if request.files:
        limit = talk.config.limits.max_source_bytes
        talk.add(load_sources(request.files, stdin=stdin_bytes(), max_bytes=limit, report=talk.say))
    if request.kb is not None:
        obey(talk, f"/kb {request.kb}")


def _greet(talk: Talk, interactive: bool) -> None:
    if not interactive:
        return
    count = len(talk.sources)
    about = f"{count} source{'' if count == 1 else 's'}" if count else "no sources: /sources FILE adds one"
    talk.say(f"{talk.generator.name} · {about} · /help")
    if is_local(talk.generator):
        talk.say(f"it is small, for trying things out; {STRONGER}")
    talk.console.print()


def _piped(console: Console) -> Read:
    return piped(sys.stdin, lambda line: console.print(line, markup=False, highlight=False, soft_wrap=True))


def _completed(begun: str) -> list[str]:
    """The commands a line may become; nothing where it is no command."""
    return [name for name in (f"/{command}" for command in COMMANDS) if begun and name.startswith(begun)]
