"""What a caller gives to be checked, read from whatever shape it has: sources and history.

Python, the command line, HTTP, MCP, the proxy, batches and the adapters of frameworks all read them here, so that
each accepts the same forms and fails with the same line. HTTP and MCP limit sizes before.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from groundwire.errors import InputError
from groundwire.types import Source, Turn

Sources = str | Mapping[str, str] | Sequence[str | Source]
History = Sequence[Turn | Mapping[str, Any] | str]

_TEXT_FIELDS = ("text", "page_content", "content", "snippet")
_SOURCES_HINT = "give a text, texts by id, or a list of texts or of {id, text}"
_SURROGATE = re.compile("[\ud800-\udfff]")
_SPEAKER = re.compile(r"(?is)\s*(user|human|assistant|ai|bot|system|agent|customer)\s*:\s*(.*)")
_ROLES = {"human": "user", "customer": "user", "ai": "assistant", "bot": "assistant", "agent": "assistant"}
_HISTORY_HINT = "pass a list of messages with 'role' and 'content', or lines such as 'User: …'"


def as_text(value: object, what: str) -> str:
    """Reject other types here, with a clear message: the text of a model's response may be None."""
    if not isinstance(value, str):
        raise InputError(f"{what} must be a string, got {type(value).__name__}")
    return value


def as_sources(given: object) -> tuple[Source, ...]:
    """Sources from a text, texts by id, or a list of texts, of {id, text}, of `Source` or of retrieved documents.

    A source without an id is called S0, S1, … after its place. Raises `InputError` for any other form, and if two
    sources have the same id.
    """
    found = tuple(s if s.id else replace(s, id=f"S{number}") for number, s in enumerate(read_sources(given)))
    twice = next((name for name, times in Counter(source.id for source in found).items() if times > 1), None)
    if twice is not None:
        raise InputError(f"two sources have the id {twice}", hint="give each source its own id")
    return found


def read_sources(given: object, names: Sequence[str] = ("id",)) -> Iterator[Source]:
    """The sources as they were given, with an empty id where there is none. `names` are the keys of an id."""
    if given is None:
        return
    if isinstance(given, Mapping):
        for name, text in given.items():
            yield Source(str(name), _printable(as_text(text, f"source {name!r}")))
        return
    single = isinstance(given, str) or _text_of(given) is not None
    if not single and not isinstance(given, Iterable):
        raise InputError(f"sources have an unknown form, {type(given).__name__}", hint=_SOURCES_HINT)
    items: Iterable[object] = [given] if single else given  # type: ignore[assignment]
    for number, item in enumerate(items):
        yield item if isinstance(item, Source) else _source(item, number, names)


def _source(item: object, number: int, names: Sequence[str]) -> Source:
    text = item if isinstance(item, str) else _text_of(item)
    if text is None:
        raise InputError(
            f"source {number} must be a string or a document, got {type(item).__name__}", hint=_SOURCES_HINT
        )
    metadata = _field(item, "metadata")
    origin = _field(item, "origin") or (metadata.get("source") if isinstance(metadata, Mapping) else None) or ""
    # The ids of retrieved documents (`page_content`, `content`) are keys of a store: answers cite S0, S1, …
    own = next((found for name in names if (found := _field(item, name)) is not None), None)
    name = own if isinstance(item, Mapping) or _field(item, "text") is text else None
    if isinstance(name, bool) or not isinstance(name, str | int | None):
        raise InputError(f"the id of source {number} must be a string, got {type(name).__name__}")
    return Source("" if name is None else str(name), _printable(text), str(origin))


def _text_of(item: object) -> str | None:
    return next((text for name in _TEXT_FIELDS if isinstance(text := _field(item, name), str)), None)


def _field(item: object, name: str) -> Any:
    return item.get(name) if isinstance(item, Mapping) else getattr(item, name, None)


def _printable(text: str) -> str:
    """Replace lone surrogates (from broken JSON), which UTF-8 cannot encode; offsets stay."""
    return _SURROGATE.sub("\ufffd", text)


def as_turns(history: History) -> tuple[Turn, ...]:
    """Convert messages to turns, numbered from 1; a message without text (a tool call) is an empty turn.

    Args:
        history: turns, mappings with `role` and `content`, or strings such as "User: …".

    Raises `InputError` if it has another format.
    """
    if not isinstance(history, Sequence) or isinstance(history, str):
        raise InputError("history must be a list", hint=_HISTORY_HINT)
    return tuple(_turn(item, number) for number, item in enumerate(history, start=1))


def parse_history(text: str) -> tuple[Turn, ...]:
    """Parse a JSON list of messages (or an object that contains one), or a transcript with speaker names."""
    stripped = text.lstrip("\ufeff").strip()
    if not stripped.startswith(("[", "{")):
        return as_turns(_transcript(stripped))
    try:
        found = json.loads(stripped)
    except (ValueError, RecursionError) as error:
        raise InputError(f"history is not valid JSON: {error}", hint=_HISTORY_HINT) from None
    if isinstance(found, dict):
        found = next((found[key] for key in ("messages", "history", "turns") if key in found), None)
    if not isinstance(found, list):
        raise InputError("history must contain a list of messages", hint=_HISTORY_HINT)
    return as_turns(found)


def _transcript(text: str) -> list[str]:
    """The messages of a transcript; a line without a speaker continues the message before."""
    turns: list[str] = []
    for line in filter(str.strip, text.splitlines()):
        if turns and not _SPEAKER.match(line):
            turns[-1] += f"\n{line}"
        else:
            turns.append(line)
    return turns


def _turn(item: object, number: int) -> Turn:
    if isinstance(item, Turn):
        return item
    if isinstance(item, str):
        match = _SPEAKER.match(item)
        return Turn(number, _role(match[1]), match[2]) if match else Turn(number, "", item)
    if not isinstance(item, Mapping):
        raise InputError(f"message {number} of the history must be an object or a string", hint=_HISTORY_HINT)
    role = item.get("role") or item.get("type") or item.get("speaker") or ""
    return Turn(number, _role(str(role)), _text(item, number))


def _role(name: str) -> str:
    return _ROLES.get(name.lower(), name.lower())


def _text(item: Mapping[str, Any], number: int) -> str:
    """The text of a message, or the text parts of a message with several parts."""
    content = next((item[key] for key in ("content", "text") if key in item), None)
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        parts = (part.get("text") if isinstance(part, Mapping) else part for part in content)
        return "\n".join(part for part in parts if isinstance(part, str))
    raise InputError(f"message {number} of the history has no text", hint=_HISTORY_HINT)
