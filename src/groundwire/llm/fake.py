"""A generator that replies from a script: for tests, docs and demonstrations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import log
from re import findall

from groundwire.errors import BackendDown, BackendError
from groundwire.llm.base import Completion, Message, OnText, Schema, TokenLogprob, emit, report_usage


@dataclass(frozen=True, slots=True)
class ScriptedCall:
    """One request as the scripted model received it."""

    messages: tuple[Message, ...]
    max_tokens: int
    temperature: float
    top_logprobs: int
    n: int
    schema: Schema | None = None

    @property
    def prompt(self) -> str:
        return "\n\n".join(message.content for message in self.messages)


Reply = str | Completion | BackendError
Script = Callable[[ScriptedCall], Reply] | Iterable[Reply]


def tokens(**probabilities: float) -> tuple[TokenLogprob, ...]:
    """Candidates for a first token, most likely first.

    >>> [token.token for token in tokens(NO=0.1, YES=0.9)]
    ['YES', 'NO']
    """
    ranked = sorted(probabilities.items(), key=lambda item: -item[1])
    return tuple(TokenLogprob(token, log(p)) for token, p in ranked)


class ScriptedGenerator:
    """Replies from a function of the call, or from a list in order; an error in the script is raised.

    `calls` records every request. Each of `n` completions takes the next reply of a list; when the list is
    used up, `BackendDown` is raised, as for a server that went away.
    """

    def __init__(self, script: Script, *, name: str = "scripted") -> None:
        self.name = name
        self.calls: list[ScriptedCall] = []
        self.closed = False
        self._reply = script if callable(script) else _in_order(script)

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
        call = ScriptedCall(tuple(messages), max_tokens, temperature, top_logprobs, n, schema)
        self.calls.append(call)
        done = [self._one(call) for _ in range(n)]
        for one in done:
            report_usage(self.name, [one])
        return done

    async def stream(
        self, messages: Sequence[Message], on_text: OnText, *, max_tokens: int = 256, temperature: float = 0.0
    ) -> Completion:
        """Pass the reply on word by word."""
        (done,) = await self.complete(messages, max_tokens=max_tokens, temperature=temperature)
        for piece in findall(r"\s*\S+|\s+", done.text):
            await emit(on_text, piece)
        return done

    def _one(self, call: ScriptedCall) -> Completion:
        reply = self._reply(call)
        if isinstance(reply, BackendError):
            raise reply
        return Completion(reply, model=self.name) if isinstance(reply, str) else reply

    async def aclose(self) -> None:
        self.closed = True


def _in_order(replies: Iterable[Reply]) -> Callable[[ScriptedCall], Reply]:
    remaining = iter(replies)

    def reply(_: ScriptedCall) -> Reply:
        return next(remaining, BackendDown("the script has no more replies"))

    return reply
