"""The cascade: who is asked, who decides, and what it may cost."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from tests.loopback import Loopback, chat

from groundwire.config import Config, Price
from groundwire.engine import Groundwire
from groundwire.errors import BackendDown, BackendError, ConfigError
from groundwire.llm.base import Completion
from groundwire.llm.fake import ScriptedGenerator, tokens
from groundwire.reports.plaintext import report_facts
from groundwire.types import Query
from groundwire.verifiers.backends import open_backend
from groundwire.verifiers.cascade import CascadeBudget, CascadeVerifier
from groundwire.verifiers.fake import FakeVerifier
from groundwire.verifiers.logprob import LogprobOrSampling
from groundwire.verifiers.wrappers import SafeVerifier

SURE, NEVER, DOUBT = (Query(f"This is {word}.", "a source") for word in ("sure", "wrong", "doubtful"))
OPINIONS = {"sure": (0.95, 0.0), "wrong": (0.03, 0.9), "doubtful": (0.5, 0.1)}


def cascade(second: FakeVerifier, **limits: float) -> CascadeVerifier:
    budget = CascadeBudget(**limits)  # type: ignore[arg-type]
    return CascadeVerifier(FakeVerifier(OPINIONS), SafeVerifier(second, "llm"), 0.2, 0.8, budget)


async def test_the_language_model_is_asked_only_about_what_is_in_doubt() -> None:
    llm = FakeVerifier({"doubtful": (0.9, 0.0)})
    sure, never, doubt = await cascade(llm).estimate([SURE, NEVER, DOUBT])
    assert [query for call in llm.calls for query in call] == [DOUBT]
    assert (sure.p_yes, never.p_no, doubt.p_yes) == (0.95, 0.9, 0.9)


async def test_what_is_known_without_evidence_is_asked_of_the_same_judge() -> None:
    llm = FakeVerifier({"doubtful": (0.9, 0.0)})
    verifier = cascade(llm)
    bare = [Query(query.claim, "[EVIDENCE REMOVED]") for query in (SURE, DOUBT)]
    await verifier.estimate([SURE, DOUBT])
    await verifier.estimate(bare)
    assert [query for call in llm.calls for query in call] == [DOUBT, bare[1]]


async def test_a_language_model_that_fails_leaves_the_decision_where_it_was() -> None:
    (doubt,) = await cascade(FakeVerifier(failing=[BackendDown("it is gone")])).estimate([DOUBT])
    assert (doubt.p_yes, doubt.error) == (0.5, None)
    assert doubt.method == "fake (in doubt; error: it is gone)"


async def test_a_spent_budget_ends_the_questions_and_the_report_says_so() -> None:
    generator = ScriptedGenerator(lambda _: Completion("YES", tokens(YES=0.9), prompt_tokens=2000, model="m"))
    llm = LogprobOrSampling(generator)
    for budget in (CascadeBudget(max_calls=2), CascadeBudget(max_usd=0.003, prices={"m": Price(input=1.0)})):
        generator.calls.clear()
        verifier = CascadeVerifier(FakeVerifier(OPINIONS), llm, 0.2, 0.8, budget, size=1)
        queries = [Query(f"This is doubtful {i}.", "a source") for i in range(4)]
        methods = [estimate.method for estimate in await verifier.estimate(queries)]
        assert len(generator.calls) == budget.calls == 2
        assert methods == ["openai/logprob"] * 2 + ["fake (in doubt; error: the budget of the cascade is spent)"] * 2


@pytest.fixture
def service() -> Iterator[Loopback]:
    server = Loopback()
    server.script(lambda _: chat("YES", top={"YES": 0.97, "NO": 0.01}))
    yield server
    server.close()


async def test_the_report_says_who_decided(service: Loopback) -> None:
    settings = {"openai.base_url": service.url, "cascade.low": 0.0, "cascade.high": 1.0, "store.cache_path": ""}
    async with Groundwire(Config.load(overrides=settings), backend="cascade") as engine:
        report = await engine.check("The tower is 330 metres tall.", "The tower is 330 metres tall.")
    (claim,) = report.claims
    assert claim.method == "openai/logprob"
    assert json.loads(json.dumps(report.extra))["decided_by"] == {"openai/logprob": 1}
    assert "backend cascade (1 by openai/logprob)" in report_facts(report)
    assert len(service.requests) == 1


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"cascade.low": 0.9, "cascade.high": 0.1}, "cascade.low must not be above cascade.high"),
        ({"cascade.max_usd": 1.0}, "cascade.max_usd needs the price of gpt-4o-mini"),
    ],
)
def test_settings_that_cannot_work_are_refused(settings: dict[str, float], message: str) -> None:
    given = {"openai.base_url": "http://127.0.0.1:9/v1", **settings}
    with pytest.raises((ConfigError, BackendError), match=message):
        open_backend(Config.load(overrides=given), name="cascade")
