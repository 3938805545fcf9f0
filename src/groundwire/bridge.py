"""The one place where synchronous callers meet asynchronous code."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from functools import cache
from typing import Any, TypeVar

T = TypeVar("T")


@cache
def _loop() -> asyncio.AbstractEventLoop:
    """One loop in a thread of its own, so that it works inside notebooks and keeps connections open."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="groundwire", daemon=True).start()
    return loop


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run to the end and return the result; an interrupt cancels the work."""
    future = asyncio.run_coroutine_threadsafe(work, _loop())
    try:
        return future.result()
    except KeyboardInterrupt:
        future.cancel()
        raise
