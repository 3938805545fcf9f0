"""Clauses as literals, and the words that make one unreadable."""

from __future__ import annotations

import pytest

from groundwire.verifiers.logic.conditions import ANYONE, EVERYONE, Literal, Said, said


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Ana is tall", [("ana", "is tall", True)]),
        ("Ana isn't tall", [("ana", "is tall", False)]),
        ("Ana is not not tall", [("ana", "is tall", True)]),
        ("Ana Maria Sol gets a discount", [("ana maria sol", "get discount", True)]),
        ("Ana does not get discounts", [("ana", "get discount", False)]),
        ("the red pump cannot run", [("the red pump", "can run", False)]),
        ("Ana has no car", [("ana", "have car", False)]),
        ("Ana must not smoke", [("ana", "must not smoke", True)]),
        ("Ana can have a car", [("ana", "can have car", True)]),
        ("the pump and", None),
        ("Ana is likely and not former", [("ana", "is likely", True), ("ana", "is former", False)]),
        ("Ana is tall and not overseas", [("ana", "is tall", True), ("ana", "is oversea", False)]),
        ("James can swim", [("james", "can swim", True)]),
        ("the lamp in the hall is on", None),
        ("the price of gas is high", [("the price of gas", "is high", True)]),
        ("Ana is tall and not old", [("ana", "is tall", True), ("ana", "is old", False)]),
        ("Ana is tall, old and kind", [("ana", f"is {a}", True) for a in ("tall", "old", "kind")]),
        ("Ana is tall and Bo is old", [("ana", "is tall", True), ("bo", "is old", True)]),
        ("Ana is tall and gets tea", [("ana", "is tall", True), ("ana", "get tea", True)]),
        ("Ana is a keen member", [("ana", "is keen member", True), ("ana", "is member", True)]),
        ("Ana is not a keen member", [("ana", "is keen member", False)]),
        ("Ana is a member of the club", [("ana", "is member of the club", True)]),
        ("Ana is a nurse at the clinic", [("ana", "is nurse at the clinic", True), ("ana", "is nurse", True)]),
        ("Ana is an assistant manager", None),
        ("Ana is a suspended member", None),
        ("someone who is tall is also old", [(ANYONE, "is tall", True), (ANYONE, "is old", True)]),
        ("there is someone who is both tall and old", [(ANYONE, "is tall", True), (ANYONE, "is old", True)]),
        ("everyone is tall", [(EVERYONE, "is tall", True)]),
        ("there is nobody who is not tall", [(EVERYONE, "is tall", True)]),
    ],
)  # fmt: skip
def test_what_a_clause_says(text: str, found: list[tuple[str, str, bool]] | None) -> None:
    assert said(text) == (None if found is None else Said(tuple(Literal(*one) for one in found)))


@pytest.mark.parametrize("text", ["a pump leaks", "there is a pump that leaks"])
def test_a_pump_is_a_pump(text: str) -> None:
    assert said(text) == Said((Literal(ANYONE, "leak"),), given=(Literal(ANYONE, "is pump"),))


def test_one_of_several() -> None:
    assert said("Ana is either tall or old") == Said((Literal("ana", "is tall"), Literal("ana", "is old")), False)


@pytest.mark.parametrize(
    "text",
    [
        "", "and", "Ana", "Ana is", "Ana is not", "Ana was tall", "Ana is usually tall", "Ana is not always tall",
        "Ana is very tall", "Ana is fully open", "Ana is tall or old and kind", "Ana is no longer tall",
        "Ana is taller than Bo", "Ana says Bo is tall", "Ana gets tea and cake", "the pump and the valve are open",
        "Most people are tall", "He is tall", "This is tall", "There is a pump", "what is tall",
        "Ana is a former member", "Ana, Bo", "a friendly dog barks", "Ana's eyes shine", "The rug matched the pillows", "The use of red lamps", "Ana is in Paris or Rome", "Ana is tall, Bo",
    ],
)  # fmt: skip
def test_what_is_not_known_to_the_last_word_is_not_read(text: str) -> None:
    assert said(text) is None


def test_he_is_the_one_that_is_meant() -> None:
    assert said("he is tall", "ana") == Said((Literal("ana", "is tall"),))
    assert said("they are tall", ANYONE) == Said((Literal(ANYONE, "is tall"),))
    assert said("he is tall", EVERYONE) is None
