"""The upstream servers: names, headers, connections, responses, and failures as OpenAI-style errors."""

from __future__ import annotations

import asyncio
import json
import logging
import re
import ssl
import zlib
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cached_property
from urllib.parse import urlsplit

from groundwire.config import UPSTREAM_NAME, ProxyConfig, base_url
from groundwire.errors import InputError
from groundwire.proxy.connection import (
    Address,
    ConnectionPool,
    HttpConnection,
    HttpConnectionError,
    HttpReadTimeout,
    HttpRequest,
    ResponseHead,
)

HeaderPairs = Sequence[tuple[bytes, bytes]]
PREFIX = b"x-groundwire"  # of the headers that are ours; they are never forwarded
DEFAULT_NAME = "default"  # the name of an upstream that is configured without one
_NAMED_URL = re.compile(rf"(?P<name>{UPSTREAM_NAME})=(?P<url>https?://.*)", re.S)
_DOT_SEGMENT = re.compile(r"(?:^|/|\\|%2f|%5c)(?:\.|%2e){1,2}(?:/|\\|%2f|%5c|$)", re.IGNORECASE)
_DEFAULT_PORTS = {"http": 80, "https": 443}
_SUPPORTED_ENCODINGS = ("gzip", "x-gzip", "deflate")
_log = logging.getLogger("groundwire.proxy")


def parse_upstreams(given: Sequence[str]) -> dict[str, str]:
    """Parse `URL` or `NAME=URL` arguments; each name may occur once.

    >>> parse_upstreams(["http://127.0.0.1:8080/v1", "cloud=https://api.openai.com/v1/"])
    {'default': 'http://127.0.0.1:8080/v1', 'cloud': 'https://api.openai.com/v1'}
    """
    found: dict[str, str] = {}
    for text in given:
        named = _NAMED_URL.fullmatch(text)
        name, url = (named["name"], named["url"]) if named else (DEFAULT_NAME, text)
        if name in found:
            raise InputError(f"two upstreams have the name {name!r}", hint="write NAME=URL")
        found[name] = check_base_url(name, url)
    return found


def check_base_url(name: str, url: str) -> str:
    """Return the base URL without its trailing slash; an invalid one is rejected at start-up."""
    try:
        return base_url(url)
    except ValueError as error:
        raise InputError(f"upstream {name!r}: {error}", hint="its key goes into proxy.api_keys") from None


def split_model_name(model: str, names: Mapping[str, object]) -> tuple[str, str]:
    """Return the upstream that a model name selects, and the model's name at that upstream.

    >>> names = {"local": 1, "cloud": 2}
    >>> split_model_name("cloud/gpt-5", names), split_model_name("meta/llama", names)
    (('cloud', 'gpt-5'), ('local', 'meta/llama'))
    """
    name, slash, rest = model.partition("/")
    if slash and rest and name in names:
        return name, rest
    return next(iter(names)), model


class UpstreamUnavailable(Exception):
    """An upstream gave no response: 502, or 504 after a timeout."""

    def __init__(self, status: int, message: str, code: str) -> None:
        super().__init__(message)
        self.status, self.message, self.code = status, message, code


class UpstreamDisconnected(Exception):
    """The upstream failed in the middle of its response."""


@dataclass(frozen=True, slots=True)
class UpstreamRequest:
    """A request to forward. `path` is relative to /v1 and still percent-encoded."""

    method: str
    path: str
    query: bytes
    headers: HeaderPairs
    body: bytes
    plain: bool = False


@dataclass(frozen=True, slots=True)
class Upstream:
    name: str
    url: str
    key: str = field(default="", repr=False)

    @property
    def address(self) -> Address:
        parts = urlsplit(self.url)
        return parts.scheme, parts.hostname or "", parts.port or _DEFAULT_PORTS[parts.scheme]

    def http_request(self, request: UpstreamRequest, read_timeout: float) -> HttpRequest:
        """Build the request below the configured base URL; dot segments could leave it."""
        if _DOT_SEGMENT.search(request.path):
            raise InputError("the path contains . or .. segments", hint="write it without them")
        parts = urlsplit(self.url)
        query = f"?{request.query.decode('latin-1')}" if request.query else ""
        target = f"{parts.path}/{request.path.lstrip('/')}{query}"
        # Anthropic's API takes its key in a header of its own.
        own = request.path.partition("/")[0] == "messages"
        headers = upstream_headers(request.headers, self.key, plain=request.plain, own_header=own)
        return HttpRequest(request.method, parts.netloc, target, headers, request.body, read_timeout)


