"""The two clients: one waits, one can be awaited. What they ask and how they read it is `calls`."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from functools import wraps
from inspect import Parameter, signature
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Self, TypedDict, TypeVar, Unpack

import httpx
from pydantic import SecretStr

from groundwire._loop import PerLoop
from groundwire.client import calls
from groundwire.client.calls import Answer, Call, ChatEvent, Events, Patience, error_of, exchange
from groundwire.errors import BackendDown, BackendError, BackendTimeout
from groundwire.llm.base import Endpoint, retry_after
from groundwire.retrieval.history import History

P = ParamSpec("P")
T = TypeVar("T")
TIMEOUT, RETRIES, LONGEST_WAIT = 60.0, 3, 30.0


class Waits(TypedDict, total=False):
    """How long: `timeout` seconds for one answer; a server that is full is asked `retries` times more, as
    long as its own Retry-After adds up to no more than `longest_wait` seconds.
    """

    timeout: float
    retries: int
    longest_wait: float


class _Server:
    """Where the server is, how to get in, and how long to go on asking."""

    def __init__(self, url: str, api_key: str | None = None, **waits: Unpack[Waits]) -> None:
        key = SecretStr(api_key) if api_key else None
        self._at = Endpoint("client", url.rstrip("/"), "", key, waits.get("timeout", TIMEOUT))
        self._patience = Patience(waits.get("retries", RETRIES), waits.get("longest_wait", LONGEST_WAIT))

    @property
    def host(self) -> str:
        return self._at.host

    @property
    def _settings(self) -> dict[str, Any]:
        key = self._at.api_key.get_secret_value() if self._at.api_key else ""
        return {
            "base_url": self._at.base_url,
            "timeout": self._at.timeout,
            "headers": {"authorization": f"Bearer {key}"} if key else {},
            "trust_env": not self._at.is_loopback,
        }

    def _answer(self, response: httpx.Response) -> Answer:
        wait = retry_after(response.headers)
        return Answer(self.host, response.status_code, response.content, wait)

    def _failure(self, error: httpx.HTTPError | httpx.InvalidURL) -> BackendError:
        if isinstance(error, httpx.TimeoutException):
            return BackendTimeout(f"{self.host} did not answer within {self._at.timeout:g} s")
        why = self._at.public(str(error) or type(error).__name__)
        return BackendDown(f"cannot reach {self.host}, or it broke off", hint=why, retryable=True)

    def _events(self, found: ChatEvent) -> ChatEvent:
        """An error that comes in a stream is raised like any other."""
        if found.kind != "error":
            return found
        status = found.data.get("status")
        body = httpx.Response(500, json=dict(found.data)).content
        raise error_of(Answer(self.host, status if isinstance(status, int) else 500, body))


def _request(call: Call[Any]) -> dict[str, Any]:
    """The arguments of httpx, whichever client it is."""
    headers = {"content-type": "application/json"} if call.body is not None else {}
    return {
        "method": call.method,
        "url": call.path,
        "content": call.content,
        "params": dict(call.query),
        "headers": headers,
    }


def _waiting(build: Callable[P, Call[T]]) -> Callable[Concatenate[Client, P], T]:
    """A method of `Client` for a call."""

    @wraps(build)
    def method(self: Client, /, *args: P.args, **named: P.kwargs) -> T:
        return self.send(build(*args, **named))

    _sign(method, build)
    return method


def _awaited(build: Callable[P, Call[T]]) -> Callable[Concatenate[AsyncClient, P], Coroutine[Any, Any, T]]:
    """A method of `AsyncClient` for a call."""

    @wraps(build)
    async def method(self: AsyncClient, /, *args: P.args, **named: P.kwargs) -> T:
        return await self.send(build(*args, **named))

    _sign(method, build)
    return method


def _sign(method: Callable[..., Any], build: Callable[..., Any]) -> None:
    """`help()` shows the parameters of the call, after `self`, and what comes of it."""
    own = signature(build)
    parameters = [Parameter("self", Parameter.POSITIONAL_OR_KEYWORD), *own.parameters.values()]
    result = str(own.return_annotation).removeprefix("Call[").removesuffix("]")
    shown = own.replace(parameters=parameters, return_annotation=result)
    method.__signature__ = shown  # type: ignore[attr-defined]


class Client(_Server):
    """A server, asked from ordinary code. Safe to share between threads; close it, or use it in `with`."""

    check = _waiting(calls.check)
    verify_claim = _waiting(calls.verify_claim)
    verify_claims = _waiting(calls.verify_claims)
    audit_trace = _waiting(calls.audit_trace)
    detect = _waiting(calls.detect)
    remember = _waiting(calls.remember)
    facts = _waiting(calls.facts)
    verify_output = _waiting(calls.verify_output)
    output = _waiting(calls.output)
    chat = _waiting(calls.chat)
    report = _waiting(calls.report)
    health = _waiting(calls.health)

    def __init__(
        self,
        url: str,
        api_key: str | None = None,
        *,
        sleep: Callable[[float], object] = time.sleep,
        **more: Unpack[Waits],
    ) -> None:
        super().__init__(url, api_key, **more)
        self._sleep = sleep
        self._http = httpx.Client(**self._settings)

    def send(self, call: Call[T]) -> T:
        talk = exchange(call, self._patience)
        wait = next(talk)
        while True:
            if wait:
                self._sleep(wait)
            try:
                wait = talk.send(self._once(call))
            except StopIteration as end:
                result: T = end.value
                return result

    def _once(self, call: Call[Any]) -> Answer:
        try:
            return self._answer(self._http.request(**_request(call)))
        except httpx.HTTPError as error:
            raise self._failure(error) from error

    def chat_stream(
        self, question: str, *, history: History = (), top_k: int | None = None
    ) -> Iterator[ChatEvent]:
        """A question to the server's documents: the events of its answer as it is written."""
        call = calls.chat_stream(question, history=history, top_k=top_k)
        events = Events()
        try:
            with self._http.stream(**_request(call)) as response:
                if not response.is_success:
                    response.read()
                    raise error_of(self._answer(response))
                for chunk in response.iter_bytes():
                    yield from map(self._events, events.feed(chunk))
        except httpx.HTTPError as error:
            raise self._failure(error) from error

    def close(self) -> None:
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class AsyncClient(_Server):
    """The same to be awaited. One may serve several event loops."""

    check = _awaited(calls.check)
    verify_claim = _awaited(calls.verify_claim)
    verify_claims = _awaited(calls.verify_claims)
    audit_trace = _awaited(calls.audit_trace)
    detect = _awaited(calls.detect)
    remember = _awaited(calls.remember)
    facts = _awaited(calls.facts)
    verify_output = _awaited(calls.verify_output)
    output = _awaited(calls.output)
    chat = _awaited(calls.chat)
    report = _awaited(calls.report)
    health = _awaited(calls.health)

    def __init__(
        self,
        url: str,
        api_key: str | None = None,
        *,
        sleep: Callable[[float], Coroutine[Any, Any, None]] = asyncio.sleep,
        **more: Unpack[Waits],
    ) -> None:
        super().__init__(url, api_key, **more)
        self._sleep = sleep
        self._http = PerLoop(lambda: httpx.AsyncClient(**self._settings), httpx.AsyncClient.aclose)

    async def send(self, call: Call[T]) -> T:
        talk = exchange(call, self._patience)
        wait = next(talk)
        while True:
            if wait:
                await self._sleep(wait)
            answer = await self._once(call)
            try:
                wait = talk.send(answer)
            except StopIteration as end:
                result: T = end.value
                return result

    async def _once(self, call: Call[Any]) -> Answer:
        try:
            return self._answer(await self._http.get().request(**_request(call)))
        except httpx.HTTPError as error:
            raise self._failure(error) from error

    async def chat_stream(
        self, question: str, *, history: History = (), top_k: int | None = None
    ) -> AsyncIterator[ChatEvent]:
        """A question to the server's documents: the events of its answer as it is written."""
        call = calls.chat_stream(question, history=history, top_k=top_k)
        events = Events()
        try:
            async with self._http.get().stream(**_request(call)) as response:
                if not response.is_success:
                    await response.aread()
                    raise error_of(self._answer(response))
                async for chunk in response.aiter_bytes():
                    for found in events.feed(chunk):
                        yield self._events(found)
        except httpx.HTTPError as error:
            raise self._failure(error) from error

    async def aclose(self) -> None:
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()
