"""Read request bodies whole before any work begins, and reject those that are too large, slow or malformed.

A client that sends slowly or too much thus holds neither the engine nor a place in its queue.
"""

from __future__ import annotations

import asyncio
import json
import re
from contextlib import suppress

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from groundwire.config import ServerConfig
from groundwire.server.middleware.auth import scope_of
from groundwire.server.problems import Problem, send_problem

MIN_BYTES_PER_SECOND = 64_000
"""Slowest accepted transfer: this many received bytes extend the deadline by a second."""
_MAX_FULL_SIZE_BODIES = 16
"""Bodies of the largest size that may be in memory at once."""
_CONTENT_TYPES = re.compile(r"application/(?:[\w.-]+\+)?json|application/x-ndjson|multipart/form-data")
_ESCAPED_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
_CLOSE = {"connection": "close"}
_BUSY = Problem("unavailable", "too many large bodies at once", retry_after=1, headers=_CLOSE)


_TWO_LENGTHS = Problem(
    "malformed", "a request has either content-length or transfer-encoding, not both", headers=_CLOSE
)


class FramingMiddleware:
    """Reject requests that state the length of their body twice, before anything else is said to them.

    A proxy in front may believe the other length: what it takes for the body would be our next request.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        names = {name for name, _ in scope.get("headers", ())}
        if b"content-length" in names and b"transfer-encoding" in names:
            await send_problem(_TWO_LENGTHS, scope, receive, send)
        else:
            await self.app(scope, receive, send)


class BodyLimitMiddleware:
    """Read each body and pass it on in one piece."""

    def __init__(self, app: ASGIApp, config: ServerConfig) -> None:
        self.app = app
        self._max_bytes = config.max_body_bytes
        self._seconds = config.body_timeout
        self._bytes_in_memory = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        body = self._rejected(scope, headers) or await self._read(receive)
        if isinstance(body, Problem):
            await send_problem(body, scope, receive, send)
        elif body is not None:  # None: the client disconnected before the end of the body
            try:
                await self._pass_on(body, headers, scope, receive, send)
            finally:
                self._bytes_in_memory -= len(body)

    async def _pass_on(self, body: bytes, headers: Headers, scope: Scope, receive: Receive, send: Send) -> None:
        # The proxy forwards bodies unread, so they need not be JSON.
        proxied = scope_of(scope["path"], scope["method"]) == "proxy"
        problem = None if proxied else _find_problem(body, headers)
        if problem is not None:
            await send_problem(problem, scope, receive, send)
        else:
            await self.app(scope, _replay(body, receive), send)

    def _rejected(self, scope: Scope, headers: Headers) -> Problem | None:
        """A problem that is known before the first byte of the body."""
        if "\x00" in scope["path"] or b"%00" in scope.get("query_string", b""):
            return Problem("malformed", "the URL contains a NUL character")  # databases reject it
        length = headers.get("content-length")
        if length is not None and length.isdecimal() and int(length) > self._max_bytes:
            return self._too_large()
        return None

    def _too_large(self) -> Problem:
        return Problem("too-large", f"a body may have at most {self._max_bytes:,} bytes", headers=_CLOSE)

    async def _read(self, receive: Receive) -> bytes | Problem | None:
        """The whole body, or None if the client disconnected. A returned body stays counted."""
        loop, pieces, size = asyncio.get_running_loop(), [], 0
        deadline, complete = loop.time() + self._seconds, False
        try:
            while not complete:
                async with asyncio.timeout_at(deadline + size / MIN_BYTES_PER_SECOND):
                    message = await receive()
                if message["type"] == "http.disconnect":
                    return None
                piece: bytes = message.get("body", b"")
                pieces.append(piece)
                size, self._bytes_in_memory = size + len(piece), self._bytes_in_memory + len(piece)
                if size > self._max_bytes:
                    return self._too_large()
                if self._bytes_in_memory > self._max_bytes * _MAX_FULL_SIZE_BODIES:
                    return _BUSY
                complete = not message.get("more_body", False)
            return b"".join(pieces)
        except TimeoutError:
            detail = f"the body did not arrive within {self._seconds:g} s"
            return Problem("too-slow", detail, headers=_CLOSE)
        finally:
            self._bytes_in_memory -= 0 if complete else size


def _find_problem(body: bytes, headers: Headers) -> Problem | None:
    """A problem that makes a body unusable for every route."""
    if not body:
        return None
    media_type = headers.get("content-type", "").partition(";")[0].strip().lower()
    if not _CONTENT_TYPES.fullmatch(media_type):
        detail = f"unsupported content type {media_type[:100]!r}" if media_type else "no content type given"
        return Problem("wrong-type", detail, "send content-type: application/json")
    if not media_type.endswith("json"):
        return None
    try:
        body.decode("utf-8")
    except UnicodeDecodeError as error:
        return Problem("malformed", f"the body is not UTF-8 (byte {error.start})")
    if _ESCAPED_SURROGATE.search(body) and _has_lone_surrogate(body):
        return Problem("malformed", "the body contains half a surrogate pair")
    return None


def _has_lone_surrogate(body: bytes) -> bool:
    with suppress(ValueError, RecursionError):  # invalid JSON is reported by the route that parses it
        try:
            json.dumps(json.loads(body), ensure_ascii=False).encode()
        except UnicodeEncodeError:
            return True
    return False


def _replay(body: bytes, receive: Receive) -> Receive:
    pending: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def next_message() -> Message:
        return pending.pop() if pending else await receive()

    return next_message
