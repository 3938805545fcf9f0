"""Values read from text, and when two ways of writing one are the same."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.errors import InputError
from groundwire.stores.values import ValidityPeriod, same_value, typed_value, value_of
from groundwire.types import ValueKind


@pytest.mark.parametrize(
    ("text", "number", "unit"),
    [("3.5 km", 3500, "m"), ("$1.2bn", 1.2e9, "USD"), ("45%", 45, "%"), ("twenty-two", 22, ""), ("-7", -7, "")],
)
def test_a_number_with_its_unit(text: str, number: float, unit: str) -> None:
    value = value_of(text)
    assert (value.kind, value.number, value.unit, value.text) == (ValueKind.NUMBER, number, unit, text)


@pytest.mark.parametrize(
    ("text", "day"),
    [("March 15, 2023", date(2023, 3, 15)), ("2023-03-15", date(2023, 3, 15)), ("March 2023", date(2023, 3, 1))],
)
def test_a_date(text: str, day: date) -> None:
    assert (value_of(text).kind, value_of(text).day) == (ValueKind.DATE, day)


@pytest.mark.parametrize(
    "text", ["Paris", "Route 66", "v1.2.3", "192.168.1.1", "007", "+49 30 1234", "2023-02-31", "about 50", ""]
)
def test_everything_else_is_text(text: str) -> None:
    assert value_of(text).kind is ValueKind.TEXT


def test_four_digits_are_a_year_where_a_year_is_asked_for() -> None:
    assert value_of("1976", about="foundedIn").kind is ValueKind.DATE
    assert value_of("1976", about="employees").kind is ValueKind.NUMBER
    assert value_of("1976").kind is ValueKind.DATE


def test_a_kind_that_was_said_must_fit() -> None:
    assert typed_value("180", "cm").number == pytest.approx(1.8)
    assert typed_value("180", "cm").text == "180 cm"
    assert typed_value("1976", "text").kind is ValueKind.TEXT
    assert typed_value("Bob", "ref").kind is ValueKind.REFERENCE
    for text, kind in (("soon", "date"), ("tall", "cm"), ("x", "number")):
        with pytest.raises(InputError, match="is no"):
            typed_value(text, kind)


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        ("March 15, 2023", "15.03.2023", True),
        ("March 2023", "2023-03-01", False),
        ("3.5 km", "3500 m", True),
        ("5 kg", "5 km", False),
        ("Paris", "PARIS", True),
    ],
)
def test_two_ways_of_writing_one_value(a: str, b: str, same: bool) -> None:
    assert same_value(value_of(a), value_of(b)) is same


def test_windows_meet_where_both_hold_on_some_day() -> None:
    early, late, ever = (
        ValidityPeriod(None, date(2015, 6, 30)),
        ValidityPeriod(date(2015, 7, 1), None),
        ValidityPeriod(None, None),
    )
    assert not early.meets(late)
    assert early.meets(ever)
    assert ValidityPeriod(date(2015, 6, 30), None).meets(early)


@given(st.text(max_size=80))
def test_any_text_is_a_value_and_keeps_its_words(text: str) -> None:
    assert value_of(text).text.split() == text.split()
