"""The interface of passage indexes, and the ranking and the embeddings that all of them use."""

from __future__ import annotations

import logging
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from math import log
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from groundwire._optional import load
from groundwire.config import Config
from groundwire.errors import MissingExtra
from groundwire.text.tokens import terms

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]

_OPENERS = {"sqlite": "groundwire.rag.index_sqlite:open_index", "pinecone": "groundwire.rag.index_pinecone:open_index"}


@dataclass(frozen=True, slots=True)
class IndexedDocument:
    """A document in an index. `digest` identifies its bytes and the splitting parameters."""

    id: str
    title: str
    digest: str
    passages: int = 0
    characters: int = 0


@dataclass(frozen=True, slots=True)
class IndexedPassage:
    """`text` is shown to the model; `start` and `end` are offsets in the document, or in its `part` if a file
    contains several texts. `heading` is the nearest heading above.
    """

    document: str
    number: int
    text: str
    start: int
    end: int
    title: str = ""
    heading: str = ""
    part: str = ""

    @property
    def id(self) -> str:
        return f"{self.document}#{self.number}"

    @property
    def about(self) -> str:
        """The text with its heading, as it is indexed."""
        return f"{self.heading}\n{self.text}" if self.heading else self.text

    @property
    def terms(self) -> list[str]:
        """The terms by which it is found, in order."""
        return terms(f"{self.title}\n{self.about}")


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


# Static word embeddings that are part of a package, so that nothing is downloaded.

MODEL_NAME = "wordllama-l2_supercat-256"
WIDTH = 256
_LETTER = re.compile(r"[^\W\d_]")
_LATIN = re.compile(r"[A-Za-z\u00c0-\u024f]")
_log = logging.getLogger(__name__)


class Embedder(Protocol):
    """Returns one unit vector per text; zeros for a text without words."""

    name: str

    def embed(self, texts: Sequence[str]) -> Vectors: ...


class WordLlama:
    name = MODEL_NAME

    def __init__(self) -> None:
        with _preserve_logging():
            package = load("wordllama", feature="searching by meaning", extra="rag")
        folder = Path(package.__file__).parent
        # The package's folder as cache: otherwise it looks for the tokenizer on the network.
        self._model = package.WordLlama.load(cache_dir=folder, disable_download=True)

    def embed(self, texts: Sequence[str]) -> Vectors:
        import numpy as np

        vectors: Vectors = np.asarray(self._model.embed(list(texts)), dtype=np.float32).reshape(-1, WIDTH)
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        unit: Vectors = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)
        return unit


@contextmanager
def _preserve_logging() -> Iterator[None]:
    """Restore the root logger, which the package reconfigures when it is imported."""
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    try:
        yield
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)


@cache
def default_embedder() -> Embedder | None:
    """Return the packaged embedder, loaded once; None if the extra is not installed."""
    try:
        return WordLlama()
    except MissingExtra:
        _log.info("wordllama is not installed: passages are ranked by keywords only")
        return None


def is_understood(text: str) -> bool:
    """True for text in Latin script; the embeddings know other scripts only as meaningless single bytes.

    >>> is_understood("How tall is it?"), is_understood("מה גובה המגדל?")
    (True, False)
    """
    return 2 * len(_LATIN.findall(text)) > len(_LETTER.findall(text))
