"""Stored reports: kept whole, listed, counted, forgotten; the same on both databases."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from groundwire.stores.database import Database, open_database
from groundwire.stores.reports import HOUR, ReportStore, ReportSummary, StoredReport

NOON = 500_000 * HOUR + 0.5


def stored(number: int = 0, **changes: object) -> StoredReport:
    summary = ReportSummary(
        id=f"report-{number}",
        kind="check",
        owner="",
        created=NOON + number,
        title="What is the refund period?",
        flagged=True,
        risk=0.83,
        grounding=0.5,
        claims=4,
        flagged_claims=1,
        unchecked=0,
        backend="local",
        profile="default",
    )
    return StoredReport(replace(summary, **changes), '{"report": {}}')  # type: ignore[arg-type]


@pytest.fixture
def database(store_url: str) -> Iterator[Database]:
    opened = open_database(store_url)
    yield opened
    opened.close()


def test_a_report_comes_back_as_it_was(database: Database) -> None:
    kept = replace(stored(), body='{"answer": "שלום 🙂 <script>"}')
    ReportStore(database).add([kept])
    assert ReportStore(database).get("report-0") == (kept.summary, kept.body)
    assert ReportStore(database).get("report-1") is None


def test_what_no_database_keeps_is_replaced(database: Database) -> None:
    ReportStore(database).add([stored(title="a\x00b\ud800")])
    assert ReportStore(database).recent(1)[0].title == "a\ufffdb\ufffd"


def test_a_list_goes_on_where_it_ended(database: Database) -> None:
    kept = ReportStore(database)
    kept.add([stored(number) for number in range(5)])
    first = kept.recent(2)
    assert [row.id for row in first] == ["report-4", "report-3"]
    assert [row.id for row in kept.recent(9, before=first[-1].id)] == ["report-2", "report-1", "report-0"]
    assert kept.recent(9, before="no such id") == []


def test_a_list_shows_only_what_is_asked_for(database: Database) -> None:
    kept = ReportStore(database)
    kept.add([stored(0), stored(1, flagged=None), stored(2, flagged=False, owner="k1"), stored(3, kind="audit")])
    assert [row.id for row in kept.recent(9, only={"flagged": None})] == ["report-1"]
    assert [row.id for row in kept.recent(9, only={"flagged": True, "kind": "check"})] == ["report-0"]
    assert [row.id for row in kept.recent(9, owner="k1")] == ["report-2"]


def test_all_of_a_batch_is_kept_or_nothing(database: Database) -> None:
    from sqlalchemy.exc import IntegrityError

    with pytest.raises(IntegrityError):
        ReportStore(database).add([stored(0), stored(1), stored(0)])
    assert ReportStore(database).recent(9) == []


def test_only_its_owner_deletes_a_report_and_nothing_of_it_stays(database: Database) -> None:
    kept = ReportStore(database)
    kept.add([stored(0, owner="k1")])
    assert not kept.delete("report-0", owner="k2")
    assert kept.delete("report-0", owner="k1")
    assert kept.get("report-0") is None
    assert not kept.delete("report-0")


def test_what_is_old_is_forgotten(database: Database) -> None:
    kept = ReportStore(database)
    kept.add([stored(number) for number in range(4)])
    assert kept.prune(NOON + 2) == 2
    assert [row.id for row in kept.recent(9)] == ["report-3", "report-2"]


def test_pruning_goes_on_beyond_one_part(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("groundwire.stores.reports._PRUNE_BATCH", 2)
    kept = ReportStore(database)
    kept.add([stored(number) for number in range(5)])
    assert kept.prune(NOON + 100) == 5
