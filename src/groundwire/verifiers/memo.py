"""What is found in a text, kept for a while: many claims are read against the same few passages."""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from groundwire.text import numbers as _numbers
from groundwire.text import tokens as _words
from groundwire.text.numbers import Number
from groundwire.text.tokens import Word

_KEPT = 1024
_BAGS = 4096


class Bag(NamedTuple):
    """The words of a passage: all norms, all spellings, and of content words the norms and neighbours."""

    norms: frozenset[str]
    lower: frozenset[str]
    content: tuple[str, ...]
    pairs: frozenset[tuple[str, str]]


@lru_cache(maxsize=_KEPT)
def numbers(text: str) -> tuple[Number, ...]:
    return tuple(_numbers.numbers(text))


@lru_cache(maxsize=_KEPT)
def words(text: str) -> tuple[Word, ...]:
    return tuple(_words.words(text))


@lru_cache(maxsize=_BAGS)
def bag(text: str) -> Bag:
    """Contexts of one check differ in the evidence that was taken out: the other passages are read once."""
    found = _words.words(text)
    content = tuple(word.norm for word in found if not word.is_stop)
    return Bag(
        frozenset(word.norm for word in found),
        frozenset(word.text.lower() for word in found),
        content,
        frozenset(pairwise(content)),
    )
