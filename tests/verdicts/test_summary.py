from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.types import (
    Case,
    Claim,
    ClaimVerification,
    Estimate,
    GapType,
    HallucinationReport,
    Source,
    Span,
    Status,
)
from groundwire.verdicts.judge import ClaimScores, Profile, judge, phantom, unchecked
from groundwire.verdicts.summary import response_risk, summarise

PROFILE = Profile("default", 2.0, 0.95)
RESPONSE = "The tower is **red**. It is 9 m tall."
CASE = Case(RESPONSE, (Source("S0", "x"),), id="r1")


def verdict(p1: float, identity: str = "c1", no: float = 0.0, spans: tuple[Span, ...] = ()) -> ClaimVerification:
    claim = Claim(identity, "The tower is red.", 0, 21)
    first = replace(Estimate.point(p1, no, "fake"), spans=spans)
    return judge(ClaimScores(claim, (), first, Estimate.point(0.05, 0.0, "fake")), PROFILE)


def report(*verdicts: ClaimVerification) -> HallucinationReport:
    return summarise(CASE, verdicts, [], "fake", PROFILE)


@pytest.mark.spec("SPEC-16.01")
def test_the_report_counts_and_names_its_gaps() -> None:
    found = report(verdict(0.97), verdict(0.05, "c2", no=0.9), phantom(Claim("c3", "x", 0, 1, ("S9",)), ["S9"]))
    assert (found.total_claims, found.verified_claims, len(found.flagged_claims)) == (3, 1, 2)
    assert [gap.gap_type for gap in found.gaps] == [GapType.CONTRADICTED, GapType.PHANTOM_CITATION]
    assert all(gap.suggested_action and gap.gap_bits > 0 for gap in found.gaps)
    assert found.has_critical_gaps
    assert found.should_retry
    assert found.retry_guidance is not None
    assert "S9" in found.retry_guidance
    assert found.grounding_ratio == pytest.approx(1 / 3)


def test_spans_that_overlap_are_one_and_neighbours_stay_two() -> None:
    def marked(*spans: tuple[int, int, float]) -> list[tuple[int, int, float]]:
        claims = (replace(verdict(0.05), spans=(Span(*span),), start=0, end=37, claim_text=RESPONSE) for span in spans)
        return [(s.start, s.end, s.score) for s in report(*claims).spans]

    assert marked((0, 9, 0.9), (4, 7, 0.95)) == [(0, 9, 0.95)]
    assert marked((0, 5, 0.9), (4, 9, 0.8)) == [(0, 9, 0.9)]
    assert marked((0, 4, 0.9), (4, 9, 0.8)) == [(0, 4, 0.9), (4, 9, 0.8)]


def test_one_unchecked_claim_and_no_flag_is_not_fine() -> None:
    found = report(verdict(0.97), unchecked(Claim("c2", "x", 0, 1), "timeout: slow"))
    assert found.flagged is None
    assert found.error == "1 of 2 claims could not be checked: timeout: slow"
    both = report(verdict(0.05), unchecked(Claim("c2", "x", 0, 1), "timeout: slow"))
    assert both.flagged is True


def test_where_nothing_could_be_checked_no_figure_looks_clean() -> None:
    found = report(unchecked(Claim("c1", "x", 0, 1), "timeout: slow"))
    assert (found.flagged, found.grounding_ratio, found.overall_confidence) == (None, None, None)
    assert found.risk is None
    assert report(verdict(0.97), unchecked(Claim("c2", "x", 0, 1), "timeout: slow")).risk is not None


def test_text_without_a_claim_is_not_clean() -> None:
    found = report()
    assert (found.flagged, found.error) == (None, "NOTHING_TO_CHECK")
    assert (found.risk, found.grounding_ratio, found.overall_confidence) == (None, None, None)


def test_a_response_without_text_has_nothing_wrong() -> None:
    found = summarise(replace(CASE, response="***\n"), (), [], "fake", PROFILE)
    assert (found.flagged, found.error, found.risk, found.grounding_ratio) == (False, None, 0.0, 1.0)


def test_claims_that_were_left_out_on_purpose_are_no_missing_claims() -> None:
    left = Claim("c1", "The tower is red.", 0, 21)
    assert summarise(CASE, (), [left], "fake", PROFILE).error is None


def test_spans_point_into_the_response_as_given() -> None:
    found = report(verdict(0.05, spans=(Span(13, 16, 0.9),)))
    assert [RESPONSE[s.start : s.end] for s in found.spans] == ["red"]


def test_a_flagged_claim_without_spans_is_marked_whole() -> None:
    assert [(s.start, s.end) for s in report(verdict(0.05)).spans] == [(0, 21)]


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_risk_is_a_probability_led_by_the_worst_claim(shares: list[float]) -> None:
    found = [verdict(p) for p in shares]
    assert 0.0 <= response_risk(found) <= 1.0
    assert response_risk([*found, verdict(0.0)]) >= response_risk(found) - 1e-9


def test_a_vague_claim_stays_among_the_gaps_without_a_flag() -> None:
    scores = ClaimScores(
        Claim("c1", "It depends.", 0, 11), (), Estimate.point(0.1, 0.0, "fake"), Estimate.point(0.1, 0.0, "fake")
    )
    found = report(judge(scores, PROFILE, vague=True))
    assert (found.claims[0].status, found.flagged) == (Status.UNVERIFIABLE, False)
    assert [gap.gap_type for gap in found.gaps] == [GapType.UNSUPPORTED]
