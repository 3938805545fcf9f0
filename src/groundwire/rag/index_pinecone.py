"""Passages in a Pinecone index, through the official SDK: dense vectors for meaning, sparse ones for words.

The index has 256 dimensions and the metric `dotproduct`. Pinecone has no transactions: a document's record is
taken away before its passages change and written after them, so that one cut short is simply done again.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import sqrt
from typing import TypedDict
from zlib import crc32

import numpy as np
from pinecone import Pinecone
from pinecone.errors import (
    NotFoundError,
    PineconeConnectionError,
    PineconeError,
    PineconeTimeoutError,
    RateLimitError,
    UnauthorizedError,
)

from groundwire.config.service import RagConfig
from groundwire.errors import (
    BackendDown,
    BackendError,
    BackendTimeout,
    ConfigError,
    InputError,
    MissingExtra,
    RateLimited,
)
from groundwire.rag.embed import WIDTH, Embedder, default_embedder, is_understood
from groundwire.rag.index import MIN_COVERAGE, MIN_SIMILARITY, Hit, coverage
from groundwire.rag.passages import Document, Passage
from groundwire.text.tokens import terms

_BATCH = 100  # vectors a request: Pinecone takes 2 MB at once
_IDS = 1000  # ids a request to delete
_SPARE = 3  # so many times the wanted passages are asked for: some will not speak of the question
_FAINT = 1e-6  # in place of a dense vector of zeros, which Pinecone refuses
_RECORDS = ".documents"
_MAX_TEXT = 32_000  # a vector's metadata may have 40 kB


class Sparse(TypedDict):
    indices: list[int]
    values: list[float]


class PineconeIndex:
    """`host` is the index's own address; without one it is looked up by `name`."""

    def __init__(self, api_key: str, name: str, host: str, namespace: str, embedder: Embedder) -> None:
        self._embedder = embedder
        self._namespace = namespace
        with _translated(name):
            self._client = Pinecone(api_key=api_key)
            self._index = self._client.Index(name="" if host else name, host=host)
        self._name = name

    @property
    def embedder(self) -> str:
        return self._embedder.name

    def add(self, document: Document, passages: Sequence[Passage]) -> None:
        prefix = _key(document.id)
        wanted = {f"{prefix}#{passage.number}" for passage in passages}
        with _translated(self._name):
            self._forget([prefix], self._namespace + _RECORDS)
            for start in range(0, len(passages), _BATCH):
                vectors = self._vectors(prefix, passages[start : start + _BATCH])
                self._index.upsert(vectors=vectors, namespace=self._namespace)
            self._forget([old for old in self._passages_of(prefix) if old not in wanted], self._namespace)
            record = {"id": prefix, "values": _dense(None), "metadata": _record(document, len(passages))}
            self._index.upsert(vectors=[record], namespace=self._namespace + _RECORDS)

    def _vectors(self, prefix: str, passages: Sequence[Passage]) -> list[Mapping[str, object]]:
        rows = self._embedder.embed([passage.about for passage in passages])
        found: list[Mapping[str, object]] = []
        for passage, row in zip(passages, rows, strict=True):
            vector: dict[str, object] = {
                "id": f"{prefix}#{passage.number}",
                "values": _dense(row),
                "metadata": _metadata(passage),
            }
            words = _sparse(f"{passage.title}\n{passage.about}")
            found.append(vector | ({"sparse_values": words} if words["indices"] else {}))
        return found

    def delete(self, ids: Collection[str]) -> int:
        with _translated(self._name):
            there = self._records([_key(name) for name in ids])
            self._forget(list(there), self._namespace + _RECORDS)
            for prefix in map(_key, ids):  # also of one whose record was never written
                self._forget(list(self._passages_of(prefix)), self._namespace)
        return len(there)

    def documents(self) -> list[Document]:
        with _translated(self._name):
            pages = self._index.list(namespace=self._namespace + _RECORDS)
            keys = [str(item.id) for page in pages for item in page.vectors]
            return sorted(self._records(keys).values(), key=lambda document: document.id)

    def search(self, query: str, k: int) -> list[Hit]:
        words = _sparse(query)
        understood = is_understood(query)
        dense = self._embedder.embed([query])[0] if understood else np.zeros(WIDTH, np.float32)
        if not words["indices"] and not dense.any():
            return []
        with _translated(self._name):
            found = self._index.query(
                top_k=k * _SPARE,
                vector=_dense(dense),
                sparse_vector=dict(words) if words["indices"] else None,
                namespace=self._namespace,
                include_values=True,
                include_metadata=True,
            )
        asked = dict.fromkeys(terms(query), 1.0)
        hits = [
            (Hit(_passage(match.metadata or {}), float(match.score)), np.asarray(match.values, np.float32))
            for match in found.matches
        ]
        return [hit for hit, row in hits if _speaks(hit.passage, row, asked, dense)][:k]

    def _passages_of(self, prefix: str) -> Iterator[str]:
        for page in self._index.list(prefix=f"{prefix}#", namespace=self._namespace):
            yield from (str(item.id) for item in page.vectors)

    def _records(self, keys: Sequence[str]) -> dict[str, Document]:
        found: dict[str, Document] = {}
        for start in range(0, len(keys), _BATCH):
            part = list(keys[start : start + _BATCH])
            vectors = self._index.fetch(ids=part, namespace=self._namespace + _RECORDS).vectors
            found |= {key: _document(vector.metadata or {}) for key, vector in vectors.items()}
        return found

    def _forget(self, ids: Sequence[str], namespace: str) -> None:
        for start in range(0, len(ids), _IDS):
            try:
                self._index.delete(ids=list(ids[start : start + _IDS]), namespace=namespace)
            except NotFoundError:
                return  # a namespace comes to be with its first vector

    def close(self) -> None:
        self._index.close()
        self._client.close()


