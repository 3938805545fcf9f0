"""The three APIs that the proxy understands, behind one interface: where the text of an answer stands in the
JSON of `/v1/chat/completions`, `/v1/responses` and Anthropic's `/v1/messages`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from copy import deepcopy
from typing import Any, ClassVar

Json = dict[str, Any]
TextKey = tuple[int, ...]
"""One text of an answer: the choice of a chat completion, or the output and content part of a response."""
REPORT_TYPE = "groundwire.report"
"""The type of the event with the report, where events have types; the SDKs pass unknown types on."""


def response_id(event: Json) -> str:
    """The id of an answer, from it or one of its events, in any of the APIs; "" if it has none."""
    places = (event, event.get("response"), event.get("message"))
    ids = (place.get("id") for place in places if isinstance(place, dict))
    return next((found for found in ids if isinstance(found, str) and found), "")


class ApiDialect(ABC):
    """The places of text in the JSON of an API. An event is the JSON object of one frame of a stream."""

    ends_with_done: ClassVar[bool] = False  # whether a stream ends with `[DONE]`

    @abstractmethod
    def texts(self, body: Json) -> dict[TextKey, str]:
        """Return the texts of a complete (not streamed) answer."""

    @abstractmethod
    def replace_texts(self, body: Json, texts: Mapping[TextKey, str], stopped: Mapping[TextKey, str]) -> Json:
        """Return a complete answer with other texts; `stopped` gives the reason for each that ends early."""

    @abstractmethod
    def deltas(self, event: Json) -> list[tuple[TextKey, str]]:
        """Return the text that an event adds, with the text it belongs to."""

    @abstractmethod
    def is_end(self, event: Json) -> bool:
        """True for an event that closes a text: nothing can be appended after it."""

    @abstractmethod
    def delta_event(self, like: Json, key: TextKey, text: str) -> Json:
        """Make an event that adds text, with the ids of `like`, an event of the same text."""

    @abstractmethod
    def stop_events(self, like: Json, key: TextKey, text: str, reason: str) -> list[Json]:
        """Make the events that end a text early; `text` is all of it that was sent."""

    @abstractmethod
    def report_event(self, last: Json, report: Json) -> Json:
        """Make the event with the report, in a shape that the official SDKs accept."""

    # A delta has one text, an answer one choice, and no text is repeated, unless an API says otherwise.

    def without_text(self, event: Json, keys: Iterable[TextKey]) -> Json | None:
        """Return the event without the text it adds to these keys; None if nothing else is left."""
        return None if any(key in set(keys) for key, _ in self.deltas(event)) else event

    def without_choices(self, event: Json, keys: Iterable[TextKey]) -> Json | None:
        """Return the event without everything about these texts; None if nothing else is left."""
        return self.without_text(event, keys)

    def replace_repeated(self, event: Json, texts: Mapping[TextKey, str]) -> Json:  # noqa: ARG002
        """Return a closing event that repeats whole texts with these texts instead."""
        return event

    def join_texts(self, events: list[Json]) -> list[Json]:
        """Return the events of a stream whose new text is in one place, without those of the empty places."""
        return events


class ChatDialect(ApiDialect):
    """`/v1/chat/completions`. An answer that is cut short ends as by a content filter, which clients know."""

    ends_with_done = True

    def texts(self, body: Json) -> dict[TextKey, str]:
        contents = {_choice_key(choice): _object(choice, "message").get("content") for choice in _choices(body)}
        return {key: text for key, text in contents.items() if isinstance(text, str) and text}

    def replace_texts(self, body: Json, texts: Mapping[TextKey, str], stopped: Mapping[TextKey, str]) -> Json:
        changed = deepcopy(body)
        for choice in _choices(changed):
            key = _choice_key(choice)
            message = _object(choice, "message")
            if key in texts and message:
                message["content"] = texts[key]
                _drop_logprobs(choice)
            if key in stopped and message:
                message["refusal"] = stopped[key]
                choice["finish_reason"] = "content_filter"
        return changed

    def deltas(self, event: Json) -> list[tuple[TextKey, str]]:
        contents = ((_choice_key(choice), _object(choice, "delta").get("content")) for choice in _choices(event))
        return [(key, text) for key, text in contents if isinstance(text, str) and text]

    def is_end(self, event: Json) -> bool:
        return any(choice.get("finish_reason") for choice in _choices(event))

    def delta_event(self, like: Json, key: TextKey, text: str) -> Json:
        return _chunk(like, key, {"content": text})

    def without_text(self, event: Json, keys: Iterable[TextKey]) -> Json | None:
        removed = set(keys)
        changed = deepcopy(event)
        for choice in _choices(changed):
            if _choice_key(choice) in removed:
                _object(choice, "delta").pop("content", None)
                _drop_logprobs(choice)
        has_content = any(_object(c, "delta") or c.get("finish_reason") for c in _choices(changed))
        return changed if has_content or changed.get("usage") or not _choices(changed) else None

    def without_choices(self, event: Json, keys: Iterable[TextKey]) -> Json | None:
        removed = set(keys)
        left = [choice for choice in _choices(event) if _choice_key(choice) not in removed]
        keep = left or event.get("usage") or not _choices(event)
        return {**event, "choices": left} if keep else None

    def stop_events(self, like: Json, key: TextKey, text: str, reason: str) -> list[Json]:  # noqa: ARG002
        return [_chunk(like, key, {"refusal": reason}, "content_filter")]

    def report_event(self, last: Json, report: Json) -> Json:
        """A chunk with an empty delta: clients that read `choices[0].delta.content` of every chunk still work."""
        return {**_chunk(last, (0,), {}), "groundwire": report}


def _chunk(like: Json, key: TextKey, delta: Json, finish_reason: str | None = None) -> Json:
    defaults = {"id": "", "object": "chat.completion.chunk", "created": 0, "model": ""}
    choice = {"index": key[0], "delta": delta, "logprobs": None, "finish_reason": finish_reason}
    return {**{name: like.get(name, default) for name, default in defaults.items()}, "choices": [choice]}


def _choices(body: Json) -> list[Json]:
    return [choice for choice in _list(body, "choices") if isinstance(choice, dict)]


def _choice_key(choice: Json) -> TextKey:
    return (_index(choice, "index"),)


def _drop_logprobs(choice: Json) -> None:
    # They describe tokens that are no longer in the text.
    if choice.get("logprobs") is not None:
        choice["logprobs"] = None


class MessagesDialect(ApiDialect):
    """Anthropic's `/v1/messages`. An answer that is cut short ends as a refusal, which clients know.

    An answer with citations is cut into many text blocks, often inside a sentence, so all its text blocks are
    one text here.
    """

    _KEY: TextKey = (0,)
    _REFUSAL: ClassVar[Json] = {"stop_reason": "refusal", "stop_sequence": None}

    def texts(self, body: Json) -> dict[TextKey, str]:
        text = "".join(block["text"] for block in _text_blocks(body))
        return {self._KEY: text} if text else {}

    def replace_texts(self, body: Json, texts: Mapping[TextKey, str], stopped: Mapping[TextKey, str]) -> Json:
        """Put the new text into the first text block, with the citations of all of them."""
        changed = deepcopy(body)
        blocks = _text_blocks(changed)
        if self._KEY in texts and blocks:
            citations = [citation for block in blocks for citation in _list(block, "citations")]
            blocks[0]["text"] = texts[self._KEY]
            if citations:
                blocks[0]["citations"] = citations
            merged = {id(block) for block in blocks[1:]}
            changed["content"] = [block for block in changed["content"] if id(block) not in merged]
        if self._KEY in stopped:
            changed |= {**self._REFUSAL, "groundwire_reason": stopped[self._KEY]}
        return changed

    def deltas(self, event: Json) -> list[tuple[TextKey, str]]:
        delta = _object(event, "delta")
        text = delta.get("text") if delta.get("type") == "text_delta" else ""
        return [(self._KEY, text)] if isinstance(text, str) and text else []

    def is_end(self, event: Json) -> bool:
        return event.get("type") in ("content_block_stop", "message_delta", "message_stop", "error")

    def delta_event(self, like: Json, key: TextKey, text: str) -> Json:  # noqa: ARG002 (there is one text)
        delta = {"type": "text_delta", "text": text}
        return {"type": "content_block_delta", "index": like.get("index", 0), "delta": delta}

    def stop_events(self, like: Json, key: TextKey, text: str, reason: str) -> list[Json]:  # noqa: ARG002
        usage = {"output_tokens": 0}
        ending = {"type": "message_delta", "delta": self._REFUSAL, "usage": usage, "groundwire_reason": reason}
        return [{"type": "content_block_stop", "index": like.get("index", 0)}, ending, {"type": "message_stop"}]

    def report_event(self, last: Json, report: Json) -> Json:  # noqa: ARG002 (it needs no ids)
        return {"type": REPORT_TYPE, "groundwire": report}

    def join_texts(self, events: list[Json]) -> list[Json]:
        """Leave out the text blocks behind the first one, and give it their citations.

        Anthropic's API refuses a message with an empty text block, as this answer is one in the next request.
        """
        first = next((_index(event, "index") for event in events if self.deltas(event)), None)
        starts = {_index(event, "index"): _object(event, "content_block") for event in events if _is_start(event)}
        empty = {index for index, block in starts.items() if block.get("type") == "text" and index != first}
        if first is None or not empty:
            return events
        joined, citations = list[Json](), list[Json]()
        for event in events:
            index = event.get("index")
            if index not in empty:
                # The SDKs read an index as a place in the message's list of blocks.
                moved = index - sum(block < index for block in empty) if isinstance(index, int) else None
                joined.append(event if moved is None else {**event, "index": moved})
            elif event.get("type") == "content_block_delta":
                citations.append({**event, "index": first})
        ends = (n for n, event in enumerate(joined) if event.get("type") == "content_block_stop")
        end = next(ends, len(joined))  # a stream may break off
        return [*joined[:end], *citations, *joined[end:]]


def _is_start(event: Json) -> bool:
    return event.get("type") == "content_block_start"


def _text_blocks(body: Json) -> list[Json]:
    blocks = (block for block in _list(body, "content") if isinstance(block, dict))
    return [block for block in blocks if block.get("type") == "text" and isinstance(block.get("text"), str)]


class ResponsesDialect(ApiDialect):
    """`/v1/responses`. The text, its part, its output item and the response are each repeated at the end."""

    _DELTA = "response.output_text.delta"
    _ENDS = frozenset((
        "response.output_text.done", "response.content_part.done", "response.output_item.done",
        "response.completed", "response.incomplete", "response.failed",
    ))  # fmt: skip
    _INCOMPLETE: ClassVar[Json] = {"status": "incomplete", "incomplete_details": {"reason": "content_filter"}}

    def texts(self, body: Json) -> dict[TextKey, str]:
        return {key: part["text"] for key, part in _text_parts(body) if part["text"]}

    def replace_texts(self, body: Json, texts: Mapping[TextKey, str], stopped: Mapping[TextKey, str]) -> Json:
        changed = deepcopy(body)
        for key, part in _text_parts(changed):
            if key in texts:
                _set_text(part, texts[key])
            if key in stopped:
                changed |= deepcopy(self._INCOMPLETE)
                changed["output"][key[0]]["status"] = "incomplete"
        return changed

    def deltas(self, event: Json) -> list[tuple[TextKey, str]]:
        text = event.get("delta") if event.get("type") == self._DELTA else ""
        return [(_part_key(event), text)] if isinstance(text, str) and text else []

    def is_end(self, event: Json) -> bool:
        """Reasoning, tool calls and images have end events too; only those of text count."""
        kind = event.get("type")
        if kind == "response.content_part.done":
            return _object(event, "part").get("type") == "output_text"
        if kind == "response.output_item.done":
            return _object(event, "item").get("type") == "message"
        return isinstance(kind, str) and kind in self._ENDS

    def delta_event(self, like: Json, key: TextKey, text: str) -> Json:
        return {"type": self._DELTA, **_location(like, key), "delta": text, "logprobs": []}

    def without_text(self, event: Json, keys: Iterable[TextKey]) -> Json | None:
        return None if event.get("type") == self._DELTA and _part_key(event) in set(keys) else event

    def replace_repeated(self, event: Json, texts: Mapping[TextKey, str]) -> Json:
        changed = deepcopy(event)
        kind, key = event.get("type"), _part_key(event)
        if kind == "response.output_text.done" and key in texts:
            changed |= {"text": texts[key], "logprobs": []}
        elif kind == "response.content_part.done" and key in texts:
            _set_text(_object(changed, "part"), texts[key])
        elif kind == "response.output_item.done":
            for part_key, part in _item_parts(changed.get("item"), key[0]):
                if part_key in texts:
                    _set_text(part, texts[part_key])
        elif isinstance(changed.get("response"), dict):
            changed["response"] = self.replace_texts(changed["response"], texts, {})
        return changed

    def stop_events(self, like: Json, key: TextKey, text: str, reason: str) -> list[Json]:
        """Close the part, its output item and the response, the last as incomplete."""
        location = _location(like, key)
        part = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
        item = {"id": like.get("item_id", ""), "type": "message", "role": "assistant", "content": [part]}
        item["status"] = "incomplete"
        response = {**_object(like, "response"), "output": [item], **self._INCOMPLETE}
        return [
            {"type": "response.output_text.done", **location, "text": text, "logprobs": []},
            {"type": "response.content_part.done", **location, "part": part},
            {"type": "response.output_item.done", **location, "item": item},
            {"type": "response.incomplete", **location, "response": response, "groundwire_reason": reason},
        ]

    def report_event(self, last: Json, report: Json) -> Json:
        number = last.get("sequence_number")
        sequence_number = number + 1 if isinstance(number, int) else 0
        return {"type": REPORT_TYPE, "sequence_number": sequence_number, "groundwire": report}


def _location(like: Json, key: TextKey) -> Json:
    ids: Json = {name: like[name] for name in ("item_id", "sequence_number") if name in like}
    return {**ids, "output_index": key[0], "content_index": key[1]}


def _text_parts(body: Json) -> Iterator[tuple[TextKey, Json]]:
    for number, output in enumerate(_list(body, "output")):
        yield from _item_parts(output, number)


def _item_parts(item: object, number: int) -> Iterator[tuple[TextKey, Json]]:
    content = _list(item, "content") if isinstance(item, dict) and item.get("type") == "message" else []
    for index, part in enumerate(content):
        if isinstance(part, dict) and part.get("type") == "output_text" and isinstance(part.get("text"), str):
            yield (number, index), part


def _set_text(part: Json, text: str) -> None:
    # Annotations and logprobs refer to positions in the old text.
    part["text"] = text
    part["annotations"] = []
    if part.get("logprobs"):
        part["logprobs"] = []


def _part_key(event: Json) -> TextKey:
    return (_index(event, "output_index"), _index(event, "content_index"))


# An upstream may send any JSON.


def _object(body: Json, name: str) -> Json:
    found = body.get(name)
    return found if isinstance(found, dict) else {}


def _list(body: Json, name: str) -> list[Any]:
    found = body.get(name)
    return found if isinstance(found, list) else []


def _index(body: Json, name: str) -> int:
    found = body.get(name)
    return found if isinstance(found, int) else 0


DIALECTS: Mapping[str, ApiDialect] = {
    "chat/completions": ChatDialect(),
    "responses": ResponsesDialect(),
    "messages": MessagesDialect(),
}
"""By the path below /v1."""
