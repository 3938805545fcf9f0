"""The event `gen_ai.evaluation.result`, in memory as an operator's exporter would get it."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry._logs import SeverityNumber
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, SimpleLogRecordProcessor
from opentelemetry.sdk.trace import TracerProvider
from tests.proxy.requests import GOOD, MESSAGES
from tests.proxy.scripted import (
    Scripted,
    chat_stream,
    completion,
    event,
    response_object,
    response_stream,
    scripted,
    whole,
)
from tests.serving import served

from groundwire import check
from groundwire.config import Config
from groundwire.engine import Groundwire
from groundwire.errors import BackendTimeout
from groundwire.integrations.rows import BatchRow, judge_row
from groundwire.streaming.incremental import IncrementalVerifier
from groundwire.verifiers.fake import FakeVerifier

SOURCE = "The tower is 330 metres tall."
ANSWER = "The tower is 330 metres tall. It weighs nothing."
NAME, LABEL, VALUE = (f"gen_ai.evaluation.{part}" for part in ("name", "score.label", "score.value"))
TRACEPARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
FAKE = {"hallucination.backend.type": "fake"}


@pytest.fixture
def exporter(monkeypatch: pytest.MonkeyPatch) -> Iterator[InMemoryLogRecordExporter]:
    exporter = InMemoryLogRecordExporter()  # type: ignore[no-untyped-call]
    provider = LoggerProvider()
    provider.add_log_record_processor(SimpleLogRecordProcessor(exporter))
    monkeypatch.setattr("opentelemetry._logs._internal._LOGGER_PROVIDER", provider)
    yield exporter
    provider.shutdown()


def events(exporter: InMemoryLogRecordExporter) -> list[Any]:
    found = [item.log_record for item in exporter.get_finished_logs()]
    exporter.clear()
    return [record for record in found if record.event_name == "gen_ai.evaluation.result"]


def test_an_answer_and_each_of_its_claims_are_events(exporter: InMemoryLogRecordExporter) -> None:
    engine = Groundwire(backend="fake")
    report = asyncio.run(engine.check(ANSWER, SOURCE, response_id="chatcmpl-7"))
    answer, first, second = (dict(record.attributes) for record in events(exporter))
    assert (answer[NAME], answer[LABEL], answer[VALUE]) == ("groundedness", "ungrounded", 0.5)
    assert answer["gen_ai.evaluation.explanation"] == "1 of 2 claims not supported by the sources"
    assert (first[NAME], first[LABEL], first[VALUE]) == ("claim_support", "ENTAILED", report.claims[0].p1)
    assert (second[LABEL], second["groundwire.claim.flagged"]) == ("NOT_IN_CONTEXT", True)
    assert ANSWER[second["groundwire.claim.start"] : second["groundwire.claim.end"]] == "It weighs nothing."
    assert {item["gen_ai.response.id"] for item in (answer, first, second)} == {"chatcmpl-7"}


def test_text_is_in_the_events_only_if_the_log_may_have_it(exporter: InMemoryLogRecordExporter) -> None:
    asyncio.run(Groundwire(backend="fake").check(ANSWER, SOURCE))
    assert "weighs" not in str([dict(record.attributes) for record in events(exporter)])
    config = Config.load(overrides={"log.include_text": True})
    asyncio.run(Groundwire(config, backend="fake").check(ANSWER, SOURCE))
    assert "It weighs nothing." in events(exporter)[2].attributes["gen_ai.evaluation.explanation"]


def test_what_could_not_be_checked_has_an_error_type_and_no_score(
    exporter: InMemoryLogRecordExporter, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing = FakeVerifier(failing=[BackendTimeout("the host said: secret text")] * 9)
    monkeypatch.setattr("groundwire.verifiers.fake.FakeVerifier", lambda **_: failing)
    asyncio.run(Groundwire(backend="fake").check(ANSWER, SOURCE))
    found = events(exporter)
    assert len(found) == 3
    for record in found:
        assert record.attributes["error.type"] == "timeout"
        assert not {VALUE, LABEL} & set(record.attributes)
        assert record.severity_number is SeverityNumber.WARN
        assert "secret" not in str(dict(record.attributes))


def test_events_belong_to_the_span_that_is_open_when_python_checks(exporter: InMemoryLogRecordExporter) -> None:
    with TracerProvider().get_tracer("app").start_as_current_span("answer") as span:
        check(ANSWER, SOURCE, backend="fake")  # runs on a loop in another thread
    wanted = span.get_span_context()
    assert {(r.trace_id, r.span_id) for r in events(exporter)} == {(wanted.trace_id, wanted.span_id)}


def test_a_row_of_a_batch_names_the_span_that_it_evaluates(exporter: InMemoryLogRecordExporter) -> None:
    row = {"id": "a", "response": ANSWER, "context": SOURCE, "traceparent": TRACEPARENT}
    asyncio.run(judge_row(Groundwire(backend="fake"), BatchRow(1, json.dumps(row).encode())))
    assert {(f"{r.trace_id:x}", f"{r.span_id:x}") for r in events(exporter)} == {
        ("af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331")
    }
    assert not trace.get_current_span().get_span_context().is_valid


@pytest.mark.parametrize(
    ("raw", "span"),
    [
        (json.dumps({"id": "a", "response": ANSWER, "traceparent": TRACEPARENT}).encode(), "b7ad6b7169203331"),
        (b'{"id": "a", "traceparent": 1}', "0"),
        (b"{", "0"),
    ],
)
def test_a_row_that_could_not_be_checked_is_an_event_too(
    raw: bytes, span: str, exporter: InMemoryLogRecordExporter
) -> None:
    asyncio.run(judge_row(Groundwire(backend="fake"), BatchRow(1, raw)))
    (record,) = events(exporter)
    assert (record.attributes[NAME], record.attributes["error.type"]) == ("groundedness", "unchecked")
    assert record.attributes["gen_ai.response.id"] == ("a" if b"id" in raw else "row-1")
    assert not {VALUE, LABEL} & set(record.attributes)
    assert f"{record.span_id or 0:x}" == span


def test_the_service_answers_in_the_trace_of_its_caller(
    exporter: InMemoryLogRecordExporter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("opentelemetry.trace._TRACER_PROVIDER", TracerProvider())
    with served(FAKE) as running:
        body = {"id": "r1", "response": ANSWER, "context": SOURCE}
        running.client.post("/v1/check", json=body, headers={"traceparent": TRACEPARENT})
    found = events(exporter)
    assert [r.attributes["gen_ai.response.id"] for r in found] == ["r1"] * 3
    assert {f"{r.trace_id:032x}" for r in found} == {TRACEPARENT.split("-")[1]}
    assert 0 not in {r.span_id for r in found}


def test_a_streamed_answer_is_evaluated_once_when_it_ends(exporter: InMemoryLogRecordExporter) -> None:
    async def stream() -> None:
        verifier = IncrementalVerifier(Groundwire(backend="fake"), SOURCE)
        for piece in ANSWER.split(" "):
            verifier.push(f"{piece} ")
            await asyncio.sleep(0)
        await verifier.drain()
        assert events(exporter) == []
        await verifier.finish()

    asyncio.run(stream())
    assert [r.attributes[NAME] for r in events(exporter)] == ["groundedness", "claim_support", "claim_support"]


MESSAGE = {"id": "msg_1", "type": "message", "role": "assistant", "content": [{"type": "text", "text": GOOD}]}
MESSAGE_STREAM = [
    event({"type": "message_start", "message": MESSAGE | {"content": []}}),
    event({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": GOOD}}),
    event({"type": "message_stop"}),
]
ANSWERS = {
    "chat/completions": ("c1", whole(completion(GOOD)), Scripted(chat_stream(GOOD))),
    "responses": ("r1", whole(response_object(GOOD)), Scripted(response_stream(GOOD))),
    "messages": ("msg_1", whole(MESSAGE), Scripted(MESSAGE_STREAM)),
}


@pytest.mark.parametrize("path", ANSWERS)
def test_an_answer_through_the_proxy_is_named_by_its_upstreams_id(
    exporter: InMemoryLogRecordExporter, path: str
) -> None:
    response_id, *answers = ANSWERS[path]
    asked = "input" if path == "responses" else "messages"
    body = {"model": "m", asked: MESSAGES[1:], "grounding_sources": {"S0": GOOD}}
    with scripted() as upstream, served(FAKE | {"proxy.upstreams": {"up": upstream.url}}) as running:
        for answer in answers:
            upstream.script(answer)
            for mode in ("observe", "annotate"):
                running.client.post(f"/v1/{path}", json=body, headers={"x-groundwire": mode})
                found = events(exporter)
                assert [record.attributes["gen_ai.response.id"] for record in found] == [response_id] * 3


def test_a_check_loads_no_telemetry_by_itself() -> None:
    code = (
        "import sys; from groundwire import check; check('It is red.', 'It is red.', backend='fake');"
        "print('opentelemetry' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
