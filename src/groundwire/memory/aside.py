"""A loop in a thread of its own, which nobody has to wait for."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

from groundwire.errors import BackendTimeout

T = TypeVar("T")
_PATIENCE = 0.5


class Aside:
    """Runs what may hang. A timeout of the caller's own loop cannot end what blocks that very loop (a long
    text being read, a backend that computes); it can always stop waiting for another one.
    """

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()

    async def run(self, work: Coroutine[Any, Any, T], seconds: float) -> T:
        """The result, or `BackendTimeout` after so many seconds of this world, whatever the work does."""
        future = asyncio.run_coroutine_threadsafe(work, self._started())
        try:
            async with asyncio.timeout(seconds):
                return await asyncio.wrap_future(future)
        except TimeoutError:
            raise BackendTimeout(f"no answer within {seconds:.2g} s") from None

    def _started(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(
                    target=self._loop.run_forever, name="groundwire-gate", daemon=True
                )
                self._thread.start()
            return self._loop

    def close(self) -> None:
        """End the loop. One that is blocked is left alone: its thread dies with the process."""
        with self._lock:
            loop, thread, self._loop, self._thread = self._loop, self._thread, None, None
        if loop is None or thread is None:
            return
        loop.call_soon_threadsafe(lambda: asyncio.ensure_future(_wind_down(loop)))
        thread.join(_PATIENCE)
        if not thread.is_alive():
            loop.close()


async def _wind_down(loop: asyncio.AbstractEventLoop) -> None:
    own = asyncio.current_task()
    others = [task for task in asyncio.all_tasks() if task is not own]
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
    await loop.shutdown_asyncgens()
    loop.stop()
