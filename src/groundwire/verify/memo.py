"""What is found in a text, kept for a while: many claims are read against the same few passages."""

from __future__ import annotations

from functools import lru_cache

from groundwire.text import numbers as _numbers
from groundwire.text import words as _words
from groundwire.text.numbers import Number
from groundwire.text.words import Word

_KEPT = 1024


@lru_cache(maxsize=_KEPT)
def numbers(text: str) -> tuple[Number, ...]:
    return tuple(_numbers.numbers(text))


@lru_cache(maxsize=_KEPT)
def words(text: str) -> tuple[Word, ...]:
    return tuple(_words.words(text))
