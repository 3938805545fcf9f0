"""The words that two clauses share, and the time it takes to count them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tests.growth import assert_linear

from groundwire.detectors.statements import _count_shared, similarity, utterances
from groundwire.text import tokens

WORDS = st.frozensets(st.text("abc", min_size=1, max_size=8), max_size=5)


@given(WORDS, WORDS)
def test_words_are_shared_in_similar_forms(one: frozenset[str], other: frozenset[str]) -> None:
    def count(frame: frozenset[str], words: frozenset[str]) -> int:
        return sum(any(tokens.similarity(word, theirs) >= 0.8 for theirs in words) for word in frame)

    assert _count_shared(one, other) == (count(one, other), count(other, one))


def test_lists_of_words_are_compared_in_linear_time() -> None:
    def clause(length: int) -> str:
        return "The meeting " + " ".join(f"w{n}x" for n in range(length // 6))

    def compare(text: str) -> None:
        one, other = (next(utterances(said)) for said in (text, text.replace("x", "y")))
        similarity(one, other)

    assert_linear(compare, clause, 450)