@dataclass(frozen=True, slots=True)
class UpstreamResponse:
    """A response whose body can be read once."""

    head: ResponseHead
    connection: HttpConnection

    @property
    def encoding(self) -> str:
        found = self.head.get(b"content-encoding")
        return "" if found == "identity" else found

    @property
    def is_decodable(self) -> bool:
        return not self.encoding or self.encoding in _SUPPORTED_ENCODINGS

    async def raw(self) -> AsyncIterator[bytes]:
        """Yield the body as it arrives, undecoded."""
        try:
            async for chunk in self.connection.body():
                yield chunk
        except HttpReadTimeout as error:
            raise UpstreamDisconnected("the upstream stopped sending in the middle of its response") from error
        except HttpConnectionError as error:
            raise UpstreamDisconnected("the upstream disconnected in the middle of its response") from error

    async def decoded(self) -> AsyncIterator[bytes]:
        """Yield the body decompressed; some upstreams compress although we ask them not to."""
        if not self.encoding:
            async for chunk in self.raw():
                yield chunk
            return
        decompressor = zlib.decompressobj(wbits=47)  # 32 + 15: detect gzip or zlib by the header
        async for chunk in self.raw():
            try:
                if data := decompressor.decompress(chunk):
                    yield data
            except zlib.error as error:
                raise UpstreamDisconnected("the upstream's response cannot be decompressed") from error

    async def read(self) -> bytes:
        try:
            return b"".join([chunk async for chunk in self.decoded()])
        except UpstreamDisconnected as error:
            raise UpstreamUnavailable(502, str(error), "broken_off") from error


class Upstreams:
    """All configured upstreams and their connections; the first is the default. Bound to one event loop."""

    def __init__(self, config: ProxyConfig) -> None:
        keys = {name: key.get_secret_value() for name, key in config.api_keys.items()}
        self._config = config
        self._pool = ConnectionPool()
        self.by_name: Mapping[str, Upstream] = {
            name: Upstream(name, check_base_url(name, url), keys.get(name, ""))
            for name, url in config.upstreams.items()
        }
        self._name_prefixes = tuple(f'"{name}/'.encode() for name in self.by_name)
        for name in keys.keys() - self.by_name.keys():
            _log.warning("proxy.api_keys names %r, which is not a configured upstream", name)
        if any(upstream.url.startswith("https:") for upstream in self.by_name.values()):
            _ = self._tls  # loading the certificates takes a while: do it at start-up

    @cached_property
    def _tls(self) -> ssl.SSLContext:
        import httpx

        return httpx.create_ssl_context()

    def may_name_upstream(self, body: bytes) -> bool:
        """True if the body may contain a model name that selects an upstream, so that it must be parsed."""
        return any(prefix in body for prefix in self._name_prefixes)

    def choose(self, model: str = "", header: str = "") -> tuple[Upstream, str]:
        """Return the upstream named by the header or else by the model, and the model's name there."""
        if header and header not in self.by_name:
            raise InputError(f"unknown upstream {header[:64]!r}", hint=f"use one of {', '.join(self.by_name)}")
        name, model = split_model_name(model, self.by_name)
        return self.by_name[header or name], model

    @asynccontextmanager
    async def open(self, upstream: Upstream, request: UpstreamRequest) -> AsyncIterator[UpstreamResponse]:
        """Send a request; an unread body is discarded when the block ends."""
        http_request = upstream.http_request(request, self._config.read_timeout)
        response = await self._send(upstream, http_request)
        try:
            yield response
        finally:
            if response.connection.release():
                self._pool.put(upstream.address, response.connection)

    async def _send(self, upstream: Upstream, request: HttpRequest) -> UpstreamResponse:
        try:
            connection = self._pool.take(upstream.address) or await self._connect(upstream)
            try:
                return UpstreamResponse(await connection.send(request), connection)
            except HttpConnectionError as error:
                if not error.untouched:
                    raise
                # The upstream closed an idle connection just as we reused it: sending again is safe.
                fresh = await self._connect(upstream)
                return UpstreamResponse(await fresh.send(request), fresh)
        except HttpReadTimeout as error:
            raise _unavailable(504, upstream, "did not answer in time") from error
        except HttpConnectionError as error:
            raise _unavailable(502, upstream, f"gave no response: {error}") from error

    async def _connect(self, upstream: Upstream) -> HttpConnection:
        scheme, host, port = upstream.address
        loop = asyncio.get_running_loop()
        tls = self._tls if scheme == "https" else None
        try:
            async with asyncio.timeout(self._config.connect_timeout):
                _, connection = await loop.create_connection(HttpConnection, host, port, ssl=tls)
        except TimeoutError as error:
            raise _unavailable(504, upstream, "cannot be reached in time") from error
        except (OSError, ssl.SSLError, UnicodeError) as error:
            untrusted = isinstance(error, ssl.SSLCertVerificationError)
            reason = "its certificate is not trusted" if untrusted else "no connection"
            raise _unavailable(502, upstream, f"cannot be reached: {reason}") from error
        return connection

    async def aclose(self) -> None:
        self._pool.close()


def _unavailable(status: int, upstream: Upstream, why: str) -> UpstreamUnavailable:
    # Clients see the upstream's name only: its address may be internal.
    code = "upstream_timeout" if status == 504 else "upstream_down"
    return UpstreamUnavailable(status, f"upstream {upstream.name!r} {why}", code)


def error_body(message: str, kind: str, code: str) -> bytes:
    """Encode an error as the OpenAI API does, so that its SDKs show the message."""
    error = {"message": message, "type": kind, "param": None, "code": code}
    return json.dumps({"error": error}, ensure_ascii=False).encode("utf-8", "replace")


# Which headers are forwarded in each direction.

