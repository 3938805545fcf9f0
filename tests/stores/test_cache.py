"""The cache file: it outlives processes, is shared by several, and is never the reason for a failure."""

from __future__ import annotations

import logging
import os
import sqlite3
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from groundwire.stores import cache
from groundwire.stores.cache import SCHEMA_VERSION, CacheStore

HOUR = 3600.0


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "cache.db"


def filled(path: Path, **entries: str) -> CacheStore:
    store = CacheStore(path)
    store.put(entries, HOUR)
    return store


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]


class TestEntries:
    def test_many_in_many_out(self, path: Path) -> None:
        store = filled(path, **{f"k{i}": f"v{i}" for i in range(5000)})
        found = store.get([f"k{i}" for i in range(0, 10000, 2)], HOUR)
        assert found == {f"k{i}": f"v{i}" for i in range(0, 5000, 2)}

    def test_any_text_comes_back_as_it_was(self, path: Path) -> None:
        odd = '"quotes" \\ \n \t שלום 中文 🙂 {"json": [1]}'
        assert filled(path, a=odd, b="").get(["a", "b", "c"], HOUR) == {"a": odd, "b": ""}

    def test_a_new_value_replaces_the_old(self, path: Path) -> None:
        store = filled(path, a="1")
        store.put({"a": "2"}, HOUR)
        assert store.get(["a"], HOUR) == {"a": "2"}

    def test_nothing_asked_nothing_found(self, path: Path) -> None:
        store = CacheStore(path)
        store.put({}, HOUR)
        assert store.get([], HOUR) == {}

    def test_writing_many_is_one_transaction(self, path: Path) -> None:
        store = filled(path, a="1")
        statements: list[str] = []
        assert store._db is not None
        store._db.set_trace_callback(statements.append)
        store.put({f"k{i}": "v" for i in range(100)}, HOUR)
        assert sum(s.startswith("INSERT") for s in statements) == 1


class TestAge:
    @pytest.mark.spec("SPEC-08.30")
    def test_what_is_too_old_is_not_found_and_goes(self, path: Path) -> None:
        now = [0.0]
        store = CacheStore(path, clock=lambda: now[0])
        store.put({"old": "1"}, ttl=10)
        now[0] = 11.0
        assert store.get(["old"], ttl=10) == {}
        assert store.get(["old"], ttl=12) == {"old": "1"}
        store.put({"new": "2"}, ttl=10)
        assert store.get(["old", "new"], ttl=HOUR) == {"new": "2"}

    def test_over_the_size_limit_the_oldest_go_first(self, path: Path) -> None:
        now = [0.0]
        store = CacheStore(path, max_bytes=200_000, clock=lambda: now[0])
        for i in range(100):
            now[0] = float(i)
            store.put({f"k{i}": "x" * 10_000}, HOUR)
        kept = sorted(int(key[1:]) for key in store.get([f"k{i}" for i in range(100)], HOUR))
        assert kept
        assert kept == list(range(kept[0], 100))
        store.close()
        assert path.stat().st_size < 1_000_000

    def test_no_lifetime_is_no_cache(self, path: Path) -> None:
        store = CacheStore(path)
        store.put({"a": "1"}, ttl=0)
        assert not path.exists()
        store.put({"a": "1"}, HOUR)
        assert store.get(["a"], ttl=0) == {}

    def test_no_path_is_no_cache(self) -> None:
        store = CacheStore("")
        store.put({"a": "1"}, HOUR)
        assert store.get(["a"], HOUR) == {}


