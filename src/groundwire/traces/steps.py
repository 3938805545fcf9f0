"""The steps of a trace, read from text, JSON, agent messages or OpenTelemetry spans, and what each cites.

In a message list, the last user message is the question: what the assistant says or calls after it becomes
steps, tool results become sources, and the assistant's last message is the answer.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from groundwire.actions.transcript import TranscriptEvent, is_message, ledger_of, read_events, span_events, spans_of
from groundwire.claims.extractor import extract
from groundwire.errors import InputError
from groundwire.reports.json import TRACE_FORMAT
from groundwire.reports.parse import read_graph
from groundwire.retrieval.cite import resolve
from groundwire.text.lexicon import expressions
from groundwire.text.sentences import sentences
from groundwire.traces.computation import is_given
from groundwire.types import ActionLedger, EdgeLabel, NodeKind, Source, Step, TraceGraph

_ITEM, _LABEL, _CLAUSE_START, _MENTION, _STEP_NAME = expressions("traces", "item label clause_start mention step_name")
_QUESTION_LABELS = frozenset(("question", "query", "problem", "user"))


@dataclass(frozen=True, slots=True)
class ParsedText:
    """A trace parsed from plain text."""

    steps: tuple[str, ...]
    question: str = ""
    answer: str = ""


@dataclass(slots=True)
class _TextDraft:
    """Lines by the part of the trace they belong to."""

    steps: list[list[str]] = field(default_factory=list)
    given: list[str] = field(default_factory=list)
    question: list[str] = field(default_factory=list)
    answer: list[str] = field(default_factory=list)
    loose: list[str] = field(default_factory=list)


def parse_text(text: str) -> ParsedText:
    """Parse a trace from text: "1. …", "Step 2: …", "Answer: …", or one line or sentence per step.

    >>> parse_text("Q: none\\n1. It is red.\\n2. Red is warm.\\nAnswer: warm")
    ParsedText(steps=('It is red.', 'Red is warm.'), question='', answer='warm')
    >>> parse_text("Question: Is it warm?\\nGiven: it is red.\\n1. Red is warm.").steps
    ('Given: it is red.', 'Red is warm.')
    >>> parse_text("It is red. So it is warm.").steps
    ('It is red.', 'So it is warm.')
    """
    draft = _TextDraft()
    here = draft.loose
    for line in text.splitlines():
        here = _place(line, draft, here)
    steps = [_joined(one) for one in draft.steps]
    if not steps:
        steps = _apart(draft.loose)
    nonempty = tuple(step for step in (*(_joined([line]) for line in draft.given), *steps) if step)
    return ParsedText(nonempty, _joined(draft.question), _joined(draft.answer))


def _place(line: str, draft: _TextDraft, here: list[str]) -> list[str]:
    label, item = _LABEL.match(line), _ITEM.match(line)
    if label:
        here = draft.question if label["label"].lower() in _QUESTION_LABELS else draft.answer
        here.append(line[label.end() :])
    elif here is draft.question and is_given(line):
        # "Given: …" behind the question is a step of its own, which states context.
        draft.given.append(line)
        here = draft.loose
    elif item:
        # "First, …" begins a sentence, so the word is kept.
        begin = 0 if _CLAUSE_START.match(line) else item.end()
        here = [line[begin:]]
        draft.steps.append(here)
    else:
        here.append(line)
    return here


def _joined(lines: list[str]) -> str:
    return " ".join(" ".join(lines).split())


def _apart(lines: list[str]) -> list[str]:
    """Unnumbered text: one step per line, or per sentence if there is only one line."""
    filled = [" ".join(line.split()) for line in lines if line.strip()]
    if len(filled) != 1:
        return filled
    return [filled[0][span.start : span.end].strip() for span in sentences(filled[0])] or filled


Steps = str | Sequence[Step | Mapping[str, object] | str]

MAX_STEP = 20_000
"""Characters of a step."""
CALL = "Let me call "
"""Prefix of a step that calls a tool; such a step asserts nothing."""
RETURNED = "\nIt returned: "
"""Separates a call from its result."""

_TEXT = ("claim", "text", "content", "thought", "step", "statement")
_CITES = ("cites", "citations", "evidence_ids", "sources", "evidence")


@dataclass(frozen=True, slots=True)
class StepLinks:
    """The resolved citations of a step. `circular`: itself, later steps, or steps that depend on it."""

    sources: tuple[str, ...] = ()
    steps: tuple[str, ...] = ()
    phantoms: tuple[str, ...] = ()
    circular: tuple[str, ...] = ()


def as_steps(given: Steps, sources: Sequence[Source] = ()) -> tuple[Step, ...]:
    """Normalise steps given as one text, as a list of texts, or as {claim, cites}; each gets an id."""
    if isinstance(given, str):
        given = parse_text(given).steps
    if isinstance(given, bytes | Mapping) or not isinstance(given, Sequence):
        raise InputError("steps must be a list", hint="give a list of texts or of {claim, cites}")
    if not given:
        raise InputError("there are no steps to audit")
    taken = {source.id.casefold() for source in sources}
    read = [_read(item, number) for number, item in enumerate(given, 1)]
    named = [step if step.id else replace(step, id=_free(n, taken)) for n, step in enumerate(read, 1)]
    ids = [step.id for step in named]
    times = Counter(name.casefold() for name in ids)
    twice = next((n for n in ids if times[n.casefold()] > 1 or n.casefold() in taken), None)
    if twice:
        raise InputError(f"two steps or sources are called {twice}", hint="give each an id of its own")
    known = [*(source.id for source in sources), *ids]
    return tuple(_with_marks(step, known) for step in named)


def _free(number: int, taken: set[str]) -> str:
    return next(name for name in (f"step{number}", f"step-{number}", f"trace-step{number}") if name not in taken)


def _read(item: object, number: int) -> Step:
    if isinstance(item, Step):
        return replace(item, text=_filled(item.text, number))
    if isinstance(item, str):
        return Step("", _filled(item, number))
    if not isinstance(item, Mapping):
        raise InputError(f"step {number} must be a string or {{claim, cites}}")
    text = next((item[key] for key in _TEXT if isinstance(item.get(key), str)), None)
    if text is None:
        raise InputError(f"step {number} has no claim", hint='write {"claim": "…", "cites": ["S0"]}')
    name = item.get("id")
    return Step(
        str(name) if isinstance(name, str | int) else "",
        _filled(text, number),
        _cited(item, number),
        _confidence(item.get("confidence"), number),
    )


def _filled(text: object, number: int) -> str:
    if not isinstance(text, str) or not text.strip():
        raise InputError(f"step {number} is empty")
    if len(text) > MAX_STEP:
        raise InputError(f"step {number} has {len(text):,} characters", hint="split it into the steps it takes")
    return text.strip()


def _cited(item: Mapping[str, object], number: int) -> tuple[str, ...]:
    found = next((item[key] for key in _CITES if item.get(key) is not None), ())
    several = [found] if isinstance(found, str | int) else found
    if not isinstance(several, Sequence) or not all(isinstance(one, str | int) for one in several):
        raise InputError(f"cites of step {number} must be a list of names")
    return tuple(dict.fromkeys(str(one) for one in several))


def _confidence(value: object, number: int) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0.0 <= value <= 1.0:
        raise InputError(f"the confidence of step {number} must be between 0 and 1")
    return float(value)


def _with_marks(step: Step, known: Sequence[str]) -> Step:
    """Add citation marks in the text to the citations; marks in tool results are ignored."""
    if step.text.startswith(CALL):
        return step
    marks = (label for part in extract(step.text, known_sources=known) for label in part.citations)
    return replace(step, cites=tuple(dict.fromkeys((*step.cites, *marks))))


def unmarked(step: Step) -> str:
    """The text of a step without citation marks and without tool results."""
    if step.text.startswith(CALL):
        return step.text.partition(RETURNED)[0]
    if not step.cites:
        return step.text
    return " ".join(part.text for part in extract(step.text, known_sources=step.cites)) or step.text


def link(steps: Sequence[Step], sources: Sequence[Source]) -> list[StepLinks]:
    """Resolve the citations of each step; source ids take precedence over step ids."""
    places = {step.id.casefold(): n for n, step in enumerate(steps)}
    pointed = [[_resolve_citation(cite, sources, places) for cite in step.cites] for step in steps]
    graph = [[to for to in targets if isinstance(to, int)] for targets in pointed]
    found = []
    for n, (step, targets) in enumerate(zip(steps, pointed, strict=True)):
        ring = [to for to in dict.fromkeys(graph[n]) if to >= n or n in _reach(graph, to)]
        earlier = [to for to in dict.fromkeys((*graph[n], *_mentioned(step, n))) if to < n and to not in ring]
        found.append(
            StepLinks(
                tuple(dict.fromkeys(to for to in targets if isinstance(to, str))),
                tuple(steps[to].id for to in earlier),
                tuple(c for c, to in zip(step.cites, targets, strict=True) if to is None),
                tuple(steps[to].id for to in ring),
            )
        )
    return found


def _resolve_citation(cite: str, sources: Sequence[Source], places: Mapping[str, int]) -> str | int | None:
    """The id of a source, the index of a step, or None."""
    for name in (source.id for source in sources):
        if name == cite:
            return name
    if cite.strip().casefold() in places:
        return places[cite.strip().casefold()]
    source = resolve(cite, sources)
    if source is not None:
        return source
    number = _STEP_NAME.fullmatch(cite.strip())
    place = int(number[1]) - 1 if number else -1
    return place if 0 <= place < len(places) else None


def _mentioned(step: Step, at: int) -> Iterator[int]:
    """Earlier steps that the text mentions ("by step 2")."""
    yield from (n for n in (int(found[1]) - 1 for found in _MENTION.finditer(unmarked(step))) if 0 <= n < at)


def _reach(graph: Sequence[Sequence[int]], start: int) -> set[int]:
    """All steps that a step depends on."""
    seen: set[int] = set()
    waiting = [start]
    while waiting:
        here = waiting.pop()
        if here not in seen:
            seen.add(here)
            waiting.extend(graph[here])
    return seen - {start} | ({start} if start in graph[start] else set())


# Traces in the formats of agents.

_CALL_CHARS = 300  # of the arguments of a call
_STEP_CHARS = 2000  # longer messages are split into steps, longer tool results are cut


@dataclass(frozen=True, slots=True)
class ParsedTrace:
    """A parsed trace; missing parts may be given separately."""

    steps: Steps
    sources: dict[str, str] = field(default_factory=dict)
    question: str = ""
    answer: str = ""
    ledger: ActionLedger = field(default_factory=ActionLedger)


@dataclass(slots=True)
class _Conversation:
    """The messages since the last question."""

    question: str = ""
    messages: list[list[str]] = field(default_factory=list)
    last: str = ""
    calls: dict[str, str] = field(default_factory=dict)
    places: dict[str, list[str]] = field(default_factory=dict)
    sources: dict[str, str] = field(default_factory=dict)


def from_events(events: Sequence[TranscriptEvent]) -> ParsedTrace:
    conversation = _Conversation()
    for event in events:
        _add_event(event, conversation)
    steps, answer = _flat(conversation.messages), ""
    if last := conversation.last:
        before, written = _flat(conversation.messages[:-1]), parse_text(last)
        # The last message may contain reasoning followed by the answer.
        reasons = len(written.steps) > 1 and written.answer
        steps = [*before, *written.steps] if reasons else before or steps
        answer = written.answer or last
    return ParsedTrace(steps, conversation.sources, conversation.question, answer, ledger_of(events))


def _flat(messages: Sequence[Sequence[str]]) -> list[str]:
    return [step for message in messages for step in message]


def _add_event(event: TranscriptEvent, conversation: _Conversation) -> None:
    if event.kind == "user":
        conversation.question, conversation.messages, conversation.last = event.text, [], ""
    elif event.kind == "assistant" and (text := event.text):
        steps = [text] if len(text) <= _STEP_CHARS else list(parse_text(text).steps)
        conversation.messages.append(steps)
        conversation.last = text
    elif event.kind == "call":
        _add_call(conversation, event.name, event.text, event.id)
    elif event.kind == "result" and event.text:
        _add_result(conversation, event)


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
    if event.id not in conversation.places:
        conversation.places[event.id] = [f"{CALL}{label}"]
        conversation.messages.append(conversation.places[event.id])
    # Appended to its call, so that the independent executor sees the result.
    step = conversation.places[event.id]
    step[0] = f"{step[0]}{RETURNED}{event.text[:_STEP_CHARS]}"
    conversation.last = ""


_LISTS = ("steps", "trace", "reasoning", "messages", "items", "output")
_CONTEXT = ("sources", "context", "documents", "evidence")


def read_trace(text: str) -> ParsedTrace:
    """Parse JSON, JSON Lines or plain text."""
    head = text.lstrip("\ufeff \t\r\n")
    if head.startswith(("{", "[{", '["')) or (head.startswith("[") and _is_json(head)):
        return _of_data(_parsed(head))
    return _of_text(head)


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
        return from_events(span_events(spans))
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
    return from_events(read_events(items)) if any(map(is_message, items)) else ParsedTrace(items)


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
