"""The external backend against a real HTTP server on loopback, in good shape and in every bad one."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace

import pytest
from pydantic import SecretStr
from tests.loopback import Loopback, Reply, Request
from tests.serving import served, serving

from groundwire.config import Config
from groundwire.errors import BackendDown, BackendError, BackendTimeout, ConfigError, RateLimited
from groundwire.types import Query, Span
from groundwire.verifiers.backends import open_backend
from groundwire.verifiers.external import ExternalVerifier
from groundwire.verifiers.wrappers import failure_code

ONE = [Query("a", "context")]
TWO = [Query("a", "context"), Query("b", "context")]
FULL = {"probability": 0.7, "p_no": 0.2, "low": 0.6, "high": 0.9, "method": "theirs", "reason": "so it says"}


@pytest.fixture
def service() -> Iterator[Loopback]:
    server = Loopback()
    yield server
    server.close()


@pytest.fixture
async def verifier(service: Loopback) -> AsyncIterator[ExternalVerifier]:
    external = ExternalVerifier(f"{service.url}/", api_key=SecretStr("k3y"), timeout=30, max_body=10_000)
    yield external
    await external.aclose()


def by_length(request: Request) -> Reply:
    """A service that believes long claims."""
    if "claim" in request.body:
        return Reply({"probability": len(request.body["claim"]) / 100})
    return Reply({"probabilities": [len(claim) / 100 for claim in request.body["claims"]]})


class TestCalls:
    @pytest.mark.spec("SPEC-08.27", "SPEC-08.28")
    async def test_one_claim_is_the_single_call(self, service: Loopback, verifier: ExternalVerifier) -> None:
        service.script(Reply({"probability": 0.25}))
        (estimate,) = await verifier.estimate(ONE)
        assert (estimate.p_yes, estimate.p_no, estimate.p_unsure) == (0.25, 0.0, 0.75)
        (request,) = service.requests
        assert (request.path, request.body) == ("/v1/estimate", {"claim": "a", "context": "context"})
        assert request.headers["authorization"] == "Bearer k3y"

    @pytest.mark.spec("SPEC-08.28", "SPEC-08.29")
    async def test_several_claims_over_one_context_are_one_batch_call(
        self, service: Loopback, verifier: ExternalVerifier
    ) -> None:
        service.script(Reply({"probabilities": [0.1, 0.9]}))
        assert [e.p_yes for e in await verifier.estimate(TWO)] == [0.1, 0.9]
        (request,) = service.requests
        assert (request.path, request.body) == ("/v1/estimate/batch", {"claims": ["a", "b"], "context": "context"})

    async def test_each_context_is_a_request_and_answers_keep_their_order(
        self, service: Loopback, verifier: ExternalVerifier
    ) -> None:
        service.script(by_length)
        queries = [Query("x" * n, "even" if n % 2 == 0 else "odd") for n in range(1, 6)]
        assert [e.p_yes for e in await verifier.estimate(queries)] == [0.01, 0.02, 0.03, 0.04, 0.05]
        assert len(service.requests) == 2

    async def test_the_question_goes_along(self, service: Loopback, verifier: ExternalVerifier) -> None:
        service.script(by_length)
        await verifier.estimate([Query("a", "context", "why?")])
        assert service.requests[0].body["question"] == "why?"

    async def test_a_full_estimate_is_taken_over(self, service: Loopback, verifier: ExternalVerifier) -> None:
        service.script(Reply({"estimates": [FULL, {"error": "too long"}]}))
        good, bad = await verifier.estimate(TWO)
        assert (good.p_yes, good.p_no, good.low, good.high) == (0.7, 0.2, 0.6, 0.9)
        assert (good.method, good.reason) == ("theirs", "so it says")
        assert bad.error == "error: too long"

    async def test_no_key_no_header(self, service: Loopback) -> None:
        service.script(by_length)
        external = ExternalVerifier(service.url)
        await external.estimate(ONE)
        await external.aclose()
        assert "authorization" not in service.requests[0].headers

    async def test_nothing_asked_nothing_sent(self, service: Loopback, verifier: ExternalVerifier) -> None:
        assert await verifier.estimate([]) == []
        assert service.requests == []


class TestNonsense:
    @pytest.mark.parametrize(
        "body",
        [
            "",
            "{",
            "[]",
            "null",
            "{}",
            '{"probability": null}',
            '{"probability": 1.5}',
            '{"probability": -0.1}',
            '{"probability": NaN}',
            '{"probability": Infinity}',
            '{"probability": "0.5"}',
            '{"probability": true}',
            '{"probability": 0.5, "low": 2}',
            '{"probability": 1.0, "p_no": 1.0}',
            '{"probability": 0.9, "p_no": 0.2}',
        ],
    )
    async def test_of_one_claim(self, service: Loopback, verifier: ExternalVerifier, body: str) -> None:
        service.script(Reply(body))
        with pytest.raises(BackendDown):
            await verifier.estimate(ONE)

    @pytest.mark.parametrize(
        "body",
        [
            '{"probabilities": [0.1]}',
            '{"probabilities": [0.1, 0.2, 0.3]}',
            '{"estimates": [{}, {}]}',
            "{}",
            '{"probabilities": 1}',
        ],
    )
    async def test_of_a_batch(self, service: Loopback, verifier: ExternalVerifier, body: str) -> None:
        service.script(Reply(body))
        with pytest.raises(BackendDown):
            await verifier.estimate(TWO)

    async def test_another_content_type(self, service: Loopback, verifier: ExternalVerifier) -> None:
        service.script(Reply("<html>", content_type="text/html; charset=utf-8"))
        with pytest.raises(BackendDown, match="text/html instead of JSON"):
            await verifier.estimate(ONE)

    async def test_a_body_without_end(self, service: Loopback, verifier: ExternalVerifier) -> None:
        service.script(Reply('{"probability": 0.5, "x": "' + "x" * 20_000 + '"}'))
        with pytest.raises(BackendDown, match="more than 10000 bytes"):
            await verifier.estimate(ONE)

    async def test_an_interval_beside_its_point_is_widened_to_hold_it(
        self, service: Loopback, verifier: ExternalVerifier
    ) -> None:
        service.script(Reply({"probability": 0.5, "p_no": 0.5005, "low": 0.6, "high": 0.4}))
        (estimate,) = await verifier.estimate(ONE)
        assert (estimate.low, estimate.high, estimate.p_no) == (0.5, 0.5, 0.5)


class TestFailures:
    @pytest.mark.spec("SPEC-08.42")
    async def test_429_is_rate_limited_with_the_wait_it_asks_for(
        self, service: Loopback, verifier: ExternalVerifier
    ) -> None:
        service.script(Reply(status=429, headers={"retry-after": "7"}))
        with pytest.raises(RateLimited) as caught:
            await verifier.estimate(ONE)
        assert caught.value.retry_after == 7.0

    @pytest.mark.parametrize(
        ("status", "kind", "retryable", "words"),
        [
            (400, BackendError, False, "refused the request"),
            (401, BackendError, False, "set external.api_key"),
            (404, BackendDown, False, "check external.url"),
            (408, BackendTimeout, True, "in time"),
            (500, BackendDown, True, "failed"),
            (302, BackendError, False, "refused the request"),
            (503, BackendDown, True, "failed"),
        ],
    )
    async def test_other_statuses(
        self,
        service: Loopback,
        verifier: ExternalVerifier,
        status: int,
        kind: type[BackendError],
        retryable: bool,
        words: str,
    ) -> None:
        service.script(Reply("k3y is what you sent", status=status))
        with pytest.raises(kind, match=words) as caught:
            await verifier.estimate(ONE)
        assert caught.value.retryable is retryable
        assert "k3y" not in str(caught.value)

    @pytest.mark.spec("SPEC-08.42")
    async def test_a_server_that_hangs(self, service: Loopback) -> None:
        service.script(Reply(hang=True))
        external = ExternalVerifier(service.url, timeout=0.05)
        with pytest.raises(BackendTimeout, match=r"within 0\.05 s"):
            await external.estimate(ONE)
        await external.aclose()

    async def test_a_body_that_breaks_off(self, service: Loopback, verifier: ExternalVerifier) -> None:
        service.script(Reply({"probability": 0.5}, cut=True))
        with pytest.raises(BackendDown, match="broke off") as caught:
            await verifier.estimate(ONE)
        assert caught.value.retryable

    async def test_nobody_there(self) -> None:
        with socket.socket() as unused:
            unused.bind(("127.0.0.1", 0))
            external = ExternalVerifier(f"http://127.0.0.1:{unused.getsockname()[1]}", timeout=5)
            with pytest.raises(BackendDown, match="cannot reach") as caught:
                await external.estimate(ONE)
            await external.aclose()
        assert caught.value.retryable

    @pytest.mark.spec("SPEC-08.43")
    async def test_a_failed_context_costs_its_own_claims(self, service: Loopback, verifier: ExternalVerifier) -> None:
        service.script(lambda r: by_length(r) if r.body["context"] == "good" else Reply(status=500))
        estimates = await verifier.estimate([Query("a", "bad"), Query("a", "good")])
        assert [failure_code(e) for e in estimates] == ["error", None]

    @pytest.mark.parametrize(
        "url", ["", "localhost:80", "ftp://host", "http://[", "http://h:port", "http://", "file:///x"]
    )
    def test_an_address_that_is_none(self, url: str) -> None:
        with pytest.raises(ConfigError, match=r"external\.url"):
            ExternalVerifier(url)


class TestAnotherGroundwire:
    """A server of ours behind the backend: what the embedded model says comes through whole."""

    QUERIES = (
        Query("The tower is 450 metres tall.", "The tower is 330 metres tall. It stands in Paris."),
        Query("It stands in Paris.", "The tower is 330 metres tall. It stands in Paris."),
        Query("Bananas are blue.", "[EVIDENCE REMOVED]"),
        Query("הגובה הוא 330 מטר.", "הגובה הוא 330 מטר.", "מה הגובה?"),
    )

    async def test_estimates_come_through_unchanged(self) -> None:
        direct = await open_backend(Config(), name="local").verifier.estimate(self.QUERIES)
        with serving() as url:
            external = ExternalVerifier(url)
            served = await external.estimate(self.QUERIES)
            await external.aclose()
        # what is unsure is the rest, and adding it up anew may differ in the last digit
        assert [replace(e, p_unsure=0.0) for e in served] == [replace(e, p_unsure=0.0) for e in direct]
        assert [e.p_unsure for e in served] == pytest.approx([e.p_unsure for e in direct])
        assert any(estimate.spans for estimate in served)
        assert {estimate.speaks for estimate in served} >= {True, False}

    async def test_spans_that_are_none_are_left_out(self, service: Loopback, verifier: ExternalVerifier) -> None:
        places = [{"start": 0, "end": 1}, {"start": 1, "end": 1}, {"start": 0, "end": 2}]
        service.script(Reply({**FULL, "spans": places, "speaks": False}))
        (estimate,) = await verifier.estimate(ONE)
        assert (estimate.spans, estimate.speaks) == ((Span(0, 1),), False)

    @pytest.mark.parametrize("place", [{"start": -1, "end": 1}, {"start": 0}, {"start": 0, "end": 1, "score": 7}, 3])
    async def test_spans_that_are_nonsense_are_said_to_be(
        self, service: Loopback, verifier: ExternalVerifier, place: object
    ) -> None:
        service.script(Reply({**FULL, "spans": [place]}))
        with pytest.raises(BackendDown, match="invalid response"):
            await verifier.estimate(ONE)

    async def test_a_full_server_is_one_that_asks_to_come_back(self) -> None:
        with served({"hallucination.backend.type": "fake", "server.max_in_flight": 1}) as running:
            running.service.admission.inside += 1.0
            external = ExternalVerifier(running.url)
            with pytest.raises(RateLimited) as told:
                await external.estimate(ONE)
            await external.aclose()
        assert told.value.retry_after == 1.0
