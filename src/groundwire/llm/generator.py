"""The second, smaller protocol: a model that completes a conversation, with logprobs where it has them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

Role = Literal["system", "user", "assistant"]
OnText = Callable[[str], Awaitable[None] | None]
"""Hears text as it comes. What it returns, if anything, is awaited before more is read: so it can slow down
the model, and not only fall behind."""


@dataclass(frozen=True, slots=True)
class Message:
    """One turn. The first `shared` characters are the same in many calls: servers can cache that prefix."""

    role: Role
    content: str
    shared: int = 0

    def __post_init__(self) -> None:
        """Half a surrogate pair, as broken input leaves it, cannot be sent to anyone."""
        sendable = self.content.encode("utf-8", "replace").decode("utf-8")
        object.__setattr__(self, "content", sendable)


@dataclass(frozen=True, slots=True)
class TokenLogprob:
    """A token the model might have written, and the natural logarithm of its probability."""

    token: str
    logprob: float


@dataclass(frozen=True, slots=True)
class Completion:
    """What a model wrote.

    `top_logprobs` are the candidates for the *first* generated token (blanks and markup passed over), most
    likely first; None where the server gave none. Token counts are 0 where the server reports none;
    `cached_tokens` is the part of the prompt that it did not have to read again. Several completions of one
    request share a prompt: its counts stand on the first of them.
    """

    text: str
    top_logprobs: tuple[TokenLogprob, ...] | None = None
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    model: str = ""


@runtime_checkable
class Generator(Protocol):
    """A model behind an SDK, a server of ours, or a script in a test.

    Returns exactly `n` completions or raises a `BackendError`. `name` says which model, for reports and
    cache keys. `aclose()` gives back connections, and the server where the generator started one.
    """

    @property
    def name(self) -> str: ...

    async def complete(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int = 256,
        temperature: float = 0.0,
        top_logprobs: int = 0,
        n: int = 1,
    ) -> list[Completion]: ...

    async def aclose(self) -> None: ...


@runtime_checkable
class Streaming(Protocol):
    """What a generator can besides: say its text as it comes. The whole completion is returned at the end."""

    async def stream(
        self,
        messages: Sequence[Message],
        on_text: OnText,
        *,
        max_tokens: int = 256,
        temperature: float = 0.0,
    ) -> Completion: ...


async def completed(
    generator: Generator,
    messages: Sequence[Message],
    on_text: OnText | None = None,
    *,
    max_tokens: int = 256,
    temperature: float = 0.0,
) -> Completion:
    """One completion, streamed where someone listens and the generator can; else its text comes at once."""
    if on_text is not None and isinstance(generator, Streaming):
        return await generator.stream(messages, on_text, max_tokens=max_tokens, temperature=temperature)
    (done,) = await generator.complete(messages, max_tokens=max_tokens, temperature=temperature)
    if on_text is not None:
        await tell(on_text, done.text)
    return done


async def tell(on_text: OnText, text: str) -> None:
    """Say a piece of text, and wait where the listener asks to."""
    wait = on_text(text)
    if wait is not None:
        await wait
