"""The server's knowledge base, for callers who may read it."""

from __future__ import annotations

import asyncio

from fastapi import Request

from groundwire.server.middleware.auth import Caller
from groundwire.server.problems import Forbidden
from groundwire.server.service import Service
from groundwire.stores.knowledge_base import Knowledge

_SCOPE = "facts:read"


async def known(wanted: bool, request: Request, held: Service) -> Knowledge | None:
    """What is known, where it is asked for: a verdict tells what it rests on, so it takes the same scope."""
    if not wanted:
        return None
    caller: Caller = request.state.caller
    if not caller.may(_SCOPE):
        raise Forbidden(f"'kb' takes the scope {_SCOPE}")
    return await asyncio.to_thread(lambda: held.knowledge)
