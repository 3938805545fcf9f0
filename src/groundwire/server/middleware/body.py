"""Bodies, read whole before any work is taken up: not too large, not too slow, of a known kind, and text.

Whoever sends slowly, or too much, thus holds neither the engine nor a place in its queue.
"""

from __future__ import annotations

import asyncio
import json
import re
from contextlib import suppress

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from groundwire.config.service import ServerConfig
from groundwire.server.middleware.auth import scope_of
from groundwire.server.problems import Problem, tell

SLOWEST = 64_000
"""Bytes a second: every so many bytes that came win a sender another second."""
_AT_ONCE = 16
"""Bodies of the largest size that may be under way together."""
_KINDS = re.compile(r"application/(?:[\w.-]+\+)?json|application/x-ndjson|multipart/form-data")
_HALF = re.compile(rb"\\u[dD][89a-fA-F]")
_CLOSE = {"connection": "close"}
_BUSY = Problem("unavailable", "too many large bodies at once", retry_after=1, headers=_CLOSE)


class Bodies:
    """Reads each body and hands it on in one piece."""

    def __init__(self, app: ASGIApp, config: ServerConfig) -> None:
        self.app = app
        self._most = config.max_body_bytes
        self._seconds = config.body_timeout
        self._held = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        body = self._refused(scope, headers) or await self._read(receive)
        if isinstance(body, Problem):
            await tell(body, scope, receive, send)
        elif body is not None:  # None: the sender left before all was sent
            try:
                await self._hand_on(body, headers, scope, receive, send)
            finally:
                self._held -= len(body)

    async def _hand_on(
        self, body: bytes, headers: Headers, scope: Scope, receive: Receive, send: Send
    ) -> None:
        ours = scope_of(scope["path"], scope["method"]) != "proxy"  # what goes on to a model is not read here
        wrong = _unreadable(body, headers) if ours else None
        if wrong is not None:
            await tell(wrong, scope, receive, send)
        else:
            await self.app(scope, _replayed(body, receive), send)

    def _refused(self, scope: Scope, headers: Headers) -> Problem | None:
        """What can be said before the first byte. No database takes a NUL, and no name holds one."""
        if "\x00" in scope["path"] or b"%00" in scope.get("query_string", b""):
            return Problem("malformed", "there is a NUL in the address")
        length = headers.get("content-length")
        if length is not None and length.isdecimal() and int(length) > self._most:
            return self._too_large()
        return None

    def _too_large(self) -> Problem:
        return Problem("too-large", f"a body may have {self._most:,} bytes", headers=_CLOSE)

    async def _read(self, receive: Receive) -> bytes | Problem | None:
        """All of it; None where the sender left. What is given back counts as held until it is handed on."""
        loop, pieces, size = asyncio.get_running_loop(), [], 0
        until, whole = loop.time() + self._seconds, False
        try:
            while not whole:
                async with asyncio.timeout_at(until + size / SLOWEST):
                    message = await receive()
                if message["type"] == "http.disconnect":
                    return None
                piece: bytes = message.get("body", b"")
                pieces.append(piece)
                size, self._held = size + len(piece), self._held + len(piece)
                if size > self._most:
                    return self._too_large()
                if self._held > self._most * _AT_ONCE:
                    return _BUSY
                whole = not message.get("more_body", False)
            return b"".join(pieces)
        except TimeoutError:
            return Problem("too-slow", f"the body did not come within {self._seconds:g} s", headers=_CLOSE)
        finally:
            self._held -= 0 if whole else size


def _unreadable(body: bytes, headers: Headers) -> Problem | None:
    """What is wrong with a body whoever it is for."""
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if not body:
        return None
    if not _KINDS.fullmatch(kind):
        said = f"a body of the type {kind[:100]!r}" if kind else "a body without a content-type"
        return Problem("wrong-type", f"{said} is not read here", "send content-type: application/json")
    if not kind.endswith("json"):
        return None
    try:
        body.decode("utf-8")
    except UnicodeDecodeError as error:
        return Problem("malformed", f"the body is not UTF-8 (byte {error.start})")
    if _HALF.search(body) and _holds_half(body):
        return Problem("malformed", "the body holds half a surrogate pair, which is no character")
    return None


def _holds_half(body: bytes) -> bool:
    with suppress(ValueError, RecursionError):  # those are told by whoever reads it
        try:
            json.dumps(json.loads(body), ensure_ascii=False).encode()
        except UnicodeEncodeError:
            return True
    return False


def _replayed(body: bytes, receive: Receive) -> Receive:
    pending: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def next_message() -> Message:
        return pending.pop() if pending else await receive()

    return next_message
