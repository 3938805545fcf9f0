"""The embedded index: one SQLite file, searched by words (FTS5) and by meaning (static embeddings)."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Mapping, Sequence
from itertools import islice
from pathlib import Path

from groundwire.config.service import RagConfig
from groundwire.rag.embed import WIDTH, Embedder, default_embedder, is_understood
from groundwire.rag.index import CANDIDATES, MIN_COVERAGE, MIN_SIMILARITY, Hit, coverage, fused, rarity
from groundwire.rag.passages import Document, Passage
from groundwire.rag.sqlite_file import IndexFile
from groundwire.rag.vectors import Matrix, packed
from groundwire.text.tokens import terms, words

_MAX_TERMS = 64
_READ = """SELECT p.id, d.name, p.number, p.text, p.start, p.stop, d.title, p.heading, p.part
    FROM passages p JOIN documents d ON d.id = p.document WHERE p.id IN (SELECT value FROM json_each(?))"""


class SqliteIndex:
    """`embedder` None finds passages by their words alone."""

    def __init__(self, path: Path, embedder: Embedder | None, *, create: bool = True) -> None:
        self._file = IndexFile(path, create=create)
        self._embedder = embedder
        self._matrix = Matrix(WIDTH)

    @property
    def embedder(self) -> str:
        return self._embedder.name if self._embedder else ""

    def add(self, document: Document, passages: Sequence[Passage]) -> None:
        # What takes long comes before the lock: others need not wait for it.
        vectors, searched = self._vectors(passages), [_searched(passage) for passage in passages]
        with self._file.write() as db:
            _remove(db, [document.id])
            made = db.execute(
                "INSERT INTO documents (name, title, digest, passages, characters) VALUES (?, ?, ?, ?, ?)",
                (document.id, document.title, document.digest, len(passages), document.characters),
            )
            for passage, vector, words_of in zip(passages, vectors, searched, strict=True):
                number = _insert(db, made.lastrowid or 0, passage)
                db.execute("INSERT INTO terms (rowid, words) VALUES (?, ?)", (number, words_of))
                if vector is not None:
                    db.execute("INSERT INTO vectors VALUES (?, ?)", (number, vector))

    def _vectors(self, passages: Sequence[Passage]) -> Sequence[bytes | None]:
        if self._embedder is None or not passages:
            return [None] * len(passages)
        found = self._embedder.embed([passage.about for passage in passages])
        return [packed(vector) for vector in found]

    def delete(self, ids: Collection[str]) -> int:
        with self._file.write() as db:
            return _remove(db, ids)

    def documents(self) -> list[Document]:
        with self._file.read() as db:
            rows = db.execute("SELECT name, title, digest, passages, characters FROM documents ORDER BY name")
            return [Document(*row) for row in rows]

    def search(self, query: str, k: int) -> list[Hit]:
        with self._file.read() as db:
            weights = _weights(db, query)
            by_words = _by_words(db, weights)
            by_meaning = self._by_meaning(db, query)
            ranked = fused([by_words, list(by_meaning)])
            found = _passages(db, ranked)
        speaking = (
            Hit(found[number], score)
            for number, score in ranked.items()
            if number in by_meaning or coverage(weights, _held(found[number])) >= MIN_COVERAGE
        )
        return list(islice(speaking, k))

    def _by_meaning(self, db: sqlite3.Connection, query: str) -> dict[int, float]:
        if self._embedder is None or not is_understood(query):
            return {}
        near = self._matrix.nearest(db, self._embedder.embed([query])[0], CANDIDATES)
        return {number: cosine for number, cosine in near if cosine >= MIN_SIMILARITY}

    def close(self) -> None:
        self._file.close()


def _searched(passage: Passage) -> str:
    return " ".join(terms(f"{passage.title}\n{passage.about}"))


def _insert(db: sqlite3.Connection, document: int, passage: Passage) -> int:
    place = (passage.number, passage.part, passage.heading, passage.start, passage.end)
    made = db.execute(
        "INSERT INTO passages (document, number, part, heading, start, stop, text)"
        " VALUES (?, ?, ?, ?, ?, ?, ?)",
        (document, *place, passage.text),
    )
    return made.lastrowid or 0


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
    """What the question is about, each term with how much it tells among these passages."""
    asked = list(dict.fromkeys(terms(query) or [word.norm for word in words(query)]))[:_MAX_TERMS]
    total = db.execute("SELECT count(*) FROM passages").fetchone()[0]
    found = {}
    for term in asked:
        row = db.execute("SELECT doc FROM vocabulary WHERE term = ?", (term,)).fetchone()
        found[term] = rarity(row[0] if row else 0, total)
    return found


def _by_words(db: sqlite3.Connection, weights: Mapping[str, float]) -> list[int]:
    """Passages that hold any of the terms, best by BM25 first."""
    quoted = (term.replace('"', " ") for term in weights)
    match = " OR ".join(f'"{term}"' for term in quoted if any(c.isalnum() for c in term))
    if not match:
        return []
    rows = db.execute(
        "SELECT rowid FROM terms WHERE terms MATCH ? ORDER BY bm25(terms), rowid LIMIT ?", (match, CANDIDATES)
    )
    return [row[0] for row in rows]


def _passages(db: sqlite3.Connection, numbers: Collection[int]) -> dict[int, Passage]:
    rows = db.execute(_READ, (json.dumps(list(numbers)),))
    return {
        number: Passage(name, place, text, start, stop, title, heading, part)
        for number, name, place, text, start, stop, title, heading, part in rows
    }


def _held(passage: Passage) -> frozenset[str]:
    return frozenset(terms(f"{passage.title}\n{passage.about}"))


def open_index(config: RagConfig, *, create: bool = True) -> SqliteIndex:
    return SqliteIndex(Path(config.path).expanduser(), default_embedder(), create=create)
