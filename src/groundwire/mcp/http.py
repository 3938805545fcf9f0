"""`groundwire mcp --http HOST:PORT`: the service with nothing on it but the tools and its health."""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

import mcp  # noqa: F401 (whoever lacks the SDK hears it before anything listens)
from groundwire._optional import load
from groundwire.cli.serve import run_serve
from groundwire.config import Config
from groundwire.errors import InputError, MissingExtra

if TYPE_CHECKING:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

    from groundwire.server.service import Service
    from groundwire.stores.knowledge import Knowledge

_ADDRESS = re.compile(r"(?:(?P<host>\[[0-9a-fA-F:.]+\]|[^:\s]+):|:)?(?P<port>\d{1,5})")
ROUTERS = ("health",)


def run_http(address: str, config: Config) -> int:
    """Loopback unless told otherwise; where others can reach it, callers need keys, as everywhere."""
    host, port = parsed(address)
    server = config.server.model_copy(update={"host": host or config.server.host, "port": port})
    return run_serve(config.model_copy(update={"server": server}), ROUTERS)


def parsed(address: str) -> tuple[str, int]:
    """
    >>> parsed("0.0.0.0:80"), parsed("[::1]:8322"), parsed(":8322"), parsed("8322")
    (('0.0.0.0', 80), ('::1', 8322), ('', 8322), ('', 8322))
    """
    found = _ADDRESS.fullmatch(address.strip())
    if found is None or int(found["port"]) > 65535:
        raise InputError(f"'{address}' is no address", hint="write HOST:PORT, such as 127.0.0.1:8322")
    return (found["host"] or "").strip("[]"), int(found["port"])


# The tools at `/mcp` of the HTTP service: behind its keys, its limits and its engine.
#
# The SDK is loaded when somebody first asks, and its sessions live in a task of their own: what opens them must
# close them.

PATH = "/mcp"
_MOST_SESSIONS = 1000
_IDLE = 1800.0


class Endpoint:
    """An ASGI application for one path. A GET would open a stream for what a server says unasked: this one
    says nothing unasked, and an open stream would only keep it from stopping.
    """

    def __init__(self, held: Service) -> None:
        self._held = held
        self._end = asyncio.Event()
        self._life: asyncio.Task[None] | None = None
        self._ready: asyncio.Future[StreamableHTTPSessionManager] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] not in ("POST", "DELETE"):
            await Response(status_code=405, headers={"allow": "POST, DELETE"})(scope, receive, send)
            return
        manager = await self._opened()
        await manager.handle_request(scope, receive, send)

    async def _opened(self) -> StreamableHTTPSessionManager:
        if self._ready is None:
            self._ready = asyncio.get_running_loop().create_future()
            self._life = asyncio.create_task(self._live(self._ready))
        return await asyncio.shield(self._ready)

    async def _live(self, ready: asyncio.Future[StreamableHTTPSessionManager]) -> None:
        try:
            manager = await asyncio.to_thread(_manager, self._held)
        except MissingExtra as error:
            ready.set_exception(error)
            return
        async with manager.run():
            ready.set_result(manager)
            await self._end.wait()

    async def aclose(self) -> None:
        self._end.set()
        if self._life is not None:
            await self._life


class Shared:
    """The service as the tools take it."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self.engine_for = service.engine_for
        self.work = service.work
        self.with_opinions = service.with_opinions

    async def known(self, request: Any) -> Knowledge | None:
        """By the rule of every other path: what is known is for callers who may read it."""
        from groundwire.server.knowing import known

        return await known(True, request, self._service)


def _manager(held: Service) -> StreamableHTTPSessionManager:
    # Names and origins are looked at by the service's own guard, for this path as for every other.
    create_server = load("groundwire.mcp.server:create_server", feature="MCP", extra="mcp")
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

    return StreamableHTTPSessionManager(
        create_server(Shared(held)),
        max_request_body_size=held.config.server.max_body_bytes,
        session_idle_timeout=_IDLE,
        max_sessions=_MOST_SESSIONS,
    )


def mount(app: Starlette, held: Service) -> Endpoint:
    """Put the tools on the service; whoever calls this closes what it gives."""
    endpoint = Endpoint(held)
    app.router.routes.append(Route(PATH, endpoint=endpoint, include_in_schema=False))
    return endpoint
