"""Lexical similarity of two texts: the cheap test before a verifier is asked."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TypeVar

from groundwire.text import dates
from groundwire.text.lexicon import NEGATIONS
from groundwire.text.names import names, same_name
from groundwire.text.numbers import Number, compare, numbers
from groundwire.text.tokens import Word, words

T = TypeVar("T")
Similarity = Callable[[str, str], float]
"""Similarity in meaning of two texts, 0 to 1: `semantic_similarity` or a model."""

AT_ODDS = 0.2
"""Upper bound of the similarity of texts whose numbers, dates, names or negations disagree; by convention."""
_STEMS = 0.75  # share of word stems in the similarity; the rest is trigrams. Chosen by hand
_STOP_WEIGHT = 0.2  # of a function word, relative to other words
_SILENT = re.compile(
    r"^\W*(?:unknown\b|not (?:mentioned|stated)\b"
    r"|(?:the )?context (?:does not|doesn['’]t|says nothing|is silent))",
    re.IGNORECASE,
)


def is_silent(text: str) -> bool:
    """Return True if a model's reply is UNKNOWN or says that the context does not mention the matter."""
    return bool(_SILENT.match(text))


def shared_words(a: str, b: str) -> float:
    """Weighted share of common words, 0 to 1: a test for the same topic."""
    return _overlap(_weights(words(a)), _weights(words(b)))


def semantic_similarity(a: str, b: str) -> float:
    """Similarity in meaning, judged by words: symmetric, 1 for equal texts.

    Words are compared by their stems, and by character trigrams for spelling variants; function words count
    little. Different numbers, dates or names, or a negation in one text only, limit the result to `AT_ODDS`.
    Misses: exchanged roles (the same words in another order), synonyms, quantifiers.

    >>> semantic_similarity("Paris has 2 million people.", "2 million people live in Paris.") > 0.6
    True
    >>> semantic_similarity("The drug is approved.", "The drug is not approved.") <= 0.2
    True
    """
    left, right = words(a), words(b)
    if [w.norm for w in left] == [w.norm for w in right]:
        return 1.0
    if not left or not right:
        return 0.0
    stems = _overlap(_weights(left), _weights(right))
    alike = _STEMS * stems + (1 - _STEMS) * _overlap(_grams(left), _grams(right))
    return min(alike, AT_ODDS) if at_odds(a, b) else alike


def _weights(found: Sequence[Word]) -> dict[str, float]:
    return {word.norm: _STOP_WEIGHT if word.is_stop else 1.0 for word in found}


def _grams(found: Sequence[Word]) -> dict[str, float]:
    text = " ".join(word.text.casefold() for word in found)
    return dict.fromkeys((text[i : i + 3] for i in range(max(1, len(text) - 2))), 1.0)


def _overlap(left: dict[str, float], right: dict[str, float]) -> float:
    """F1 over weighted sets."""
    shared = sum(min(weight, right[key]) for key, weight in left.items() if key in right)
    whole = (sum(left.values()) + sum(right.values())) / 2
    return shared / whole if whole else 0.0


def at_odds(a: str, b: str) -> bool:
    """Return True if numbers, dates or names differ, or only one text is negated."""
    return (
        negated(words(a)) != negated(words(b))
        or swapped(numbers(a), numbers(b), same_number)
        or swapped(dates.dates(a), dates.dates(b), same_date)
        or swapped(_names(a), _names(b), same_name)
    )


def negated(found: Sequence[Word]) -> bool:
    """Return True for an odd number of negations: two cancel out."""
    return sum(word.text.casefold().replace("’", "'") in NEGATIONS for word in found) % 2 == 1


def swapped(left: Sequence[T], right: Sequence[T], same: Callable[[T, T], bool]) -> bool:
    """Return True if each side has an item that the other lacks: replaced, not merely left out."""
    return any(not any(same(a, b) for b in right) for a in left) and any(
        not any(same(a, b) for a in left) for b in right
    )


def same_number(a: Number, b: Number) -> bool:
    return "same" in (compare(a, b), compare(b, a))


def same_date(a: dates.PartialDate, b: dates.PartialDate) -> bool:
    return not {"same", "compatible"}.isdisjoint((dates.compare(a, b), dates.compare(b, a)))


def _names(text: str) -> list[str]:
    return [name.text for name in names(text)]
