"""How alike two texts are as far as words show it: the cheap first look at meaning."""

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
"""How alike in meaning two texts are, 0 to 1: `semantic_similarity`, or a model in its place."""

AT_ODDS = 0.2
"""The most that two texts can be alike whose numbers, dates, names or negations disagree."""
_SILENT = re.compile(
    r"^\W*(?:unknown\b|not (?:mentioned|stated)\b"
    r"|(?:the )?context (?:does not|doesn['’]t|says nothing|is silent))",
    re.IGNORECASE,
)


def is_silent(text: str) -> bool:
    """Whether a model was told to say UNKNOWN where it cannot know, and did."""
    return bool(_SILENT.match(text))


def shared_words(a: str, b: str) -> float:
    """How many words two texts share, 0 to 1: what it takes to be about the same thing at all."""
    return _overlap(_weights(words(a)), _weights(words(b)))


def semantic_similarity(a: str, b: str) -> float:
    """How alike two texts are in meaning, as far as words show it: symmetric, 1 for equal texts.

    Words count by their stems, function words little, spelling variants in part. Different numbers, dates or
    names, or a negation on one side only, decide the matter: such texts say different things. Misses: who did
    what to whom (the same words in another order), synonyms, quantifiers.

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
    alike = 0.75 * _overlap(_weights(left), _weights(right)) + 0.25 * _overlap(_grams(left), _grams(right))
    return min(alike, AT_ODDS) if at_odds(a, b) else alike


def _weights(found: Sequence[Word]) -> dict[str, float]:
    return {word.norm: 0.2 if word.is_stop else 1.0 for word in found}


def _grams(found: Sequence[Word]) -> dict[str, float]:
    text = " ".join(word.text.casefold() for word in found)
    return dict.fromkeys((text[i : i + 3] for i in range(max(1, len(text) - 2))), 1.0)


def _overlap(left: dict[str, float], right: dict[str, float]) -> float:
    """Shared weight of the whole weight: F1 over weighted sets."""
    shared = sum(min(weight, right[key]) for key, weight in left.items() if key in right)
    whole = (sum(left.values()) + sum(right.values())) / 2
    return shared / whole if whole else 0.0


def at_odds(a: str, b: str) -> bool:
    """Numbers, dates or names in each other's place, or a negation on one side only."""
    return (
        negated(words(a)) != negated(words(b))
        or swapped(numbers(a), numbers(b), same_number)
        or swapped(dates.dates(a), dates.dates(b), same_date)
        or swapped(_names(a), _names(b), same_name)
    )


def negated(found: Sequence[Word]) -> bool:
    """An odd number of negations: two of them cancel out."""
    return sum(word.text.casefold().replace("’", "'") in NEGATIONS for word in found) % 2 == 1


def swapped(left: Sequence[T], right: Sequence[T], same: Callable[[T, T], bool]) -> bool:
    """Each side has one the other lacks: something was put in another's place, not merely left out."""
    return any(not any(same(a, b) for b in right) for a in left) and any(
        not any(same(a, b) for a in left) for b in right
    )


def same_number(a: Number, b: Number) -> bool:
    return "same" in (compare(a, b), compare(b, a))


def same_date(a: dates.PartialDate, b: dates.PartialDate) -> bool:
    return not {"same", "compatible"}.isdisjoint((dates.compare(a, b), dates.compare(b, a)))


def _names(text: str) -> list[str]:
    return [name.text for name in names(text)]
