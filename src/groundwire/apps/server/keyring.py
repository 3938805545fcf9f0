"""The keys as the running server knows them: what the store held a moment ago."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping

from groundwire.errors import StoreError
from groundwire.stores.keys import ApiKey, parts_of

FRESH = 2.0
"""Seconds after which a revoked key is noticed."""
AGAIN = 0.25
"""Seconds between two looks for a key that is not known: it may have been made just now."""
STALE = 300.0
"""Seconds for which the keys last read are good while the store cannot be reached."""


class Keyring:
    """`read` is asked in a thread; it gives the standing keys by id."""

    def __init__(
        self, read: Callable[[], Mapping[str, ApiKey]], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._read = read
        self._clock = clock
        self._known: Mapping[str, ApiKey] = {}
        self._at = float("-inf")
        self._reading = asyncio.Lock()

    async def holder(self, token: str) -> ApiKey | None:
        """The key that a token belongs to; None where it opens nothing."""
        parts = parts_of(token)
        if parts is None:
            return None
        identity, secret = parts
        await self._refresh(FRESH)
        if identity not in self._known:
            await self._refresh(AGAIN)
        key = self._known.get(identity)
        return key if key is not None and key.opens(secret) else None

    async def _refresh(self, age: float) -> None:
        if self._clock() - self._at < age:
            return
        async with self._reading:
            if self._clock() - self._at < age:
                return
            try:
                self._known = await asyncio.to_thread(self._read)
                self._at = self._clock()
            except StoreError:
                if self._clock() - self._at > STALE:
                    raise
