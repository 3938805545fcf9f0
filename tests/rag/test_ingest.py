from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from groundwire.config import Config
from groundwire.errors import InputError
from groundwire.rag.index_sqlite import SqliteIndex
from groundwire.rag.ingest import Ingest, IngestResult


@pytest.fixture
def index(tmp_path: Path) -> Iterator[SqliteIndex]:
    found = SqliteIndex(tmp_path / "rag.db", None)
    yield found
    found.close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    (folder / "deep").mkdir(parents=True)
    (folder / "fees.md").write_text("# Fees\nThe deposit is 500 shekels.")
    (folder / "deep" / "hours.txt").write_text("We open at eight.")
    (folder / "page.html").write_text("<html><body><h1>Rules</h1><p>No smoking inside.</p></body></html>")
    (folder / "rows.jsonl").write_text('{"id": "r1", "text": "Tea costs 5."}\n{"id": "r2", "text": "Cake costs 9."}\n')
    (folder / ".hidden").write_text("secret")
    return folder


def run(index: SqliteIndex, *paths: Path, prune: bool = False) -> IngestResult:
    return Ingest(index, Config.load()).files(paths, prune=prune)


def names(index: SqliteIndex) -> set[str]:
    return {Path(document.id).name for document in index.documents()}


def test_only_changed_files_are_ingested_again(index: SqliteIndex, folder: Path) -> None:
    first = run(index, folder)
    assert (len(first.added), first.failed) == (4, [])
    assert names(index) == {"fees.md", "hours.txt", "page.html", "rows.jsonl"}
    (folder / "fees.md").write_text("The deposit is 900 shekels.")
    (folder / "new.txt").write_text("Parking is free.")
    again = run(index, folder)
    assert [Path(name).name for name in (*again.changed, *again.added)] == ["fees.md", "new.txt"]
    assert len(again.unchanged) == 3
    assert "900" in index.search("What is the deposit?", 1)[0].passage.text


def test_prune_removes_documents_of_deleted_files(index: SqliteIndex, folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.txt"
    other.write_text("Dogs are welcome.")
    run(index, folder, other)
    (folder / "deep" / "hours.txt").unlink()
    assert run(index, folder).removed == []
    assert [Path(name).name for name in run(index, folder, prune=True).removed] == ["hours.txt"]
    assert names(index) == {"fees.md", "page.html", "rows.jsonl", "other.txt"}


def test_unreadable_files_are_reported(index: SqliteIndex, folder: Path) -> None:
    (folder / "empty.txt").write_text(" \n")
    (folder / "binary.txt").write_bytes(b"\x00\x01\x02" * 100)
    (folder / "latin.txt").write_bytes("Grüße".encode("latin-1"))
    os.mkfifo(folder / "pipe")
    done = run(index, folder, prune=True)
    assert (len(done.added), len(done.failed), done.removed) == (4, 4, [])
    assert any("is empty" in words for words in done.failed)


@pytest.mark.skipif(os.getuid() == 0, reason="root reads everything")
def test_unreadable_folder_is_not_empty(index: SqliteIndex, folder: Path) -> None:
    run(index, folder)
    (folder / "deep").chmod(0)
    try:
        assert run(index, folder, prune=True).removed == []
    finally:
        (folder / "deep").chmod(0o700)


def test_unreadable_folder_prevents_pruning(index: SqliteIndex, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run(index, folder)

    def partly(place: Path, report: object) -> Iterator[Path]:
        assert callable(report)
        report(f"{place}/deep: Permission denied")
        yield place / "fees.md"

    monkeypatch.setattr("groundwire.rag.ingest.files_below", partly)
    done = run(index, folder, prune=True)
    assert (done.removed, len(done.failed)) == ([], 1)


def test_same_file_by_two_paths_is_one_document(
    index: SqliteIndex, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(index, folder / "fees.md")
    monkeypatch.chdir(folder / "deep")
    assert len(run(index, Path("../fees.md"), folder / "fees.md").unchanged) == 1
    assert len(index.documents()) == 1


def test_records_are_parts_of_one_document(index: SqliteIndex, folder: Path) -> None:
    run(index, folder / "rows.jsonl")
    (hit,) = index.search("What does cake cost?", 1)
    assert (hit.passage.part, hit.passage.text) == ("r2", "Cake costs 9.")


@pytest.mark.parametrize(("name", "text"), [("", "text"), ("d", "  "), ("x" * 513, "text"), ("d", "y" * 2000)])
def test_invalid_texts_are_rejected(index: SqliteIndex, name: str, text: str) -> None:
    config = Config.load(overrides={"limits.max_source_bytes": 1000})
    with pytest.raises(InputError):
        Ingest(index, config).text(name, "", text)
    assert index.documents() == []


def test_lone_surrogates_are_replaced(index: SqliteIndex) -> None:
    Ingest(index, Config.load()).text("d", "", "The deposit is 500 shekels \ud800.")
    assert index.search("deposit", 1)[0].passage.text.isprintable()
