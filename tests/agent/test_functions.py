"""One table of functions, for code in the sandbox and for people at a prompt."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

import pytest

from groundwire import api
from groundwire._loop import run
from groundwire.agent.sandbox import Evidence, functions_for, namespace, read, search
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
def test_namespace_returns_synchronous_functions(plain: Groundwire) -> None:
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


def test_functions_match_the_package(plain: Groundwire) -> None:
    """What works in a program works at the prompt: the same names, the same arguments in the same order."""
    for name, function in functions_for(plain).items():
        there = inspect.signature(getattr(api, name)).parameters
        own = [p for p in inspect.signature(function.call).parameters if p not in ("threshold", "generator")]
        assert own == [p for p in there if p in own]


def test_llm_needs_a_model(plain: Groundwire) -> None:
    assert "llm" not in functions_for(plain)
    assert functions_for(plain, parrot)["llm"].signature == "llm(query, context='', verify=True)"


def test_functions_have_summaries(plain: Groundwire) -> None:
    names = namespace(functions_for(plain, parrot), {})
    assert "budget_gap" in str(names["verify_claim"].__doc__)


LETTERS = {"a": "one\nTwo\nthree", "b": "two"}


def test_read_returns_a_part_of_a_file() -> None:
    assert (read(LETTERS, "a"), read(LETTERS, "a", 4), read(LETTERS, "a", 0, 3)) == (LETTERS["a"], "Two\nthree", "one")


def test_reading_a_missing_file_lists_the_available_ones() -> None:
    with pytest.raises(KeyError, match="available: a, b"):
        read(LETTERS, "c")


def test_search_returns_matching_lines() -> None:
    assert search(LETTERS, "two") == ["a:2: Two", "b:1: two"]
    assert search(LETTERS, "t", limit=1) == ["a:2: Two"]
    assert search(LETTERS, "x") == search({}, "x") == []
