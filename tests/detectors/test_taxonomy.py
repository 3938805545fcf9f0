"""Every example of the taxonomy is flagged as its kind, and the control beside it is not flagged at all.

On the embedded verifier and a store in SQLite, as a user runs it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest

from groundwire.config import Config
from groundwire.engine import Groundwire
from groundwire.stores.knowledge_base import Knowledge
from groundwire.types import Attribute, Detection, Entity, Fact, HallucinationType, Role, Turn, Value, ValueKind

NOW = datetime(2026, 6, 15)
Kind = HallucinationType


@pytest.fixture(scope="module")
def kb(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Knowledge]:
    path: Path = tmp_path_factory.mktemp("taxonomy") / "company.db"
    with Knowledge.open(str(path)) as store:
        store.put_entities(
            [
                Entity("acme", "Acme", "company", (), _texts(industry="robotics", headquarters="Hamburg")),
                Entity("john", "John Smith", "person", (), _texts(department="Engineering")),
                Entity("maria", "Maria Garcia", "person", (), _texts(department="Analytics")),
                Entity("meeting", "the meeting", "event", ("meeting",)),
            ]
        )
        meeting = Value("the meeting", ValueKind.REFERENCE, entity="meeting")
        store.put_fact(Fact("", "scheduled for", (Role("subject", meeting), Role("object", Value("Wednesday")))))
        yield store


@pytest.fixture(scope="module")
def engine() -> Groundwire:
    return Groundwire(Config())


def _texts(**given: str) -> tuple[Attribute, ...]:
    return tuple(Attribute(name, Value(text)) for name, text in given.items())


def found(engine: Groundwire, kb: Knowledge | None, text: str, *turns: tuple[int, str]) -> Detection:
    history = [Turn(number, "assistant", said) for number, said in turns]
    return asyncio.run(engine.detect(text, [], kb=kb, history=history, now=NOW))


EXAMPLES = [
    (Kind.FABRICATED_FACT, "The company was founded in 1847 by James Roberts."),
    (Kind.NONEXISTENT_ENTITY, "You should contact Sarah from the Analytics team."),
    (Kind.WRONG_ATTRIBUTE, "John Smith works in the Marketing department."),
    (Kind.CONTRADICTS_FACT, "The meeting is scheduled for Tuesday."),
    (Kind.UNSUPPORTED_CLAIM, "Studies show that this approach increases productivity by 40%."),
    (Kind.TEMPORAL_ERROR, "The project was completed before it started."),
    (Kind.TEMPORAL_ERROR, "The event happened last year in 2026."),
    (Kind.LOGICAL_INCONSISTENCY, "The system is both running and not running."),
    (Kind.LOGICAL_INCONSISTENCY, "All items were shipped, except for the 3 that weren't."),
]
CONTROLS = [
    "The company is based in Hamburg.",
    "You should contact Maria Garcia from the Analytics team.",
    "John Smith works in the Engineering department.",
    "The meeting is scheduled for Wednesday.",
    "This approach has its supporters.",
    "The project was completed before the deadline.",
    "The event happened last year in 2025.",
    "The system is running.",
    "All items were shipped.",
    "Most items were shipped, except for the 3 that weren't.",
]


@pytest.mark.parametrize(("kind", "text"), EXAMPLES, ids=[text for _, text in EXAMPLES])
def test_an_example_is_flagged_as_its_kind(engine: Groundwire, kb: Knowledge, kind: Kind, text: str) -> None:
    flags = found(engine, kb, text).flags
    assert kind in {flag.type for flag in flags}
    assert all(text[flag.start : flag.end] for flag in flags)


@pytest.mark.parametrize("text", CONTROLS)
def test_its_control_is_not_flagged(engine: Groundwire, kb: Knowledge, text: str) -> None:
    assert found(engine, kb, text).flags == ()


def test_a_later_turn_may_not_contradict_an_earlier_one(engine: Groundwire) -> None:
    said = (3, "I'll book the meeting for Monday.")
    flags = found(engine, None, "As I mentioned, the meeting is on Friday.", said).flags
    assert [flag.type for flag in flags] == [Kind.CONTRADICTS_PRIOR]
    assert found(engine, None, "As I mentioned, the meeting is on Monday.", said).flags == ()


@pytest.mark.parametrize(
    ("text", "fixed"),
    [
        ("John Smith works in the Marketing department.", "John Smith works in the Engineering department."),
        ("The meeting is scheduled for Tuesday.", "The meeting is scheduled for Wednesday."),
        ("We are told that Acme is based in Berlin.", "We are told that Acme is based in Hamburg."),
    ],
)
def test_a_corrected_text_raises_no_flag(engine: Groundwire, kb: Knowledge, text: str, fixed: str) -> None:
    (flag,) = found(engine, kb, text).flags
    assert flag.fix is not None
    assert flag.source.startswith("Knowledge Base")
    assert text[: flag.fix[0]] + flag.correction + text[flag.fix[1] :] == fixed
    assert found(engine, kb, fixed).flags == ()
