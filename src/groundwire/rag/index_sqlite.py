"""The embedded index: one SQLite file, searched by keywords (FTS5) and by embeddings.

A writer takes its lock at once and waits for other writers, so that two processes never fail half-way;
committed documents survive a crash.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from sqlalchemy import Connection

from groundwire.config import RagConfig
from groundwire.errors import StoreError
from groundwire.rag.index import (
    CANDIDATES,
    MIN_COVERAGE,
    MIN_SIMILARITY,
    WIDTH,
    Embedder,
    IndexedDocument,
    IndexedPassage,
    PassageHit,
    coverage,
    default_embedder,
    fuse_rankings,
    inverse_frequency,
    is_understood,
)
from groundwire.stores.database import Database, closing_on_error, is_writable, open_file
from groundwire.text.tokens import terms, words

SCHEMA_VERSION = 1
APPLICATION_ID = 0x67775247  # "gwRG" marks the file as an index of groundwire

_SCHEMA = (
    """CREATE TABLE documents (
        id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, title TEXT NOT NULL, digest TEXT NOT NULL,
        passages INTEGER NOT NULL, characters INTEGER NOT NULL)""",
    # AUTOINCREMENT: ids are never reused, so that vectors in memory can be told old from new.
    """CREATE TABLE passages (
        id INTEGER PRIMARY KEY AUTOINCREMENT, document INTEGER NOT NULL REFERENCES documents (id),
        number INTEGER NOT NULL, part TEXT NOT NULL, heading TEXT NOT NULL,
        start INTEGER NOT NULL, stop INTEGER NOT NULL, text TEXT NOT NULL)""",
    "CREATE INDEX passages_by_document ON passages (document)",
    # Separate from the texts, so that all vectors can be read in one scan.
    "CREATE TABLE vectors (passage INTEGER PRIMARY KEY, vector BLOB NOT NULL)",
    # The indexed words are normalised by us, so that Hebrew, Arabic and unspaced scripts are found too.
    "CREATE VIRTUAL TABLE terms USING fts5(words, tokenize = 'unicode61 remove_diacritics 2')",
    "CREATE VIRTUAL TABLE vocabulary USING fts5vocab('terms', 'row')",
    "CREATE TABLE changes (generation INTEGER NOT NULL)",
    "INSERT INTO changes VALUES (0)",
    f"PRAGMA application_id = {APPLICATION_ID}",
    f"PRAGMA user_version = {SCHEMA_VERSION}",
)


def open_index_file(path: Path, *, create: bool) -> Database:
    """Open the file and create the tables of a new one; reject files of other programs or later releases."""
    hint = "create one with: groundwire rag ingest PATH…"
    # A file that cannot be written is opened for searching only.
    create = create and not (path.is_file() and not is_writable(path))
    file = open_file(path.absolute(), "index", "rag.path", create=create, hint=hint)
    with closing_on_error(file):
        with file.read() as db:
            version = _version(db, path)
        if version != SCHEMA_VERSION:
            with file.write() as db:
                if _version(db, path) == SCHEMA_VERSION:
                    return file  # another process created them
                if _number(db, "SELECT count(*) FROM sqlite_master"):
                    raise StoreError(f"{path} is not a groundwire index", hint="set rag.path elsewhere")
                for statement in _SCHEMA:
                    db.exec_driver_sql(statement)
    return file


@contextmanager
def changing(file: Database) -> Iterator[Connection]:
    """A write transaction after which other processes read the vectors again."""
    with file.write() as db:
        yield db
        db.exec_driver_sql("UPDATE changes SET generation = generation + 1")


def _version(db: Connection, path: Path) -> int:
    version = _number(db, "PRAGMA user_version")
    ours = _number(db, "PRAGMA application_id") == APPLICATION_ID
    if ours and version > SCHEMA_VERSION:
        raise StoreError(f"the index {path} is from a newer release", hint="upgrade groundwire")
    return version if ours else 0


def _number(db: Connection, query: str) -> int:
    return int(db.exec_driver_sql(query).scalar_one())


if TYPE_CHECKING:
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]
    Ids = NDArray[np.int64]

STORED_DTYPE = np.float16
"""Half the bytes of float32; the rounding changes a cosine by less than 0.001."""


def pack_vector(vector: Vectors) -> bytes:
    return vector.astype(STORED_DTYPE).tobytes()


class VectorMatrix:
    """All vectors in memory, updated incrementally. The search is exact."""

    def __init__(self, width: int) -> None:
        self._width = width
        self._lock = threading.Lock()
        self._generation = -1
        self._ids: Ids = np.empty(0, np.int64)
        self._rows: Vectors = np.empty((0, width), np.float32)

    def nearest(self, db: Connection, query: Vectors, k: int) -> list[tuple[int, float]]:
        """Return the `k` nearest passages with their cosine, best first."""
        with self._lock:
            self._refresh(db)
            ids, rows = self._ids, self._rows
        if not len(ids):
            return []
        cosines = rows @ query
        k = min(k, len(ids))
        best = np.argpartition(-cosines, k - 1)[:k]
        order = best[np.lexsort((ids[best], -cosines[best]))]
        return [(int(ids[at]), float(cosines[at])) for at in order]

    def _refresh(self, db: Connection) -> None:
        generation = _number(db, "SELECT generation FROM changes")
        if generation == self._generation:
            return
        last = int(self._ids[-1]) if len(self._ids) else 0
        if last:
            # Without ORDER BY, SQLite reads the ids from the small index over documents.
            there = np.fromiter((row[0] for row in db.exec_driver_sql("SELECT id FROM passages")), np.int64)
            left = np.isin(self._ids, there, assume_unique=True)
            if not left.all():
                self._ids, self._rows = self._ids[left], self._rows[left]
        new_ids, new_rows = self._read(db, last)
        if len(new_ids):
            self._ids = np.concatenate([self._ids, new_ids]) if len(self._ids) else new_ids
            self._rows = np.concatenate([self._rows, new_rows]) if len(self._rows) else new_rows
        self._generation = generation

    def _read(self, db: Connection, after: int) -> tuple[Ids, Vectors]:
        ids: list[int] = []
        raw = bytearray()
        rows = db.exec_driver_sql(
            "SELECT passage, vector FROM vectors WHERE passage > ? AND length(vector) = ? ORDER BY passage",
            (after, self._width * np.dtype(STORED_DTYPE).itemsize),
        )
        for number, vector in rows:
            ids.append(number)
            raw += vector
        found = np.frombuffer(raw, STORED_DTYPE).reshape(-1, self._width).astype(np.float32)
        return np.array(ids, np.int64), found


_MAX_TERMS = 64  # of a query: bounds the size of the full-text expression
_INSERT = "INSERT INTO passages (document, number, part, heading, start, stop, text) VALUES (?, ?, ?, ?, ?, ?, ?)"
_READ = """SELECT p.id, d.name, p.number, p.text, p.start, p.stop, d.title, p.heading, p.part
    FROM passages p JOIN documents d ON d.id = p.document WHERE p.id IN (SELECT value FROM json_each(?))"""


class SqliteIndex:
    """Without an `embedder` passages are ranked by keywords only."""

    def __init__(self, path: Path, embedder: Embedder | None, *, create: bool = True) -> None:
        self._file = open_index_file(path, create=create)
        self._embedder = embedder
        self._matrix = VectorMatrix(WIDTH)

    @property
    def embedder(self) -> str:
        return self._embedder.name if self._embedder else ""

    def add(self, document: IndexedDocument, passages: Sequence[IndexedPassage]) -> None:
        # The slow part runs before the write lock is taken.
        vectors, searched = self._vectors(passages), [" ".join(passage.terms) for passage in passages]
        with changing(self._file) as db:
            _remove(db, [document.id])
            made = db.exec_driver_sql(
                "INSERT INTO documents (name, title, digest, passages, characters) VALUES (?, ?, ?, ?, ?)",
                (document.id, document.title, document.digest, len(passages), document.characters),
            )
            for passage, vector, words_of in zip(passages, vectors, searched, strict=True):
                place = (passage.number, passage.part, passage.heading, passage.start, passage.end)
                number = db.exec_driver_sql(_INSERT, (made.lastrowid, *place, passage.text)).lastrowid
                db.exec_driver_sql("INSERT INTO terms (rowid, words) VALUES (?, ?)", (number, words_of))
                if vector is not None:
                    db.exec_driver_sql("INSERT INTO vectors VALUES (?, ?)", (number, vector))

    def _vectors(self, passages: Sequence[IndexedPassage]) -> Sequence[bytes | None]:
        if self._embedder is None or not passages:
            return [None] * len(passages)
        found = self._embedder.embed([passage.about for passage in passages])
        return [pack_vector(vector) for vector in found]

    def delete(self, ids: Collection[str]) -> int:
        with changing(self._file) as db:
            return _remove(db, ids)

    def documents(self) -> list[IndexedDocument]:
        with self._file.read() as db:
            rows = db.exec_driver_sql("SELECT name, title, digest, passages, characters FROM documents ORDER BY name")
            return [IndexedDocument(*row) for row in rows]

    def search(self, query: str, k: int) -> list[PassageHit]:
        with self._file.read() as db:
            weights = _weights(db, query)
            by_keywords = _rank_by_keywords(db, weights)
            by_embedding = self._rank_by_embedding(db, query)
            ranked = fuse_rankings([by_keywords, list(by_embedding)])
            found = _passages(db, ranked)
        relevant = (
            PassageHit(found[number], score)
            for number, score in ranked.items()
            if number in by_embedding or coverage(weights, set(found[number].terms)) >= MIN_COVERAGE
        )
        return list(islice(relevant, k))

    def _rank_by_embedding(self, db: Connection, query: str) -> dict[int, float]:
        if self._embedder is None or not is_understood(query):
            return {}
        near = self._matrix.nearest(db, self._embedder.embed([query])[0], CANDIDATES)
        return {number: cosine for number, cosine in near if cosine >= MIN_SIMILARITY}

    def close(self) -> None:
        self._file.close()


def _remove(db: Connection, names: Collection[str]) -> int:
    gone = 0
    for name in names:
        number = db.exec_driver_sql("SELECT id FROM documents WHERE name = ?", (name,)).scalar()
        if number is None:
            continue
        row = (number,)
        its = "IN (SELECT id FROM passages WHERE document = ?)"
        db.exec_driver_sql(f"DELETE FROM terms WHERE rowid {its}", row)
        db.exec_driver_sql(f"DELETE FROM vectors WHERE passage {its}", row)
        db.exec_driver_sql("DELETE FROM passages WHERE document = ?", row)
        db.exec_driver_sql("DELETE FROM documents WHERE id = ?", row)
        gone += 1
    return gone


def _weights(db: Connection, query: str) -> dict[str, float]:
    """Return the query's terms with their inverse document frequency."""
    asked = list(dict.fromkeys(terms(query) or [word.norm for word in words(query)]))[:_MAX_TERMS]
    total = _number(db, "SELECT count(*) FROM passages")
    found = {}
    for term in asked:
        row = db.exec_driver_sql("SELECT doc FROM vocabulary WHERE term = ?", (term,)).fetchone()
        found[term] = inverse_frequency(row[0] if row else 0, total)
    return found


def _rank_by_keywords(db: Connection, weights: Mapping[str, float]) -> list[int]:
    """Return passages that contain any of the terms, ranked by BM25."""
    quoted = (term.replace('"', " ") for term in weights)
    match = " OR ".join(f'"{term}"' for term in quoted if any(c.isalnum() for c in term))
    if not match:
        return []
    rows = db.exec_driver_sql(
        "SELECT rowid FROM terms WHERE terms MATCH ? ORDER BY bm25(terms), rowid LIMIT ?", (match, CANDIDATES)
    )
    return [row[0] for row in rows]


def _passages(db: Connection, numbers: Collection[int]) -> dict[int, IndexedPassage]:
    rows = db.exec_driver_sql(_READ, (json.dumps(list(numbers)),))
    return {
        number: IndexedPassage(name, place, text, start, stop, title, heading, part)
        for number, name, place, text, start, stop, title, heading, part in rows
    }


def open_index(config: RagConfig, *, create: bool = True) -> SqliteIndex:
    return SqliteIndex(Path(config.path).expanduser(), default_embedder(), create=create)
