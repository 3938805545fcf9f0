"""A loop in a thread of its own, where the engine works: what it does there keeps nobody else waiting."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

T = TypeVar("T")

LONG = 200_000
"""Characters from which on a request is long: to read it alone takes a moment in which nothing else moves."""


class Lane:
    """Open it with `start()`, give it back with `aclose()`."""

    def __init__(self, name: str) -> None:
        self._name = name

    def start(self) -> None:
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever, name=self._name, daemon=True)
        self._thread.start()

    def go_on(self, task: Coroutine[Any, Any, T]) -> Future[T]:
        return asyncio.run_coroutine_threadsafe(task, self.loop)

    async def run(self, job: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Wait here for what is done there; whoever leaves cancels it."""
        return await asyncio.wrap_future(self.go_on(job()))

    async def aclose(self) -> None:
        await self.run(_wind_down)
        self.loop.call_soon_threadsafe(self.loop.stop)
        await asyncio.to_thread(self._thread.join)
        self.loop.close()


async def _wind_down() -> None:
    """End what is still under way: whoever waited for it is gone."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
