"""The MCP tools over streamable HTTP, at `/mcp` of the HTTP service."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from groundwire._optional import load
from groundwire.errors import MissingExtra

if TYPE_CHECKING:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

    from groundwire.server.service import Service

_MAX_SESSIONS = 1000  # bounds the memory that idle clients hold
_SESSION_IDLE_SECONDS = 1800.0  # half an hour between two calls


class McpEndpoint:
    """The ASGI application of `/mcp`; it loads the SDK at the first request.

    The sessions run in a task of their own: the SDK requires that the task that opens them closes them.
    """

    def __init__(self, service: Service) -> None:
        self._service = service
        self._stop = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._ready: asyncio.Future[StreamableHTTPSessionManager] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        # A GET would open a stream for messages that the server starts. This one has none, and an open stream
        # would delay its shutdown.
        if scope["method"] not in ("POST", "DELETE"):
            await Response(status_code=405, headers={"allow": "POST, DELETE"})(scope, receive, send)
            return
        manager = await self._session_manager()
        await manager.handle_request(scope, receive, send)

    async def _session_manager(self) -> StreamableHTTPSessionManager:
        if self._ready is None:
            self._ready = asyncio.get_running_loop().create_future()
            self._task = asyncio.create_task(self._run(self._ready))
        return await asyncio.shield(self._ready)

    async def _run(self, ready: asyncio.Future[StreamableHTTPSessionManager]) -> None:
        try:
            manager = await asyncio.to_thread(_create_manager, self._service)
        except MissingExtra as error:
            ready.set_exception(error)
            return
        async with manager.run():
            ready.set_result(manager)
            await self._stop.wait()

    async def aclose(self) -> None:
        self._stop.set()
        if self._task is not None:
            await self._task


def _create_manager(service: Service) -> StreamableHTTPSessionManager:
    # Host and origin are checked by the service's middleware, for this path as for every other.
    create_server = load("groundwire.mcp.server:create_server", feature="MCP", extra="mcp")
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

    return StreamableHTTPSessionManager(
        create_server(service),
        max_request_body_size=service.config.server.max_body_bytes,
        session_idle_timeout=_SESSION_IDLE_SECONDS,
        max_sessions=_MAX_SESSIONS,
    )
