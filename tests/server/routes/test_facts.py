"""Facts over HTTP: through the gate, and never lost once the server said yes."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.loopback import Loopback, refusal
from tests.serving import Served, process, served

from groundwire.stores.knowledge_base import Knowledge

SOURCE = "Acme was founded in 1987 in Berlin. It has 40 employees."


def add(server: Served, **asked: Any) -> httpx.Response:
    return server.client.post("/v1/facts", json=asked)


def test_a_supported_fact_is_stored(plain: Served) -> None:
    answer = add(plain, fact="Acme was founded in 1987 in Berlin.", sources=[SOURCE])
    assert (answer.status_code, answer.json()["status"]) == (201, "verified")
    again = plain.client.get(f"/v1/facts/{answer.json()['id']}")
    assert again.json()["text"] == "Acme was founded in 1987 in Berlin."
    assert answer.json()["id"] in [fact["id"] for fact in plain.client.get("/v1/facts").json()["facts"]]


def test_a_fact_without_grounds_is_refused_with_its_gap(plain: Served) -> None:
    answer = add(plain, fact="Acme was founded in 1890 in Rome.", sources=[SOURCE])
    problem = answer.json()
    assert (answer.status_code, problem["type"]) == (422, "/docs#problem-not-grounded")
    assert problem["gap_bits"] > 0
    assert problem["code"] == "ErrFactNotGrounded"
    refused = plain.client.get("/v1/facts/rejected").json()["rejected"]
    assert "Acme was founded in 1890 in Rome." in [one["text"] for one in refused]


def test_a_fact_in_roles(plain: Served) -> None:
    roles = {"subject": "Acme", "object": "Berlin", "since": "1987"}
    answer = add(plain, predicate="based in", roles=roles, fact="It has 40 employees.", sources=[SOURCE])
    assert [role["name"] for role in answer.json()["roles"]] == ["subject", "object", "since"]
    found = plain.client.get("/v1/kb/entities", params={"q": "Acme"}).json()["entities"]
    assert found[0]["name"] == "Acme"
    known = plain.client.get(f"/v1/kb/entities/{found[0]['id']}").json()
    assert "based in" in [fact["predicate"] for fact in known["facts"]]
    assert plain.client.get("/v1/kb").json()["facts"] >= 1


def test_without_evidence_there_is_nothing_to_verify(plain: Served) -> None:
    answer = add(plain, fact="Acme is nice.")
    assert (answer.status_code, answer.json()["detail"]) == (422, "there are no sources")
    assert add(plain, fact="Acme is nice.", verify=False).json()["status"] == "asserted"


@pytest.mark.parametrize(
    "asked", [{}, {"fact": " "}, {"roles": {"subject": "x"}}, {"predicate": "is"}, {"fact": "x" * 20_001}]
)
def test_no_fact_is_a_problem(plain: Served, asked: dict[str, Any]) -> None:
    assert add(plain, context="x", **asked).status_code == 422


def test_texts_no_database_takes(plain: Served) -> None:
    assert add(plain, fact="It has \x00 employees.", context="It has \x00 employees.").status_code == 422
    assert plain.client.get("/v1/facts/%00").status_code == 400
    assert plain.client.get("/v1/kb/entities", params={"q": "\x00"}).status_code == 400


def test_unknown_ids_get_404(plain: Served) -> None:
    for path in ("/v1/facts/nothing", "/v1/kb/entities/nobody", "/v1/kb/entities/a/b"):
        answer = plain.client.get(path)
        assert (answer.status_code, answer.json()["type"]) == (404, "/docs#problem-not-found")


def test_to_store_unverified_takes_a_key_for_it() -> None:
    from groundwire.stores.keys import KeyStore

    with served({"hallucination.backend.type": "fake", "server.auth": "always"}) as running:
        _, token = KeyStore(running.service.database).add("writer", ["facts:write"])
        running.client.headers["x-groundwire-key"] = token
        assert add(running, fact="Acme is nice.", verify=False).status_code == 403
        assert add(running, fact="Acme is nice.", context="Acme is nice.").status_code == 201


def test_a_rate_limited_fact_is_pending_and_verified_later(loopback: Loopback) -> None:
    """202: pending, with a job; the server itself works it off once the backend answers."""
    loopback.script(refusal(429, "later", retry_after="0"))
    settings = {
        "hallucination.backend.type": "openai",
        "openai.base_url": f"{loopback.url}/v1",
        "openai.api_key": "k",
        "limits.retries": 0,
    }
    with served(settings) as running:
        answer = add(running, fact="Acme was founded in 1987.", sources=[SOURCE])
        assert (answer.status_code, answer.json()["status"]) == (202, "pending")
        listed = running.client.get("/v1/facts", params={"status": "pending"}).json()["facts"]
        assert [fact["id"] for fact in listed] == [answer.json()["id"]]


def test_a_killed_server_has_lost_no_fact_it_accepted(tmp_path: Path) -> None:
    store = tmp_path / "facts.db"
    accepted = []
    with (
        process("--backend", "fake", "--store", str(store)) as (started, url),
        httpx.Client(base_url=url, trust_env=False) as client,
    ):
        for number in range(30):
            text = f"Machine {number} has {number + 2} wheels."
            answer = client.post("/v1/facts", json={"fact": text, "context": text})
            assert answer.status_code == 201
            accepted.append(answer.json()["id"])
        started.send_signal(signal.SIGKILL)
        started.wait(10)
    with Knowledge.open(str(store), create=False) as kept:
        assert all(kept.fact(identity) for identity in accepted)
