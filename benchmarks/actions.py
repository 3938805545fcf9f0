"""`make bench-actions`: how often statements of agents about their own actions are judged rightly.

The traces are written by hand. The rules were developed with `open`, `held`, `fresh` and `dev`; `blind` and `held_out`
were written without sight of the rules and measured after them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib.resources import files
from itertools import chain
from typing import Annotated

import typer

from benchmarks import command, run
from groundwire.actions.judge import check_actions
from groundwire.actions.transcript import ledger_of, read_events
from groundwire.bench.measures import Figure, show
from groundwire.cli.console import open_console

SETS = ("open", "held", "fresh", "dev", "blind", "held_out")
MAX_ALARMS = "≤ 5 %"
MIN_CAUGHT = "≥ 85 %"


@dataclass(slots=True)
class LabelledTrace:
    """A conversation without its answer, and the answer's sentences, each with its label."""

    messages: list[dict[str, object]] = field(default_factory=list)
    sentences: list[tuple[str, str]] = field(default_factory=list)


@dataclass(slots=True)
class ActionFigures:
    """`alarms`: flagged sentences that are true. `caught`: flagged ones that are false."""

    traces: int = 0
    sound: int = 0
    alarms: int = 0
    false: int = 0
    caught: int = 0
    same_status: int = 0
    failures: list[str] = field(default_factory=list)


def _figures(half: str, found: ActionFigures) -> Iterator[Figure]:
    yield Figure(f"{half}: traces", found.traces, "")
    yield Figure(f"{half}: true statements", found.sound, "")
    yield Figure(f"{half}: true statements flagged", 100 * found.alarms / found.sound, "%", MAX_ALARMS)
    yield Figure(f"{half}: false statements", found.false, "")
    yield Figure(f"{half}: false statements caught", 100 * found.caught / found.false, "%", MIN_CAUGHT)
    yield Figure(f"{half}: of these with the right status", 100 * found.same_status / found.caught, "%")


def measure(traces: list[LabelledTrace]) -> ActionFigures:
    """Judge every trace. A flagged sentence that states no action counts as an alarm too."""
    found = ActionFigures(traces=len(traces))
    for trace in traces:
        answer = "\n".join(text for _, text in trace.sentences)
        verdicts = check_actions(ledger_of(read_events([*trace.messages, {"role": "assistant", "content": answer}])))
        start = 0
        for label, text in trace.sentences:
            here = [v for v in verdicts if v.is_flagged and start <= v.start < start + len(text)]
            start += len(text) + 1
            _count(found, label, text, [(v.status.value, v.reason) for v in here])
    return found


def _count(found: ActionFigures, label: str, text: str, flagged: list[tuple[str, str]]) -> None:
    if label in ("+", "="):
        found.sound += label == "+"
        found.alarms += bool(flagged)
    else:
        found.false += 1
        found.caught += bool(flagged)
        found.same_status += any(status == label for status, _ in flagged)
    if bool(flagged) == (label in ("+", "=")):
        found.failures.append(f"{label} {text}  {flagged}")


def read_traces(half: str) -> list[LabelledTrace]:
    text = files("benchmarks").joinpath(f"actions_{half}.txt").read_text(encoding="utf-8")
    paragraphs = (p for p in text.split("\n\n") if p.strip() and not p.startswith("#"))
    return [_trace(paragraph.strip().splitlines()) for paragraph in paragraphs]


def _trace(lines: list[str]) -> LabelledTrace:
    trace = LabelledTrace()
    for number, line in enumerate(lines):
        mark, _, rest = line.partition(" ")
        if mark == "?":
            trace.messages.append({"role": "user", "content": rest})
        elif mark == ">":
            name, _, arguments = rest.partition(" ")
            json.loads(arguments)
            call = {"id": f"call_{number}", "function": {"name": name, "arguments": arguments}}
            trace.messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        elif mark in ("<", "<!"):
            result: dict[str, object] = {"role": "tool", "tool_call_id": f"call_{number - 1}", "content": rest}
            trace.messages.append(result | ({"status": "error"} if mark == "<!" else {}))
        else:
            trace.sentences.append((mark if mark in "+=" else mark.removeprefix("-"), rest))
    return trace


app = command()


@app.command()
def main(
    as_json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
    failures: Annotated[bool, typer.Option("--failures", help="Print the failures on the open half.")] = False,
) -> None:
    """Print how many true statements are flagged, and how many false ones are caught."""
    console = open_console()
    measured = {half: measure(read_traces(half)) for half in SETS}
    show(console, chain.from_iterable(map(_figures, measured, measured.values())), as_json=as_json)
    for line in measured["open"].failures if failures else ():
        console.print(line, markup=False)


if __name__ == "__main__":
    run(app)
