"""Statements of agents about their own actions, with the ledger of their calls as the window.

python -m training.traces   # writes the pool grounded.traces, prints its labels and word overlap

Traces: `traces/*.txt`, and the sets of `benchmarks/` that the rules for actions were developed with. Its sets `blind`
and `held_out` are never trained on.
"""

from __future__ import annotations

import random
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from training.grounded import TOKEN_LIMIT
from training.ledger_text import ledger_window
from training.pairs import CONTRADICTION, ENTAILMENT, NEUTRAL, Pair, save
from training.pools_short import describe

from groundwire.types import CallRecord

TRACES = Path(__file__).resolve().parent / "traces"
DEVELOPED_WITH = ("open", "held", "fresh", "dev")
LABELS = {"+": ENTAILMENT, "-unperformed": NEUTRAL, "-failed": CONTRADICTION, "-contradicted": CONTRADICTION}
OTHER_LEDGER = 0.08
"""Share of statements that are also read over another trace's ledger, which did nothing of the kind."""


@dataclass(slots=True)
class Trace:
    """The calls of a conversation and the sentences of the answer, each with its mark."""

    request: str = ""
    calls: list[CallRecord] = field(default_factory=list)
    sentences: list[tuple[str, str]] = field(default_factory=list)


def traces_of(path: Path) -> Iterator[Trace]:
    for paragraph in path.read_text(encoding="utf-8").split("\n\n"):
        if paragraph.strip() and not paragraph.startswith("#"):
            yield _trace(paragraph.strip().splitlines())


def _trace(lines: list[str]) -> Trace:
    trace = Trace()
    for line in lines:
        mark, _, rest = line.partition(" ")
        if mark == "?":
            trace.request = rest
        elif mark == ">":
            name, _, arguments = rest.partition(" ")
            trace.calls.append(CallRecord(name, arguments))
        elif mark in ("<", "<!"):
            called = trace.calls.pop()
            trace.calls.append(CallRecord(called.name, called.arguments, rest, mark == "<!" or None))
        else:
            trace.sentences.append((mark, rest))
    return trace


def all_traces() -> list[Trace]:
    root = TRACES.parent.parent
    paths = [*sorted(TRACES.glob("*.txt")), *(root / "benchmarks" / f"actions_{name}.txt" for name in DEVELOPED_WITH)]
    return [trace for path in paths for trace in traces_of(path)]


def for_calibration(trace: Trace) -> bool:
    """A fifth of the requests: the threshold for statements is chosen on them."""
    return zlib.crc32(trace.request.encode()) % 5 == 3


def trace_pairs(traces: list[Trace], draw: random.Random) -> Iterator[Pair]:
    """A sentence that two traces of one request share is a twin: the ledger alone decides its label."""
    numbers: dict[tuple[str, str], int] = {}
    for trace in traces:
        for mark, text in trace.sentences:
            if mark not in LABELS:
                continue
            number = numbers.setdefault((trace.request, text), len(numbers))
            spans = () if mark == "+" else None
            window = ledger_window(trace.calls, text)
            yield Pair(window, text, LABELS[mark], spans, group=trace.request, twins=number)
            other = draw.choice(traces)
            if draw.random() < OTHER_LEDGER and other.request != trace.request:
                yield Pair(ledger_window(other.calls, text), text, NEUTRAL, None, group=trace.request)


def main() -> None:
    traces = [trace for trace in all_traces() if not for_calibration(trace)]
    pairs = list(trace_pairs(traces, random.Random(5)))
    print(describe("grounded.traces", pairs))
    save("grounded.traces", pairs, TOKEN_LIMIT)


if __name__ == "__main__":
    main()
