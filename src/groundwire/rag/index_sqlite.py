"""The embedded index: one SQLite file, searched by keywords (FTS5) and by embeddings.

A writer takes its lock at once and waits for other writers, so that two processes never fail half-way;
committed documents survive a crash.
"""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import numpy as np

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
from groundwire.stores.database import is_writable, prepare_file
from groundwire.text.tokens import terms, words

SCHEMA_VERSION = 1
APPLICATION_ID = 0x67775247  # "gwRG" marks the file as an index of groundwire

_LOCK_SECONDS = 30.0  # to wait for another writer
_PRAGMAS = ("PRAGMA journal_mode = WAL", "PRAGMA synchronous = FULL", "PRAGMA cache_size = -32768")
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


class IndexFile:
    """The database file: transactions on pooled connections for several threads."""

    def __init__(self, path: Path, *, create: bool = True) -> None:
        self.path = path.absolute()
        self.readonly = path.is_file() and not is_writable(path)
        if not self.readonly:
            hint = "create one with: groundwire rag ingest PATH…"
            prepare_file(path, "index", "rag.path", create=create, hint=hint)
        self._idle: list[sqlite3.Connection] = []
        self._lock = threading.Lock()
        with self._translate_errors(), self._connection() as db:
            self._create_schema(db)

    @contextmanager
    def read(self) -> Iterator[sqlite3.Connection]:
        """A read transaction, which sees one snapshot."""
        with self._translate_errors(), self._connection() as db, _transaction(db, "BEGIN"):
            yield db

    @contextmanager
    def write(self) -> Iterator[sqlite3.Connection]:
        """A write transaction, rolled back on an exception."""
        if self.readonly:
            raise StoreError(f"the index {self.path} is read-only", hint="check its permissions")
        with self._translate_errors(), self._connection() as db, _transaction(db, "BEGIN IMMEDIATE"):
            yield db
            db.execute("UPDATE changes SET generation = generation + 1")

    def close(self) -> None:
        with self._lock:
            idle, self._idle = self._idle, []
        for db in idle:
            db.close()

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            db = self._idle.pop() if self._idle else None
        db = db or self._connect()
        try:
            yield db
        except BaseException:
            db.close()
            raise
        with self._lock:
            self._idle.append(db)

    def _connect(self) -> sqlite3.Connection:
        uri = f"file:{quote(str(self.path))}" + ("?mode=ro&immutable=1" if self.readonly else "")
        db = sqlite3.connect(uri, uri=True, timeout=_LOCK_SECONDS, isolation_level=None, check_same_thread=False)
        if not self.readonly:
            for pragma in _PRAGMAS:
                db.execute(pragma)
        return db

    def _create_schema(self, db: sqlite3.Connection) -> None:
        """Create the tables of a new file; reject files of other programs or later releases."""
        if self._version(db) == SCHEMA_VERSION:
            return
        with _transaction(db, "BEGIN IMMEDIATE"):
            if self._version(db) == SCHEMA_VERSION:
                return  # another process created them
            if db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                raise StoreError(f"{self.path} is not a groundwire index", hint="set rag.path elsewhere")
            for statement in _SCHEMA:
                db.execute(statement)

    def _version(self, db: sqlite3.Connection) -> int:
        version: int = db.execute("PRAGMA user_version").fetchone()[0]
        ours = db.execute("PRAGMA application_id").fetchone()[0] == APPLICATION_ID
        if ours and version > SCHEMA_VERSION:
            raise StoreError(f"the index {self.path} is from a newer release", hint="upgrade groundwire")
        return version if ours else 0

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        """Turn SQLite's errors into one line with a hint."""
        try:
            yield
        except sqlite3.DatabaseError as error:
            code = getattr(error, "sqlite_errorcode", 0) & 0xFF
            hint = _HINTS.get(code, "")
            raise StoreError(f"the index {self.path} failed ({error})", hint=hint) from error


_HINTS = {
    sqlite3.SQLITE_FULL: "free some disk space; committed documents are safe",
    sqlite3.SQLITE_BUSY: "another process is writing; try again",
    sqlite3.SQLITE_READONLY: "check its permissions",
    sqlite3.SQLITE_NOTADB: "set rag.path (or --index) to another file",
    sqlite3.SQLITE_CORRUPT: "remove the file and ingest the documents again",
    sqlite3.SQLITE_CANTOPEN: "check the folder and its permissions",
    sqlite3.SQLITE_IOERR: "check the disk; committed documents are safe",
}


