"""Read a conversation with tool calls: chat messages, Responses items, Anthropic blocks, LangChain messages,
Claude Code transcripts and OpenTelemetry spans all become one list of events.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from groundwire.types import ActionLedger, AgentMessage, CallRecord

Json = Mapping[str, Any]
Kind = Literal["user", "assistant", "system", "call", "result"]
ROLES: dict[str, Kind] = {
    "user": "user", "human": "user", "HumanMessage": "user",
    "assistant": "assistant", "ai": "assistant", "AIMessage": "assistant", "AIMessageChunk": "assistant",
    "model": "assistant", "gemini": "assistant", "tool": "result", "function": "result",
    "ToolMessage": "result", "FunctionMessage": "result",
    "system": "system", "developer": "system", "SystemMessage": "system",
}  # fmt: skip
_ITEMS = frozenset(("function_call", "function_call_output", "reasoning", "message"))
_MAX_CHARS = 20_000  # of the arguments or result of a call: names and values are compared, not files
_ERROR_STATUS = (2, "ERROR", "STATUS_CODE_ERROR", "error")


@dataclass(frozen=True, slots=True)
class TranscriptEvent:
    """One message, call or result. `text` is what was said, the arguments of a call, or its result."""

    kind: Kind
    text: str
    name: str = ""
    id: str = ""
    failed: bool | None = None


def is_message(item: object) -> bool:
    """True for a message, call or result in one of the formats."""
    if not isinstance(item, Mapping):
        return False
    role, kind = str(item.get("role")), str(item.get("type"))
    if role in ROLES or kind in _ITEMS or "lc" in item or isinstance(item.get("message"), Mapping):
        return True
    return kind in ROLES and ("content" in item or "data" in item)


def read_events(items: Iterable[object]) -> list[TranscriptEvent]:
    """The events of a list of messages in any of the formats; what is not understood is left out."""
    return [event for item in items if isinstance(item, Mapping) for event in _events(_unwrapped(item))]


def ledger_of(events: Sequence[TranscriptEvent]) -> ActionLedger:
    """The calls with their results, and what the agent said after the last request."""
    calls: list[CallRecord] = []
    places: dict[str, int] = {}
    said: list[AgentMessage] = []
    request, before = "", ""
    for event in events:
        if event.kind == "user" and event.text:
            request, said = event.text, []
        elif event.kind == "assistant" and event.text:
            said.append(AgentMessage(event.text, len(calls)))
        elif event.kind == "call":
            places[event.id] = len(calls)
            calls.append(CallRecord(event.name, _shortened(event.text), "", event.failed))
            if said and before in ("assistant", "call"):
                said[-1] = replace(said[-1], calls=len(calls))  # sent in the same message
        elif event.kind == "result":
            _add_result(calls, places.get(event.id, len(calls) - 1), event)
        before = event.kind
    return ActionLedger(tuple(calls), tuple(said), request)


def _add_result(calls: list[CallRecord], place: int, event: TranscriptEvent) -> None:
    if place < 0:  # a result whose call was cut off
        calls.append(CallRecord(event.name, ""))
    failed = calls[place].failed if event.failed is None else event.failed
    calls[place] = replace(calls[place], result=_shortened(event.text), failed=failed)


def _shortened(text: str) -> str:
    """The beginning and the end: commands report their failure last."""
    half = _MAX_CHARS // 2
    return text if len(text) <= _MAX_CHARS else f"{text[:half]}\n{text[-half:]}"


def _unwrapped(item: Json) -> Json:
    """Unwrap LangChain's serialised messages, and the lines of Claude Code's and Codex's transcripts."""
    if isinstance(item.get("message"), Mapping):
        skipped = item.get("isSidechain") or item.get("isMeta")
        return {} if skipped else item["message"]
    if isinstance(item.get("payload"), Mapping):
        return item["payload"] if item.get("type") == "response_item" else {}
    if isinstance(item.get("data"), Mapping):
        return {"type": item.get("type"), **item["data"]}
    if "lc" in item and isinstance(item.get("kwargs"), Mapping):
        path = item.get("id")
        return {**item["kwargs"], "type": str(path[-1]) if isinstance(path, list) and path else ""}
    return item


