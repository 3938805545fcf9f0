"""The vectors of an index in memory, brought up to date by what changed since they were read."""

from __future__ import annotations

import sqlite3
import threading
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]
    Ids = NDArray[np.int64]

STORED = np.float16
"""On disk half the bytes do: the rounding moves a cosine by less than 0.001."""


def packed(vector: Vectors) -> bytes:
    return vector.astype(STORED).tobytes()


class Matrix:
    """Compares a question with every passage: exact, and a few hundredths of a second for 100,000."""

    def __init__(self, width: int) -> None:
        self._width = width
        self._lock = threading.Lock()
        self._generation = -1
        self._ids: Ids = np.empty(0, np.int64)
        self._rows: Vectors = np.empty((0, width), np.float32)

    def nearest(self, db: sqlite3.Connection, query: Vectors, k: int) -> list[tuple[int, float]]:
        """The `k` passages whose vectors point most the same way, best first, with their cosine."""
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
            # Without an order SQLite reads them from the small index over documents.
            there = np.fromiter((row[0] for row in db.execute("SELECT id FROM passages")), np.int64)
            self._keep(np.isin(self._ids, there, assume_unique=True))
        new_ids, new_rows = self._read(db, last)
        if len(new_ids):
            self._ids = np.concatenate([self._ids, new_ids]) if len(self._ids) else new_ids
            self._rows = np.concatenate([self._rows, new_rows]) if len(self._rows) else new_rows
        self._generation = generation

    def _keep(self, there: NDArray[np.bool_]) -> None:
        if not there.all():
            self._ids, self._rows = self._ids[there], self._rows[there]

    def _read(self, db: sqlite3.Connection, after: int) -> tuple[Ids, Vectors]:
        ids: list[int] = []
        raw = bytearray()
        rows = db.execute(
            "SELECT passage, vector FROM vectors WHERE passage > ? AND length(vector) = ? ORDER BY passage",
            (after, self._width * np.dtype(STORED).itemsize),
        )
        for number, vector in rows:
            ids.append(number)
            raw += vector
        found = np.frombuffer(raw, STORED).reshape(-1, self._width).astype(np.float32)
        return np.array(ids, np.int64), found
