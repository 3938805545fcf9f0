"""Claude through the official SDK. The API has no logprobs: `top_logprobs` is always None."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import anthropic
from pydantic import BaseModel

from groundwire.llm.base import Completion, Message, OnText, Schema, emit
from groundwire.llm.hosted import HostedGenerator, Options, repeat


class _ContentBlock(BaseModel):
    type: str
    text: str = ""


class _MessageUsage(BaseModel):
    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None


class _MessageBody(BaseModel):
    """The fields of a response that we use."""

    content: list[_ContentBlock]
    usage: _MessageUsage | None = None
    model: str | None = None


class AnthropicGenerator(HostedGenerator[anthropic.AsyncAnthropic]):
    """The messages API. `n` completions take `n` requests."""

    section = "anthropic"
    sdk: ClassVar[Any] = anthropic
    client_class = anthropic.AsyncAnthropic
    sdk_error = anthropic.AnthropicError
    required_options = frozenset({"max_tokens"})
    response_kind = "message"

    async def complete(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int = 256,
        temperature: float = 0.0,
        top_logprobs: int = 0,  # noqa: ARG002 (part of the protocol)
        n: int = 1,
        schema: Schema | None = None,  # noqa: ARG002 (the prompt asks for the format as well)
    ) -> list[Completion]:
        options: Options = {"max_tokens": max_tokens, "temperature": temperature}

        async def once() -> Completion:
            return (await self._complete(messages, options))[0]

        return await repeat(once, n)

    async def _post(self, messages: Sequence[Message], options: Options) -> bytes:
        request = self._arguments(messages, options)
        raw = await self._client.get().messages.with_raw_response.create(**request)
        body: bytes = await raw.http_response.aread()
        return body

    async def _stream(self, messages: Sequence[Message], options: Options, on_text: OnText) -> Completion:
        async with self._client.get().messages.stream(**self._arguments(messages, options)) as events:
            if whole := await self._unstreamed(events.response, on_text):
                return whole
            async for text in events.text_stream:
                await emit(on_text, text)
            message = await events.get_final_message()
        return _completion(_MessageBody.model_validate(message.model_dump()), self.endpoint.model)

    def _arguments(self, messages: Sequence[Message], options: Options) -> dict[str, Any]:
        system = "\n\n".join(message.content for message in messages if message.role == "system")
        extra = {name: value for name, value in options.items() if name != "max_tokens"}
        return {
            "model": self.endpoint.model,
            "max_tokens": options["max_tokens"],
            "messages": [_turn(message) for message in messages if message.role != "system"],
            "extra_body": extra | ({"system": system} if system else {}),
        }

    def _parse(self, body: bytes) -> list[Completion]:
        parsed = _MessageBody.model_validate_json(body)
        if not parsed.content:
            raise ValueError("the message is empty")
        return [_completion(parsed, self.endpoint.model)]


def _turn(message: Message) -> dict[str, object]:
    """A message in the API's format. The API caches only prefixes that are marked, so mark the shared one."""
    if not 0 < message.shared < len(message.content):
        return {"role": message.role, "content": message.content}
    shared, own = message.content[: message.shared], message.content[message.shared :]
    marked = {"type": "text", "text": shared, "cache_control": {"type": "ephemeral"}}
    return {"role": message.role, "content": [marked, {"type": "text", "text": own}]}


def _completion(body: _MessageBody, model: str) -> Completion:
    usage = body.usage or _MessageUsage()
    cached = usage.cache_read_input_tokens or 0
    return Completion(
        "".join(block.text for block in body.content if block.type == "text"),
        # `input_tokens` counts neither cached tokens nor those written to the cache.
        prompt_tokens=(usage.input_tokens or 0) + (usage.cache_creation_input_tokens or 0) + cached,
        completion_tokens=usage.output_tokens or 0,
        cached_tokens=cached,
        model=body.model or model,
    )
