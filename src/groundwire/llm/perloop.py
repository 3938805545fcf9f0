"""Things that belong to one event loop (HTTP clients, semaphores), for objects that outlive a loop.

A synchronous caller may run each check in a loop of its own while it keeps the model; what asyncio binds to
a loop is then made anew instead of failing with "bound to a different event loop".
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class PerLoop(Generic[T]):
    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._held: tuple[asyncio.AbstractEventLoop, T] | None = None

    def get(self) -> T:
        loop = asyncio.get_running_loop()
        if self._held is None or self._held[0] is not loop:
            self._held = (loop, self._make())
        return self._held[1]

    def pop(self) -> T | None:
        """What the running loop holds, to be closed; of another loop there is nothing left to close."""
        held, self._held = self._held, None
        return held[1] if held and held[0] is asyncio.get_running_loop() else None
