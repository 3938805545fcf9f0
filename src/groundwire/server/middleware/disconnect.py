"""A client that goes takes its work along: the handler of a request is cancelled when nobody waits for it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import suppress
from typing import Any

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Asgi = Callable[[Message, Receive, Send], Awaitable[None]]

_GONE: Message = {"type": "http.disconnect"}
_BY_ITSELF = frozenset({"/mcp"})
"""Paths that watch for it themselves: an MCP client that has heard enough hangs up, and its session stays."""


class Leaving:
    """ASGI middleware, the outermost one. Once a request has been read whole, it listens for its end."""

    def __init__(self, app: Asgi) -> None:
        self._app = app

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] in _BY_ITSELF:
            await self._app(scope, receive, send)
            return
        watched = _Watched(receive, send)
        handling = asyncio.ensure_future(self._app(scope, watched.receive, watched.send))
        watched.on_gone = handling.cancel
        try:
            await handling
        except asyncio.CancelledError:
            handling.cancel()
            if not watched.gone:  # the server itself is stopping
                raise
        finally:
            await watched.stop()


class _Watched:
    """The messages of one request. After the last of its body only the news that the client left can come."""

    def __init__(self, receive: Receive, send: Send) -> None:
        self._receive = receive
        self._send = send
        self._answered = False
        self._listening: asyncio.Task[None] | None = None
        self._end = asyncio.Event()
        self.on_gone: Callable[[], object] = lambda: None

    @property
    def gone(self) -> bool:
        return self._end.is_set()

    async def receive(self) -> Message:
        if self._listening is not None:
            await self._end.wait()
            return _GONE
        message = await self._receive()
        if message["type"] == "http.request" and not message.get("more_body", False):
            self._listening = asyncio.create_task(self._listen())
        elif message["type"] == "http.disconnect":
            self._end.set()
        return message

    async def send(self, message: Message) -> None:
        await self._send(message)
        if message["type"] == "http.response.body" and not message.get("more_body", False):
            self._answered = True  # what is done after the answer was not done for the client

    async def _listen(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass
        self._end.set()
        if not self._answered:
            self.on_gone()

    async def stop(self) -> None:
        if self._listening is not None:
            self._listening.cancel()
            with suppress(asyncio.CancelledError):
                await self._listening
