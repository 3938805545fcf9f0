"""Dependencies of the routes: the service, and the knowledge base for callers who may read it."""

from __future__ import annotations

import asyncio
from typing import Annotated

from fastapi import Depends, Request

from groundwire.server.middleware.auth import Caller
from groundwire.server.problems import Forbidden
from groundwire.server.service import Service
from groundwire.stores.knowledge_base import Knowledge

_KB_SCOPE = "facts:read"


def get_service(request: Request) -> Service:
    service: Service = request.app.state.service
    return service


ServiceDep = Annotated[Service, Depends(get_service)]


async def require_kb(wanted: bool, request: Request, service: Service) -> Knowledge | None:
    """The knowledge base if the request asks for it.

    A verdict quotes the facts it rests on, so using them takes the same scope as reading them.
    """
    if not wanted:
        return None
    caller: Caller = request.state.caller
    if not caller.may(_KB_SCOPE):
        raise Forbidden(f"'kb' requires the scope {_KB_SCOPE}")
    return await asyncio.to_thread(lambda: service.knowledge)
