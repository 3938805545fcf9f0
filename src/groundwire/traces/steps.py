"""The steps of a trace, read from text, JSON, agent messages or OpenTelemetry spans, and what each cites.

In a message list, the last user message is the question: what the assistant says or calls after it becomes
steps, tool results become sources, and the assistant's last message is the answer.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

from groundwire.actions.transcript import TranscriptEvent, is_message, ledger_of, read_events, span_events, spans_of
from groundwire.claims.extractor import extract
from groundwire.claims.markup import SourceNames
from groundwire.errors import InputError
from groundwire.reports.json import TRACE_FORMAT, read_graph
from groundwire.retrieval.gather import resolve
from groundwire.text.lexicon import expressions
from groundwire.text.sentences import sentences
from groundwire.traces.computation import is_given
from groundwire.types import ActionLedger, EdgeLabel, NodeKind, Source, Step, TraceGraph

_ITEM, _LABEL, _CLAUSE_START, _MENTION, _STEP_NAME = expressions("traces", "item label clause_start mention step_name")
_QUESTION_LABELS = frozenset(("question", "query", "problem", "user"))


Steps = str | Sequence[Step | Mapping[str, object] | str]

MAX_STEP = 20_000
"""Characters of a step."""
CALL = "Let me call "
"""Prefix of a step that calls a tool; such a step asserts nothing."""
RETURNED = "\nIt returned: "
"""Separates a call from its result."""


@dataclass(frozen=True, slots=True)
class ParsedTrace:
    """A parsed trace; missing parts may be given separately."""

    steps: Steps
    sources: dict[str, str] = field(default_factory=dict)
    question: str = ""
    answer: str = ""
    ledger: ActionLedger = field(default_factory=ActionLedger)


def parse_text(text: str) -> ParsedTrace:
    """Parse a trace from text: "1. …", "Step 2: …", "Answer: …", or one line or sentence per step.

    >>> found = parse_text("Q: none\\n1. It is red.\\n2. Red is warm.\\nAnswer: warm")
    >>> found.steps, found.answer
    (('It is red.', 'Red is warm.'), 'warm')
    >>> parse_text("Question: Is it warm?\\nGiven: it is red.\\n1. Red is warm.").steps
    ('Given: it is red.', 'Red is warm.')
    >>> parse_text("It is red. So it is warm.").steps
    ('It is red.', 'So it is warm.')
    """
    numbered: list[list[str]] = []
    given: list[str] = []
    question: list[str] = []
    answer: list[str] = []
    here = loose = list[str]()
    for line in text.splitlines():
        label, item = _LABEL.match(line), _ITEM.match(line)
        if label:
            here = question if label["label"].lower() in _QUESTION_LABELS else answer
            here.append(line[label.end() :])
        elif here is question and is_given(line):
            # "Given: …" behind the question is a step of its own, which states context.
            given.append(line)
            here = loose
        elif item:
            # "First, …" begins a sentence, so the word is kept.
            here = [line[0 if _CLAUSE_START.match(line) else item.end() :]]
            numbered.append(here)
        else:
            here.append(line)
    steps = list(filter(None, map(_joined, numbered or [[line] for line in loose])))
    if not numbered and len(steps) == 1:
        steps = [steps[0][span.start : span.end].strip() for span in sentences(steps[0])] or steps
    return ParsedTrace((*(_joined([line]) for line in given), *steps), {}, _joined(question), _joined(answer))


def _joined(lines: list[str]) -> str:
    return " ".join(" ".join(lines).split())


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
    named = []
    for n, item in enumerate(given, 1):
        step = _read(item, n)
        free = next(name for name in (f"step{n}", f"step-{n}", f"trace-step{n}") if name not in taken)
        named.append(step if step.id else replace(step, id=free))
    ids = [step.id for step in named]
    times = Counter(name.casefold() for name in ids)
    twice = next((n for n in ids if times[n.casefold()] > 1 or n.casefold() in taken), None)
    if twice:
        raise InputError(f"two steps or sources are called {twice}", hint="give each an id of its own")
    # Prepared once: doing it for each step took seconds for a trace of some kilobytes.
    known = SourceNames([*(source.id for source in sources), *ids])
    return tuple(
        # marks in tool results are no citations
        step if step.text.startswith(CALL) else replace(step, cites=_cited(step, known))
        for step in named
    )


def _cited(step: Step, known: SourceNames) -> tuple[str, ...]:
    """The citations of a step, with the marks in its text."""
    marks = (label for part in extract(step.text, known_sources=known) for label in part.citations)
    return tuple(dict.fromkeys((*step.cites, *marks)))


def _read(item: object, number: int) -> Step:
    if isinstance(item, str):
        item = Step("", item)
    elif isinstance(item, Mapping):
        item = _from_mapping(item, number)
    if not isinstance(item, Step):
        raise InputError(f"step {number} must be a string or {{claim, cites}}")
    if not isinstance(item.text, str) or not item.text.strip():
        raise InputError(f"step {number} is empty")
    if len(item.text) > MAX_STEP:
        raise InputError(f"step {number} has {len(item.text):,} characters", hint="split it into the steps it takes")
    return replace(item, text=item.text.strip())


def _from_mapping(item: Mapping[str, object], number: int) -> Step:
    text = next((value for key in _TEXT if isinstance(value := item.get(key), str)), None)
    if text is None:
        raise InputError(f"step {number} has no claim", hint='write {"claim": "…", "cites": ["S0"]}')
    found = next((item[key] for key in _CITES if item.get(key) is not None), ())
    cites = [found] if isinstance(found, str | int) else found
    if not isinstance(cites, Sequence) or not all(isinstance(one, str | int) for one in cites):
        raise InputError(f"cites of step {number} must be a list of names")
    name, sure = item.get("id"), item.get("confidence")
    usable = isinstance(sure, int | float) and not isinstance(sure, bool) and 0.0 <= sure <= 1.0
    if sure is not None and not usable:
        raise InputError(f"the confidence of step {number} must be between 0 and 1")
    return Step(
        str(name) if isinstance(name, str | int) else "",
        text,
        tuple(dict.fromkeys(map(str, cites))),
        float(sure) if isinstance(sure, int | float) else None,
    )


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
    group = _components(graph)
    found = []
    for n, (step, targets) in enumerate(zip(steps, pointed, strict=True)):
        ring = [to for to in dict.fromkeys(graph[n]) if to >= n or group[to] == group[n]]
        mentioned = (int(match[1]) - 1 for match in _MENTION.finditer(unmarked(step)))  # "by step 2"
        earlier = [to for to in dict.fromkeys((*graph[n], *mentioned)) if 0 <= to < n and to not in ring]
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
    if any(source.id == cite for source in sources):
        return cite
    if cite.strip().casefold() in places:
        return places[cite.strip().casefold()]
    if (source := resolve(cite, sources)) is not None:
        return source
    number = _STEP_NAME.fullmatch(cite.strip())
    place = int(number[1]) - 1 if number else -1
    return place if 0 <= place < len(places) else None


def _components(graph: Sequence[Sequence[int]]) -> list[int]:
    """A number for each step, the same for two steps exactly if each depends on the other (Kosaraju's algorithm).

    >>> _components([[1], [0], [1]])
    [2, 2, 1]
    """
    backwards: list[list[int]] = [[] for _ in graph]
    for step, targets in enumerate(graph):
        for to in targets:
            backwards[to].append(step)
    finished: list[int] = []  # each step after all that it depends on
    seen = [False] * len(graph)
    for start in range(len(graph)):
        waiting = [(start, False)]
        while waiting:
            here, done = waiting.pop()
            if done:
                finished.append(here)
            elif not seen[here]:
                seen[here] = True
                waiting.append((here, True))
                waiting.extend((to, False) for to in graph[here] if not seen[to])
    found = [0] * len(graph)
    number = 0
    for start in reversed(finished):
        number += not found[start]
        left = [start]
        while left:
            here = left.pop()
            if not found[here]:
                found[here] = number
                left.extend(backwards[here])
    return found


# Traces in the formats of agents.

_CALL_CHARS = 300  # of the arguments of a call
_STEP_CHARS = 2000  # longer messages are split into steps, longer tool results are cut


def from_events(events: Sequence[TranscriptEvent]) -> ParsedTrace:
    """The messages since the last question as steps; the last one may contain reasoning before the answer."""
    question = last = ""
    messages: list[list[str]] = []
    names: dict[str, str] = {}  # of the called functions, by call id
    calls: dict[str, list[str]] = {}
    sources: dict[str, str] = {}
    numbers: dict[str, int] = {}  # of a tool's next result, by the tool's name
    for event in events:
        if event.kind == "user":
            question, messages, last = event.text, [], ""
        elif event.kind == "assistant" and (text := event.text):
            messages.append([text] if len(text) <= _STEP_CHARS else list(parse_text(text).steps))  # type: ignore[arg-type]
            last = text
        elif event.kind == "call":
            names[event.id] = event.name
            calls[event.id] = [f"{CALL}{event.name} with {' '.join(event.text.split())[:_CALL_CHARS]}"]
            messages.append(calls[event.id])
            last = ""
        elif event.kind == "result" and event.text:
            label = event.name or names.get(event.id) or "tool"
            number = numbers.get(label, 1)
            while (place := label if number == 1 else f"{label}-{number}") in sources:
                number += 1
            numbers[label] = number + 1
            sources[place] = event.text
            if event.id not in calls:
                calls[event.id] = [f"{CALL}{label}"]
                messages.append(calls[event.id])
            # Appended to its call, so that the independent executor sees the result.
            if len(calls[event.id][0]) <= MAX_STEP:  # a longer one is refused anyway
                calls[event.id][0] += f"{RETURNED}{event.text[:_STEP_CHARS]}"
            last = ""
    steps, answer = list(chain.from_iterable(messages)), ""
    if last:
        before, written = list(chain.from_iterable(messages[:-1])), parse_text(last)
        reasons = len(written.steps) > 1 and written.answer
        steps = [*before, *map(str, written.steps)] if reasons else before or steps
        answer = written.answer or last
    return ParsedTrace(steps, sources, question, answer, ledger_of(events))


_LISTS = ("steps", "trace", "reasoning", "messages", "items", "output")
_CONTEXT = ("sources", "context", "documents", "evidence")


def read_trace(text: str) -> ParsedTrace:
    """Parse JSON, JSON Lines or plain text."""
    head = text.lstrip("\ufeff \t\r\n")
    if not head.startswith(("{", "[")):
        return parse_text(head)
    try:
        data = json.loads(head)
    except (ValueError, RecursionError) as error:
        if not head.startswith(("{", "[{", '["')):
            return parse_text(head)  # "[S0] says …"
        data = _json_lines(head)
        if data is None:
            syntax = isinstance(error, json.JSONDecodeError)
            why = f"{error.msg} in line {error.lineno}" if syntax else type(error).__name__  # type: ignore[union-attr]
            raise InputError(f"the trace is not {'valid' if syntax else 'readable'} JSON: {why}") from None
    return _of_data(data)


def _json_lines(text: str) -> list[object] | None:
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
    inner = _of_list(data[key]) if isinstance(data[key], list) else parse_text(str(data[key]))
    return ParsedTrace(
        inner.steps,
        {**inner.sources, **_sources(data)},
        _text(data, "question", "query", "input") or inner.question,
        _text(data, "answer", "final_answer", "response", "conclusion") or inner.answer,
        inner.ledger,
    )


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
    if isinstance(found, list):
        ids = (item.get("id") or item.get("sid") if isinstance(item, Mapping) else None for item in found)
        found = {f"S{n}" if name is None else name: found[n] for n, name in enumerate(ids)}
    if not isinstance(found, Mapping):
        raise InputError("sources must be a string, a list or an object of strings by id")
    texts = {}
    for name, item in found.items():
        texts[str(name)] = item.get("text", item.get("content")) if isinstance(item, Mapping) else item
        if not isinstance(texts[str(name)], str):
            raise InputError(f"source {name} must be a string")
    return texts


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