def _events(item: Json) -> Iterator[TranscriptEvent]:
    kind = str(item.get("type"))
    call_id = str(item.get("call_id") or item.get("tool_call_id") or item.get("id") or "")
    if kind in ("function_call", "custom_tool_call", "local_shell_call"):
        arguments = item.get("arguments", item.get("input", item.get("action")))
        yield TranscriptEvent("call", _json(arguments), str(item.get("name") or "shell"), call_id)
    elif kind.endswith("_call_output"):
        yield TranscriptEvent("result", _result(item.get("output")), "", call_id)
    elif kind == "reasoning":
        yield TranscriptEvent("assistant", content_text(item.get("summary") or item.get("content")))
    else:
        yield from _message(item, ROLES.get(str(item.get("role") or kind)), call_id)


def _message(item: Json, role: Kind | None, call_id: str) -> Iterator[TranscriptEvent]:
    content = item.get("content", item.get("parts"))
    if role == "result":
        failed = item.get("status") == "error" or None
        yield TranscriptEvent("result", _result(content), str(item.get("name") or ""), call_id, failed)
    elif role is not None:
        text = content_text(content)
        if text:
            yield TranscriptEvent(role, text)
        yield from _blocks(content)
        yield from _tool_calls(item)


def _tool_calls(item: Json) -> Iterator[TranscriptEvent]:
    given = item.get("tool_calls") or item.get("toolCalls")
    calls = [*(given if isinstance(given, list) else ()), item.get("function_call")]
    for call in calls:
        if isinstance(call, Mapping):
            inner = call["function"] if isinstance(call.get("function"), Mapping) else call
            arguments = inner.get("arguments", inner.get("args"))
            call_id = str(call.get("id") or "")
            yield TranscriptEvent("call", _json(arguments), str(inner.get("name") or "a tool"), call_id)
            if "result" in call:  # Gemini CLI keeps the result with the call
                failed = True if call.get("status") == "error" else None
                yield TranscriptEvent("result", _result(call["result"]), "", call_id, failed)


def _blocks(content: object) -> Iterator[TranscriptEvent]:
    """Anthropic's tool blocks, and the parts of OpenTelemetry's messages."""
    for block in content if isinstance(content, list) else ():
        kind = str(block.get("type")) if isinstance(block, Mapping) else ""
        if kind.endswith("tool_use"):
            yield TranscriptEvent("call", _json(block.get("input")), str(block.get("name")), str(block.get("id")))
        elif kind.endswith("tool_result"):
            returned = block.get("content")
            failed = bool(block.get("is_error")) or (isinstance(returned, Mapping) and "error_code" in returned) or None
            yield TranscriptEvent("result", _result(returned), "", str(block.get("tool_use_id")), failed)
        elif kind == "tool_call":
            yield TranscriptEvent("call", _json(block.get("arguments")), str(block.get("name")), str(block.get("id")))
        elif kind == "tool_call_response":
            response = block.get("response", block.get("result"))
            yield TranscriptEvent("result", _result(response), "", str(block.get("id")))


def content_text(content: object) -> str:
    """The text of a message content or of its parts, without tool blocks."""
    if isinstance(content, str):
        return content.strip()
    parts = [content] if isinstance(content, Mapping) else content if isinstance(content, list) else []
    texts = (_part_text(part) for part in parts)
    return "\n".join(text.strip() for text in texts if text.strip())


def _part_text(part: object) -> str:
    if isinstance(part, Mapping):
        part = part.get("text") or (part.get("content") if part.get("type") == "text" else "")
    return part if isinstance(part, str) else ""


