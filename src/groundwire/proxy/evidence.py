"""The evidence in a request that its answer is checked against: sources, earlier turns, and the question."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

from groundwire.actions.transcript import ledger_of, read_events
from groundwire.errors import InputError
from groundwire.proxy.documents import PromptDocument, split_prompt
from groundwire.types import ActionLedger, Source, Turn
from groundwire.verdicts.merge import user_statements

SOURCES_FIELD = "grounding_sources"
_HINT = f"{SOURCES_FIELD} is a string, a list of strings or of {{id, text}}, or an object of strings by id"
_TEXT_PARTS = ("text", "input_text", "output_text", "query")
_SOURCE_PART = "grounding_source"  # a document, where LiteLLM and Bedrock mark it (and the question: "query")
_TOOL_RESULTS = ("function_call_output", "custom_tool_call_output", "mcp_call", "local_shell_call_output")
_OPERATOR_ROLES = ("system", "developer")
_MAX_QUESTION = 2000  # characters: the question only steers retrieval

JsonObject = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class RequestEvidence:
    """False if there is nothing to check an answer against. `choices` is the number of answers asked for.

    `ledger` holds the tool calls so far; None if the request names no tools, so that none can be missing.
    """

    sources: tuple[Source, ...] = ()
    history: tuple[Turn, ...] = ()
    question: str = ""
    choices: int = 1
    ledger: ActionLedger | None = None

    def __bool__(self) -> bool:
        return bool(self.sources or self.history)


@dataclass(frozen=True, slots=True)
class _PlainMessage:
    """A message reduced to its role and text; `tool` names the tool whose result it is."""

    role: str
    text: str
    tool: str = ""


def from_chat(body: JsonObject, given: Iterable[PromptDocument] = ()) -> RequestEvidence:
    """Read a chat completion request: `messages`, and the `documents` field that some servers know."""
    messages = [m for m in _list(body.get("messages")) if isinstance(m, Mapping)]
    try:
        documents = parse_sources(body["documents"]) if body.get("documents") is not None else []
    except InputError:
        documents = []  # not our field: other programs may use another format
    choices = body.get("n")
    found = _collect([*given, *documents], list(_chat_messages(messages)))
    found = replace(found, ledger=_ledger(body, messages))
    return replace(found, choices=choices) if isinstance(choices, int) and choices > 1 else found


def from_responses(body: JsonObject, given: Iterable[PromptDocument] = ()) -> RequestEvidence:
    """Read a request of the responses API: `instructions` and `input`, with tool results in it."""
    instructions, given_input = body.get("instructions"), body.get("input")
    messages = [_PlainMessage("system", instructions)] if isinstance(instructions, str) else []
    items = [item for item in _list(given_input) if isinstance(item, Mapping)]
    if isinstance(given_input, str):
        messages.append(_PlainMessage("user", given_input))
    else:
        messages += _input_items(items)
    return replace(_collect(list(given), messages), ledger=_ledger(body, items))


def from_messages(body: JsonObject, given: Iterable[PromptDocument] = ()) -> RequestEvidence:
    """Read a request of Anthropic's API: `system`, and messages with documents and tool results in them."""
    messages = [m for m in _list(body.get("messages")) if isinstance(m, Mapping)]
    system = body.get("system")
    blocks = [{"role": "system", "content": system}, *messages]
    tools = {
        str(block.get("id")): str(block.get("name") or "tool")
        for message in messages
        for block in _list(message.get("content"))
        if isinstance(block, Mapping) and str(block.get("type")).endswith("tool_use")
    }
    parts = [(str(m.get("role")), part) for m in blocks for part in _block_parts(m.get("content"))]
    documents = [document for _, part in parts for document in _block_documents(part)]
    plain = [found for role, part in parts if (found := _block_message(role, part, tools))]
    return replace(_collect([*given, *documents], plain), ledger=_ledger(body, messages))


def _block_parts(content: object) -> list[JsonObject]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [part for part in _list(content) if isinstance(part, Mapping)]


def _block_documents(part: JsonObject) -> Iterator[PromptDocument]:
    """The text of a document or search result, also inside a tool result; PDF and images are not read."""
    kind, title = part.get("type"), str(part.get("title") or "")
    source = part.get("source")
    if kind == "document" and isinstance(source, Mapping):
        text = source["data"] if source.get("type") == "text" else _content_text(source.get("content"))
        if isinstance(text, str) and text.strip():
            yield PromptDocument(text, title)
    elif kind == "search_result":
        yield PromptDocument(_content_text(part.get("content")), title or str(source or ""))
    elif kind == "tool_result":
        for inner in _list(part.get("content")):
            if isinstance(inner, Mapping):
                yield from _block_documents(inner)


def _block_message(role: str, part: JsonObject, tools: Mapping[str, str]) -> _PlainMessage | None:
    kind = str(part.get("type"))
    if kind == "text":
        return _PlainMessage(role, str(part.get("text") or ""))
    if kind.endswith("tool_result"):
        name = tools.get(str(part.get("tool_use_id")), "tool")
        return _PlainMessage("tool", _content_text(part.get("content")), name)
    return None


