"""Ids, log lines, spans and protecting headers of real requests."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind
from tests.serving import Served, served

from groundwire.engine import Groundwire
from groundwire.metrics import VERDICTS
from groundwire.server.middleware import ACCESS, CSP, RequestIdFilter

FINE = {"response": "It has 40 employees.", "context": "It has 40 employees."}


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> Iterator[InMemorySpanExporter]:
    """The SDK as an operator installs it, for this test only."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr("opentelemetry.trace._TRACER_PROVIDER", provider)
    yield exporter
    provider.shutdown()


def test_an_id_is_taken_over_or_made(plain: Served) -> None:
    given = plain.client.post("/v1/check", json={}, headers={"x-request-id": "mine-7"})
    assert (given.headers["x-request-id"], given.json()["request_id"]) == ("mine-7", "mine-7")
    made = plain.client.get("/healthz").headers["x-request-id"]
    assert len(made) == 32
    assert made != plain.client.get("/healthz").headers["x-request-id"]


@pytest.mark.parametrize("bad", ["a b", "x" * 200, '"quoted"', "ü", "%0a"])
def test_an_id_that_cannot_be_logged_is_not_taken_over(plain: Served, bad: str) -> None:
    headers = {"x-request-id": bad.encode("latin-1")}
    answer = plain.client.get("/healthz", headers=headers)  # type: ignore[arg-type]
    assert len(answer.headers["x-request-id"]) == 32


def test_a_line_for_each_request_and_no_text_of_users(plain: Served, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "groundwire"):
        plain.client.post("/v1/check", json=FINE, headers={"x-request-id": "r1"})
        plain.client.get("/v1/kb/entities", params={"q": "secret name"})
        plain.client.get("/healthz")  # a line is written behind its answer
    lines = [json.loads(record.message) for record in caplog.records if record.name == ACCESS]
    first = lines[0]
    assert (first["request_id"], first["route"], first["status"]) == ("r1", "/v1/check", 200)
    assert (first["caller"], first["method"], first["bytes"] > 500) == ("local", "POST", True)
    assert "employees" not in caplog.text
    assert "secret" not in caplog.text


def test_addresses_are_logged_where_texts_are(caplog: pytest.LogCaptureFixture) -> None:
    settings = {"hallucination.backend.type": "fake", "log.include_text": True}
    with served(settings) as running, caplog.at_level(logging.INFO, "groundwire"):
        running.client.get("/v1/kb/entities", params={"q": "Ada"})
        running.client.get("/healthz")  # a line is written behind its answer
    line = next(json.loads(record.message) for record in caplog.records if record.name == ACCESS)
    assert (line["path"], line["query"]) == ("/v1/kb/entities", "q=Ada")


def test_log_records_carry_the_request_id(plain: Served, caplog: pytest.LogCaptureFixture) -> None:
    caplog.handler.addFilter(RequestIdFilter())
    with caplog.at_level(logging.INFO, "groundwire"):
        plain.client.post("/v1/check", json=FINE, headers={"x-request-id": "r7"})
    verdict = next(record for record in caplog.records if record.name == VERDICTS)
    assert verdict.fields["request_id"] == "r7"  # type: ignore[attr-defined]


def test_a_bug_is_a_problem_for_the_caller_and_a_traceback_in_the_log(
    plain: Served, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("on purpose")

    monkeypatch.setattr(Groundwire, "check", broken)
    answer = plain.client.post("/v1/check", json=FINE)
    assert (answer.status_code, answer.json()["type"]) == (500, "/docs#problem-broken")
    assert "on purpose" not in answer.text
    plain.client.get("/healthz")  # the line is written behind the answer
    record = next(record for record in caplog.records if record.name == ACCESS)
    assert record.exc_info is not None
    assert json.loads(record.message)["request_id"] == answer.json()["request_id"]


def test_a_request_is_a_span_of_the_callers_trace(spans: InMemorySpanExporter) -> None:
    trace_id = "0af7651916cd43dd8448eb211c80319c"
    with served({"hallucination.backend.type": "fake"}) as running:
        parent = {"traceparent": f"00-{trace_id}-b7ad6b7169203331-01"}
        running.client.post("/v1/check", json=FINE, headers=parent)
        running.client.get("/v1/nothing/here")
    found = {span.name: span for span in spans.get_finished_spans()}
    check = found["POST /v1/check"]
    assert check.context is not None
    assert (f"{check.context.trace_id:032x}", check.kind) == (trace_id, SpanKind.SERVER)
    assert check.attributes is not None
    assert check.attributes["http.response.status_code"] == 200
    work = found["groundwire.work"]
    assert work.parent is not None
    assert work.parent.span_id == check.context.span_id
    assert "GET unmatched" in found


def test_every_response_has_security_headers(plain: Served) -> None:
    for answer in (plain.client.get("/"), plain.client.get("/nothing"), plain.client.get("/healthz")):
        assert answer.headers["content-security-policy"] == CSP
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert "server" not in answer.headers
