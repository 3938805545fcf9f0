"""`groundwire hook`: what a coding assistant runs at the end of a turn.

It reads the assistant's JSON on stdin and compares the last answer with the files and tool results of its
transcript. Only a clear contradiction blocks the turn; what cannot be checked passes, with a line on stderr.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from groundwire._loop import run
from groundwire.actions.judge import check_answer
from groundwire.actions.transcript import TranscriptEvent, ledger_of, read_events
from groundwire.cli.console import stdin_bytes, warn
from groundwire.cli.install import Assistant
from groundwire.cli.options import Backend, ConfigFile, command_app, settings
from groundwire.config import Config
from groundwire.engine import Groundwire
from groundwire.errors import GroundwireError
from groundwire.streaming.protocol import is_clear_contradiction
from groundwire.traces.steps import from_events
from groundwire.types import ActionStatus, ActionVerdict

app = command_app()
_CLEAR = (ActionStatus.FAILED, ActionStatus.CONTRADICTED)
_MAX_SOURCE_CHARS = 200_000  # of the tool results of a turn: the hook must answer within seconds


@app.command()
def hook(
    assistant: Annotated[
        Assistant, typer.Option("--for", help="The assistant whose form of answer to print.")
    ] = Assistant.CLAUDE_CODE,
    backend: Backend = None,
    config: ConfigFile = None,
) -> None:
    """Compare the last answer of a coding assistant with its tool results. Reads the hook's JSON on stdin."""
    try:
        payload = json.loads(stdin_bytes().read() or b"{}")
        found = judge_turn(payload, settings(config, backend)) if isinstance(payload, dict) else ""
    except (GroundwireError, OSError, ValueError) as error:
        warn(f"not checked: {error}")
        found = ""
    print(json.dumps(_answer(assistant, found), ensure_ascii=False) if found else "{}")


def _answer(assistant: Assistant, reason: str) -> dict[str, str]:
    if assistant is Assistant.CURSOR:
        return {"followup_message": reason}
    return {"decision": "deny" if assistant is Assistant.GEMINI else "block", "reason": reason}


def judge_turn(payload: dict[str, Any], config: Config) -> str:
    """The reason to block the turn; empty if there is none. A turn that was blocked once passes."""
    path = payload.get("transcript_path") or payload.get("transcriptPath")
    if payload.get("stop_hook_active") or payload.get("loop_count") or not isinstance(path, str):
        return ""
    events = read_events(_lines(Path(path).expanduser().read_text(encoding="utf-8", errors="replace")))
    answer = str(payload.get("last_assistant_message") or from_events(events).answer)
    if not answer.strip():
        return ""
    actions = [action for action in check_answer(answer, ledger_of(events)) if action.status in _CLEAR]
    wrong = [*map(_action_line, actions), *_contradictions(answer, events, config)]
    head = "groundwire: the answer contradicts tool results of this conversation. Correct it, or do the work:"
    return "\n".join((head, *wrong)) if wrong else ""


def _lines(text: str) -> Iterator[object]:
    """The entries of a transcript: one JSON object, or one per line. A line cut off at the end is skipped."""
    try:
        data = json.loads(text)
    except ValueError:
        for line in text.splitlines():
            try:
                yield json.loads(line)
            except ValueError:
                continue
        return
    held = data.get("messages") if isinstance(data, dict) else data
    yield from held if isinstance(held, list) else [data]


def _action_line(action: ActionVerdict) -> str:
    return f"- “{action.text}”: {action.status}; {action.reason}"


def _contradictions(answer: str, events: list[TranscriptEvent], config: Config) -> list[str]:
    """The claims of the answer that a tool result of the turn denies."""
    sources: dict[str, str] = {}
    for name, text in reversed(from_events(events).sources.items()):
        if sum(map(len, sources.values())) + len(text) <= _MAX_SOURCE_CHARS:
            sources[name] = text
    if not sources:
        return []
    engine = Groundwire(config)
    try:
        report = run(engine.check(answer, sources))
    finally:
        run(engine.aclose())
    clear = config.realtime.interrupt_threshold
    denied = [claim for claim in report.claims if is_clear_contradiction(claim, clear)]
    return [f"- “{claim.text}”: {claim.reason}" for claim in denied]
