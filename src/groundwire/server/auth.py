"""Authentication: by API key, or without keys only from this machine; and the rate limit of each key.

A server on loopback without keys can still be reached by a web page in a local browser, even by one whose DNS
name was made to point here (DNS rebinding), and through a reverse proxy on this machine. So a request must
come from this machine, name it in its Host header, have no header that proxies add, not be HTTP/1.0, and not
originate from another site.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from groundwire.config import Config, ServerConfig
from groundwire.errors import StoreError
from groundwire.server.problems import Problem, send_problem
from groundwire.stores.keys import ADMIN, ApiKey, split_token

if TYPE_CHECKING:
    from groundwire.stores.cache import RedisCache

PUBLIC = "public"
PROXY_HEADERS = (
    "forwarded", "x-forward", "via", "x-real-ip", "x-original-", "x-client-ip", "x-cluster-client-ip",
    "true-client-ip", "x-envoy-", "x-amzn-", "x-azure-", "cf-", "fastly-", "fly-", "tailscale-", "ngrok-",
    "client-ip", "proxy-", "wl-proxy-", "x-proxy", "x-http-forwarded", "x-remote-", "x-originating-", "x-scheme",
    "x-request-start", "max-forwards", "surrogate-capability", "front-end-https", "cdn-loop", "x-arr-", "x-nginx-",
    "x-varnish", "x-haproxy-", "x-traefik-", "x-vercel-", "x-nf-", "x-appengine-", "x-goog-", "akamai-", "incap-",
    "x-sucuri-", "x-ms-forwarded", "x-true-", "x-host", "x-cloud-trace-context", "x-amz-cf-", "x-ssl-", "ssl-client-",
    "x-url-scheme", "x-rewrite-", "x-client-cert", "x-client-verify", "remote-addr", "x-accel-",
)  # fmt: skip
"""Beginnings of headers by which a reverse proxy names itself or its client. One that adds none cannot be
recognised."""

_ANY, _READ = frozenset[str](), frozenset({"GET", "HEAD"})
_CHECK = (
    "/v1/check", "/v1/claims", "/v1/traces", "/v1/detect", "/v1/estimate", "/v1/outputs", "/v1/guard", "/v1/sources",
    "/mcp", "/beta/litellm_basic_guardrail_api",
)  # fmt: skip
_PAGES = ("/schema", "/healthz", "/readyz", "/docs", "/openapi.json", "/page", "/r", "/audit", "/favicon.ico")
PATHS: tuple[tuple[str, frozenset[str], str], ...] = (
    *((path, _ANY, "check") for path in _CHECK),
    ("/v1/facts", _READ, "facts:read"),
    ("/v1/facts", _ANY, "facts:write"),
    ("/v1/kb", _READ, "facts:read"),
    ("/v1/reports", _ANY, "reports"),
    ("/v1/rag/documents", _READ, "rag"),
    ("/v1/rag/documents", _ANY, "rag:write"),
    ("/v1/rag", _ANY, "rag"),
    ("/v1", _ANY, "proxy"),
    ("/metrics", _READ, "metrics"),
    *((path, _READ, PUBLIC) for path in _PAGES),
)
"""Path prefix, methods (empty: all) and required scope; the first match counts. Other paths below /v1 belong
to the proxy, and any path not listed requires `admin`."""


@dataclass(frozen=True, slots=True)
class Caller:
    """The authenticated caller. Without keys it is the local user, who may do everything."""

    name: str = "local"
    key_id: str = ""
    scopes: frozenset[str] = frozenset({ADMIN})

    def may(self, scope: str) -> bool:
        return scope in self.scopes or ADMIN in self.scopes


LOCAL = Caller()
ANONYMOUS = Caller("anyone", "", frozenset())


def scope_of(path: str, method: str) -> str:
    """The scope that a request requires.

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


def requires_keys(config: ServerConfig) -> bool:
    return config.auth == "always" or not is_loopback(config.host)


