"""`/v1/chat/completions`: where the text is, streamed and not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import deepcopy
from typing import Any

from groundwire.proxy.evidence import from_chat as evidence
from groundwire.proxy.protocol import Json, Key

__all__ = [
    "closed", "delta", "deltas", "evidence", "is_ending", "report", "rewritten", "stop", "texts",
    "without", "without_text",
]  # fmt: skip
FINISH = "content_filter"
"""The reason by which clients already know an answer that somebody cut short."""


def texts(body: Json) -> dict[Key, str]:
    found = {}
    for choice in _choices(body):
        message = choice.get("message")
        content = message.get("content") if isinstance(message, dict) else None
        if isinstance(content, str) and content:
            found[_key(choice)] = content
    return found


def rewritten(body: Json, texts: Mapping[Key, str], stopped: Mapping[Key, str]) -> Json:
    changed = deepcopy(body)
    for choice in _choices(changed):
        key = _key(choice)
        if key in texts:
            choice["message"]["content"] = texts[key]
            _forget_logprobs(choice)
        if key in stopped:
            choice["message"]["refusal"] = stopped[key]
            choice["finish_reason"] = FINISH
    return changed


def deltas(event: Json) -> list[tuple[Key, str]]:
    found = []
    for choice in _choices(event):
        content = _delta(choice).get("content")
        if isinstance(content, str) and content:
            found.append((_key(choice), content))
    return found


def is_ending(event: Json) -> bool:
    return any(choice.get("finish_reason") for choice in _choices(event))


def delta(like: Json, key: Key, text: str) -> Json:
    return {**_head(like), "choices": [_choice(key, {"content": text})]}


def without_text(event: Json, keys: Iterable[Key]) -> Json | None:
    gone = set(keys)
    changed = deepcopy(event)
    for choice in _choices(changed):
        if _key(choice) in gone:
            _delta(choice).pop("content", None)
            _forget_logprobs(choice)
    says = any(_delta(c) or c.get("finish_reason") for c in _choices(changed))
    return changed if says or changed.get("usage") or not _choices(changed) else None


def without(event: Json, keys: Iterable[Key]) -> Json | None:
    gone = set(keys)
    left = [choice for choice in _choices(event) if _key(choice) not in gone]
    keeps = left or event.get("usage") or not _choices(event)
    return {**event, "choices": left} if keeps else None


def closed(event: Json, texts: Mapping[Key, str]) -> Json:  # noqa: ARG001 (no event repeats a text)
    return event


def stop(like: Json, key: Key, text: str, why: str) -> list[Json]:  # noqa: ARG001 (as above)
    return [{**_head(like), "choices": [_choice(key, {"refusal": why}, FINISH)]}]


def report(last: Json, told: Json) -> Json:
    """A chunk with an empty delta: programs that read `choices[0].delta.content` of each chunk find nothing,
    and those that look for `groundwire` find the report.
    """
    return {**_head(last), "choices": [_choice((0,), {})], "groundwire": told}


def _head(event: Json) -> Json:
    named = {"id": "", "object": "chat.completion.chunk", "created": 0, "model": ""}
    return {name: event.get(name, default) for name, default in named.items()}


def _choice(key: Key, content: Json, finish: str | None = None) -> Json:
    return {"index": key[0], "delta": content, "logprobs": None, "finish_reason": finish}


def _choices(body: Json) -> list[Json]:
    found = body.get("choices")
    return [choice for choice in found if isinstance(choice, dict)] if isinstance(found, list) else []


def _key(choice: Json) -> Key:
    index = choice.get("index")
    return (index if isinstance(index, int) else 0,)


def _delta(choice: Json) -> dict[str, Any]:
    found = choice.get("delta")
    return found if isinstance(found, dict) else {}


def _forget_logprobs(choice: Json) -> None:
    """They are about words that are no longer there."""
    if choice.get("logprobs") is not None:
        choice["logprobs"] = None
