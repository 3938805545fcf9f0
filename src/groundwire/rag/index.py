"""What an index of passages can do: take documents in, let them go, find what a question is about."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import log
from typing import Protocol

from groundwire._optional import load
from groundwire.config import Config
from groundwire.rag.passages import Document, Passage

_OPENERS = {
    "sqlite": "groundwire.rag.index_sqlite:open_index",
    "pinecone": "groundwire.rag.index_pinecone:open_index",
}


@dataclass(frozen=True, slots=True)
class Hit:
    """A passage that was found. `score` orders the hits of one search and means nothing beside another's."""

    passage: Passage
    score: float


class PassageIndex(Protocol):
    """Safe to use from several threads and by several processes at once.

    `embedder` names what meanings are compared by; "" where passages are found by their words alone.
    """

    @property
    def embedder(self) -> str: ...

    def add(self, document: Document, passages: Sequence[Passage]) -> None:
        """The document with these passages, in place of what stood under its id: all of it, or nothing."""

    def delete(self, ids: Collection[str]) -> int:
        """Let documents go; how many there were."""

    def search(self, query: str, k: int) -> list[Hit]:
        """The best `k` passages, best first; none where nothing speaks of it."""

    def documents(self) -> list[Document]:
        """All documents, by id."""

    def close(self) -> None: ...


def open_index(config: Config, *, create: bool = True) -> PassageIndex:
    """The configured index (`rag.index`). Close it with `close()`. Without `create` it must be there."""
    kind = config.rag.index
    opener = load(_OPENERS[kind], feature=f"the index '{kind}'", extra=kind)
    index: PassageIndex = opener(config.rag, create=create)
    return index


# Two rankings of passages, by words and by meaning, made one.

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
