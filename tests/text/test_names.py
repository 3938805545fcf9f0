from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from groundwire.text.names import names, same_name


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The Eiffel Tower is in Paris, France.", ["Eiffel Tower", "Paris", "France"]),
        ("It was Ludwig van Beethoven.", ["Ludwig van Beethoven"]),
        ("We met Dr. Smith at IBM's office.", ["Dr. Smith", "IBM"]),
        ("Then Bank of America sued O'Brien.", ["Bank of America", "O'Brien"]),
        ("She bought an iPhone 12 on Monday.", ["iPhone 12"]),
        ("However, customers liked it.", []),
        ("השמאי קבע פיצוי", []),
    ],
)
def test_finds_names(text: str, expected: list[str]) -> None:
    assert [n.text for n in names(text)] == expected


def test_a_lone_opening_word_is_not_sure() -> None:
    assert [n.sure for n in names("Guests met Alice.")] == [False, True]


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        ("Curie", "Marie Curie", True),
        ("J. Smith", "John Smith", True),
        ("Dr. Smith", "Smith", True),
        ("WHO", "World Health Organization", True),
        ("U.S.", "United States", True),
        ("Tchaikovsky", "Tchaikovski", True),
        ("Marie Curie", "Pierre Curie", False),
        ("Alice", "Bob", False),
        ("K. Smith", "John Smith", False),
    ],
)
def test_same_name(a: str, b: str, same: bool) -> None:
    assert same_name(a, b) is same
    assert same_name(b, a) is same


@settings(max_examples=60, deadline=None)
@given(st.text())
def test_offsets_are_exact(text: str) -> None:
    assert all(text[n.start : n.end] == n.text for n in names(text))
