"""`Client` and `AsyncClient`. The requests and how responses are parsed are in `calls`."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from functools import wraps
from inspect import Parameter, signature
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

import httpx
from pydantic import SecretStr

from groundwire._loop import PerLoop
from groundwire.client import calls
from groundwire.client.calls import ApiCall, ApiResponse, ChatEvent, ClientRetryPolicy, EventParser, error_of, exchange
from groundwire.errors import BackendDown, BackendError, BackendTimeout
from groundwire.llm.base import Endpoint, retry_after
from groundwire.retrieval.load import History

P = ParamSpec("P")
T = TypeVar("T")


class _ClientBase:
    """The server's address, the API key, and the retry policy."""

    def __init__(self, url: str, api_key: str | None, timeout: float, retries: int, longest_wait: float) -> None:
        key = SecretStr(api_key) if api_key else None
        self._endpoint = Endpoint("client", url.rstrip("/"), "", key, timeout)
        self._retry_policy = ClientRetryPolicy(retries, longest_wait)

    @property
    def host(self) -> str:
        return self._endpoint.host

    @property
    def _httpx_options(self) -> dict[str, Any]:
        key = self._endpoint.api_key.get_secret_value() if self._endpoint.api_key else ""
        return {
            "base_url": self._endpoint.base_url,
            "timeout": self._endpoint.timeout,
            "headers": {"authorization": f"Bearer {key}"} if key else {},
            "trust_env": not self._endpoint.is_loopback,
        }

    def _parsed(self, response: httpx.Response) -> ApiResponse:
        wait = retry_after(response.headers)
        return ApiResponse(self.host, response.status_code, response.content, wait)

    def _connection_error(self, error: httpx.HTTPError | httpx.InvalidURL) -> BackendError:
        if isinstance(error, httpx.TimeoutException):
            return BackendTimeout(f"{self.host} did not answer within {self._endpoint.timeout:g} s")
        why = self._endpoint.public(str(error) or type(error).__name__)
        return BackendDown(f"cannot reach {self.host}, or the connection was lost", hint=why, retryable=True)

    def _checked_event(self, found: ChatEvent) -> ChatEvent:
        """Raise the error that an event of a stream reports."""
        if found.kind != "error":
            return found
        status = found.data.get("status")
        body = httpx.Response(500, json=dict(found.data)).content
        raise error_of(ApiResponse(self.host, status if isinstance(status, int) else 500, body))


def _httpx_request(call: ApiCall[Any]) -> dict[str, Any]:
    """The arguments of `httpx.Client.request`."""
    headers = {"content-type": "application/json"} if call.body is not None else {}
    return {
        "method": call.method,
        "url": call.path,
        "content": call.content,
        "params": dict(call.query),
        "headers": headers,
    }


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


class Client(_ClientBase):
    """A client of a groundwire server. Thread-safe; close it, or use it as a context manager.

    `timeout` is in seconds and applies to each request. When the server is at capacity (429) or shutting down
    (503), the request is repeated up to `retries` times, as long as the waits that the server asks for add up
    to at most `longest_wait` seconds.
    """

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
        sleep: Callable[[float], object] = time.sleep,
        timeout: float = 60.0,
        retries: int = 3,
        longest_wait: float = 30.0,
    ) -> None:
        super().__init__(url, api_key, timeout, retries, longest_wait)
        self._sleep = sleep
        self._http = httpx.Client(**self._httpx_options)

    def send(self, call: ApiCall[T]) -> T:
        protocol = exchange(call, self._retry_policy)
        wait = next(protocol)
        while True:
            if wait:
                self._sleep(wait)
            try:
                wait = protocol.send(self._once(call))
            except StopIteration as end:
                result: T = end.value
                return result

    def _once(self, call: ApiCall[Any]) -> ApiResponse:
        try:
            return self._parsed(self._http.request(**_httpx_request(call)))
        except httpx.HTTPError as error:
            raise self._connection_error(error) from error

    def chat_stream(self, question: str, *, history: History = (), top_k: int | None = None) -> Iterator[ChatEvent]:
        """Answer a question from the server's documents, as a stream of events."""
        call = calls.chat_stream(question, history=history, top_k=top_k)
        parser = EventParser()
        try:
            with self._http.stream(**_httpx_request(call)) as response:
                if not response.is_success:
                    response.read()
                    raise error_of(self._parsed(response))
                for chunk in response.iter_bytes():
                    yield from map(self._checked_event, parser.feed(chunk))
        except httpx.HTTPError as error:
            raise self._connection_error(error) from error

    def close(self) -> None:
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AsyncClient(_ClientBase):
    """`Client` for asyncio, with the same options. One instance may be used on several event loops."""

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
        sleep: Callable[[float], Coroutine[Any, Any, None]] = asyncio.sleep,
        timeout: float = 60.0,
        retries: int = 3,
        longest_wait: float = 30.0,
    ) -> None:
        super().__init__(url, api_key, timeout, retries, longest_wait)
        self._sleep = sleep
        self._http = PerLoop(lambda: httpx.AsyncClient(**self._httpx_options), httpx.AsyncClient.aclose)

    async def send(self, call: ApiCall[T]) -> T:
        protocol = exchange(call, self._retry_policy)
        wait = next(protocol)
        while True:
            if wait:
                await self._sleep(wait)
            response = await self._once(call)
            try:
                wait = protocol.send(response)
            except StopIteration as end:
                result: T = end.value
                return result

    async def _once(self, call: ApiCall[Any]) -> ApiResponse:
        try:
            return self._parsed(await self._http.get().request(**_httpx_request(call)))
        except httpx.HTTPError as error:
            raise self._connection_error(error) from error

    async def chat_stream(
        self, question: str, *, history: History = (), top_k: int | None = None
    ) -> AsyncIterator[ChatEvent]:
        """Answer a question from the server's documents, as a stream of events."""
        call = calls.chat_stream(question, history=history, top_k=top_k)
        parser = EventParser()
        try:
            async with self._http.get().stream(**_httpx_request(call)) as response:
                if not response.is_success:
                    await response.aread()
                    raise error_of(self._parsed(response))
                async for chunk in response.aiter_bytes():
                    for found in parser.feed(chunk):
                        yield self._checked_event(found)
        except httpx.HTTPError as error:
            raise self._connection_error(error) from error

    async def aclose(self) -> None:
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()
