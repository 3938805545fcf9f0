"""`/v1/rag/…` on a real server, answered by a scripted OpenAI-compatible model behind it."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from tests.loopback import Loopback, Reply, Request, chat, refusal
from tests.serving import Served, served

from groundwire.errors import MissingExtra

RULING = "The appraiser determined a compensation of 50,000 shekels. The hearing took place in Haifa in 2021."
QUESTION = "What compensation did the appraiser determine?"
GOOD = "The appraiser set a compensation of 50,000 shekels [S0]."
BAD = "The appraiser set a compensation of 80,000 shekels [S0]."


@pytest.fixture
def server(loopback: Loopback) -> Iterator[Served]:
    loopback.script(chat(GOOD))
    settings = {
        "openai.base_url": f"{loopback.url}/v1",
        "generator.provider": "openai",
        "generator.model": "scripted",
        "server.max_in_flight": 4,
        "limits.retries": 0,
    }
    with served(settings) as running:
        running.client.post("/v1/rag/documents", json={"documents": [{"id": "ruling", "text": RULING}]})
        yield running


def ask(server: Served, **more: Any) -> Any:
    answer = server.client.post("/v1/rag/chat", json={"message": QUESTION, **more})
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_documents_are_taken_in_listed_and_let_go(server: Served) -> None:
    given = {
        "documents": [{"text": "The café opens at nine.", "title": "Café"}, {"id": "a/b ç", "text": "Tea is free."}]
    }
    taken = server.client.post("/v1/rag/documents", json=given)
    assert taken.status_code == 201
    (own, named) = taken.json()["documents"]
    assert (own["title"], named["id"], named["passages"]) == ("Café", "a/b ç", 1)
    listed = server.client.get("/v1/rag/documents").json()
    assert {document["id"] for document in listed["documents"]} == {"ruling", "a/b ç", own["id"]}
    assert listed["meaning"] is True
    gone = server.client.delete("/v1/rag/documents", params={"id": ["a/b ç", own["id"]]})
    assert gone.json() == {"removed": 2}
    missing = server.client.delete("/v1/rag/documents", params={"id": "a/b ç"})
    assert (missing.status_code, missing.headers["content-type"]) == (404, "application/problem+json")


def test_an_answer_with_its_sources_and_its_check(server: Served, loopback: Loopback) -> None:
    reply = ask(server)
    assert list(reply) == ["success", "response", "sources", "hallucination_check", "warning"]
    assert (reply["success"], reply["response"], reply["warning"]) == (True, GOOD, None)
    assert [source["document"] for source in reply["sources"]] == ["ruling"]
    (claim,) = reply["hallucination_check"]["claims"]
    assert list(claim) == ["text", "citing", "p1", "p0", "confidence", "grounded", "warning"]
    assert (claim["citing"], claim["grounded"]) == (["S0"], True)
    assert "[S0] The appraiser determined" in loopback.requests[0].body["messages"][-1]["content"]


def test_a_wrong_answer_is_marked(server: Served, loopback: Loopback) -> None:
    loopback.script(chat(BAD))
    reply = ask(server)
    assert reply["hallucination_check"]["overall_grounded"] is False
    assert reply["warning"] == "Note: 1 claims in the answer are not fully supported by the sources."


def test_the_other_name_the_history_and_the_number_of_passages(server: Served, loopback: Loopback) -> None:
    history = [{"role": "user", "content": QUESTION}, {"role": "assistant", "content": GOOD}]
    asked = {"question": "And where was it?", "history": history, "top_k": 1}
    answer = server.client.post("/v1/rag/chat", json=asked)
    assert answer.status_code == 200
    assert [m["role"] for m in loopback.requests[0].body["messages"]] == ["system", "user", "assistant", "user"]


def events(answer: httpx.Response) -> list[tuple[str, Any]]:
    found = []
    for block in answer.text.strip().split("\n\n"):
        name, data = block.split("\n")
        found.append((name.removeprefix("event: "), json.loads(data.removeprefix("data: "))))
    return found


def streamed(request: Request) -> Reply:
    """The scripted answer, as the chunks of a stream to whoever asks for one."""
    if not request.body.get("stream"):
        return chat(GOOD)
    words = [f"{word} " for word in GOOD.split(" ")]
    chunks = [
        {"id": "x", "object": "chat.completion.chunk", "created": 0, "model": "m",
         "choices": [{"index": 0, "delta": {"content": word}, "finish_reason": None}]}
        for word in words
    ]  # fmt: skip
    lines = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks) + "data: [DONE]\n\n"
    return Reply(lines, content_type="text/event-stream")


def test_streamed_the_answer_comes_first_and_the_check_later(server: Served, loopback: Loopback) -> None:
    loopback.script(streamed)
    answer = server.client.post("/v1/rag/chat", json={"message": QUESTION, "stream": True})
    assert answer.headers["content-type"].startswith("text/event-stream")
    names = [name for name, _ in events(answer)]
    assert names[0] == "sources"
    assert names[-3:] == ["answer", "report", "check"]
    assert names[1:-3] == ["token"] * len(GOOD.split(" "))
    told = dict(events(answer))
    kept = server.client.get(f"/v1/reports/{told['report']['id']}")
    assert (kept.status_code, GOOD in kept.text) == (200, True)
    assert "".join(data["text"] for name, data in events(answer) if name == "token").strip() == GOOD
    assert told["answer"]["response"] == GOOD
    assert told["check"] == ask(server)


def test_a_stream_that_fails_ends_with_a_problem(server: Served, loopback: Loopback) -> None:
    loopback.script(refusal(500, "out of order"))
    answer = server.client.post("/v1/rag/chat", json={"message": QUESTION, "stream": True})
    (_, _), (name, problem) = events(answer)
    assert (name, problem["status"]) == ("error", 502)


def test_a_model_that_fails_is_a_problem(server: Served, loopback: Loopback) -> None:
    loopback.script(refusal(500, "out of order"))
    answer = server.client.post("/v1/rag/chat", json={"message": QUESTION})
    assert (answer.status_code, answer.headers["content-type"]) == (502, "application/problem+json")


def test_nothing_found_asks_no_model(server: Served, loopback: Loopback) -> None:
    reply = ask(server, message="Who painted the Mona Lisa?")
    assert (reply["sources"], loopback.requests) == ([], [])
    assert reply["response"] == "The documents say nothing about this."


@pytest.mark.spec("SPEC-08.39")
def test_under_load_the_check_is_left_out_and_the_reply_says_so(server: Served) -> None:
    with server.service.admission.admitted(), server.service.admission.admitted(), server.service.admission.admitted():
        reply = ask(server)
    assert (reply["response"], reply["hallucination_check"]) == (GOOD, None)
    assert reply["warning"] == "Note: the answer was not checked, because the server is busy."


def test_a_full_server_gets_429(server: Served) -> None:
    held = server.service.chat.admission
    with held.admitted(), held.admitted(), held.admitted(), held.admitted():
        for stream in (False, True):
            answer = server.client.post("/v1/rag/chat", json={"message": QUESTION, "stream": stream})
            assert (answer.status_code, "retry-after" in answer.headers) == (429, True)
    assert ask(server)["success"] is True


def test_two_ingest_at_once(server: Served) -> None:
    def add(number: int) -> None:
        body = {"documents": [{"id": f"d{number}-{n}", "text": f"Room {number} has {n} doors."} for n in range(5)]}
        assert server.client.post("/v1/rag/documents", json=body).status_code == 201

    threads = [threading.Thread(target=add, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(server.client.get("/v1/rag/documents").json()["documents"]) == 16


NO_QUESTIONS: list[Any] = [
    {}, {"message": ""}, {"message": " \n"}, {"message": "a", "question": "b"}, {"message": "x" * 20_001},
    {"message": "a", "top_k": 0}, {"message": "a", "top_k": 51}, {"message": 7}, {"message": "a", "other": 1},
    {"message": "a", "history": "b"}, {"message": "a", "history": [{"role": "user", "content": "b"}, 5]}, [],
]  # fmt: skip
NO_DOCUMENTS: list[Any] = [
    {}, {"text": ""}, {"text": " \n"}, {"text": "a", "id": ""}, {"text": "a", "id": "x" * 513}, {"id": "b"}
]  # fmt: skip


def test_invalid_requests_are_problems(server: Served) -> None:
    for body in NO_QUESTIONS:
        answer = server.client.post("/v1/rag/chat", json=body)
        assert (answer.status_code, answer.headers["content-type"]) == (422, "application/problem+json"), body
    for document in NO_DOCUMENTS:
        answer = server.client.post("/v1/rag/documents", json={"documents": [document]})
        assert answer.status_code == 422, document
    assert [d["id"] for d in server.client.get("/v1/rag/documents").json()["documents"]] == ["ruling"]


def test_without_a_model_that_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: object, **__: object) -> None:
        raise MissingExtra("the local model", "llm")

    monkeypatch.setattr("groundwire.llm.open_generator", missing)
    with served() as server:
        answer = server.client.post("/v1/rag/chat", json={"message": QUESTION})
        assert answer.status_code == 501
        assert "groundwire[llm]" in answer.json()["hint"]
        assert server.client.get("/v1/rag/documents").status_code == 200


def test_a_disconnect_cancels_the_work(server: Served, loopback: Loopback) -> None:
    loopback.script(Reply({}, hang=True))
    with server.client.stream("POST", "/v1/rag/chat", json={"message": QUESTION, "stream": True}) as answer:
        assert next(answer.iter_lines()) == "event: sources"
    for _ in range(500):
        if server.service.chat.admission.inside == 0:
            break
        threading.Event().wait(0.02)
    assert server.service.chat.admission.inside == 0
