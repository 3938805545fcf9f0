"""`/v1/outputs`: an agent's answer verified on its way to the user, at once or later, and never refused."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.serving import Served, served

SAID = [{"role": "tool", "content": "order 17: 3 lamps, ships Tuesday"}]


@pytest.mark.spec("SPEC-08.19", "SPEC-08.21")
def test_an_output_is_verified_while_its_caller_waits(plain: Served) -> None:
    answer = plain.client.post("/v1/outputs", json={"response": "It ships on Monday.", "history": SAID, "wait": 20})
    found = answer.json()
    assert (answer.status_code, found["status"], found["flagged"]) == (200, "verified", True)
    assert "It ships on Monday." in found["feedback"]
    again = plain.client.get(f"/v1/outputs/{found['id']}")
    assert (again.status_code, again.json()) == (200, found)


@pytest.mark.spec("SPEC-08.39")
def test_a_pending_output_can_be_asked_for(plain: Served) -> None:
    answer = plain.client.post("/v1/outputs", json={"response": "It ships on Monday.", "history": SAID})
    found = answer.json()
    assert (answer.status_code, found["status"]) in ((202, "pending"), (200, "verified"))
    later = plain.client.get(f"/v1/outputs/{found['id']}", params={"wait": 20}).json()
    assert (later["status"], later["flagged"]) == ("verified", True)


@pytest.mark.spec("SPEC-08.39")
@pytest.mark.parametrize("inside", [0.75, 1.0])
def test_a_busy_server_leaves_it_out_and_says_so(plain: Served, inside: float) -> None:
    admission = plain.service.admission
    admission.inside += inside * admission.capacity
    try:
        answer = plain.client.post("/v1/outputs", json={"response": "It is red.", "history": SAID, "wait": 20})
    finally:
        admission.inside -= inside * admission.capacity
    assert answer.status_code == 200
    assert (answer.json()["status"], answer.json()["reason"]) == ("skipped", "the server is busy")


def test_an_unknown_output_gets_404(plain: Served) -> None:
    answer = plain.client.get("/v1/outputs/nothing")
    assert answer.status_code == 404
    assert answer.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize("wait", [-1, 31, "x", "NaN"])
def test_the_wait_is_bounded(plain: Served, wait: object) -> None:
    assert plain.client.get("/v1/outputs/x", params={"wait": str(wait)}).status_code == 422
    body = {"response": "It is red.", "history": SAID, "wait": wait}
    assert plain.client.post("/v1/outputs", json=body).status_code == 422


@pytest.fixture
def stopped() -> Iterator[str]:
    with served({"hallucination.backend.type": "fake"}) as running:
        answer = running.client.post("/v1/outputs", json={"response": "It is red.", "history": SAID})
        yield answer.json()["status"]


def test_a_server_stops_with_outputs_under_way(stopped: str) -> None:
    assert stopped in ("pending", "verified")
