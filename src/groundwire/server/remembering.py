"""The memory gate as the server keeps it: one gate, and a worker that settles what was put off."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from groundwire.config import Config
from groundwire.engine import Groundwire
from groundwire.errors import GroundwireError
from groundwire.memory import Worker
from groundwire.memory.verifying import patient
from groundwire.metrics import Metrics
from groundwire.stores.database import Database

_PAUSE = 30.0
_log = logging.getLogger("groundwire.server")


async def settle_for_ever(opened: Callable[[], Database], config: Config, metrics: Metrics) -> None:
    """Verify what a backend put off, until cancelled. A store in trouble is asked again later."""
    later = patient(config)
    async with Groundwire(later, operation="memory_gate", metrics=metrics) as engine:
        while True:
            try:
                worker = Worker(await asyncio.to_thread(opened), engine, later)
                try:
                    async for _ in worker.watch():
                        pass
                finally:
                    await worker.aclose()
            except GroundwireError as error:
                _log.warning("facts that wait cannot be settled now: %s", error)
                await asyncio.sleep(_PAUSE)
