"""The application (routes, middleware, lifespan), its OpenAPI document, and the uvicorn server that runs it."""

from __future__ import annotations

import json
import re
import signal
import socket
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import cache, partial
from importlib import import_module
from types import FrameType
from typing import Any

import uvicorn
from fastapi import APIRouter, FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from groundwire.config import Config, ServerConfig
from groundwire.server.auth import PUBLIC, KeyCache, scope_of
from groundwire.server.mcp import McpEndpoint
from groundwire.server.middleware import ServerState, middleware_stack
from groundwire.server.problems import DOCUMENTED, KINDS, FieldError, ProblemDocument, handle_errors
from groundwire.server.service import Service
from groundwire.stores.keys import SCOPES, KeyStore
from groundwire.version import __version__

ROUTERS: tuple[str, ...] = ("page", "health", "reports", "check", "facts", "outputs", "answers")
"""Modules of `routes`, each with a `router`, in the order in which they are matched."""


class ProxyEndpoint:
    """Pure ASGI, because the proxy writes the response itself while it receives it."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope_of(scope["path"], scope["method"]) != "proxy":
            raise HTTPException(404)  # a path below one of our own routes is never forwarded
        scope["route"] = PROXY_ROUTE  # its name in logs and metrics
        service: Service = scope["app"].state.service
        await service.proxy.answer(Request(scope, receive), send)


SUMMARY = "How many bits of evidence stand behind each claim an LLM makes."
_SCOPES = ", ".join(f"`{scope}`" for scope in SCOPES)
_PROBLEMS = "\n".join(
    f'| <span id="problem-{kind.name}">`{kind.name}`</span> | {kind.status} | {kind.title} |' for kind in KINDS.values()
)
DESCRIPTION = f"""Send an answer and its sources; get back, claim by claim, the probability with the evidence
(`p1`) and without it (`p0`), the bits of evidence required and observed, and a verdict.

**Authentication.** On loopback no key is needed. Elsewhere send one as `Authorization: Bearer gw_…` (or in
`X-Groundwire-Key`); `groundwire keys add NAME --scope check` creates one. Scopes: {_SCOPES}.

**Errors** are problem documents (RFC 9457): `type` names the kind, `detail` says what happened in one line,
`errors` lists invalid fields. A backend that fails is not an error of a check: its claims are `UNCHECKED`,
which is not the same as fine.

**Request ids.** `X-Request-Id` is taken over if you send one, and returned with every response. `traceparent`
is honoured too.

**Limits.** Above a key's rate or the server's capacity the status is 429 with `Retry-After`.

| problem | status | meaning |
|---|---|---|
{_PROBLEMS}
"""

TAGS: list[dict[str, str]] = [
    {"name": "check", "description": "Verify answers, claims and reasoning traces."},
    {"name": "facts", "description": "Facts that were verified before they were stored."},
    {"name": "knowledge", "description": "The server's knowledge base."},
    {"name": "reports", "description": "Stored reports."},
    {"name": "rag", "description": "The chatbot over your documents."},
    {"name": "sources", "description": "Extract the text of files."},
    {"name": "estimate", "description": "Bare probabilities, for another groundwire."},
    {"name": "operation", "description": "Health, readiness and metrics."},
]
_KEY = "key"
_REFERENCE = re.compile(r'("#/components/schemas/)(\w+)"')
PROXY_ROUTE = Route("/v1/{path:path}", ProxyEndpoint())
_KEEP_ALIVE_SECONDS = 75
_MAX_READ_HEAD_BYTES = 1_048_576
"""Longer heads are cut off by closing the connection, often before the client reads why. Those above
MAX_HEAD_BYTES and below this get a problem document."""
"""Idle time of a connection between two requests: longer than the 60 s that load balancers assume."""
_CANCEL_SECONDS = 2  # time that in-flight requests get after the grace period before they are cancelled


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
        responses=DOCUMENTED,
        generate_unique_id_function=operation_id,
        middleware=middleware_stack(
            config, service.metrics, service.state, KeyCache(lambda: KeyStore(service.database).standing())
        ),
        telemetry={"tracing": False, "metrics": False, "logs": False},  # TelemetryMiddleware does it
    )
    handle_errors(app)
    app.openapi = cache(partial(openapi_document, app))  # type: ignore[method-assign]
    for name in routers:
        router: APIRouter = import_module(f"groundwire.server.routes.{name}").router
        app.include_router(router)
    if config.proxy.upstreams:
        app.router.routes.append(PROXY_ROUTE)  # last: it takes every other path below /v1
    mcp = McpEndpoint(service)
    app.router.routes.append(Route("/mcp", mcp, include_in_schema=False))
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
        http="h11",  # unlike httptools it bounds the size of the request head
        h11_max_incomplete_event_size=_MAX_READ_HEAD_BYTES,
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


# ---- the OpenAPI document: FastAPI's own, with authentication and problem documents described


def operation_id(route: APIRoute) -> str:
    """The name that generated clients use, such as `post_claims_verify`."""
    words = re.findall(r"\w+", route.path_format.removeprefix("/v1"))
    return "_".join([min(route.methods or {"get"}).lower(), *words])


def openapi_document(app: FastAPI) -> dict[str, Any]:
    document = get_openapi(
        title=app.title,
        version=app.version,
        summary=app.summary,
        description=app.description,
        routes=app.routes,
        tags=app.openapi_tags,
    )
    components = document.setdefault("components", {})
    schemas = components.setdefault("schemas", {})
    schemas["FieldError"] = FieldError.model_json_schema()
    schemas["Problem"] = ProblemDocument.model_json_schema(ref_template="#/components/schemas/{model}")
    schemas["Problem"].pop("$defs", None)
    components["securitySchemes"] = {_KEY: {"type": "http", "scheme": "bearer", "bearerFormat": "gw_…"}}
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            if scope_of(path, method.upper()) != PUBLIC:
                operation["security"] = [{_KEY: []}, {}]
            # The first line of a function's docstring is its summary, the rest its description.
            summary, _, description = operation.get("description", "").partition("\n")
            operation |= {"summary": summary.rstrip("."), "description": description.strip()}
    return _without_suffix(document)


def _without_suffix(document: dict[str, Any]) -> dict[str, Any]:
    """Schemas are called `Report`, not `ReportOut`: the suffixes In and Out only tell classes apart here."""
    names = document["components"]["schemas"]
    short = {name: name.removesuffix("Out").removesuffix("In") for name in names}
    assert len(set(short.values())) == len(names), "two schemas would get the same name"
    document["components"]["schemas"] = {short.get(name, name): schema for name, schema in names.items()}
    text = _REFERENCE.sub(lambda found: f'{found[1]}{short.get(found[2], found[2])}"', json.dumps(document))
    renamed: dict[str, Any] = json.loads(text)
    return renamed
