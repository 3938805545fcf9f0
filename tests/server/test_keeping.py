"""The keeper: bounded, patient with nobody, and done with all of it before it closes."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from groundwire import check
from groundwire.errors import StoreError
from groundwire.server import reports
from groundwire.server.reports import NO_SOURCE, Exchange, Keeper, stored
from groundwire.stores.database import Database, open_database
from groundwire.stores.reports import Count, Reports
from groundwire.types import HallucinationReport, Source

SOURCES = (Source("S0", "It has 40 employees.", "acme.txt"), Source("S1", "Ann runs it."))


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    opened = open_database(str(tmp_path / "store.db"))
    yield opened
    opened.close()


def report(
    answer: str = "It has 40 employees [S0]. It is old [S7]. Bees sing in the night.",
) -> HallucinationReport:
    return check(answer, {source.id: source.text for source in SOURCES}, backend="fake")


def test_all_that_was_put_is_written_before_it_closes(database: Database) -> None:
    keeper = Keeper(lambda: database, keep_days=30)
    made = [keeper.put(Exchange(report(), SOURCES)) for _ in range(5)]
    keeper.close()
    assert sorted(row.id for row in Reports(database).recent(9)) == sorted(made)


def test_a_slow_store_keeps_nobody_waiting_and_too_many_are_lost(
    database: Database, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(reports, "_WAITING", 2)
    gate, reached = threading.Event(), threading.Event()

    def opened() -> Database:
        reached.set()
        gate.wait(20)
        return database

    keeper = Keeper(opened, keep_days=30)
    first = keeper.put(Exchange(report(), SOURCES))
    assert reached.wait(20)
    more = [keeper.put(Exchange(report(), SOURCES)) for _ in range(3)]
    assert first
    assert [bool(identity) for identity in more] == [True, True, False]
    assert keeper.waiting(more[1]) is not None
    gate.set()
    keeper.close()
    assert len(Reports(database).recent(9)) == 3
    assert "too many wait" in caplog.text


def test_what_waits_is_bounded_by_its_size_too(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reports, "_WAITING_BYTES", 100)
    keeper = Keeper(lambda: database, keep_days=30)
    assert keeper.put(Exchange(report(), (Source("S0", "x" * 200),))) == ""
    keeper.close()


def test_a_store_that_fails_loses_reports_and_says_so(caplog: pytest.LogCaptureFixture) -> None:
    def opened() -> Database:
        raise StoreError("the disk is full")

    keeper = Keeper(opened, keep_days=30)
    assert keeper.put(Exchange(report(), SOURCES))
    keeper.close()
    assert "1 reports could not be kept: the disk is full" in caplog.text


def test_one_that_cannot_be_written_down_spoils_no_other(database: Database) -> None:
    ring: list[object] = []
    ring.append(ring)
    keeper = Keeper(lambda: database, keep_days=30)
    bad = keeper.put(Exchange(report(), SOURCES, history=(ring,)))
    good = keeper.put(Exchange(report(), SOURCES))
    keeper.close()
    assert [row.id for row in Reports(database).recent(9)] == [good]
    assert keeper.waiting(bad) is None


def test_what_is_too_old_is_deleted_by_itself(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    old = stored(Exchange(report(), SOURCES), "old", 1000.0)
    Reports(database).add([old])
    monkeypatch.setattr(reports, "_PRUNE_FIRST", 0.0)
    keeper = Keeper(lambda: database, keep_days=30)
    keeper.put(Exchange(report(), SOURCES))
    keeper.close()
    assert len(Reports(database).recent(9)) == 1
    assert Reports(database).get("old") is None


def test_claims_count_for_the_sources_they_were_judged_by() -> None:
    kept = stored(Exchange(report(), SOURCES), "r", 0.0)
    assert Count("acme.txt", 1, 0) in kept.sources
    assert {count.name for count in kept.sources} <= {"acme.txt", "S1", NO_SOURCE}
    assert sum(count.flagged for count in kept.types) == kept.summary.flagged_claims == 2


def test_sources_too_large_to_be_kept_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("groundwire.server.reports._SOURCE_CHARS", 10)
    body = json.loads(stored(Exchange(report(), SOURCES), "r", 0.0).body)
    assert (body["sources"], body["sources_kept"]) == ([], False)


def test_a_title_is_one_short_line() -> None:
    long = "\n A very   long\tanswer " + "word " * 1000
    title = stored(Exchange(report(long + "It has 40 employees.")), "r", 0.0).summary.title
    assert title.startswith("A very long answer word")
    assert len(title) == 140
    assert title.endswith("…")
