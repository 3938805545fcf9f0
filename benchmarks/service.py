"""`python -m benchmarks.service`: the real server under load, next to the same engine called in process."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from base64 import b64encode
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Annotated, Any

import typer
from rich.console import Console

from benchmarks import command, run
from benchmarks.load_generator import digest
from groundwire.bench.measures import Figure, show
from groundwire.bench.speed import fact, prose
from groundwire.cli.console import open_console
from groundwire.config import Config, ServerConfig
from groundwire.engine import Groundwire
from groundwire.errors import BackendError
from groundwire.metrics import Metrics
from groundwire.reports.json import to_json

CLAIMS, WORDS = 5, 200
OVERLOAD = 4
OVERLOAD_SECONDS = 0.0
"""Duration of the overload; 0: long enough that the server is full for most of it."""
_GREETING = re.compile(r"serves http://[^ ]*:(\d+)")
_START_SECONDS = 180.0
_EXPECTED_SECONDS = 600.0
_SETTLED = 0.25  # of the samples of memory: caches fill first


@dataclass(frozen=True, slots=True)
class LoadTerms:
    """`turns` of `seconds` each for the engine and the server, `at_once` requests at a time; then an
    overload, and `minutes` of steady work while memory is watched.
    """

    seconds: float = 10.0
    turns: int = 3
    at_once: int = 16
    minutes: float = 0.0
    cases: int = 64


@dataclass(frozen=True, slots=True)
class LoadCase:
    """One request, and the digest of the response that is expected byte for byte, if it is known."""

    answer: str
    source: str
    body: str
    expected: str = ""
    path: str = "/v1/check"
    kind: str = "application/json"


def run_service(console: Console, terms: LoadTerms, *, as_json: bool) -> int:
    figures = list(measure(terms))
    return show(console, figures, as_json=as_json)


def measure(terms: LoadTerms) -> Iterator[Figure]:
    with ExitStack() as stack:
        engine = Engine()
        stack.callback(engine.close)
        cases = engine.expected([make_case(number) for number in range(terms.cases)])
        server = stack.enter_context(run_server())
        load = stack.enter_context(run_load_generator(server, cases))
        load.run(seconds=min(2.0, terms.seconds), connections=terms.at_once)  # both have loaded their model by then
        turns = [_turn(engine, server, load, terms) for _ in range(terms.turns)]
        yield from _compared(turns, terms)
        yield from _latencies("one at a time", [load.run(seconds=terms.seconds)])
        usual = median(turn.served.good_a_second for turn in turns)
        seconds = max(terms.seconds, OVERLOAD_SECONDS or _until_full(usual))
        yield from _overload(load.run(seconds=seconds, rate=OVERLOAD * usual), usual)
        yield from _memory(load, server, terms)


def _until_full(usual: float) -> float:
    """Three times the seconds after which the excess requests fill the server's capacity."""
    return 3 * ServerConfig().max_in_flight / ((OVERLOAD - 1) * usual)


@dataclass(frozen=True, slots=True)
class TurnResult:
    """The engine in process, then the server: checks per second, and processor seconds per check."""

    engine_rate: float
    engine_cost: float
    served: LoadResult
    served_cost: float


def _turn(engine: Engine, server: Server, load: LoadProcess, terms: LoadTerms) -> TurnResult:
    busy = time.process_time()
    began = perf_counter()
    done = engine.work(cases=load.cases, terms=terms)
    rate, cost = done / (perf_counter() - began), (time.process_time() - busy) / done
    busy = server.processor_seconds()
    found = load.run(seconds=terms.seconds, connections=terms.at_once)
    good = max(1, found.statuses["200"])
    return TurnResult(rate, cost, found, (server.processor_seconds() - busy) / good)


def make_case(number: int, right: int = CLAIMS - 2, words: int = WORDS) -> LoadCase:
    """An answer with right, wrong and unsupported claims, and its own source."""
    first = number * 40
    claims = [fact(first + n) for n in range(right)]
    claims += [fact(first).replace(" tonnes", "9 tonnes"), f"The director of plant {first} is Ada Klein."]
    answer, source = " ".join(claims), prose(words, first)
    body = json.dumps({"id": f"r{number}", "response": answer, "sources": {"S0": source}})
    return LoadCase(answer, source, b64encode(body.encode()).decode())


