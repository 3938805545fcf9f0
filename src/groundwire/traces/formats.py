"""A trace as users have it: JSON of steps, the message list of an agent framework, or numbered text.

Of messages the last question counts and what follows it: what the assistant says or calls becomes steps,
what tools return becomes sources, the assistant's last words are the answer.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from groundwire.errors import InputError
from groundwire.reports.json import TRACE_FORMAT
from groundwire.reports.parse import read_graph
from groundwire.traces.messages import from_messages, is_message
from groundwire.traces.steps import Steps, read_text
from groundwire.types import EdgeLabel, NodeKind, TraceGraph

_LISTS = ("steps", "trace", "reasoning", "messages", "items", "output")
_CONTEXT = ("sources", "context", "documents", "evidence")


@dataclass(frozen=True, slots=True)
class Draft:
    """What a file holds of a trace; what it lacks may be given beside it."""

    steps: Steps
    sources: Mapping[str, str] = field(default_factory=dict)
    question: str = ""
    answer: str = ""


def read_trace(text: str) -> Draft:
    """Whatever the text is: JSON if it begins like it, lines of JSON, else plain text."""
    head = text.lstrip("\ufeff \t\r\n")
    if head.startswith(("{", "[{", '["')) or (head.startswith("[") and _is_json(head)):
        return _of_data(_parsed(head))
    written = read_text(head)
    return Draft(written.steps, {}, written.question, written.answer)


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


def _of_data(data: object) -> Draft:
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
    return Draft(
        inner.steps,
        {**inner.sources, **_sources(data)},
        _text(data, "question", "query", "input") or inner.question,
        _text(data, "answer", "final_answer", "response", "conclusion") or inner.answer,
    )


def _of_text(text: str) -> Draft:
    written = read_text(text)
    return Draft(written.steps, {}, written.question, written.answer)


def _of_list(items: Sequence[Any]) -> Draft:
    if any(is_message(item) for item in items):
        heard = from_messages(items)
        return Draft(heard.steps, heard.sources, heard.question, heard.answer)
    return Draft(items)


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


def _of_graph(graph: TraceGraph) -> Draft:
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
    return Draft(steps, {names[n.id]: n.text for n in seen}, graph.nodes[0].text)
