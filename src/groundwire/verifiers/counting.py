"""How many things a sentence lists: "The halls of the inn are Dill, Clove and Mint" says that it has three halls.

A network does not count. A claim is judged here only if it says nothing but the number of what a sentence lists.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from groundwire.text.numbers import numbers
from groundwire.text.tokens import is_stop, terms, words

MIN_LISTED = 3
"""Shorter lists are joined names as often as lists."""

_MAX_ITEM_WORDS = 6
"""Longer items are clauses."""

_LIST = re.compile(r"(?P<head>[^:;.]{3,160}?)(?:\s(?:are|were|namely)|:)\s(?P<items>[^:;.()]{5,400})\.?")
_SEPARATOR = re.compile(r",\s+(?:and\s+)?|\s+and\s+")
_OPEN = re.compile(
    r"\b(?:includ\w*|such as|e\.g|for example|etc|others?|more|among|amongst|some|several)\b", re.IGNORECASE
)
_SAYS_NOTHING = frozenset(terms("there found listed total number count altogether exactly named"))


def counted(claim: str, evidence: Iterable[str]) -> tuple[int, list[str]] | None:
    """The number that a claim states and the things that a sentence lists, if the claim says nothing else.

    >>> counted("The inn has four halls.", ["The halls of the inn are Dill, Clove and Mint."])
    (4, ['Dill', 'Clove', 'Mint'])
    """
    found = numbers(claim)
    if len(found) != 1 or found[0].value != int(found[0].value) or found[0].unit or found[0].bound:
        return None
    rest = f"{claim[: found[0].start]} {claim[found[0].end :]}"
    said = {term for word in words(rest) if not is_stop(word.text) for term in terms(word.text)} - _SAYS_NOTHING
    for sentence in evidence if said else ():
        listed = listed_things(sentence)
        if listed and said <= set(terms(listed[0])):
            return int(found[0].value), listed[1]
    return None


def listed_things(sentence: str) -> tuple[str, list[str]] | None:
    """What a sentence says before its list, and the items; None for one that is no closed list."""
    match = _LIST.fullmatch(" ".join(sentence.split()))
    if match is None or _OPEN.search(sentence) or " and " not in match["items"]:
        return None
    items = [item for item in _SEPARATOR.split(match["items"]) if item]
    if len(items) < MIN_LISTED or any(len(item.split()) > _MAX_ITEM_WORDS for item in items):
        return None
    return match["head"], items
