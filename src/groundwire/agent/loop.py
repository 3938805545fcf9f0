"""The agent loop: the model writes code, sees its output, and repeats until it answers."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from groundwire.agent import prompts
from groundwire.agent.cost import Meter
from groundwire.agent.functions import Function
from groundwire.agent.sandbox import Sandbox, SandboxOutput
from groundwire.agent.trajectory import EventKind, EventLog
from groundwire.config import OrchestratorConfig, SandboxConfig
from groundwire.llm.base import Generator, Message, completed

_FINAL = re.compile(r"^[ \t*#>]*FINAL(?: ANSWER)?\s*:[ \t*]*", re.MULTILINE)
_BLOCK = re.compile(
    r"^[ \t]*```[ \t]*(?:python3?|py|repl)[ \t]*\n(.*?)(?:^[ \t]*```[ \t]*$|\Z)", re.MULTILINE | re.DOTALL
)


@dataclass(frozen=True, slots=True)
class ModelReply:
    """A parsed reply: either `code` to run, or the `answer`.

    `text` is the reply up to the code: what follows was written without having seen its output.
    """

    text: str
    code: str = ""
    answer: str = ""


def parse_reply(text: str) -> ModelReply:
    """Parse a reply. Code before FINAL: is run first; everything after FINAL: is the answer.

    >>> parse_reply("Let me see.\\n```python\\nlen(files)\\n```\\nThere are 3.\\nFINAL: 3").code
    'len(files)\\n'
    >>> parse_reply("FINAL: 3 files").answer
    '3 files'
    >>> parse_reply("Three files.").answer
    'Three files.'
    """
    final = _FINAL.search(text)
    block = _BLOCK.search(text)
    if block is not None and (final is None or block.start() < final.start()):
        return _with_code(text, final.start() if final else len(text))
    return ModelReply(text, answer=(text[final.end() :] if final else text).strip())


def _with_code(text: str, end: int) -> ModelReply:
    blocks = [block for block in _BLOCK.finditer(text) if block.start() < end]
    code = "\n".join(block[1] for block in blocks)
    return ModelReply(text[: blocks[-1].end()], code=code)


def answer_text(text: str) -> str:
    """Return a reply's answer, or else its text without code blocks."""
    final = _FINAL.search(text)
    words = _BLOCK.sub("", text)
    return (text[final.end() :] if final else words).strip()


def before_answer(text: str) -> str:
    """Return the text before FINAL:, without code; empty if the reply is only an answer."""
    final = _FINAL.search(text)
    return _BLOCK.sub("", text[: final.start()]).strip() if final else ""


_TURN_LIMIT = "stopped after {turns} turns without an answer"
_CALL_LIMIT = "stopped after {calls} model calls without an answer"


@dataclass(frozen=True, slots=True)
class AgentDraft:
    """An answer, the conversation that led to it, and the reason if it was cut short."""

    answer: str
    messages: tuple[Message, ...]
    stopped: str | None = None


@dataclass(slots=True)
class AgentLoop:
    """`functions` is None if the model may not write code. The sandbox lives as long as the loop."""

    generator: Generator
    files: Mapping[str, str]
    functions: Mapping[str, Function] | None
    settings: OrchestratorConfig
    limits: SandboxConfig
    meter: Meter
    log: EventLog
    _sandbox: Sandbox | None = field(default=None, init=False)

    async def answer(self, messages: Sequence[Message]) -> AgentDraft:
        with self.meter.on("base"):
            return await self._answer(list(messages))

    async def _answer(self, messages: list[Message]) -> AgentDraft:
        if self.functions is None:
            text = await self._complete(messages)
            return AgentDraft(text.strip(), (*messages, Message("assistant", text)))
        for _ in range(self.settings.max_turns):
            if self.log.calls >= self.settings.max_calls:
                return await self._stop(messages, _CALL_LIMIT.format(calls=self.settings.max_calls))
            reply = parse_reply(await self._complete(messages))
            messages.append(Message("assistant", reply.text))
            if not reply.code:
                return AgentDraft(reply.answer, tuple(messages))
            messages.append(prompts.output((await self._run_code(reply)).text))
        return await self._stop(messages, _TURN_LIMIT.format(turns=self.settings.max_turns))

    async def _stop(self, messages: list[Message], why: str) -> AgentDraft:
        """The limit is reached: ask for the answer once more, without code."""
        self.log(EventKind.STOPPED, reason=why)
        last = messages.pop()
        messages.append(Message("user", f"{last.content}\n\n{prompts.LAST_TURN}"))
        text = await self._complete(messages)
        return AgentDraft(answer_text(text), (*messages, Message("assistant", text)), why)

    async def _complete(self, messages: Sequence[Message]) -> str:
        on_text = None if self.log.handler is None else self._token
        done = await completed(self.generator, messages, on_text, max_tokens=self.settings.max_tokens)
        self.log(EventKind.MODEL, text=done.text, model=done.model or self.generator.name)
        return done.text

    def _token(self, text: str) -> None:
        self.log(EventKind.TOKEN, text=text)

    async def _run_code(self, reply: ModelReply) -> SandboxOutput:
        if self._sandbox is None:
            metered = {name: self._metered(function) for name, function in (self.functions or {}).items()}
            self._sandbox = Sandbox(metered, self.files, self.limits)
        self.log(EventKind.CODE, code=reply.code)
        output = await self._sandbox.run(reply.code)
        seconds = round(output.seconds, 3)
        self.log(EventKind.OUTPUT, text=output.text, error=output.error, seconds=seconds, calls=output.calls)
        return output

    def _metered(self, function: Function) -> Function:
        """Count checks that code makes as verification cost."""
        if function.name == "llm":
            return function

        async def counted(*arguments: object, **named: object) -> object:
            with self.meter.on("verification"):
                return await function.call(*arguments, **named)

        return replace(function, call=counted)

    async def aclose(self) -> None:
        if self._sandbox is not None:
            await self._sandbox.aclose()
