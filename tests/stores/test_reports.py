"""Stored reports: kept whole, listed, counted, forgotten; the same on both databases."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from groundwire.stores.database import Database, open_database
from groundwire.stores.reports import HOUR, ClaimCount, ReportStore, ReportSummary, StatsQuery, StoredReport

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
    hostile = stored(title="a\x00b\ud800")
    ReportStore(database).add(
        [replace(hostile, sources=(ClaimCount("x\x00", 1, 0), ClaimCount("y" * 5000, 1, 1)))]
    )
    assert ReportStore(database).recent(1)[0].title == "a\ufffdb\ufffd"
    names = [count.name for count in ReportStore(database).figures(StatsQuery(0)).sources]
    assert names == ["y" * 200, "x\ufffd"]


def test_names_that_are_the_same_once_cut_count_together(database: Database) -> None:
    long = (ClaimCount("s" * 300, 1, 1), ClaimCount("s" * 400, 2, 0))
    ReportStore(database).add([replace(stored(), sources=long)])
    assert ReportStore(database).figures(StatsQuery(0)).sources == (ClaimCount("s" * 200, 3, 1),)


def test_a_list_goes_on_where_it_ended(database: Database) -> None:
    kept = ReportStore(database)
    kept.add([stored(number) for number in range(5)])
    first = kept.recent(2)
    assert [row.id for row in first] == ["report-4", "report-3"]
    assert [row.id for row in kept.recent(9, before=first[-1].id)] == ["report-2", "report-1", "report-0"]
    assert kept.recent(9, before="no such id") == []


def test_a_list_shows_only_what_is_asked_for(database: Database) -> None:
    kept = ReportStore(database)
    kept.add(
        [stored(0), stored(1, flagged=None), stored(2, flagged=False, owner="k1"), stored(3, kind="audit")]
    )
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
    kept.add([replace(stored(0, owner="k1"), types=(ClaimCount("contradicted", 1, 1),))])
    assert not kept.delete("report-0", owner="k2")
    assert kept.delete("report-0", owner="k1")
    assert kept.get("report-0") is None
    assert kept.figures(StatsQuery(0)).types == ()
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


def test_figures_over_time(database: Database) -> None:
    kept = ReportStore(database)
    kept.add(
        [
            stored(0, created=NOON),
            stored(1, created=NOON + 1, flagged=False, flagged_claims=0),
            stored(2, created=NOON + HOUR, flagged=None, claims=2, flagged_claims=0, unchecked=2),
            stored(3, created=NOON - 100 * HOUR),
        ]
    )
    hourly = kept.figures(StatsQuery(NOON - HOUR, step=1)).moments
    assert [(m.hour, m.reports, m.flagged_reports, m.failed_reports) for m in hourly] == [
        (500_000, 2, 1, 0),
        (500_001, 1, 0, 1),
    ]
    assert [(m.claims, m.flagged_claims, m.unchecked) for m in hourly] == [(8, 1, 0), (2, 0, 2)]
    daily = kept.figures(StatsQuery(NOON - HOUR, step=24)).moments
    assert [(m.hour, m.reports) for m in daily] == [(499_992, 3)]


def test_figures_by_type_and_source(database: Database) -> None:
    kept = ReportStore(database)
    handbook, memo = ClaimCount("handbook.pdf", 5, 1), ClaimCount("memo.txt", 2, 2)
    kept.add(
        [
            replace(stored(0, owner="k1"), types=(ClaimCount("contradicted", 1, 1),), sources=(handbook,)),
            replace(
                stored(1, owner="k2"), types=(ClaimCount("unsupported", 3, 3),), sources=(handbook, memo)
            ),
        ]
    )
    everybody = kept.figures(StatsQuery(NOON))
    assert everybody.types == (ClaimCount("unsupported", 3, 3), ClaimCount("contradicted", 1, 1))
    assert everybody.sources == (ClaimCount("handbook.pdf", 10, 2), ClaimCount("memo.txt", 2, 2))
    assert kept.figures(StatsQuery(NOON, owner="k1")).sources == (handbook,)
    assert kept.figures(StatsQuery(NOON), most=1).sources == (ClaimCount("handbook.pdf", 10, 2),)


def test_an_empty_store_has_empty_figures(database: Database) -> None:
    figures = ReportStore(database).figures(StatsQuery(0))
    assert (figures.moments, figures.types, figures.sources) == ((), (), ())
