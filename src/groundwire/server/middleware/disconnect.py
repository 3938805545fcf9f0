"""Cancel the request handler when the client disconnects."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress

from starlette.types import ASGIApp, Message, Receive, Scope, Send

_DISCONNECT: Message = {"type": "http.disconnect"}
_EXEMPT = frozenset({"/mcp"})
"""MCP clients hang up as soon as they have their response, and their session must survive that."""


class CancelOnDisconnectMiddleware:
    """Once the request body has been read, listen for the disconnect and cancel the handler."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] in _EXEMPT:
            await self.app(scope, receive, send)
            return
        listener = _DisconnectListener(receive, send)
        handler = asyncio.ensure_future(self.app(scope, listener.receive, listener.send))
        listener.on_disconnect = handler.cancel
        try:
            await handler
        except asyncio.CancelledError:
            handler.cancel()
            if not listener.disconnected:  # the server itself is stopping
                raise
        finally:
            await listener.stop()


class _DisconnectListener:
    """The messages of one request. After the end of the body only the disconnect can follow."""

    def __init__(self, receive: Receive, send: Send) -> None:
        self._receive = receive
        self._send = send
        self._response_sent = False
        self._listening: asyncio.Task[None] | None = None
        self._disconnected = asyncio.Event()
        self.on_disconnect: Callable[[], object] = lambda: None

    @property
    def disconnected(self) -> bool:
        return self._disconnected.is_set()

    async def receive(self) -> Message:
        if self._listening is not None:
            await self._disconnected.wait()
            return _DISCONNECT
        message = await self._receive()
        if message["type"] == "http.request" and not message.get("more_body", False):
            self._listening = asyncio.create_task(self._listen())
        elif message["type"] == "http.disconnect":
            self._disconnected.set()
        return message

    async def send(self, message: Message) -> None:
        await self._send(message)
        if message["type"] == "http.response.body" and not message.get("more_body", False):
            self._response_sent = True  # what runs after the response is not the client's to cancel

    async def _listen(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass
        self._disconnected.set()
        if not self._response_sent:
            self.on_disconnect()

    async def stop(self) -> None:
        if self._listening is not None:
            self._listening.cancel()
            with suppress(asyncio.CancelledError):
                await self._listening
