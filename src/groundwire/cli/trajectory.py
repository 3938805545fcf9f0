"""`groundwire trajectory`: what runs of the orchestrator did, step by step, and what they come to."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

from rich.console import Console
from rich.text import Text

from groundwire.agent.trajectory import (
    Analysis,
    Event,
    Json,
    Kind,
    Trajectory,
    analyse,
    claims_of,
    last_verdict,
    read_trajectory,
)
from groundwire.cli.streams import delivered
from groundwire.errors import InputError
from groundwire.reports.plaintext import sanitize

FINE, FLAGGED, COULD_NOT_CHECK = 0, 1, 3
_TEXT_CHARS = 2000
_HEAD = 13
"""Columns for what kind of event a line is; the rest hangs beside it."""


def run_trajectory(path: Path, console: Console, *, as_json: bool = False) -> int:
    found = read_trajectory(path)
    if not found.events and not found.damaged:
        raise InputError(f"{path} is empty", hint="name the file that a run wrote")
    with delivered():
        if as_json:
            sys.stdout.write(json.dumps(to_object(found), indent=2, ensure_ascii=False) + "\n")
        else:
            show(found, console)
    return exit_code(found)


def exit_code(found: Trajectory) -> int:
    """As `groundwire check` has it, over the last answer of every run."""
    verdicts = [last_verdict(events) for events in found.runs().values()]
    if any(verdicts):
        return FLAGGED
    return COULD_NOT_CHECK if None in verdicts else FINE


def to_object(found: Trajectory) -> dict[str, Json]:
    analysis = analyse(found)
    shares: dict[str, Json] = {
        "flagged_share": analysis.flagged_share,
        "retried_share": analysis.retried_share,
        "seconds_share": analysis.seconds_share,
        "tokens_share": analysis.tokens_share,
    }
    events: list[Json] = [json.loads(event.to_json()) for event in found.events]
    return {"analysis": {**asdict(analysis), **shares}, "damaged_lines": found.damaged, "events": events}


def show(found: Trajectory, console: Console) -> None:
    for run, events in found.runs().items():
        console.print(Text(f"run {sanitize(run)}", style="bold"))
        for event in events:
            _show(event, console)
        if not any(event.kind is Kind.END and event.depth == 0 for event in events):
            console.print(Text("  cut off: the run did not come to its end", style="yellow"))
        console.print()
    if found.damaged:
        console.print(
            Text(f"{found.damaged} unreadable {_plural(found.damaged, 'line')} passed over", style="yellow")
        )
    console.print(_summary(analyse(found)))


def _show(event: Event, console: Console) -> None:
    shown = _SHOWN[event.kind](event)
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
    text = Text(f"{'verification':<13}", style="bold red" if failed else "bold green").append(head)
    if error:
        text.append(f" · {_text(event, 'error')}", style="yellow")
    uncertain = event.data.get("uncertain")
    for claim in claims:
        bad = claim.get("flagged") is True or (isinstance(uncertain, list) and claim.get("id") in uncertain)
        text.append(f"\n{_figures(claim)}  ", style="red" if bad else "green")
        text.append(sanitize(str(claim.get("text", "")))[:300])
        if bad:
            text.append(f"\n  {sanitize(str(claim.get('reason', '')))[:300]}", style="red")
    return text


def _audit(event: Event) -> Text:
    """How the way to the answer stands up: the steps that do not, and whether they lead there."""
    found, steps = event.data.get("post_hoc"), event.data.get("steps")
    flagged = event.data.get("flagged")
    told = [step for step in steps if isinstance(step, dict)] if isinstance(steps, list) else []
    text = Text(f"{'audit':<13}", style="bold red" if flagged else "bold green")
    text.append(f"{len(told)} steps")
    if isinstance(found, dict):
        outcome, reason = (sanitize(str(found.get(key, ""))) for key in ("outcome", "reason"))
        text.append(f" · answer {outcome}: {reason[:300]}")
    if event.data.get("error"):
        text.append(f" · {_text(event, 'error')}", style="yellow")
    for step in told:
        if step.get("flagged") is True:
            text.append(f"\n{_figures(step)}  {sanitize(str(step.get('text', '')))[:300]}", style="red")
    return text


def _output_check(event: Event) -> Text:
    """What the answer looked like on its way to the user; why it was not looked at, where it was not."""
    flagged = event.data.get("flagged")
    text = Text(f"{'output check':<{_HEAD}}", style="bold red" if flagged else "bold green")
    text.append(_text(event, "status"))
    for key in ("reason", "feedback"):
        if event.data.get(key):
            text.append(f"\n{_text(event, key)}", style="red" if flagged else "dim")
    return text


def _figures(claim: dict[str, Json]) -> str:
    gap = claim.get("budget_gap")
    bits = f"gap {gap:+.1f} bits" if isinstance(gap, int | float) else ""
    return f"{sanitize(str(claim.get('status', ''))):<14} {bits:<13}"


def _cost(event: Event) -> Text:
    share = event.data.get("share")
    shares = share if isinstance(share, dict) else {}
    shown = [
        f"{100 * value:.1f} % of its {key}"
        for key, value in shares.items()
        if isinstance(value, float) and value
    ]
    text = Text(f"{'cost':<13}", style="dim")
    parts = [f"{word} {_usage(event.data.get(part))}" for part, word in _PARTS.items()]
    beside = f" ({', '.join(shown)})" if shown else ""
    return text.append(" · ".join(parts) + beside)


_PARTS = {"base": "answer", "verification": "verification"}


def _usage(usage: Json) -> str:
    held = usage if isinstance(usage, dict) else {}
    numbers = {key: value for key, value in held.items() if isinstance(value, int | float)}
    tokens = int(numbers.get("prompt_tokens", 0) + numbers.get("completion_tokens", 0))
    calls = int(numbers.get("calls", 0))
    return f"{calls} {_plural(calls, 'call')}, {tokens:,} tokens, {numbers.get('seconds', 0.0):.1f} s"


def _end(event: Event) -> Text | None:
    return (
        Text(f"{'failed':<13}", style="bold red").append(_text(event, "error"))
        if event.data.get("error")
        else None
    )


_SHOWN: dict[Kind, Callable[[Event], Text | None]] = {
    Kind.QUERY: _line("question", "bold", "query"),
    Kind.TOKEN: lambda _: None,
    Kind.MODEL: lambda _: None,
    Kind.CODE: _line("code", "cyan", "code"),
    Kind.OUTPUT: _line("output", "cyan", "text", "dim"),
    Kind.ANSWER: _line("answer", "bold", "text"),
    Kind.SKIPPED: _line("not verified", "dim", "reason", "dim"),
    Kind.VERIFICATION: _verification,
    Kind.AUDIT: _audit,
    Kind.OUTPUT_CHECK: _output_check,
    Kind.RETRY: _line("retry", "yellow", "guidance", "dim"),
    Kind.ASK: _line("asked", "yellow", "question"),
    Kind.STOPPED: _line("stopped", "yellow", "reason"),
    Kind.COST: _cost,
    Kind.END: _end,
}


def _summary(analysis: Analysis) -> Text:
    parts = [
        f"{analysis.runs} {_plural(analysis.runs, 'run')}",
        f"{analysis.flagged} of {analysis.claims} claims flagged{_share(analysis.flagged_share)}",
        f"{analysis.retries} {_plural(analysis.retries, 'retry', 'retries')}",
        f"{analysis.skipped} not verified",
    ]
    if analysis.failed or analysis.unchecked:
        parts.append(f"{analysis.failed} failed, {analysis.unchecked} could not be checked")
    if analysis.seconds_share is not None:
        parts.append(f"verification {100 * analysis.seconds_share:.1f} % of the time")
    if analysis.verification_tokens and analysis.tokens_share is not None:
        parts.append(f"{100 * analysis.tokens_share:.1f} % of the tokens")
    return Text(" · ".join(parts), style="bold")


def _share(share: float | None) -> str:
    return "" if share is None else f" ({100 * share:.0f} %)"


def _plural(count: int, one: str, many: str = "") -> str:
    return one if count == 1 else many or f"{one}s"
