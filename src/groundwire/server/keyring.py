"""The keys as the running server knows them: what the store held a moment ago."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping

from groundwire.errors import StoreError
from groundwire.stores.keys import ApiKey, parts_of

FRESH = 2.0
"""Seconds after which a revoked key is noticed."""
AGAIN = 0.25
"""Seconds between two looks for keys that are not known: they may have been made just now, and all who wait
share one look, so that a flood of made-up keys does not reach the store."""
STALE = 300.0
"""Seconds for which the keys last read are good while the store cannot be reached."""
PATIENCE = 2.0
"""Seconds that one look may take."""
PAUSE = 5.0
"""Seconds until a store that failed is asked again."""

_log = logging.getLogger("groundwire.server")


class Keyring:
    """`read` is asked in a thread; it gives the standing keys by id."""

    def __init__(
        self, read: Callable[[], Mapping[str, ApiKey]], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._read = read
        self._clock = clock
        self._known: Mapping[str, ApiKey] = {}
        self._at = self._failed = float("-inf")
        self._reading = asyncio.Lock()

    async def holder(self, token: str) -> ApiKey | None:
        """The key that a token belongs to; None where it opens nothing."""
        parts = parts_of(token)
        if parts is None:
            return None
        identity, secret = parts
        asked = self._clock()
        await self._read_since(asked - FRESH)
        if identity not in self._known:
            await self._read_since(asked, apart=AGAIN)
        key = self._known.get(identity)
        return key if key is not None and key.opens(secret) else None

    async def _read_since(self, moment: float, apart: float = 0.0) -> None:
        """Have the keys as they were at that moment or later, from a store that is asked so far apart."""
        if self._at >= moment:
            return
        async with self._reading:
            if self._at >= moment:  # whoever was before us has read them
                return
            if self._clock() >= self._failed + PAUSE:
                await asyncio.sleep(max(0.0, self._at + apart - self._clock()))
                await self._look()
            if self._clock() - self._at > STALE:
                raise StoreError("the keys cannot be read")

    async def _look(self) -> None:
        """A store that is away, or says nothing, is left alone for a while: nobody waits for it in a row."""
        at = self._clock()
        try:
            async with asyncio.timeout(PATIENCE):
                self._known = await asyncio.to_thread(self._read)
            self._at = at
        except (StoreError, TimeoutError) as error:
            self._failed = self._clock()
            _log.warning("the API keys cannot be read now: %s", error)