class HttpMiddleware:
    """ASGI middleware for HTTP requests; the messages of the server's life pass through."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await (self.handle if scope["type"] == "http" else self.app)(scope, receive, send)

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        raise NotImplementedError


class AuthMiddleware(HttpMiddleware):
    """Pass a request on with its `Caller`, or respond with the reason why not."""

    def __init__(self, app: ASGIApp, config: ServerConfig, keys: KeyCache | None, limiter: RateLimiter) -> None:
        super().__init__(app)
        self._config = config
        self._keys = keys
        self._limiter = limiter
        self._host_names = {name.lower() for name in config.allowed_hosts}

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        caller = self._local(scope, headers) if self._keys is None else await self._by_key(scope, headers)
        if isinstance(caller, Problem):
            await send_problem(caller, scope, receive, send)
            return
        scope.setdefault("state", {})["caller"] = caller
        await self.app(scope, receive, send)

    def _local(self, scope: Scope, headers: Headers) -> Caller | Problem:
        client = scope.get("client")
        if client is not None and not is_loopback(client[0]):
            return Problem("forbidden", "without API keys only local requests are accepted", "set server.auth: always")
        through = next((name for name in headers if name.replace("_", "-").startswith(PROXY_HEADERS)), None)
        if through is None and scope.get("http_version") == "1.0":
            through = "the version HTTP/1.0"  # which nginx speaks to servers behind it unless it is told otherwise
        if through is not None:
            detail = f"without API keys no request through a proxy is accepted, and this one has {through}"
            return Problem("forbidden", detail, "set server.auth: always")
        host = _host_name(headers.get("host", ""))
        if not (is_loopback(host) or host in self._host_names):
            return Problem("forbidden", f"unknown host name {host[:100]!r}", "see server.allowed_hosts")
        if self._is_cross_site(headers):
            return Problem("forbidden", "cross-site requests are not accepted", "see server.cors_origins")
        return LOCAL

    def _is_cross_site(self, headers: Headers) -> bool:
        """True for a request made by a page of another site; following a link from there is fine."""
        origin = headers.get("origin")
        if origin is not None:
            same = urlsplit(origin).netloc == headers.get("host", "")
            return not same and origin not in self._config.cors_origins
        # Requests for images and scripts have no Origin header, but browsers say where they are loaded from.
        cross_site = headers.get("sec-fetch-site", "") == "cross-site"
        return cross_site and headers.get("sec-fetch-mode", "") != "navigate"

    async def _by_key(self, scope: Scope, headers: Headers) -> Caller | Problem:
        required = scope_of(scope["path"], scope["method"])
        if required == PUBLIC:
            return ANONYMOUS
        assert self._keys is not None
        token, header = token_in(headers)
        try:
            key = await self._keys.find(token)
        except StoreError as error:
            return Problem("unavailable", "the API keys cannot be read", error.hint, retry_after=5)
        if key is None:
            detail = "the API key is not valid" if token else "no API key was sent"
            return Problem("no-key", detail, "send authorization: Bearer gw_…", headers={"www-authenticate": "Bearer"})
        caller = Caller(key.name, key.id, key.scopes)
        if not caller.may(required):
            return Problem("forbidden", f"the key {key.name!r} lacks the scope {required}")
        wait = await self._limiter.take(key.id, key.per_minute or self._config.requests_per_minute)
        if wait > 0:
            return Problem("too-many", f"the key {key.name!r} exceeded its rate limit", retry_after=wait)
        scope["groundwire.key_header"] = header.encode()  # the proxy must not forward it
        return caller


def token_in(headers: Headers) -> tuple[str, str]:
    """The groundwire key of a request and the header it was in, both empty if there is none.

    Other bearer tokens are meant for the proxy's upstream.
    """
    own = headers.get("x-groundwire-key")
    if own is not None:
        return own.strip(), "x-groundwire-key"
    scheme, _, bearer = headers.get("authorization", "").partition(" ")
    sent = {"authorization": bearer if scheme.lower() == "bearer" else "", "x-api-key": headers.get("x-api-key", "")}
    return next(((token.strip(), name) for name, token in sent.items() if token.strip().startswith("gw_")), ("", ""))


def _host_name(header: str) -> str:
    """The name in a Host header, without its port.

    >>> _host_name("LocalHost:80"), _host_name("[::1]:80"), _host_name("::1"), _host_name("")
    ('localhost', '::1', '::1', '')
    """
    if header.startswith("["):
        return header[1:].partition("]")[0].lower()
    return (header if header.count(":") > 1 else header.partition(":")[0]).lower()


REFRESH_SECONDS = 2.0  # age at which the cached keys are read again: a revoked key is noticed after at most this long
MISS_INTERVAL = 0.25
"""Seconds between two reads for unknown keys. Such a key may have just been created, but all waiting requests
share one read, so that a flood of invented keys does not reach the store."""
STALE_SECONDS = 300.0  # how long the cached keys remain valid while the store cannot be reached
READ_TIMEOUT = 2.0  # seconds that one read may take
RETRY_SECONDS = 5.0  # pause before a failed store is read again

_log = logging.getLogger("groundwire.server")


class KeyCache:
    """The valid API keys, cached. `read` returns them by id and is called in a thread."""

    def __init__(self, read: Callable[[], Mapping[str, ApiKey]], clock: Callable[[], float] = time.monotonic) -> None:
        self._read = read
        self._clock = clock
        self._keys: Mapping[str, ApiKey] = {}
        self._read_at = self._failed_at = float("-inf")
        self._lock = asyncio.Lock()

    async def find(self, token: str) -> ApiKey | None:
        """The key that a token belongs to, or None if it is not valid."""
        parts = split_token(token)
        if parts is None:
            return None
        identity, secret = parts
        now = self._clock()
        await self._ensure_read_since(now - REFRESH_SECONDS)
        if identity not in self._keys:
            await self._ensure_read_since(now, interval=MISS_INTERVAL)
        key = self._keys.get(identity)
        return key if key is not None and key.opens(secret) else None

    async def _ensure_read_since(self, moment: float, interval: float = 0.0) -> None:
        """Read the keys unless that was done after `moment`, with at least `interval` between two reads."""
        if self._read_at >= moment:
            return
        async with self._lock:
            if self._read_at >= moment:  # another request read them while this one waited
                return
            if self._clock() >= self._failed_at + RETRY_SECONDS:
                await asyncio.sleep(max(0.0, self._read_at + interval - self._clock()))
                await self._refresh()
            if self._clock() - self._read_at > STALE_SECONDS:
                raise StoreError("the API keys cannot be read")

    async def _refresh(self) -> None:
        now = self._clock()
        try:
            async with asyncio.timeout(READ_TIMEOUT):
                self._keys = await asyncio.to_thread(self._read)
            self._read_at = now
        except (StoreError, TimeoutError) as error:
            self._failed_at = self._clock()  # requests must not wait for a failed store one after another
            _log.warning("the API keys cannot be read now: %s", error)


_MAX_BUCKETS = 10_000  # beyond it the least recently used bucket is dropped: after that long it is full again anyway


class RateLimiter:
    """One token bucket per key, full at first: it holds a minute's worth and refills steadily.

    With Redis the buckets are shared by all replicas; while it is down each replica counts alone.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic, redis: RedisCache | None = None) -> None:
        self._clock = clock
        self._redis = redis
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    async def take(self, name: str, per_minute: int) -> float:
        """0.0 if the request may proceed, else the seconds until the next one may."""
        if self._redis is not None:
            wait = await asyncio.to_thread(self._redis.take, name, per_minute)
            if wait is not None:
                return wait
        now, per_second = self._clock(), per_minute / 60.0
        level, updated = self._buckets.pop(name, (float(per_minute), now))
        level = min(float(per_minute), level + (now - updated) * per_second)
        granted = level >= 1.0
        self._buckets[name] = (level - 1.0 if granted else level, now)
        if len(self._buckets) > _MAX_BUCKETS:
            self._buckets.popitem(last=False)
        return 0.0 if granted else (1.0 - level) / per_second


def rate_limiter(config: Config) -> RateLimiter:
    """In this process, or with `redis.url` shared by all replicas."""
    if config.redis.url is None:
        return RateLimiter()
    from groundwire.stores.cache import RedisCache

    return RateLimiter(redis=RedisCache(config.redis.url.get_secret_value()))
