"""Can it work: is the model loaded, and does the store answer."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from sqlalchemy import text

from groundwire.engine import Groundwire
from groundwire.errors import GroundwireError
from groundwire.memory.verifying import warmed
from groundwire.stores.database import Database

OK = "ok"
_PATIENCE = 5.0
_FAILED = "failed; the log says why"
_log = logging.getLogger("groundwire.server")


class Readiness:
    """`model` says how far the model is; the store is asked each time."""

    def __init__(self) -> None:
        self.model = "loading"

    async def warm(self, engine: Callable[[], Groundwire]) -> None:
        """Load what is computed here; a backend elsewhere is not asked, since that may cost money."""
        try:
            await warmed(engine())
            self.model = OK
        except GroundwireError as error:
            _log.warning("not ready: %s", error)
            self.model = _FAILED

    async def store(self, opened: Callable[[], Database]) -> str:
        try:
            async with asyncio.timeout(_PATIENCE):
                return await asyncio.to_thread(_asked, opened)
        except TimeoutError:
            return f"no answer within {_PATIENCE:g} s"
        except GroundwireError as error:
            _log.warning("not ready: %s", error)
            return _FAILED


def _asked(opened: Callable[[], Database]) -> str:
    with opened().read() as connection:
        connection.execute(text("SELECT 1"))
    return OK
