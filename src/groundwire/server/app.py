"""The application (routes, middleware, lifespan) and the uvicorn server that runs it."""

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
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from groundwire.config import Config
from groundwire.config.service import ServerConfig
from groundwire.server.mcp import mount
from groundwire.server.middleware import middleware_stack
from groundwire.server.middleware.auth import KeyCache, scope_of
from groundwire.server.middleware.timeout import ServerState
from groundwire.server.openapi import DESCRIPTION, SUMMARY, TAGS, operation_id, use_custom_openapi
from groundwire.server.problems import handle_errors
from groundwire.server.service import Service
from groundwire.stores.keys import KeyStore
from groundwire.version import __version__

ROUTERS: tuple[str, ...] = ("page", "reports", "health", "check", "facts", "outputs", "rag", "guard", "litellm")
"""Modules of `routes`, each with a `router`, in the order in which they are matched."""


class ProxyEndpoint:
    """Pure ASGI, because the proxy writes the response itself while it receives it."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope_of(scope["path"], scope["method"]) != "proxy":
            raise HTTPException(404)  # a path below one of our own routes is never forwarded
        scope["route"] = PROXY_ROUTE  # its name in logs and metrics
        service: Service = scope["app"].state.service
        await service.proxy.answer(Request(scope, receive), send)


PROXY_ROUTE = Route("/v1/{path:path}", ProxyEndpoint())
_KEEP_ALIVE_SECONDS = 75
"""Idle time of a connection between two requests: longer than the 60 s that load balancers assume."""
_CANCEL_SECONDS = 2
"""Time that in-flight requests get after the grace period before they are cancelled."""


def create_app(config: Config | None = None, made: Service | None = None, routers: Sequence[str] = ROUTERS) -> FastAPI:
    """The service as an ASGI application.

    `made` is a service that the caller already has; it is started and closed with the application.
    """
    service = made or Service(config or Config.load())
    config = service.config

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        app.state.service = service
        service.start()
        yield
        await mcp.aclose()
        await service.aclose()

    app = FastAPI(
        title="groundwire",
        summary=SUMMARY,
        description=DESCRIPTION,
        version=__version__,
        lifespan=lifespan,
        docs_url=None,  # routes/page.py serves it from local assets
        redoc_url=None,
        openapi_tags=TAGS,
        generate_unique_id_function=operation_id,
        middleware=middleware_stack(
            config, service.metrics, service.state, KeyCache(lambda: KeyStore(service.database).standing())
        ),
        telemetry={"tracing": False, "metrics": False, "logs": False},  # TelemetryMiddleware does it
    )
    handle_errors(app)
    use_custom_openapi(app)
    for name in routers:
        router: APIRouter = import_module(f"groundwire.server.routes.{name}").router
        app.include_router(router)
    if config.proxy.upstreams:
        app.router.routes.append(PROXY_ROUTE)  # last: it takes every other path below /v1
    mcp = mount(app, service)
    return app


class DrainingServer(uvicorn.Server):
    """The first signal drains: reject new requests, finish those in flight. The second one stops at once.

    A draining server keeps listening, so that load balancers see in /readyz that it is going away.
    """

    def __init__(
        self, config: uvicorn.Config, state: ServerState, grace: float, on_started: Callable[[], None]
    ) -> None:
        super().__init__(config)
        self._state = state
        self._grace = grace
        self._drain_until: float | None = None
        self._on_started = on_started

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._on_started()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:  # noqa: ARG002
        if self._drain_until is None:
            self.drain()
        else:
            self.should_exit = True
            self.force_exit = self.force_exit or sig == signal.SIGINT

    def drain(self) -> None:
        self._state.draining = True
        self._drain_until = time.monotonic() + self._grace

    async def on_tick(self, counter: int) -> bool:
        until = self._drain_until
        if until is not None and (not self._state.in_flight or time.monotonic() >= until):
            self.should_exit = True
        return await super().on_tick(counter)


def make_server(
    app: Any, settings: ServerConfig, state: ServerState, on_started: Callable[[], None] = lambda: None
) -> DrainingServer:
    config = uvicorn.Config(
        app,
        http="h11",  # unlike httptools it bounds the size of the request head (64 KiB)
        ws="none",
        lifespan="on",
        log_config=None,
        log_level="error",
        access_log=False,
        server_header=False,
        timeout_keep_alive=_KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=_CANCEL_SECONDS,
    )
    return DrainingServer(config, state, settings.shutdown_grace, on_started)
