"""`python -m benchmarks.proxy`: what the proxy adds to a stream, and whether many at once keep every byte.

A scripted model streams in a process of its own, the real server stands in front of it in another, and the
same requests go to both, in turn. The answers are verified on the way, against sources in the request, unless
the mode is `off`. Concurrent streams begin one after the other, spread over the length of one, as callers do.
"""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import IO, Annotated, cast
from urllib.parse import urlsplit

import typer
from rich.console import Console

from benchmarks import command, run
from benchmarks.scripted_model import LISTENING, Pace, facts, frames
from benchmarks.service import Server
from groundwire.bench.measures import Figure, show
from groundwire.cli.console import open_console
from groundwire.errors import BackendDown

_REPORT = re.compile(rb'data: \{[^\n]*"groundwire":[^\n]*\n\n')
_END = b"0\r\n\r\n"
_ADDRESS = re.compile(r"http://127\.0\.0\.1:(\d+)")


@dataclass(frozen=True, slots=True)
class ReceivedStream:
    """A received stream: seconds to the first token, the last word and the end, and its bytes."""

    first: float
    words: float
    end: float
    body: bytes

    @property
    def without_report(self) -> bytes:
        return _REPORT.sub(b"", self.body)

    @property
    def status(self) -> str:
        found = _REPORT.search(self.body)
        return str(json.loads(found[0][6:])["groundwire"]["status"]) if found else "none"


REALISTIC = Pace()
BARS = {0.5: "≤ 2", 0.95: "≤ 8", 0.99: "≤ 13"}
"""Milliseconds added to the first token, by quantile: what LiteLLM publishes for its proxy."""


def run_proxy(
    console: Console, rounds: int, streams: int, *, as_json: bool, pace: Pace = REALISTIC, mode: str = "observe"
) -> int:
    with _upstream(pace) as direct, _proxy(direct, mode) as server:
        figures = asyncio.run(_measure(direct, server, pace, rounds, streams))
    return show(console, figures, as_json=as_json)


async def _measure(direct: str, server: Server, pace: Pace, rounds: int, streams: int) -> list[Figure]:
    proxied = f"http://127.0.0.1:{server.port}"
    await _request_stream(proxied, 0, pace)  # warm up: the first request loads the model
    pairs = [(await _request_stream(direct, n, pace), await _request_stream(proxied, n, pace)) for n in range(rounds)]
    many = await _request_many(direct, streams, pace)
    busy = server.processor_seconds()
    through = await _request_many(proxied, streams, pace)
    busy = server.processor_seconds() - busy
    return [
        *_single_figures(pairs),
        *_concurrent_figures(many, through, pace),
        Figure(f"{streams} at once, processor time of the server a stream", 1000 * busy / streams, "ms"),
    ]


def _single_figures(pairs: Sequence[tuple[ReceivedStream, ReceivedStream]]) -> Iterator[Figure]:
    """Single streams in pairs, so that other load on the machine affects both."""
    yield Figure("first token, direct", 1000 * median(d.first for d, _ in pairs), "ms")
    yield Figure("first token, added", 1000 * median(p.first - d.first for d, p in pairs), "ms", "≤ 5")
    yield Figure("whole stream, direct", median(d.end for d, _ in pairs), "s")
    yield Figure("last word, added", 100 * median(p.words / d.words - 1 for d, p in pairs), "%")
    yield Figure("whole stream, added", 100 * median(p.end / d.end - 1 for d, p in pairs), "%", "≤ 3")
    yield Figure("… checked", sum(p.status == "CHECKED" for _, p in pairs), f"of {len(pairs)}")


def _concurrent_figures(
    direct: Sequence[ReceivedStream], proxied: Sequence[ReceivedStream], pace: Pace
) -> Iterator[Figure]:
    """Concurrent streams: every byte must arrive, however much of the text was verified."""
    same = sum(h.without_report == b"".join(frames(n, pace.sentences)) for n, h in enumerate(proxied))
    many = len(proxied)
    yield Figure(f"{many} at once, bytes as they were sent", same, f"of {many}", f"{many}")
    yield Figure(f"{many} at once, first token, direct", 1000 * median(h.first for h in direct), "ms")
    for quantile, bar in BARS.items():
        added = 1000 * (_quantile(proxied, quantile) - _quantile(direct, quantile))
        yield Figure(f"{many} at once, first token, added at p{100 * quantile:g}", added, "ms", bar)
    ratio = median(h.end for h in proxied) / median(h.end for h in direct)
    yield Figure(f"{many} at once, whole stream, proxied / direct", ratio, "×")
    for status, count in sorted(Counter(h.status for h in proxied).items()):
        yield Figure(f"{many} at once, reports {status}", count, f"of {many}")


