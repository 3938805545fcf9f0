"""The service put together: routes, what stands around them, and their life."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from importlib import import_module

from fastapi import APIRouter, FastAPI

from groundwire.config import Config
from groundwire.mcp.http import mount
from groundwire.server.openapi import DESCRIPTION, SUMMARY, TAGS, describe, operation_id
from groundwire.server.problems import handle_errors
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
