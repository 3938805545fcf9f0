"""Messages of agent frameworks as a trace: OpenAI chat and Responses/Agents items, LangChain messages."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from groundwire.traces.steps import CALL, RETURNED, read_text

_ROLES = {
    "user": "user", "human": "user", "HumanMessage": "user",
    "assistant": "assistant", "ai": "assistant", "AIMessage": "assistant", "AIMessageChunk": "assistant",
    "tool": "tool", "function": "tool", "ToolMessage": "tool", "FunctionMessage": "tool",
    "system": "system", "developer": "system", "SystemMessage": "system",
}  # fmt: skip
_ITEMS = frozenset(("function_call", "function_call_output", "reasoning", "message"))
_MAX_CALL = 300
_LONG = 2000


@dataclass(frozen=True, slots=True)
class Heard:
    steps: list[str]
    sources: dict[str, str]
    question: str
    answer: str


@dataclass(slots=True)
class _Talk:
    """What was said since the last question."""

    question: str = ""
    said: list[list[str]] = field(default_factory=list)
    last: str = ""
    calls: dict[str, str] = field(default_factory=dict)
    places: dict[str, list[str]] = field(default_factory=dict)
    sources: dict[str, str] = field(default_factory=dict)


def is_message(item: object) -> bool:
    if not isinstance(item, Mapping):
        return False
    role, kind = str(item.get("role")), str(item.get("type"))
    told = role in _ROLES or kind in _ITEMS or "lc" in item
    return told or (kind in _ROLES and ("content" in item or "data" in item))


def from_messages(items: Sequence[object]) -> Heard:
    talk = _Talk()
    for item in items:
        if isinstance(item, Mapping):
            _hear(_unwrapped(item), talk)
    if not talk.last:
        return Heard(_flat(talk.said), talk.sources, talk.question, "")
    before, last = _flat(talk.said[:-1]), talk.last
    written = read_text(last)
    if len(written.steps) > 1 and written.answer:
        # The last message holds a reasoning of its own and the answer after it.
        return Heard([*before, *written.steps], talk.sources, talk.question, written.answer)
    return Heard(before or _flat(talk.said), talk.sources, talk.question, written.answer or last)


def _flat(said: Sequence[Sequence[str]]) -> list[str]:
    return [step for message in said for step in message]


def _unwrapped(item: Mapping[str, Any]) -> Mapping[str, Any]:
    """LangChain's dumps carry the message inside, its kind outside."""
    if isinstance(item.get("data"), Mapping):
        return {"type": item.get("type"), **item["data"]}
    if "lc" in item and isinstance(item.get("kwargs"), Mapping):
        path = item.get("id")
        kind = str(path[-1]) if isinstance(path, list) and path else ""
        return {**item["kwargs"], "type": kind}
    return item


def _hear(item: Mapping[str, Any], talk: _Talk) -> None:
    kind = item.get("type")
    if kind == "function_call":
        _call(talk, item.get("name"), item.get("arguments"), item.get("call_id"))
    elif kind == "function_call_output":
        _result(talk, item.get("call_id"), item.get("output"), None)
    elif kind == "reasoning":
        _say(talk, _content(item.get("summary") or item.get("content")))
    else:
        _message(item, _ROLES.get(str(item.get("role") or kind), ""), talk)


def _message(item: Mapping[str, Any], role: str, talk: _Talk) -> None:
    text = _content(item.get("content"))
    if role == "user" and text:
        talk.question, talk.said, talk.last = text, [], ""
    elif role == "assistant":
        _say(talk, text)
        calls = item.get("tool_calls")
        for call in calls if isinstance(calls, list) else ():
            if isinstance(call, Mapping):
                named = call.get("function")
                inner = named if isinstance(named, Mapping) else call
                _call(talk, inner.get("name"), inner.get("arguments", inner.get("args")), call.get("id"))
    elif role == "tool":
        _result(talk, item.get("tool_call_id"), item.get("content"), item.get("name"))


def _say(talk: _Talk, text: str) -> None:
    """One step, or where it is long the steps it is made of."""
    if text:
        talk.said.append([text] if len(text) <= _LONG else list(read_text(text).steps))
        talk.last = text


def _call(talk: _Talk, name: object, arguments: object, identity: object) -> None:
    called = str(name or "a tool")
    shown = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    inside = " ".join(shown.split())[:_MAX_CALL]
    talk.said.append([f"{CALL}{called} with {inside}"])
    talk.calls[str(identity)] = called
    talk.places[str(identity)] = talk.said[-1]
    talk.last = ""


def _result(talk: _Talk, identity: object, content: object, name: object) -> None:
    text = _content(content) or (json.dumps(content, ensure_ascii=False) if content else "")
    if not text:
        return
    label = str(name or talk.calls.get(str(identity)) or "tool")
    number = 1
    while (place := label if number == 1 else f"{label}-{number}") in talk.sources:
        number += 1
    talk.sources[place] = text
    _returned(talk, str(identity), label, text)


def _returned(talk: _Talk, identity: str, label: str, text: str) -> None:
    """What a call brought is part of the way to the answer: who derives it anew must see it."""
    if identity not in talk.places:
        talk.places[identity] = [f"{CALL}{label}"]
        talk.said.append(talk.places[identity])
    step = talk.places[identity]
    step[0] = f"{step[0]}{RETURNED}{text[:_LONG]}"
    talk.last = ""


def _content(content: object) -> str:
    """Text, or the text of its parts."""
    if isinstance(content, str):
        return content.strip()
    if isinstance(content, Mapping):
        content = [content]
    if not isinstance(content, list):
        return ""
    parts = (part.get("text") if isinstance(part, Mapping) else part for part in content)
    return "\n".join(part.strip() for part in parts if isinstance(part, str) and part.strip())
