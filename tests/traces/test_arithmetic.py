from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from groundwire.traces.computation import derive

ASKED = "How many r's are in strawberry?"


@pytest.mark.parametrize(
    "text",
    [
        "1 + 1 + 1 = 3", "10 / 3 = 3.33", "2 + 3 * 4 = 14", "10 - 2 - 3 = 5", "$1,200 + $300 = $1,500",
        "5 apples + 3 apples = 8 apples", "The word is spelled s-t-r-a-w-b-e-r-r-y.",
        "The letter r stands at positions 3, 8 and 9.", "That makes 3 r's in total.",
        "The first two letters r stand at positions 3 and 8.", "80 minus 20 equals 60.",
        "6 times 7 is 42", "25% of 80 is 20.", "33% of 10 is 3", "1.5 hours are 90 minutes.",
        "So 150 minutes is 2 hours and 30 minutes.", "Three weeks have 21 days.", "1 mile is 1.6 km",
    ],
)  # fmt: skip
def test_right(text: str) -> None:
    found = derive(text, ASKED)
    assert found is not None
    assert found.holds


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("So 12 × 4 = 46 crates.", "12 × 4 = 48, not 46"),
        ("1 + 1 = 2 and 2 + 2 = 5", "2 + 2 = 4, not 5"),
        ("80 minus 20 leaves 50 euros.", "80 - 20 = 60, not 50"),
        ("25% of 80 is 25.", "25% of 80 is 20, not 25"),
        ("2.5 metres are 25 centimetres.", "the two amounts are not the same"),
        ("150 minutes is 2 hours and 50 minutes.", "the two amounts are not the same"),
        ("There are 2 r's in strawberry.", "strawberry has 3 of the letter r, not 2"),
        ("It is spelled s-t-r-a-w-b-e-r-y.", "is not spelled"),
        ("The letter r stands at positions 3 and 8.", "r stands at 3, 8, 9 of strawberry, not at 3, 8"),
    ],
)
def test_wrong(text: str, reason: str) -> None:
    found = derive(text, ASKED)
    assert found is not None
    assert not found.holds
    assert reason in found.reason


@pytest.mark.parametrize(
    "text",
    [
        "x = 5",
        "In 2019-2020 it rained.",
        "5 / 0 = 3",
        "10% + 5 = 6",
        "The r at position 3.",
        "90 minutes is not 2 hours.",
        "90 minutes are less than 2 hours.",
        "The film is 90 minutes long.",
        "The first 10 minutes are worth 2 hours.",
        "10% of 50 people are more than 3",
        "So it is 3.",
        "",
    ],
)
def test_no_matter_of_rules(text: str) -> None:
    assert derive(text, ASKED) is None


@given(st.integers(0, 999), st.integers(0, 999), st.sampled_from("+-*"), st.integers(-3, 3))
@settings(max_examples=80)
def test_sums_are_right_exactly_where_they_are(a: int, b: int, sign: str, off: int) -> None:
    value = {"+": a + b, "-": a - b, "*": a * b}[sign] + off
    found = derive(f"{a} {sign} {b} = {value}")
    assert found is not None
    assert found.holds == (off == 0)


@given(st.text(max_size=120), st.text(max_size=60))
@settings(max_examples=80)
def test_a_result_on_any_text_states_its_reason_and_is_reproducible(text: str, question: str) -> None:
    found = derive(text, question)
    assert found == derive(text, question)
    assert found is None or found.reason
