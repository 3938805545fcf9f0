from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from groundwire.text.names import core_name, core_words, fold, fold_identifier, names, same_name


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


@pytest.mark.parametrize(
    ("written", "folded"),
    [
        ("  Dr. Zoë  O'Neil’s ", "dr zoe oneil"),
        ("U.S.", "us"),
        ("AT&T", "at and t"),
        ("e-mail", "e mail"),
        ("iPhone 12", "iphone 12"),
        ("3.5 km", "3.5 km"),
        ("1,000", "1,000"),
        ("Straße", "strasse"),
        ("Łódź", "lodz"),
        ("בַּיִת", "בית"),
        ("한국", "한국"),
        ("!!!", "!!!"),
        ("", ""),
    ],
)
def test_what_does_not_count_is_folded_away(written: str, folded: str) -> None:
    assert fold(written) == folded


def test_languages_that_differ_in_a_sign_are_three() -> None:
    assert len({fold("C"), fold("C#"), fold("C++")}) == 3


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("the Analytics team", "Analytics"),
        ("Apple Inc.", "apple"),
        ("Prof. Dr. Jane Smith", "Jane Smith"),
        ("NewYork", "New York"),
        ("J. K. Rowling", "J.K. Rowling"),
    ],
)
def test_what_stands_around_a_name_is_not_the_name(a: str, b: str) -> None:
    assert core_name(a) == core_name(b)


@pytest.mark.parametrize(("a", "b"), [("Saint Petersburg", "Petersburg"), ("New York", "York"), ("The", "A")])
def test_what_belongs_to_a_name_stays(a: str, b: str) -> None:
    assert core_name(a) != core_name(b)


def test_programs_write_names_together() -> None:
    assert fold_identifier("worksIn") == fold_identifier("works_in") == fold_identifier("Works in") == "works in"


@given(st.text(max_size=40))
def test_folding_twice_is_folding_once_and_never_empties(text: str) -> None:
    folded = fold(text)
    assert fold(folded) == folded or not folded.isascii()
    assert bool(folded) == bool(text.strip())
    assert core_words(text) or not text.strip()
