"""Times: where they stand, what stretch they mean, in which tense and on which side of what."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from groundwire.openie.tense import times
from groundwire.types import Tense, TimeExpression, TimeRelation

NOW = datetime(2026, 6, 17, 15, 30)  # a Wednesday


def read(text: str) -> list[TimeExpression]:
    return times(text, 0, NOW)


def ends(time: TimeExpression) -> tuple[date | None, date | None]:
    return time.first and time.first.date(), time.last and time.last.date()


@pytest.mark.parametrize(
    ("text", "found", "first", "last"),
    [
        ("It was sold last year.", "last year", date(2025, 1, 1), date(2025, 12, 31)),
        ("It will be sold next year.", "next year", date(2027, 1, 1), date(2027, 12, 31)),
        ("It was sold last month.", "last month", date(2026, 5, 1), date(2026, 5, 31)),
        ("It was sold last week.", "last week", date(2026, 6, 8), date(2026, 6, 14)),
        ("It was sold last quarter.", "last quarter", date(2026, 1, 1), date(2026, 3, 31)),
        ("It was sold last March.", "last March", date(2026, 3, 1), date(2026, 3, 31)),
        ("It was sold last December.", "last December", date(2025, 12, 1), date(2025, 12, 31)),
        ("We met yesterday.", "yesterday", date(2026, 6, 16), date(2026, 6, 16)),
        ("We will meet tomorrow.", "tomorrow", date(2026, 6, 18), date(2026, 6, 18)),
        ("We met the day before yesterday.", "the day before yesterday", date(2026, 6, 15), date(2026, 6, 15)),
        ("It began three weeks ago.", "three weeks ago", date(2026, 5, 25), date(2026, 5, 31)),
        ("It began 50 years ago.", "50 years ago", date(1976, 1, 1), date(1976, 12, 31)),
        ("It starts two months from now.", "two months from now", date(2026, 8, 1), date(2026, 8, 31)),
        ("We will meet on Friday.", "Friday", date(2026, 6, 19), date(2026, 6, 19)),
        ("We met on Friday.", "Friday", date(2026, 6, 12), date(2026, 6, 12)),
        ("We will meet next Tuesday at 3 pm.", "next Tuesday", date(2026, 6, 23), date(2026, 6, 23)),
        ("Sales rose in Q3 2022.", "Q3 2022", date(2022, 7, 1), date(2022, 9, 30)),
        ("In the first half of 2023 it rained.", "first half of 2023", date(2023, 1, 1), date(2023, 6, 30)),
        ("It opened on March 15, 2023.", "March 15, 2023", date(2023, 3, 15), date(2023, 3, 15)),
        ("It opened in March 2023.", "March 2023", date(2023, 3, 1), date(2023, 3, 31)),
        ("It opened in the 1990s.", "1990s", date(1990, 1, 1), date(1999, 12, 31)),
        ("It closed on December 24.", "December 24", date(2025, 12, 24), date(2025, 12, 24)),
        ("It will close on March 3.", "March 3", date(2027, 3, 3), date(2027, 3, 3)),
        ("She was born on 03/04/49.", "03/04/49", date(1949, 4, 3), date(1949, 4, 3)),
        ("The colony was founded in 3024.", "3024", date(3024, 1, 1), date(3024, 12, 31)),
        ("He was born on 30 February 1990.", "30 February 1990", None, None),
    ],
)  # fmt: skip
def test_a_stretch_has_two_ends(text: str, found: str, first: date | None, last: date | None) -> None:
    (time,) = read(text)
    assert (time.text, *ends(time)) == (found, first, last)


@pytest.mark.parametrize(
    "text",
    [
        "The meeting is at 3 pm.", "It ran for three weeks.", "The window holds 2048 tokens.", "in 1200 BC", "",
        "The next year was better.", "In the last year of the war, it rained.", "It has 66 million years of history.",
        "Fly to room 3000.",
    ],
)  # fmt: skip
def test_no_point_in_time(text: str) -> None:
    assert read(text) == []


@pytest.mark.parametrize(
    ("text", "tense"),
    [
        ("It was launched in 2020.", Tense.PAST),
        ("In 2020, it launched.", Tense.PAST),
        ("It has been sold in 2020.", Tense.PAST),
        ("They had left in 2020.", Tense.PAST),
        ("They did not leave in 2020.", Tense.PAST),
        ("It is sold in 2020.", Tense.PRESENT),
        ("It will launch in 2030.", Tense.FUTURE),
        ("It'll be launched in 2030.", Tense.FUTURE),
        ("It is going to launch in 2030.", Tense.FUTURE),
        ("It is expected to launch in 2030.", Tense.FUTURE),
        ("It might launch in 2030.", Tense.NONE),
        ("The cars sold in 2040 will be electric.", Tense.NONE),
        ("He wants to launch in 2030.", Tense.NONE),
        ("Summer of 2030", Tense.NONE),
    ],
)
def test_the_tense_of_the_clause(text: str, tense: Tense) -> None:
    assert read(text)[0].tense is tense


@pytest.mark.parametrize(
    ("text", "relations"),
    [
        ("It ran from 2019 to 2021.", [TimeRelation.START, TimeRelation.END]),
        ("It ran between 2019 and 2021.", [TimeRelation.START, TimeRelation.END]),
        ("The war (1939–1945) was long.", [TimeRelation.START, TimeRelation.END]),
        ("It has run since 2019.", [TimeRelation.START]),
        ("It ran until 2019.", [TimeRelation.END]),
        ("It was done before 2019.", [TimeRelation.BEFORE]),
        ("It was done after 2019.", [TimeRelation.AFTER]),
        ("It opened in 2019 and closed in 2021.", [TimeRelation.START, TimeRelation.END]),
        ("It rained in 2019.", [None]),
    ],
)
def test_on_which_side(text: str, relations: list[TimeRelation | None]) -> None:
    assert [time.relation for time in read(text)] == relations


def test_offsets_are_into_the_response_and_zones_are_those_of_now() -> None:
    response = "Hello. It was sold last year."
    (time,) = times(response[7:], 7, NOW.replace(tzinfo=UTC))
    assert response[time.start : time.end] == "last year"
    assert time.first is not None
    assert time.first.tzinfo is UTC


_PIECES = st.sampled_from(
    ["last year", "2031", "in", "on", "30 February 2021", "99/99/2020", "0 years ago", "9999 years ago", "to", "–", "from",
     "was", "will", "Q4 2199", "next century", "May", "5", "2020-13-45", "\n", "Monday", "ago", "12/31/99", "שנת 1999"]
)  # fmt: skip


@settings(max_examples=150)
@given(st.lists(_PIECES, max_size=8).map(" ".join) | st.text(max_size=60), st.integers(0, 10_000))
def test_any_text_is_read_and_spans_are_exact(text: str, offset: int) -> None:
    last = offset
    for time in times(text, offset, NOW):
        assert text[time.start - offset : time.end - offset] == time.text
        assert time.start >= last
        last = time.end
        assert (time.first is None) == (time.last is None)
        assert not (time.first and time.last) or time.first <= time.last


@pytest.mark.parametrize("now", [datetime(1, 1, 1), datetime(9999, 12, 31), datetime(2024, 2, 29)])
@pytest.mark.parametrize(
    "text", ["last year", "next decade", "next century", "9999 years ago", "Monday", "last quarter", "last March"]
)
def test_times_at_the_ends_of_the_calendar_are_ordered_or_unresolved(now: datetime, text: str) -> None:
    (found,) = times(f"It was {text}.", 0, now)
    assert found.text == text
    assert (found.first is None) == (found.last is None)
    assert found.first is None or found.last is None or found.first <= found.last
