"""Read a trace from JSON steps, agent messages (OpenAI chat and Responses, LangChain) or numbered text.

In a message list, the last user message is the question: what the assistant says or calls after it becomes
steps, tool results become sources, and the assistant's last message is the answer.
"""

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
_CALL_CHARS = 300  # of the arguments of a call
_STEP_CHARS = 2000  # longer messages are split into steps, longer tool results are cut


@dataclass(frozen=True, slots=True)
class ParsedMessages:
    steps: list[str]
    sources: dict[str, str]
    question: str
    answer: str


@dataclass(slots=True)
class _Conversation:
    """The messages since the last question."""

    question: str = ""
    messages: list[list[str]] = field(default_factory=list)
    last: str = ""
    calls: dict[str, str] = field(default_factory=dict)
    places: dict[str, list[str]] = field(default_factory=dict)
    sources: dict[str, str] = field(default_factory=dict)


def is_message(item: object) -> bool:
    if not isinstance(item, Mapping):
        return False
    role, kind = str(item.get("role")), str(item.get("type"))
    is_typed = role in _ROLES or kind in _ITEMS or "lc" in item
    return is_typed or (kind in _ROLES and ("content" in item or "data" in item))


def from_messages(items: Sequence[object]) -> ParsedMessages:
    conversation = _Conversation()
    for item in items:
        if isinstance(item, Mapping):
            _add_item(_unwrapped(item), conversation)
    if not conversation.last:
        return ParsedMessages(_flat(conversation.messages), conversation.sources, conversation.question, "")
    before, last = _flat(conversation.messages[:-1]), conversation.last
    written = parse_text(last)
    if len(written.steps) > 1 and written.answer:
        # The last message contains reasoning followed by the answer.
        return ParsedMessages(
            [*before, *written.steps], conversation.sources, conversation.question, written.answer
        )
    return ParsedMessages(
        before or _flat(conversation.messages),
        conversation.sources,
        conversation.question,
        written.answer or last,
    )


def _flat(messages: Sequence[Sequence[str]]) -> list[str]:
    return [step for message in messages for step in message]


def _unwrapped(item: Mapping[str, Any]) -> Mapping[str, Any]:
    """Unwrap LangChain's serialised messages."""
    if isinstance(item.get("data"), Mapping):
        return {"type": item.get("type"), **item["data"]}
    if "lc" in item and isinstance(item.get("kwargs"), Mapping):
        path = item.get("id")
        kind = str(path[-1]) if isinstance(path, list) and path else ""
        return {**item["kwargs"], "type": kind}
    return item


def _add_item(item: Mapping[str, Any], conversation: _Conversation) -> None:
    kind = item.get("type")
    if kind == "function_call":
        _add_call(conversation, item.get("name"), item.get("arguments"), item.get("call_id"))
    elif kind == "function_call_output":
        _add_result(conversation, item.get("call_id"), item.get("output"), None)
    elif kind == "reasoning":
        _add_text(conversation, _content(item.get("summary") or item.get("content")))
    else:
        _message(item, _ROLES.get(str(item.get("role") or kind), ""), conversation)


def _message(item: Mapping[str, Any], role: str, conversation: _Conversation) -> None:
    text = _content(item.get("content"))
    if role == "user" and text:
        conversation.question, conversation.messages, conversation.last = text, [], ""
    elif role == "assistant":
        _add_text(conversation, text)
        calls = item.get("tool_calls")
        for call in calls if isinstance(calls, list) else ():
            if isinstance(call, Mapping):
                named = call.get("function")
                inner = named if isinstance(named, Mapping) else call
                _add_call(
                    conversation, inner.get("name"), inner.get("arguments", inner.get("args")), call.get("id")
                )
    elif role == "tool":
        _add_result(conversation, item.get("tool_call_id"), item.get("content"), item.get("name"))


def _add_text(conversation: _Conversation, text: str) -> None:
    """Add one step, or several if the text is long."""
    if text:
        conversation.messages.append([text] if len(text) <= _STEP_CHARS else list(parse_text(text).steps))
        conversation.last = text


def _add_call(conversation: _Conversation, name: object, arguments: object, identity: object) -> None:
    called = str(name or "a tool")
    shown = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    inside = " ".join(shown.split())[:_CALL_CHARS]
    conversation.messages.append([f"{CALL}{called} with {inside}"])
    conversation.calls[str(identity)] = called
    conversation.places[str(identity)] = conversation.messages[-1]
    conversation.last = ""


def _add_result(conversation: _Conversation, identity: object, content: object, name: object) -> None:
    text = _content(content) or (json.dumps(content, ensure_ascii=False) if content else "")
    if not text:
        return
    label = str(name or conversation.calls.get(str(identity)) or "tool")
    number = 1
    while (place := label if number == 1 else f"{label}-{number}") in conversation.sources:
        number += 1
    conversation.sources[place] = text
    _append_result(conversation, str(identity), label, text)


def _append_result(conversation: _Conversation, identity: str, label: str, text: str) -> None:
    """Append a tool result to its call, so that the independent executor sees it."""
    if identity not in conversation.places:
        conversation.places[identity] = [f"{CALL}{label}"]
        conversation.messages.append(conversation.places[identity])
    step = conversation.places[identity]
    step[0] = f"{step[0]}{RETURNED}{text[:_STEP_CHARS]}"
    conversation.last = ""


def _content(content: object) -> str:
    """The text of a message content or of its parts."""
    if isinstance(content, str):
        return content.strip()
    if isinstance(content, Mapping):
        content = [content]
    if not isinstance(content, list):
        return ""
    parts = (part.get("text") if isinstance(part, Mapping) else part for part in content)
    return "\n".join(part.strip() for part in parts if isinstance(part, str) and part.strip())


_LISTS = ("steps", "trace", "reasoning", "messages", "items", "output")
_CONTEXT = ("sources", "context", "documents", "evidence")


@dataclass(frozen=True, slots=True)
class ParsedTrace:
    """A parsed trace; missing parts may be given separately."""

    steps: Steps
    sources: Mapping[str, str] = field(default_factory=dict)
    question: str = ""
    answer: str = ""


def read_trace(text: str) -> ParsedTrace:
    """Parse JSON, JSON Lines or plain text."""
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
        raise InputError(f"the trace is not valid JSON: {error.msg} in line {error.lineno}") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"the trace is not readable JSON: {type(error).__name__}") from None


def _lines(text: str) -> list[object] | None:
    """One JSON value per line, as in agent logs."""
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
        messages = from_messages(items)
        return ParsedTrace(messages.steps, messages.sources, messages.question, messages.answer)
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
    raise InputError("sources must be a string, a list or an object of strings by id")


def _name(item: object, number: int) -> str:
    given = item.get("id") or item.get("sid") if isinstance(item, Mapping) else None
    return str(given) if given is not None else f"S{number}"


def _source(item: object, name: str) -> str:
    text = item.get("text", item.get("content")) if isinstance(item, Mapping) else item
    if not isinstance(text, str):
        raise InputError(f"source {name} must be a string")
    return text


def _of_graph(graph: TraceGraph) -> ParsedTrace:
    """An exported trace: claims become steps, observations and outcomes become sources."""
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
