"""Any OpenAI-compatible server (OpenAI, vLLM, llama.cpp, Ollama) through the official SDK."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, TypeVar

import openai
from pydantic import BaseModel, Field, ValidationError

from groundwire._loop import PerLoop
from groundwire.config import Config
from groundwire.errors import BackendError
from groundwire.llm.base import (
    Completion,
    Endpoint,
    Message,
    OnText,
    TokenLogprob,
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

Finite = Annotated[float, Field(allow_inf_nan=False)]
Options = dict[str, object]
T = TypeVar("T")

_TransportError = transport_error(openai.DefaultAsyncHttpxClient)

_THINKING = 2000
"""Models that insist on `max_completion_tokens` count their hidden thinking in it: leave room for that."""


class _Candidate(BaseModel):
    token: str
    logprob: Finite


class _Position(_Candidate):
    top_logprobs: list[_Candidate] = []


class _Logprobs(BaseModel):
    content: list[_Position] | None = None


class _Text(BaseModel):
    content: str | None = None


class _Choice(BaseModel):
    message: _Text
    logprobs: _Logprobs | None = None


class _Cached(BaseModel):
    cached_tokens: int | None = None


class _Usage(BaseModel):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_tokens_details: _Cached | None = None


class _Body(BaseModel):
    """The part of an answer we use; servers differ in the rest."""

    choices: Annotated[list[_Choice], Field(min_length=1)]
    usage: _Usage | None = None
    model: str | None = None


class OpenAIGenerator:
    """Chat completions. Options that a model refuses are left out from then on."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint
        self.name = endpoint.name
        self._key = endpoint.key()
        self._client = PerLoop(self._connect, openai.AsyncOpenAI.close)
        self._refused: set[str] = set()

    def _connect(self) -> openai.AsyncOpenAI:
        endpoint = self.endpoint
        return openai.AsyncOpenAI(
            api_key=self._key,
            base_url=endpoint.base_url,
            timeout=endpoint.timeout,
            max_retries=0,
            # A proxy set for the outside world must not see what stays on this machine.
            http_client=openai.DefaultAsyncHttpxClient(trust_env=False) if endpoint.is_loopback else None,
        )

    async def complete(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int = 256,
        temperature: float = 0.0,
        top_logprobs: int = 0,
        n: int = 1,
    ) -> list[Completion]:
        options: Options = {"max_tokens": max_tokens, "temperature": temperature}
        if top_logprobs:
            options |= {"logprobs": True, "top_logprobs": top_logprobs}
        done = await self._ask(messages, options | ({"n": n} if n > 1 else {}))
        if len(done) < n:
            self._refused.add("n")  # the server takes no notice of it

            async def once() -> Completion:
                return (await self._ask(messages, options))[0]

            done += await repeat(once, n - len(done))
        return done[:n]

    async def _ask(self, messages: Sequence[Message], options: Options) -> list[Completion]:
        content = await self._send(messages, options)
        try:
            body = _Body.model_validate_json(content)
        except ValidationError as error:
            raise nonsense(self.endpoint, "what is no chat completion") from error
        done = _completions(body, self.endpoint.model)
        report(self.name, done)
        return done

    async def stream(
        self,
        messages: Sequence[Message],
        on_text: OnText,
        *,
        max_tokens: int = 256,
        temperature: float = 0.0,
    ) -> Completion:
        """The text as it comes; what was used stands in the last chunk, where the server tells it."""
        options: Options = {"max_tokens": max_tokens, "temperature": temperature}
        options["stream_options"] = {"include_usage": True}

        async def attempt(accepted: Options) -> Completion:
            return await self._streamed(messages, accepted, on_text)

        try:
            done = await self._persist(options, attempt)
        except _TransportError as error:  # what breaks off in the middle comes as it is
            raise unreachable(self.endpoint) from error
        except ValueError as error:
            raise nonsense(self.endpoint, "what is no chat completion") from error
        report(self.name, [done])
        return done

    async def _streamed(self, messages: Sequence[Message], options: Options, on_text: OnText) -> Completion:
        chunks = await self._client.get().chat.completions.create(
            model=self.endpoint.model, messages=_chat(messages), stream=True, extra_body=options
        )
        pieces: list[str] = []
        usage, model = _Usage(), self.endpoint.model
        async with chunks:  # whoever is interrupted gives the connection back
            async for chunk in chunks:
                text = chunk.choices[0].delta.content if chunk.choices else None
                if text:
                    pieces.append(text)
                    await tell(on_text, text)
                usage = _Usage.model_validate(chunk.usage.model_dump()) if chunk.usage else usage
                model = chunk.model or model
        choice = _Choice(message=_Text(content="".join(pieces)))
        return _completions(_Body(choices=[choice], usage=usage, model=model), model)[0]

    async def _send(self, messages: Sequence[Message], options: Options) -> bytes:
        async def attempt(accepted: Options) -> bytes:
            return await self._post(messages, accepted)

        return await self._persist(options, attempt)

    async def _persist(self, options: Options, attempt: Callable[[Options], Awaitable[T]]) -> T:
        """Until the server takes it: an option it refuses is left out, now and in later requests."""
        while True:
            accepted = _accepted(options, self._refused)
            try:
                return await attempt(accepted)
            except openai.BadRequestError as error:
                # The newer name of max_tokens is never dropped: a model must not write without bound.
                option = refused_option(error.message, accepted.keys() - {"max_completion_tokens"})
                if option is None:
                    raise _translated(error, self.endpoint) from error
                self._refused.add(option)
            except openai.OpenAIError as error:
                raise _translated(error, self.endpoint) from error

    async def _post(self, messages: Sequence[Message], options: Options) -> bytes:
        raw = await self._client.get().chat.completions.with_raw_response.create(
            model=self.endpoint.model, messages=_chat(messages), extra_body=options
        )
        return await raw.http_response.aread()

    async def aclose(self) -> None:
        await self._client.aclose()


