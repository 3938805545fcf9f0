"""The conversation before an answer, in the shapes that chat programs keep it in."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from groundwire.errors import InputError
from groundwire.types import Turn

History = Sequence[Turn | Mapping[str, Any] | str]

_SPOKEN = re.compile(r"(?is)\s*(user|human|assistant|ai|bot|system|agent|customer)\s*:\s*(.*)")
_ROLES = {"human": "user", "customer": "user", "ai": "assistant", "bot": "assistant", "agent": "assistant"}
_HINT = "give a list of messages with 'role' and 'content', or lines such as 'User: …'"


def as_turns(history: History) -> tuple[Turn, ...]:
    """Messages as turns, numbered from 1. A message without text (a tool call) keeps its number."""
    if not isinstance(history, Sequence) or isinstance(history, str):
        raise InputError("the history is no list", hint=_HINT)
    return tuple(_turn(item, number) for number, item in enumerate(history, start=1))


def parse_history(text: str) -> tuple[Turn, ...]:
    """A JSON list of messages (or an object that holds one), or lines that say who speaks."""
    stripped = text.lstrip("\ufeff").strip()
    if not stripped.startswith(("[", "{")):
        return as_turns(_spoken(stripped))
    try:
        found = json.loads(stripped)
    except (ValueError, RecursionError) as error:
        raise InputError(f"the history is not JSON: {error}", hint=_HINT) from None
    if isinstance(found, dict):
        found = next((found[key] for key in ("messages", "history", "turns") if key in found), None)
    if not isinstance(found, list):
        raise InputError("the history holds no list of messages", hint=_HINT)
    return as_turns(found)


def _spoken(text: str) -> list[str]:
    """Lines of a transcript; a line that names nobody goes on with the one before."""
    turns: list[str] = []
    for line in filter(str.strip, text.splitlines()):
        if turns and not _SPOKEN.match(line):
            turns[-1] += f"\n{line}"
        else:
            turns.append(line)
    return turns


def _turn(item: object, number: int) -> Turn:
    if isinstance(item, Turn):
        return item
    if isinstance(item, str):
        said = _SPOKEN.match(item)
        return Turn(number, _role(said.group(1)), said.group(2)) if said else Turn(number, "", item)
    if not isinstance(item, Mapping):
        raise InputError(f"message {number} of the history is no message", hint=_HINT)
    role = item.get("role") or item.get("type") or item.get("speaker") or ""
    return Turn(number, _role(str(role)), _text(item, number))


def _role(name: str) -> str:
    return _ROLES.get(name.lower(), name.lower())


def _text(item: Mapping[str, Any], number: int) -> str:
    """The text of a message; of one in parts, its parts of text."""
    content = next((item[key] for key in ("content", "text") if key in item), None)
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        parts = (part.get("text") if isinstance(part, Mapping) else part for part in content)
        return "\n".join(part for part in parts if isinstance(part, str))
    raise InputError(f"message {number} of the history has no text", hint=_HINT)
