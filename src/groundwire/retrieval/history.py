"""Parse the conversation before an answer, in the common formats of chat programs."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from groundwire.errors import InputError
from groundwire.types import Turn

History = Sequence[Turn | Mapping[str, Any] | str]

_SPEAKER = re.compile(r"(?is)\s*(user|human|assistant|ai|bot|system|agent|customer)\s*:\s*(.*)")
_ROLES = {"human": "user", "customer": "user", "ai": "assistant", "bot": "assistant", "agent": "assistant"}
_HINT = "pass a list of messages with 'role' and 'content', or lines such as 'User: …'"


def as_turns(history: History) -> tuple[Turn, ...]:
    """Convert messages to turns, numbered from 1; a message without text (a tool call) is an empty turn.

    Args:
        history: turns, mappings with `role` and `content`, or strings such as "User: …".

    Raises `InputError` if it has another format.
    """
    if not isinstance(history, Sequence) or isinstance(history, str):
        raise InputError("history must be a list", hint=_HINT)
    return tuple(_turn(item, number) for number, item in enumerate(history, start=1))


def parse_history(text: str) -> tuple[Turn, ...]:
    """Parse a JSON list of messages (or an object that contains one), or a transcript with speaker names."""
    stripped = text.lstrip("\ufeff").strip()
    if not stripped.startswith(("[", "{")):
        return as_turns(_transcript(stripped))
    try:
        found = json.loads(stripped)
    except (ValueError, RecursionError) as error:
        raise InputError(f"history is not valid JSON: {error}", hint=_HINT) from None
    if isinstance(found, dict):
        found = next((found[key] for key in ("messages", "history", "turns") if key in found), None)
    if not isinstance(found, list):
        raise InputError("history must contain a list of messages", hint=_HINT)
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
        raise InputError(f"message {number} of the history must be an object or a string", hint=_HINT)
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
    raise InputError(f"message {number} of the history has no text", hint=_HINT)
