"""`/v1/responses`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from copy import deepcopy

from groundwire.proxy.dialects import Json, TextKey
from groundwire.proxy.evidence import from_responses as extract_evidence

__all__ = [
    "ENDS_WITH_DONE", "delta_event", "deltas", "extract_evidence", "is_end", "replace_repeated",
    "replace_texts", "report_event", "stop_events", "texts", "without_choices", "without_text",
]  # fmt: skip
ENDS_WITH_DONE = False
DELTA_TYPE = "response.output_text.delta"
REPORT_TYPE = "groundwire.report"
_END_TYPES = frozenset((
    "response.output_text.done", "response.content_part.done", "response.output_item.done",
    "response.completed", "response.incomplete", "response.failed",
))  # fmt: skip
_INCOMPLETE = {"status": "incomplete", "incomplete_details": {"reason": "content_filter"}}


def texts(body: Json) -> dict[TextKey, str]:
    return {key: part["text"] for key, part in _text_parts(body) if part["text"]}


def replace_texts(body: Json, texts: Mapping[TextKey, str], stopped: Mapping[TextKey, str]) -> Json:
    changed = deepcopy(body)
    for key, part in _text_parts(changed):
        if key in texts:
            _set_text(part, texts[key])
        if key in stopped:
            changed |= deepcopy(_INCOMPLETE)
            changed["output"][key[0]]["status"] = "incomplete"
    return changed


def deltas(event: Json) -> list[tuple[TextKey, str]]:
    text = event.get("delta")
    adds_text = event.get("type") == DELTA_TYPE and isinstance(text, str) and text
    return [(_key(event), str(text))] if adds_text else []


def is_end(event: Json) -> bool:
    """Reasoning, tool calls and images have end events too; only those of text count."""
    kind = event.get("type")
    if kind == "response.content_part.done":
        part = event.get("part")
        return isinstance(part, dict) and part.get("type") == "output_text"
    if kind == "response.output_item.done":
        item = event.get("item")
        return isinstance(item, dict) and item.get("type") == "message"
    return kind in _END_TYPES


def delta_event(like: Json, key: TextKey, text: str) -> Json:
    return {"type": DELTA_TYPE, **_location(like, key), "delta": text, "logprobs": []}


def without_text(event: Json, keys: Iterable[TextKey]) -> Json | None:
    adds_text = event.get("type") == DELTA_TYPE and _key(event) in set(keys)
    return None if adds_text else event


without_choices = without_text  # a response has a single choice


def replace_repeated(event: Json, texts: Mapping[TextKey, str]) -> Json:
    """The text, its part, its output item and the response are each repeated in full at the end."""
    changed = deepcopy(event)
    kind, key = event.get("type"), _key(event)
    if kind == "response.output_text.done" and key in texts:
        changed |= {"text": texts[key], "logprobs": []}
    elif kind == "response.content_part.done" and key in texts:
        _set_text(changed["part"], texts[key])
    elif kind == "response.output_item.done":
        for part_key, part in _item_parts(changed.get("item"), key[0]):
            if part_key in texts:
                _set_text(part, texts[part_key])
    elif isinstance(changed.get("response"), dict):
        changed["response"] = replace_texts(changed["response"], texts, {})
    return changed


def stop_events(like: Json, key: TextKey, text: str, reason: str) -> list[Json]:
    """Close the part, its output item and the response, the last as incomplete."""
    location = _location(like, key)
    part = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
    item = {"id": like.get("item_id", ""), "type": "message", "role": "assistant", "content": [part]}
    item["status"] = "incomplete"
    meta = like.get("response")
    response = {**(meta if isinstance(meta, dict) else {}), "output": [item], **_INCOMPLETE}
    return [
        {"type": "response.output_text.done", **location, "text": text, "logprobs": []},
        {"type": "response.content_part.done", **location, "part": part},
        {"type": "response.output_item.done", **location, "item": item},
        {"type": "response.incomplete", **location, "response": response, "groundwire_reason": reason},
    ]


def report_event(last: Json, report: Json) -> Json:
    """An event of our own type; the SDKs pass unknown types on."""
    number = last.get("sequence_number")
    sequence_number = number + 1 if isinstance(number, int) else 0
    return {"type": REPORT_TYPE, "sequence_number": sequence_number, "groundwire": report}


def _location(like: Json, key: TextKey) -> Json:
    ids: Json = {name: like[name] for name in ("item_id", "sequence_number") if name in like}
    return {**ids, "output_index": key[0], "content_index": key[1]}


def _text_parts(body: Json) -> Iterator[tuple[TextKey, Json]]:
    outputs = body.get("output")
    for number, output in enumerate(outputs if isinstance(outputs, list) else []):
        yield from _item_parts(output, number)


def _item_parts(item: object, number: int) -> Iterator[tuple[TextKey, Json]]:
    content = item.get("content") if isinstance(item, dict) and item.get("type") == "message" else None
    for index, part in enumerate(content if isinstance(content, list) else []):
        if isinstance(part, dict) and part.get("type") == "output_text" and isinstance(part.get("text"), str):
            yield (number, index), part


def _set_text(part: Json, text: str) -> None:
    # Annotations and logprobs refer to positions in the old text.
    part["text"] = text
    part["annotations"] = []
    if part.get("logprobs"):
        part["logprobs"] = []


def _key(event: Json) -> TextKey:
    output, content = event.get("output_index"), event.get("content_index")
    return (output if isinstance(output, int) else 0, content if isinstance(content, int) else 0)