class Engine:
    """The engine as an application calls it: many concurrent checks, for full batches."""

    def __init__(self, backend: str = "local") -> None:
        self._loop = asyncio.new_event_loop()
        # What is expected of the server must not be a timeout of this engine, on a machine that is busy.
        config = Config.model_validate({"hallucination": {"timeout": _EXPECTED_SECONDS}})
        self._engine = Groundwire(config, backend=backend, metrics=Metrics())

    def expected(self, cases: Sequence[LoadCase]) -> list[LoadCase]:
        """The cases with the responses that the server must return."""

        async def reports() -> list[str]:
            return [
                to_json(await self._engine.check(case.answer, {"S0": case.source}, response_id=f"r{number}"))
                for number, case in enumerate(cases)
            ]

        texts = self._loop.run_until_complete(reports())
        return [
            LoadCase(case.answer, case.source, case.body, digest(f"{text}\n".encode()))
            for case, text in zip(cases, texts, strict=True)
        ]

    def work(self, cases: Sequence[LoadCase], terms: LoadTerms) -> int:
        """The number of checks done in the given time."""
        numbers = count()
        until = perf_counter() + terms.seconds

        async def one_after_the_other() -> int:
            done = 0
            while perf_counter() < until:
                case = cases[next(numbers) % len(cases)]
                await self._engine.check(case.answer, {"S0": case.source})
                done += 1
            return done

        async def all_at_once() -> int:
            return sum(await asyncio.gather(*(one_after_the_other() for _ in range(terms.at_once))))

        return self._loop.run_until_complete(all_at_once())

    def close(self) -> None:
        self._loop.run_until_complete(self._engine.aclose())
        self._loop.close()


@dataclass(frozen=True, slots=True)
class LoadResult:
    """The result of one run of the load generator."""

    seconds: float
    statuses: Counter[str]
    latencies: list[float]
    wrong: int
    without_retry_after: int

    @property
    def good_a_second(self) -> float:
        return self.statuses["200"] / self.seconds

    def share(self, quantile: float) -> float:
        """A quantile of the latency of successful responses, in ms."""
        ordered = sorted(self.latencies) or [float("nan")]
        return 1000 * ordered[min(len(ordered) - 1, int(quantile * len(ordered)))]


class LoadProcess:
    def __init__(self, process: subprocess.Popen[str], port: int, cases: Sequence[LoadCase]) -> None:
        self._process = process
        self._port = port
        self.cases = cases

    def run(self, *, seconds: float, connections: int = 1, rate: float = 0.0, leaving: int = 0) -> LoadResult:
        plan = {
            "port": self._port,
            "bodies": [case.body for case in self.cases],
            "expected": [case.expected for case in self.cases],
            "paths": [case.path for case in self.cases],
            "types": [case.kind for case in self.cases],
            "seconds": seconds,
            "connections": connections,
            "rate": rate,
            "leaving": leaving,
        }
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(plan) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise BackendError("the load generator died")
        met: dict[str, Any] = json.loads(line)
        return LoadResult(**{**met, "statuses": Counter(met["statuses"])})


@contextmanager
def run_load_generator(server: Server, cases: Sequence[LoadCase]) -> Iterator[LoadProcess]:
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.load_generator"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with process:
        try:
            yield LoadProcess(process, server.port, cases)
        finally:
            process.kill()


