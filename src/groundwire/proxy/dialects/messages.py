"""Anthropic's `/v1/messages`.

An answer with citations is cut into many text blocks, often inside a sentence, so all its text blocks are one
text here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import deepcopy

from groundwire.proxy.dialects import Json, TextKey
from groundwire.proxy.evidence import from_messages as extract_evidence

__all__ = [
    "ENDS_WITH_DONE", "delta_event", "deltas", "extract_evidence", "is_end", "replace_repeated",
    "replace_texts", "report_event", "stop_events", "texts", "without_choices", "without_text",
]  # fmt: skip
ENDS_WITH_DONE = False
STOP_REASON = "refusal"
"""The reason by which clients already recognise an answer that was cut short."""
REPORT_TYPE = "groundwire.report"
_KEY: TextKey = (0,)


def texts(body: Json) -> dict[TextKey, str]:
    text = "".join(block["text"] for block in _text_blocks(body))
    return {_KEY: text} if text else {}


def replace_texts(body: Json, texts: Mapping[TextKey, str], stopped: Mapping[TextKey, str]) -> Json:
    """Put the new text into the first text block, with the citations of all of them."""
    changed = deepcopy(body)
    blocks = _text_blocks(changed)
    if _KEY in texts and blocks:
        citations = [citation for block in blocks for citation in block.get("citations") or ()]
        blocks[0]["text"] = texts[_KEY]
        if citations:
            blocks[0]["citations"] = citations
        changed["content"] = [b for b in changed["content"] if b is blocks[0] or b not in blocks]
    if _KEY in stopped:
        changed |= {"stop_reason": STOP_REASON, "stop_sequence": None, "groundwire_reason": stopped[_KEY]}
    return changed


def deltas(event: Json) -> list[tuple[TextKey, str]]:
    delta = event.get("delta")
    is_text = isinstance(delta, dict) and delta.get("type") == "text_delta"
    text = delta.get("text") if isinstance(delta, dict) and is_text else ""
    return [(_KEY, text)] if isinstance(text, str) and text else []


def is_end(event: Json) -> bool:
    return event.get("type") in ("content_block_stop", "message_delta", "message_stop", "error")


def delta_event(like: Json, key: TextKey, text: str) -> Json:  # noqa: ARG001 (there is one text)
    delta = {"type": "text_delta", "text": text}
    return {"type": "content_block_delta", "index": like.get("index", 0), "delta": delta}


def without_text(event: Json, keys: Iterable[TextKey]) -> Json | None:
    return None if _KEY in set(keys) and deltas(event) else event


without_choices = without_text  # a message has a single choice


def replace_repeated(event: Json, texts: Mapping[TextKey, str]) -> Json:  # noqa: ARG001 (nothing is repeated)
    return event


def stop_events(like: Json, key: TextKey, text: str, reason: str) -> list[Json]:  # noqa: ARG001 (not repeated)
    delta = {"stop_reason": STOP_REASON, "stop_sequence": None}
    ending = {"type": "message_delta", "delta": delta, "usage": {"output_tokens": 0}, "groundwire_reason": reason}
    return [{"type": "content_block_stop", "index": like.get("index", 0)}, ending, {"type": "message_stop"}]


def report_event(last: Json, report: Json) -> Json:  # noqa: ARG001 (it needs no ids)
    """An event of our own type; the SDK passes unknown types on."""
    return {"type": REPORT_TYPE, "groundwire": report}


def _text_blocks(body: Json) -> list[Json]:
    content = body.get("content")
    blocks = content if isinstance(content, list) else []
    return [b for b in blocks if isinstance(b, dict) and b.get("type") == "text" and isinstance(b.get("text"), str)]
