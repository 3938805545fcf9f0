"""The records carry what both specifications ask of them."""

from __future__ import annotations

import pytest

from groundwire.types import Case, Claim, ClaimVerification, Estimate, HallucinationReport, HallucinationType
from groundwire.verdicts.judge import ClaimScores, Profile, judge, phantom, unchecked
from groundwire.verdicts.summary import summarise

PROFILE = Profile("default", 2.0, 0.95)
CLAIM = Claim("c1", "It is red.", 0, 10, ("S0",))


def judged(yes: float, no: float) -> ClaimVerification:
    return judge(ClaimScores(CLAIM, (), Estimate.point(yes, no, "fake"), Estimate.point(0.05, 0.0, "fake")), PROFILE)


def report(*claims: ClaimVerification) -> HallucinationReport:
    return summarise(Case("It is red.", ()), claims, [], "fake", PROFILE)


@pytest.mark.spec("SPEC-16.01", "SPEC-08.32")
def test_a_verification_has_the_fields_of_both_specifications() -> None:
    found = judged(0.1, 0.8)
    assert {
        name: getattr(found, name)
        for name in (
            "claim_id", "claim_text", "evidence_ids", "evidence_support", "consistency_score",
            "confidence_justified", "is_flagged", "flag_reason", "p1", "p0", "status",
        )
    } == {
        "claim_id": "c1", "claim_text": "It is red.", "evidence_ids": ["S0"], "evidence_support": 0.1,
        "consistency_score": None, "confidence_justified": False, "is_flagged": True,
        "flag_reason": "contradicted", "p1": 0.1, "p0": 0.05, "status": "CONTRADICTED",
    }  # fmt: skip
    assert found.evidence_dependence == pytest.approx(0.05)
    assert found.evidence_gap_bits == found.budget_gap
    assert found.required_bits is not None
    assert found.observed_bits is not None


def test_a_verification_has_the_names_of_the_json() -> None:
    found = judged(0.1, 0.8)
    assert (found.id, found.text, found.flagged) == (found.claim_id, found.claim_text, found.is_flagged)


@pytest.mark.spec("SPEC-16.01")
def test_a_report_and_its_gaps_have_the_fields_of_the_specification() -> None:
    found = report(judged(0.97, 0.0), judged(0.1, 0.8))
    assert (found.total_claims, found.verified_claims, len(found.flagged_claims)) == (2, 1, 1)
    assert (found.has_critical_gaps, found.should_retry) == (True, True)
    assert found.max_gap_bits == found.claims[1].budget_gap
    assert found.overall_confidence == pytest.approx((0.97 + 0.1) / 2)
    (gap,) = found.gaps
    assert (gap.claim_id, gap.gap_type, gap.gap_bits) == ("c1", "contradicted", found.max_gap_bits)
    assert gap.suggested_action


def test_unchecked_values_are_none_and_not_zero() -> None:
    missed = unchecked(CLAIM, "timeout: slow")
    assert (missed.evidence_support, missed.evidence_dependence, missed.consistency_score) == (None, None, None)
    assert missed.evidence_gap_bits is None
    assert report(missed).max_gap_bits is None
    assert report().max_gap_bits == 0.0
    absent = phantom(CLAIM, ["S0"])
    assert (absent.evidence_support, absent.evidence_dependence, absent.evidence_gap_bits) == (0.0, 0.0, None)


def test_the_eight_types_have_their_severities_and_descriptions() -> None:
    assert len(HallucinationType) == 8
    assert {kind.base_severity for kind in HallucinationType} == {0.95, 0.90, 0.75, 0.80, 0.50, 0.65, 0.60}
    assert len({kind.description for kind in HallucinationType}) == 8
