from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from groundwire.text.dates import compare, dates, weekdays


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("15.03.2023", [(2023, 3, 15)]),
        ("March 15, 2023", [(2023, 3, 15)]),
        ("15 March 2023", [(2023, 3, 15)]),
        ("the 15th of March", [(0, 3, 15)]),
        ("2023-03-15", [(2023, 3, 15)]),
        ("in 1968", [(1968, 0, 0)]),
        ("March 2023", [(2023, 3, 0)]),
        ("12/25/2023", [(2023, 12, 25)]),
        ("ב-15 במרץ 2023", [(2023, 3, 15)]),
        ("בשנת 1968", [(1968, 0, 0)]),
        ("ב-2019", [(2019, 0, 0)]),
        ("1914-1918", [(1914, 0, 0), (1918, 0, 0)]),
        ("May 5 was the launch date.", [(0, 5, 5)]),
        ("It may rain; 2000 people came; 1500 words", []),
    ],
)
def test_reads_dates(text: str, expected: list[tuple[int, int, int]]) -> None:
    assert [(d.year, d.month, d.day) for d in dates(text)] == expected


@pytest.mark.parametrize(
    ("claim", "evidence", "expected"),
    [
        ("15.03.2023", "March 15, 2023", "same"),
        ("March 2023", "15 March 2023", "compatible"),
        ("in 2023", "15 March 2023", "compatible"),
        ("15.03.2021", "15.03.2023", "conflict"),
        ("7 November 1876", "7 November 1867", "conflict"),
        ("March 15", "in 1968", "unrelated"),
        ("in the 1990s", "in 1994", "compatible"),
        ("in the 19th century", "in 1954", "conflict"),
        ("03/04/2023", "4 March 2023", "same"),
        ("03/04/2023", "3 April 2023", "same"),
    ],
)
def test_compares_partial_dates(claim: str, evidence: str, expected: str) -> None:
    assert compare(dates(claim)[0], dates(evidence)[0]) == expected


def test_weekdays() -> None:
    assert [day for day, _, _ in weekdays("Mondays and Sunday")] == [1, 7]


@settings(max_examples=60, deadline=None)
@given(st.dates())
def test_every_iso_date_is_read_back(day: object) -> None:
    found = dates(f"on {day} it")
    assert f"{found[0].year:04}-{found[0].month:02}-{found[0].day:02}" == str(day)
