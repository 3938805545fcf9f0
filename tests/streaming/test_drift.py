"""Drift of terms and moved goalposts: a small labelled suite, with near misses."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.streaming.coherence import drifts, goalposts, strength, weakened
from groundwire.types import Turn


def talk(*said: str) -> tuple[Turn, ...]:
    """ "U: …" is the user's, everything else the assistant's."""
    return tuple(
        Turn(n, "user" if text.startswith("U: ") else "assistant", text.removeprefix("U: "))
        for n, text in enumerate(said, start=1)
    )


MOVED = [
    ("All customers get a full refund.", "Most customers get a full refund.", "fewer"),
    ("Every employee receives training.", "Some employees receive training.", "fewer"),
    ("All tests passed on the new build.", "Nearly all tests passed on the new build.", "fewer"),
    ("Most of the files were recovered.", "A few of the files were recovered.", "fewer"),
    ("Everyone in the team has access to the vault.", "Several in the team have access to the vault.", "fewer"),
    ("The method always works.", "The method usually works.", "less often"),
    ("The backup always runs at night.", "The backup sometimes runs at night.", "less often"),
    ("The sensor never overheats.", "The sensor rarely overheats.", "less often"),
    ("Our encryption guarantees privacy.", "Our encryption may give privacy.", "less certain"),
    ("The patch will fix the leak.", "The patch might fix the leak.", "less certain"),
    ("This plan prevents data loss.", "This plan could limit data loss.", "less certain"),
    ("The vaccine is effective.", "The vaccine may be effective.", "less certain"),
    ("The treatment cures migraine.", "The treatment can help with migraine.", "less certain"),
    ("The release will ship by March.", "The release will ship by June.", "later"),
    ("The bridge opens in May 2027.", "The bridge opens in August 2027.", "later"),
    ("The report is due by Q1.", "The report is due by Q3.", "later"),
    ("The museum will reopen in 2026.", "The museum will reopen in 2028.", "later"),
    ("The model reaches at least 95% accuracy.", "The model reaches at least 90% accuracy.", "lower bar"),
    ("The engine delivers 300 horsepower.", "The engine delivers 250 horsepower.", "lower bar"),
    ("The battery lasts 20 hours.", "The battery lasts 12 hours.", "lower bar"),
    ("A reply takes at most 24 hours.", "A reply takes at most 48 hours.", "lower bar"),
    ("The battery lasts 20 hours.", "The battery lasts 20 hours only in standby.", "narrowed"),
    ("The warranty covers water damage.", "The warranty covers water damage, except in salt water.", "narrowed"),
    ("The service is available in Spain.", "The service is available in Spain under certain conditions.", "narrowed"),
    ("The card gives free entry.", "The card gives free entry, provided that it is registered.", "narrowed"),
    ("כל הלקוחות מקבלים החזר.", "רוב הלקוחות מקבלים החזר.", "fewer"),
    ("התרופה תמיד עוזרת לחולים.", "התרופה לפעמים עוזרת לחולים.", "less often"),
    ("השירות מובטח ללקוחות.", "השירות אולי ניתן ללקוחות.", "less certain"),
]  # fmt: skip
STANDING = [
    ("All customers get a full refund.", "All customers get a full refund."),
    ("Most customers get a full refund.", "All customers get a full refund."),
    ("The method usually works.", "The method always works."),
    ("All customers get a full refund.", "I was wrong: most customers get a full refund."),
    ("The release will ship by March.", "Correction: the release will ship by June."),
    ("The release will ship by March.", "I misspoke earlier. The release will ship by June."),
    ("The release will ship by March.", "The release has been postponed. It will ship by June."),
    ("The battery lasts 20 hours.", "To be precise, the battery lasts 18 hours."),
    ("The model reaches at least 95% accuracy.", "My earlier figure was for the old set; it reaches at least 90% accuracy."),
    ("The release will ship by March.", "The documentation will ship by June."),
    ("All customers get a full refund.", "Some employees get a bonus."),
    ("The battery lasts 20 hours.", "The charger weighs 12 grams."),
    ("The basic plan covers all browsers.", "The premium plan covers some browsers."),
    ("The museum opens in May.", "Visitors may take photographs."),
    ("The patch will fix the leak.", "Does the patch fix the leak only in some cases?"),
    ("The tower is 330 metres tall.", "The tower is 330 metres tall and was built in 1889."),
    ("The engine delivers 300 horsepower.", "The engine delivers about 300 horsepower."),
    ("The bridge opens in May 2027.", "The bridge opens in May."),
    ("The vaccine may be effective.", "The vaccine is effective."),
    ("The company had 700 employees in 2015.", "The company had 500 employees in 2010."),
    ("Anna became the manager in 2001.", "Anna was not the manager in 1990."),
    ("All sales rose in May.", "Some sales rose in June."),
    ("The warranty covers water damage, except in salt water.", "The warranty covers water damage, except in salt water."),
    ("כל הלקוחות מקבלים החזר.", "טעיתי: רוב הלקוחות מקבלים החזר."),
]  # fmt: skip


@pytest.mark.parametrize(("before", "now", "how"), MOVED)
def test_a_claim_taken_back_is_a_moved_goalpost(before: str, now: str, how: str) -> None:
    found = goalposts(now, talk("U: Tell me.", before))
    assert [moved.kind for moved in found] == [how]
    moved = found[0]
    assert now[moved.start : moved.end] == moved.claim
    assert (moved.turn, moved.established_by) == (2, "assistant")
    assert moved.contradicts.rstrip(".") in before
    assert 0 < moved.severity < 1


@pytest.mark.parametrize(("before", "now"), STANDING)
def test_what_is_kept_made_stronger_owned_up_to_or_about_something_else_is_none(before: str, now: str) -> None:
    assert goalposts(now, talk("U: Tell me.", before)) == ()


def test_what_the_user_moved_is_his() -> None:
    told = talk("The release will ship by March.", "U: We need more time, the release will ship by June.")
    assert goalposts("The release will ship by June.", told) == ()
    assert goalposts("The release will ship by June.", told[:1])


def test_what_the_user_claimed_is_not_the_answers_goalpost() -> None:
    assert goalposts("Most customers get a refund.", talk("U: All customers get a refund.")) == ()


def test_the_latest_statement_counts() -> None:
    told = talk("All customers get a refund.", "I was wrong: most customers get a refund.")
    assert goalposts("Most customers get a refund.", told) == ()


DEFINED = [
    ("By churn we mean customers who cancel within a year.", "By churn we mean accounts without any login.", "churn"),
    ("An active user is defined as anyone who logged in within 30 days.",
     "An active user is defined as anyone who logged in within 7 days.", "active user"),
    ("Latency means the time until the first byte.", "Latency refers to the duration of the whole request.", "Latency"),
    ("We use customer relationship management (CRM).", "A cause related marketing (CRM) campaign helps.", "CRM"),
    ("We define success as two wins.", "We define success as finishing at all.", "success"),
    ("ב-נטישה הכוונה ללקוחות שביטלו תוך שנה.", "ב-נטישה הכוונה לחשבונות ללא כניסה.", "נטישה"),
]  # fmt: skip
UNCHANGED = [
    ("By churn we mean customers who cancel within a year.", "By churn we mean the customers who cancel in a year."),
    ("By churn we mean customers who cancel.", "From now on, by churn we mean accounts without any login."),
    ("Latency means the time until the first byte.", "Throughput means the requests handled in a second."),
    ("We use customer relationship management (CRM).", "The CRM (customer relationship management) is slow."),
    ("The battery lasts long.", "The battery can be replaced."),
]  # fmt: skip


@pytest.mark.parametrize(("before", "now", "term"), DEFINED)
def test_a_term_defined_otherwise_has_drifted(before: str, now: str, term: str) -> None:
    found = drifts(now, talk(before))
    assert [drift.term for drift in found] == [term]
    assert 0 <= found[0].similarity <= 1
    assert found[0].before != found[0].now


@pytest.mark.parametrize(("before", "now"), UNCHANGED)
def test_the_same_definition_or_a_declared_one_has_not(before: str, now: str) -> None:
    assert drifts(now, talk(before)) == ()


RIVER = "The bank of the river is steep. Trees grow on the river bank. The river floods its bank each spring."
MONEY = "The bank raised its loan rates. A loan from the bank needs collateral. The bank sold the loan."


def test_a_word_that_keeps_another_company_has_drifted() -> None:
    (found,) = drifts(MONEY, talk(RIVER))
    assert found.term == "bank"
    assert "river" in found.before
    assert "loan" in found.now
    assert found.similarity < 0.1


def test_a_word_used_of_different_things_about_one_matter_has_not() -> None:
    about = "The battery lasts ten hours. It charges the battery in an hour. The battery weighs 40 grams."
    more = "The battery can be replaced. A spare battery costs 20 euros. The battery has a warranty of a year."
    assert drifts(more, talk(about)) == ()
    assert drifts(RIVER, talk(RIVER)) == ()


def test_nothing_said_before_leaves_nothing_to_drift_from() -> None:
    assert drifts(MONEY, ()) == ()
    assert goalposts("All is well.", ()) == ()


@given(st.text(max_size=200), st.text(max_size=200))
def test_any_text_is_read(before: str, now: str) -> None:
    history = (Turn(1, "assistant", before),)
    for moved in goalposts(now, history):
        assert now[moved.start : moved.end] == moved.claim
    for drift in drifts(now, history):
        assert 0 <= drift.similarity <= 1


def test_a_claim_is_no_weaker_than_itself() -> None:
    for before, now, _ in MOVED:
        assert not weakened(strength(before), strength(before))
        assert not weakened(strength(now), strength(now))
