"""The servers behind the proxy: one pool of connections, and their failures in OpenAI's words."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from groundwire.apps.proxy.headers import Pairs, to_upstream
from groundwire.apps.proxy.naming import checked, pick
from groundwire.config.service import ProxyConfig
from groundwire.errors import InputError

if TYPE_CHECKING:
    import httpx

_STEPS = re.compile(r"(?:^|/|\\|%2f|%5c)(?:\.|%2e){1,2}(?:/|\\|%2f|%5c|$)", re.IGNORECASE)
_KEPT_ALIVE = 256
_IDLE = 30.0


class Unreachable(Exception):
    """No answer came from an upstream: 502, or 504 where it was too slow."""

    def __init__(self, status: int, message: str, code: str) -> None:
        super().__init__(message)
        self.status, self.message, self.code = status, message, code


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

    def address(self, call: Call) -> str:
        """Below the configured base, whatever the caller writes."""
        if _STEPS.search(call.path):
            raise InputError("the path leads out of the API", hint="write it without . and .. in it")
        query = f"?{call.query.decode('latin-1')}" if call.query else ""
        return f"{self.url}/{call.path.lstrip('/')}{query}"


class Upstreams:
    """All of them, by name, the first being the one for whatever names none. Belongs to one event loop."""

    def __init__(self, config: ProxyConfig) -> None:
        keys = {name: key.get_secret_value() for name, key in config.keys.items()}
        self._config = config
        self.targets: Mapping[str, Target] = {
            name: Target(name, checked(name, url), keys.get(name, ""))
            for name, url in config.upstreams.items()
        }
        self._marks = tuple(f'"{name}/'.encode() for name in self.targets)

    @cached_property
    def _client(self) -> httpx.AsyncClient:
        import httpx

        waits = httpx.Timeout(
            self._config.read_timeout, connect=self._config.connect_timeout, pool=self._config.connect_timeout
        )
        limits = httpx.Limits(
            max_connections=None, max_keepalive_connections=_KEPT_ALIVE, keepalive_expiry=_IDLE
        )
        return httpx.AsyncClient(timeout=waits, limits=limits, follow_redirects=False)

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
    async def opened(self, target: Target, call: Call) -> AsyncIterator[httpx.Response]:
        """The upstream's answer, its head read and its body not; the connection ends with the block."""
        import httpx

        headers = to_upstream(call.headers, target.key, plain=call.plain)
        request = self._client.build_request(
            call.method, target.address(call), headers=headers, content=call.body or None
        )
        try:
            answer = await self._client.send(request, stream=True)
        except httpx.TimeoutException as error:
            raise Unreachable(
                504, f"the upstream {target.name!r} did not answer in time", "timeout"
            ) from error
        except (httpx.TransportError, httpx.InvalidURL) as error:
            raise Unreachable(
                502, f"the upstream {target.name!r} cannot be reached: {_why(error)}", "down"
            ) from error
        try:
            yield answer
        finally:
            await answer.aclose()

    async def aclose(self) -> None:
        if "_client" in self.__dict__:
            await self._client.aclose()


def _why(error: Exception) -> str:
    """The kind of failure; never the address, which is the operator's business."""
    name = type(error).__name__
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower()


def error_body(message: str, kind: str, code: str) -> bytes:
    """An error as the OpenAI API words it, so that its SDKs show the message."""
    return json.dumps(
        {"error": {"message": message, "type": kind, "param": None, "code": code}}, ensure_ascii=False
    ).encode("utf-8", "replace")
