"""Values of one sentence that a claim has crossed, and sentences in which nothing is."""

from __future__ import annotations

import pytest

from groundwire.types import Query
from groundwire.verifiers.rules.ruled import rule_results

FLAT = "Renting costs 300 euros, the deposit is 500 euros."
BRIDGES = "The old bridge is 300 m long, and the new bridge is 500 m long."
HOTEL = "The hotel has 12 rooms, the annex has 5 rooms."


def denied(claim: str, context: str) -> list[str]:
    return [claim[r.start : r.end] for r in rule_results(Query(claim, context)) if r.denies]


@pytest.mark.parametrize(
    ("claim", "context", "where"),
    [
        ("The deposit is 300 euros.", FLAT, "300 euros"),
        ("Renting costs 500 euros.", FLAT, "500 euros"),
        ("The deposit costs 300 euros.", FLAT, "300 euros"),
        ("The deposit is 300 euros.", f"The flat is quiet. {FLAT} Call us.", "300 euros"),
        ("The deposit is 300 euros.", FLAT.replace(", the", " while the"), "300 euros"),
        ("The new bridge is 300 m long.", BRIDGES, "300 m"),
        ("The hotel has 5 rooms.", HOTEL, "5"),
        ("Bob was born in 1950.", "Ann was born in 1950, Bob was born in 1960.", "1950"),
    ],
)
def test_a_value_belongs_to_its_own_part_of_a_sentence(claim: str, context: str, where: str) -> None:
    assert denied(claim, context) == [where]


@pytest.mark.parametrize(
    ("claim", "context"),
    [
        ("The deposit is 500 euros.", FLAT),
        ("Renting costs 300 euros.", FLAT),
        ("The deposit is more than 300 euros.", FLAT),
        ("The deposit is 300 euros.", f"{FLAT} For members the deposit is 300 euros."),
        ("The deposit is 300 euros.", FLAT.replace(".", ", 300 euros for members.")),
        ("Renting costs 500 euros.", "Renting costs 300 euros, renting a garage costs 500 euros."),
        ("The bridge is 500 m long.", BRIDGES),
        ("The hotel has 5 floors.", HOTEL),
        ("Sales were 400 euros.", "Sales were 300 euros, rising to 400 euros."),
        ("Sales were 400 in 2021.", "Sales were 300 in 2020, 400 in 2021."),
        ("Sales were 400.", "Sales were 300 and then they were 400."),
        ("The tower reaches 330 metres.", "The tower is 300 metres tall, the spire reaches 330 metres."),
        (
            "The room costs 500 euros.",
            "If booked early, the room costs 300 euros, the suite costs 500 euros.",
        ),
    ],
)
def test_what_is_not_surely_crossed_is_left_alone(claim: str, context: str) -> None:
    assert denied(claim, context) == []