@dataclass(frozen=True)
class Server:
    pid: int
    port: int

    def resident_mb(self) -> float:
        pages = int(Path(f"/proc/{self.pid}/statm").read_text(encoding="ascii").split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 2**20

    def threads(self) -> int:
        return len(list(Path(f"/proc/{self.pid}/task").iterdir()))

    def descriptors(self) -> int:
        return len(list(Path(f"/proc/{self.pid}/fd").iterdir()))

    def processor_seconds(self) -> float:
        fields = Path(f"/proc/{self.pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def run_server(backend: str = "local") -> Iterator[Server]:
    """Run `groundwire serve` as a user would, with its own store."""
    with tempfile.TemporaryDirectory() as folder:
        ours = {
            "GROUNDWIRE_STORE__URL": f"{folder}/store.db",
            "GROUNDWIRE_SERVER__PORT": "0",
            "GROUNDWIRE_HALLUCINATION__BACKEND__TYPE": backend,
        }
        kept = {name: value for name, value in os.environ.items() if not name.startswith("GROUNDWIRE_")}
        log = Path(folder) / "log"  # not a pipe: a full pipe would block the server
        with log.open("wb") as errors:
            process = subprocess.Popen(
                [sys.executable, "-m", "groundwire.cli.main", "serve"], env={**kept, **ours}, cwd=folder, stderr=errors
            )
        with process:
            try:
                yield Server(process.pid, _port(process, log))
            finally:
                process.send_signal(signal.SIGINT)
                process.wait(_START_SECONDS)


def _port(process: subprocess.Popen[bytes], log: Path) -> int:
    """Wait until the server prints its address."""
    until = time.monotonic() + _START_SECONDS
    while time.monotonic() < until:
        said = log.read_text(encoding="utf-8", errors="replace")
        if found := _GREETING.search(said):
            return int(found[1])
        if process.poll() is not None:
            raise BackendError(f"the server did not start: {said.strip()[-300:]}")
        time.sleep(0.05)
    raise BackendError(f"the server did not start within {_START_SECONDS:g} s")


def _compared(turns: Sequence[TurnResult], terms: LoadTerms) -> Iterator[Figure]:
    served = [turn.served for turn in turns]
    yield Figure("checks a second, engine in process", median(turn.engine_rate for turn in turns), "1/s")
    yield Figure("checks a second, POST /v1/check", median(f.good_a_second for f in served), "1/s")
    name = "served, share of the engine in process"
    ratio = median(turn.served.good_a_second / turn.engine_rate for turn in turns)
    yield Figure(name, 100 * ratio, "%", "≥ 85")
    busy = median(turn.engine_cost / turn.served_cost for turn in turns)
    yield Figure(f"{name}, by processor time", 100 * busy, "%")
    yield from _latencies(f"{terms.at_once} at once", served)
    yield Figure("answers that differ from the engine's", sum(f.wrong for f in served), "", "0")
    others = sum(f.statuses.total() - f.statuses["200"] for f in served)
    yield Figure("other statuses than 200", others, "", "0")


def _latencies(name: str, found: Sequence[LoadResult]) -> Iterator[Figure]:
    for label, quantile in (("p50", 0.5), ("p99", 0.99)):
        yield Figure(f"{name}, {label}", median(one.share(quantile) for one in found), "ms")


def _overload(found: LoadResult, usual: float) -> Iterator[Figure]:
    name = f"{OVERLOAD} × overload"
    good, full = found.statuses["200"], found.statuses["429"]
    yield Figure(f"{name}: answers 200", good, "")
    yield Figure(f"{name}: answers 429", full, "")
    yield Figure(f"{name}: anything else", found.statuses.total() - good - full, "", "0")
    yield Figure(f"{name}: 429 without Retry-After", found.without_retry_after, "", "0")
    yield Figure(f"{name}: answers that differ from the engine's", found.wrong, "", "0")
    yield Figure(f"{name}: good answers a second, share of the usual", 100 * found.good_a_second / usual, "%")
    yield Figure(f"{name}: p99 of the good ones", found.share(0.99), "ms")


def _memory(load: LoadProcess, server: Server, terms: LoadTerms) -> Iterator[Figure]:
    """Sample the memory during minutes of steady load; growth counts from when the caches are full."""
    samples = [server.resident_mb()]
    until = time.monotonic() + 60 * terms.minutes
    while time.monotonic() < until:
        load.run(seconds=min(10.0, 60 * terms.minutes / 8), connections=terms.at_once)
        samples.append(server.resident_mb())
    yield Figure("resident memory of the server", samples[-1], "MB", "≤ 400")
    if len(samples) > 4:
        name = f"resident memory, second half less first half of {terms.minutes:g} minutes"
        yield Figure(name, grown(samples), "MB", "≤ 5")


def grown(samples: Sequence[float]) -> float:
    """Growth between the halves of the samples, without the first quarter, in which caches fill.

    >>> grown([100, 200, 250, 250, 250, 250, 250, 250]), grown([100, 110, 120, 130, 140, 150, 160, 170])
    (0.0, 30.0)
    """
    settled = samples[int(_SETTLED * len(samples)) :]
    half = len(settled) // 2
    return float(median(settled[half:]) - median(settled[:half]))


app = command()


@app.command()
def main(
    seconds: Annotated[float, typer.Option(min=0.5, help="Seconds per turn.")] = 10.0,
    turns: Annotated[int, typer.Option(min=1, help="Turns for the engine and the server each.")] = 3,
    at_once: Annotated[int, typer.Option(min=1, help="Concurrent requests.")] = 16,
    minutes: Annotated[float, typer.Option(min=0, help="Minutes to watch the server's memory.")] = 0.0,
    as_json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
) -> None:
    """Put the HTTP service under load: throughput next to the engine's own, latency, overload, memory."""
    run_service(open_console(), LoadTerms(seconds, turns, at_once, minutes), as_json=as_json)


if __name__ == "__main__":
    run(app)
