"""Predicates that do not hold together: "is open" and "is closed", "is member" and "is non-member"."""

from __future__ import annotations

from functools import lru_cache

from groundwire.text.tokens import normalise
from groundwire.verifiers.lexical.tables import OPPOSITES

_PREFIXES = ("un", "in", "im", "ir", "il", "dis", "non-", "non", "ex-")
_SHORTEST = 4
_PAIRS = """
on:off valid:void valid:expired full:empty intact:broken intact:damaged present:absent up:down new:used
open:closed free:occupied free:paid locked:open ready:late awake:asleep old:young light:dark light:heavy
happy:sad good:bad clean:dirty adult:child adult:minor hard:soft
"""
_OPPOSED = {frozenset(pair.split(":")) for pair in _PAIRS.split()}


@lru_cache(maxsize=4096)
def opposed(a: str, b: str) -> bool:
    """Whether they say the same but for one word, and that is turned.

    >>> opposed("is open", "is closed"), opposed("is open", "is open on Sunday")
    (True, False)
    """
    mine, theirs = a.split(), b.split()
    if len(mine) != len(theirs):
        return False
    other = [(x, y) for x, y in zip(mine, theirs, strict=True) if x != y]
    return len(other) == 1 and (frozenset(other[0]) in _OPPOSED or _prefixed(*other[0]) or _listed(*other[0]))


def _prefixed(a: str, b: str) -> bool:
    short, long = sorted((a, b), key=len)
    return len(short) >= _SHORTEST and any(long == prefix + short for prefix in _PREFIXES)


def _listed(a: str, b: str) -> bool:
    theirs = OPPOSITES.get(normalise(b), frozenset())
    return any((axis, 1 - side) in theirs for axis, side in OPPOSITES.get(normalise(a), ()))
