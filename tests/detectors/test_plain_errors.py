"""Plain errors against a small store, in the forms people write them in; and true sentences beside them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import date, datetime
from pathlib import Path

import pytest

from groundwire.detectors.registry import detect
from groundwire.stores.knowledge_base import Knowledge
from groundwire.types import Attribute, Case, Entity, Fact, Flag, HallucinationType, Role, Value, ValueKind

NOW = datetime(2026, 6, 15)
AGAINST = (HallucinationType.WRONG_ATTRIBUTE, HallucinationType.CONTRADICTS_FACT)


@pytest.fixture(scope="module")
def kb(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Knowledge]:
    path: Path = tmp_path_factory.mktemp("plain") / "kb.db"
    with Knowledge.open(str(path)) as store:
        store.put_entities(
            [
                Entity("dana", "Dana Levi", "person", ("Dana",), _person(date(2017, 5, 2), "Product")),
                Entity("ruth", "Ruth Adler", "person", (), _person(date(2012, 1, 10), "Board")),
                Entity("falcon", "Falcon", "product", (), (_text("weight", "12 kg"), _text("price", "€4800"))),
                Entity("osprey", "Osprey", "product", (), (_text("weight", "31 kg"), _text("price", "€9100"))),
                Entity("northwind", "Northwind Robotics", "company", (), (_text("industry", "robots"),)),
                Entity("review", "Quarterly review", "event"),
            ]
        )
        _put(store, "review", "Quarterly review", "scheduled for", "Thursday")
        _put(store, "northwind", "Northwind Robotics", "founded in", "2009")
        _put(store, "northwind", "Northwind Robotics", "founded by", "Ruth Adler")
        _put(store, "falcon", "Falcon", "launched in", "March 2023")
        _put(store, "osprey", "Osprey", "launched in", "2025")
        yield store


def _person(joined: date, department: str) -> tuple[Attribute, ...]:
    day = Value(joined.isoformat(), ValueKind.DATE, day=joined)
    return (Attribute("joined", day), _text("office", "Tel Aviv"), _text("department", department))


def _text(name: str, text: str) -> Attribute:
    return Attribute(name, Value(text))


def _put(store: Knowledge, identity: str, name: str, predicate: str, value: str) -> None:
    subject = Role("subject", Value(name, ValueKind.REFERENCE, entity=identity))
    store.put_fact(Fact("", predicate, (subject, Role("object", Value(value)))))


def against(kb: Knowledge, text: str) -> list[Flag]:
    found = asyncio.run(detect(Case(text, (), kb=kb, now=NOW))).flags
    return [flag for flag in found if flag.type in AGAINST]


def mended(kb: Knowledge, text: str) -> str:
    (flag,) = against(kb, text)
    assert flag.fix is not None
    return text[: flag.fix[0]] + flag.correction + text[flag.fix[1] :]


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("Dana Levi joined in 2019.", "Dana Levi joined in 2017."),
        ("Dana Levi joined on 3 June 2019.", "Dana Levi joined on 2 May 2017."),
        ("Dana Levi was hired in 2019.", "Dana Levi was hired in 2017."),
        ("The quarterly review is scheduled for Tuesday.", "The quarterly review is scheduled for Thursday."),
        ("The quarterly review takes place on Tuesday.", "The quarterly review takes place on Thursday."),
        ("Ruth Adler founded Northwind Robotics in 2011.", "Ruth Adler founded Northwind Robotics in 2009."),
        (
            "Founded in 2011 by Ruth Adler, Northwind Robotics sells robots.",
            "Founded in 2009 by Ruth Adler, Northwind Robotics sells robots.",
        ),
        ("Launched in 2022, the Falcon weighs 12 kg.", "Launched in 2023, the Falcon weighs 12 kg."),
        ("The Falcon weighs in at 15 kg and costs €4,800.", "The Falcon weighs in at 12 kg and costs €4,800."),
        ("The Falcon came out in June 2022.", "The Falcon came out in March 2023."),
        ("Osprey was launched in 2025, and it weighs 40 kg.", "Osprey was launched in 2025, and it weighs 31 kg."),
        (
            "Falcon is small. Osprey was launched in 2025, and it weighs 40 kg.",
            "Falcon is small. Osprey was launched in 2025, and it weighs 31 kg.",
        ),
        (
            "Dana works in the Tel Aviv office. She works in Marketing.",
            "Dana works in the Tel Aviv office. She works in Product.",
        ),
        (
            "Dana Levi works in the Tel Aviv office, and she works in Marketing.",
            "Dana Levi works in the Tel Aviv office, and she works in Product.",
        ),
        ("Dana Levi – who works in Marketing – is on leave.", "Dana Levi – who works in Product – is on leave."),
        ("Dana Levi works out of the Dublin office.", "Dana Levi works out of the Tel Aviv office."),
    ],
)
def test_a_plain_error_is_found_and_mended(kb: Knowledge, wrong: str, right: str) -> None:
    assert mended(kb, wrong) == right
    assert not against(kb, right)


@pytest.mark.parametrize(
    "text",
    [
        "Dana Levi joined the board in 2019.",
        "Dana Levi joined a gym in 2020.",
        "Dana Levi joined Acme in 2010.",
        "Dana Levi joined Marketing in 2021.",
        "Dana Levi joined the Falcon project in 2021.",
        "Dana Levi joined on Monday.",
        "Dana Levi has worked in Product since 2019.",
        "Northwind Robotics reports weekly on Tuesday.",
        "Ruth Adler founded a charity in 2011.",
        "Falcon is small. Northwind Robotics sells the Osprey, and it weighs 31 kg.",
        "Dana Levi reports to Ruth Adler, and she works in Product.",
        "Ruth Adler reports to Dana Levi, and she works in Product.",
        "Osprey is new. She works in Marketing.",
        "Dana Levi reports to Ruth Adler. She works in Product.",
        "The Falcon came out of the box in 2024.",
        "Northwind Robotics launched the Falcon in Germany in 2024.",
        "Northwind Robotics launched the Falcon website in 2021.",
        "Held in 2011, the ceremony honoured Northwind Robotics.",
        "Compared with 2011, Northwind Robotics sells more robots.",
    ],
)
def test_what_the_store_does_not_speak_against(kb: Knowledge, text: str) -> None:
    assert not against(kb, text)
