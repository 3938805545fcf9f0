"""What a context is read for: each passage once, the rest only if it is wanted, and nothing read differently."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.text.numbers import Number, numbers
from groundwire.text.tokens import words
from groundwire.verifiers import features, memo
from groundwire.verifiers.features import NAMES, Rarity, Reader
from groundwire.verifiers.passages import Passage
from groundwire.verifiers.select import joined

RARITY = Rarity({"the": 1000, "pump": 3000, "valve": 4000})
# ends and beginnings that could belong together, were they read as one
ENDS = (
    "It opens at 5 p.m.", "It opens at 5", "It weighs approx.", "It weighs approx", "It is c.", "He said about.",
    "It weighs five", "It costs $", "They are 5 ft.", "She asked about!", "It was the", "It holds more than.",
    'He said "5"', "It ended at 9:00", "It has 20", "There are twenty.", "They came second?", "a third.", "etc.",
    "בערך.", "Between.", "It rose by 5 percent.", "The end.", "",
)  # fmt: skip
STARTS = (
    "5 km away", "- 6 p.m. it closes", "to 6 p.m. daily", "million people came", "½ of it", "kg were lifted",
    "and 7 more", "M. Bison won", "-3 degrees", "1/2 is left", "the 4th", "hundred and five", "percent of 12",
    "2021 saw it", "% of all 7", "",
)  # fmt: skip


def context(missing: int = -1) -> str:
    said = (f"The pump number {i} was repaired in week {i} by Ana." for i in range(30))
    return " ".join("[EVIDENCE REMOVED]" if i == missing else text for i, text in enumerate(said))


def bare(number: Number) -> Number:
    return number._replace(start=0, end=0)


def reader_of(pieces: list[Passage]) -> Reader:
    reader = Reader("", RARITY)
    reader.passages, reader.bags = pieces, [memo.bag(piece.text) for piece in pieces]
    return reader


pieces_of_text = st.lists(
    st.tuples(st.sampled_from(STARTS), st.sampled_from(ENDS)).map(lambda ends: Passage(" ".join(ends))), max_size=8
)


@given(pieces_of_text)
def test_the_parts_of_a_context_hold_the_numbers_of_the_whole(pieces: list[Passage]) -> None:
    apart = [number for part in features._parts(pieces) for number in numbers(part)]
    assert [bare(n) for n in apart] == [bare(n) for n in numbers(joined(pieces))]


@given(pieces_of_text)
def test_the_passages_of_a_context_hold_the_words_of_the_whole(pieces: list[Passage]) -> None:
    reader, found = reader_of(pieces), words(joined(pieces))
    assert reader.norms == {word.norm for word in found}
    assert reader.lower == {word.text.lower() for word in found}
    assert reader.pairs == set(pairwise(word.norm for word in found if not word.is_stop))


def test_contexts_that_differ_in_a_sentence_are_not_read_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    memo.bag.cache_clear()
    memo.numbers.cache_clear()
    read: list[str] = []

    def counted(text: str) -> list[Number]:
        read.append(text)
        return numbers(text)

    monkeypatch.setattr("groundwire.text.numbers.numbers", counted)
    for missing in range(30):
        Reader(context(missing), RARITY).features("The valve number 77 was sold.", "nothing")
    behind = 29  # a sentence behind a gap begins with the marker, so each but the first is read twice
    assert memo.bag.cache_info().misses == 30 + behind
    assert len(read) == 30 + behind + 2  # and the claim, and what is near


def test_how_much_is_covered_is_told_without_reading_the_rest() -> None:
    reader = Reader(context(3), RARITY)
    claim, near = "The pump was repaired by Ana in week 40.", "The pump number 1 was repaired."
    told = reader.near_cover(claim, near)
    assert not {"figures", "norms", "pairs", "record"} & vars(reader).keys()
    values = dict(zip(NAMES, reader.features(claim, near), strict=True))
    assert told == values["best_cover"] + values["cover_gap"]
