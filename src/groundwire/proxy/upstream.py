"""The servers behind the proxy: one pool of connections, and their failures in OpenAI's words."""

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
from groundwire.proxy.headers import Pairs, to_upstream
from groundwire.proxy.wire import Head, Pool, Request, Wire, WireError, WireTimeout

# Upstreams by name: as they are written on the command line, and as a model's name picks one.

ONLY = "default"
"""The name of an upstream that was given none."""
_NAMED = re.compile(rf"(?P<name>{UPSTREAM_NAME})=(?P<url>https?://.*)", re.S)


def parse_upstreams(given: Sequence[str]) -> dict[str, str]:
    """`URL` or `name=URL`, each name once.

    >>> parse_upstreams(["http://127.0.0.1:8080/v1", "cloud=https://api.openai.com/v1/"])
    {'default': 'http://127.0.0.1:8080/v1', 'cloud': 'https://api.openai.com/v1'}
    """
    found: dict[str, str] = {}
    for text in given:
        named = _NAMED.fullmatch(text)
        name, url = (named["name"], named["url"]) if named else (ONLY, text)
        if name in found:
            raise InputError(f"two upstreams are called {name!r}", hint="write name=URL")
        found[name] = checked(name, url)
    return found


def checked(name: str, url: str) -> str:
    """The base URL without its last slash; what is no such URL is refused at the start, not per request."""
    try:
        return base_url(url)
    except ValueError as error:
        raise InputError(f"the upstream {name!r}: {error}", hint="its key goes into proxy.keys") from None


def pick(model: str, names: Mapping[str, object]) -> tuple[str, str]:
    """Which upstream serves a model, and what the model is called there.

    >>> pick("cloud/gpt-5", {"local": 1, "cloud": 2}), pick("meta/llama", {"local": 1, "cloud": 2})
    (('cloud', 'gpt-5'), ('local', 'meta/llama'))
    """
    name, slash, rest = model.partition("/")
    if slash and rest and name in names:
        return name, rest
    return next(iter(names)), model


_STEPS = re.compile(r"(?:^|/|\\|%2f|%5c)(?:\.|%2e){1,2}(?:/|\\|%2f|%5c|$)", re.IGNORECASE)
_PORTS = {"http": 80, "https": 443}
_UNPACKED = ("gzip", "x-gzip", "deflate")
_log = logging.getLogger("groundwire.proxy")


class Unreachable(Exception):
    """No answer came from an upstream: 502, or 504 where it was too slow."""

    def __init__(self, status: int, message: str, code: str) -> None:
        super().__init__(message)
        self.status, self.message, self.code = status, message, code


class Broken(Exception):
    """The upstream broke off in the middle of its answer."""


@dataclass(frozen=True, slots=True)
class Call:
    """A request as an upstream gets it. `path` is as it came, escapes and all, from behind /v1."""

    method: str
    path: str
    query: bytes
    headers: Pairs
    body: bytes
    plain: bool = False


@dataclass(frozen=True, slots=True)
class Target:
    name: str
    url: str
    key: str = field(default="", repr=False)

    @property
    def place(self) -> tuple[str, str, int]:
        parts = urlsplit(self.url)
        return parts.scheme, parts.hostname or "", parts.port or _PORTS[parts.scheme]

    def request(self, call: Call, read_timeout: float) -> Request:
        """Below the configured base, whatever the caller writes."""
        if _STEPS.search(call.path):
            raise InputError("the path leads out of the API", hint="write it without . and .. in it")
        parts = urlsplit(self.url)
        query = f"?{call.query.decode('latin-1')}" if call.query else ""
        target = f"{parts.path}/{call.path.lstrip('/')}{query}"
        headers = to_upstream(call.headers, self.key, plain=call.plain)
        return Request(call.method, parts.netloc, target, headers, call.body, read_timeout)