def _chat(messages: Sequence[Message]) -> Any:
    return [{"role": message.role, "content": message.content} for message in messages]


def _accepted(options: Options, refused: set[str]) -> Options:
    """The options without the refused ones; newer models know max_tokens by its newer name."""
    kept = {name: value for name, value in options.items() if name not in refused}
    if {"logprobs", "top_logprobs"} & refused:
        kept = {name: value for name, value in kept.items() if "logprobs" not in name}
    if "max_tokens" in refused and "max_completion_tokens" not in refused:
        kept["max_completion_tokens"] = int(str(options["max_tokens"])) + _THINKING
    return kept


def _completions(body: _Body, model: str) -> list[Completion]:
    usage = body.usage or _Usage()
    details = usage.prompt_tokens_details or _Cached()
    all_of = [
        Completion(choice.message.content or "", _first_token(choice.logprobs), model=body.model or model)
        for choice in body.choices
    ]
    first = replace(
        all_of[0],
        prompt_tokens=usage.prompt_tokens or 0,
        completion_tokens=usage.completion_tokens or 0,
        cached_tokens=details.cached_tokens or 0,
    )
    return [first, *all_of[1:]]


def _first_token(logprobs: _Logprobs | None) -> tuple[TokenLogprob, ...] | None:
    """Candidates at the first token that says something: blanks and markup before it do not count."""
    positions = logprobs.content if logprobs else None
    if not positions:
        return None
    at = next((p for p in positions if any(c.isalnum() for c in p.token)), positions[0])
    # Some servers report the chosen token alone: the rest is then unknown, not impossible.
    candidates: Sequence[_Candidate] = at.top_logprobs or [at]
    ranked = sorted(candidates, key=lambda c: -c.logprob)
    return tuple(TokenLogprob(c.token, min(0.0, c.logprob)) for c in ranked)


def _translated(error: openai.OpenAIError, endpoint: Endpoint) -> BackendError:
    if isinstance(error, openai.APITimeoutError):
        return timed_out(endpoint)
    if isinstance(error, openai.APIConnectionError):
        return unreachable(endpoint)
    if isinstance(error, openai.APIStatusError):
        if error.code == "insufficient_quota":
            return BackendError(f"{endpoint.host}: the account has no credit left")
        headers: Mapping[str, str] = error.response.headers
        return refused(endpoint, error.status_code, headers, error.message)
    return nonsense(endpoint, "what its SDK cannot read")


def open_generator(config: Config, model: str | None = None) -> OpenAIGenerator:
    at = config.openai
    timeout = config.hallucination.timeout
    return OpenAIGenerator(Endpoint("openai", at.base_url, model or at.model, at.api_key, timeout))
