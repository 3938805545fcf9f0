"""The synchronous functions, and the surface of the package."""

from __future__ import annotations

import asyncio
import inspect
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import groundwire
from groundwire import (
    Config,
    Groundwire,
    Status,
    _loop,
    api,
    audit_reasoning,
    audit_trace,
    check,
    detect_hallucinations,
    evidence_dependence,
    semantic_entropy,
    verify_claim,
    verify_claims,
)
from groundwire.errors import ConfigError, InputError

SOURCE = "The population of France is 67 million. Paris is the capital of France."


def test_the_surface_is_these_names() -> None:
    assert groundwire.__all__ == [
        "ClaimVerification", "Config", "Groundwire", "GroundwireError", "HallucinationReport", "Status",
        "TraceAudit", "__version__", "audit_reasoning", "audit_trace", "check", "detect_hallucinations",
        "evidence_dependence", "guard", "semantic_entropy", "verify_claim", "verify_claims",
    ]  # fmt: skip
    for name in groundwire.__all__:
        assert getattr(groundwire, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = groundwire.nonsense


@pytest.mark.spec("SPEC-16.02", "SPEC-08.31")
def test_verify_claim_judges_one_claim() -> None:
    found = verify_claim("Paris is the capital of France.", SOURCE)
    assert (found.status, found.is_flagged, found.confidence) == (Status.ENTAILED, False, 0.95)
    assert found.evidence_support == found.p1
    assert found.confidence_justified
    assert found.flag_reason is None
    wrong = verify_claim("The population of France is 999 million.", ["Cats sleep.", SOURCE])
    assert (wrong.status, wrong.flag_reason, wrong.evidence_ids) == (Status.CONTRADICTED, "contradicted", ["S1"])


def test_every_function_names_its_keywords() -> None:
    settings = {"config", "backend", "profile", "target"}
    functions = [getattr(groundwire, name) for name in groundwire.__all__ if name[0].islower()]
    for function in functions:
        parameters = inspect.signature(function).parameters
        assert settings <= parameters.keys(), function
        assert not any(p.kind is p.VAR_KEYWORD for p in parameters.values()), function
    assert {"history", "kb", "now"} <= inspect.signature(check).parameters.keys()


def test_a_misspelt_option_is_refused() -> None:
    options: Any = {"profle": "strict"}
    with pytest.raises(TypeError, match="unexpected keyword argument 'profle'"):
        check("It is so.", "It is so.", **options)
    options = {"history": ()}
    with pytest.raises(TypeError, match="unexpected keyword argument 'history'"):
        verify_claims("It is so.", "It is so.", **options)


def test_threshold_is_another_name_of_confidence() -> None:
    by_threshold = verify_claim("Paris is the capital of France.", SOURCE, threshold=0.6)
    assert by_threshold.confidence == 0.6
    assert by_threshold == verify_claim("Paris is the capital of France.", SOURCE, 0.6)
    assert verify_claim("Paris is a potato.", SOURCE, 0.0).required_bits == 0.0


@pytest.mark.spec("SPEC-08.31")
def test_verify_claims_takes_a_text_apart() -> None:
    found = verify_claims("Paris is the capital of France. It has 999 million people.", {"doc": SOURCE})
    assert found[0].status is Status.ENTAILED
    assert found[1].is_flagged


@pytest.mark.spec("SPEC-16.05", "SPEC-16.01")
def test_detect_hallucinations_reports_on_the_whole() -> None:
    found = detect_hallucinations("The population of France is 999 million [S0].", {"S0": SOURCE})
    assert found.flagged
    assert found.gaps[0].gap_type.value == "contradicted"
    assert found.max_gap_bits is not None
    assert found.max_gap_bits > 0


@pytest.mark.spec("SPEC-16.04")
def test_evidence_dependence_tells_carried_from_idle() -> None:
    carried = evidence_dependence("What is the capital?", "Paris is the capital of France.", SOURCE)
    idle = evidence_dependence("What is the capital?", "Paris is the capital of France.", "Cats sleep.")
    assert carried > 0.5
    assert idle < 0.2


@pytest.mark.spec("SPEC-08.31", "SPEC-08.32", "SPEC-16.03")
def test_audit_trace_judges_each_step_and_the_answer() -> None:
    steps = ["Paris is the capital of France.", "The population of France is 999 million."]
    found = audit_trace(steps, "What is the capital?", SOURCE, "Paris")
    assert found.steps[0].status is Status.ENTAILED
    assert found.steps[1].verdict.is_flagged
    assert found.post_hoc.outcome == "derived"
    for verdict in audit_reasoning([{"claim": steps[0], "cites": ["S0"]}], {"S0": SOURCE}):
        fields = (verdict.p0, verdict.p1, verdict.required_bits, verdict.observed_bits, verdict.budget_gap)
        assert None not in fields
        assert verdict.status is Status.ENTAILED


def test_semantic_entropy_is_in_bits() -> None:
    assert float(semantic_entropy(["Paris", "It is Paris."], "What is the capital?")) == 0.0
    assert semantic_entropy(["Paris", "Lyon"], "What is the capital?").bits > 1.0


@pytest.mark.spec("SPEC-16.09")
def test_every_function_gives_the_same_verdict_on_the_same_claim() -> None:
    claim = "The population of France is 999 million."
    alone = verify_claim(claim, SOURCE)
    (taken_apart,) = verify_claims(claim, SOURCE)
    (reported,) = detect_hallucinations(claim, SOURCE).claims
    (checked,) = check(claim, SOURCE).claims
    for other in (taken_apart, reported, checked):
        assert (other.p1, other.p0, other.status, other.budget_gap) == (
            alone.p1, alone.p0, alone.status, alone.budget_gap,
        )  # fmt: skip
    assert evidence_dependence("", claim, SOURCE) == alone.evidence_dependence


def test_functions_work_inside_a_running_loop() -> None:
    async def notebook() -> bool | None:
        return check("Paris is the capital of France.", SOURCE).flagged

    assert asyncio.run(notebook()) is False


@pytest.mark.spec("SPEC-16.SC05")
def test_switches_off_do_not_break_what_is_asked_for_explicitly() -> None:
    config = Config.model_validate({"hallucination": {"enabled": False}, "verification": {"enabled": False}})
    assert check("Paris is the capital of France.", SOURCE, config=config).flagged is False


def test_profile_and_target_can_be_given_by_name() -> None:
    found = check("Paris is the capital of France.", SOURCE, profile="strict", target=0.5)
    assert (found.profile, found.claims[0].confidence) == ("strict", 0.5)


def test_threads_whose_first_calls_meet_share_one_loop_and_one_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[object] = []
    loops: set[asyncio.AbstractEventLoop] = set()

    class Slow(Groundwire):
        def __init__(self, config: Config, *, backend: str | None) -> None:
            made.append(config)

        async def check(self, *_: object, **__: object) -> None:  # type: ignore[override]
            loops.add(asyncio.get_running_loop())

        async def aclose(self) -> None: ...

    monkeypatch.setattr(api, "Groundwire", Slow)
    monkeypatch.setattr(_loop, "_shared", _loop.EventLoopThread("test"))
    own = Config(target=0.875)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: check("x", "x", config=own), range(8)))
    assert (len(made), len(loops)) == (1, 1)