def _ledger(body: JsonObject, messages: Sequence[JsonObject]) -> ActionLedger | None:
    found = ledger_of(read_events(messages))
    return found if found.calls or body.get("tools") else None


def parse_sources(value: object) -> list[PromptDocument]:
    """Read the extension field in any of its forms; raises `InputError` for anything else."""
    if isinstance(value, str):
        return [PromptDocument(value)]
    if isinstance(value, Mapping):
        return [PromptDocument(_string(text), str(name)) for name, text in value.items()]
    if isinstance(value, Sequence):
        return [_parse_source(item) for item in value]
    raise InputError(f"{SOURCES_FIELD} has an unsupported type", hint=_HINT)


def _parse_source(item: object) -> PromptDocument:
    if not isinstance(item, Mapping):
        return PromptDocument(_string(item))
    text = next((item[key] for key in ("text", "content", "page_content", "snippet") if key in item), None)
    name = next((item[key] for key in ("id", "sid", "name", "title") if item.get(key) is not None), "")
    return PromptDocument(_string(text), str(name))


def _string(value: object) -> str:
    if not isinstance(value, str):
        raise InputError(f"{SOURCES_FIELD} must contain strings, got {type(value).__name__}", hint=_HINT)
    return value


def _chat_messages(messages: Sequence[JsonObject]) -> Iterator[_PlainMessage]:
    tools = {
        str(call.get("id")): str((call.get("function") or {}).get("name") or "")
        for message in messages
        for call in _list(message.get("tool_calls"))
        if isinstance(call, Mapping) and isinstance(call.get("function") or {}, Mapping)
    }
    for message in messages:
        role, text = str(message.get("role") or ""), _content_text(message.get("content"))
        yield from (_PlainMessage("tool", source) for source in _marked_sources(message.get("content")))
        if role in ("tool", "function"):
            name = message.get("name") or tools.get(str(message.get("tool_call_id"))) or "tool"
            yield _PlainMessage("tool", text, str(name))
        else:
            yield _PlainMessage(role, text)


def _input_items(items: Sequence[JsonObject]) -> Iterator[_PlainMessage]:
    calls = (item for item in items if item.get("type") == "function_call")
    tools = {str(call.get("call_id")): str(call.get("name") or "") for call in calls}
    for item in items:
        kind = item.get("type")
        if kind in _TOOL_RESULTS:
            name = tools.get(str(item.get("call_id"))) or item.get("name") or "tool"
            yield _PlainMessage("tool", _content_text(item.get("output")), str(name))
        elif kind == "file_search_call":
            for result in _list(item.get("results")):
                if isinstance(result, Mapping):
                    name = str(result.get("filename") or "file")
                    yield _PlainMessage("tool", _content_text(result.get("text")), name)
        elif item.get("role"):
            yield _PlainMessage(str(item["role"]), _content_text(item.get("content")))


def _content_text(content: object) -> str:
    """Return the text of a message's content; images, audio and files are skipped."""
    if isinstance(content, str):
        return content
    parts = (p for p in _list(content) if isinstance(p, Mapping) and p.get("type", "text") in _TEXT_PARTS)
    return "\n".join(p["text"] for p in parts if isinstance(p.get("text"), str))


def _marked_sources(content: object) -> Iterator[str]:
    for part in _list(content):
        if isinstance(part, Mapping) and part.get("type") == _SOURCE_PART and isinstance(part.get("text"), str):
            yield part["text"]


def _list(value: object) -> Sequence[Any]:
    return value if isinstance(value, list) else ()


def _collect(given: list[PromptDocument], messages: Sequence[_PlainMessage]) -> RequestEvidence:
    documents = list(given)
    turns: list[Turn] = []
    for message in messages:
        if message.role == "tool":
            documents.append(PromptDocument(message.text, message.tool))
        elif message.role == "assistant":
            turns.append(Turn(len(turns) + 1, "assistant", message.text))
        else:
            prompt = split_prompt(message.text)
            documents += prompt.documents
            if message.role not in _OPERATOR_ROLES:
                turns.append(Turn(len(turns) + 1, "user", prompt.rest))
    if any(document.text.strip() for document in documents):
        documents += [PromptDocument(source.text, source.id) for source in user_statements(turns)]
    last_user = max((n for n, turn in enumerate(turns) if turn.role == "user"), default=len(turns))
    question = turns[last_user].text if last_user < len(turns) else ""
    history = tuple(turn for turn in turns[:last_user] if turn.text.strip())
    return RequestEvidence(_as_sources(documents), history, question[:_MAX_QUESTION])


def _as_sources(documents: Iterable[PromptDocument]) -> tuple[Source, ...]:
    """Give each distinct document an id: its name, numbered if it is not unique, or else S0, S1, …"""
    unique: dict[str, PromptDocument] = {}
    for document in documents:
        if document.text.strip():
            unique.setdefault(document.text, document)
    names = {document.name for document in unique.values() if document.name}
    numbers = (f"S{n}" for n in count() if f"S{n}" not in names)
    used: set[str] = set()
    found = []
    for document in unique.values():
        name = document.name or next(numbers)
        if name in used:
            name = next(other for n in count(2) if (other := f"{name}-{n}") not in used | names)
        used.add(name)
        found.append(Source(name, document.text))
    return tuple(found)
