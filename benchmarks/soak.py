"""`python -m benchmarks.soak`: the real server under mixed load for a long time. Does it leak?

Checks of different sizes, claims, detection, audits of traces, facts and uploads at 70 % of what the server
can do, then at four times as much, in turn; every tenth client leaves without its answer. Memory, threads and
descriptors are sampled after each turn, and printed to standard error.
"""

from __future__ import annotations

import json
import sys
import time
from base64 import b64encode
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from random import Random
from typing import Annotated

import typer

from benchmarks import command, run
from benchmarks.load_generator import LEFT
from benchmarks.service import (
    Engine,
    LoadCase,
    LoadProcess,
    LoadResult,
    Server,
    make_case,
    run_load_generator,
    run_server,
)
from groundwire.bench.measures import Figure, show
from groundwire.cli.console import open_console

AT_ONCE = 16
LEAVING = 10
STEADY, OVERLOAD = 0.7, 4.0
WARM_UP = 0.25
"""Share of the samples that do not count: caches fill first."""
_SIZES = ((0, 60), (3, 200), (10, 800))  # claims that are right, words of the source


@dataclass(frozen=True, slots=True)
class SoakTerms:
    """`turn` is the length in seconds of one turn, of which a fifth is overload. The expected responses of
    all `cases` are computed first, which takes a minute on two idle cores.
    """

    minutes: float = 60.0
    turn: float = 60.0
    cases: int = 48
    backend: str = "local"


@dataclass(frozen=True, slots=True)
class Sample:
    hours: float
    resident_mb: float
    threads: int
    descriptors: int


def measure(terms: SoakTerms) -> Iterator[Figure]:
    with ExitStack() as stack:
        engine = Engine(terms.backend)
        stack.callback(engine.close)
        made = [make_case(n, *_SIZES[n % len(_SIZES)]) for n in range(terms.cases)]
        cases = [*engine.expected(made), *(other for case in made[1::6] for other in _others(case))]
        Random(0).shuffle(cases)
        server = stack.enter_context(run_server(terms.backend))
        load = stack.enter_context(run_load_generator(server, cases))
        usual = load.run(seconds=min(10.0, terms.turn), connections=AT_ONCE).good_a_second
        met: list[LoadResult] = []
        samples = list(_soak(server, load, max(usual, 1.0), terms, met))
    yield Figure("good answers a second before", usual, "1/s")
    yield from _answers(met)
    yield from growth(samples)


def _others(case: LoadCase) -> Iterator[LoadCase]:
    """The same answer and source for the other routes that do work."""
    sources = {"S0": case.source}
    bodies: dict[str, dict[str, object]] = {
        "/v1/claims/verify": {"text": case.answer, "sources": sources},
        "/v1/detect": {"response": case.answer, "sources": sources},
        "/v1/traces/audit": {"steps": case.answer.split(". "), "sources": sources, "answer": case.answer},
        "/v1/facts": {"fact": case.answer.partition(". ")[0] + ".", "sources": sources},
    }
    for path, body in bodies.items():
        yield replace(case, body=_encoded(json.dumps(body)), path=path)
    page = f"<html><h1>{case.answer}</h1><p>{case.source}</p></html>"
    part = 'content-disposition: form-data; name="files"; filename="page.html"'
    upload = f"--part\r\n{part}\r\n\r\n{page}\r\n--part--\r\n"
    yield replace(case, body=_encoded(upload), path="/v1/sources", kind="multipart/form-data; boundary=part")


def _encoded(text: str) -> str:
    return b64encode(text.encode()).decode()


def _soak(server: Server, load: LoadProcess, usual: float, terms: SoakTerms, met: list[LoadResult]) -> Iterator[Sample]:
    began = time.monotonic()
    while (passed := time.monotonic() - began) < 60 * terms.minutes or not met:
        met.append(load.run(seconds=0.8 * terms.turn, rate=STEADY * usual, leaving=LEAVING))
        met.append(load.run(seconds=0.2 * terms.turn, rate=OVERLOAD * usual, leaving=LEAVING))
        sample = Sample(passed / 3600, server.resident_mb(), server.threads(), server.descriptors())
        print(sample, dict(met[-2].statuses), dict(met[-1].statuses), file=sys.stderr, flush=True)
        yield sample


def _answers(met: Sequence[LoadResult]) -> Iterator[Figure]:
    statuses: Counter[str] = sum((one.statuses for one in met), Counter())
    for name in ("200", "201", "429", LEFT):
        yield Figure(f"answers {name}" if name != LEFT else "clients that left", statuses.pop(name, 0), "")
    yield Figure("anything else", statuses.total(), "", "0")
    yield Figure("answers that differ from the engine's", sum(one.wrong for one in met), "", "0")
    yield Figure("429 without Retry-After", sum(one.without_retry_after for one in met), "", "0")


def growth(samples: Sequence[Sample]) -> Iterator[Figure]:
    settled = samples[int(WARM_UP * len(samples)) :]
    yield Figure("resident memory at the end", samples[-1].resident_mb, "MB", "≤ 400")
    if len(settled) >= 4:
        by_hour = slope([one.hours for one in settled], [one.resident_mb for one in settled])
        yield Figure("growth of memory after warm-up", by_hour, "MB/h", "< 1")
    for name in ("threads", "descriptors"):
        counts = [getattr(one, name) for one in settled]
        yield Figure(f"{name} at the end", counts[-1], "")
        yield Figure(f"{name}, growth after warm-up", counts[-1] - counts[0], "", "0")


def slope(x: Sequence[float], y: Sequence[float]) -> float:
    """The slope of the line with the least squares.

    >>> slope([0, 1, 2], [5, 7, 9])
    2.0
    """
    middle, level = sum(x) / len(x), sum(y) / len(y)
    spread = sum((at - middle) ** 2 for at in x)
    return sum((at - middle) * (value - level) for at, value in zip(x, y, strict=True)) / spread


app = command()


@app.command()
def main(
    minutes: Annotated[float, typer.Option(min=0, help="Minutes of load.")] = 60.0,
    turn: Annotated[float, typer.Option(min=1, help="Seconds of one turn.")] = 60.0,
    cases: Annotated[int, typer.Option(min=6, help="Different answers; fewer begin sooner on a busy machine.")] = 48,
    backend: Annotated[
        str, typer.Option(help="The verifier; `fake` needs no processor, so there are more requests.")
    ] = "local",
    as_json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
) -> None:
    """Put the HTTP service under mixed load with clients that leave: memory, threads, descriptors."""
    show(open_console(), measure(SoakTerms(minutes, turn, cases, backend)), as_json=as_json)


if __name__ == "__main__":
    run(app)