_MAX_HEADER_CHARS = 300  # of our own headers: reasons may be long, and servers limit the whole head to 8-16 kB
_HOP_BY_HOP = frozenset((
    b"connection", b"keep-alive", b"proxy-authenticate", b"proxy-authorization", b"proxy-connection", b"te",
    b"trailer", b"trailers", b"transfer-encoding", b"upgrade",
))  # fmt: skip
_CREDENTIALS = frozenset((b"authorization", b"api-key", b"x-api-key"))
# The connection writes its own host and length; cookies belong to this server's site, not to the upstream.
_NOT_FORWARDED = _HOP_BY_HOP | {b"host", b"content-length", b"expect", b"cookie", b"accept-encoding"}
# What a browser obeys is this server's to say: an upstream must not loosen the policies of its pages.
_BROWSER_POLICIES = frozenset((
    b"content-security-policy", b"content-security-policy-report-only", b"x-content-type-options",
    b"x-frame-options", b"x-xss-protection", b"x-permitted-cross-domain-policies", b"referrer-policy",
    b"permissions-policy", b"cross-origin-opener-policy", b"cross-origin-opener-policy-report-only",
    b"cross-origin-embedder-policy", b"cross-origin-embedder-policy-report-only",
    b"cross-origin-resource-policy", b"origin-agent-cluster", b"timing-allow-origin",
    b"service-worker-allowed", b"clear-site-data", b"refresh", b"link", b"sourcemap", b"x-sourcemap",
    b"report-to", b"reporting-endpoints", b"nel", b"x-dns-prefetch-control", b"strict-transport-security",
    b"set-cookie", b"set-cookie2", b"set-login", b"alt-svc", b"speculation-rules", b"supports-loading-mode",
    b"feature-policy", b"document-policy", b"document-policy-report-only", b"require-document-policy",
    b"x-content-security-policy", b"x-webkit-csp", b"integrity-policy", b"integrity-policy-report-only",
    b"accept-ch", b"critical-ch", b"public-key-pins", b"expect-ct", b"default-style", b"x-ua-compatible",
    b"use-as-dictionary", b"activate-storage-access", b"observe-browsing-topics",
))  # fmt: skip
# In the policy of our pages, 'self' would be the upstream too: its page could load its script, and call our API.
RELAYED_CSP = b"default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; sandbox"
_NOT_RETURNED = _HOP_BY_HOP | _BROWSER_POLICIES | {b"date", b"server"}
_NOT_RETURNED_PREFIXES = (PREFIX, b"access-control-", b"attribution-reporting-")
_OWN_KEY_PREFIX = b"gw_"


def upstream_headers(
    headers: HeaderPairs, key: str, *, plain: bool, own_header: bool = False
) -> list[tuple[bytes, bytes]]:
    """Return the caller's headers as the upstream receives them.

    A configured `key` replaces all credentials of the caller. Without one the caller's own are forwarded,
    unless they are a key of this server. `plain` asks the upstream not to compress the body; `own_header`
    sends the key as `x-api-key`.
    """
    dropped = _NOT_FORWARDED | _connection_headers(headers) | (_CREDENTIALS if key else frozenset())
    result = [
        (name, value)
        for name, value in headers
        if name not in dropped
        and not name.startswith(PREFIX)
        and not (name in _CREDENTIALS and value.split(b" ")[-1].startswith(_OWN_KEY_PREFIX))
    ]
    encoding = b"identity" if plain else next((v for n, v in headers if n == b"accept-encoding"), b"identity")
    result.append((b"accept-encoding", encoding))
    if key:
        credential = (b"x-api-key", key) if own_header else (b"authorization", f"Bearer {key}")
        result.append((credential[0], credential[1].encode()))
    return result


def client_headers(headers: HeaderPairs, *, changed: bool = False, decoded: bool = False) -> list[tuple[bytes, bytes]]:
    """Return the upstream's headers as the caller receives them.

    Headers that describe the exact bytes are dropped if the body was `changed` or `decoded`.
    """
    lower = [(name.lower(), value) for name, value in headers]
    dropped = _NOT_RETURNED | _connection_headers(lower)
    if changed or decoded:
        dropped |= {b"content-length", b"content-md5", b"digest", b"etag"}
    if decoded:
        dropped |= {b"content-encoding"}
    return [
        (name, value) for name, value in lower if name not in dropped and not name.startswith(_NOT_RETURNED_PREFIXES)
    ]


def _connection_headers(headers: Iterable[tuple[bytes, bytes]]) -> frozenset[bytes]:
    """Return the header names that `Connection` declares hop-by-hop."""
    listed = b",".join(value for name, value in headers if name.lower() == b"connection")
    return frozenset(part.strip().lower() for part in listed.split(b",") if part.strip())


def groundwire_headers(values: Mapping[str, object]) -> Iterator[tuple[bytes, bytes]]:
    """Yield `x-groundwire-…` headers, each as one ASCII line."""
    for name, value in values.items():
        line = " ".join(str(value).split()).encode("ascii", "replace").decode()
        yield PREFIX + b"-" + name.encode(), line[:_MAX_HEADER_CHARS].encode()
