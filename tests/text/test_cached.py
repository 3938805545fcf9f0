"""What is remembered of texts is limited in bytes, not only in number: strangers send texts of any length."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest

from groundwire.actions import values
from groundwire.openie import lexicon
from groundwire.text import names, structure, tokens
from groundwire.text.tokens import cached
from groundwire.verifiers import lexical
from groundwire.verifiers.logic import conditions

FUNCTIONS: list[Callable[[str], object]] = [
    tokens.content_words, tokens.is_stop, tokens.normalise, tokens._grams, names.fold, names.key, values.read, values._stems,
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
