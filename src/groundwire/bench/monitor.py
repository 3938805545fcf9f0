"""`groundwire bench monitor`: tokens a second, memory over a long stream, how often each part is right."""

from __future__ import annotations

import asyncio
import resource
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random
from statistics import median
from time import perf_counter, process_time

from rich.console import Console

from groundwire.bench.figures import Figure, show
from groundwire.bench.monitor_data import ahead_of_time, questions_answered, warnings_by_label
from groundwire.streaming.generation import GenerationMonitor
from groundwire.streaming.knowledge import verify_knowledge
from groundwire.streaming.patterns import PATTERNS
from groundwire.types import Source
from groundwire.types.realtime import Context

TOKEN = 4
"""Characters a token, as language models have them on average."""

_PARTS = 10
_BITE = 100
_ROUNDS = 25
_WORDS = (200, 800, 3200)


@dataclass(frozen=True, slots=True)
class Request:
    """`data` is a folder with labelled sets, or None; `answers` how many of them are checked as streams."""

    tokens: int
    data: Path | None
    answers: int


def run_monitor(console: Console, request: Request, *, as_json: bool) -> int:
    figures = list(measure(request))
    return show(console, figures, as_json=as_json)


def measure(request: Request) -> Iterator[Figure]:
    yield from _stream(request.tokens)
    yield from _knowledge()
    if request.data is not None:
        yield from questions_answered(request.data)
        yield from warnings_by_label(request.data)
        yield from asyncio.run(ahead_of_time(request.data, request.answers))


def _stream(tokens: int) -> Iterator[Figure]:
    """One long answer, token by token: the pattern path alone, by processor time."""
    monitor = GenerationMonitor(PATTERNS, _sources(400))
    feed, costs, resident = _tokens(Random(0)), [], []
    for _ in range(_PARTS):
        spent, left = 0.0, max(_BITE, tokens // _PARTS)
        for _ in range(left // _BITE):
            bite = [next(feed) for _ in range(_BITE)]
            began = process_time()
            for token in bite:
                monitor.update(token)
            spent += process_time() - began
        costs.append(spent / (left // _BITE * _BITE))
        resident.append(_resident_mb())
    told = sum(monitor.counts.values())
    yield Figure("tokens a second on one core, all patterns", _PARTS / sum(costs), "1/s", "≥ 50,000")
    yield Figure("cost of a token, last tenth by first", costs[-1] / costs[0], "×", "does not grow")
    grown = resident[-1] - resident[0]
    yield Figure(f"memory grown over {tokens:,} tokens, after the first tenth", grown, "MB", "flat")
    yield Figure("warnings in that stream", told, "", f"{len(monitor.warnings)} kept")


def _tokens(random: Random) -> Iterator[str]:
    """An endless answer: facts from the sources, and now and then something made up."""
    while True:
        text = _sentence(random)
        yield from (text[at : at + TOKEN] for at in range(0, len(text), TOKEN))


def _sentence(random: Random) -> str:
    n = random.randrange(400)
    plain = f"Plant {n} in sector {n * 7 % 90} produced {n * 37 % 911} tonnes of steel in {1950 + n % 70}"
    other = random.randrange(12)
    if other == 0:
        return f"Studies show that {random.randrange(1000) / 10}% of all plants closed. "
    if other == 1:
        return (
            f"Plant {n} was led by Otto Brandt{random.randrange(999)} until {random.randrange(1700, 1900)}. "
        )
    if other == 2:
        return f"{plain} [S{random.randrange(2000)}].\n\n- "
    if other < 7:
        return (
            "The people of the region remember the works well, and many of their children still live nearby. "
        )
    return f"{plain}, which was a good year for the whole region and its people. "


def _sources(facts: int) -> list[Source]:
    lines = (
        f"Plant {n} in sector {n * 7 % 90} produced {n * 37 % 911} tonnes of steel in {1950 + n % 70}."
        for n in range(facts)
    )
    return [Source("S0", " ".join(lines))]


def _resident_mb() -> float:
    """What the process holds right now; where that cannot be read, the most it ever held."""
    held = Path("/proc/self/statm")
    if held.exists():
        return int(held.read_text(encoding="ascii").split()[1]) * resource.getpagesize() / 2**20
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _knowledge() -> Iterator[Figure]:
    """The look before an answer, with sources of several lengths; the index is made anew each time."""
    asked = "How many tonnes of steel did Plant 7 produce in 1957, and why did Plant 9 close?"
    for words in _WORDS:
        context = Context((Source("S0", " ".join(_sources(words // 12)[0].text.split()[:words])),))
        look = partial(verify_knowledge, asked, context)
        look()
        times = [_timed(look) for _ in range(_ROUNDS)]
        bar = "≤ 50" if words == _WORDS[0] else ""
        yield Figure(f"knowledge of a request, {words:,} words of sources", 1000 * median(times), "ms", bar)


def _timed(work: Callable[[], object]) -> float:
    began = perf_counter()
    work()
    return perf_counter() - began
