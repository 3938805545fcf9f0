"""`/v1/…`: whatever is none of our own routes goes to the upstreams that are configured."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from groundwire.server.middleware.auth import scope_of
from groundwire.server.service import Service


class Forward:
    """Plain ASGI: the answer is written as it comes, by whoever fetches it."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope_of(scope["path"], scope["method"]) != "proxy":
            raise HTTPException(404)  # the neighbourhood of a route of ours is nobody else's
        scope["route"] = ROUTE  # its name in logs and figures
        held: Service = scope["app"].state.service
        await held.proxying.answer(Request(scope, receive), send)


ROUTE = Route("/v1/{path:path}", Forward())
router = APIRouter()
router.routes.append(ROUTE)
