"""`/v1/responses`: where the text is, streamed and not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from copy import deepcopy

from groundwire.proxy.evidence import from_responses as evidence
from groundwire.proxy.protocol import Json, Key

__all__ = [
    "closed", "delta", "deltas", "evidence", "is_ending", "report", "rewritten", "stop", "texts",
    "without", "without_text",
]  # fmt: skip
DELTA = "response.output_text.delta"
REPORT = "groundwire.report"
_ENDINGS = frozenset((
    "response.output_text.done", "response.content_part.done", "response.output_item.done",
    "response.completed", "response.incomplete", "response.failed",
))  # fmt: skip


def texts(body: Json) -> dict[Key, str]:
    return {key: part["text"] for key, part in _parts(body) if part["text"]}


def rewritten(body: Json, texts: Mapping[Key, str], stopped: Mapping[Key, str]) -> Json:
    changed = deepcopy(body)
    for key, part in _parts(changed):
        if key in texts:
            _put(part, texts[key])
        if key in stopped:
            changed |= _incomplete()
            changed["output"][key[0]]["status"] = "incomplete"
    return changed


def deltas(event: Json) -> list[tuple[Key, str]]:
    text = event.get("delta")
    says = event.get("type") == DELTA and isinstance(text, str) and text
    return [(_key(event), str(text))] if says else []


def is_ending(event: Json) -> bool:
    return event.get("type") in _ENDINGS and _is_text(event)


def delta(like: Json, key: Key, text: str) -> Json:
    return {"type": DELTA, **_place(like, key), "delta": text, "logprobs": []}


def without_text(event: Json, keys: Iterable[Key]) -> Json | None:
    says = event.get("type") == DELTA and _key(event) in set(keys)
    return None if says else event


without = without_text  # a response has one answer: with it everything ends


def closed(event: Json, texts: Mapping[Key, str]) -> Json:
    """The text of a part, a part itself, an output and the whole response are each told once more."""
    changed = deepcopy(event)
    kind, key = event.get("type"), _key(event)
    if kind == "response.output_text.done" and key in texts:
        changed |= {"text": texts[key], "logprobs": []}
    elif kind == "response.content_part.done" and key in texts:
        _put(changed["part"], texts[key])
    elif kind == "response.output_item.done":
        for part_key, part in _content(changed.get("item"), key[0]):
            if part_key in texts:
                _put(part, texts[part_key])
    elif isinstance(changed.get("response"), dict):
        changed["response"] = rewritten(changed["response"], texts, {})
    return changed


def stop(like: Json, key: Key, text: str, why: str) -> list[Json]:
    """The part, its output and the response end, the last as incomplete."""
    place = _place(like, key)
    part = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
    item = {"id": like.get("item_id", ""), "type": "message", "role": "assistant", "content": [part]}
    item["status"] = "incomplete"
    begun = like.get("response")
    response = {**(begun if isinstance(begun, dict) else {}), "output": [item], **_incomplete()}
    return [
        {"type": "response.output_text.done", **place, "text": text, "logprobs": []},
        {"type": "response.content_part.done", **place, "part": part},
        {"type": "response.output_item.done", **place, "item": item},
        {"type": "response.incomplete", **place, "response": response, "groundwire_reason": why},
    ]


def report(last: Json, told: Json) -> Json:
    """An event of a type of its own: the SDKs hand on what they do not know."""
    number = last.get("sequence_number")
    return {
        "type": REPORT,
        "sequence_number": number + 1 if isinstance(number, int) else 0,
        "groundwire": told,
    }


def _place(like: Json, key: Key) -> Json:
    place: Json = {name: like[name] for name in ("item_id", "sequence_number") if name in like}
    return {**place, "output_index": key[0], "content_index": key[1]}


def _incomplete() -> Json:
    return {"status": "incomplete", "incomplete_details": {"reason": "content_filter"}}


def _is_text(event: Json) -> bool:
    """Reasoning, tool calls and pictures end too, and nobody waits for those."""
    if event.get("type") == "response.content_part.done":
        part = event.get("part")
        return isinstance(part, dict) and part.get("type") == "output_text"
    if event.get("type") == "response.output_item.done":
        item = event.get("item")
        return isinstance(item, dict) and item.get("type") == "message"
    return True


def _parts(body: Json) -> Iterator[tuple[Key, Json]]:
    outputs = body.get("output")
    for number, output in enumerate(outputs if isinstance(outputs, list) else []):
        yield from _content(output, number)


def _content(output: object, number: int) -> Iterator[tuple[Key, Json]]:
    content = output.get("content") if isinstance(output, dict) and output.get("type") == "message" else None
    for place, part in enumerate(content if isinstance(content, list) else []):
        if isinstance(part, dict) and part.get("type") == "output_text" and isinstance(part.get("text"), str):
            yield (number, place), part


def _put(part: Json, text: str) -> None:
    """Annotations are about places in a text that is no longer there."""
    part["text"] = text
    part["annotations"] = []
    if part.get("logprobs"):
        part["logprobs"] = []


def _key(event: Json) -> Key:
    output, content = event.get("output_index"), event.get("content_index")
    return (output if isinstance(output, int) else 0, content if isinstance(content, int) else 0)
