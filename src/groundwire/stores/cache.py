"""Caches for verifier estimates: a local SQLite file, Redis, or both.

A cache must never make a check fail. A local file that is corrupt or of another version is set aside and a
new one is created; a disk that is full, read-only or locked turns the cache off with one warning. Without
Redis, each replica continues on its own. Safe for threads and for several processes on the same file.
"""

from __future__ import annotations

import json
import logging
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from groundwire._optional import load
from groundwire.errors import ConfigError

if TYPE_CHECKING:
    from redis import Redis

SCHEMA_VERSION = 1

_log = logging.getLogger(__name__)
_SUFFIXES = ("", "-wal", "-shm")
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_MAX_BUSY = 10  # consecutive operations that found the file locked
_PRUNE_SECONDS = 600.0
_SCHEMA = f"""
CREATE TABLE IF NOT EXISTS entries (key TEXT PRIMARY KEY, value TEXT NOT NULL, written REAL NOT NULL);
CREATE INDEX IF NOT EXISTS entries_by_age ON entries (written);
PRAGMA user_version = {SCHEMA_VERSION};
"""


class CacheVersionError(sqlite3.DatabaseError):
    """The file was written by another release or is not a cache."""


class CacheProtocol(Protocol):
    """A string cache. Implementations handle their own failures and never raise."""

    def get(self, keys: Iterable[str], ttl: float) -> dict[str, str]: ...

    def put(self, entries: Mapping[str, str], ttl: float) -> None: ...

    async def aclose(self) -> None: ...


class CacheStore:
    """A cache in a SQLite file, which is opened on first use."""

    def __init__(
        self,
        path: str | Path,
        *,
        max_bytes: int = 200_000_000,
        lock_timeout: float = 0.2,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.path = Path(path)
        self._max_bytes = max_bytes
        self._lock_timeout = lock_timeout
        self._clock = clock
        self._lock = threading.Lock()
        self._db: sqlite3.Connection | None = None
        self._busy = 0
        self._pruned = -inf
        self.on = path != ""

    def get(self, keys: Iterable[str], ttl: float) -> dict[str, str]:
        """The entries among `keys` that are at most `ttl` seconds old."""
        wanted = json.dumps(list(keys))
        found: dict[str, str] = {}

        def read(db: sqlite3.Connection) -> None:
            rows = db.execute(
                "SELECT key, value FROM entries WHERE written > ? AND key IN (SELECT value FROM json_each(?))",
                (self._clock() - ttl, wanted),
            )
            found.update(rows)

        self._use(read)
        return found

    def put(self, entries: Mapping[str, str], ttl: float) -> None:
        """Write entries in one transaction and remove expired ones."""
        if not entries or ttl <= 0:
            return

        def write(db: sqlite3.Connection) -> None:
            db.execute(
                "INSERT OR REPLACE INTO entries (key, value, written) SELECT key, value, ? FROM json_each(?)",
                (self._clock(), json.dumps(entries)),
            )
            self._prune(db, ttl)

        self._use(write)

    def close(self) -> None:
        with self._lock:
            self._drop()

    async def aclose(self) -> None:
        self.close()  # not in a thread: at interpreter exit no thread can be started

    def _use(self, action: Callable[[sqlite3.Connection], None]) -> None:
        """Run an action on the file; failures turn the cache off instead of being raised."""
        with self._lock:
            if not self.on:
                return
            try:
                try:
                    action(self._connection())
                except sqlite3.DatabaseError as error:
                    if not isinstance(error, CacheVersionError) and _code(error) not in _DAMAGED:
                        raise
                    self._set_aside(error)
                    action(self._connection())
                self._busy = 0
            except sqlite3.Error as error:
                self._busy += _code(error) in _BUSY  # some lock timeouts are tolerated
                if _code(error) not in _BUSY or self._busy >= _MAX_BUSY:
                    self._turn_off(str(error))
            except (OSError, RuntimeError, ValueError) as error:  # disk full, no home directory, invalid name
                self._turn_off(str(error))

    def _connection(self) -> sqlite3.Connection:
        if self._db is None:
            self.path = self.path.expanduser()
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            # Created here and not by SQLite, so that only the owner can read it: entries reveal the sources.
            os.close(os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600))
            db = sqlite3.connect(self.path, timeout=self._lock_timeout, isolation_level=None, check_same_thread=False)
            try:
                _prepare(db, self._lock_timeout)
            except BaseException:
                db.close()
                raise
            self._db = db
        return self._db

    def _prune(self, db: sqlite3.Connection, ttl: float) -> None:
        """Delete expired entries; above the size limit also the older half."""
        if self._clock() - self._pruned < min(ttl, _PRUNE_SECONDS) and _used_bytes(db) <= self._max_bytes:
            return
        self._pruned = self._clock()
        db.execute("DELETE FROM entries WHERE written <= ?", (self._clock() - ttl,))
        if _used_bytes(db) > self._max_bytes:
            db.execute(
                "DELETE FROM entries WHERE rowid IN (SELECT rowid FROM entries ORDER BY written, rowid"
                " LIMIT (SELECT (count(*) + 1) / 2 FROM entries))"
            )

    def _turn_off(self, why: str) -> None:
        _log.warning("verification goes on without its cache %s: %s", self.path, why)
        self.on = False
        self._drop()

    def _set_aside(self, why: Exception) -> None:
        self._drop()
        _log.warning("cache %s set aside as %s.old: %s", self.path, self.path.name, why)
        for suffix in _SUFFIXES:
            part = Path(f"{self.path}{suffix}")
            if part.exists():
                part.replace(f"{self.path}.old{suffix}")

    def _drop(self) -> None:
        if self._db is not None:
            self._db.close()
            self._db = None


