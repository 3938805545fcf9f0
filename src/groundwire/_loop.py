"""The one place where synchronous callers meet asynchronous code."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Coroutine
from functools import cache
from typing import Any, TypeVar

T = TypeVar("T")

_starting = threading.Lock()


@cache
def _loop() -> asyncio.AbstractEventLoop:
    """One loop in a thread of its own, so that it works inside notebooks and keeps connections open."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="groundwire", daemon=True).start()
    return loop


def _begin_anew() -> None:
    _loop.cache_clear()
    _starting.release()


# A forked process inherits the loop without the thread that runs it.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_starting.acquire, after_in_parent=_starting.release, after_in_child=_begin_anew
    )


def _started() -> asyncio.AbstractEventLoop:
    with _starting:  # threads whose first calls meet must end up with the same loop
        return _loop()


async def away(work: Coroutine[Any, Any, T]) -> T:
    """Wait here for what runs on the loop of `run`: this loop stays free. Who stops waiting cancels it."""
    return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, _started()))


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run to the end and return the result; an interrupt cancels the work."""
    future = asyncio.run_coroutine_threadsafe(work, _started())
    try:
        return future.result()
    except KeyboardInterrupt:
        future.cancel()
        raise
