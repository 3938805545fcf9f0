"""The file behind the embedded index: its version, its limits, and processes that die or come two at a time."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import event

from groundwire.errors import GroundwireError, InputError, StoreError
from groundwire.rag.index import WIDTH, IndexedDocument, default_embedder
from groundwire.rag.index_sqlite import (
    SCHEMA_VERSION,
    SqliteIndex,
    VectorMatrix,
    changing,
    open_index_file,
    pack_vector,
)
from groundwire.rag.ingest import PassageSize, split_passages
from groundwire.types import Source

WORKER = """
import sys
from pathlib import Path
from groundwire.rag.index_sqlite import SqliteIndex
from groundwire.rag.index import IndexedDocument
from groundwire.rag.ingest import PassageSize, split_passages
from groundwire.types import Source
path, name, count = sys.argv[1:]
index = SqliteIndex(Path(path), None)
for number in range(int(count)):
    text = f"Room {name}{number} has a blue door. " * 20
    passages = split_passages(f"{name}{number}", "t", [Source("S0", text)], PassageSize(30, 0))
    index.add(IndexedDocument(f"{name}{number}", "t", "d", len(passages), len(text)), passages)
    print(number, flush=True)
"""


def start(path: Path, name: str, count: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", WORKER, str(path), name, str(count)], stdout=subprocess.PIPE, text=True
    )


def add(index: SqliteIndex, name: str, text: str) -> None:
    passages = split_passages(name, name, [Source("S0", text)], PassageSize(30, 0))
    index.add(IndexedDocument(name, name, "d", len(passages), len(text)), passages)


def is_whole(path: Path) -> bool:
    """Every document has all its passages, and every passage its words."""
    with sqlite3.connect(path) as db:
        counts = db.execute(
            "SELECT d.passages, (SELECT count(*) FROM passages p WHERE p.document = d.id) FROM documents d"
        ).fetchall()
        (passages,) = db.execute("SELECT count(*) FROM passages").fetchone()
        (searched,) = db.execute("SELECT count(*) FROM terms").fetchone()
    db.close()
    return all(said == there for said, there in counts) and passages == searched


def test_killed_process_keeps_committed_documents(tmp_path: Path) -> None:
    path = tmp_path / "rag.db"
    worker = start(path, "a", 10_000)
    assert worker.stdout is not None
    told = [int(next(worker.stdout)) for _ in range(5)]
    os.kill(worker.pid, signal.SIGKILL)
    worker.wait()
    worker.stdout.close()
    index = SqliteIndex(path, None)
    assert {f"a{number}" for number in told} <= {document.id for document in index.documents()}
    add(index, "after", "The garden has a red gate.")
    assert index.search("Where is the red gate?", 1)[0].passage.document == "after"
    index.close()
    assert is_whole(path)


def test_concurrent_processes(tmp_path: Path) -> None:
    path = tmp_path / "rag.db"
    workers = [start(path, name, 15) for name in "ab"]
    for worker in workers:
        worker.communicate(timeout=60)
    assert [worker.returncode for worker in workers] == [0, 0]
    index = SqliteIndex(path, None, create=False)
    assert len(index.documents()) == 30
    index.close()
    assert is_whole(path)


def test_interrupted_add_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    index = SqliteIndex(tmp_path / "rag.db", None)
    add(index, "d", "The old text has a blue door.")

    with monkeypatch.context() as patch:
        # The document's row is written by then, its passages are not.
        patch.setattr("groundwire.rag.index_sqlite._INSERT", "INSERT INTO nowhere VALUES (?, ?, ?, ?, ?, ?, ?)")
        with pytest.raises((GroundwireError, sqlite3.Error)):
            add(index, "d", "The new text has a red door.")
    assert "old text" in index.search("blue door", 1)[0].passage.text
    index.close()


def test_full_disk_keeps_committed_documents(tmp_path: Path) -> None:
    index = SqliteIndex(tmp_path / "rag.db", None)
    add(index, "first", "The hall has a blue door.")
    with sqlite3.connect(tmp_path / "rag.db") as db:
        (pages,) = db.execute("PRAGMA page_count").fetchone()
    db.close()
    index.close()
    index = SqliteIndex(tmp_path / "rag.db", None)
    engine = index._file.engine
    engine.dispose()
    event.listen(engine, "connect", lambda c, _: c.execute(f"PRAGMA max_page_count = {pages + 4}"))
    with pytest.raises(StoreError, match=r"full.*free some disk space"):
        add(index, "big", "The barn has a red door and much hay. " * 5000)
    assert [document.id for document in index.documents()] == ["first"]
    assert index.search("blue door", 1) != []
    index.close()


def test_foreign_files_are_rejected(tmp_path: Path) -> None:
    other, broken, newer = (tmp_path / name for name in ("other.db", "broken.db", "newer.db"))
    with sqlite3.connect(other) as db:
        db.execute("CREATE TABLE mine (x)")
    db.close()
    broken.write_bytes(b"this is no database, whatever its name says " * 50)
    SqliteIndex(newer, None).close()
    with sqlite3.connect(newer) as db:
        db.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
    db.close()
    for path, words in ((other, "not a groundwire index"), (newer, "newer release")):
        with pytest.raises(StoreError, match=words):
            SqliteIndex(path, None)
    with pytest.raises(InputError, match="not a groundwire index"):
        SqliteIndex(broken, None)
    with sqlite3.connect(other) as db:
        assert db.execute("SELECT name FROM sqlite_master").fetchall() == [("mine",)]
    db.close()


def test_missing_index(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no index at .*groundwire rag ingest"):
        SqliteIndex(tmp_path / "none.db", None, create=False)
    assert not (tmp_path / "none.db").exists()
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="is an empty file, not a groundwire index"):
        SqliteIndex(tmp_path / "file", None, create=False)
    with pytest.raises(InputError, match="cannot open the index"):
        SqliteIndex(tmp_path / "file" / "rag.db", None)


def test_file_is_private(tmp_path: Path) -> None:
    SqliteIndex(tmp_path / "deep" / "rag.db", None).close()
    assert (tmp_path / "deep" / "rag.db").stat().st_mode & 0o077 == 0


def test_vector_matrix_follows_the_file(tmp_path: Path) -> None:
    """Exact: the same as comparing with every vector, after adding, replacing and deleting."""
    random = np.random.default_rng(7)
    path = tmp_path / "rag.db"
    file, matrix = open_index_file(path, create=True), VectorMatrix(WIDTH)
    rows = random.normal(size=(60, WIDTH)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    query = 1.5 * rows[3] + rows[40]
    with changing(file) as db:
        db.exec_driver_sql("INSERT INTO documents VALUES (1, 'd', 't', 'x', 60, 0)")
    for first, last in ((0, 30), (30, 60)):
        with changing(file) as db:
            for number in range(first, last):
                db.exec_driver_sql("INSERT INTO passages VALUES (?, 1, 0, '', '', 0, 1, 'x')", (number + 1,))
                db.exec_driver_sql("INSERT INTO vectors VALUES (?, ?)", (number + 1, pack_vector(rows[number])))
        with file.read() as db:
            assert [n for n, _ in matrix.nearest(db, query, 5)] == exact(rows[:last], query, 5)
    with changing(file) as db:
        db.exec_driver_sql("DELETE FROM passages WHERE id IN (4, 50)")
    with file.read() as db:
        left = matrix.nearest(db, query, 60)
    assert len(left) == 58
    assert not {4, 50} & {number for number, _ in left}
    file.close()


def exact(
    rows: np.ndarray[tuple[int, ...], np.dtype[np.float32]],
    query: np.ndarray[tuple[int, ...], np.dtype[np.float32]],
    k: int,
) -> list[int]:
    return [int(at) + 1 for at in np.argsort(-(rows @ query), kind="stable")[:k]]


def test_embeddings_find_synonyms(tmp_path: Path) -> None:
    index = SqliteIndex(tmp_path / "rag.db", default_embedder())
    add(index, "clinic", "The doctors are available on Saturday and Sunday.")
    add(index, "tax", "The invoice lists value added tax separately.")
    assert [hit.passage.document for hit in index.search("Can I see a physician at weekends?", 1)] == ["clinic"]
    index.close()


def test_index_without_embeddings_can_be_opened_with_them(tmp_path: Path) -> None:
    plain = SqliteIndex(tmp_path / "rag.db", None)
    add(plain, "pets", "Dogs and cats are welcome in the lobby.")
    plain.close()
    index = SqliteIndex(tmp_path / "rag.db", default_embedder())
    add(index, "tax", "The invoice lists the tax.")
    assert index.search("Are cats welcome?", 1)[0].passage.document == "pets"
    index.close()
