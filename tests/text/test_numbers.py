from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from groundwire.text.numbers import compare, in_range, numbers


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1,234.5", [(1234.5, "")]),
        ("1.234,5", [(1234.5, "")]),
        ("12.345.678", [(12345678.0, "")]),
        ("67 million people", [(67e6, "")]),
        ("$3.5bn", [(3.5e9, "USD")]),
        ("€5m", [(5e6, "EUR")]),
        ("5 m", [(5.0, "m")]),
        ("3.5 km", [(3500.0, "m")]),
        ("20 mg", [(0.02, "g")]),
        ("90 minutes", [(5400.0, "s")]),
        ("twenty-two percent", [(22.0, "%")]),
        ("two hundred and five thousand", [(205000.0, "")]),
        ("half of them", [(0.5, "")]),
        ("3 1/2 cups", [(3.5, "")]),
        ('50,000 ש"ח', [(50000.0, "ILS")]),
        ("₪50,000", [(50000.0, "ILS")]),
        ("50 אלף שקלים", [(50000.0, "ILS")]),
        ("עשרים ושתיים", [(22.0, "")]),
        ('שלושת אלפים ש"ח', [(3000.0, "ILS")]),
        ("between 3 and 4 million", [(3e6, ""), (4e6, "")]),
        ("5-10 km", [(5000.0, "m"), (10000.0, "m")]),
        ("open 17:30-23:0", [(1050.0, "clock"), (1380.0, "clock")]),
        ("at 5 pm", [(1020.0, "clock")]),
        ("9:30 a.m.", [(570.0, "clock")]),
        ("from 9 to 5 pm", [(540.0, "clock"), (1020.0, "clock")]),
        ("-5 °C", [(-5.0, "K")]),
        ("the highest share -- 11.5% of all", [(11.5, "%")]),
        ("- 5 apples", [(5.0, "")]),
        ("41°F", [(5.0, "K")]),
        ("COVID-19, B2B, 15.03.2023, 24/7", []),
        ("one of the best", []),
    ],
)
def test_reads_numbers_with_units(text: str, expected: list[tuple[float, str]]) -> None:
    found = numbers(text)
    assert [n.unit for n in found] == [unit for _, unit in expected]
    assert [n.value for n in found] == pytest.approx([value for value, _ in expected])


def test_ordinals_are_told_apart() -> None:
    assert [(n.value, n.kind) for n in numbers("the 19th and the twenty-first")] == [(19, "ordinal"), (21, "ordinal")]


@pytest.mark.parametrize(
    ("claim", "evidence", "expected"),
    [
        ("67,000,000", "67 million", "same"),
        ("about 67 million", "67,391,582", "same"),
        ("67 million", "67,391,582", "same"),
        ("over 60 million", "67,391,582", "same"),
        ("nearly 70 million", "67,391,582", "same"),
        ("nearly 60 million", "67,391,582", "conflict"),
        ("999 million", "67 million", "conflict"),
        ("less than 60 million", "67 million", "conflict"),
        ("4 stars", "4.4 stars", "conflict"),
        ("4.5", "4.0", "conflict"),
        ("12%", "11.8%", "same"),
        ("1.5 km", "1,500 m", "same"),
        ("90 minutes", "1.5 hours", "same"),
        ("5 km", "5 kg", "unrelated"),
        ("$5", "€5", "unrelated"),
        ("third place", "the third", "same"),
        ("70 people", "more than 60 people", "compatible"),
        ("18:00", "6 pm", "same"),
        ("58 degrees Fahrenheit", "58 degrees", "same"),
    ],
)
def test_compares_with_rounding(claim: str, evidence: str, expected: str) -> None:
    assert compare(numbers(claim)[0], numbers(evidence)[0]) == expected


def test_a_number_inside_a_range() -> None:
    low, high = numbers("5-10 km")
    assert in_range(numbers("7 km")[0], low, high)
    assert not in_range(numbers("12 km")[0], low, high)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**12))
def test_thousands_separators_do_not_change_the_value(value: int) -> None:
    plain, grouped = numbers(f" {value} "), numbers(f" {value:,} ")
    assert [n.value for n in plain] == [n.value for n in grouped] == [value]


@settings(max_examples=60, deadline=None)
@given(st.text(alphabet="0123456789.,:-/ $%₪½mkבאtwenoyחצי"))
def test_any_text_is_read_with_exact_offsets(text: str) -> None:
    found = numbers(text)
    assert all(0 <= n.start < n.end <= len(text) for n in found)
    assert all(a.end <= b.start for a, b in pairwise(found))


def test_a_limit_is_borne_out_by_a_value_or_by_a_limit_that_comes_close() -> None:
    def said(claim: str, evidence: str) -> str:
        return compare(numbers(claim)[0], numbers(evidence)[0])

    assert said("It is paid up to €5,000.", "It is paid up to €2,000.") == "conflict"
    assert said("It takes under 30 minutes.", "It takes under 20 minutes.") == "same"
    assert said("Fewer than 100 people came.", "Fewer than 95 people came.") == "same"
    assert said("Fewer than 100 people came.", "60 people came.") == "same"
