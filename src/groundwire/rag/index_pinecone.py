"""A Pinecone index through the official SDK: dense vectors for meaning, sparse ones for keywords.

The index has 256 dimensions and the metric `dotproduct`. Pinecone has no transactions: a document's record is
deleted before its passages change and written after them, so that an interrupted update is repeated.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, fields, replace
from math import sqrt
from typing import Any, TypedDict, TypeVar
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

from groundwire.config import RagConfig
from groundwire.errors import (
    BackendDown,
    BackendError,
    BackendTimeout,
    ConfigError,
    InputError,
    MissingExtra,
    RateLimited,
)
from groundwire.rag.index import (
    MIN_COVERAGE,
    MIN_SIMILARITY,
    WIDTH,
    Embedder,
    IndexedDocument,
    IndexedPassage,
    PassageHit,
    coverage,
    default_embedder,
    is_understood,
)
from groundwire.text.tokens import terms

_BATCH = 100  # vectors per request, which may have 2 MB
_DELETE_BATCH = 1000  # ids per delete request
_OVERSAMPLING = 3  # times the wanted passages are requested, since some will be below the thresholds
_EPSILON = 1e-6  # instead of zeros, which Pinecone rejects as a dense vector
_RECORDS_SUFFIX = ".documents"  # of the namespace that holds the document records
_MAX_TEXT = 32_000  # characters: a vector's metadata may have 40 kB


Row = TypeVar("Row", IndexedDocument, IndexedPassage)
Vector = np.ndarray[tuple[int, ...], np.dtype[np.float32]]


class SparseVector(TypedDict):
    indices: list[int]
    values: list[float]


class PineconeIndex:
    """`host` is the index's address; without it the index is looked up by `name`."""

    def __init__(self, api_key: str, name: str, host: str, namespace: str, embedder: Embedder) -> None:
        self._embedder = embedder
        self._namespace = namespace
        with _translate_errors(name):
            self._client = Pinecone(api_key=api_key)
            self._index = self._client.Index(name="" if host else name, host=host)
        self._name = name

    @property
    def embedder(self) -> str:
        return self._embedder.name

    def add(self, document: IndexedDocument, passages: Sequence[IndexedPassage]) -> None:
        prefix = _key(document.id)
        wanted = {f"{prefix}#{passage.number}" for passage in passages}
        with _translate_errors(self._name):
            self._delete_ids([prefix], self._namespace + _RECORDS_SUFFIX)
            for start in range(0, len(passages), _BATCH):
                vectors = self._vectors(prefix, passages[start : start + _BATCH])
                self._index.upsert(vectors=vectors, namespace=self._namespace)
            self._delete_ids([old for old in self._passage_ids(prefix) if old not in wanted], self._namespace)
            indexed = replace(document, passages=len(passages))
            record = {"id": prefix, "values": _dense(None), "metadata": _metadata(indexed)}
            self._index.upsert(vectors=[record], namespace=self._namespace + _RECORDS_SUFFIX)

    def _vectors(self, prefix: str, passages: Sequence[IndexedPassage]) -> list[Mapping[str, object]]:
        rows = self._embedder.embed([passage.about for passage in passages])
        found: list[Mapping[str, object]] = []
        for passage, row in zip(passages, rows, strict=True):
            vector: dict[str, object] = {
                "id": f"{prefix}#{passage.number}",
                "values": _dense(row),
                "metadata": _metadata(replace(passage, text=passage.text[:_MAX_TEXT])),
            }
            words = _sparse(passage.terms)
            found.append(vector | ({"sparse_values": words} if words["indices"] else {}))
        return found

    def delete(self, ids: Collection[str]) -> int:
        with _translate_errors(self._name):
            there = self._records([_key(name) for name in ids])
            self._delete_ids(list(there), self._namespace + _RECORDS_SUFFIX)
            for prefix in map(_key, ids):  # also of documents whose record was never written
                self._delete_ids(list(self._passage_ids(prefix)), self._namespace)
        return len(there)

    def documents(self) -> list[IndexedDocument]:
        with _translate_errors(self._name):
            pages = self._index.list(namespace=self._namespace + _RECORDS_SUFFIX)
            keys = [str(item.id) for page in pages for item in page.vectors]
            return sorted(self._records(keys).values(), key=lambda document: document.id)

    def search(self, query: str, k: int) -> list[PassageHit]:
        words = _sparse(terms(query))
        understood = is_understood(query)
        dense = self._embedder.embed([query])[0] if understood else np.zeros(WIDTH, np.float32)
        if not words["indices"] and not dense.any():
            return []
        with _translate_errors(self._name):
            found = self._index.query(
                top_k=k * _OVERSAMPLING,
                vector=_dense(dense),
                sparse_vector=dict(words) if words["indices"] else None,
                namespace=self._namespace,
                include_values=True,
                include_metadata=True,
            )
        asked = dict.fromkeys(terms(query), 1.0)
        hits = [
            (
                PassageHit(_read(IndexedPassage, match.metadata or {}), float(match.score)),
                np.asarray(match.values, np.float32),
            )
            for match in found.matches
        ]
        # The thresholds of the embedded index: Pinecone returns the nearest, however far away.
        return [
            hit
            for hit, row in hits
            if float(row @ dense) >= MIN_SIMILARITY or coverage(asked, hit.passage.terms) >= MIN_COVERAGE
        ][:k]

    def _passage_ids(self, prefix: str) -> Iterator[str]:
        for page in self._index.list(prefix=f"{prefix}#", namespace=self._namespace):
            yield from (str(item.id) for item in page.vectors)

    def _records(self, keys: Sequence[str]) -> dict[str, IndexedDocument]:
        found: dict[str, IndexedDocument] = {}
        for start in range(0, len(keys), _BATCH):
            part = list(keys[start : start + _BATCH])
            vectors = self._index.fetch(ids=part, namespace=self._namespace + _RECORDS_SUFFIX).vectors
            found |= {key: _read(IndexedDocument, vector.metadata or {}) for key, vector in vectors.items()}
        return found

    def _delete_ids(self, ids: Sequence[str], namespace: str) -> None:
        for start in range(0, len(ids), _DELETE_BATCH):
            try:
                self._index.delete(ids=list(ids[start : start + _DELETE_BATCH]), namespace=namespace)
            except NotFoundError:
                return  # a namespace does not exist before its first vector

    def close(self) -> None:
        self._index.close()
        self._client.close()


