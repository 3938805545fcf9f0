"""The service put together: routes, what stands around them, and their life."""

from __future__ import annotations

import signal
import socket
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from importlib import import_module
from types import FrameType
from typing import Any

import uvicorn
from fastapi import APIRouter, FastAPI

from groundwire.config import Config
from groundwire.config.service import ServerConfig
from groundwire.mcp.http import mount
from groundwire.server.middleware.timeout import Life
from groundwire.server.openapi import DESCRIPTION, SUMMARY, TAGS, describe, operation_id
from groundwire.server.problems import handle_errors
from groundwire.server.protocol import TimelyProtocol
from groundwire.server.service import Service
from groundwire.server.surround import surround
from groundwire.version import __version__

ROUTERS: tuple[str, ...] = (
    "page",
    "reports",
    "sources",
    "health",
    "check",
    "claims",
    "traces",
    "detect",
    "facts",
    "kb",
    "estimate",
    "outputs",
    "rag",
    "guard",
    "docs",
)
"""Modules under `routes`, each with a `router`, in the order in which they are matched."""


def create_app(
    config: Config | None = None, made: Service | None = None, routers: Sequence[str] = ROUTERS
) -> FastAPI:
    """The whole service as an ASGI application; `made` is its service where somebody else has use for it."""
    held = made or Service(config or Config.load())

    @asynccontextmanager
    async def life(app: FastAPI) -> AsyncIterator[None]:
        app.state.service = held
        held.start()
        yield
        await tools.aclose()
        await held.aclose()

    app = FastAPI(
        title="groundwire",
        summary=SUMMARY,
        description=DESCRIPTION,
        version=__version__,
        lifespan=life,
        docs_url=None,
        redoc_url=None,
        openapi_tags=TAGS,
        generate_unique_id_function=operation_id,
        telemetry={"tracing": False, "metrics": False, "logs": False},  # ours; older releases have none
    )
    handle_errors(app)
    surround(app, held)
    describe(app)
    proxied = ("proxy",) if held.config.proxy.upstreams else ()
    for name in (*routers, *proxied):
        router: APIRouter = import_module(f"groundwire.server.routes.{name}").router
        app.include_router(router)
    tools = mount(app, held)
    return app


# uvicorn around the application: one process, heads in time, and a shutdown that finishes what it took.

_LAST_SECONDS = 2
"""What requests have that are still under way when the grace is over, before they are cut off."""


_KEPT_OPEN = 75
"""Seconds between two requests of a connection: more than the minute that load balancers take for granted."""


class Server(uvicorn.Server):
    """The first signal: take nothing new, finish what is under way. The second: stop now.

    While it drains it still listens, so that whoever balances the load can read in /readyz that it leaves.
    """

    def __init__(self, config: uvicorn.Config, life: Life, grace: float, started: Callable[[], None]) -> None:
        super().__init__(config)
        self._life = life
        self._grace = grace
        self._until: float | None = None
        self._on_started = started

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._on_started()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:  # noqa: ARG002
        if self._until is None:
            self.drain()
        else:
            self.should_exit = True
            self.force_exit = self.force_exit or sig == signal.SIGINT

    def drain(self) -> None:
        self._life.draining = True
        self._until = time.monotonic() + self._grace

    async def on_tick(self, counter: int) -> bool:
        if self._until is not None and (not self._life.under_way or time.monotonic() >= self._until):
            self.should_exit = True
        return await super().on_tick(counter)


def make_server(
    app: Any, settings: ServerConfig, life: Life, started: Callable[[], None] = lambda: None
) -> Server:
    class Protocol(TimelyProtocol):
        head_seconds = settings.body_timeout

    config = uvicorn.Config(
        app,
        http=Protocol,
        ws="none",
        lifespan="on",
        log_config=None,
        log_level="error",
        access_log=False,
        server_header=False,
        timeout_keep_alive=_KEPT_OPEN,
        timeout_graceful_shutdown=_LAST_SECONDS,
    )
    return Server(config, life, settings.shutdown_grace, started)
