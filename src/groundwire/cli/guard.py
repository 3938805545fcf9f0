"""`groundwire guard`: let a model answer, and stop it where its sources contradict it."""

from __future__ import annotations

from contextlib import aclosing
from dataclasses import dataclass
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from groundwire._loop import run
from groundwire.cli.console import ExitCode, open_console, safe_stdout, stdin_bytes
from groundwire.cli.options import (
    Backend,
    ConfigFile,
    Files,
    History,
    KnowledgeBase,
    Model,
    Provider,
    command_app,
    settings,
)
from groundwire.config import Config
from groundwire.engine import Groundwire
from groundwire.errors import InputError
from groundwire.llm import Generator, open_chat_model
from groundwire.reports.json import event_object
from groundwire.retrieval.history import parse_history
from groundwire.retrieval.load import load_answer, load_sources
from groundwire.streaming.guard import guard as guard_stream
from groundwire.text.controls import json_text, sanitize
from groundwire.types import Risk
from groundwire.types.stream import Context, DoneEvent, InterruptedEvent, StreamEvent, TokenEvent, WarningEvent

app = command_app()
_RISK_STYLES = {Risk.LOW: "green", Risk.MEDIUM: "yellow", Risk.HIGH: "red", Risk.CRITICAL: "red"}


@app.command()
def guard(
    request: Annotated[str, typer.Argument(help="The request that the model answers.")],
    files: Files = None,
    history: History = None,
    kb: KnowledgeBase = None,
    provider: Provider = None,
    model: Model = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object per event.")] = False,
    backend: Backend = None,
    config: ConfigFile = None,
) -> None:
    """Let a model answer from files, and stop it where they contradict it. Exit code 1 if it was weak."""
    args = GuardArgs(request, tuple(files or ()), history, kb, provider, model, as_json)
    raise typer.Exit(run_guard(args, settings(config, backend), open_console()))


@dataclass(frozen=True, slots=True)
class GuardArgs:
    request: str
    files: tuple[str, ...] = ()
    history: str | None = None
    kb: str | None = None
    provider: str | None = None
    model: str | None = None
    as_json: bool = False


def run_guard(args: GuardArgs, config: Config, console: Console, generator: Generator | None = None) -> ExitCode:
    """Exit code 1 if a part of the answer was weak, 3 if the model failed. `generator` is for tests."""
    if [*args.files, args.history].count("-") > 1:
        raise InputError("only one of sources and history can be read from stdin")
    model = generator or open_chat_model(config, args.provider, args.model)
    ends: list[DoneEvent] = []
    with safe_stdout():
        ends.append(run(_guarded(args, config, console, model)))
    return _exit_code(ends[0]) if ends else ExitCode.OK  # empty if the reader of the pipe left


def _exit_code(done: DoneEvent) -> ExitCode:
    return ExitCode.of(None if done.error else done.risk is not Risk.LOW)


async def _guarded(args: GuardArgs, config: Config, console: Console, model: Generator) -> DoneEvent:
    limit = config.limits.max_source_bytes
    sources = load_sources(args.files, stdin=stdin_bytes(), max_bytes=limit) if args.files else []
    text = load_answer(args.history, stdin=stdin_bytes(), max_bytes=limit) if args.history else ""
    history = parse_history(text) if text else ()
    last: StreamEvent | None = None
    try:
        async with Groundwire(config) as engine:
            context = Context(tuple(sources), history, engine.knowledge(args.kb))
            events = guard_stream(model, args.request, context, engine=engine)
            async with aclosing(events):
                async for event in events:
                    _show_json(console, event) if args.as_json else _show(console, event)
                    last = event
    finally:
        await model.aclose()
    assert isinstance(last, DoneEvent)
    return last


def _show_json(console: Console, event: StreamEvent) -> None:
    line = json_text(event_object(event))
    console.print(line, markup=False, highlight=False, soft_wrap=True)


def _show(console: Console, event: StreamEvent) -> None:
    """Show the model's tokens dimmed as they arrive, then the text that the user should read."""
    if isinstance(event, TokenEvent):
        console.print(Text(sanitize(event.text), style="dim"), end="", soft_wrap=True)
    elif isinstance(event, WarningEvent):
        note = event.warning.note or event.warning.pattern
        console.print(Text(f" ⟨{sanitize(note)}⟩", style="yellow"), end="", soft_wrap=True)
    elif isinstance(event, InterruptedEvent):
        console.print(Text(f" ⟨stopped: {sanitize(event.reason)}⟩", style="red"), end="", soft_wrap=True)
    elif isinstance(event, DoneEvent):
        _show_end(console, event)


def _show_end(console: Console, done: DoneEvent) -> None:
    if done.generated:
        console.print("\n")
    if done.text:
        console.print(Text(sanitize(done.text)), soft_wrap=True)
        console.print()
        parts = [f"risk {done.risk.value}", done.action, f"{len(done.weak_points)} weak points"]
        console.print(Text(" · ".join(parts), style=_RISK_STYLES[done.risk]), soft_wrap=True)
    if done.error:
        console.print(Text(f"groundwire: {sanitize(done.error)}", style="yellow"), soft_wrap=True)
