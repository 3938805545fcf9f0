"""Things that belong to one event loop (HTTP clients, semaphores), for objects that outlive a loop.

A synchronous caller may run each check in a loop of its own while it keeps the model, and threads may each
have theirs at the same time: every loop then has its own, instead of "bound to a different event loop".
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import suppress
from typing import Generic, TypeVar

T = TypeVar("T")


class PerLoop(Generic[T]):
    """`make` one for each loop that asks; `close` it on `aclose()`, or when its loop ends before that."""

    def __init__(self, make: Callable[[], T], close: Callable[[T], Awaitable[None]] | None = None) -> None:
        self._make = make
        self._close = close
        self._held: dict[asyncio.AbstractEventLoop, tuple[T, AsyncGenerator[None]]] = {}
        self._lock = threading.Lock()

    def get(self) -> T:
        loop = asyncio.get_running_loop()
        with self._lock:
            if loop not in self._held:
                self._held = {old: held for old, held in self._held.items() if not old.is_closed()}
                made = self._make()
                self._held[loop] = (made, self._keeper(made))
            return self._held[loop][0]

    async def aclose(self) -> None:
        """Close what is held for any loop, each in the loop it belongs to."""
        with self._lock:
            held, self._held = self._held, {}
        for loop, (_, keeper) in held.items():
            if loop is asyncio.get_running_loop():
                await keeper.aclose()
            elif loop.is_running():
                await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(keeper.aclose(), loop))

    def _keeper(self, made: T) -> AsyncGenerator[None]:
        """Closes what was made when it is closed itself, which a loop does to its generators as it ends."""

        async def keep() -> AsyncGenerator[None]:
            try:
                yield
            finally:
                if self._close is not None:
                    await self._close(made)

        keeper = keep()
        with suppress(StopIteration):
            keeper.__anext__().send(None)  # begun, so that the loop knows it; nothing to wait for
        return keeper
