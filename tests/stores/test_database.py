"""Stores that cannot be opened or written to: one line that says why."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from sqlalchemy import event, text

from groundwire.errors import InputError, StoreError
from groundwire.stores import database as database_module
from groundwire.stores.database import open_database
from groundwire.stores.knowledge_base import Knowledge
from groundwire.types import Entity


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("", "no path or URL"),
        (":memory:", "in memory"),
        ("sqlite://", "in memory"),
        ("mysql://host/name", "unsupported database: mysql"),
        ("postgresql://host:door/name", "cannot be read"),
    ],
)
def test_a_url_that_is_none_is_refused(url: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        open_database(url)


def test_a_file_that_is_no_store_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("dear diary " * 1000)
    with pytest.raises(InputError, match="is not a groundwire store"):
        open_database(str(path))
    assert path.read_text().startswith("dear diary")


def test_a_store_that_must_exist_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no store"):
        open_database(str(tmp_path / "none.db"), create=False)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(InputError, match="cannot open"):
        open_database(str(tmp_path))


def test_an_empty_file_is_no_store_but_may_become_one(tmp_path: Path) -> None:
    path = tmp_path / "empty"
    path.touch()
    with pytest.raises(InputError, match="is an empty file, not a groundwire store"):
        open_database(str(path), create=False)
    assert path.stat().st_size == 0
    open_database(str(path)).close()


def test_what_is_known_is_the_owners_only(tmp_path: Path) -> None:
    open_database(str(tmp_path / "deep" / "store.db")).close()
    assert (tmp_path / "deep" / "store.db").stat().st_mode & 0o077 == 0


def test_what_is_committed_survives_a_power_cut(tmp_path: Path) -> None:
    database = open_database(str(tmp_path / "store.db"))
    with database.write() as connection:
        assert connection.execute(text("PRAGMA synchronous")).scalar() == 2  # FULL
        assert connection.execute(text("PRAGMA fullfsync")).scalar() == 1
    database.close()


def test_the_folders_of_a_new_store_survive_a_power_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flushed: set[str] = set()
    monkeypatch.setattr(os, "fsync", lambda file: flushed.add(str(Path(f"/proc/self/fd/{file}").resolve())))
    open_database(str(tmp_path / "a" / "b" / "store.db")).close()
    assert {str(tmp_path), str(tmp_path / "a")} <= flushed
    assert (tmp_path / "a" / "b").stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("pragma", ["max_page_count = 1", "query_only = ON"])
def test_a_full_or_read_only_disk_is_one_line(tmp_path: Path, pragma: str) -> None:
    path = str(tmp_path / "store.db")
    Knowledge.open(path).close()
    with Knowledge.open(path) as kb:
        kb.database.engine.dispose()
        event.listen(kb.database.engine, "connect", lambda c, _: c.execute(f"PRAGMA {pragma}"))
        many = [Entity("", f"Name {n} {os.urandom(50).hex()}") for n in range(200)]
        with pytest.raises(StoreError, match=r"full|readonly") as failed:
            kb.put_entities(many)
        assert "\n" not in str(failed.value)
    with Knowledge.open(path) as kb:
        assert kb.stats().entities == 0
        kb.put_entities(many)


def test_a_server_that_is_not_there_is_one_line() -> None:
    with pytest.raises(StoreError) as failed:
        open_database("postgresql://me:secret@127.0.0.1:9/none")
    assert "\n" not in str(failed.value)
    assert "secret" not in str(failed.value)


def test_a_store_that_cannot_be_written_can_still_be_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "odd name%20#?.db"
    open_database(str(path)).close()
    monkeypatch.setattr(database_module, "is_writable", lambda _: False)  # root may write anywhere
    store = open_database(str(path), create=False)
    with store.read() as connection:
        assert connection.execute(text("SELECT count(*) FROM facts")).scalar() == 0
    with pytest.raises(StoreError, match="readonly"), store.write() as connection:
        connection.execute(text("DELETE FROM facts"))
    store.close()


def test_the_page_caches_of_a_pool_stay_small(tmp_path: Path) -> None:
    """Each connection fills its own with the reports that a server stores, and keeps it."""
    database = open_database(str(tmp_path / "store.db"))
    with database.read() as connection:
        kibibytes = -connection.execute(text("PRAGMA cache_size")).scalar_one()
    assert 0 < kibibytes * database.engine.pool.size() <= 16 * 1024  # type: ignore[attr-defined]
    database.close()
