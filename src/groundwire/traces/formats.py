"""Read a trace from JSON steps, agent messages, OpenTelemetry spans (`actions.transcript`) or numbered text.

In a message list, the last user message is the question: what the assistant says or calls after it becomes
steps, tool results become sources, and the assistant's last message is the answer.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from groundwire.actions.transcript import (
    TranscriptEvent,
    is_message,
    ledger_of,
    read_events,
    span_events,
    spans_of,
)
from groundwire.errors import InputError
from groundwire.reports.json import TRACE_FORMAT
from groundwire.reports.parse import read_graph
from groundwire.traces.steps import CALL, RETURNED, Steps, parse_text
from groundwire.types import ActionLedger, EdgeLabel, NodeKind, TraceGraph

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


def from_messages(items: Sequence[object]) -> ParsedMessages:
    return from_events(read_events(items))


def from_events(events: Sequence[TranscriptEvent]) -> ParsedMessages:
    conversation = _Conversation()
    for event in events:
        _add_event(event, conversation)
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


def _add_event(event: TranscriptEvent, conversation: _Conversation) -> None:
    if event.kind == "user":
        conversation.question, conversation.messages, conversation.last = event.text, [], ""
    elif event.kind == "assistant":
        _add_text(conversation, event.text)
    elif event.kind == "call":
        _add_call(conversation, event.name, event.text, event.id)
    elif event.kind == "result" and event.text:
        _add_result(conversation, event)


def _add_text(conversation: _Conversation, text: str) -> None:
    """Add one step, or several if the text is long."""
    if text:
        conversation.messages.append([text] if len(text) <= _STEP_CHARS else list(parse_text(text).steps))
        conversation.last = text


def _add_call(conversation: _Conversation, name: str, arguments: str, identity: str) -> None:
    inside = " ".join(arguments.split())[:_CALL_CHARS]
    conversation.messages.append([f"{CALL}{name} with {inside}"])
    conversation.calls[identity] = name
    conversation.places[identity] = conversation.messages[-1]
    conversation.last = ""


def _add_result(conversation: _Conversation, event: TranscriptEvent) -> None:
    label = event.name or conversation.calls.get(event.id) or "tool"
    number = 1
    while (place := label if number == 1 else f"{label}-{number}") in conversation.sources:
        number += 1
    conversation.sources[place] = event.text
    _append_result(conversation, event.id, label, event.text)


def _append_result(conversation: _Conversation, identity: str, label: str, text: str) -> None:
    """Append a tool result to its call, so that the independent executor sees it."""
    if identity not in conversation.places:
        conversation.places[identity] = [f"{CALL}{label}"]
        conversation.messages.append(conversation.places[identity])
    step = conversation.places[identity]
    step[0] = f"{step[0]}{RETURNED}{text[:_STEP_CHARS]}"
    conversation.last = ""


_LISTS = ("steps", "trace", "reasoning", "messages", "items", "output")
_CONTEXT = ("sources", "context", "documents", "evidence")


@dataclass(frozen=True, slots=True)
class ParsedTrace:
    """A parsed trace; missing parts may be given separately."""

    steps: Steps
    sources: Mapping[str, str] = field(default_factory=dict)
    question: str = ""
    answer: str = ""
    ledger: ActionLedger = field(default_factory=ActionLedger)


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
    if spans := spans_of(data):
        return _of_events(span_events(spans))
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
        inner.ledger,
    )


def _of_text(text: str) -> ParsedTrace:
    written = parse_text(text)
    return ParsedTrace(written.steps, {}, written.question, written.answer)


def _of_list(items: Sequence[Any]) -> ParsedTrace:
    return _of_events(read_events(items)) if any(map(is_message, items)) else ParsedTrace(items)


def _of_events(events: Sequence[TranscriptEvent]) -> ParsedTrace:
    found = from_events(events)
    return ParsedTrace(found.steps, found.sources, found.question, found.answer, ledger_of(events))


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
