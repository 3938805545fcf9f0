"""`/v1/chat/completions`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import deepcopy
from typing import Any

from groundwire.proxy.dialects import Json, TextKey
from groundwire.proxy.evidence import from_chat as extract_evidence

__all__ = [
    "ENDS_WITH_DONE", "delta_event", "deltas", "extract_evidence", "is_end", "replace_repeated",
    "replace_texts", "report_event", "stop_events", "texts", "without_choices", "without_text",
]  # fmt: skip
ENDS_WITH_DONE = True
FINISH_REASON = "content_filter"
"""The reason by which clients already recognise an answer that was cut short."""


def texts(body: Json) -> dict[TextKey, str]:
    found = {}
    for choice in _choices(body):
        message = choice.get("message")
        content = message.get("content") if isinstance(message, dict) else None
        if isinstance(content, str) and content:
            found[_key(choice)] = content
    return found


def replace_texts(body: Json, texts: Mapping[TextKey, str], stopped: Mapping[TextKey, str]) -> Json:
    changed = deepcopy(body)
    for choice in _choices(changed):
        key = _key(choice)
        if key in texts:
            choice["message"]["content"] = texts[key]
            _drop_logprobs(choice)
        if key in stopped:
            choice["message"]["refusal"] = stopped[key]
            choice["finish_reason"] = FINISH_REASON
    return changed


def deltas(event: Json) -> list[tuple[TextKey, str]]:
    found = []
    for choice in _choices(event):
        content = _delta(choice).get("content")
        if isinstance(content, str) and content:
            found.append((_key(choice), content))
    return found


def is_end(event: Json) -> bool:
    return any(choice.get("finish_reason") for choice in _choices(event))


def delta_event(like: Json, key: TextKey, text: str) -> Json:
    return {**_chunk_head(like), "choices": [_choice(key, {"content": text})]}


def without_text(event: Json, keys: Iterable[TextKey]) -> Json | None:
    removed = set(keys)
    changed = deepcopy(event)
    for choice in _choices(changed):
        if _key(choice) in removed:
            _delta(choice).pop("content", None)
            _drop_logprobs(choice)
    has_content = any(_delta(c) or c.get("finish_reason") for c in _choices(changed))
    return changed if has_content or changed.get("usage") or not _choices(changed) else None


def without_choices(event: Json, keys: Iterable[TextKey]) -> Json | None:
    removed = set(keys)
    left = [choice for choice in _choices(event) if _key(choice) not in removed]
    keep = left or event.get("usage") or not _choices(event)
    return {**event, "choices": left} if keep else None


def replace_repeated(event: Json, texts: Mapping[TextKey, str]) -> Json:  # noqa: ARG001 (nothing is repeated)
    return event


def stop_events(like: Json, key: TextKey, text: str, reason: str) -> list[Json]:  # noqa: ARG001 (not repeated)
    return [{**_chunk_head(like), "choices": [_choice(key, {"refusal": reason}, FINISH_REASON)]}]


def report_event(last: Json, report: Json) -> Json:
    """A chunk with an empty delta: clients that read `choices[0].delta.content` of every chunk still work."""
    return {**_chunk_head(last), "choices": [_choice((0,), {})], "groundwire": report}


def _chunk_head(event: Json) -> Json:
    defaults = {"id": "", "object": "chat.completion.chunk", "created": 0, "model": ""}
    return {name: event.get(name, default) for name, default in defaults.items()}


def _choice(key: TextKey, delta: Json, finish_reason: str | None = None) -> Json:
    return {"index": key[0], "delta": delta, "logprobs": None, "finish_reason": finish_reason}


def _choices(body: Json) -> list[Json]:
    found = body.get("choices")
    return [choice for choice in found if isinstance(choice, dict)] if isinstance(found, list) else []


def _key(choice: Json) -> TextKey:
    index = choice.get("index")
    return (index if isinstance(index, int) else 0,)


def _delta(choice: Json) -> dict[str, Any]:
    found = choice.get("delta")
    return found if isinstance(found, dict) else {}


def _drop_logprobs(choice: Json) -> None:
    # They describe tokens that are no longer in the text.
    if choice.get("logprobs") is not None:
        choice["logprobs"] = None
