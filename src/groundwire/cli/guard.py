"""`groundwire guard`: let a model answer, and stop it where its sources contradict it."""

from __future__ import annotations

from contextlib import aclosing
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from groundwire._loop import run
from groundwire.cli.console import ExitCode, InputReader, print_line, safe_stdout
from groundwire.cli.options import Files, History, KnowledgeBase, Model, Provider, command
from groundwire.config import Config
from groundwire.engine import Groundwire
from groundwire.llm import Generator, open_chat_model
from groundwire.reports.json import event_object
from groundwire.streaming.guard import guard as guard_stream
from groundwire.text.controls import json_text, sanitize
from groundwire.types import Risk
from groundwire.types.stream import Context, DoneEvent, InterruptedEvent, StreamEvent, TokenEvent, WarningEvent

_RISK_STYLES = {Risk.LOW: "green", Risk.MEDIUM: "yellow", Risk.HIGH: "red", Risk.CRITICAL: "red"}


@command("backend")
def guard(
    request: Annotated[str, typer.Argument(help="The request that the model answers.")],
    files: Files = None,
    history: History = None,
    kb: KnowledgeBase = None,
    provider: Provider = None,
    model: Model = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object per event.")] = False,
    *,
    config: Config,
    console: Console,
    generator: Generator | None = None,
) -> ExitCode:
    """Let a model answer from files, and stop it where they contradict it. Exit code 1 if it was weak."""
    inputs = InputReader(config, sources=files, history=history)
    sources, turns = inputs.sources(files), inputs.history(history)
    writer = generator or open_chat_model(config, provider, model)
    done: DoneEvent | None = None  # stays None if the reader of the pipe left

    async def answer() -> None:
        nonlocal done
        try:
            async with Groundwire(config) as engine:
                context = Context(tuple(sources), turns, engine.knowledge(kb))
                async with aclosing(guard_stream(writer, request, context, engine=engine)) as events:
                    async for event in events:
                        print_line(console, json_text(event_object(event))) if as_json else _show(console, event)
                        done = event if isinstance(event, DoneEvent) else None
            assert done is not None, "the last event is always the end"
        finally:
            await writer.aclose()

    with safe_stdout():
        run(answer())
    if done is None:
        return ExitCode.OK
    return ExitCode.of(None if done.error else done.risk is not Risk.LOW)


def _show(console: Console, event: StreamEvent) -> None:
    """Show the model's tokens dimmed as they arrive, then the text that the user should read."""
    if isinstance(event, TokenEvent):
        _append(console, event.text, "dim")
    elif isinstance(event, WarningEvent):
        _append(console, f" ⟨{event.warning.note or event.warning.pattern}⟩", "yellow")
    elif isinstance(event, InterruptedEvent):
        _append(console, f" ⟨stopped: {event.reason}⟩", "red")
    elif isinstance(event, DoneEvent):
        _show_end(console, event)


def _append(console: Console, text: str, style: str) -> None:
    console.print(Text(sanitize(text), style=style), end="", soft_wrap=True)


def _show_end(console: Console, done: DoneEvent) -> None:
    if done.generated:
        console.print("\n")
    if done.text:
        print_line(console, f"{done.text}\n")
        parts = (f"risk {done.risk.value}", done.action, f"{len(done.weak_points)} weak points")
        print_line(console, " · ".join(parts), _RISK_STYLES[done.risk])
    if done.error:
        print_line(console, f"groundwire: {done.error}", "yellow")
