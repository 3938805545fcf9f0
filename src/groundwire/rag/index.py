"""The interface of passage indexes, and the ranking that all of them use."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import log
from typing import Protocol

from groundwire._optional import load
from groundwire.config import Config
from groundwire.rag.passages import IndexedDocument, IndexedPassage

_OPENERS = {"sqlite": "groundwire.rag.index_sqlite:open_index", "pinecone": "groundwire.rag.index_pinecone:open_index"}


@dataclass(frozen=True, slots=True)
class PassageHit:
    """A search result. Scores are only comparable within one search."""

    passage: IndexedPassage
    score: float


class PassageIndex(Protocol):
    """An index that several threads and processes may use at once.

    `embedder` names the embedding model; "" if passages are ranked by keywords only.
    """

    @property
    def embedder(self) -> str: ...

    def add(self, document: IndexedDocument, passages: Sequence[IndexedPassage]) -> None:
        """Add or replace a document atomically."""

    def delete(self, ids: Collection[str]) -> int:
        """Delete documents; return how many existed."""

    def search(self, query: str, k: int) -> list[PassageHit]:
        """Return up to `k` relevant passages, best first."""

    def documents(self) -> list[IndexedDocument]:
        """Return all documents, sorted by id."""

    def close(self) -> None: ...


def open_index(config: Config, *, create: bool = True) -> PassageIndex:
    """Open the configured index (`rag.index`); without `create` it must exist."""
    kind = config.rag.index
    opener = load(_OPENERS[kind], feature=f"the index '{kind}'", extra=kind)
    index: PassageIndex = opener(config.rag, create=create)
    return index


RANK_OFFSET = 60
"""The usual constant of reciprocal rank fusion; larger values favour the first ranks less."""

CANDIDATES = 100
"""Passages that each ranking contributes."""

MIN_SIMILARITY = 0.25
"""Minimum cosine of a match: one in forty unrelated pairs of texts reaches it."""

MIN_COVERAGE = 0.2
"""Minimum share of a question's term weight in a passage that matches by keywords only."""


def fuse_rankings(rankings: Sequence[Sequence[int]]) -> dict[int, float]:
    """Merge rankings by reciprocal rank fusion, best first.

    >>> list(fuse_rankings([[7, 8], [8, 9]]))
    [8, 7, 9]
    """
    scores: dict[int, float] = {}
    for ranking in rankings:
        for place, item in enumerate(ranking):
            scores[item] = scores.get(item, 0.0) + 1.0 / (RANK_OFFSET + place + 1)
    return dict(sorted(scores.items(), key=lambda pair: -pair[1]))


def inverse_frequency(containing: int, passages: int) -> float:
    """Return the inverse document frequency of a term as BM25 defines it."""
    return log(1.0 + (passages - containing + 0.5) / (containing + 0.5))


def coverage(weights: Mapping[str, float], passage_terms: Collection[str]) -> float:
    """Return the share of the query's term weight that occurs in a passage.

    >>> coverage({"tower": 3.0, "tall": 1.0}, frozenset({"tower", "paris"}))
    0.75
    """
    total = sum(weights.values())
    return sum(weight for term, weight in weights.items() if term in passage_terms) / total if total else 0.0
