"""A load generator for `python -m benchmarks.service`: a process of its own that costs the server little.

Reads plans from standard input, one JSON object per line, and prints the statistics of each. It speaks
HTTP/1.1 over plain sockets: a heavier client would take the processor away from the server that it measures.
"""

from __future__ import annotations

import asyncio
import json
import sys
from base64 import b64decode
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import count
from time import perf_counter
from typing import Any

LEFT = "left"
"""The status of a request whose client did not wait for the answer."""
LAST_RESPONSE_SECONDS = 90.0
"""How long to wait for the last responses: longer than the server's own timeout."""
_numbers = count()
"""Of all plans: a short one goes on with the requests that the one before did not reach."""


@dataclass(frozen=True, slots=True)
class LoadPlan:
    """With `rate` 0, `connections` send one request after the other; otherwise `rate` requests start per
    second, whether or not earlier ones have been answered. After every `leaving`-th request, if any, the
    client closes the connection without waiting for the answer.
    """

    port: int
    bodies: tuple[str, ...]
    expected: tuple[str, ...]
    paths: tuple[str, ...]
    types: tuple[str, ...]
    seconds: float
    connections: int = 1
    rate: float = 0.0
    leaving: int = 0


@dataclass(slots=True)
class LoadStats:
    """Counts by status, and the latencies of successful responses."""

    seconds: float = 0.0
    statuses: Counter[str] = field(default_factory=Counter)
    latencies: list[float] = field(default_factory=list)
    wrong: int = 0
    without_retry_after: int = 0

    def to_json(self) -> str:
        return json.dumps(
            {
                "seconds": self.seconds,
                "statuses": dict(self.statuses),
                "latencies": [round(latency, 5) for latency in self.latencies],
                "wrong": self.wrong,
                "without_retry_after": self.without_retry_after,
            }
        )


class Connection:
    """One keep-alive connection, opened on first use and reopened after a failure."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def send(self, request: bytes) -> asyncio.StreamReader:
        if self._streams is None:
            self._streams = await asyncio.open_connection("127.0.0.1", self._port)
        reader, writer = self._streams
        writer.write(request)
        await writer.drain()
        return reader

    async def ask(self, request: bytes) -> tuple[int, bytes, bytes]:
        reader = await self.send(request)
        head = await reader.readuntil(b"\r\n\r\n")
        lowered = head.lower()
        length = int(lowered.partition(b"content-length:")[2].partition(b"\r")[0] or 0)
        body = await reader.readexactly(length)
        if b"connection: close" in lowered:
            await self.close()
        return int(head[9:12]), lowered, body

    async def close(self) -> None:
        if self._streams is not None:
            self._streams[1].close()
            with suppress(OSError):
                await self._streams[1].wait_closed()
            self._streams = None


class LoadGenerator:
    def __init__(self, plan: LoadPlan) -> None:
        self._plan = plan
        parts = zip(plan.paths, plan.types, plan.bodies, strict=True)
        self._requests = [_request(path, kind, b64decode(body)) for path, kind, body in parts]
        self._idle: list[Connection] = []
        self.met = LoadStats()

    async def run(self) -> LoadStats:
        began = perf_counter()
        await (self._steady() if self._plan.rate else self._in_turn())
        self.met.seconds = perf_counter() - began
        for connection in self._idle:
            await connection.close()
        return self.met

    async def _in_turn(self) -> None:
        until = perf_counter() + self._plan.seconds

        async def one_after_the_other() -> None:
            while perf_counter() < until:
                await self._one()

        await asyncio.gather(*(one_after_the_other() for _ in range(self._plan.connections)))

    async def _steady(self) -> None:
        began = perf_counter()
        tasks = []
        for number in range(int(self._plan.rate * self._plan.seconds)):
            await asyncio.sleep(max(0.0, began + number / self._plan.rate - perf_counter()))
            tasks.append(asyncio.create_task(self._one()))
        _, late = await asyncio.wait(tasks, timeout=LAST_RESPONSE_SECONDS)
        for task in late:
            task.cancel()
        self.met.statuses["no answer"] += len(late)

    async def _one(self) -> None:
        turn = next(_numbers)
        number = turn % len(self._requests)
        connection = self._idle.pop() if self._idle else Connection(self._plan.port)
        began = perf_counter()
        try:
            if self._plan.leaving and turn % self._plan.leaving == 0:
                await connection.send(self._requests[number])
                await connection.close()
                self.met.statuses[LEFT] += 1
                return
            status, head, body = await connection.ask(self._requests[number])
        except (OSError, asyncio.IncompleteReadError, ValueError) as error:
            self.met.statuses[type(error).__name__] += 1
            await connection.close()
            return
        self._idle.append(connection)
        self._note(status, head, body, number, perf_counter() - began)

    def _note(self, status: int, head: bytes, body: bytes, number: int, seconds: float) -> None:
        self.met.statuses[str(status)] += 1
        if status == 200:
            self.met.latencies.append(seconds)
            self.met.wrong += digest(body) != (self._plan.expected[number] or digest(body))
        elif status == 429:
            self.met.without_retry_after += b"\r\nretry-after:" not in head


def digest(body: bytes) -> str:
    return sha256(body).hexdigest()


def _request(path: str, kind: str, body: bytes) -> bytes:
    head = f"POST {path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: {kind}\r\ncontent-length: {len(body)}\r\n\r\n"
    return head.encode() + body


def plan_from(fields: dict[str, Any]) -> LoadPlan:
    lists: dict[str, Sequence[str]] = {
        name: tuple(fields.pop(name)) for name in ("bodies", "expected", "paths", "types")
    }
    return LoadPlan(**fields, **lists)  # type: ignore[arg-type]


def main() -> None:
    for line in sys.stdin:
        met = asyncio.run(LoadGenerator(plan_from(json.loads(line))).run())
        print(met.to_json(), flush=True)


if __name__ == "__main__":
    main()
