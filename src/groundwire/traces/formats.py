"""Messages of agent frameworks as a trace: OpenAI chat and Responses/Agents items, LangChain messages."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from groundwire.errors import InputError
from groundwire.reports.json import TRACE_FORMAT
from groundwire.reports.parse import read_graph
from groundwire.traces.steps import CALL, RETURNED, Steps, parse_text
from groundwire.types import EdgeLabel, NodeKind, TraceGraph

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
class ParsedMessages:
    steps: list[str]
    sources: dict[str, str]
    question: str
    answer: str


@dataclass(slots=True)
class _Conversation:
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


def from_messages(items: Sequence[object]) -> ParsedMessages:
    talk = _Conversation()
    for item in items:
        if isinstance(item, Mapping):
            _hear(_unwrapped(item), talk)
    if not talk.last:
        return ParsedMessages(_flat(talk.said), talk.sources, talk.question, "")
    before, last = _flat(talk.said[:-1]), talk.last
    written = parse_text(last)
    if len(written.steps) > 1 and written.answer:
        # The last message holds a reasoning of its own and the answer after it.
        return ParsedMessages([*before, *written.steps], talk.sources, talk.question, written.answer)
    return ParsedMessages(before or _flat(talk.said), talk.sources, talk.question, written.answer or last)


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


def _hear(item: Mapping[str, Any], talk: _Conversation) -> None:
    kind = item.get("type")
    if kind == "function_call":
        _call(talk, item.get("name"), item.get("arguments"), item.get("call_id"))
    elif kind == "function_call_output":
        _result(talk, item.get("call_id"), item.get("output"), None)
    elif kind == "reasoning":
        _say(talk, _content(item.get("summary") or item.get("content")))
    else:
        _message(item, _ROLES.get(str(item.get("role") or kind), ""), talk)


def _message(item: Mapping[str, Any], role: str, talk: _Conversation) -> None:
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


def _say(talk: _Conversation, text: str) -> None:
    """One step, or where it is long the steps it is made of."""
    if text:
        talk.said.append([text] if len(text) <= _LONG else list(parse_text(text).steps))
        talk.last = text


def _call(talk: _Conversation, name: object, arguments: object, identity: object) -> None:
    called = str(name or "a tool")
    shown = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    inside = " ".join(shown.split())[:_MAX_CALL]
    talk.said.append([f"{CALL}{called} with {inside}"])
    talk.calls[str(identity)] = called
    talk.places[str(identity)] = talk.said[-1]
    talk.last = ""


def _result(talk: _Conversation, identity: object, content: object, name: object) -> None:
    text = _content(content) or (json.dumps(content, ensure_ascii=False) if content else "")
    if not text:
        return
    label = str(name or talk.calls.get(str(identity)) or "tool")
    number = 1
    while (place := label if number == 1 else f"{label}-{number}") in talk.sources:
        number += 1
    talk.sources[place] = text
    _returned(talk, str(identity), label, text)


def _returned(talk: _Conversation, identity: str, label: str, text: str) -> None:
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


# A trace as users have it: JSON of steps, the message list of an agent framework, or numbered text.
#
# Of messages the last question counts and what follows it: what the assistant says or calls becomes steps,
# what tools return becomes sources, the assistant's last words are the answer.

_LISTS = ("steps", "trace", "reasoning", "messages", "items", "output")
_CONTEXT = ("sources", "context", "documents", "evidence")


@dataclass(frozen=True, slots=True)
class ParsedTrace:
    """What a file holds of a trace; what it lacks may be given beside it."""

    steps: Steps
    sources: Mapping[str, str] = field(default_factory=dict)
    question: str = ""
    answer: str = ""


def read_trace(text: str) -> ParsedTrace:
    """Whatever the text is: JSON if it begins like it, lines of JSON, else plain text."""
    head = text.lstrip("\ufeff \t\r\n")
    if head.startswith(("{", "[{", '["')) or (head.startswith("[") and _is_json(head)):
        return _of_data(_parsed(head))
    written = parse_text(head)
    return ParsedTrace(written.steps, {}, written.question, written.answer)


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _parsed(text: str) -> object:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        lines = _lines(text)
        if lines is not None:
            return lines
        raise InputError(f"the trace is no JSON: {error.msg} in line {error.lineno}") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"the trace is no JSON that can be read: {type(error).__name__}") from None


def _lines(text: str) -> list[object] | None:
    """One JSON value a line, as agents log them."""
    try:
        found = [json.loads(line) for line in text.splitlines() if line.strip()]
    except (ValueError, RecursionError):
        return None
    return found if len(found) > 1 else None


def _of_data(data: object) -> ParsedTrace:
    if isinstance(data, list):
        return _of_list(data)
    if not isinstance(data, Mapping):
        raise InputError("the trace is neither a list of steps nor an object", hint='write {"steps": […]}')
    if data.get("format") == TRACE_FORMAT:
        return _of_graph(read_graph(data))
    key = next((name for name in _LISTS if isinstance(data.get(name), list | str) and data[name]), None)
    if key is None:
        raise InputError("the trace has no steps", hint='write {"steps": ["…"], "answer": "…"}')
    inner = _of_list(data[key]) if isinstance(data[key], list) else _of_text(str(data[key]))
    return ParsedTrace(
        inner.steps,
        {**inner.sources, **_sources(data)},
        _text(data, "question", "query", "input") or inner.question,
        _text(data, "answer", "final_answer", "response", "conclusion") or inner.answer,
    )


def _of_text(text: str) -> ParsedTrace:
    written = parse_text(text)
    return ParsedTrace(written.steps, {}, written.question, written.answer)


def _of_list(items: Sequence[Any]) -> ParsedTrace:
    if any(is_message(item) for item in items):
        heard = from_messages(items)
        return ParsedTrace(heard.steps, heard.sources, heard.question, heard.answer)
    return ParsedTrace(items)


def _text(data: Mapping[str, Any], *names: str) -> str:
    found = next((data[name] for name in names if data.get(name) is not None), "")
    if isinstance(found, bool) or not isinstance(found, str | int | float):
        return ""
    return str(found)


def _sources(data: Mapping[str, Any]) -> dict[str, str]:
    found: object = next((data[name] for name in _CONTEXT if data.get(name)), {})
    if isinstance(found, str):
        return {"context": found}
    if isinstance(found, Mapping):
        return {str(name): _source(text, str(name)) for name, text in found.items()}
    if isinstance(found, list):
        return {_name(item, n): _source(item, f"S{n}") for n, item in enumerate(found)}
    raise InputError("the sources are neither a text nor a list nor texts by id")


def _name(item: object, number: int) -> str:
    given = item.get("id") or item.get("sid") if isinstance(item, Mapping) else None
    return str(given) if given is not None else f"S{number}"


def _source(item: object, name: str) -> str:
    text = item.get("text", item.get("content")) if isinstance(item, Mapping) else item
    if not isinstance(text, str):
        raise InputError(f"the source {name} is no text")
    return text


def _of_graph(graph: TraceGraph) -> ParsedTrace:
    """An exported trace: its claims are the steps, what was seen and came of it the sources."""
    names = {node.id: node.name or node.id for node in graph.nodes}
    cites: dict[str, list[str]] = {}
    for edge in graph.edges:
        if edge.label is EdgeLabel.CITES:
            cites.setdefault(edge.source, []).append(names.get(edge.target, edge.target))
    steps = [
        {"id": names[n.id], "claim": n.text, "cites": cites.get(n.id, []), "confidence": n.confidence}
        for n in graph.nodes
        if n.kind is NodeKind.CLAIM
    ]
    seen = (n for n in graph.nodes if n.kind in (NodeKind.OBSERVATION, NodeKind.OUTCOME))
    return ParsedTrace(steps, {names[n.id]: n.text for n in seen}, graph.nodes[0].text)