def _prepare(db: sqlite3.Connection, lock_timeout: float) -> None:
    """Check the version and create the schema. Safe against a second process doing the same."""
    db.execute("BEGIN")  # one snapshot: another process may be creating the table
    version = db.execute("PRAGMA user_version").fetchone()[0]
    tables = db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    db.execute("COMMIT")
    if version != SCHEMA_VERSION and (version or tables):
        raise CacheVersionError(f"its version is {version}, not {SCHEMA_VERSION}")
    until = time.monotonic() + lock_timeout
    while db.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
        try:  # again and again: SQLite does not wait for another process that is switching
            db.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if _code(error) not in _BUSY or time.monotonic() >= until:
                raise
            time.sleep(0.005)
    db.execute("PRAGMA synchronous = NORMAL")
    if version != SCHEMA_VERSION:
        db.executescript(f"BEGIN IMMEDIATE; {_SCHEMA} COMMIT;")


def _used_bytes(db: sqlite3.Connection) -> int:
    pages, free, size = (
        db.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "freelist_count", "page_size")
    )
    return int((pages - free) * size)


def _code(error: sqlite3.Error) -> int:
    """The primary result code, which is the low byte of extended codes."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


T = TypeVar("T")
_KEY_PREFIX = "groundwire"
_REDIS_TIMEOUT_SECONDS = 0.5  # a slower cache would cost more than it saves
_REDIS_COOLDOWN_SECONDS = 10.0  # before trying again after a failure

# A token bucket of one minute's capacity, refilled by the Redis server's clock, so that replicas need not
# agree on the time. Returns 0 if the request may proceed, else the milliseconds until the next one may.
_TAKE_TOKEN_SCRIPT = """
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


class RedisCache:
    """A cache and rate limiter in Redis, shared by replicas. Thread-safe."""

    def __init__(self, url: str, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._redis = _connect_redis(url)
        self._clock = clock
        self._down_until = 0.0
        self._take = self._redis.register_script(_TAKE_TOKEN_SCRIPT)

    def get(self, keys: Iterable[str], ttl: float) -> dict[str, str]:  # noqa: ARG002 (Redis expires entries itself)
        """The entries among `keys`; none if Redis is unavailable."""
        wanted = list(keys)
        if not wanted:
            return {}
        rows: list[Any] = self._call(lambda: self._redis.mget([_redis_key(key) for key in wanted]), [])
        return {key: row for key, row in zip(wanted, rows, strict=False) if isinstance(row, str)}

    def put(self, entries: Mapping[str, str], ttl: float) -> None:
        """Store entries for `ttl` seconds in one round trip."""
        if not entries or ttl <= 0:
            return

        def write() -> None:
            pipe = self._redis.pipeline(transaction=False)
            for key, value in entries.items():
                pipe.set(_redis_key(key), value, px=max(1, int(1000 * ttl)))
            pipe.execute()

        self._call(write, None)

    def take(self, name: str, per_minute: int) -> float | None:
        """0.0 if a request may proceed, else seconds to wait; None if Redis is unavailable."""
        key = f"{_KEY_PREFIX}:limit:{name}"
        found: int | None = self._call(lambda: self._take(keys=[key], args=[per_minute]), None)
        return None if found is None else found / 1000

    def close(self) -> None:
        self._redis.close()

    async def aclose(self) -> None:
        self.close()

    def _call(self, question: Callable[[], Any], otherwise: T) -> Any:
        """The result of a Redis call; `otherwise` on failure and during the cooldown after one."""
        from redis.exceptions import RedisError

        if self._clock() < self._down_until:
            return otherwise
        try:
            found = question()
        except (RedisError, OSError) as error:
            if not self._down_until:
                _log.warning("Redis is unavailable (%s); this replica continues without it", type(error).__name__)
            self._down_until = self._clock() + _REDIS_COOLDOWN_SECONDS
            return otherwise
        if self._down_until:
            _log.warning("Redis is available again")
            self._down_until = 0.0
        return found


class LayeredCache:
    """A local cache in front of Redis; it keeps working if Redis is unavailable."""

    def __init__(self, near: CacheStore, far: RedisCache) -> None:
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


def _redis_key(key: str) -> str:
    return f"{_KEY_PREFIX}:estimate:{key}"


def _connect_redis(url: str) -> Redis:
    client = load("redis:Redis", feature="Redis", extra="redis")
    retry = load("redis.retry:Retry", feature="Redis", extra="redis")
    backoff = load("redis.backoff:NoBackoff", feature="Redis", extra="redis")
    try:
        made: Redis = client.from_url(
            url,
            decode_responses=True,
            socket_timeout=_REDIS_TIMEOUT_SECONDS,
            socket_connect_timeout=_REDIS_TIMEOUT_SECONDS,
            retry=retry(backoff(), 0),
        )
    except ValueError as error:
        raise ConfigError("redis.url is not a valid address", hint="write it as redis://host:6379/0") from error
    return made
