"""Two rankings of passages, by words and by meaning, made one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log

RANK_OFFSET = 60
"""Reciprocal rank fusion: how little the first places stand out among the next ones."""

CANDIDATES = 100
"""How many passages each of the rankings hands in."""

MIN_SIMILARITY = 0.25
"""Below this cosine two texts are about different things: of unrelated pairs one in forty reaches it."""

MIN_COVERAGE = 0.2
"""The share of a question's weight that a passage's words must hold, for the words alone to bring it in."""


def fused(rankings: Sequence[Sequence[int]]) -> dict[int, float]:
    """Passages by the sum of their reciprocal ranks, best first; ties go to who was ranked first.

    >>> list(fused([[7, 8], [8, 9]]))
    [8, 7, 9]
    """
    scores: dict[int, float] = {}
    for ranking in rankings:
        for place, item in enumerate(ranking):
            scores[item] = scores.get(item, 0.0) + 1.0 / (RANK_OFFSET + place + 1)
    return dict(sorted(scores.items(), key=lambda pair: -pair[1]))


def rarity(holders: int, passages: int) -> float:
    """How much a word tells that so many of the passages hold."""
    return log(1.0 + (passages - holders + 0.5) / (holders + 0.5))


def coverage(weights: Mapping[str, float], held: frozenset[str]) -> float:
    """Which share of the question's weight a passage's words hold.

    >>> coverage({"tower": 3.0, "tall": 1.0}, frozenset({"tower", "paris"}))
    0.75
    """
    total = sum(weights.values())
    return sum(weight for term, weight in weights.items() if term in held) / total if total else 0.0
