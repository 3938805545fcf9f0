"""Claude through the official SDK. There are no logprobs: `top_logprobs` is always None."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import anthropic
from pydantic import BaseModel, ValidationError

from groundwire._loop import PerLoop
from groundwire.config import Config
from groundwire.errors import BackendError
from groundwire.llm.base import (
    Completion,
    Endpoint,
    Message,
    OnText,
    nonsense,
    refused,
    refused_option,
    repeat,
    tell,
    timed_out,
    transport_error,
    unreachable,
)
from groundwire.llm.usage import report

_TransportError = transport_error(anthropic.DefaultAsyncHttpxClient)


class _Block(BaseModel):
    type: str
    text: str = ""


class _Usage(BaseModel):
    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None


class _Body(BaseModel):
    """The part of an answer we use."""

    content: list[_Block]
    usage: _Usage | None = None
    model: str | None = None


class AnthropicGenerator:
    """Messages. `n` completions are `n` requests; options that a model refuses are left out from then on."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint
        self.name = endpoint.name
        self._key = endpoint.key()
        self._client = PerLoop(self._connect, anthropic.AsyncAnthropic.close)
        self._refused: set[str] = set()

    def _connect(self) -> anthropic.AsyncAnthropic:
        endpoint = self.endpoint
        return anthropic.AsyncAnthropic(
            api_key=self._key,
            base_url=endpoint.base_url,
            timeout=endpoint.timeout,
            max_retries=0,
            # A proxy set for the outside world must not see what stays on this machine.
            http_client=anthropic.DefaultAsyncHttpxClient(trust_env=False) if endpoint.is_loopback else None,
        )

    async def complete(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int = 256,
        temperature: float = 0.0,
        top_logprobs: int = 0,  # noqa: ARG002 (the protocol's; this API has none)
        n: int = 1,
    ) -> list[Completion]:
        async def once() -> Completion:
            return await self._ask(messages, max_tokens, temperature)

        return await repeat(once, n)

    async def _ask(self, messages: Sequence[Message], max_tokens: int, temperature: float) -> Completion:
        content = await self._send(messages, max_tokens, {"temperature": temperature})
        try:
            body = _Body.model_validate_json(content)
        except ValidationError as error:
            raise nonsense(self.endpoint, "what is no message") from error
        if not body.content:
            raise nonsense(self.endpoint, "an empty message")
        done = _completion(body, self.endpoint.model)
        report(self.name, [done])
        return done

    async def stream(
        self,
        messages: Sequence[Message],
        on_text: OnText,
        *,
        max_tokens: int = 256,
        temperature: float = 0.0,
    ) -> Completion:
        """The text as it comes; the SDK puts the events together."""
        options: dict[str, object] = {"temperature": temperature}
        while True:
            accepted = {name: value for name, value in options.items() if name not in self._refused}
            try:
                done = await self._stream(messages, on_text, max_tokens, accepted)
            except anthropic.BadRequestError as error:
                option = refused_option(error.message, accepted)
                if option is None:
                    raise _translated(error, self.endpoint) from error
                self._refused.add(option)
            except (anthropic.AnthropicError, _TransportError, ValueError) as error:
                raise _broken(error, self.endpoint) from error
            else:
                report(self.name, [done])
                return done

    async def _stream(
        self,
        messages: Sequence[Message],
        on_text: OnText,
        max_tokens: int,
        options: dict[str, object],
    ) -> Completion:
        system = "\n\n".join(message.content for message in messages if message.role == "system")
        turns: Any = [_turn(message) for message in messages if message.role != "system"]
        async with self._client.get().messages.stream(
            model=self.endpoint.model,
            max_tokens=max_tokens,
            messages=turns,
            extra_body=options | ({"system": system} if system else {}),
        ) as events:
            async for text in events.text_stream:
                await tell(on_text, text)
            message = await events.get_final_message()
        return _completion(_Body.model_validate(message.model_dump()), self.endpoint.model)

    async def _send(self, messages: Sequence[Message], max_tokens: int, options: dict[str, object]) -> bytes:
        while True:
            accepted = {name: value for name, value in options.items() if name not in self._refused}
            try:
                return await self._post(messages, max_tokens, accepted)
            except anthropic.BadRequestError as error:
                option = refused_option(error.message, accepted)
                if option is None:
                    raise _translated(error, self.endpoint) from error
                self._refused.add(option)
            except anthropic.AnthropicError as error:
                raise _translated(error, self.endpoint) from error

    async def _post(self, messages: Sequence[Message], max_tokens: int, options: dict[str, object]) -> bytes:
        system = "\n\n".join(message.content for message in messages if message.role == "system")
        turns: Any = [_turn(message) for message in messages if message.role != "system"]
        raw = await self._client.get().messages.with_raw_response.create(
            model=self.endpoint.model,
            max_tokens=max_tokens,
            messages=turns,
            # Not every release of the SDK has a parameter for each option; the API takes them as ever.
            extra_body=options | ({"system": system} if system else {}),
        )
        return await raw.http_response.aread()

    async def aclose(self) -> None:
        await self._client.aclose()


def _turn(message: Message) -> dict[str, object]:
    """A message; the part that other calls share is marked, for this API caches only what is marked."""
    if not 0 < message.shared < len(message.content):
        return {"role": message.role, "content": message.content}
    shared, own = message.content[: message.shared], message.content[message.shared :]
    marked = {"type": "text", "text": shared, "cache_control": {"type": "ephemeral"}}
    return {"role": message.role, "content": [marked, {"type": "text", "text": own}]}


def _completion(body: _Body, model: str) -> Completion:
    usage = body.usage or _Usage()
    cached = usage.cache_read_input_tokens or 0
    return Completion(
        "".join(block.text for block in body.content if block.type == "text"),
        prompt_tokens=(usage.input_tokens or 0) + (usage.cache_creation_input_tokens or 0) + cached,
        completion_tokens=usage.output_tokens or 0,
        cached_tokens=cached,
        model=body.model or model,
    )


def _translated(error: anthropic.AnthropicError, endpoint: Endpoint) -> BackendError:
    if isinstance(error, anthropic.APITimeoutError):
        return timed_out(endpoint)
    if isinstance(error, anthropic.APIConnectionError):
        return unreachable(endpoint)
    if isinstance(error, anthropic.APIStatusError):
        headers: Mapping[str, str] = error.response.headers
        return refused(endpoint, error.status_code, headers, error.message)
    return nonsense(endpoint, "what its SDK cannot read")


def _broken(error: Exception, endpoint: Endpoint) -> BackendError:
    if isinstance(error, anthropic.AnthropicError):
        return _translated(error, endpoint)
    if isinstance(error, _TransportError):
        return unreachable(endpoint)
    return nonsense(endpoint, "what is no message")


def open_generator(config: Config, model: str | None = None) -> AnthropicGenerator:
    at = config.anthropic
    timeout = config.hallucination.timeout
    return AnthropicGenerator(Endpoint("anthropic", at.base_url, model or at.model, at.api_key, timeout))
