"""A table of strings in one SQLite file, with an age limit: what was answered once is not asked again.

A cache may never be the reason that something fails. A file that is corrupt or of another version is set
aside and a new one begun; a disk that is full, read-only or locked turns the cache off, with one warning.
Safe for threads and for several processes on the same file.
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
_BUSY_TIMEOUT_SECONDS = 10  # operations in a row that met a lock
_PRUNE_EVERY = 600.0
_SCHEMA = f"""
CREATE TABLE IF NOT EXISTS entries (key TEXT PRIMARY KEY, value TEXT NOT NULL, written REAL NOT NULL);
CREATE INDEX IF NOT EXISTS entries_by_age ON entries (written);
PRAGMA user_version = {SCHEMA_VERSION};
"""


class CacheVersionError(sqlite3.DatabaseError):
    """The file was written by another release, or is no cache at all."""


class CacheProtocol(Protocol):
    """Many entries at once, read and written; wherever they are kept, trouble there is nobody else's."""

    def get(self, keys: Iterable[str], ttl: float) -> dict[str, str]: ...

    def put(self, entries: Mapping[str, str], ttl: float) -> None: ...

    async def aclose(self) -> None: ...


class CacheStore:
    """`get` and `put` many entries, one statement each. Nothing is opened before the first of them."""

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
                "SELECT key, value FROM entries"
                " WHERE written > ? AND key IN (SELECT value FROM json_each(?))",
                (self._clock() - ttl, wanted),
            )
            found.update(rows)

        self._use(read)
        return found

    def put(self, entries: Mapping[str, str], ttl: float) -> None:
        """Write all of them in one transaction; what is there already is replaced, what is too old goes."""
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
        self.close()  # here and now: at the end of a process no thread can be had any more

    def _use(self, action: Callable[[sqlite3.Connection], None]) -> None:
        """Run it on the open file; whatever is wrong with the file, the caller goes on."""
        with self._lock:
            if not self.on:
                return
            try:
                self._attempt(action)
                self._busy = 0
            except sqlite3.Error as error:
                self._trouble(error)
            except (OSError, RuntimeError, ValueError) as error:  # no room, no home folder, no such name
                self._turn_off(str(error))

    def _attempt(self, action: Callable[[sqlite3.Connection], None]) -> None:
        try:
            action(self._connection())
        except sqlite3.DatabaseError as error:
            if not isinstance(error, CacheVersionError) and _code(error) not in _DAMAGED:
                raise
            self._set_aside(error)
            action(self._connection())

    def _connection(self) -> sqlite3.Connection:
        if self._db is None:
            self.path = self.path.expanduser()
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            # Made before SQLite makes it: what is cached tells of the sources, so it is the owner's only.
            os.close(os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600))
            db = sqlite3.connect(
                self.path, timeout=self._lock_timeout, isolation_level=None, check_same_thread=False
            )
            try:
                _prepare(db, self._lock_timeout)
            except BaseException:
                db.close()
                raise
            self._db = db
        return self._db

    def _prune(self, db: sqlite3.Connection, ttl: float) -> None:
        """What has expired goes; over the size limit the older half goes too."""
        if self._clock() - self._pruned < min(ttl, _PRUNE_EVERY) and _used_bytes(db) <= self._max_bytes:
            return
        self._pruned = self._clock()
        db.execute("DELETE FROM entries WHERE written <= ?", (self._clock() - ttl,))
        if _used_bytes(db) > self._max_bytes:
            db.execute(
                "DELETE FROM entries WHERE rowid IN (SELECT rowid FROM entries ORDER BY written, rowid"
                " LIMIT (SELECT (count(*) + 1) / 2 FROM entries))"
            )

    def _trouble(self, error: sqlite3.Error) -> None:
        """A lock may pass, so it is met with some patience; anything else will not."""
        self._busy += _code(error) in _BUSY
        if _code(error) not in _BUSY or self._busy >= _BUSY_TIMEOUT_SECONDS:
            self._turn_off(str(error))

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


def _write_ahead(db: sqlite3.Connection, patience: float) -> None:
    """The change of mode does not wait for a process that is just doing the same, so we do."""
    until = time.monotonic() + patience
    while db.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
        try:
            db.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if _code(error) not in _BUSY or time.monotonic() >= until:
                raise
            time.sleep(0.005)


def _prepare(db: sqlite3.Connection, patience: float) -> None:
    """Check whose file it is and make it ready. Safe against a second process doing the same."""
    db.execute("BEGIN")  # both in one snapshot: another process may be making the table right now
    version = db.execute("PRAGMA user_version").fetchone()[0]
    tables = db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    db.execute("COMMIT")
    if version != SCHEMA_VERSION and (version or tables):
        raise CacheVersionError(f"its version is {version}, not {SCHEMA_VERSION}")
    _write_ahead(db, patience)
    db.execute("PRAGMA synchronous = NORMAL")
    if version != SCHEMA_VERSION:
        db.executescript(f"BEGIN IMMEDIATE; {_SCHEMA} COMMIT;")


def _used_bytes(db: sqlite3.Connection) -> int:
    pages, free, size = (
        db.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "freelist_count", "page_size")
    )
    return int((pages - free) * size)


def _code(error: sqlite3.Error) -> int:
    """The primary result code; the extended ones carry it in their low byte."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


# What replicas share through Redis: a cache of strings and the counting of requests.
#
# Redis is a help and never a need: where it is gone, each replica goes on by itself, says so once, and looks
# again after a while.

T = TypeVar("T")
_KEY_PREFIX = "groundwire"
_REDIS_TIMEOUT_SECONDS = 0.5
_REDIS_COOLDOWN_SECONDS = 10.0

# One bucket: a minute's worth at most, refilled steadily by the server's own clock, so that replicas need not
# agree on the time. Answers 0 where the request may go on, else the milliseconds until the next one may.
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
    """One connection pool, and whether it can be used just now. Safe to use from threads."""

    def __init__(self, url: str, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._redis = _connect_redis(url)
        self._clock = clock
        self._down_until = 0.0
        self._take = self._redis.register_script(_TAKE_TOKEN_SCRIPT)

    def get(self, keys: Iterable[str], ttl: float) -> dict[str, str]:  # noqa: ARG002 (Redis forgets by itself)
        """The entries among `keys`; none where Redis cannot be asked."""
        wanted = list(keys)
        if not wanted:
            return {}
        rows: list[Any] = self._asked(lambda: self._redis.mget([_redis_key(key) for key in wanted]), [])
        return {key: row for key, row in zip(wanted, rows, strict=False) if isinstance(row, str)}

    def put(self, entries: Mapping[str, str], ttl: float) -> None:
        """Keep all of them for so long, in one round trip."""
        if not entries or ttl <= 0:
            return

        def write() -> None:
            pipe = self._redis.pipeline(transaction=False)
            for key, value in entries.items():
                pipe.set(_redis_key(key), value, px=max(1, int(1000 * ttl)))
            pipe.execute()

        self._asked(write, None)

    def take(self, name: str, per_minute: int) -> float | None:
        """0.0 where a request may go on, else in how many seconds the next one may; None: nobody knows."""
        key = f"{_KEY_PREFIX}:limit:{name}"
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
            self._down_until = self._clock() + _REDIS_COOLDOWN_SECONDS
            return otherwise
        if self._down_until:
            _log.warning("Redis is back")
            self._down_until = 0.0
        return found


class LayeredCache:
    """The cache of this machine before the one that replicas share: the first goes on where Redis is gone."""

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
        raise ConfigError("redis.url is no address", hint="write it as redis://host:6379/0") from error
    return made
