"""How long a request may take, and what a server that is about to stop still takes on."""

from __future__ import annotations

import asyncio

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from groundwire.server.middleware.auth import scope_of
from groundwire.server.problems import Problem, tell

_OWN_PACE = frozenset({"proxy", "rag", "rag:write"})
"""Scopes whose routes wait for a language model and have time limits of their own."""
_WRITING = frozenset({"/v1/guard"})
"""Paths of another scope that wait for one as well."""
_STILL = frozenset({"/healthz", "/readyz", "/metrics"})
_CLOSE = {"connection": "close"}
_LEAVING = Problem("unavailable", "this server is about to stop", retry_after=1, headers=_CLOSE)
_CUT_OFF = Problem("unavailable", "this server stopped before it was done", retry_after=1, headers=_CLOSE)


class Life:
    """What is under way, and whether the server is about to stop."""

    def __init__(self) -> None:
        self.draining = False
        self.under_way = 0


class Draining:
    """Counts requests; once the server drains, new ones are refused and the others are finished."""

    def __init__(self, app: ASGIApp, life: Life) -> None:
        self.app = app
        self._life = life

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] in _STILL:
            await self.app(scope, receive, send)
            return
        if self._life.draining:
            await tell(_LEAVING, scope, receive, send)
            return
        self._life.under_way += 1
        try:
            await self._finished(scope, receive, send)
        finally:
            self._life.under_way -= 1

    async def _finished(self, scope: Scope, receive: Receive, send: Send) -> None:
        """What outlasts the grace is told so, where nothing was answered yet."""
        begun = False

        async def sending(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            await self.app(scope, receive, sending)
        except asyncio.CancelledError:
            if begun or not self._life.draining:
                raise
            await tell(_CUT_OFF, scope, receive, send)


class Timely:
    """An answer must begin in so many seconds; how long it goes on is its own affair."""

    def __init__(self, app: ASGIApp, seconds: float) -> None:
        self.app = app
        self._seconds = seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or _has_own_pace(scope["path"], scope["method"]):
            await self.app(scope, receive, send)
            return
        begun = False

        async def sending(message: Message) -> None:
            nonlocal begun
            if not begun:
                begun = True
                limit.reschedule(None)
            await send(message)

        try:
            async with asyncio.timeout(self._seconds) as limit:
                await self.app(scope, receive, sending)
        except TimeoutError:
            if begun or not limit.expired():
                raise
            late = Problem("timeout", f"there was no answer within {self._seconds:g} s")
            await tell(late, scope, receive, send)


def _has_own_pace(path: str, method: str) -> bool:
    return path in _WRITING or scope_of(path, method) in _OWN_PACE
