"""What is remembered of texts is limited in bytes, not only in number: strangers send texts of any length."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest

from groundwire.actions import values
from groundwire.openie import lexicon
from groundwire.text import names, structure, tokens
from groundwire.text.tokens import TextCache, cached
from groundwire.verifiers import lexical
from groundwire.verifiers.local import LocalVerifier
from groundwire.verifiers.logic import conditions

FUNCTIONS: list[Callable[[str], object]] = [
    tokens.content_words, tokens.is_stop, tokens.normalise, tokens.letter_pairs, names.fold, names.key, values.read, values._stems,
    lexicon.normal, lexicon.groups, lexical.content_norms, lexical.analyse, structure._cached_spans, conditions.read,
]  # fmt: skip
MAX_KEPT = 16


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: f"{function.__module__}.{function.__name__}")
def test_long_texts_are_not_kept(function: Callable[[str], object]) -> None:
    texts = ["x" * 5000 + str(number) for number in range(2 * MAX_KEPT)]
    before = [sys.getrefcount(text) for text in texts]
    for number in range(len(texts)):
        function(texts[number])
    after = [sys.getrefcount(text) for text in texts]
    assert sum(now > then for now, then in zip(after, before, strict=True)) <= MAX_KEPT


def test_short_texts_and_the_last_long_ones_are_computed_once() -> None:
    calls: list[str] = []

    @cached(2, 3, longer=1)
    def record(text: str) -> int:
        calls.append(text)
        return len(text)

    assert [record(text) for text in ("ab", "ab", "long", "long", "longer", "long")] == [2, 2, 4, 4, 6, 4]
    assert calls == ["ab", "long", "longer", "long"]


def test_a_cache_of_texts_is_limited_in_entries_and_in_characters() -> None:
    cache = TextCache(len, entries=3, chars=100)
    for text in ("a", "b", "c", "d"):
        cache(text)
    assert (len(cache), cache.chars) == (3, 3)
    for letter in "efgh":
        cache(letter * 40)
        assert cache.chars <= 100
    assert (len(cache), cache.chars) == (2, 80)


def test_the_text_used_last_stays_whatever_its_length() -> None:
    calls: list[str] = []
    cache = TextCache(calls.append, entries=3, chars=100)
    for text in ("a", "b", "a", "x" * 500, "x" * 500, "a"):
        cache(text)
    assert [text[:1] for text in calls] == ["a", "b", "x", "a"]
    assert (len(cache), cache.chars) == (1, 1)


def test_the_verifiers_keep_few_characters_of_their_contexts() -> None:
    document = LocalVerifier().document
    for kept in (document, lexical.context_sentences):
        for number in range(12):
            kept(f"The tower {number} is tall.\n" + " " * 400_000)
        assert len(kept) <= 12
        assert kept.chars <= 2_000_000
