"""What a request gives an answer to rest on: its sources, the conversation before, and the question."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

from groundwire.claims.kind import kind_of
from groundwire.errors import InputError
from groundwire.proxy.documents import Document, take_apart
from groundwire.text.sentences import sentences
from groundwire.types import ClaimKind, Source, Turn

FIELD = "grounding_sources"
_HINT = f"{FIELD} is a text, a list of texts or of {{id, text}}, or an object of texts by id"
_TEXT_PARTS = ("text", "input_text", "output_text")
_RESULTS = ("function_call_output", "custom_tool_call_output", "mcp_call", "local_shell_call_output")
_OPERATOR = ("system", "developer")
_MAX_QUESTION = 2000
_MAX_STATED = 20_000

Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Evidence:
    sources: tuple[Source, ...] = ()
    history: tuple[Turn, ...] = ()
    question: str = ""
    choices: int = 1
    """How many answers were asked for."""

    def __bool__(self) -> bool:
        return bool(self.sources or self.history)


@dataclass(frozen=True, slots=True)
class _Said:
    """A message reduced to who said what. `tool` names the tool whose result it is."""

    role: str
    text: str
    tool: str = ""


def from_chat(body: Json, given: Iterable[Document] = ()) -> Evidence:
    """The evidence of a chat completion: `messages`, and `documents` where a server knows them."""
    messages = [m for m in _list(body.get("messages")) if isinstance(m, Mapping)]
    extra = body.get("documents")
    beside = _lenient(extra) if extra is not None else []
    wanted = body.get("n")
    found = _gathered([*given, *beside], list(_chat_messages(messages)))
    return replace(found, choices=wanted) if isinstance(wanted, int) and wanted > 1 else found


def from_responses(body: Json, given: Iterable[Document] = ()) -> Evidence:
    """The evidence of a response: `instructions` and `input`, with the results of tools in it."""
    said = [_Said("system", str(body["instructions"]))] if isinstance(body.get("instructions"), str) else []
    asked = body.get("input")
    if isinstance(asked, str):
        said.append(_Said("user", asked))
    else:
        said += _items([item for item in _list(asked) if isinstance(item, Mapping)])
    return _gathered(list(given), said)


def given_sources(value: object) -> list[Document]:
    """The sources of the extension field, in any of the shapes that people write; else an InputError."""
    if isinstance(value, str):
        return [Document(value)]
    if isinstance(value, Mapping):
        return [Document(_text(text), str(name)) for name, text in value.items()]
    if isinstance(value, Sequence):
        return [_given(item) for item in value]
    raise InputError(f"{FIELD} cannot be read", hint=_HINT)


def _given(item: object) -> Document:
    if isinstance(item, Mapping):
        text = next(
            (item[key] for key in ("text", "content", "page_content", "snippet") if key in item), None
        )
        name = next((item[key] for key in ("id", "sid", "name", "title") if item.get(key) is not None), "")
        return Document(_text(text), str(name))
    return Document(_text(item))


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise InputError(f"a source of {FIELD} is no text but {type(value).__name__}", hint=_HINT)
    return value


def _lenient(value: object) -> list[Document]:
    """Another program's field: what cannot be read is none of ours."""
    try:
        return given_sources(value)
    except InputError:
        return []


def _chat_messages(messages: Sequence[Json]) -> Iterator[_Said]:
    tools = {
        str(call.get("id")): str((call.get("function") or {}).get("name") or "")
        for message in messages
        for call in _list(message.get("tool_calls"))
        if isinstance(call, Mapping) and isinstance(call.get("function") or {}, Mapping)
    }
    for message in messages:
        role, text = str(message.get("role") or ""), _content(message.get("content"))
        if role in ("tool", "function"):
            name = message.get("name") or tools.get(str(message.get("tool_call_id"))) or "tool"
            yield _Said("tool", text, str(name))
        else:
            yield _Said(role, text)


def _items(items: Sequence[Json]) -> Iterator[_Said]:
    names = {
        str(i.get("call_id")): str(i.get("name") or "") for i in items if i.get("type") == "function_call"
    }
    for item in items:
        kind = item.get("type")
        if kind in _RESULTS:
            name = names.get(str(item.get("call_id"))) or item.get("name") or "tool"
            yield _Said("tool", _content(item.get("output")), str(name))
        elif kind == "file_search_call":
            found = [r for r in _list(item.get("results")) if isinstance(r, Mapping)]
            yield from (
                _Said("tool", _content(r.get("text")), str(r.get("filename") or "file")) for r in found
            )
        elif item.get("role"):
            yield _Said(str(item["role"]), _content(item.get("content")))


def _content(content: object) -> str:
    """The text of a message; of its parts those of text: pictures, sounds and files are not read."""
    if isinstance(content, str):
        return content
    parts = (p for p in _list(content) if isinstance(p, Mapping) and p.get("type", "text") in _TEXT_PARTS)
    return "\n".join(p["text"] for p in parts if isinstance(p.get("text"), str))


def _list(value: object) -> Sequence[Any]:
    return value if isinstance(value, list) else ()


def _gathered(given: list[Document], said: Sequence[_Said]) -> Evidence:
    documents = list(given)
    turns: list[Turn] = []
    for message in said:
        if message.role == "tool":
            documents.append(Document(message.text, message.tool))
        elif message.role == "assistant":
            turns.append(Turn(len(turns) + 1, "assistant", message.text))
        else:
            prompt = take_apart(message.text)
            documents += prompt.documents
            if message.role not in _OPERATOR:
                turns.append(Turn(len(turns) + 1, "user", prompt.rest))
    if any(document.text.strip() for document in documents):
        documents += [Document(told, f"turn {turn.id}") for turn in turns if (told := _stated(turn))]
    asked = max((n for n, turn in enumerate(turns) if turn.role == "user"), default=len(turns))
    question = turns[asked].text if asked < len(turns) else ""
    before = tuple(turn for turn in turns[:asked] if turn.text.strip())
    return Evidence(_named(documents), before, question[:_MAX_QUESTION])


def _stated(turn: Turn) -> str:
    """What a user states an answer may repeat; what a user asks, it may not take for true."""
    if turn.role != "user":
        return ""
    parts = (turn.text[s.start : s.end] for s in sentences(turn.text[:_MAX_STATED]))
    return " ".join(part for part in parts if kind_of(part) is ClaimKind.ASSERTION)


def _named(documents: Iterable[Document]) -> tuple[Source, ...]:
    """Each with an id of its own: the one it has, a number behind it where two share one, else S0, S1, …"""
    fresh = {document.text: document for document in reversed([d for d in documents if d.text.strip()])}
    kept = list(reversed(fresh.values()))
    taken = {d.name for d in kept if d.name}
    numbers = (f"S{n}" for n in count() if f"S{n}" not in taken)
    used: set[str] = set()
    found = []
    for document in kept:
        name = document.name or next(numbers)
        if name in used:
            name = next(other for n in count(2) if (other := f"{name}-{n}") not in used | taken)
        used.add(name)
        found.append(Source(name, document.text))
    return tuple(found)
