"""How often a key may ask: a token bucket for each, in this process or shared by all replicas."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from groundwire.config import Config

if TYPE_CHECKING:
    from groundwire.stores.shared import Shared

_MOST = 10_000


class Limiter(Protocol):
    """Whoever counts. `name` is the key's id."""

    async def take(self, name: str, per_minute: int) -> float:
        """0.0 where the request may go on, else in how many seconds the next one may."""
        ...


class Buckets:
    """One bucket a name, full at first: it holds a minute's worth and refills steadily."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._filled: OrderedDict[str, tuple[float, float]] = OrderedDict()

    async def take(self, name: str, per_minute: int) -> float:
        now, rate = self._clock(), per_minute / 60.0
        level, since = self._filled.pop(name, (float(per_minute), now))
        level = min(float(per_minute), level + (now - since) * rate)
        granted = level >= 1.0
        self._filled[name] = (level - 1.0 if granted else level, now)
        if len(self._filled) > _MOST:  # whoever was not seen for longest has a full bucket anyway
            self._filled.popitem(last=False)
        return 0.0 if granted else (1.0 - level) / rate


class SharedBuckets:
    """The same for all replicas, counted in Redis; where that is gone, each counts by itself."""

    def __init__(self, shared: Shared, own: Buckets | None = None) -> None:
        self._shared = shared
        self._own = own or Buckets()

    async def take(self, name: str, per_minute: int) -> float:
        found = await asyncio.to_thread(self._shared.take, name, per_minute)
        return await self._own.take(name, per_minute) if found is None else found


def limiter_for(config: Config) -> Limiter:
    """Counted here; with `redis.url` for all replicas together."""
    if config.redis.url is None:
        return Buckets()
    from groundwire.stores.shared import Shared

    return SharedBuckets(Shared(config.redis.url.get_secret_value()))
