"""Many streams share one engine: a few of their jobs run, some wait, the rest hear that it is too much."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from groundwire.streaming.incremental import Work

T = TypeVar("T")
_NEWEST = 0.2  # the weight of the newest job in the estimate of the pace
_FIRST = 0.1  # seconds a job is taken to last before any has


class Turns:
    """At most `at_once` jobs run, and as many streams work ahead. Belongs to one event loop, the streams'."""

    def __init__(self, work: Work, at_once: int, patience: float) -> None:
        self._work = work
        self._gate = asyncio.Semaphore(at_once)
        self._at_once = at_once
        self._patience = patience
        self._pace = _FIRST
        self._inside = 0
        self._ahead = 0
        self._promised = 0

    @property
    def is_full(self) -> bool:
        """Whether a new job would wait longer than anybody waits for it."""
        return max(self._inside, self._promised) * self._pace / self._at_once > self._patience

    @property
    def may_go_ahead(self) -> bool:
        """Whether there is room for work that can as well be done later."""
        return self._ahead < self._at_once and self._inside < self._at_once

    def go_ahead(self, doing: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Counted from this moment: many streams may ask before any of them runs."""
        self._ahead += 1
        task = asyncio.create_task(doing)
        task.add_done_callback(self._came_back)
        return task

    @contextmanager
    def promised(self) -> Iterator[None]:
        """Somebody waits in here for jobs that are still to come: those count already."""
        self._promised += 1
        try:
            yield
        finally:
            self._promised -= 1

    def _came_back(self, task: asyncio.Task[None]) -> None:  # noqa: ARG002 (whatever became of it)
        self._ahead -= 1

    async def __call__(self, job: Callable[[], Coroutine[Any, Any, T]]) -> T:
        self._inside += 1
        try:
            async with self._gate:
                began = asyncio.get_running_loop().time()
                try:
                    return await self._work(job)
                finally:
                    self._learn(asyncio.get_running_loop().time() - began)
        finally:
            self._inside -= 1

    def _learn(self, seconds: float) -> None:
        """A job that was given up counts too: it would have taken at least as long."""
        self._pace += _NEWEST * (seconds - self._pace)
