"""The service put together: routes, what stands around them, and their life."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib import import_module

from fastapi import APIRouter, FastAPI

from groundwire.apps.server.leaving import Leaving
from groundwire.apps.server.service import Service
from groundwire.config import Config
from groundwire.version import __version__

ROUTERS: tuple[str, ...] = (
    "health",
    "check",
)
"""Modules under `routes`, each with a `router`, in the order in which they are matched."""


def create_app(config: Config | None = None, made: Service | None = None) -> FastAPI:
    """The whole service as an ASGI application; `made` is a service somebody else opened and closes."""
    held = made or Service(config or Config.load())

    @asynccontextmanager
    async def life(app: FastAPI) -> AsyncIterator[None]:
        app.state.service = held
        held.start()
        yield
        await held.aclose()

    app = FastAPI(title="groundwire", version=__version__, lifespan=life)
    app.add_middleware(Leaving)
    for name in ROUTERS:
        router: APIRouter = import_module(f"groundwire.apps.server.routes.{name}").router
        app.include_router(router)
    return app
