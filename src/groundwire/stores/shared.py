"""What replicas share through Redis: a cache of strings and the counting of requests.

Redis is a help and never a need: where it is gone, each replica goes on by itself, says so once, and looks
again after a while.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from groundwire._optional import load
from groundwire.errors import ConfigError
from groundwire.stores.cache import CacheStore

if TYPE_CHECKING:
    from redis import Redis

T = TypeVar("T")
_PREFIX = "groundwire"
_PATIENCE = 0.5
_COOLDOWN = 10.0
_log = logging.getLogger(__name__)

# One bucket: a minute's worth at most, refilled steadily by the server's own clock, so that replicas need not
# agree on the time. Answers 0 where the request may go on, else the milliseconds until the next one may.
_TAKE = """
local now = redis.call('TIME')
local at = now[1] * 1000 + math.floor(now[2] / 1000)
local most = tonumber(ARGV[1])
local held = redis.call('HMGET', KEYS[1], 'level', 'at')
local level = tonumber(held[1]) or most
level = math.min(most, level + (at - (tonumber(held[2]) or at)) * most / 60000)
local wait = 0
if level >= 1 then level = level - 1 else wait = math.ceil((1 - level) * 60000 / most) end
redis.call('HSET', KEYS[1], 'level', tostring(level), 'at', at)
redis.call('PEXPIRE', KEYS[1], 120000)
return wait
"""


class Shared:
    """One connection pool, and whether it can be used just now. Safe to use from threads."""

    def __init__(self, url: str, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._redis = _opened(url)
        self._clock = clock
        self._down_until = 0.0
        self._take = self._redis.register_script(_TAKE)

    def get(self, keys: Iterable[str], ttl: float) -> dict[str, str]:  # noqa: ARG002 (Redis forgets by itself)
        """The entries among `keys`; none where Redis cannot be asked."""
        wanted = list(keys)
        if not wanted:
            return {}
        rows: list[Any] = self._asked(lambda: self._redis.mget([_name(key) for key in wanted]), [])
        return {key: row for key, row in zip(wanted, rows, strict=False) if isinstance(row, str)}

    def put(self, entries: Mapping[str, str], ttl: float) -> None:
        """Keep all of them for so long, in one round trip."""
        if not entries or ttl <= 0:
            return

        def write() -> None:
            pipe = self._redis.pipeline(transaction=False)
            for key, value in entries.items():
                pipe.set(_name(key), value, px=max(1, int(1000 * ttl)))
            pipe.execute()

        self._asked(write, None)

    def take(self, name: str, per_minute: int) -> float | None:
        """0.0 where a request may go on, else in how many seconds the next one may; None: nobody knows."""
        key = f"{_PREFIX}:limit:{name}"
        found: int | None = self._asked(lambda: self._take(keys=[key], args=[per_minute]), None)
        return None if found is None else found / 1000

    def close(self) -> None:
        self._redis.close()

    async def aclose(self) -> None:
        self.close()

    def _asked(self, question: Callable[[], Any], otherwise: T) -> Any:
        """What Redis says; `otherwise` while it is gone, and for some seconds after that was noticed."""
        from redis.exceptions import RedisError

        if self._clock() < self._down_until:
            return otherwise
        try:
            found = question()
        except (RedisError, OSError) as error:
            if not self._down_until:
                _log.warning("Redis is gone (%s); every replica goes on by itself", type(error).__name__)
            self._down_until = self._clock() + _COOLDOWN
            return otherwise
        if self._down_until:
            _log.warning("Redis is back")
            self._down_until = 0.0
        return found


class Layered:
    """The cache of this machine before the one that replicas share: the first goes on where Redis is gone."""

    def __init__(self, near: CacheStore, far: Shared) -> None:
        self._near = near
        self._far = far

    def get(self, keys: Iterable[str], ttl: float) -> dict[str, str]:
        wanted = list(keys)
        known = self._near.get(wanted, ttl)
        return known | self._far.get([key for key in wanted if key not in known], ttl)

    def put(self, entries: Mapping[str, str], ttl: float) -> None:
        self._near.put(entries, ttl)
        self._far.put(entries, ttl)

    async def aclose(self) -> None:
        await self._near.aclose()
        await self._far.aclose()


def _name(key: str) -> str:
    return f"{_PREFIX}:estimate:{key}"


def _opened(url: str) -> Redis:
    client = load("redis:Redis", feature="Redis", extra="redis")
    retry = load("redis.retry:Retry", feature="Redis", extra="redis")
    backoff = load("redis.backoff:NoBackoff", feature="Redis", extra="redis")
    try:
        made: Redis = client.from_url(
            url,
            decode_responses=True,
            socket_timeout=_PATIENCE,
            socket_connect_timeout=_PATIENCE,
            retry=retry(backoff(), 0),
        )
    except ValueError as error:
        raise ConfigError("redis.url is no address", hint="write it as redis://host:6379/0") from error
    return made
