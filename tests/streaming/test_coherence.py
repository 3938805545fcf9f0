"""New content against what was established, with a severity."""

from __future__ import annotations

import asyncio

import pytest
from tests.knowledge import MemoryKnowledge

from groundwire.streaming.coherence import severity, validate_coherence
from groundwire.types import Attribute, ContradictionType, Entity, Source, Turn, Value, ValueKind
from groundwire.types.stream import Coherence
from groundwire.verifiers.fake import FakeVerifier

TALK = (
    Turn(1, "user", "My order number is 4417. When is the meeting?"),
    Turn(2, "assistant", "I booked the meeting for Monday. The engine is quiet."),
)


def validated(text: str, *, history: tuple[Turn, ...] = TALK, **more: object) -> Coherence:
    return asyncio.run(validate_coherence(text, history, **more))  # type: ignore[arg-type]


def test_what_agrees_is_coherent() -> None:
    found = validated("The meeting is on Monday.")
    assert found == Coherence()
    assert found.coherent


def test_an_earlier_statement_is_contradicted() -> None:
    text = "As I said, the meeting is on Friday."
    found = validated(text)
    (against,) = found.contradictions
    assert not found.coherent
    assert (against.established_by, against.turn, against.kind) == ("assistant", 2, "IncompatibleValues")
    assert against.contradicts == "I booked the meeting for Monday."
    assert text[against.start : against.end] == against.claim


def test_the_users_word_weighs_more_than_the_assistants() -> None:
    user = (Turn(1, "user", "The meeting is on Monday."),)
    assistant = (Turn(1, "assistant", "The meeting is on Monday."),)
    by_user, by_assistant = (
        validated("The meeting is on Friday.", history=said).contradictions[0] for said in (user, assistant)
    )
    assert by_user.severity > by_assistant.severity


def test_facts_weigh_most() -> None:
    facts = (Source("S0", "Cats sleep a lot.\n\nThe museum opened in 1990. It rains."),)
    found = validated("The museum opened in 1985.", history=(), facts=facts)
    (against,) = found.contradictions
    assert (against.established_by, against.turn) == ("fact", None)
    assert against.contradicts == "The museum opened in 1990."
    assert against.severity > 0.8


def test_a_knowledge_base_holds_facts_too() -> None:
    capital = Attribute("capital", Value("Paris"))
    born = Attribute("population", Value("67 million", ValueKind.NUMBER, 67e6))
    kb = MemoryKnowledge([Entity("fr", "France", "country", attributes=(capital, born))])
    found = validated("The capital of France is Lyon.", history=(), kb=kb)
    assert [c.established_by for c in found.contradictions] == ["fact"]


@pytest.mark.parametrize(
    "text",
    [
        "The shop is open on Sundays. The shop is not open on Sundays.",
        "The park opens in May. The park is large. The park opens in June.",
        "The shop closes at 5 pm. The shop closes at 6 pm.",
        "The dog is called Rex. The dog is called Max.",
    ],
)
def test_an_answer_that_contradicts_itself(text: str) -> None:
    found = validated(text, history=())
    assert [c.established_by for c in found.contradictions] == ["answer"]
    assert found.contradictions[0].severity < 0.8


def test_a_moved_goalpost_is_not_a_contradiction_as_well() -> None:
    told = (Turn(1, "assistant", "The bridge opens in May 2027."),)
    found = validated("The bridge opens in August 2027.", history=told)
    assert [g.kind for g in found.goalposts] == ["later"]
    assert found.contradictions == ()
    assert not found.coherent


def test_an_explicit_correction_is_not_a_contradiction() -> None:
    assert not validated("As I said, the meeting is on Friday.").coherent
    assert validated("I was wrong: the meeting is on Friday.").coherent


def test_a_verifier_is_asked_about_what_rules_leave_open() -> None:
    deny = FakeVerifier(lambda _: (0.02, 0.95))
    told = (Turn(1, "assistant", "The engine of the boat is quiet at sea."),)
    text = "The engine of the boat is deafening at sea."
    assert validated(text, history=told).coherent
    (against,) = validated(text, history=told, verifier=deny).contradictions
    assert against.kind == "LogicalImpossibility"


def test_drift_alone_does_not_make_it_incoherent() -> None:
    told = (Turn(1, "assistant", "By churn we mean customers who cancel within a year."),)
    found = validated("By churn we mean accounts without any login.", history=told)
    assert [d.term for d in found.drifts] == ["churn"]
    assert found.coherent


@pytest.mark.parametrize("text", ["", "   ", "\x00", "?" * 1000, "a" * 5000, "רק שאלה?"])
def test_content_without_statements_hides_no_contradiction(text: str) -> None:
    assert validated(text).coherent
    content = f"{text}\n\nAs I said, the meeting is on Friday."
    (against,) = validated(content).contradictions
    assert content[against.start : against.end] == against.claim


def test_severity_follows_kind_authority_and_confidence() -> None:
    kinds = [severity(kind, "fact", 1.0) for kind in ContradictionType]
    assert kinds == sorted(kinds, reverse=True)
    whose = [severity(None, who, 0.9) for who in ("fact", "user", "assistant", "answer")]
    assert whose == sorted(whose, reverse=True)
    assert severity(None, "fact", 0.5) < severity(None, "fact", 0.9)
