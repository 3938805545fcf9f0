"""Many streams share one engine: a few of their jobs run, some wait, the rest hear that it is too much."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from groundwire.monitor.incremental import Work

T = TypeVar("T")


class Turns:
    """At most `at_once` jobs run. Belongs to one event loop, that of the streams."""

    def __init__(self, work: Work, at_once: int, most_waiting: int) -> None:
        self._work = work
        self._gate = asyncio.Semaphore(at_once)
        self._at_once = at_once
        self._most = most_waiting
        self._inside = 0

    @property
    def is_crowded(self) -> bool:
        """Whether what can be done later should be: a new job would have to wait."""
        return self._inside >= self._at_once

    @property
    def is_full(self) -> bool:
        """Whether a new job would wait too long to be worth it."""
        return self._inside >= self._at_once + self._most

    async def __call__(self, job: Callable[[], Coroutine[Any, Any, T]]) -> T:
        self._inside += 1
        try:
            async with self._gate:
                return await self._work(job)
        finally:
            self._inside -= 1
