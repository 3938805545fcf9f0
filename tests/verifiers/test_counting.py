"""Claims that say how many things a source lists."""

from __future__ import annotations

import pytest

from groundwire.text.structure import pieces
from groundwire.types import Query
from groundwire.verifiers.counting import counted, listed_things
from groundwire.verifiers.rules import RULES, detect

INN = "The inn opened in 1921. The halls of the inn are Dill, Clove, Mint and Sage. It has a garden."
COUNT = next(rule for rule in RULES if rule.name == "count")


@pytest.mark.parametrize(
    ("claim", "label"),
    [
        ("The inn has four halls.", "supported"),
        ("There are 4 halls in the inn.", "supported"),
        ("The inn has five halls.", "contradicted"),
        ("There are three halls in the inn.", "contradicted"),
    ],
)
def test_listed_things_are_counted(claim: str, label: str) -> None:
    result = detect(COUNT, Query(claim, INN))
    assert result is not None
    assert (result.label, result.reason) == (label, "the source lists 4: Dill, Clove, Mint, Sage")


@pytest.mark.parametrize(
    "claim",
    [
        "The inn has four large halls.",
        "The inn has about four halls.",
        "The inn has four halls and two bars.",
        "The inn has four gardens.",
        "The halls of the inn are 4 metres high.",
        "The inn has halls.",
    ],
)
def test_claims_that_say_anything_else_are_left_to_the_network(claim: str) -> None:
    assert counted(claim, [piece.text for piece in pieces(INN)]) is None


@pytest.mark.parametrize(
    "sentence",
    [
        "The halls include Dill, Clove and Mint.",
        "The halls are Dill, Clove, Mint and others.",
        "The halls are Dill and Clove.",
        "The halls are open, which is why the whole town comes to them in the evening, and cheap.",
    ],
)
def test_open_lists_and_clauses_are_not_counted(sentence: str) -> None:
    assert listed_things(sentence) is None
