"""The report writer: a bounded queue that never delays a response and is flushed on close."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from groundwire import check
from groundwire.errors import StoreError
from groundwire.server import reports
from groundwire.server.reports import CheckRecord, ReportWriter, report_row
from groundwire.stores.database import Database, open_database
from groundwire.stores.reports import ReportStore
from groundwire.types import HallucinationReport, Source

SOURCES = (Source("S0", "It has 40 employees.", "acme.txt"), Source("S1", "Ann runs it."))


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    opened = open_database(str(tmp_path / "store.db"))
    yield opened
    opened.close()


def report(answer: str = "It has 40 employees [S0]. It is old [S7]. Bees sing in the night.") -> HallucinationReport:
    return check(answer, {source.id: source.text for source in SOURCES}, backend="fake")


def test_close_writes_everything_pending(database: Database) -> None:
    writer = ReportWriter(lambda: database, keep_days=30)
    made = [writer.put(CheckRecord(report(), SOURCES)) for _ in range(5)]
    writer.close()
    assert sorted(row.id for row in ReportStore(database).recent(9)) == sorted(made)


def test_a_slow_store_drops_reports_beyond_the_queue(
    database: Database, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(reports, "_MAX_PENDING", 2)
    gate, reached = threading.Event(), threading.Event()

    def open_store() -> Database:
        reached.set()
        gate.wait(20)
        return database

    writer = ReportWriter(open_store, keep_days=30)
    first = writer.put(CheckRecord(report(), SOURCES))
    assert reached.wait(20)
    more = [writer.put(CheckRecord(report(), SOURCES)) for _ in range(3)]
    assert first
    assert [bool(identity) for identity in more] == [True, True, False]
    assert writer.pending(more[1]) is not None
    gate.set()
    writer.close()
    assert len(ReportStore(database).recent(9)) == 3
    assert "too many reports are waiting" in caplog.text


def test_the_pending_reports_are_limited_by_size(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reports, "_MAX_PENDING_CHARS", 100)
    writer = ReportWriter(lambda: database, keep_days=30)
    assert writer.put(CheckRecord(report(), (Source("S0", "x" * 200),))) == ""
    assert writer.put(CheckRecord(report(), question="x" * 200)) == ""
    assert writer.put(CheckRecord(report(), history=({"role": "user", "content": "x" * 200},))) == ""
    writer.close()


def test_a_failing_store_logs_lost_reports(caplog: pytest.LogCaptureFixture) -> None:
    def open_store() -> Database:
        raise StoreError("the disk is full")

    writer = ReportWriter(open_store, keep_days=30)
    assert writer.put(CheckRecord(report(), SOURCES))
    writer.close()
    assert "1 reports could not be stored: the disk is full" in caplog.text


def test_a_report_that_cannot_be_serialised_does_not_affect_others(database: Database) -> None:
    ring: list[object] = []
    ring.append(ring)
    writer = ReportWriter(lambda: database, keep_days=30)
    bad = writer.put(CheckRecord(report(), SOURCES, history=(ring,)))
    good = writer.put(CheckRecord(report(), SOURCES))
    writer.close()
    assert [row.id for row in ReportStore(database).recent(9)] == [good]
    assert writer.pending(bad) is None


def test_expired_reports_are_deleted(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    old = report_row(CheckRecord(report(), SOURCES, id="old", created=1000.0))
    ReportStore(database).add([old])
    monkeypatch.setattr(reports, "_FIRST_PRUNE_SECONDS", 0.0)
    writer = ReportWriter(lambda: database, keep_days=30)
    writer.put(CheckRecord(report(), SOURCES))
    writer.close()
    assert len(ReportStore(database).recent(9)) == 1
    assert ReportStore(database).get("old") is None


def test_large_sources_are_not_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("groundwire.server.reports._MAX_SOURCE_CHARS", 10)
    body = json.loads(report_row(CheckRecord(report(), SOURCES)).body)
    assert (body["sources"], body["sources_kept"]) == ([], False)


def test_the_title_is_one_short_line() -> None:
    long = "\n A very   long\tanswer " + "word " * 1000
    title = report_row(CheckRecord(report(long + "It has 40 employees."))).summary.title
    assert title.startswith("A very long answer word")
    assert len(title) == 140
    assert title.endswith("…")
