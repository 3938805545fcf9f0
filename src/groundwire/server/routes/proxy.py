"""`/v1/…`: forward every path that is not a route of this server to the configured upstreams."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from groundwire.server.middleware.auth import scope_of
from groundwire.server.service import Service


class ProxyEndpoint:
    """Pure ASGI, because the proxy writes the response itself while it receives it."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope_of(scope["path"], scope["method"]) != "proxy":
            raise HTTPException(404)  # a path below one of our own routes is never forwarded
        scope["route"] = ROUTE  # its name in logs and metrics
        service: Service = scope["app"].state.service
        await service.proxy.answer(Request(scope, receive), send)


ROUTE = Route("/v1/{path:path}", ProxyEndpoint())
router = APIRouter()
router.routes.append(ROUTE)