def test_configurations_that_differ_in_a_secret_alone_do_not_share_an_engine() -> None:
    first, second = (Config.model_validate({"openai": {"api_key": key}}) for key in ("sk-one", "sk-two"))
    engines = [api._engine(config, None, None, None) for config in (first, first, second)]
    assert engines[0] is engines[1]
    assert engines[0] is not engines[2]


AFTER_FORK = """
import multiprocessing
from groundwire import check
def work(_): return check("It is red.", "It is red.").flagged
assert work(0) is False
with multiprocessing.get_context("fork").Pool(1) as pool:
    print(pool.map_async(work, [1]).get(timeout=30))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_process_begins_with_a_loop_of_its_own() -> None:
    done = subprocess.run([sys.executable, "-c", AFTER_FORK], capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.returncode) == ("[False]\n", 0), done.stderr


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"target": 2.0}, "invalid value 2.0 for 'target'"),
        ({"profile": "lax"}, "invalid value 'lax' for 'profile'"),
        ({"backend": "gpt"}, "there is no backend 'gpt': use one of local"),
    ],
)
def test_a_wrong_option_is_one_line_that_names_it(options: Any, complaint: str) -> None:
    with pytest.raises(ConfigError) as caught:
        check("It is red.", "It is red.", **options)
    assert complaint in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("answer", "sources", "complaint"),
    [
        (None, "x", "the answer must be a string, got NoneType"),
        ("It is red.", None, "no sources"),
        ("It is red.", [3], "source 0"),
    ],
)
def test_what_is_no_text_is_refused_at_the_door(answer: Any, sources: Any, complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        check(answer, sources)
