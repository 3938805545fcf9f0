"""The upstream servers: names, connections, responses, and failures as OpenAI-style errors."""

from __future__ import annotations

import asyncio
import json
import logging
import re
import ssl
import zlib
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cached_property
from urllib.parse import urlsplit

from groundwire.config.service import UPSTREAM_NAME, ProxyConfig, base_url
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
from groundwire.proxy.options import HeaderPairs, upstream_headers

DEFAULT_NAME = "default"
"""The name of an upstream that is configured without one."""
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
