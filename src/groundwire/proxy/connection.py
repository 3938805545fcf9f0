"""An HTTP/1.1 client connection with little work per chunk, and a pool of idle ones.

Hundreds of streams run in one thread, a few hundred bytes per chunk, so the path of a chunk is short: from
the socket through a C parser into a list, from which the reader takes everything that has arrived.

httpx was tried and left: forwarding a stream took 18 ms of processor time instead of 12 (`benchmarks.proxy
--mode off`), and its pool reuses a connection on which an unrequested second response has arrived, so that
the next caller would get it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import cast

from groundwire._optional import load

_MAX_BUFFERED = 1_000_000  # bytes that may wait for a slow client before reading from the upstream is paused
_MIN_TIMER = 1.0  # seconds: lower bound between two looks at a connection whose buffer is full

Address = tuple[str, str, int]  # scheme, host and port


class HttpConnectionError(Exception):
    """The upstream closed the connection or does not speak HTTP.

    `untouched`: a reused connection was closed before any response byte, so the request can be sent again.
    """

    def __init__(self, message: str, *, untouched: bool = False) -> None:
        super().__init__(message)
        self.untouched = untouched


class HttpReadTimeout(HttpConnectionError):
    """No byte arrived within the read timeout."""


@dataclass(frozen=True, slots=True)
class ResponseHead:
    status: int
    headers: Sequence[tuple[bytes, bytes]]

    def get(self, name: bytes) -> str:
        found = next((value for key, value in self.headers if key == name), b"")
        return found.decode("latin-1").strip().lower()


@dataclass(slots=True)
class HttpRequest:
    """A request; `headers` must not contain the host or the length."""

    method: str
    host: str
    target: str
    headers: Sequence[tuple[bytes, bytes]]
    body: bytes = b""
    read_timeout: float = 300.0

    def encode(self) -> bytes:
        lines = [f"{self.method} {self.target} HTTP/1.1\r\nhost: {self.host}\r\n".encode("latin-1")]
        lines += [name + b": " + value + b"\r\n" for name, value in self.headers]
        if self.body or self.method in ("POST", "PUT", "PATCH"):
            lines.append(b"content-length: %d\r\n" % len(self.body))
        return b"".join((*lines, b"\r\n", self.body))


class HttpConnection(asyncio.Protocol):
    """One connection, used for one request at a time; it can be reused while `is_usable`."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._new_parser = load("httptools:HttpResponseParser", feature="the proxy", extra="server")
        self._timer: asyncio.TimerHandle | None = None
        self.idle_since = 0.0
        self._was_used = False
        self._reset()

    def _reset(self) -> None:
        self._parser = self._new_parser(self)
        self._status = 0
        self._headers: list[tuple[bytes, bytes]] = []
        self._head: asyncio.Future[ResponseHead] | None = None
        self._chunks: list[bytes] = []
        self._buffered = 0
        self._reader: asyncio.Future[None] | None = None
        self._complete = False
        self._received_any = False
        self._error: HttpConnectionError | None = None
        self._head_only = False
        self._keep_alive = False
        self._paused = False
        self._extra_response = False

    # Called by the user of the connection.

    @property
    def is_usable(self) -> bool:
        return self._transport is not None and not self._transport.is_closing() and self._error is None

    async def send(self, request: HttpRequest) -> ResponseHead:
        """Send a request and wait for the response head."""
        assert self._transport is not None
        self._was_used, reused = True, self._was_used
        self._reset()
        self._head_only = request.method == "HEAD"
        self._read_timeout = request.read_timeout
        self._last_received = self._loop.time()
        self._head = self._loop.create_future()
        self._timer = self._loop.call_later(self._read_timeout, self._check_timeout)
        self._transport.write(request.encode())
        try:
            return await self._head
        except HttpConnectionError as error:
            error.untouched = reused and not self._received_any and not isinstance(error, HttpReadTimeout)
            raise
        finally:
            if not self._head.done() or self._head.cancelled():
                self.abort()

    async def body(self) -> AsyncIterator[bytes]:
        """Yield the body; each item is everything that has arrived since the last one."""
        while True:
            if self._chunks:
                chunks, self._chunks = self._chunks, []
                self._buffered = 0
                self._pause_reading(False)
                yield chunks[0] if len(chunks) == 1 else b"".join(chunks)
            elif self._complete:
                return
            elif self._error is not None:
                raise self._error
            else:
                self._reader = self._loop.create_future()
                await self._reader

    def release(self) -> bool:
        """Finish with the response. Return True if the connection can be reused; otherwise close it."""
        self._cancel_timer()
        reusable = self._complete and self._keep_alive and self.is_usable
        if not reusable:
            self.abort()
        self.idle_since = self._loop.time()
        return reusable

    def abort(self) -> None:
        """Close at once, so that the upstream stops working on the request."""
        self._cancel_timer()
        if self._transport is not None:
            self._transport.abort()

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    # Called by the transport.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's transports are not subclasses

    def data_received(self, data: bytes) -> None:
        self._last_received = self._loop.time()
        self._received_any = True
        if self._complete or self._head is None:
            self._fail(HttpConnectionError("the upstream sent data without a request"))
            self.abort()
            return
        import httptools

        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            self._fail(HttpConnectionError("the upstream does not speak HTTP"))
            self.abort()
        self._wake_reader()

    def connection_lost(self, exc: Exception | None) -> None:
        framed = any(name in (b"content-length", b"transfer-encoding") for name, _ in self._headers)
        if self._status and not framed and not self._complete and exc is None:
            self._complete = True  # a body without a length ends with the connection
        elif not self._complete:
            self._fail(HttpConnectionError("the upstream closed the connection"))
        self._error = self._error or HttpConnectionError("the connection is closed")
        self._wake_reader()

    def _fail(self, error: HttpConnectionError) -> None:
        self._error = self._error or error
        if self._head is not None and not self._head.done():
            self._head.set_exception(error)

    def _wake_reader(self) -> None:
        if self._reader is not None and not self._reader.done():
            self._reader.set_result(None)

    def _pause_reading(self, pause: bool) -> None:
        if pause is self._paused or self._transport is None or self._transport.is_closing():
            return
        self._paused = pause
        (self._transport.pause_reading if pause else self._transport.resume_reading)()

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _check_timeout(self) -> None:
        # One timer per connection that compares timestamps is cheaper than resetting one at every chunk.
        left = self._last_received + self._read_timeout - self._loop.time()
        if self._complete or self._error is not None:
            return
        if left > 0 or self._buffered > _MAX_BUFFERED:  # the client is slow, not the upstream
            self._timer = self._loop.call_later(max(left, _MIN_TIMER), self._check_timeout)
            return
        self._fail(HttpReadTimeout("the upstream sent nothing within the read timeout"))
        self._wake_reader()
        self.abort()

    # Called by the parser.

    def on_message_begin(self) -> None:
        # A second response to the same request must not be taken for the next request's response.
        self._extra_response = self._complete

    def on_header(self, name: bytes, value: bytes) -> None:
        self._headers.append((name.lower(), value))

    def on_headers_complete(self) -> None:
        status = self._parser.get_status_code()
        if status < 200 or self._extra_response:
            return
        self._status = status
        self._complete = self._head_only
        if self._head is not None and not self._head.done():
            self._head.set_result(ResponseHead(status, tuple(self._headers)))

    def on_body(self, body: bytes) -> None:
        if self._extra_response:
            return
        self._chunks.append(body)
        self._buffered += len(body)
        self._pause_reading(self._buffered > _MAX_BUFFERED)

    def on_message_complete(self) -> None:
        if self._status:
            self._complete = True
            reusable = not (self._head_only or self._extra_response)
            self._keep_alive = reusable and self._parser.should_keep_alive()
        else:
            self._headers.clear()  # 100 Continue or 103 Early Hints: the response is still to come


@dataclass(slots=True)
class ConnectionPool:
    """Idle connections by address; the one used last is taken first."""

    max_idle: int = 256  # per address
    idle_seconds: float = 30.0  # older connections are closed: the upstream may have dropped them
    _idle: dict[Address, list[HttpConnection]] = field(default_factory=dict)

    def take(self, address: Address) -> HttpConnection | None:
        now = asyncio.get_running_loop().time()
        idle = self._idle.get(address, [])
        while idle:
            connection = idle.pop()
            if connection.is_usable and now - connection.idle_since < self.idle_seconds:
                return connection
            connection.close()
        return None

    def put(self, address: Address, connection: HttpConnection) -> None:
        idle = self._idle.setdefault(address, [])
        if len(idle) >= self.max_idle:
            idle.pop(0).close()
        idle.append(connection)

    def close(self) -> None:
        for idle in self._idle.values():
            for connection in idle:
                connection.close()
        self._idle.clear()