def _quantile(received: Sequence[ReceivedStream], quantile: float) -> float:
    ordered = sorted(stream.first for stream in received)
    return ordered[min(len(ordered) - 1, int(quantile * len(ordered)))]


async def _request_many(url: str, streams: int, pace: Pace) -> list[ReceivedStream]:
    length = pace.first + pace.token * sum(1 for _ in frames(0, pace.sentences))

    async def one(number: int) -> ReceivedStream:
        await asyncio.sleep(length * number / streams)
        return await _request_stream(url, number, pace)

    return list(await asyncio.gather(*map(one, range(streams))))


async def _request_stream(url: str, number: int, pace: Pace) -> ReceivedStream:
    parts = urlsplit(url)
    document = " ".join(facts(number, pace.sentences))
    messages = [
        {"role": "system", "content": f"Answer from the document.\n<document>{document}</document>"},
        {"role": "user", "content": f"What is known about number {number}?"},
    ]
    body = json.dumps({"model": "scripted", "stream": True, "messages": messages}).encode()
    loop = asyncio.get_running_loop()
    transport, client = await loop.create_connection(_Client, parts.hostname or "", parts.port or 80)
    try:
        return await client.ask(parts.netloc, body)
    finally:
        transport.close()


class _Client(asyncio.Protocol):
    """A minimal client, since it shares the machine with the server it measures."""

    def __init__(self) -> None:
        self._bytes = bytearray()
        self._done: asyncio.Future[float] = asyncio.get_running_loop().create_future()
        self._first = self._words = 0.0
        self._began = 0.0
        self._transport: asyncio.Transport | None = None

    async def ask(self, host: str, body: bytes) -> ReceivedStream:
        assert self._transport is not None
        self._began = perf_counter()
        head = f"POST /v1/chat/completions HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\n"
        self._transport.write(f"{head}content-length: {len(body)}\r\n\r\n".encode() + body)
        end = await self._done
        return ReceivedStream(self._first, self._words, end, _unchunked(bytes(self._bytes)))

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        self._bytes += data
        now = perf_counter() - self._began
        if not self._first and b'"role"' in self._bytes:
            self._first = now
        if not self._words and b'"stop"' in data:
            self._words = now
        if data.endswith(_END) and not self._done.done():
            self._done.set_result(now)

    def connection_lost(self, exc: Exception | None) -> None:
        if not self._done.done():
            self._done.set_exception(BackendDown(f"a stream broke off: {exc or 'closed'}"))


def _unchunked(answer: bytes) -> bytes:
    rest = answer.partition(b"\r\n\r\n")[2]
    pieces = []
    while rest:
        size, _, rest = rest.partition(b"\r\n")
        length = int(size, 16)
        pieces.append(rest[:length])
        rest = rest[length + 2 :]
    return b"".join(pieces)


@contextmanager
def _upstream(pace: Pace) -> Iterator[str]:
    numbers = [str(n) for n in (pace.first, pace.token, pace.sentences)]
    command = [sys.executable, "-m", "benchmarks.scripted_model", *numbers]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        line = (process.stdout or sys.stdin).readline()
        yield line.removeprefix(LISTENING).strip()
        process.communicate()  # closing its standard input ends it


@contextmanager
def _proxy(upstream: str, mode: str) -> Iterator[Server]:
    """Run the server as a user would, with its own store."""
    with tempfile.TemporaryDirectory() as folder:
        store = str(Path(folder) / "store.db")
        argv = ["groundwire", "serve", "--port", "0", "--upstream", upstream, "--mode", mode]
        argv += ["--store", store]
        code = f"import sys; sys.argv = {argv}; from groundwire.cli.main import main; main()"
        process = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE, text=True)
        try:
            assert process.stderr is not None
            yield Server(process.pid, _announced(process.stderr))
        finally:
            process.terminate()
            process.communicate()


def _announced(output: IO[str]) -> int:
    line = ""
    for line in output:
        found = _ADDRESS.search(line)
        if found:
            return int(found[1])
    raise BackendDown("the proxy did not start", hint=line.strip()[:200])


app = command()


@app.command()
def main(
    rounds: Annotated[int, typer.Option(min=1, help="How often a single stream is timed.")] = 15,
    streams: Annotated[int, typer.Option(min=1, help="Number of concurrent streams.")] = 200,
    sentences: Annotated[int, typer.Option(min=1, help="Sentences of an answer.")] = REALISTIC.sentences,
    mode: Annotated[str, typer.Option(help="Mode of the proxy; off verifies nothing.")] = "observe",
    as_json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
) -> None:
    """Compare streams through the proxy with direct ones, and check that no byte is lost under load."""
    pace = Pace(sentences=sentences)
    run_proxy(open_console(), rounds, streams, as_json=as_json, pace=pace, mode=mode)


if __name__ == "__main__":
    run(app)
