"""`AsyncClient`, and `Client` around it for synchronous code. The requests are described in `calls`."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator
from functools import wraps
from inspect import Parameter, signature
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

import httpx
from pydantic import SecretStr

from groundwire._loop import PerLoop, run
from groundwire.client import calls
from groundwire.client.calls import ApiCall, ChatEvent, EventParser, error_of, parse_response
from groundwire.errors import BackendDown, BackendError, BackendTimeout
from groundwire.llm.base import Endpoint, retry_after
from groundwire.requests import History

P = ParamSpec("P")
T = TypeVar("T")
Sleep = Callable[[float], Coroutine[Any, Any, None]]
_RETRY_STATUSES = (429, 503)


def _sync_method(build: Callable[P, ApiCall[T]]) -> Callable[Concatenate[Client, P], T]:
    """A method of `Client` from a function that builds a call."""

    @wraps(build)
    def method(self: Client, /, *args: P.args, **named: P.kwargs) -> T:
        return self.send(build(*args, **named))

    _set_signature(method, build)
    return method


def _async_method(build: Callable[P, ApiCall[T]]) -> Callable[Concatenate[AsyncClient, P], Coroutine[Any, Any, T]]:
    """A method of `AsyncClient` from a function that builds a call."""

    @wraps(build)
    async def method(self: AsyncClient, /, *args: P.args, **named: P.kwargs) -> T:
        return await self.send(build(*args, **named))

    _set_signature(method, build)
    return method


def _set_signature(method: Callable[..., Any], build: Callable[..., Any]) -> None:
    """Make `help()` show the parameters of the call, after `self`, and the type of its result."""
    own = signature(build)
    parameters = [Parameter("self", Parameter.POSITIONAL_OR_KEYWORD), *own.parameters.values()]
    result = str(own.return_annotation).removeprefix("ApiCall[").removesuffix("]")
    shown = own.replace(parameters=parameters, return_annotation=result)
    method.__signature__ = shown  # type: ignore[attr-defined]


class AsyncClient:
    """A client of a groundwire server. Close it, or use it as a context manager; it may be used on several event loops.

    `timeout` is in seconds and applies to each request. When the server is at capacity (429) or shutting down
    (503), the request is repeated up to `retries` times, as long as the waits that the server asks for add up
    to at most `longest_wait` seconds.
    """

    check = _async_method(calls.check)
    verify_claim = _async_method(calls.verify_claim)
    verify_claims = _async_method(calls.verify_claims)
    audit_trace = _async_method(calls.audit_trace)
    detect = _async_method(calls.detect)
    remember = _async_method(calls.remember)
    facts = _async_method(calls.facts)
    verify_output = _async_method(calls.verify_output)
    output = _async_method(calls.output)
    chat = _async_method(calls.chat)
    report = _async_method(calls.report)
    health = _async_method(calls.health)

    def __init__(
        self,
        url: str,
        api_key: str | None = None,
        *,
        sleep: Sleep = asyncio.sleep,
        timeout: float = 60.0,
        retries: int = 3,
        longest_wait: float = 30.0,
    ) -> None:
        key = SecretStr(api_key) if api_key else None
        self._endpoint = Endpoint("client", url.rstrip("/"), "", key, timeout)
        self._sleep, self._retries, self._longest_wait = sleep, retries, longest_wait
        self._http = PerLoop(self._open, httpx.AsyncClient.aclose)

    @property
    def host(self) -> str:
        return self._endpoint.host

    async def send(self, call: ApiCall[T]) -> T:
        left = self._longest_wait
        for retries in range(self._retries, -1, -1):
            try:
                response = await self._http.get().request(**call.request)
            except httpx.HTTPError as error:
                raise self._connection_error(error) from error
            wait = retry_after(response.headers) if response.status_code in _RETRY_STATUSES else None
            if wait is None or wait > left or not retries:
                break
            left -= wait
            await self._sleep(wait)
        if not response.is_success:
            raise self._error(response)
        return parse_response(call, response.content, self.host)

    async def chat_stream(
        self, question: str, *, history: History = (), top_k: int | None = None
    ) -> AsyncGenerator[ChatEvent, None]:
        """Answer a question from the server's documents, as a stream of events."""
        call = calls.chat_stream(question, history=history, top_k=top_k)
        parser = EventParser()
        try:
            async with self._http.get().stream(**call.request) as response:
                if not response.is_success:
                    await response.aread()
                    raise self._error(response)
                async for chunk in response.aiter_bytes():
                    for found in parser.feed(chunk):
                        yield self._checked_event(found)
        except httpx.HTTPError as error:
            raise self._connection_error(error) from error

    def _open(self) -> httpx.AsyncClient:
        key = self._endpoint.api_key.get_secret_value() if self._endpoint.api_key else ""
        return httpx.AsyncClient(
            base_url=self._endpoint.base_url,
            timeout=self._endpoint.timeout,
            headers={"authorization": f"Bearer {key}"} if key else {},
            trust_env=not self._endpoint.is_loopback,
        )

    def _error(self, response: httpx.Response) -> Exception:
        return error_of(response.status_code, response.content, self.host, retry_after(response.headers))

    def _connection_error(self, error: httpx.HTTPError) -> BackendError:
        if isinstance(error, httpx.TimeoutException):
            return BackendTimeout(f"{self.host} did not answer within {self._endpoint.timeout:g} s")
        why = self._endpoint.public(str(error) or type(error).__name__)
        return BackendDown(f"cannot reach {self.host}, or the connection was lost", hint=why, retryable=True)

    def _checked_event(self, found: ChatEvent) -> ChatEvent:
        """Raise the error that an event of a stream reports."""
        if found.kind != "error":
            return found
        status = found.data.get("status")
        raise error_of(status if isinstance(status, int) else 500, json.dumps(dict(found.data)).encode(), self.host)

    async def aclose(self) -> None:
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


class Client:
    """`AsyncClient` for synchronous code, with the same options. Thread-safe; close it, or use it in a `with` block."""

    check = _sync_method(calls.check)
    verify_claim = _sync_method(calls.verify_claim)
    verify_claims = _sync_method(calls.verify_claims)
    audit_trace = _sync_method(calls.audit_trace)
    detect = _sync_method(calls.detect)
    remember = _sync_method(calls.remember)
    facts = _sync_method(calls.facts)
    verify_output = _sync_method(calls.verify_output)
    output = _sync_method(calls.output)
    chat = _sync_method(calls.chat)
    report = _sync_method(calls.report)
    health = _sync_method(calls.health)

    def __init__(
        self,
        url: str,
        api_key: str | None = None,
        *,
        sleep: Sleep = asyncio.sleep,
        timeout: float = 60.0,
        retries: int = 3,
        longest_wait: float = 30.0,
    ) -> None:
        waits = {"timeout": timeout, "longest_wait": longest_wait}
        self._client = AsyncClient(url, api_key, sleep=sleep, retries=retries, **waits)

    @property
    def host(self) -> str:
        return self._client.host

    def send(self, call: ApiCall[T]) -> T:
        return run(self._client.send(call))

    def chat_stream(self, question: str, *, history: History = (), top_k: int | None = None) -> Iterator[ChatEvent]:
        """Answer a question from the server's documents, as a stream of events."""
        events = self._client.chat_stream(question, history=history, top_k=top_k)

        async def following() -> ChatEvent | None:
            return await anext(events, None)

        try:
            while event := run(following()):
                yield event
        finally:
            run(events.aclose())

    def close(self) -> None:
        run(self._client.aclose())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