class TestFile:
    def test_nothing_is_made_before_it_is_needed(self, path: Path) -> None:
        CacheStore(path)
        assert not path.parent.exists()

    def test_the_home_folder_is_understood(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("HOME", str(tmp_path))
        CacheStore("~/x/cache.db").put({"a": "1"}, HOUR)
        assert (tmp_path / "x" / "cache.db").exists()

    def test_it_is_the_owners_alone(self, path: Path) -> None:
        filled(path, a="1")
        assert stat.S_IMODE(path.stat().st_mode) == 0o600

    @pytest.mark.spec("SPEC-08.30")
    def test_it_survives_a_kill(self, path: Path) -> None:
        script = (
            "import os, sys; from groundwire.stores.cache import CacheStore;"
            "CacheStore(sys.argv[1]).put({'a': '1'}, 3600); os.kill(os.getpid(), 9)"
        )
        done = subprocess.run([sys.executable, "-c", script, str(path)], check=False)
        assert done.returncode == -9
        assert CacheStore(path).get(["a"], HOUR) == {"a": "1"}

    def test_two_processes_write_at_once(self, path: Path) -> None:
        script = (
            "import sys; from groundwire.stores.cache import CacheStore;"
            "store = CacheStore(sys.argv[1], lock_timeout=30);"
            "[store.put({f'{sys.argv[2]}{i}': 'v'}, 3600) for i in range(50)]; sys.exit(not store.on)"
        )
        workers = [subprocess.Popen([sys.executable, "-c", script, str(path), name]) for name in "ab"]
        assert [worker.wait() for worker in workers] == [0, 0]
        assert len(CacheStore(path).get([f"{n}{i}" for n in "ab" for i in range(50)], HOUR)) == 100

    def test_threads_share_one_store(self, path: Path) -> None:
        store = CacheStore(path)
        threads = [threading.Thread(target=store.put, args=({f"k{i}": "v"}, HOUR)) for i in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(store.get([f"k{i}" for i in range(20)], HOUR)) == 20

    def test_it_can_be_used_after_closing(self, path: Path) -> None:
        store = filled(path, a="1")
        store.close()
        store.close()
        assert store.get(["a"], HOUR) == {"a": "1"}


class TestTrouble:
    """08.43: whatever is wrong with the file, nobody notices but the log."""

    def test_a_corrupt_file_is_set_aside_and_a_new_one_begun(
        self, path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        path.parent.mkdir()
        path.write_bytes(b"this is no database" * 100)
        store = filled(path, a="1")
        assert store.get(["a"], HOUR) == {"a": "1"}
        assert path.with_name("cache.db.old").read_bytes().startswith(b"this is no database")
        assert len(warnings(caplog)) == 1

    def test_damage_found_while_running_is_repaired_the_same_way(
        self, path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        store = filled(path, **{f"k{i}": "v" * 500 for i in range(500)})
        store.close()
        raw = bytearray(path.read_bytes())
        raw[4096 : len(raw) - 4096] = b"\xff" * (len(raw) - 8192)
        path.write_bytes(raw)
        store.get([f"k{i}" for i in range(500)], HOUR)
        store.put({"a": "1"}, HOUR)
        assert store.get(["a"], HOUR) == {"a": "1"}
        assert len(warnings(caplog)) == 1

    @pytest.mark.parametrize("version", [0, SCHEMA_VERSION + 1])
    def test_a_file_of_another_version_is_set_aside(
        self, path: Path, version: int, caplog: pytest.LogCaptureFixture
    ) -> None:
        path.parent.mkdir()
        other = sqlite3.connect(path)
        other.executescript(f"CREATE TABLE theirs (x); PRAGMA user_version = {version};")
        other.close()
        assert filled(path, a="1").get(["a"], HOUR) == {"a": "1"}
        kept = sqlite3.connect(path.with_name("cache.db.old"))
        assert kept.execute("SELECT name FROM sqlite_master").fetchall() == [("theirs",)]
        kept.close()
        assert "set aside" in warnings(caplog)[0]

    def test_a_full_disk_turns_it_off_with_one_warning(self, path: Path, caplog: pytest.LogCaptureFixture) -> None:
        store = filled(path, a="1")
        assert store._db is not None
        store._db.execute("PRAGMA max_page_count = 1")
        for i in range(3):
            store.put({f"k{i}": "x" * 100_000}, HOUR)
        assert store.get(["a"], HOUR) == {}
        assert len(warnings(caplog)) == 1
        assert "goes on without its cache" in warnings(caplog)[0]

    @pytest.mark.skipif(os.geteuid() == 0, reason="nothing is read-only to root")
    def test_a_read_only_folder(self, path: Path, caplog: pytest.LogCaptureFixture) -> None:
        path.parent.mkdir(mode=0o500)
        assert filled(path, a="1").get(["a"], HOUR) == {}
        assert len(warnings(caplog)) == 1

    def test_a_folder_that_cannot_be_made(self, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
        (tmp_path / "file").write_text("in the way")
        assert filled(tmp_path / "file" / "cache.db", a="1").get(["a"], HOUR) == {}
        assert len(warnings(caplog)) == 1

    def test_a_name_that_no_file_can_have(self, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
        assert filled(tmp_path / "nul\0" / "cache.db", a="1").get(["a"], HOUR) == {}
        assert len(warnings(caplog)) == 1

    def test_a_home_folder_that_is_unknown(self, caplog: pytest.LogCaptureFixture) -> None:
        assert filled(Path("~nobody-of-this-name/cache.db"), a="1").get(["a"], HOUR) == {}
        assert len(warnings(caplog)) == 1

    def test_a_file_that_keeps_changing_its_version(
        self, path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        def other(_: sqlite3.Connection, patience: float) -> None:
            raise cache.CacheVersionError("its version is 9")

        monkeypatch.setattr(cache, "_prepare", other)
        assert filled(path, a="1").get(["a"], HOUR) == {}
        assert [w.split(":")[0] for w in warnings(caplog)][1:] == [f"verification goes on without its cache {path}"]

    def test_a_read_only_file(self, path: Path, caplog: pytest.LogCaptureFixture) -> None:
        store = filled(path, a="1")
        assert store._db is not None
        store._db.execute("PRAGMA query_only = ON")
        store.put({"b": "2"}, HOUR)
        assert store.get(["a"], HOUR) == {}
        assert len(warnings(caplog)) == 1

    def test_a_folder_in_its_place(self, path: Path, caplog: pytest.LogCaptureFixture) -> None:
        path.mkdir(parents=True)
        assert filled(path, a="1").get(["a"], HOUR) == {}
        assert len(warnings(caplog)) == 1

    def test_a_lock_is_met_with_patience_and_then_turns_it_off(
        self, path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        filled(path, a="1").close()
        other = sqlite3.connect(path, isolation_level=None)
        store = CacheStore(path, lock_timeout=0)
        store.get(["a"], HOUR)
        other.execute("BEGIN IMMEDIATE")
        for _ in range(9):
            store.put({"b": "2"}, HOUR)
        assert store.get(["a"], HOUR) == {"a": "1"}
        assert warnings(caplog) == []
        for _ in range(10):
            store.put({"b": "2"}, HOUR)
        other.close()
        assert store.get(["a"], HOUR) == {}
        assert len(warnings(caplog)) == 1
