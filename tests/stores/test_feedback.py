"""Opinions last, the newest counts, and a report is labelled only when all of its flags were spoken about."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from groundwire.stores.database import open_database
from groundwire.stores.feedback import FeedbackReport, FeedbackStore, ReviewedVerdict
from groundwire.types import Feedback, Status

NOON = datetime(2026, 11, 16, 12, tzinfo=UTC)


@pytest.fixture
def opinions(store_url: str) -> Iterator[FeedbackStore]:
    database = open_database(store_url)
    yield FeedbackStore(database)
    database.close()


def verdict(key: str, *, flagged: bool = True) -> ReviewedVerdict:
    status = Status.CONTRADICTED if flagged else Status.ENTAILED
    return ReviewedVerdict(key, f"claim {key}", status, "contradicted" if flagged else None, flagged, 0.1, 0.05, 3.8)


def report(key: str, *flagged: str, risk: float = 0.9) -> FeedbackReport:
    return FeedbackReport(key, "answer.txt", risk, "local", "default", 3, flagged)


def mark(
    opinions: FeedbackStore,
    judged: FeedbackReport,
    found: ReviewedVerdict,
    *,
    right: bool,
    note: str = "",
    at: datetime = NOON,
) -> None:
    opinions.add(judged, found, Feedback(right, found.status, found.flagged, at, note))


def test_an_opinion_comes_back_as_it_was_given(opinions: FeedbackStore) -> None:
    mark(opinions, report("r", "a"), verdict("a"), right=False, note="it was 1919")
    assert opinions.of(["a", "b"]) == {"a": Feedback(False, Status.CONTRADICTED, True, NOON, "it was 1919")}
    assert opinions.of(["a"])["a"].supported
    assert [e.verdict for e in opinions.entries()] == [verdict("a")]


def test_who_changes_their_mind_is_believed(opinions: FeedbackStore) -> None:
    mark(opinions, report("r", "a"), verdict("a"), right=False)
    mark(opinions, report("r", "a"), verdict("a"), right=True)
    assert opinions.of(["a"])["a"].right
    assert len(opinions.entries()) == 1


def test_more_claims_than_one_question_can_hold(opinions: FeedbackStore) -> None:
    mark(opinions, report("r", "k7"), verdict("k7"), right=True)
    assert set(opinions.of(f"k{n}" for n in range(2000))) == {"k7"}


def test_text_no_database_could_keep_is_kept_as_far_as_it_can_be(opinions: FeedbackStore) -> None:
    mark(opinions, report("r", "a"), verdict("a"), right=True, note="nul \x00 half \ud800 '; DROP TABLE feedback")
    assert opinions.of(["a"])["a"].note == "nul \ufffd half \ufffd '; DROP TABLE feedback"


@pytest.mark.parametrize(
    ("marks", "label"),
    [
        ({"a": False, "b": False}, True),  # both alarms were false
        ({"a": False}, None),  # one alarm nobody spoke about
        ({"a": True}, False),  # one true alarm settles it
        ({"a": False, "b": True}, False),
    ],
)
def test_a_report_is_labelled_by_its_flags(opinions: FeedbackStore, marks: dict[str, bool], label: bool | None) -> None:
    for key, right in marks.items():
        mark(opinions, report("r", "a", "b"), verdict(key), right=right)
    assert [r.supported for r in opinions.reviewed()] == [label]


def test_a_miss_makes_a_report_unsupported_and_a_pass_confirmed_supported(opinions: FeedbackStore) -> None:
    mark(opinions, report("missed"), verdict("m", flagged=False), right=False)
    mark(opinions, report("passed"), verdict("p", flagged=False), right=True)
    assert {r.report.key: r.supported for r in opinions.reviewed()} == {"missed": False, "passed": True}


def test_a_claim_of_two_reports_is_marked_once(opinions: FeedbackStore) -> None:
    mark(opinions, report("one", "a", "b"), verdict("a"), right=False)
    mark(opinions, report("two", "b"), verdict("b"), right=False)
    assert {r.report.key: r.supported for r in opinions.reviewed()} == {"one": True, "two": True}


def test_forgetting_leaves_nothing(opinions: FeedbackStore) -> None:
    mark(opinions, report("r", "a"), verdict("a"), right=False)
    mark(opinions, report("r", "a"), verdict("a"), right=True)
    assert opinions.forget("a") == 2
    assert opinions.forget("a") == 0
    assert opinions.entries() == []
    assert opinions.reviewed() == []
