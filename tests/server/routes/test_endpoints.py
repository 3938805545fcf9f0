"""The endpoints beside /v1/check: claims, traces, detectors, estimates, health and figures."""

from __future__ import annotations

from typing import Any

import pytest
from tests.serving import Served, served

from groundwire import Config, Groundwire
from groundwire.types import Status
from groundwire.version import __version__

SOURCE = "Acme was founded in 1987 in Berlin. It has 40 employees."


def post(server: Served, path: str, **asked: Any) -> Any:
    answer = server.client.post(path, json=asked)
    assert answer.status_code == 200, answer.text
    return answer.json()


@pytest.mark.parametrize(
    "asked",
    [
        {"claim": "It has 40 employees.", "evidence": SOURCE},
        {"claims": ["It has 40 employees."], "evidence": [SOURCE]},
        {"text": "It has 40 employees.", "sources": {"S0": SOURCE}},
    ],
)
def test_claims_are_verified_one_by_one(plain: Served, asked: dict[str, Any]) -> None:
    found = post(plain, "/v1/claims/verify", confidence=0.8, **asked)
    (claim,) = found["claims"]
    assert (claim["status"], claim["confidence"], found["backend"]) == ("ENTAILED", 0.8, "fake")


def test_several_claims_keep_their_order(plain: Served) -> None:
    claims = ["It has 40 employees.", "It has 50 employees.", "Acme was founded in 1987 in Berlin."]
    found = post(plain, "/v1/claims/verify", claims=claims, context=SOURCE)
    assert [claim["text"] for claim in found["claims"]] == claims
    assert [claim["flagged"] for claim in found["claims"]] == [False, True, False]


def test_a_reasoning_is_audited(plain: Served) -> None:
    steps = [{"claim": "It has 40 employees.", "cites": ["S0"]}, "It has 50 employees."]
    found = post(plain, "/v1/traces/audit", steps=steps, sources=[SOURCE], question="How many?", answer="40")
    assert [step["flagged"] for step in found["steps"]] == [False, True]
    assert found["post_hoc"]["answer"] == "40"


def test_a_trace_is_read_as_the_command_line_reads_it(plain: Served) -> None:
    trace = f'{{"steps": [{{"claim": "It has 40 employees.", "cites": ["D1"]}}], "sources": {{"D1": "{SOURCE}"}}}}'
    found = post(plain, "/v1/traces/audit", trace=trace)
    assert found["steps"][0]["status"] == "ENTAILED"


def test_detectors_work_without_bits(plain: Served) -> None:
    said = [{"role": "assistant", "content": "Acme was founded in 1987."}]
    found = post(plain, "/v1/detect", response="Acme was founded in 1990.", history=said)
    assert found["flagged"] is True
    assert found["flags"][0]["type"]
    assert found["detectors_skipped"]


def test_estimates_are_bare_probabilities(plain: Served) -> None:
    one = post(plain, "/v1/estimate", claim="It has 40 employees.", context=SOURCE)
    many = post(plain, "/v1/estimate/batch", claims=["It has 40 employees.", "No."], context=SOURCE)
    assert one == many["estimates"][0]
    assert one["probability"] > 0.9 > many["estimates"][1]["probability"]


async def test_the_external_backend_calls_the_server(server: Served) -> None:
    """The backend `external`, for real: the same verdicts as the embedded model gives here."""
    config = Config.load(overrides={"hallucination.backend.type": "external", "external.url": server.url})
    answer = "Acme was founded in 1987. It has 400 employees."
    async with Groundwire(config) as other, Groundwire() as here:
        far, near = await other.check(answer, SOURCE), await here.check(answer, SOURCE)
    assert far.backend == "external"
    assert [claim.status for claim in far.claims] == [claim.status for claim in near.claims]
    assert [claim.p1 for claim in far.claims] == pytest.approx([claim.p1 for claim in near.claims])


async def test_a_server_behind_a_server_with_keys(plain: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the key the claims are unchecked, never fine."""
    with served({"hallucination.backend.type": "fake", "server.auth": "always"}) as far:
        config = Config.load(overrides={"hallucination.backend.type": "external", "external.url": far.url})
        async with Groundwire(config) as other:
            report = await other.check("It has 40 employees.", SOURCE)
    assert (report.flagged, report.claims[0].status) == (None, Status.UNCHECKED)


def test_it_is_alive_and_ready(plain: Served) -> None:
    assert plain.client.get("/healthz").json() == {"status": "ok", "version": __version__}
    assert plain.client.head("/healthz").status_code == plain.client.head("/readyz").status_code == 200
    assert plain.client.get("/readyz").json() == {"status": "ready", "model": "ok", "store": "ok"}


def test_it_is_not_ready_without_its_store() -> None:
    settings = {
        "hallucination.backend.type": "fake",
        "store.url": "postgresql://nobody@127.0.0.1:1/none",
        "server.keep_reports": False,
    }
    with served(settings) as running:
        answer = running.client.get("/readyz")
        assert (answer.status_code, answer.json()["title"]) == (503, "Temporarily unavailable")
        refused = running.client.get("/v1/facts")
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "5")
        assert "postgresql" not in answer.text + refused.text, "where the store is, is nobody's business"
        judged = running.client.post("/v1/check", json={"response": "It has 40 employees.", "context": SOURCE})
        assert judged.json()["flagged"] is False, "a check needs no store"


def test_figures_of_engine_and_http(plain: Served) -> None:
    post(plain, "/v1/claims/verify", claim="It has 40 employees.", evidence=SOURCE)
    plain.client.get("/v1/kb/entities/nobody")
    text = plain.client.get("/metrics").text
    assert 'groundwire_http_requests_total{method="POST",route="/v1/claims/verify",status="200"}' in text
    assert 'route="/v1/kb/entities/{entity_id:path}",status="404"' in text
    assert 'groundwire_claims_verified_total{backend="fake"}' in text
    assert "nobody" not in text
