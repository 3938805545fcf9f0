"""`POST /v1/guard` over a real socket, with a scripted upstream behind the real SDK."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from tests.llm.test_hosted import chunk, sse
from tests.loopback import Loopback, Reply, Request, chat
from tests.serving import Served, served

SOURCES = {"S0": "Acme was founded in 1987 in Berlin. Acme has 40 employees. Its office is in Berlin."}
WRONG = "Acme was founded in 1987 in Berlin. Acme has 400 employees. Its office is in Berlin. It is old."
ASKED = {"request": "What is known about Acme?", "sources": SOURCES}


def pieces(text: str) -> list[str]:
    return [word + " " for word in text.split(" ")]


def upstream(request: Request) -> Reply:
    if not request.body.get("stream"):
        return chat("Acme has 40 employees.")
    return sse(*(chunk(piece) for piece in pieces(WRONG)), "[DONE]")


@pytest.fixture
def guarded(loopback: Loopback) -> Iterator[Served]:
    loopback.script(upstream)
    settings = {"generator.provider": "openai", "openai.base_url": f"{loopback.url}/v1", "openai.api_key": "k"}
    with served(settings) as running:
        yield running


def events(response: httpx.Response) -> list[tuple[str, dict[str, Any]]]:
    frames = [frame.split("\n", 1) for frame in response.text.strip().split("\n\n")]
    return [(name.removeprefix("event: "), json.loads(data.removeprefix("data: "))) for name, data in frames]


def test_the_events_come_as_they_happen(guarded: Served) -> None:
    response = guarded.client.post("/v1/guard", json=ASKED)
    assert response.headers["content-type"].startswith("text/event-stream")
    found = events(response)
    names = [name for name, _ in found]
    assert names[0] == "token"
    assert names[-3:] == ["interrupted", "reformulated", "done"]
    assert all(name == data["kind"] for name, data in found)
    said = "".join(data["text"] for name, data in found if name == "token")
    assert WRONG.startswith(said.strip())
    assert "It is old" not in said
    assert any(data["status"] == "CONTRADICTED" for name, data in found if name == "verdict")
    done = found[-1][1]
    assert (done["risk"], done["action"]) == ("high", "reformulate")
    assert done["text"] == "Acme was founded in 1987 in Berlin [S0]. Acme has 40 employees [S0]."
    assert done["report"]["flagged"] is False
    assert done["weak_points"][0]["kind"] == "contradicted"


def test_without_a_stream_the_end_alone_comes(guarded: Served) -> None:
    done = guarded.client.post("/v1/guard", json={**ASKED, "stream": False}).json()
    assert done["kind"] == "done"
    assert "40 employees [S0]" in done["text"]


def test_a_model_that_takes_its_time_may(loopback: Loopback) -> None:
    def slow(request: Request) -> Reply:
        loopback.release.wait(0.5)
        return upstream(request)

    loopback.script(slow)
    settings = {
        "generator.provider": "openai",
        "openai.base_url": f"{loopback.url}/v1",
        "openai.api_key": "k",
        "server.request_timeout": "200ms",
    }
    with served(settings) as running:
        response = running.client.post("/v1/guard", json={**ASKED, "stream": False})
    assert (response.status_code, response.json()["kind"]) == (200, "done")


def test_an_unanswerable_question_is_declined_without_the_model(guarded: Served, loopback: Loopback) -> None:
    asked = {"request": "How many moons does Jupiter have?", "sources": SOURCES, "stream": False}
    done = guarded.client.post("/v1/guard", json=asked).json()
    assert done["knowledge"]["verified"] is False
    assert done["action"] == "discard"
    assert loopback.requests == []


def test_a_failing_model_is_reported_in_the_last_event(guarded: Served, loopback: Loopback) -> None:
    loopback.script(Reply(status=500, body={"error": {"message": "no"}}))
    name, done = events(guarded.client.post("/v1/guard", json=ASKED))[-1]
    assert name == "done"
    assert done["error"]
    assert done["text"] == ""


@pytest.mark.parametrize(
    "body",
    [{}, {"request": ""}, {"request": "  "}, {"request": "x", "nonsense": 1}, {"request": "x", "history": [1]},
     {"request": "x", "sources": {"S0": "a"}, "context": "b"}, {"request": "x"},
     {"request": "x", "sources": {"S0": "  "}}],
)  # fmt: skip
def test_invalid_requests_are_rejected(guarded: Served, body: dict[str, Any]) -> None:
    response = guarded.client.post("/v1/guard", json=body)
    assert response.status_code == 422
    assert response.headers["content-type"] == "application/problem+json"


def test_a_client_that_leaves_stops_the_work(guarded: Served) -> None:
    with guarded.client.stream("POST", "/v1/guard", json=ASKED) as response:
        next(response.iter_bytes())
    assert guarded.client.get("/healthz").status_code == 200
    assert guarded.client.post("/v1/guard", json={**ASKED, "stream": False}).status_code == 200


@pytest.mark.parametrize("stream", [True, False])
def test_a_full_house_says_when_to_come_back(guarded: Served, stream: bool) -> None:
    admission = guarded.service.chat.admission
    admission.inside = admission.capacity
    answer = guarded.client.post("/v1/guard", json={**ASKED, "stream": stream})
    admission.inside = 0
    assert (answer.status_code, "retry-after" in answer.headers) == (429, True)
