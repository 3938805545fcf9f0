"""From a name in the configuration to answers: the real SDKs against a server on loopback."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from math import isfinite
from typing import get_args

import pytest
from tests.figures import figures as figures_of
from tests.loopback import Loopback, Reply, Request, chat, claude, do_without

from groundwire.config import BackendName, BuiltinBackend, Config, Operation
from groundwire.errors import BackendTimeout, ConfigError, MissingExtra, RateLimited
from groundwire.metrics import Metrics
from groundwire.types import Estimate, Query, Verifier
from groundwire.verifiers import backends
from groundwire.verifiers.backends import OPENERS, Backend, open_backend
from groundwire.verifiers.fake import FakeVerifier
from groundwire.verifiers.wrappers import (
    Retry,
    SafeVerifier,
    as_error,
    batch_estimate,
    estimate_probability,
    failure_code,
)

FACT = "The sky is blue on a clear day."
QUERIES = [Query(f"claim {i}", "the context") for i in range(4)]
Open = Callable[..., AbstractAsyncContextManager[Backend]]


@pytest.fixture
def service() -> Iterator[Loopback]:
    server = Loopback()
    server.script(lambda _: chat("YES", top={"YES": 0.9, "NO": 0.05}))
    yield server
    server.close()


@pytest.fixture
def opening(service: Loopback, monkeypatch: pytest.MonkeyPatch) -> Open:
    """Opens a backend that finds everything it needs on loopback, and never really waits."""

    async def at_once(_: float) -> None: ...

    monkeypatch.setattr(backends, "Retry", partial(Retry, sleep=at_once))
    here = {
        "openai.base_url": service.url,
        "openai.model": "m",
        "openai.claims_per_request": 1,
        "anthropic.base_url": service.url,
        "external.url": service.url,
    }

    @asynccontextmanager
    async def open_it(
        name: BackendName | None = None, operation: Operation = "output", metrics: Metrics | None = None, **more: object
    ) -> AsyncIterator[Backend]:
        given = {key.replace("__", "."): value for key, value in more.items()}
        backend = open_backend(Config.load(overrides={**here, **given}), operation, name, metrics=metrics)
        try:
            yield backend
        finally:
            await backend.aclose()

    return open_it


class TestNames:
    @pytest.mark.spec("SPEC-08.27")
    def test_every_name_of_the_configuration_has_an_opener(self) -> None:
        assert set(OPENERS) == set(get_args(BuiltinBackend)) - {"configurable", "cascade"}

    async def test_local_needs_nothing_and_brings_its_calibration(self) -> None:
        backend = open_backend(Config())
        good, bad = await backend.verifier.estimate(
            [
                Query("Paris has 67 people.", "Paris has 67 people."),
                Query("Paris has 9 people.", "Paris has 67 people."),
            ]
        )
        assert good.p_yes > 0.5 > bad.p_yes
        assert backend.name == "local"
        assert isfinite(backend.threshold_bits)

    @pytest.mark.spec("SPEC-08.27")
    async def test_openai_reads_logprobs(self, opening: Open) -> None:
        async with opening("openai") as backend:
            (estimate,) = await backend.verifier.estimate(QUERIES[:1])
        assert estimate.p_yes == pytest.approx(0.9 / 0.95, abs=0.05)
        assert (backend.name, backend.model, backend.threshold_bits) == ("openai", "m", 2.0)

    @pytest.mark.spec("SPEC-08.27")
    async def test_haiku_asks_claude(self, opening: Open, service: Loopback) -> None:
        service.script(lambda _: claude("0.9 SUPPORTED it says so"))
        async with opening("haiku") as backend:
            (estimate,) = await backend.verifier.estimate(QUERIES[:1])
        assert estimate.error is None
        assert {request.path for request in service.requests} == {"/v1/messages"}
        assert backend.model == service.requests[0].body["model"]

    @pytest.mark.spec("SPEC-08.27")
    @pytest.mark.parametrize(("provider", "path"), [("openai", "/chat/completions"), ("anthropic", "/v1/messages")])
    async def test_self_asks_the_model_that_writes_the_answers(
        self, opening: Open, service: Loopback, provider: str, path: str
    ) -> None:
        if provider == "anthropic":
            service.script(lambda _: claude("0.9 SUPPORTED it says so"))
        async with opening("self", generator__provider=provider, generator__model="writer") as backend:
            (estimate,) = await backend.verifier.estimate(QUERIES[:1])
        assert (estimate.error, backend.model) == (None, "writer")
        assert (service.requests[0].path, service.requests[0].body["model"]) == (path, "writer")

    @pytest.mark.llm
    @pytest.mark.parametrize("provider", ["openai", "anthropic", "llm"])
    async def test_a_language_model_reads_the_selected_evidence_and_no_more_than_it_can(
        self, opening: Open, provider: str
    ) -> None:
        try:
            async with opening("self", generator__provider=provider) as backend:
                assert backend.context_tokens == 1000
            async with opening(
                "self", generator__provider=provider, openai__context_tokens=500, anthropic__context_tokens=500
            ) as backend:
                assert backend.context_tokens == 500
        except MissingExtra as missing:
            do_without(missing)

    async def test_the_claims_of_an_answer_share_a_request(self, opening: Open, service: Loopback) -> None:
        words = {str(number): "YES" for number in range(1, 5)}
        service.script(lambda _: chat(json.dumps(words)))
        async with opening("openai", openai__claims_per_request=8, openai__samples=1) as backend:
            estimates = await backend.verifier.estimate(QUERIES)
        assert [e.method for e in estimates] == ["openai/sampling(1)"] * 4
        first, second = service.requests  # the first showed that the server has no logprobs
        assert first.body["response_format"]["type"] == "json_schema"
        assert all(query.claim in second.body["messages"][-1]["content"] for query in QUERIES)

    @pytest.mark.spec("SPEC-08.27")
    async def test_external_asks_a_service(self, opening: Open, service: Loopback) -> None:
        service.script(lambda r: Reply({"probabilities": [0.5] * len(r.body["claims"])}))
        async with opening("external") as backend:
            estimates = await backend.verifier.estimate(QUERIES)
        assert [e.p_yes for e in estimates] == [0.5] * 4
        assert len(service.requests) == 1
        assert backend.model in service.url

    @pytest.mark.spec("SPEC-08.27")
    async def test_configurable_opens_what_the_operation_needs(self, opening: Open) -> None:
        table = {
            "hallucination__backend__type": "configurable",
            "hallucination__backend__default": "fake",
            "hallucination__backend__operations": {"trace": "openai"},
        }
        for operation, name in (("trace", "openai"), ("output", "fake")):
            async with opening(None, operation, **table) as backend:
                assert backend.name == name

    async def test_a_name_given_here_wins(self, opening: Open) -> None:
        async with opening("fake", hallucination__backend__type="openai") as backend:
            assert backend.name == "fake"

    @pytest.mark.parametrize(
        ("name", "package", "extra"), [("openai", "openai", "openai"), ("haiku", "anthropic", "anthropic")]
    )
    def test_a_missing_package_is_one_line_with_the_cure(
        self, monkeypatch: pytest.MonkeyPatch, name: BackendName, package: str, extra: str
    ) -> None:
        monkeypatch.setitem(sys.modules, package, None)
        monkeypatch.delitem(sys.modules, f"groundwire.llm.{package}", raising=False)
        with pytest.raises(MissingExtra, match=rf"pip install 'groundwire\[{extra}\]'"):
            open_backend(Config(), name=name)

    def test_external_without_an_address_is_one_line_with_the_cure(self) -> None:
        with pytest.raises(ConfigError, match=r"set external\.url"):
            open_backend(Config(), name="external")


class TestProtection:
    @pytest.mark.spec("SPEC-08.42", "SPEC-08.43")
    async def test_one_failed_claim_is_unchecked_and_the_rest_go_on(self, opening: Open, service: Loopback) -> None:
        def script(request: Request) -> Reply:
            bad = "claim 2" in str(request.body["messages"])
            return Reply("no", 400) if bad else chat("YES", top={"YES": 0.9, "NO": 0.1})

        service.script(script)
        async with opening("openai") as backend:
            estimates = await backend.verifier.estimate(QUERIES)
        assert [failure_code(e) for e in estimates] == [None, None, "error", None]

    @pytest.mark.spec("SPEC-08.43")
    @pytest.mark.parametrize(("status", "reached"), [(400, True), (401, False)])
    async def test_many_refused_queries_cost_no_other_claim_but_a_wrong_key_ends_it(
        self, opening: Open, service: Loopback, status: int, reached: bool
    ) -> None:
        def script(request: Request) -> Reply:
            bad = "good" not in str(request.body["messages"])
            return Reply("no", status) if bad else chat("YES", top={"YES": 0.9, "NO": 0.1})

        service.script(script)
        queries = [*(Query(f"claim {i}", "the context") for i in range(9)), Query("good", "the context")]
        async with opening("openai", limits__concurrency=1) as backend:
            estimates = await backend.verifier.estimate(queries)
        assert [e.error is None for e in estimates] == [False] * 9 + [reached]

    async def test_a_hiccup_is_asked_again(self, opening: Open, service: Loopback) -> None:
        service.script(Reply("", 500), Reply("", 429, {"retry-after": "1"}), chat("YES", top={"YES": 0.9, "NO": 0.1}))
        async with opening("openai", limits__retries=2) as backend:
            (estimate,) = await backend.verifier.estimate(QUERIES[:1])
        assert (estimate.error, len(service.requests)) == (None, 3)

    @pytest.mark.spec("SPEC-08.42")
    async def test_a_rate_limit_is_recognisable_afterwards(self, opening: Open, service: Loopback) -> None:
        service.script(Reply("", 429, {"retry-after": "3600"}))
        async with opening("openai") as backend:
            estimates = await backend.verifier.estimate(QUERIES)
        assert {failure_code(e) for e in estimates} == {"rate_limited"}

    async def test_a_dead_server_is_not_asked_for_every_claim(self, opening: Open, service: Loopback) -> None:
        service.script(Reply("", 500))
        queries = [Query(f"claim {i}", f"context {i}") for i in range(50)]
        async with opening("openai", limits__breaker_failures=3, limits__concurrency=1) as backend:
            estimates = await backend.verifier.estimate(queries)
        assert all(e.error for e in estimates)
        assert len(service.requests) == 3

    @pytest.mark.spec("SPEC-08.38", "SPEC-08.42")
    async def test_the_memory_gate_gets_its_answer_in_its_own_time(self, opening: Open, service: Loopback) -> None:
        service.script(Reply(hang=True))
        async with opening("openai", "memory_gate", hallucination__memory_gate__timeout=0.05) as backend:
            (estimate,) = await backend.verifier.estimate(QUERIES[:1])
        assert failure_code(estimate) == "timeout"

    @pytest.mark.spec("SPEC-08.42")
    async def test_the_memory_gate_hears_of_a_rate_limit_at_once_and_for_how_long(
        self, opening: Open, service: Loopback
    ) -> None:
        service.script(Reply("", 429, {"retry-after": "20"}))
        async with opening("openai", "memory_gate") as backend:
            (estimate,) = await backend.verifier.estimate(QUERIES[:1])
        error = as_error(estimate)
        assert isinstance(error, RateLimited)
        assert (error.retry_after, len(service.requests)) == (20.0, 1)

    @pytest.mark.spec("SPEC-08.42")
    async def test_a_limit_of_our_own_puts_the_gate_off_as_well(self, opening: Open, service: Loopback) -> None:
        service.script(chat("YES", top={"YES": 0.9, "NO": 0.1}))
        async with opening("openai", "memory_gate", limits__requests_per_second=0.01) as backend:
            first, second = await backend.verifier.estimate(QUERIES[:2])
        assert {failure_code(first), failure_code(second)} == {None, "rate_limited"}

    @pytest.mark.spec("SPEC-16.26")
    @pytest.mark.parametrize("parallel", [True, False])
    async def test_claims_are_verified_side_by_side_unless_told_otherwise(
        self, opening: Open, monkeypatch: pytest.MonkeyPatch, parallel: bool
    ) -> None:
        fake = FakeVerifier()
        raw = backends.BackendSpec(fake, "m", "i", 100, 2.0, requests=1, at_once=1)
        monkeypatch.setitem(OPENERS, "openai", lambda _: raw)
        async with opening("openai", verification__parallel_verification=parallel) as backend:
            await backend.verifier.estimate([Query("a", f"context {i}") for i in range(6)])
        assert fake.peak == (6 if parallel else 1)


class TestCache:
    @pytest.mark.spec("SPEC-08.30", "SPEC-16.32")
    async def test_answers_are_found_again_after_a_restart(self, opening: Open, service: Loopback) -> None:
        metrics = Metrics()
        for asked in (4, 4):
            async with opening("openai", metrics=metrics) as backend:
                estimates = await backend.verifier.estimate(QUERIES)
            assert len(service.requests) == asked
        assert all(e.cached for e in estimates)
        assert figures_of(metrics).cache_hit_rate == 0.5

    async def test_another_model_has_its_own_answers(self, opening: Open, service: Loopback) -> None:
        for model in ("m1", "m2"):
            async with opening("openai", openai__model=model) as backend:
                await backend.verifier.estimate(QUERIES)
        assert len(service.requests) == 8

    async def test_another_release_asks_again(
        self, opening: Open, service: Loopback, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for version in ("1.0", "1.1", "1.0"):
            monkeypatch.setattr(backends, "__version__", version)
            async with opening("openai") as backend:
                await backend.verifier.estimate(QUERIES)
        assert len(service.requests) == 8

    @pytest.mark.parametrize("off", [{"store__cache_path": ""}, {"hallucination__cache_ttl": 0}])
    async def test_it_can_be_turned_off(self, opening: Open, service: Loopback, off: dict[str, object]) -> None:
        for _ in range(2):
            async with opening("openai", **off) as backend:
                await backend.verifier.estimate(QUERIES)
        assert len(service.requests) == 8

    async def test_what_computes_here_needs_none(self, opening: Open) -> None:
        async with opening("fake") as backend:
            for _ in range(2):
                estimates = await backend.verifier.estimate(QUERIES)
        assert not any(e.cached for e in estimates)


class TestTwoCalls:
    @pytest.mark.spec("SPEC-08.28")
    async def test_estimate_probability(self) -> None:
        assert await estimate_probability(FakeVerifier({"a": (0.7, 0.1)}), "a", "context") == 0.7

    @pytest.mark.spec("SPEC-08.28", "SPEC-08.29")
    async def test_batch_estimate_is_one_call(self) -> None:
        fake = FakeVerifier({"a": (0.7, 0.1), "b": (0.2, 0.1)})
        assert await batch_estimate(fake, ["b", "a"], "context") == [0.2, 0.7]
        assert fake.calls == [(Query("b", "context"), Query("a", "context"))]
        assert await batch_estimate(fake, [], "context") == []

    @pytest.mark.spec("SPEC-08.28")
    @pytest.mark.parametrize("error", [RateLimited("later"), BackendTimeout("slow")])
    async def test_a_failed_estimate_is_raised_as_what_it_was(self, error: RateLimited | BackendTimeout) -> None:
        guarded: Verifier = SafeVerifier(FakeVerifier(failing=[error]), "fake")
        with pytest.raises(type(error), match=str(error)):
            await batch_estimate(guarded, ["a", "b"], "context")


async def test_closing_twice_is_fine(opening: Open) -> None:
    async with opening("openai") as backend:
        await backend.verifier.estimate(QUERIES)
        await backend.aclose()
        again: list[Estimate] = await backend.verifier.estimate(QUERIES)
    assert len(again) == len(QUERIES)


def test_opening_imports_no_more_than_it_needs() -> None:
    script = (
        "import sys, groundwire.verifiers.backends as b; from groundwire.config import Config;"
        "b.open_backend(Config(), name='fake');"
        "sys.exit(bool({'openai', 'anthropic', 'httpx', 'sqlite3', 'prometheus_client'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


def test_a_backend_serves_one_event_loop_after_another(opening: Open) -> None:
    async def use() -> int:
        async with opening("openai") as backend:
            return len(await backend.verifier.estimate(QUERIES))

    assert [asyncio.run(use()) for _ in range(2)] == [4, 4]


@pytest.mark.llm
async def test_a_real_model_behind_the_whole_stack(opening: Open, smollm: str) -> None:
    """Real logprobs over HTTP; what was asked once comes out of the cache, and is the same."""
    queries = [Query("The sky is blue.", FACT), Query("The sky is green.", FACT), Query("The sky is blue.", "Nothing.")]
    for cached in (False, True):
        async with opening("openai", openai__base_url=smollm, openai__model="any") as backend:
            estimates = await backend.verifier.estimate(queries)
        # So small a model may begin with neither YES, NO nor UNSURE: that is an error, and no error is cached.
        assert all(e.error is None or "did not clearly answer" in e.error for e in estimates)
        assert {e.method for e in estimates if not e.error} <= {"openai/logprob"}
        assert [e.cached for e in estimates] == [cached and not e.error for e in estimates]
