"""Time limits: of a single request, and of a server that is shutting down."""

from __future__ import annotations

import asyncio

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
_CUT_OFF = Problem(
    "unavailable", "this server shut down before the request was done", retry_after=1, headers=_CLOSE
)


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
