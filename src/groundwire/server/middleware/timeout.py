"""When a request ends early: its time is up, its client has gone, or the server is shutting down."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from groundwire.server.middleware.auth import scope_of
from groundwire.server.problems import Problem, send_problem

_UNLIMITED_SCOPES = frozenset({"proxy", "rag", "rag:write"})
"""Their routes wait for a language model and have time limits of their own."""
_UNLIMITED_PATHS = frozenset({"/v1/guard"})
"""Routes of other scopes that wait for a language model."""
_SERVED_WHILE_DRAINING = frozenset({"/healthz", "/readyz", "/metrics"})
_CLOSE = {"connection": "close"}
_DRAINING = Problem("unavailable", "this server is shutting down", retry_after=1, headers=_CLOSE)
_CUT_OFF = Problem("unavailable", "this server shut down before the request was done", retry_after=1, headers=_CLOSE)


class ServerState:
    """The number of requests in flight, and whether the server is shutting down."""

    def __init__(self) -> None:
        self.draining = False
        self.in_flight = 0


class DrainMiddleware:
    """Count requests; while the server drains, reject new ones and let the others finish."""

    def __init__(self, app: ASGIApp, state: ServerState) -> None:
        self.app = app
        self._state = state

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] in _SERVED_WHILE_DRAINING:
            await self.app(scope, receive, send)
            return
        if self._state.draining:
            await send_problem(_DRAINING, scope, receive, send)
            return
        self._state.in_flight += 1
        try:
            await self._call(scope, receive, send)
        finally:
            self._state.in_flight -= 1

    async def _call(self, scope: Scope, receive: Receive, send: Send) -> None:
        started = False

        async def track_start(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        try:
            await self.app(scope, receive, track_start)
        except asyncio.CancelledError:
            # uvicorn cancels requests that outlast the grace period
            if started or not self._state.draining:
                raise
            await send_problem(_CUT_OFF, scope, receive, send)


class TimeoutMiddleware:
    """Limit the time to the first response byte; streaming afterwards is not limited."""

    def __init__(self, app: ASGIApp, seconds: float) -> None:
        self.app = app
        self._seconds = seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or _is_unlimited(scope["path"], scope["method"]):
            await self.app(scope, receive, send)
            return
        started = False

        async def lift_limit(message: Message) -> None:
            nonlocal started
            if not started:
                started = True
                limit.reschedule(None)
            await send(message)

        try:
            async with asyncio.timeout(self._seconds) as limit:
                await self.app(scope, receive, lift_limit)
        except TimeoutError:
            if started or not limit.expired():  # a TimeoutError of the application itself
                raise
            problem = Problem("timeout", f"no response within {self._seconds:g} s")
            await send_problem(problem, scope, receive, send)


def _is_unlimited(path: str, method: str) -> bool:
    return path in _UNLIMITED_PATHS or scope_of(path, method) in _UNLIMITED_SCOPES


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
