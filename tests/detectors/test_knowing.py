"""Fabricated facts and nonexistent entities: their confidences, and where a store has nothing to say."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest

from groundwire.detectors.facts import fabrication_confidence, nonexistence_confidence
from groundwire.detectors.registry import detect
from groundwire.openie.lexicon import mentions
from groundwire.stores.knowledge_base import Knowledge
from groundwire.types import (
    Attribute,
    Case,
    Detection,
    Entity,
    Fact,
    Flag,
    HallucinationType,
    Role,
    Source,
    Turn,
    Value,
    ValueKind,
)
from groundwire.verdicts.paths import turn_values

NOW = datetime(2026, 6, 15)
Kind = HallucinationType


@pytest.fixture(scope="module")
def kb(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Knowledge]:
    path: Path = tmp_path_factory.mktemp("knowing") / "kb.db"
    with Knowledge.open(str(path)) as store:
        ann = Entity("ann", "Ann Lee", "person", (), (_text("department", "Sales"), _text("city", "Oslo")))
        old = Attribute("title", Value("analyst"), valid_to=datetime(2020, 1, 1).date())
        bo = Entity("bo", "Bo Ray", "person", (), (_text("department", "Analytics"), old))
        cars = tuple(Attribute("languages", Value(name), many=True) for name in ("English", "Dutch"))
        acme = Entity("acme", "Acme", "company", (), (_text("ceo", "Ann Lee"), *cars))
        store.put_entities([ann, bo, acme])
        subject = Role("subject", Value("Acme", ValueKind.REFERENCE, entity="acme"))
        store.put_fact(Fact("", "sponsors", (subject, Role("object", Value("Regatta"))), many=True))
        yield store


def _text(name: str, text: str) -> Attribute:
    return Attribute(name, Value(text))


def flags(kb: Knowledge, text: str, **beside: object) -> tuple[Flag, ...]:
    case = replace(Case(text, (), kb=kb, now=NOW), **beside)  # type: ignore[arg-type]
    return asyncio.run(detect(case)).flags


@pytest.mark.parametrize(
    ("text", "similar", "confidence"),
    [
        ("Ask Sarah Jones.", False, 0.85),
        ("Ask Sarah Jones.", True, 0.65),
        ("Ask the Analytics team.", False, 0.75),
        ("Ask the manager.", False, 0.45),
        ("Ask the team lead.", True, 0.25),
    ],
)
def test_how_sure_it_is_that_nobody_has_that_name(text: str, similar: bool, confidence: float) -> None:
    assert nonexistence_confidence(mentions(text)[-1], similar) == confidence


@pytest.mark.parametrize(
    ("predicate", "names", "confidence"),
    [
        ("founded in", ["ceo"], 0.5),
        ("founded in", ["founded"], 0.6),
        ("email", ["ceo"], 0.6),
        ("email", ["e-mail"], 0.7),
        ("email", [f"x{i}" for i in range(11)], 0.75),
    ],
)
def test_how_sure_it_is_that_an_attribute_was_made_up(predicate: str, names: list[str], confidence: float) -> None:
    assert fabrication_confidence(predicate, names) == pytest.approx(confidence)


@pytest.mark.parametrize(
    ("text", "kind", "confidence"),
    [
        ("Ann Lee was born in 1975.", Kind.FABRICATED_FACT, 0.5),
        ("Ann Lee's phone number is 555-0199.", Kind.FABRICATED_FACT, 0.6),
        ("Please contact Sarah Jones in the Sales team.", Kind.NONEXISTENT_ENTITY, 0.85),
        ("Please contact Zvonka Qureshi-Bell in the Sales team.", Kind.NONEXISTENT_ENTITY, 0.85),
        ("Talk to Tadhg from the Analytics team.", Kind.NONEXISTENT_ENTITY, 0.85),
        ("Mbali Nxumalo and Ann Lee will answer.", Kind.NONEXISTENT_ENTITY, 0.85),
        ("Ann Lee works closely with Wojtek van der Zee.", Kind.NONEXISTENT_ENTITY, 0.85),
        ("The Quantum team signed it.", Kind.NONEXISTENT_ENTITY, 0.75),
        ("Sarah Jones is employed by Acme.", Kind.FABRICATED_FACT, 0.85),
    ],
)
def test_what_the_store_should_know_is_flagged(kb: Knowledge, text: str, kind: Kind, confidence: float) -> None:
    found = flags(kb, text)
    assert [(flag.type, flag.confidence) for flag in found] == [(kind, confidence)]
    assert found[0].evidence


@pytest.mark.parametrize(
    "text",
    [
        "Paris is the capital of France.",
        "Albert Einstein was born in Ulm.",
        "Sarah Jones won the race in 1998.",
        "The process takes three days.",
        "It was founded in 1990.",
        "Acme sponsors the Marathon.",
        "Acme offers support; its languages are German and English.",
        "Bo Ray worked in Sales until 2021.",
        "Bo Ray was an analyst.",
        "Ann Lee visited Tokyo.",
        "Ann Lee visited Costa Brava.",
        "Ann Lee prefers Visual Basic.",
        "Ann Lee works with Kubernetes.",
        "Please contact Zendesk.",
        "Please contact Globex Support.",
        "Please call the USPS Customer Service number.",
        "Mbali Nxumalo won the race in 1998.",
        "Was Ann Lee born in 1975?",
        "Ann Lee might have been born in 1975.",
        "Is Sarah Jones from the Sales team?",
        "Write to someone from the Analytics team.",
        "The Analytics team meets daily.",
    ],
)
def test_what_it_cannot_know_is_left_alone(kb: Knowledge, text: str) -> None:
    assert flags(kb, text) == ()


def test_names_of_the_sources_the_question_and_the_dialogue_exist(kb: Knowledge) -> None:
    text = "Please contact Sarah Jones in the Sales team."
    assert flags(kb, text, sources=(Source("s", "Our new hire is Sarah Jones."),)) == ()
    assert flags(kb, text, question="Where is Sarah Jones?") == ()
    assert flags(kb, text, history=(Turn(1, "user", "I spoke to Sarah Jones."),)) == ()


def test_a_claim_the_sources_hold_is_not_made_up(kb: Knowledge) -> None:
    text = "Ann Lee was born in 1975."
    assert flags(kb, text, sources=(Source("s", "Born: 1975. Name: Ann Lee."),)) == ()


@pytest.mark.parametrize(
    ("text", "lookup"),
    [
        ("Ann Lee works in the Finance department.", "Ann Lee: department = Sales"),
        ("Ann Lee's phone number is 555-0199.", "Ann Lee: no 'phone number'. Known attributes: department"),
        ("Please contact Zvonka Bell in the Sales team.", "Zvonka Bell: no such entity"),
        ("Sarah Jones is employed by Acme.", "Sarah Jones: no such entity"),
    ],
)
def test_the_lookup_of_a_flag_says_what_the_store_holds(kb: Knowledge, text: str, lookup: str) -> None:
    values = turn_values(Detection(flags(kb, text)), ())
    assert str(values["detection/flag/0/evidence/kb_lookup"]).startswith(lookup)


def test_a_name_spelled_slightly_wrong_is_still_known(kb: Knowledge) -> None:
    assert flags(kb, "Please contact Anne Lee in the Sales team.") == ()


def test_the_value_of_another_time_is_not_the_value_of_today(kb: Knowledge) -> None:
    assert flags(kb, "Acme is led by Bo Ray.")[0].correction == "Ann Lee"


def test_the_store_says_what_it_covers(kb: Knowledge) -> None:
    coverage = kb.coverage()
    assert coverage.types == {"company": 1, "person": 2}
    assert coverage.only == {"company": "acme"}
    assert {"department", "ceo", "sponsors"} <= coverage.predicates
    assert kb.values(["analytics", "Regatta", "nowhere"]) == {"analytics", "Regatta"}