@contextmanager
def _transaction(db: sqlite3.Connection, begin: str) -> Iterator[None]:
    db.execute(begin)
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        with suppress(sqlite3.Error):  # SQLite may have rolled back already
            db.execute("ROLLBACK")
        raise


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

    def nearest(self, db: sqlite3.Connection, query: Vectors, k: int) -> list[tuple[int, float]]:
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

    def _refresh(self, db: sqlite3.Connection) -> None:
        generation = db.execute("SELECT generation FROM changes").fetchone()[0]
        if generation == self._generation:
            return
        last = int(self._ids[-1]) if len(self._ids) else 0
        if last:
            # Without ORDER BY, SQLite reads the ids from the small index over documents.
            there = np.fromiter((row[0] for row in db.execute("SELECT id FROM passages")), np.int64)
            left = np.isin(self._ids, there, assume_unique=True)
            if not left.all():
                self._ids, self._rows = self._ids[left], self._rows[left]
        new_ids, new_rows = self._read(db, last)
        if len(new_ids):
            self._ids = np.concatenate([self._ids, new_ids]) if len(self._ids) else new_ids
            self._rows = np.concatenate([self._rows, new_rows]) if len(self._rows) else new_rows
        self._generation = generation

    def _read(self, db: sqlite3.Connection, after: int) -> tuple[Ids, Vectors]:
        ids: list[int] = []
        raw = bytearray()
        rows = db.execute(
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
        self._file = IndexFile(path, create=create)
        self._embedder = embedder
        self._matrix = VectorMatrix(WIDTH)

    @property
    def embedder(self) -> str:
        return self._embedder.name if self._embedder else ""

    def add(self, document: IndexedDocument, passages: Sequence[IndexedPassage]) -> None:
        # The slow part runs before the write lock is taken.
        vectors, searched = self._vectors(passages), [" ".join(passage.terms) for passage in passages]
        with self._file.write() as db:
            _remove(db, [document.id])
            made = db.execute(
                "INSERT INTO documents (name, title, digest, passages, characters) VALUES (?, ?, ?, ?, ?)",
                (document.id, document.title, document.digest, len(passages), document.characters),
            )
            for passage, vector, words_of in zip(passages, vectors, searched, strict=True):
                place = (passage.number, passage.part, passage.heading, passage.start, passage.end)
                number = db.execute(_INSERT, (made.lastrowid, *place, passage.text)).lastrowid
                db.execute("INSERT INTO terms (rowid, words) VALUES (?, ?)", (number, words_of))
                if vector is not None:
                    db.execute("INSERT INTO vectors VALUES (?, ?)", (number, vector))

    def _vectors(self, passages: Sequence[IndexedPassage]) -> Sequence[bytes | None]:
        if self._embedder is None or not passages:
            return [None] * len(passages)
        found = self._embedder.embed([passage.about for passage in passages])
        return [pack_vector(vector) for vector in found]

    def delete(self, ids: Collection[str]) -> int:
        with self._file.write() as db:
            return _remove(db, ids)

    def documents(self) -> list[IndexedDocument]:
        with self._file.read() as db:
            rows = db.execute("SELECT name, title, digest, passages, characters FROM documents ORDER BY name")
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

    def _rank_by_embedding(self, db: sqlite3.Connection, query: str) -> dict[int, float]:
        if self._embedder is None or not is_understood(query):
            return {}
        near = self._matrix.nearest(db, self._embedder.embed([query])[0], CANDIDATES)
        return {number: cosine for number, cosine in near if cosine >= MIN_SIMILARITY}

    def close(self) -> None:
        self._file.close()


def _remove(db: sqlite3.Connection, names: Collection[str]) -> int:
    gone = 0
    for name in names:
        row = db.execute("SELECT id FROM documents WHERE name = ?", (name,)).fetchone()
        if row is None:
            continue
        its = "IN (SELECT id FROM passages WHERE document = ?)"
        db.execute(f"DELETE FROM terms WHERE rowid {its}", row)
        db.execute(f"DELETE FROM vectors WHERE passage {its}", row)
        db.execute("DELETE FROM passages WHERE document = ?", row)
        db.execute("DELETE FROM documents WHERE id = ?", row)
        gone += 1
    return gone


def _weights(db: sqlite3.Connection, query: str) -> dict[str, float]:
    """Return the query's terms with their inverse document frequency."""
    asked = list(dict.fromkeys(terms(query) or [word.norm for word in words(query)]))[:_MAX_TERMS]
    total = db.execute("SELECT count(*) FROM passages").fetchone()[0]
    found = {}
    for term in asked:
        row = db.execute("SELECT doc FROM vocabulary WHERE term = ?", (term,)).fetchone()
        found[term] = inverse_frequency(row[0] if row else 0, total)
    return found


def _rank_by_keywords(db: sqlite3.Connection, weights: Mapping[str, float]) -> list[int]:
    """Return passages that contain any of the terms, ranked by BM25."""
    quoted = (term.replace('"', " ") for term in weights)
    match = " OR ".join(f'"{term}"' for term in quoted if any(c.isalnum() for c in term))
    if not match:
        return []
    rows = db.execute(
        "SELECT rowid FROM terms WHERE terms MATCH ? ORDER BY bm25(terms), rowid LIMIT ?", (match, CANDIDATES)
    )
    return [row[0] for row in rows]


def _passages(db: sqlite3.Connection, numbers: Collection[int]) -> dict[int, IndexedPassage]:
    rows = db.execute(_READ, (json.dumps(list(numbers)),))
    return {
        number: IndexedPassage(name, place, text, start, stop, title, heading, part)
        for number, name, place, text, start, stop, title, heading, part in rows
    }


def open_index(config: RagConfig, *, create: bool = True) -> SqliteIndex:
    return SqliteIndex(Path(config.path).expanduser(), default_embedder(), create=create)
