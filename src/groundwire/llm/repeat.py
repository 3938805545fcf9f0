"""Many completions of one prompt, where the server makes only one at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from groundwire.llm.generator import Completion

_AT_ONCE = 4


async def repeat(once: Callable[[], Awaitable[Completion]], times: int) -> list[Completion]:
    """The first alone, so that the others find its prompt in the server's cache. Any failure is raised."""
    first = await once()
    gate = asyncio.Semaphore(_AT_ONCE)

    async def bounded() -> Completion:
        async with gate:
            return await once()

    # All are awaited before a failure is raised: none goes on behind the caller's back.
    rest = await asyncio.gather(*(bounded() for _ in range(times - 1)), return_exceptions=True)
    return [first, *(_result(one) for one in rest)]


def _result(outcome: Completion | BaseException) -> Completion:
    if isinstance(outcome, BaseException):
        raise outcome
    return outcome
