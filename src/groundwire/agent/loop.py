"""The way to an answer: a model writes, its code runs, it sees what came of it, until it answers."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from groundwire.agent import prompts
from groundwire.agent.cost import Meter
from groundwire.agent.functions import Call, Function
from groundwire.agent.sandbox import Output, Sandbox
from groundwire.agent.trajectory import Kind, Log
from groundwire.config import OrchestratorConfig, SandboxConfig
from groundwire.llm.base import Generator, Message, completed

# What a model wrote, read: code to run, or an answer.

_FINAL = re.compile(r"^[ \t*#>]*FINAL(?: ANSWER)?\s*:[ \t*]*", re.MULTILINE)
_BLOCK = re.compile(
    r"^[ \t]*```[ \t]*(?:python3?|py|repl)[ \t]*\n(.*?)(?:^[ \t]*```[ \t]*$|\Z)", re.MULTILINE | re.DOTALL
)


@dataclass(frozen=True, slots=True)
class Reply:
    """`code` is to be run; without any, `answer` is the answer. `kept` is what the model truly said: what it
    wrote behind code it has not seen the output of is invention.
    """

    kept: str
    code: str = ""
    answer: str = ""


def read_reply(text: str) -> Reply:
    """Code counts before an answer that stands behind it; after FINAL: everything is the answer.

    >>> read_reply("Let me see.\\n```python\\nlen(files)\\n```\\nThere are 3.\\nFINAL: 3").code
    'len(files)\\n'
    >>> read_reply("FINAL: 3 files").answer
    '3 files'
    >>> read_reply("Three files.").answer
    'Three files.'
    """
    final = _FINAL.search(text)
    block = _BLOCK.search(text)
    if block is not None and (final is None or block.start() < final.start()):
        return _with_code(text, final.start() if final else len(text))
    return Reply(text, answer=(text[final.end() :] if final else text).strip())


def _with_code(text: str, end: int) -> Reply:
    blocks = [block for block in _BLOCK.finditer(text) if block.start() < end]
    code = "\n".join(block[1] for block in blocks)
    return Reply(text[: blocks[-1].end()], code=code)


def without_code(text: str) -> str:
    """The words of a reply that should have been an answer."""
    final = _FINAL.search(text)
    words = _BLOCK.sub("", text)
    return (text[final.end() :] if final else words).strip()


def before_answer(text: str) -> str:
    """What a reply says before FINAL; nothing where it is all answer."""
    final = _FINAL.search(text)
    return _BLOCK.sub("", text[: final.start()]).strip() if final else ""


TURNS = "it was stopped after {turns} turns, before it had finished"
CALLS = "it was stopped after {calls} calls of the model, before it had finished"


@dataclass(frozen=True, slots=True)
class Draft:
    """An answer, the conversation that led to it, and why it was cut short, if it was."""

    answer: str
    messages: tuple[Message, ...]
    stopped: str | None = None


@dataclass(slots=True)
class Loop:
    """`functions` is None where the model may write no code. The sandbox lives as long as the loop."""

    generator: Generator
    files: Mapping[str, str]
    functions: Mapping[str, Function] | None
    settings: OrchestratorConfig
    limits: SandboxConfig
    meter: Meter
    log: Log
    _sandbox: Sandbox | None = field(default=None, init=False)

    async def answer(self, messages: Sequence[Message]) -> Draft:
        with self.meter.on("base"):
            return await self._answer(list(messages))

    async def _answer(self, messages: list[Message]) -> Draft:
        if self.functions is None:
            said = await self._said(messages)
            return Draft(said.strip(), (*messages, Message("assistant", said)))
        for _ in range(self.settings.max_turns):
            if self.log.calls >= self.settings.max_calls:
                return await self._stopped(messages, CALLS.format(calls=self.settings.max_calls))
            reply = read_reply(await self._said(messages))
            messages.append(Message("assistant", reply.kept))
            if not reply.code:
                return Draft(reply.answer, tuple(messages))
            messages.append(prompts.output((await self._ran(reply)).text))
        return await self._stopped(messages, TURNS.format(turns=self.settings.max_turns))

    async def _stopped(self, messages: list[Message], why: str) -> Draft:
        """Turns or calls are used up: one last word, and what there is of it is the answer."""
        self.log(Kind.STOPPED, reason=why)
        last = messages.pop()
        messages.append(Message("user", f"{last.content}\n\n{prompts.LAST_TURN}"))
        said = await self._said(messages)
        return Draft(without_code(said), (*messages, Message("assistant", said)), why)

    async def _said(self, messages: Sequence[Message]) -> str:
        watched = self.log.watch is not None
        done = await completed(
            self.generator, messages, self._token if watched else None, max_tokens=self.settings.max_tokens
        )
        self.log(Kind.MODEL, text=done.text, model=done.model or self.generator.name)
        return done.text

    def _token(self, text: str) -> None:
        self.log(Kind.TOKEN, text=text)

    async def _ran(self, reply: Reply) -> Output:
        if self._sandbox is None:
            metered = {name: self._metered(function) for name, function in (self.functions or {}).items()}
            self._sandbox = Sandbox(metered, self.files, self.limits)
        self.log(Kind.CODE, code=reply.code)
        output = await self._sandbox.run(reply.code)
        seconds = round(output.seconds, 3)
        self.log(Kind.OUTPUT, text=output.text, error=output.error, seconds=seconds, calls=output.calls)
        return output

    def _metered(self, function: Function) -> Function:
        """Checks that code makes are verification, and cost what they cost."""
        if function.name == "llm":
            return function
        return replace(function, call=_counted(function.call, self.meter))

    async def aclose(self) -> None:
        if self._sandbox is not None:
            await self._sandbox.aclose()


def _counted(call: Call, meter: Meter) -> Call:
    async def counted(*arguments: object, **named: object) -> object:
        with meter.on("verification"):
            return await call(*arguments, **named)

    return counted
