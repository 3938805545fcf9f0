"""`groundwire guard`: a question answered by a model under watch."""

from __future__ import annotations

import json
from contextlib import aclosing
from dataclasses import dataclass

from rich.console import Console
from rich.text import Text

from groundwire._loop import run
from groundwire.cli.models import open_writer
from groundwire.cli.streams import delivered, stdin_bytes
from groundwire.config import Config
from groundwire.engine import Groundwire
from groundwire.errors import InputError
from groundwire.llm import Generator
from groundwire.reports.json import event_object
from groundwire.reports.plaintext import sanitize
from groundwire.retrieval.history import parse_history
from groundwire.retrieval.load import load_answer, load_sources
from groundwire.types import Risk
from groundwire.types.realtime import (
    DoneEvent,
    InterruptedEvent,
    StreamEvent,
    TokenEvent,
    WarningEvent,
)

FINE, FLAGGED, FAILED = 0, 1, 3
_STYLES = {Risk.LOW: "green", Risk.MEDIUM: "yellow", Risk.HIGH: "red", Risk.CRITICAL: "red"}


@dataclass(frozen=True, slots=True)
class Request:
    request: str
    files: tuple[str, ...] = ()
    history: str | None = None
    kb: str | None = None
    provider: str | None = None
    model: str | None = None
    as_json: bool = False


def run_guard(asked: Request, config: Config, console: Console, generator: Generator | None = None) -> int:
    """0 where the answer may stand, 1 where something was weak, 3 where the model failed. `generator` is for
    tests.
    """
    if [*asked.files, asked.history].count("-") > 1:
        raise InputError("only one of sources and history can be read from stdin")
    writer = generator or open_writer(config, asked.provider, asked.model)
    ends: list[DoneEvent] = []
    with delivered():
        ends.append(run(_guarded(asked, config, console, writer)))
    return _code(ends[0]) if ends else FINE  # none: whoever read it has left


def _code(done: DoneEvent) -> int:
    return FAILED if done.error else FINE if done.risk is Risk.LOW else FLAGGED


async def _guarded(asked: Request, config: Config, console: Console, writer: Generator) -> DoneEvent:
    limit = config.limits.max_source_bytes
    sources = load_sources(asked.files, stdin=stdin_bytes(), max_bytes=limit) if asked.files else []
    said = load_answer(asked.history, stdin=stdin_bytes(), max_bytes=limit) if asked.history else ""
    history = parse_history(said) if said else ()
    last: StreamEvent | None = None
    try:
        async with Groundwire(config) as engine:
            events = engine.guard(writer, asked.request, sources, history=history, kb=asked.kb)
            async with aclosing(events):
                async for event in events:
                    _show_json(console, event) if asked.as_json else _show(console, event)
                    last = event
    finally:
        await writer.aclose()
    assert isinstance(last, DoneEvent)
    return last


def _show_json(console: Console, event: StreamEvent) -> None:
    line = json.dumps(event_object(event), ensure_ascii=False)
    console.print(line, markup=False, highlight=False, soft_wrap=True)


def _show(console: Console, event: StreamEvent) -> None:
    """The model's words dimmed as they come, then what the user should read."""
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
        console.print(Text(" · ".join(parts), style=_STYLES[done.risk]), soft_wrap=True)
    if done.error:  # and where nothing was said there is no risk to tell of either
        console.print(Text(f"groundwire: {sanitize(done.error)}", style="yellow"), soft_wrap=True)
