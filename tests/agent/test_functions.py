"""One table of functions, for code in the sandbox and for people at a prompt."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

import pytest

from groundwire import api
from groundwire._loop import run
from groundwire.agent.functions import Evidence, functions_for, namespace
from groundwire.config import Config
from groundwire.engine import Groundwire
from groundwire.types import ClaimVerification, HallucinationReport, TraceAudit

TEXT = "Paris is its capital."


@pytest.fixture
def plain() -> Iterator[Groundwire]:
    engine = Groundwire(Config.load(None, {"hallucination.backend.type": "fake"}))
    yield engine
    run(engine.aclose())


async def parrot(query: str, context: Evidence = "", *, verify: bool = True) -> str:
    return f"{query}|{context}|{verify}"


@pytest.mark.spec("SPEC-08.31", "SPEC-16.01", "SPEC-16.09")
def test_a_plain_repl_has_them_all_and_gets_real_results(plain: Groundwire) -> None:
    names = namespace(functions_for(plain, parrot), {"a.txt": TEXT})
    exec("""
one = verify_claim("Paris is its capital.", files["a.txt"])
some = verify_claims("Paris is its capital.", files)
report = detect_hallucinations("Paris is its capital.", files)
audit = audit_trace(["Paris is its capital."], context=files)
steps = audit_reasoning([{"claim": "Paris is its capital.", "cites": ["a.txt"]}], files)
share = evidence_dependence("Which?", "Paris is its capital.", read("a.txt"))
said = llm("Which?", verify=False)
lines = search("paris")
""", names)  # fmt: skip
    kinds = {"one": ClaimVerification, "report": HallucinationReport, "audit": TraceAudit, "share": float}
    assert all(isinstance(names[name], kind) for name, kind in kinds.items())
    assert names["said"] == "Which?||False"
    assert names["lines"] == ["a.txt:1: Paris is its capital."]


def test_they_are_those_of_the_package(plain: Groundwire) -> None:
    """What works in a program works at the prompt: the same names, the same arguments in the same order."""
    for name, function in functions_for(plain).items():
        there = inspect.signature(getattr(api, name)).parameters
        own = [p for p in inspect.signature(function.call).parameters if p not in ("threshold", "generator")]
        assert own == [p for p in there if p in own]


def test_llm_is_there_where_a_model_is(plain: Groundwire) -> None:
    assert "llm" not in functions_for(plain)
    assert functions_for(plain, parrot)["llm"].signature == "llm(query, context='', verify=True)"


def test_each_says_what_it_is_for(plain: Groundwire) -> None:
    names = namespace(functions_for(plain, parrot), {})
    assert "budget_gap" in str(names["verify_claim"].__doc__)