def _result(content: object) -> str:
    return content_text(content) or (_json(content) if content else "")


def _json(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value or {}, ensure_ascii=False, default=str)


# ---- OpenTelemetry


def spans_of(data: object) -> list[Json] | None:
    """The spans of an OTLP export or of a list of spans, in order of their start; None for other data."""
    if isinstance(data, Mapping) and isinstance(data.get("resourceSpans"), list):
        scopes = [scope for one in data["resourceSpans"] for scope in one.get("scopeSpans", ())]
        found = [span for scope in scopes for span in scope.get("spans", ())]
    elif isinstance(data, list) and data and all(_is_span(item) for item in data):
        found = list(data)
    else:
        return None
    return sorted(found, key=lambda span: str(span.get("startTimeUnixNano") or span.get("start_time") or ""))


def _is_span(item: object) -> bool:
    return isinstance(item, Mapping) and "attributes" in item and ("name" in item or "context" in item)


def span_events(spans: Sequence[Json]) -> list[TranscriptEvent]:
    """The messages of the last model call of a trace, and the tool spans where the messages lack them."""
    found: list[TranscriptEvent] = []
    seen: set[TranscriptEvent] = set()
    for span in spans:
        for event in _span_events(span, _attributes(span.get("attributes"))):
            # Every model call repeats the conversation so far; a call is in its own span and in messages.
            key = replace(event, failed=None, text="" if event.id else event.text)
            if key not in seen:
                seen.add(key)
                found.append(event)
    return found


def _span_events(span: Json, attributes: Json) -> Iterator[TranscriptEvent]:
    operation = attributes.get("gen_ai.operation.name") or attributes.get("openinference.span.kind")
    if operation in ("execute_tool", "TOOL"):
        name = str(attributes.get("gen_ai.tool.name") or attributes.get("tool.name") or span.get("name"))
        call_id = str(attributes.get("gen_ai.tool.call.id") or span.get("spanId") or id(span))
        arguments = attributes.get("gen_ai.tool.call.arguments", attributes.get("input.value"))
        result = attributes.get("gen_ai.tool.call.result", attributes.get("output.value"))
        status = span.get("status")
        code = (status.get("code") or status.get("status_code")) if isinstance(status, Mapping) else None
        failed = True if code in _ERROR_STATUS or attributes.get("error.type") else None
        yield TranscriptEvent("call", _json(arguments), name, call_id)
        yield TranscriptEvent("result", _result(result), "", call_id, failed)
        return
    for key in ("gen_ai.system_instructions", "gen_ai.input.messages", "gen_ai.output.messages"):
        yield from read_events(_decoded(attributes.get(key)))
    for side in ("llm.input_messages", "llm.output_messages"):
        yield from read_events(_flat_messages(attributes, side))


def _decoded(value: object) -> list[object]:
    try:
        found = json.loads(value) if isinstance(value, str) else value
    except (ValueError, RecursionError):
        return []
    return found if isinstance(found, list) else []


def _flat_messages(attributes: Json, side: str) -> list[Json]:
    """OpenInference flattens messages: `llm.output_messages.0.message.content`."""
    found: dict[int, dict[str, Any]] = {}
    for key, value in attributes.items():
        head, _, rest = key.removeprefix(f"{side}.").partition(".message.")
        if key.startswith(side) and head.isdecimal() and rest in ("role", "content", "tool_call_id", "name"):
            found.setdefault(int(head), {})[rest] = value
    return [found[n] for n in sorted(found)]


def _attributes(given: object) -> Json:
    """OTLP writes attributes as a list of keys with typed values, the SDKs as an object."""
    if isinstance(given, Mapping):
        return given
    pairs = given if isinstance(given, list) else []
    return {
        str(pair.get("key")): next(iter(pair["value"].values()), None)
        for pair in pairs
        if isinstance(pair, Mapping) and isinstance(pair.get("value"), Mapping)
    }
