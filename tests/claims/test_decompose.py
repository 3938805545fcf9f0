"""Compound sentences: cut where it is safe, left alone where it is not."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from groundwire.claims.assertiveness import split


def parts(text: str) -> list[str]:
    return [text[start:end] for start, end in split(text)]


@pytest.mark.spec("SPEC-08.07")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Paris is in France, and Rome is in Italy.", ["Paris is in France", "Rome is in Italy."]),
        ("The first has two rooms; the second has three.", ["The first has two rooms", "the second has three."]),
        ("Sales rose to 5 %, but the profit was lower.", ["Sales rose to 5 %", "the profit was lower."]),
        ("A is one, and B is two, while C is three.", ["A is one", "B is two", "C is three."]),
    ],
)
def test_clauses_with_subject_and_verb_are_parted(text: str, expected: list[str]) -> None:
    assert parts(text) == expected


@pytest.mark.spec("SPEC-08.07")
@pytest.mark.parametrize(
    "text",
    [
        "He bought apples, pears, and plums.",
        "Paris is big, and it is old.",
        "He said the hotel is open, and the bar is closed.",
        "If it rains, and the street is wet, we stay.",
        "The hotel (it is big, and the bar is small) is old.",
        'The sign reads "no is no, and yes is yes" in red.',
        "Paris is big, and Lyon, which is smaller, too.",
        "While Paris is big, and Rome is old, both are loved.",
        "Monday; Tuesday; Wednesday",
        "It has a camera, AMR, WAV, and MIDI sounds are available.",
        "The name is Fuel, and their id was 331872.",
        "It is known that A is one, and B is two.",
    ],
)
def test_in_doubt_nothing_is_cut(text: str) -> None:
    assert parts(text) == [text]


@pytest.mark.spec("SPEC-16.37")
@settings(max_examples=100, deadline=None)
@given(st.lists(st.sampled_from(["Paris is big", ", and ", "; ", "the sea was cold", "(", '"', " that "])).map("".join))
def test_pieces_are_ordered_and_lose_only_the_joints(text: str) -> None:
    ranges = split(text)
    assert ranges[0][0] == 0
    assert ranges[-1][1] == len(text)
    for (_, end), (start, _) in pairwise(ranges):
        assert end <= start
        assert text[end:start].strip(" ,;") in ("", "and", "but", "while")
