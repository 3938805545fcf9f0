"""One HTTP/1.1 connection to an upstream: as little work per piece of a stream as can be.

Hundreds of streams pass through one thread, a few hundred bytes at a time, so the path of a piece is short:
from the socket through a C parser into a list, and on from there, all that has come by then at once.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import cast

from groundwire._optional import load

_MOST_WAITING = 1_000_000
"""Bytes that may wait for a slow client before the upstream is told to wait as well."""


class WireError(Exception):
    """The upstream closed the connection, or does not speak HTTP. `untouched`: it closed one that had waited,
    without a word, so that the request can go another way.
    """

    def __init__(self, message: str, *, untouched: bool = False) -> None:
        super().__init__(message)
        self.untouched = untouched


class WireTimeout(WireError):
    """It was silent for too long."""


@dataclass(frozen=True, slots=True)
class Head:
    status: int
    headers: Sequence[tuple[bytes, bytes]]

    def get(self, name: bytes) -> str:
        found = next((value for key, value in self.headers if key == name), b"")
        return found.decode("latin-1").strip().lower()


@dataclass(slots=True)
class Request:
    """What is sent: method and target of the first line, headers without a length, and the body."""

    method: str
    host: str
    target: str
    headers: Sequence[tuple[bytes, bytes]]
    body: bytes = b""
    read_timeout: float = 300.0

    def encoded(self) -> bytes:
        lines = [f"{self.method} {self.target} HTTP/1.1\r\nhost: {self.host}\r\n".encode("latin-1")]
        lines += [name + b": " + value + b"\r\n" for name, value in self.headers]
        if self.body or self.method in ("POST", "PUT", "PATCH"):
            lines.append(b"content-length: %d\r\n" % len(self.body))
        return b"".join((*lines, b"\r\n", self.body))


class Wire(asyncio.Protocol):
    """A connection, used for one request at a time. Ready for another one while `is_free`."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._parse = load("httptools:HttpResponseParser", feature="the proxy", extra="server")
        self._timer: asyncio.TimerHandle | None = None
        self.idle_since = 0.0
        self.used = False
        self._reset()

    def _reset(self) -> None:
        self._parser = self._parse(self)
        self._status = 0
        self._headers: list[tuple[bytes, bytes]] = []
        self._head: asyncio.Future[Head] | None = None
        self._pieces: list[bytes] = []
        self._waiting = 0
        self._waiter: asyncio.Future[None] | None = None
        self._complete = False
        self._begun = False
        self._error: WireError | None = None
        self._only_head = False
        self._lasts = False
        self._paused = False
        self._surplus = False

    # What a caller does.

    @property
    def is_free(self) -> bool:
        return self._transport is not None and not self._transport.is_closing() and self._error is None

    async def send(self, request: Request) -> Head:
        """Send a request and wait for the head of its answer."""
        assert self._transport is not None
        self.used, reused = True, self.used
        self._reset()
        self._only_head = request.method == "HEAD"
        self._silence = request.read_timeout
        self._heard = self._loop.time()
        self._head = self._loop.create_future()
        self._watch()
        self._transport.write(request.encoded())
        try:
            return await self._head
        except WireError as error:
            error.untouched = reused and not self._begun and not isinstance(error, WireTimeout)
            raise
        finally:
            if not self._head.done() or self._head.cancelled():
                self.abort()

    async def body(self) -> AsyncIterator[bytes]:
        """The body as it comes: each time all that has come by then."""
        while True:
            if self._pieces:
                pieces, self._pieces = self._pieces, []
                self._waiting = 0
                self._pause(wanted=False)
                yield pieces[0] if len(pieces) == 1 else b"".join(pieces)
            elif self._complete:
                return
            elif self._error is not None:
                raise self._error
            else:
                self._waiter = self._loop.create_future()
                await self._waiter

    def release(self) -> bool:
        """The caller has what it wants. Whether the connection can be used again; else it is closed."""
        self._stop_watching()
        keeps = self._complete and self._lasts and self.is_free
        if not keeps:
            self.abort()
        self.idle_since = self._loop.time()
        return keeps

    def abort(self) -> None:
        """At once: the upstream shall stop working on what nobody waits for."""
        self._stop_watching()
        if self._transport is not None:
            self._transport.abort()

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    # What the connection tells.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's are of another family

    def data_received(self, data: bytes) -> None:
        self._heard = self._loop.time()
        self._begun = True
        if self._complete or self._head is None:
            self._fail(WireError("the upstream speaks without being asked"))
            self.abort()
            return
        import httptools

        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            self._fail(WireError("the upstream does not speak HTTP"))
            self.abort()
        self._wake()

    def connection_lost(self, exc: Exception | None) -> None:
        framed = any(name in (b"content-length", b"transfer-encoding") for name, _ in self._headers)
        if self._status and not framed and not self._complete and exc is None:
            self._complete = True  # such a body ends with the connection
        elif not self._complete:
            self._fail(WireError("the upstream closed the connection"))
        self._error = self._error or WireError("the connection is closed")
        self._wake()

    def _fail(self, error: WireError) -> None:
        self._error = self._error or error
        if self._head is not None and not self._head.done():
            self._head.set_exception(error)

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _watch(self) -> None:
        """One timer a connection that looks when something last came: cheaper than one a piece."""
        self._timer = self._loop.call_later(self._silence, self._look)

    def _pause(self, *, wanted: bool) -> None:
        if wanted is self._paused or self._transport is None or self._transport.is_closing():
            return
        self._paused = wanted
        (self._transport.pause_reading if wanted else self._transport.resume_reading)()

    def _stop_watching(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _look(self) -> None:
        left = self._heard + self._silence - self._loop.time()
        if self._complete or self._error is not None:
            return
        if left > 0 or self._waiting > _MOST_WAITING:  # a client that is slow is no upstream that is silent
            self._timer = self._loop.call_later(max(left, 1.0), self._look)
            return
        self._fail(WireTimeout("the upstream is silent"))
        self._wake()
        self.abort()

    # What the parser tells.

    def on_message_begin(self) -> None:
        self._surplus = (
            self._complete
        )  # a second answer to one question is nobody's, least of all the next one's

    def on_header(self, name: bytes, value: bytes) -> None:
        self._headers.append((name.lower(), value))

    def on_headers_complete(self) -> None:
        status = self._parser.get_status_code()
        if status < 200 or self._surplus:
            return
        self._status = status
        self._complete = self._only_head
        if self._head is not None and not self._head.done():
            self._head.set_result(Head(status, tuple(self._headers)))

    def on_body(self, body: bytes) -> None:
        if self._surplus:
            return
        self._pieces.append(body)
        self._waiting += len(body)
        self._pause(wanted=self._waiting > _MOST_WAITING)

    def on_message_complete(self) -> None:
        if self._status:
            self._complete = True
            self._lasts = not (self._only_head or self._surplus) and self._parser.should_keep_alive()
        else:
            self._headers.clear()  # 100 Continue, 103 Early Hints: the answer itself is still to come


@dataclass(slots=True)
class Pool:
    """Connections that wait for their next request, by the place they lead to; the last used goes first."""

    most: int = 256
    idle: float = 30.0
    _free: dict[tuple[str, str, int], list[Wire]] = field(default_factory=dict)

    def take(self, place: tuple[str, str, int]) -> Wire | None:
        now = asyncio.get_running_loop().time()
        waiting = self._free.get(place, [])
        while waiting:
            wire = waiting.pop()
            if wire.is_free and now - wire.idle_since < self.idle:
                return wire
            wire.close()
        return None

    def give(self, place: tuple[str, str, int], wire: Wire) -> None:
        waiting = self._free.setdefault(place, [])
        if len(waiting) >= self.most:
            waiting.pop(0).close()
        waiting.append(wire)

    def close(self) -> None:
        for waiting in self._free.values():
            for wire in waiting:
                wire.close()
        self._free.clear()