def _key(name: str) -> str:
    """Return a short ASCII id, as Pinecone requires, for any document id."""
    return hashlib.sha256(name.encode("utf-8", "replace")).hexdigest()[:32]


def _dense(row: Vector | None) -> list[float]:
    return [_EPSILON] * WIDTH if row is None or not row.any() else [float(value) for value in row]


def _sparse(found: Sequence[str]) -> SparseVector:
    """Return terms as a sparse unit vector."""
    counts = Counter(crc32(term.encode()) for term in found)
    weights = {number: times / (times + 1.0) for number, times in counts.items()}
    length = sqrt(sum(weight * weight for weight in weights.values()))
    return {"indices": list(weights), "values": [weight / length for weight in weights.values()]}


def _metadata(row: IndexedPassage | IndexedDocument) -> dict[str, str | int]:
    """The fields of a row; `document` is the document's own id, too."""
    found = asdict(row)
    return {"document": found.pop("id"), **found} if isinstance(row, IndexedDocument) else found


def _read(kind: type[Row], metadata: Mapping[str, object]) -> Row:
    """Rebuild a row. Pinecone stores every number as a float; fields it does not have are empty."""
    values: dict[str, Any] = {}
    for field in fields(kind):
        value = metadata.get("document" if field.name == "id" else field.name)
        if field.type == "int":
            values[field.name] = int(value) if isinstance(value, int | float) else 0
        else:
            values[field.name] = str(value or "")
    return kind(**values)


@contextmanager
def _translate_errors(name: str) -> Iterator[None]:
    try:
        yield
    except UnauthorizedError as error:
        raise ConfigError("Pinecone rejected the key", hint="set rag.pinecone_api_key") from error
    except NotFoundError as error:
        hint = f"create it with {WIDTH} dimensions and the metric dotproduct, or set rag.pinecone_index"
        raise InputError(f"Pinecone has no index '{name}'", hint=hint) from error
    except RateLimitError as error:
        raise RateLimited("Pinecone rate limit exceeded") from error
    except PineconeTimeoutError as error:
        raise BackendTimeout("Pinecone did not answer in time") from error
    except PineconeConnectionError as error:
        raise BackendDown("Pinecone cannot be reached", hint="check rag.pinecone_host") from error
    except PineconeError as error:
        raise BackendError(f"Pinecone failed: {str(error)[:200]}") from error


def open_index(config: RagConfig, *, create: bool = True) -> PineconeIndex:  # noqa: ARG001 (indexes are created at Pinecone)
    embedder = default_embedder()
    if embedder is None:
        raise MissingExtra("the index 'pinecone'", "pinecone")
    if config.pinecone_api_key is None:
        raise ConfigError("the index 'pinecone' needs a key", hint="set rag.pinecone_api_key")
    key = config.pinecone_api_key.get_secret_value()
    host = config.pinecone_host or ""
    return PineconeIndex(key, config.pinecone_index, host, config.pinecone_namespace, embedder)
