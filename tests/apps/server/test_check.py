"""`POST /v1/check` on a real server."""

from __future__ import annotations

from tests.serving import Served


def test_an_answer_is_judged(server: Served) -> None:
    asked = {"response": "Paris has 67 million people.", "sources": {"S0": "Paris has 2 million people."}}
    answer = server.client.post("/v1/check", json=asked)
    assert answer.status_code == 200
    assert answer.json()["flagged"] is True
    assert answer.json()["claims"][0]["status"] == "CONTRADICTED"
