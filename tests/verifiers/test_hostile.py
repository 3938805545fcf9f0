"""Texts that nobody writes: how much work they may make is counted here, not timed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.text import numbers as number_reader
from groundwire.text.structure import pieces
from groundwire.text.tokens import similarity
from groundwire.types import Query
from groundwire.verifiers.lexical import LexicalVerifier, facts, match
from groundwire.verifiers.lexical.pieces import analyse
from groundwire.verifiers.logic import prover


class Counted:
    """A function that counts how often it is asked."""

    def __init__(self, inner: Callable[..., Any]) -> None:
        self.inner = inner
        self.calls = 0

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self.calls += 1
        return self.inner(*args, **kwargs)


@pytest.fixture
def compared(monkeypatch: pytest.MonkeyPatch) -> Counted:
    counted = Counted(number_reader.compare)
    monkeypatch.setattr(number_reader, "compare", counted)
    return counted


def sums(count: int, first: int = 0) -> str:
    return " ".join(f"pump {first + i}" for i in range(count))


@given(st.text("ab1 中,.", max_size=60), st.integers(0, 60), st.integers(0, 9), st.integers(0, 20))
def test_the_words_around_a_place_are_those_that_reading_all_would_find(
    text: str, start: int, length: int, window: int
) -> None:
    found, end = analyse(text), start + length
    near = [w for w in found.content if start - window <= w.end and w.start <= end + window]
    assert list(found.around(start, end, window)) == near


@given(st.lists(st.sampled_from(["Ana Reed", "5 km", "in May 2020", "met", "3 May", "Oslo", ","]), max_size=9))
def test_words_within_numbers_and_dates_are_no_content(parts: list[str]) -> None:
    found = analyse(" ".join(parts))
    taken = [(n.start, n.end) for n in found.numbers] + [(d.start, d.end) for d in found.dates]
    places = [(w.start, w.end) for w in found.content] + [(n.start, n.end) for n in found.names]
    assert not any(a < end and start < b for a, b in taken for start, end in places)


def test_a_page_of_sums_is_compared_no_more_often_than_a_table(compared: Counted) -> None:
    LexicalVerifier().judge(Query(sums(3000), f"{sums(400, 5000)}."))
    assert 0 < compared.calls < 4 * facts._MAX_COMPARISONS


def test_a_claim_with_all_too_many_words_is_searched_for_likenesses_in_part(monkeypatch: pytest.MonkeyPatch) -> None:
    counted = Counted(similarity)
    monkeypatch.setattr(match, "similarity", counted)
    LexicalVerifier().judge(
        Query(" ".join(f"strange{i:04}q" for i in range(3000)), sums(1) + "".join(f" known{i}z" for i in range(150)))
    )
    assert counted.calls < 2 * match._MAX_COMPARISONS


def test_what_follows_from_rules_is_concluded_once_for_all_claims(monkeypatch: pytest.MonkeyPatch) -> None:
    rules = "All members get a discount. Ana is a member. Ben is a member. If Ben is a member, then Ben is happy."
    counted = Counted(prover.conclusions)
    monkeypatch.setattr(prover, "conclusions", counted)
    prover._known.cache_clear()
    claims = ["Ana gets a discount.", "Ben gets a discount.", "Ben is happy.", "Ana is happy."]
    found = [prover.follows(claim, [piece.text for piece in pieces(rules)]) for claim in claims]
    assert [result.label for result in found[:3] if result] == ["supported"] * 3
    assert counted.calls == 2  # forwards, and backwards
