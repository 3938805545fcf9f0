"""Sentences cut into clauses that can be judged apart."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.text.clauses import clauses


def parts(sentence: str) -> list[str]:
    return [sentence[start:end] for start, end in clauses(sentence)]


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("The ferry runs daily, but it takes no cars.", ["The ferry runs daily", "but it takes no cars"]),
        ("The hall seats 400 and has two bars inside.", ["The hall seats 400", "has two bars inside"]),
        (
            "Dogs are allowed on leads while cats are not allowed.",
            ["Dogs are allowed on leads", "cats are not allowed"],
        ),
        ("The kitchen closes at ten; the bar stays open.", ["The kitchen closes at ten", "the bar stays open"]),
    ],
)
def test_clauses_that_assert_something_each_are_separated(sentence: str, expected: list[str]) -> None:
    assert parts(sentence) == expected


@pytest.mark.parametrize(
    "sentence", ["The menu has soup, bread and cheese.", "Paris, which is large, lies on the Seine.", "It rains.", ""]
)
def test_lists_and_short_clauses_are_left_together(sentence: str) -> None:
    assert parts(sentence) == [sentence]


@given(st.text(alphabet="ab ,;and while.", max_size=120))
def test_clauses_are_ordered_ranges_of_the_sentence(sentence: str) -> None:
    found = clauses(sentence)
    assert found
    assert all(0 <= start <= end <= len(sentence) for start, end in found)
    assert all(end <= start for (_, end), (start, _) in pairwise(found))
