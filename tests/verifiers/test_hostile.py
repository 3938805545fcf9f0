"""Texts that nobody writes: how much work they may make is counted here, not timed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from groundwire.text import numbers as number_reader
from groundwire.text.structure import pieces
from groundwire.text.tokens import similarity
from groundwire.types import Query
from groundwire.verifiers import lexical
from groundwire.verifiers.lexical import LexicalVerifier
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


def test_a_page_of_sums_is_compared_no_more_often_than_a_table(compared: Counted) -> None:
    LexicalVerifier().judge(Query(sums(3000), f"{sums(400, 5000)}."))
    assert 0 < compared.calls <= 2 * lexical.MAX_COMPARED * 400


def test_a_claim_with_all_too_many_words_is_searched_for_likenesses_in_part(monkeypatch: pytest.MonkeyPatch) -> None:
    counted = Counted(similarity)
    monkeypatch.setattr(lexical, "similarity", counted)
    LexicalVerifier().judge(
        Query(" ".join(f"strange{i:04}q" for i in range(3000)), sums(1) + "".join(f" known{i}z" for i in range(150)))
    )
    assert counted.calls <= lexical.MAX_COMPARED * 151


def test_what_follows_from_rules_is_concluded_once_for_all_claims(monkeypatch: pytest.MonkeyPatch) -> None:
    rules = "All members get a discount. Ana is a member. Ben is a member. If Ben is a member, then Ben is happy."
    counted = Counted(prover.conclusions)
    monkeypatch.setattr(prover, "conclusions", counted)
    prover._known.cache_clear()
    claims = ["Ana gets a discount.", "Ben gets a discount.", "Ben is happy.", "Ana is happy."]
    found = [prover.follows(claim, [piece.text for piece in pieces(rules)]) for claim in claims]
    assert [result.label for result in found[:3] if result] == ["supported"] * 3
    assert counted.calls == 2  # forwards, and backwards