def _key(name: str) -> str:
    """An id that Pinecone takes: ASCII and short, whatever the document is called."""
    return hashlib.sha256(name.encode("utf-8", "replace")).hexdigest()[:32]


def _dense(row: np.ndarray[tuple[int, ...], np.dtype[np.float32]] | None) -> list[float]:
    return [_FAINT] * WIDTH if row is None or not row.any() else [float(value) for value in row]


def _sparse(text: str) -> Sparse:
    """The words of a text as a vector of length one: a dot product of two is a cosine."""
    counts = Counter(crc32(term.encode()) for term in terms(text))
    weights = {number: times / (times + 1.0) for number, times in counts.items()}
    length = sqrt(sum(weight * weight for weight in weights.values()))
    return {"indices": list(weights), "values": [weight / length for weight in weights.values()]}


def _speaks(
    passage: Passage,
    row: np.ndarray[tuple[int, ...], np.dtype[np.float32]],
    asked: Mapping[str, float],
    dense: np.ndarray[tuple[int, ...], np.dtype[np.float32]],
) -> bool:
    """Pinecone returns its nearest, however far away they are: the bars are those of the embedded index."""
    if float(row @ dense) >= MIN_SIMILARITY:
        return True
    return coverage(asked, frozenset(terms(f"{passage.title}\n{passage.about}"))) >= MIN_COVERAGE


def _metadata(passage: Passage) -> dict[str, str | int]:
    return {
        "document": passage.document, "number": passage.number, "text": passage.text[:_MAX_TEXT],
        "start": passage.start, "end": passage.end, "title": passage.title,
        "heading": passage.heading, "part": passage.part,
    }  # fmt: skip


def _passage(held: Mapping[str, object]) -> Passage:
    name, text, title, heading, part = (
        str(held.get(key, "")) for key in ("document", "text", "title", "heading", "part")
    )
    number, start, end = (_whole(held.get(key)) for key in ("number", "start", "end"))
    return Passage(name, number, text, start, end, title, heading, part)


def _record(document: Document, passages: int) -> dict[str, str | int]:
    return {
        "document": document.id, "title": document.title, "digest": document.digest,
        "passages": passages, "characters": document.characters,
    }  # fmt: skip


def _document(held: Mapping[str, object]) -> Document:
    name, title, digest = (str(held.get(key, "")) for key in ("document", "title", "digest"))
    return Document(name, title, digest, _whole(held.get("passages")), _whole(held.get("characters")))


def _whole(value: object) -> int:
    """Pinecone keeps every number as a float."""
    return int(value) if isinstance(value, int | float) else 0


@contextmanager
def _translated(name: str) -> Iterator[None]:
    try:
        yield
    except UnauthorizedError as error:
        raise ConfigError("Pinecone refused the key", hint="set rag.pinecone_api_key") from error
    except NotFoundError as error:
        hint = f"make it with {WIDTH} dimensions and the metric dotproduct, or set rag.pinecone_index"
        raise InputError(f"Pinecone has no index '{name}'", hint=hint) from error
    except RateLimitError as error:
        raise RateLimited("Pinecone asks to come back later") from error
    except PineconeTimeoutError as error:
        raise BackendTimeout("Pinecone did not answer in time") from error
    except PineconeConnectionError as error:
        raise BackendDown("Pinecone cannot be reached", hint="check rag.pinecone_host") from error
    except PineconeError as error:
        raise BackendError(f"Pinecone failed: {str(error)[:200]}") from error


def open_index(config: RagConfig, *, create: bool = True) -> PineconeIndex:  # noqa: ARG001 (it is there or not)
    embedder = default_embedder()
    if embedder is None:
        raise MissingExtra("the index 'pinecone'", "pinecone")
    if config.pinecone_api_key is None:
        raise ConfigError("the index 'pinecone' needs a key", hint="set rag.pinecone_api_key")
    key = config.pinecone_api_key.get_secret_value()
    host = config.pinecone_host or ""
    return PineconeIndex(key, config.pinecone_index, host, config.pinecone_namespace, embedder)
