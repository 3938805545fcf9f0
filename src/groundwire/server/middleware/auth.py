"""Who may ask for what: by key where keys are asked for, else only from this very machine.

Without keys a server on loopback can still be reached by a page in a browser, even one whose name was made to
point here (DNS rebinding). So the request must come from this machine, name it, and come from no other site.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from typing import TYPE_CHECKING, Protocol
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from groundwire.config import Config
from groundwire.config.service import ServerConfig
from groundwire.errors import StoreError
from groundwire.server.problems import Problem, tell
from groundwire.stores.keys import ADMIN, ApiKey, parts_of

if TYPE_CHECKING:
    from groundwire.stores.cache import RedisCache

# The keys as the running server knows them: what the store held a moment ago.

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


# How often a key may ask: a token bucket for each, in this process or shared by all replicas.

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

    def __init__(self, shared: RedisCache, own: Buckets | None = None) -> None:
        self._shared = shared
        self._own = own or Buckets()

    async def take(self, name: str, per_minute: int) -> float:
        found = await asyncio.to_thread(self._shared.take, name, per_minute)
        return await self._own.take(name, per_minute) if found is None else found


def limiter_for(config: Config) -> Limiter:
    """Counted here; with `redis.url` for all replicas together."""
    if config.redis.url is None:
        return Buckets()
    from groundwire.stores.cache import RedisCache

    return SharedBuckets(RedisCache(config.redis.url.get_secret_value()))


PUBLIC = "public"

_ANY, _READ = frozenset[str](), frozenset({"GET", "HEAD"})
PATHS: tuple[tuple[str, frozenset[str], str], ...] = (
    ("/v1/check", _ANY, "check"),
    ("/v1/claims", _ANY, "check"),
    ("/v1/traces", _ANY, "check"),
    ("/v1/detect", _ANY, "check"),
    ("/v1/estimate", _ANY, "check"),
    ("/v1/outputs", _ANY, "check"),
    ("/v1/guard", _ANY, "check"),
    ("/v1/facts", _READ, "facts:read"),
    ("/v1/facts", _ANY, "facts:write"),
    ("/v1/kb", _READ, "facts:read"),
    ("/v1/reports", _ANY, "reports"),
    ("/v1/stats", _READ, "reports"),
    ("/v1/sources", _ANY, "check"),
    ("/v1/rag/documents", _READ, "rag"),
    ("/v1/rag/documents", _ANY, "rag:write"),
    ("/v1/rag", _ANY, "rag"),
    ("/v1", _ANY, "proxy"),
    ("/mcp", _ANY, "check"),
    ("/metrics", _READ, "metrics"),
    ("/healthz", _READ, PUBLIC),
    ("/readyz", _READ, PUBLIC),
    ("/docs", _READ, PUBLIC),
    ("/openapi.json", _READ, PUBLIC),
    ("/page", _READ, PUBLIC),
    ("/r", _READ, PUBLIC),
    ("/dashboard", _READ, PUBLIC),
    ("/audit", _READ, PUBLIC),
    ("/kb", _READ, PUBLIC),
    ("/favicon.ico", _READ, PUBLIC),
)
"""A path and all below it, the methods (none: every one), and the scope it takes. The first that fits counts:
what else begins with /v1 is the proxy's, and whatever is not here takes `admin`."""


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks. Without keys it is the local caller, who may do everything."""

    name: str = "local"
    key_id: str = ""
    scopes: frozenset[str] = frozenset({ADMIN})

    def may(self, scope: str) -> bool:
        return scope in self.scopes or ADMIN in self.scopes


LOCAL = Caller()
ANYONE = Caller("anyone", "", frozenset())


def scope_of(path: str, method: str) -> str:
    """
    >>> scope_of("/v1/facts", "GET"), scope_of("/v1/facts/f1", "POST"), scope_of("/v1/files", "GET")
    ('facts:read', 'facts:write', 'proxy')
    """
    if path == "/" and method in _READ:
        return PUBLIC
    for prefix, methods, scope in PATHS:
        if (path == prefix or path.startswith(f"{prefix}/")) and (not methods or method in methods):
            return scope
    return ADMIN


def is_loopback(host: str) -> bool:
    """
    >>> is_loopback("127.0.0.2"), is_loopback("::1"), is_loopback("localhost"), is_loopback("0.0.0.0")
    (True, True, True, False)
    """
    if host.rstrip(".").lower() == "localhost":
        return True
    try:
        address = ip_address(host.strip("[]"))
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return bool((mapped or address).is_loopback)


def wants_keys(config: ServerConfig) -> bool:
    return config.keys == "always" or not is_loopback(config.host)


class Guard:
    """Lets a request through to the application with its `Caller`, or answers why not."""

    def __init__(self, app: ASGIApp, config: ServerConfig, keyring: Keyring | None, limiter: Limiter) -> None:
        self.app = app
        self._config = config
        self._keyring = keyring
        self._limiter = limiter
        self._names = {name.lower() for name in config.hosts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        state = scope.setdefault("state", {})
        found = self._local(scope, headers) if self._keyring is None else await self._keyed(scope, headers)
        if isinstance(found, Problem):
            await tell(found, scope, receive, send)
            return
        state["caller"] = found
        await self.app(scope, receive, send)

    def _local(self, scope: Scope, headers: Headers) -> Caller | Problem:
        client = scope.get("client")
        if client is not None and not is_loopback(client[0]):
            return Problem("forbidden", "without keys only this machine may ask", "set server.keys: always")
        named = _host(headers.get("host", ""))
        if not (is_loopback(named) or named in self._names):
            return Problem("forbidden", f"this server is not called {named[:100]!r}", "see server.hosts")
        if self._is_foreign(headers):
            return Problem("forbidden", "pages of other sites may not ask", "see server.cors_origins")
        return LOCAL

    def _is_foreign(self, headers: Headers) -> bool:
        """Asked by a page of another site. To follow a link from one is fine; browsers say which it is."""
        origin = headers.get("origin")
        if origin is not None:
            own = urlsplit(origin).netloc == headers.get("host", "")
            return not own and origin not in self._config.cors_origins
        across = headers.get("sec-fetch-site", "") == "cross-site"
        return across and headers.get("sec-fetch-mode", "") != "navigate"

    async def _keyed(self, scope: Scope, headers: Headers) -> Caller | Problem:
        needed = scope_of(scope["path"], scope["method"])
        if needed == PUBLIC:
            return ANYONE
        assert self._keyring is not None
        try:
            sent = token_in(headers)
            key = await self._keyring.holder(sent.token)
        except StoreError as error:
            return Problem("unavailable", "the keys cannot be read", error.hint, retry_after=5)
        if key is None:
            named = "the API key opens nothing here" if sent.token else "there is no API key"
            return Problem(
                "no-key", named, "send authorization: Bearer gw_…", headers={"www-authenticate": "Bearer"}
            )
        caller = Caller(key.name, key.id, key.scopes)
        if not caller.may(needed):
            return Problem("forbidden", f"the key {key.name!r} lacks the scope {needed}")
        wait = await self._limiter.take(key.id, key.per_minute or self._config.requests_per_minute)
        if wait > 0:
            return Problem("too-many", f"the key {key.name!r} asks too often", retry_after=wait)
        scope["groundwire.key_header"] = sent.header.encode()
        return caller


@dataclass(frozen=True, slots=True)
class Sent:
    """A key as it came, and in which header."""

    token: str = ""
    header: str = ""


def token_in(headers: Headers) -> Sent:
    """A bearer token that is not ours is somebody else's business: the proxy's upstream's."""
    own = headers.get("x-groundwire-key")
    if own is not None:
        return Sent(own.strip(), "x-groundwire-key")
    kind, _, bearer = headers.get("authorization", "").partition(" ")
    candidates = (
        Sent(bearer.strip() if kind.lower() == "bearer" else "", "authorization"),
        Sent(headers.get("x-api-key", "").strip(), "x-api-key"),
    )
    return next((sent for sent in candidates if sent.token.startswith("gw_")), Sent())


def _host(header: str) -> str:
    """The name in a Host header, without its port.

    >>> _host("LocalHost:80"), _host("[::1]:80"), _host("::1"), _host("")
    ('localhost', '::1', '::1', '')
    """
    if header.startswith("["):
        return header[1:].partition("]")[0].lower()
    return (header if header.count(":") > 1 else header.partition(":")[0]).lower()
