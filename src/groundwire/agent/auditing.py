"""The way to an answer, audited: what the model said and ran before it, and whether that leads there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from groundwire.agent.loop import before_answer, read_reply, without_code
from groundwire.config import Config
from groundwire.engine import Groundwire
from groundwire.llm.generator import Message
from groundwire.traces.plain import read_text
from groundwire.traces.steps import CALL, MAX_STEP, RETURNED
from groundwire.types import TraceAudit

_OUTPUT, _END = "<output>", "</output>"
_MAX_CODE = 300
_LONG = 2000


@dataclass(frozen=True, slots=True)
class Way:
    """The steps to an answer, and what the model had before it: its files, and what its code printed."""

    steps: tuple[str, ...]
    sources: Mapping[str, str]


def is_wanted(config: Config) -> bool:
    return config.hallucination.enabled and config.hallucination.trace_auditing.enabled


def way(messages: Sequence[Message], files: Mapping[str, str]) -> Way:
    """Since the question, or since it was last told to try again."""
    asked = [n for n, m in enumerate(messages) if m.role == "user" and not m.content.startswith(_OUTPUT)]
    since = list(messages[asked[-1] + 1 :]) if asked else list(messages)
    steps: list[str] = []
    sources = dict(files)
    for message in since[:-1]:
        if message.role == "assistant":
            steps += [*_said(without_code(message.content)), *_ran(message.content)]
        else:
            shown = message.content.removeprefix(_OUTPUT).removesuffix(_END).strip()
            sources[_free("output", sources)] = shown
            if steps and steps[-1].startswith(CALL):
                steps[-1] += f"{RETURNED}{shown[:_LONG]}"
    if since:
        steps += _said(before_answer(since[-1].content))
    return Way(tuple(steps), sources)


def _said(text: str) -> list[str]:
    found = [text.strip()] if len(text) <= _LONG else list(read_text(text).steps)
    return [step[:MAX_STEP] for step in found if step]


def _ran(text: str) -> list[str]:
    code = " ".join(read_reply(text).code.split())
    return [f"{CALL}Python with {code[:_MAX_CODE]}"] if code else []


def _free(name: str, taken: Mapping[str, str]) -> str:
    number = 1
    while (place := name if number == 1 else f"{name}-{number}") in taken:
        number += 1
    return place


async def audited(
    engine: Groundwire, query: str, answer: str, messages: Sequence[Message], files: Mapping[str, str]
) -> TraceAudit | None:
    """None where the model answered at once: there is no way to look at."""
    found = way(messages, files)
    if not found.steps or not answer.strip():
        return None
    return await engine.audit_trace(found.steps, query, found.sources, answer)
