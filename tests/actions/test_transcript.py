"""Conversations in all formats give the same ledger."""

from __future__ import annotations

import json
from typing import Any

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import Status, StatusCode

from groundwire.actions.judge import check_actions
from groundwire.actions.transcript import ledger_of, read_events, span_events, spans_of
from groundwire.traces.steps import read_trace
from groundwire.types import ActionLedger, CallRecord

ARGUMENTS = {"to": "bob@acme.example"}
RESULT = "550 mailbox unavailable"
SAID = "I've sent the email to Bob."
CHAT = [
    {"role": "user", "content": "Email Bob."},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "c1", "function": {"name": "send_email", "arguments": json.dumps(ARGUMENTS)}}],
    },
    {"role": "tool", "tool_call_id": "c1", "content": RESULT, "status": "error"},
    {"role": "assistant", "content": SAID},
]
RESPONSES = [
    {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Email Bob."}]},
    {"type": "function_call", "call_id": "c1", "name": "send_email", "arguments": json.dumps(ARGUMENTS)},
    {"type": "function_call_output", "call_id": "c1", "output": RESULT},
    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": SAID}]},
]
ANTHROPIC: list[dict[str, Any]] = [
    {"role": "user", "content": "Email Bob."},
    {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "send_email", "input": ARGUMENTS}]},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": RESULT, "is_error": True}]},
    {"role": "assistant", "content": [{"type": "text", "text": SAID}]},
]
CLAUDE_CODE = [
    {"type": "summary", "summary": "mail"},
    *({"type": m["role"], "message": m, "sessionId": "s"} for m in ANTHROPIC),
    {"type": "assistant", "isSidechain": True, "message": {"role": "assistant", "content": "I deleted it."}},
]
LANGCHAIN = [
    {"type": "human", "data": {"content": "Email Bob."}},
    {"type": "ai", "data": {"content": "", "tool_calls": [{"id": "c1", "name": "send_email", "args": ARGUMENTS}]}},
    {"type": "tool", "data": {"tool_call_id": "c1", "content": RESULT, "status": "error"}},
    {"type": "ai", "data": {"content": SAID}},
]


@pytest.mark.parametrize("items", [CHAT, RESPONSES, ANTHROPIC, CLAUDE_CODE, LANGCHAIN])
def test_every_format_gives_the_same_verdict(items: list[dict[str, Any]]) -> None:
    ledger = ledger_of(read_events(items))
    assert [(call.name, json.loads(call.arguments), call.result) for call in ledger.calls] == [
        ("send_email", ARGUMENTS, RESULT)
    ]
    assert ledger.request == "Email Bob."
    assert [v.status.value for v in check_actions(ledger)] == ["failed"]


def spans() -> list[dict[str, Any]]:
    """A real trace of the OpenTelemetry SDK, by the conventions for generative AI."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    tracer = provider.get_tracer("agent")
    with tracer.start_as_current_span("invoke_agent"):
        with tracer.start_as_current_span("execute_tool send_email") as tool:
            tool.set_attributes({
                "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "send_email",
                "gen_ai.tool.call.id": "c1", "gen_ai.tool.call.arguments": json.dumps(ARGUMENTS),
                "gen_ai.tool.call.result": RESULT,
            })  # fmt: skip
            tool.set_status(Status(StatusCode.ERROR))
        with tracer.start_as_current_span("chat") as chat:
            call = {"type": "tool_call", "id": "c1", "name": "send_email", "arguments": ARGUMENTS}
            given = [
                {"role": "user", "parts": [{"type": "text", "content": "Email Bob."}]},
                {"role": "assistant", "parts": [call]},
                {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": RESULT}]},
            ]
            told = [{"role": "assistant", "parts": [{"type": "text", "content": SAID}]}]
            chat.set_attribute("gen_ai.input.messages", json.dumps(given))
            chat.set_attribute("gen_ai.output.messages", json.dumps(told))
    return [json.loads(span.to_json()) for span in exporter.get_finished_spans()]


def test_opentelemetry_spans_are_read() -> None:
    found = spans_of(spans())
    assert found is not None
    ledger = ledger_of(span_events(found))
    assert len(ledger.calls) == 1
    assert [v.status.value for v in check_actions(ledger)] == ["failed"]
    trace = read_trace(json.dumps(spans()))
    assert trace.answer == SAID
    assert trace.ledger == ledger


def test_an_otlp_export_is_read() -> None:
    otlp = [
        {
            "name": span["name"],
            "spanId": span["context"]["span_id"],
            "startTimeUnixNano": span["start_time"],
            "status": {"code": 2 if span["status"]["status_code"] == "ERROR" else 1},
            "attributes": [{"key": k, "value": {"stringValue": v}} for k, v in span["attributes"].items()],
        }
        for span in spans()
    ]
    export = {"resourceSpans": [{"scopeSpans": [{"spans": otlp}]}]}
    assert [v.status.value for v in check_actions(read_trace(json.dumps(export)).ledger)] == ["failed"]


def test_a_message_is_compared_with_the_calls_before_it() -> None:
    early = {"role": "assistant", "content": "I've sent the email."}
    ledger = ledger_of(read_events([CHAT[0], early, {"role": "tool", "content": "x"}, CHAT[1], CHAT[2]]))
    assert [v.status.value for v in check_actions(ledger)] == ["unperformed"]


def test_a_long_result_keeps_its_beginning_and_its_end() -> None:
    long = [*CHAT[:2], {"role": "tool", "tool_call_id": "c1", "content": "start" + "x" * 50_000 + "end"}]
    (call,) = ledger_of(read_events(long)).calls
    assert call.result.startswith("start")
    assert call.result.endswith("end")
    assert len(call.result) < 21_000


def test_a_result_without_its_call_is_kept() -> None:
    ledger = ledger_of(read_events([{"role": "tool", "name": "send_email", "content": "ok"}]))
    assert ledger == ActionLedger((CallRecord("send_email", "", "ok"),))
