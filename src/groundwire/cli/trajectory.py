"""`groundwire trajectory`: show what runs of the orchestrator did, step by step, with a summary."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from groundwire.agent.trajectory import (
    Event,
    EventKind,
    Json,
    Trajectory,
    TrajectoryStats,
    analyse,
    claims_of,
    last_verdict,
    read_trajectory,
)
from groundwire.cli.console import ExitCode, print_result
from groundwire.cli.options import AsJson, command
from groundwire.errors import InputError
from groundwire.reports.plaintext import counted, percent
from groundwire.text.controls import sanitize
from groundwire.types import Status

_TEXT_CHARS = 2000
"""Characters shown of the text of an event."""
_CLAIM_CHARS = 300
"""Characters shown of a claim or a reason."""
_HEAD = 13
"""Columns for the kind of the event; its text is indented beyond them."""


@command()
def trajectory(
    file: Annotated[Path, typer.Argument(help="The JSON lines a run wrote.")],
    as_json: AsJson = False,
    *,
    console: Console,
) -> ExitCode:
    """Show what runs of the orchestrator did and verified. Exit code 1 if an answer was flagged."""
    found = read_trajectory(file)
    if not found.events and not found.damaged:
        raise InputError(f"{file} is empty", hint="give a file that a run wrote")
    print_result(as_json, trajectory_object(found), lambda: show_trajectory(found, console))
    verdicts = [last_verdict(events) for events in found.runs().values()]
    return ExitCode.of(True if any(verdicts) else None if None in verdicts else False)


def trajectory_object(found: Trajectory) -> dict[str, Json]:
    analysis = analyse(found)
    shares = {
        f"{name}_share": getattr(analysis, f"{name}_share") for name in ("flagged", "retried", "seconds", "tokens")
    }
    events: list[Json] = [json.loads(event.to_json()) for event in found.events]
    return {"analysis": {**asdict(analysis), **shares}, "damaged_lines": found.damaged, "events": events}


def show_trajectory(found: Trajectory, console: Console) -> None:
    for run, events in found.runs().items():
        console.print(Text(f"run {sanitize(run)}", style="bold"))
        for event in events:
            _show(event, console)
        if not any(event.kind is EventKind.END and event.depth == 0 for event in events):
            console.print(Text("  cut off: the run did not finish", style="yellow"))
        console.print()
    if found.damaged:
        console.print(Text(f"{counted(found.damaged, 'unreadable line')} skipped", style="yellow"))
    console.print(_summary(analyse(found)))


def _show(event: Event, console: Console) -> None:
    shown = _EVENT_LINES[event.kind](event)
    if shown is None:
        return
    indent = " " * (2 + 4 * min(event.depth, 8))
    head, body = shown[:_HEAD], shown[_HEAD:]
    for line in body.wrap(console, max(20, console.width - len(indent) - _HEAD)):
        line.rstrip()
        console.print(Text(indent).append_text(head).append_text(line), soft_wrap=True)
        head = Text(" " * _HEAD)


def _text(event: Event, key: str) -> str:
    value = event.data.get(key)
    text = sanitize(value) if isinstance(value, str) else "" if value is None else sanitize(str(value))
    return text if len(text) <= _TEXT_CHARS else f"{text[:_TEXT_CHARS]}…"


def _line(head: str, style: str, key: str, body: str = "") -> Callable[[Event], Text | None]:
    def line(event: Event) -> Text:
        return Text(f"{head:<{_HEAD}}", style=style).append(_text(event, key).rstrip(), style=body)

    return line


def _verification(event: Event) -> Text:
    failed, error = event.data.get("failed") is True, event.data.get("error")
    claims = claims_of(event)
    head = f"{len(claims)} verified, mode {_text(event, 'mode')}"
    text = Text(f"{'verification':<{_HEAD}}", style="bold red" if failed else "bold green").append(head)
    if error:
        text.append(f" · {_text(event, 'error')}", style="yellow")
    uncertain = event.data.get("uncertain")
    for claim in claims:
        bad = claim.get("flagged") is True or (isinstance(uncertain, list) and claim.get("id") in uncertain)
        text.append(f"\n{_figures(claim)}  ", style="red" if bad else "green")
        text.append(sanitize(str(claim.get("text", "")))[:_CLAIM_CHARS])
        if bad:
            text.append(f"\n  {sanitize(str(claim.get('reason', '')))[:_CLAIM_CHARS]}", style="red")
    return text


def _audit(event: Event) -> Text:
    """The audit of the steps: those that failed, and whether the answer follows from them."""
    found, steps = event.data.get("post_hoc"), event.data.get("steps")
    flagged = event.data.get("flagged")
    found_steps = [step for step in steps if isinstance(step, dict)] if isinstance(steps, list) else []
    text = Text(f"{'audit':<{_HEAD}}", style="bold red" if flagged else "bold green")
    text.append(f"{len(found_steps)} steps")
    if isinstance(found, dict):
        outcome, reason = (sanitize(str(found.get(key, ""))) for key in ("outcome", "reason"))
        text.append(f" · answer {outcome}: {reason[:_CLAIM_CHARS]}")
    if event.data.get("error"):
        text.append(f" · {_text(event, 'error')}", style="yellow")
    for step in found_steps:
        if step.get("flagged") is True:
            text.append(f"\n{_figures(step)}  {sanitize(str(step.get('text', '')))[:_CLAIM_CHARS]}", style="red")
    return text


def _output_check(event: Event) -> Text:
    """The check of the answer before it reached the user, or why it was not checked."""
    flagged = event.data.get("flagged")
    text = Text(f"{'output check':<{_HEAD}}", style="bold red" if flagged else "bold green")
    text.append(_text(event, "status"))
    for key in ("reason", "feedback"):
        if event.data.get(key):
            text.append(f"\n{_text(event, key)}", style="red" if flagged else "dim")
    return text


def _figures(claim: dict[str, Json]) -> str:
    """The verdict in words and how likely the claim is supported; a file of another release may lack them."""
    status, p1 = str(claim.get("status", "")), claim.get("p1")
    verdict = Status(status).words if status in Status.__members__ else sanitize(status)
    return f"{verdict:<20} {percent(p1 if isinstance(p1, int | float) else None):>5}"


def _cost(event: Event) -> Text:
    share = event.data.get("share")
    shares = share if isinstance(share, dict) else {}
    shown = [f"{100 * value:.1f} % of its {key}" for key, value in shares.items() if isinstance(value, float) and value]
    base, verification = (_usage(event.data.get(part)) for part in ("base", "verification"))
    beside = f" ({', '.join(shown)})" if shown else ""
    text = Text(f"{'cost':<{_HEAD}}", style="dim")
    return text.append(f"answer {base} · verification {verification}{beside}")


def _usage(usage: Json) -> str:
    fields = usage if isinstance(usage, dict) else {}
    numbers = {key: value for key, value in fields.items() if isinstance(value, int | float)}
    tokens = int(numbers.get("prompt_tokens", 0) + numbers.get("completion_tokens", 0))
    calls = int(numbers.get("calls", 0))
    return f"{counted(calls, 'call')}, {tokens:,} tokens, {numbers.get('seconds', 0.0):.1f} s"


_EVENT_LINES: dict[EventKind, Callable[[Event], Text | None]] = {
    EventKind.QUERY: _line("question", "bold", "query"),
    EventKind.TOKEN: lambda _: None,
    EventKind.MODEL: lambda _: None,
    EventKind.CODE: _line("code", "cyan", "code"),
    EventKind.OUTPUT: _line("output", "cyan", "text", "dim"),
    EventKind.ANSWER: _line("answer", "bold", "text"),
    EventKind.SKIPPED: _line("not verified", "dim", "reason", "dim"),
    EventKind.VERIFICATION: _verification,
    EventKind.AUDIT: _audit,
    EventKind.OUTPUT_CHECK: _output_check,
    EventKind.RETRY: _line("retry", "yellow", "guidance", "dim"),
    EventKind.ASK: _line("asked", "yellow", "question"),
    EventKind.STOPPED: _line("stopped", "yellow", "reason"),
    EventKind.COST: _cost,
    EventKind.END: lambda event: _line("failed", "bold red", "error")(event) if event.data.get("error") else None,
}


def _summary(analysis: TrajectoryStats) -> Text:
    share = "" if analysis.flagged_share is None else f" ({100 * analysis.flagged_share:.0f} %)"
    parts = [
        counted(analysis.runs, "run"),
        f"{analysis.flagged} of {analysis.claims} claims flagged{share}",
        counted(analysis.retries, "retry", "retries"),
        f"{analysis.skipped} not verified",
    ]
    if analysis.failed or analysis.unchecked:
        parts.append(f"{analysis.failed} failed, {analysis.unchecked} could not be checked")
    if analysis.seconds_share is not None:
        parts.append(f"verification {100 * analysis.seconds_share:.1f} % of the time")
    if analysis.verification_tokens and analysis.tokens_share is not None:
        parts.append(f"{100 * analysis.tokens_share:.1f} % of the tokens")
    return Text(" · ".join(parts), style="bold")
