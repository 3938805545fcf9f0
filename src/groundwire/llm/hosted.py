"""The base of the OpenAI and Anthropic generators: clients, unsupported options and SDK errors."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from importlib import import_module
from typing import Any, ClassVar, Generic, Self, TypeVar, cast

from groundwire._loop import PerLoop
from groundwire.config import AnthropicConfig, Config, OpenAIConfig
from groundwire.errors import BackendDown, BackendError
from groundwire.llm.base import (
    Completion,
    Endpoint,
    Message,
    OnText,
    emit,
    report_usage,
    status_error,
    timeout_error,
    unsupported_option,
)

Options = dict[str, object]
"""Request parameters. They are sent as the extra body, since SDK releases differ in what they declare."""
ClientT = TypeVar("ClientT")

_CONCURRENT_REPEATS = 4
"""Requests in flight when `n` completions need `n` requests: enough to overlap, below usual rate limits."""


class HostedGenerator(ABC, Generic[ClientT]):
    """A generator behind a vendor's SDK.

    Options that a model rejects are remembered and left out of later requests. Retries are switched off in
    the SDK: the verifier wrappers retry, and they know the rate limit.
    """

    section: ClassVar[str]
    """The section of the configuration."""
    sdk: ClassVar[Any]
    """The vendor's module. Both have the same names, but for these two:"""
    client_class: ClassVar[Callable[..., Any]]
    sdk_error: ClassVar[type[Exception]]
    required_options: ClassVar[frozenset[str]]
    """Options that are sent even if the server complains about them."""
    response_kind: ClassVar[str]
    """The expected kind of response, for error messages."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint
        self.name = endpoint.name
        self._key = endpoint.key()
        self._client: PerLoop[ClientT] = PerLoop(self._connect, lambda client: cast(Any, client).close())
        self._rejected: set[str] = set()
        # Streams that break off raise the HTTP library's own error, not the SDK's.
        self._transport_error = _transport_error(self.sdk.DefaultAsyncHttpxClient)

    @classmethod
    def open(cls, config: Config, model: str | None = None) -> Self:
        """The generator for a model, by default the one of the configuration."""
        at: OpenAIConfig | AnthropicConfig = getattr(config, cls.section)
        timeout = config.hallucination.timeout
        return cls(Endpoint(cls.section, at.base_url, model or at.model, at.api_key, timeout))

    def _connect(self) -> ClientT:
        endpoint = self.endpoint
        client: ClientT = self.client_class(
            api_key=self._key,
            base_url=endpoint.base_url,
            timeout=endpoint.timeout,
            max_retries=0,
            # Requests to this machine must not go through an HTTP proxy from the environment.
            http_client=self.sdk.DefaultAsyncHttpxClient(trust_env=False) if endpoint.is_loopback else None,
        )
        return client

    async def stream(
        self, messages: Sequence[Message], on_text: OnText, *, max_tokens: int = 256, temperature: float = 0.0
    ) -> Completion:
        """Complete once, passing text to `on_text` as it arrives."""

        async def attempt(accepted: Options) -> list[Completion]:
            return [await self._stream(messages, accepted, on_text)]

        options: Options = {"max_tokens": max_tokens, "temperature": temperature}
        return (await self._request(options | self._stream_options(), attempt))[0]

    async def _complete(self, messages: Sequence[Message], options: Options) -> list[Completion]:
        async def attempt(accepted: Options) -> list[Completion]:
            return self._parse(await self._post(messages, accepted))

        return await self._request(options, attempt)

    async def _unstreamed(self, response: Any, on_text: OnText) -> Completion | None:
        """The answer of a server that ignores `stream` and sends one JSON body; None if it streams."""
        if not response.headers.get("content-type", "").lower().startswith("application/json"):
            return None
        done = self._parse(await response.aread())[0]
        await emit(on_text, done.text)
        return done

    async def _request(
        self, options: Options, attempt: Callable[[Options], Awaitable[list[Completion]]]
    ) -> list[Completion]:
        """Try until the server accepts the options; report the usage."""
        while True:
            accepted = self._accepted(options)
            try:
                completions = await attempt(accepted)
            except self.sdk.BadRequestError as error:
                option = unsupported_option(_message(error), accepted.keys() - self.required_options)
                if option is None:
                    raise self._translate(error) from error
                self._rejected.add(option)
            except (self.sdk_error, self._transport_error, ValueError) as error:
                raise self._translate(error) from error
            else:
                report_usage(self.name, completions)
                return completions

    def _accepted(self, options: Options) -> Options:
        return {name: value for name, value in options.items() if name not in self._rejected}

    def _stream_options(self) -> Options:
        return {}

    def _translate(self, error: Exception) -> BackendError:
        endpoint = self.endpoint
        if isinstance(error, self.sdk.APITimeoutError):
            return timeout_error(endpoint)
        if isinstance(error, (self.sdk.APIConnectionError, self._transport_error)):
            hint = f"is it running, and is {endpoint.section}.base_url right?"
            return BackendDown(f"cannot reach {endpoint.host}, or it broke off", hint=hint, retryable=True)
        if isinstance(error, self.sdk.APIStatusError):
            answer: Any = error
            return status_error(endpoint, answer.status_code, answer.response.headers, _message(error))
        return BackendDown(f"{endpoint.host} did not return a valid {self.response_kind}", retryable=True)

    @abstractmethod
    async def _post(self, messages: Sequence[Message], options: Options) -> bytes:
        """Send one request and return the body."""

    @abstractmethod
    async def _stream(self, messages: Sequence[Message], options: Options, on_text: OnText) -> Completion:
        """Send one streaming request."""

    @abstractmethod
    def _parse(self, body: bytes) -> list[Completion]:
        """The completions in a body. Raises ValueError if it has none."""

    async def aclose(self) -> None:
        await self._client.aclose()


async def repeat(once: Callable[[], Awaitable[Completion]], times: int) -> list[Completion]:
    """Call `once` several times. The first call runs alone, so the rest hit the prompt cache."""
    first = await once()
    gate = asyncio.Semaphore(_CONCURRENT_REPEATS)

    async def bounded() -> Completion:
        async with gate:
            return await once()

    # Await all of them before raising: no request may go on after the caller has seen the error.
    results = await asyncio.gather(*(bounded() for _ in range(times - 1)), return_exceptions=True)
    completions = [first]
    for result in results:
        if isinstance(result, BaseException):
            raise result
        completions.append(result)
    return completions


def _message(error: Exception) -> str:
    return str(getattr(error, "message", error))


def _transport_error(http_client: Any) -> type[Exception]:
    """The base error of the HTTP library whose `AsyncClient` an SDK's client derives from."""
    library = next(base.__module__ for base in http_client.__mro__ if base.__name__ == "AsyncClient")
    error: type[Exception] = import_module(library.partition(".")[0]).HTTPError
    return error