@dataclass(frozen=True, slots=True)
class Answer:
    """An upstream's answer: its head, and its body to be read once."""

    head: Head
    wire: Wire

    @property
    def coding(self) -> str:
        found = self.head.get(b"content-encoding")
        return "" if found == "identity" else found

    @property
    def is_readable(self) -> bool:
        """Whether the body is, or can be made, what its type says."""
        return not self.coding or self.coding in _UNPACKED

    async def raw(self) -> AsyncIterator[bytes]:
        """The very bytes, as they come."""
        try:
            async for piece in self.wire.body():
                yield piece
        except WireTimeout as error:
            raise Broken("the upstream fell silent in the middle of its answer") from error
        except WireError as error:
            raise Broken("the upstream broke off in the middle of its answer") from error

    async def plain(self) -> AsyncIterator[bytes]:
        """The same, unpacked where the upstream packed it against our wish."""
        if not self.coding:
            async for piece in self.raw():
                yield piece
            return
        unpacking = zlib.decompressobj(wbits=47)  # gzip or zlib, as its head says
        async for piece in self.raw():
            try:
                if unpacked := unpacking.decompress(piece):
                    yield unpacked
            except zlib.error as error:
                raise Broken("the upstream's answer cannot be unpacked") from error

    async def whole(self) -> bytes:
        try:
            return b"".join([piece async for piece in self.plain()])
        except Broken as error:
            raise Unreachable(502, str(error), "broken_off") from error


class Upstreams:
    """All of them, by name, the first being the one for whatever names none. Belongs to one event loop."""

    def __init__(self, config: ProxyConfig) -> None:
        keys = {name: key.get_secret_value() for name, key in config.keys.items()}
        self._config = config
        self._pool = Pool()
        self.targets: Mapping[str, Target] = {
            name: Target(name, checked(name, url), keys.get(name, ""))
            for name, url in config.upstreams.items()
        }
        self._marks = tuple(f'"{name}/'.encode() for name in self.targets)
        for name in keys.keys() - self.targets.keys():
            _log.warning("proxy.keys names %r, which is no upstream", name)
        if any(target.url.startswith("https:") for target in self.targets.values()):
            _ = self._tls  # reads hundreds of certificates: now, not when somebody waits

    @cached_property
    def _tls(self) -> ssl.SSLContext:
        import httpx

        return httpx.create_ssl_context()

    def names_one(self, body: bytes) -> bool:
        """Whether a body may hold a model that names its upstream: worth reading then, and only then."""
        return any(mark in body for mark in self._marks)

    def choose(self, model: str = "", wanted: str = "") -> tuple[Target, str]:
        """The upstream a caller names, by header or by the model's name, and the model's name there."""
        if wanted and wanted not in self.targets:
            names = ", ".join(self.targets)
            raise InputError(f"there is no upstream {wanted[:64]!r}", hint=f"there is {names}")
        name, model = pick(model, self.targets)
        return self.targets[wanted or name], model

    @asynccontextmanager
    async def opened(self, target: Target, call: Call) -> AsyncIterator[Answer]:
        """The upstream's answer, its head read and its body not; what is unread ends with the block."""
        answer = await self._asked(target, target.request(call, self._config.read_timeout))
        try:
            yield answer
        finally:
            if answer.wire.release():
                self._pool.give(target.place, answer.wire)

    async def _asked(self, target: Target, request: Request) -> Answer:
        try:
            wire = self._pool.take(target.place) or await self._connected(target)
            try:
                return Answer(await wire.send(request), wire)
            except WireError as error:
                if not error.untouched:
                    raise
                # It had closed a waiting connection just before we used it, and has read nothing.
                fresh = await self._connected(target)
                return Answer(await fresh.send(request), fresh)
        except WireTimeout as error:
            raise _no(504, target, "did not answer in time") from error
        except WireError as error:
            raise _no(502, target, f"gave no answer: {error}") from error

    async def _connected(self, target: Target) -> Wire:
        scheme, host, port = target.place
        loop = asyncio.get_running_loop()
        tls = self._tls if scheme == "https" else None
        try:
            async with asyncio.timeout(self._config.connect_timeout):
                _, wire = await loop.create_connection(Wire, host, port, ssl=tls)
        except TimeoutError as error:
            raise _no(504, target, "cannot be reached in time") from error
        except (OSError, ssl.SSLError, UnicodeError) as error:
            untrusted = isinstance(error, ssl.SSLCertVerificationError)
            why = "its certificate is not trusted" if untrusted else "no connection"
            raise _no(502, target, f"cannot be reached: {why}") from error
        return wire

    async def aclose(self) -> None:
        self._pool.close()


def _no(status: int, target: Target, why: str) -> Unreachable:
    """By the upstream's name: its address is the operator's business."""
    code = "upstream_timeout" if status == 504 else "upstream_down"
    return Unreachable(status, f"the upstream {target.name!r} {why}", code)


def error_body(message: str, kind: str, code: str) -> bytes:
    """An error as the OpenAI API words it, so that its SDKs show the message."""
    return json.dumps(
        {"error": {"message": message, "type": kind, "param": None, "code": code}}, ensure_ascii=False
    ).encode("utf-8", "replace")
