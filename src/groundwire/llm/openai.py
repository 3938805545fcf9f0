"""Any OpenAI-compatible server (OpenAI, vLLM, llama.cpp, Ollama) through the official SDK."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any, ClassVar

import openai
from pydantic import BaseModel, Field

from groundwire.errors import BackendError
from groundwire.llm.base import Completion, Message, OnText, Schema, TokenLogprob, TokenPosition, emit
from groundwire.llm.hosted import HostedGenerator, Options, repeat

FiniteFloat = Annotated[float, Field(allow_inf_nan=False)]

_REASONING_TOKENS = 2000
"""Models that require `max_completion_tokens` count hidden reasoning in it; this leaves room for that."""


class _TokenCandidate(BaseModel):
    token: str
    logprob: FiniteFloat


class _Position(_TokenCandidate):
    top_logprobs: list[_TokenCandidate] = []


class _Logprobs(BaseModel):
    content: list[_Position] | None = None


class _ChoiceMessage(BaseModel):
    content: str | None = None


class _Choice(BaseModel):
    message: _ChoiceMessage
    logprobs: _Logprobs | None = None


class _PromptDetails(BaseModel):
    cached_tokens: int | None = None


class _ChatUsage(BaseModel):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_tokens_details: _PromptDetails | None = None


class _ChatCompletion(BaseModel):
    """The fields we use; servers differ in the rest."""

    choices: Annotated[list[_Choice], Field(min_length=1)]
    usage: _ChatUsage | None = None
    model: str | None = None


class OpenAIGenerator(HostedGenerator[openai.AsyncOpenAI]):
    """The chat completions API."""

    section = "openai"
    sdk: ClassVar[Any] = openai
    client_class = openai.AsyncOpenAI
    sdk_error = openai.OpenAIError
    # Never dropped: without it a model would write without bound.
    required_options = frozenset({"max_completion_tokens"})
    response_kind = "chat completion"

    async def complete(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int = 256,
        temperature: float = 0.0,
        top_logprobs: int = 0,
        n: int = 1,
        schema: Schema | None = None,
    ) -> list[Completion]:
        options: Options = {"max_tokens": max_tokens, "temperature": temperature}
        if top_logprobs:
            options |= {"logprobs": True, "top_logprobs": top_logprobs}
        if schema:
            form = {"name": "reply", "strict": True, "schema": schema}
            options["response_format"] = {"type": "json_schema", "json_schema": form}
        completions = await self._complete(messages, options | ({"n": n} if n > 1 else {}))
        if len(completions) < n:
            self._rejected.add("n")  # the server ignores it

            async def once() -> Completion:
                return (await self._complete(messages, options))[0]

            completions += await repeat(once, n - len(completions))
        return completions[:n]

    async def _post(self, messages: Sequence[Message], options: Options) -> bytes:
        raw = await self._client.get().chat.completions.with_raw_response.create(
            model=self.endpoint.model, messages=_chat(messages), extra_body=options
        )
        return await raw.http_response.aread()

    def _stream_options(self) -> Options:
        return {"stream_options": {"include_usage": True}}

    async def _stream(self, messages: Sequence[Message], options: Options, on_text: OnText) -> Completion:
        raw = await self._client.get().chat.completions.with_raw_response.create(
            model=self.endpoint.model, messages=_chat(messages), stream=True, extra_body=options
        )
        if whole := await self._unstreamed(raw.http_response, on_text):
            return whole
        chunks = raw.parse()
        pieces: list[str] = []
        usage, model = _ChatUsage(), self.endpoint.model
        async with chunks:  # a cancelled caller must release the connection
            async for chunk in chunks:
                text = chunk.choices[0].delta.content if chunk.choices else None
                if text:
                    pieces.append(text)
                    await emit(on_text, text)
                usage = _ChatUsage.model_validate(chunk.usage.model_dump()) if chunk.usage else usage
                model = chunk.model or model
        choice = _Choice(message=_ChoiceMessage(content="".join(pieces)))
        return _completions(_ChatCompletion(choices=[choice], usage=usage, model=model), model)[0]

    def _parse(self, body: bytes) -> list[Completion]:
        return _completions(_ChatCompletion.model_validate_json(body), self.endpoint.model)

    def _accepted(self, options: Options) -> Options:
        """Without the rejected options; newer models call `max_tokens` `max_completion_tokens`."""
        accepted = super()._accepted(options)
        if {"logprobs", "top_logprobs"} & self._rejected:
            accepted = {name: value for name, value in accepted.items() if "logprobs" not in name}
        if "max_tokens" in self._rejected:
            accepted["max_completion_tokens"] = int(str(options["max_tokens"])) + _REASONING_TOKENS
        return accepted

    def _translate(self, error: Exception) -> BackendError:
        # Also a 429, but waiting does not help.
        if isinstance(error, openai.APIStatusError) and error.code == "insufficient_quota":
            return BackendError(f"{self.endpoint.host}: the account has no credit left")
        return super()._translate(error)


def _chat(messages: Sequence[Message]) -> Any:
    return [{"role": message.role, "content": message.content} for message in messages]


def _completions(body: _ChatCompletion, model: str) -> list[Completion]:
    usage = body.usage or _ChatUsage()
    details = usage.prompt_tokens_details or _PromptDetails()
    first, *others = (_completion(choice, body.model or model) for choice in body.choices)
    first = replace(
        first,
        prompt_tokens=usage.prompt_tokens or 0,
        completion_tokens=usage.completion_tokens or 0,
        cached_tokens=details.cached_tokens or 0,
    )
    return [first, *others]


def _completion(choice: _Choice, model: str) -> Completion:
    given = choice.logprobs.content if choice.logprobs else None
    positions = tuple(TokenPosition(position.token, _candidates(position)) for position in given or ())
    # Blanks and markup before the first alphanumeric token are skipped.
    first = next((p for p in positions if any(c.isalnum() for c in p.token)), positions[0] if positions else None)
    candidates = first.candidates if first else None
    return Completion(choice.message.content or "", candidates, model=model, positions=positions)


def _candidates(position: _Position) -> tuple[TokenLogprob, ...]:
    # Some servers report only the chosen token: the others are then unknown, not impossible.
    candidates: Sequence[_TokenCandidate] = position.top_logprobs or [position]
    return tuple(TokenLogprob(c.token, c.logprob) for c in sorted(candidates, key=lambda c: -c.logprob))
