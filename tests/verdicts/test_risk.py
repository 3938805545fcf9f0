"""The dial: a response is flagged exactly where its risk exceeds it, and its risk does not move with it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.config import Config
from groundwire.types import Case, Claim, ClaimVerification, Estimate, Source, Status
from groundwire.verdicts.judge import ClaimScores, Profile, judge, phantom, profile_for, unchecked
from groundwire.verdicts.summary import apply_response_threshold, claim_risk, response_risk, summarise

PROFILE = Profile("default", 2.0, 0.95)
SHARE = st.floats(0, 1)


def verdict(p1: float, identity: str = "c1", *, vague: bool = False) -> ClaimVerification:
    claim = Claim(identity, "The tower is red.", 0, 17)
    ballot = ClaimScores(claim, (), Estimate.point(p1, 0.0, "fake"), Estimate.point(0.05, 0.0, "fake"))
    return judge(ballot, PROFILE, vague=vague)


@given(st.lists(SHARE, max_size=6), SHARE)
def test_flagged_means_over_the_threshold_and_the_risk_stays(supports: list[float], threshold: float) -> None:
    verdicts = [verdict(p1, f"c{n}") for n, p1 in enumerate(supports)]
    settled = apply_response_threshold(verdicts, threshold)
    assert any(v.is_flagged for v in settled) == (response_risk(verdicts) > threshold)
    assert response_risk(settled) == response_risk(verdicts)
    assert all(v.is_flagged or not v.spans for v in settled)


def test_without_a_threshold_nothing_changes() -> None:
    verdicts = [verdict(0.1), verdict(0.97, "c2")]
    assert apply_response_threshold(verdicts, None) == verdicts


def test_a_cleared_claim_keeps_its_finding_and_says_why_it_is_not_flagged() -> None:
    (cleared,) = apply_response_threshold([verdict(0.3)], 0.8)
    assert (cleared.status, cleared.is_flagged) == (Status.NOT_IN_CONTEXT, False)
    assert cleared.reason.endswith("(not flagged: the answer's risk is within the risk_threshold of 0.8)")


def test_where_the_judgement_flagged_none_the_riskiest_claim_is() -> None:
    fine, weak = apply_response_threshold([verdict(0.97), verdict(0.9, "c2")], 0.04)
    assert (fine.is_flagged, weak.is_flagged, weak.status) == (False, True, Status.NOT_IN_CONTEXT)
    assert "risk_threshold of 0.04" in weak.reason


def test_what_was_not_checked_is_neither_flagged_nor_fine() -> None:
    missed = unchecked(Claim("c2", "x", 0, 1), "timeout")
    profile = replace(PROFILE, risk_threshold=0.9)
    report = summarise(
        Case("x", (Source("S0", "x"),)), apply_response_threshold([verdict(0.5), missed], 0.9), [], "fake", profile
    )
    assert report.flagged is None


def test_what_is_too_vague_to_judge_is_no_risk_and_a_phantom_is_a_certain_one() -> None:
    assert claim_risk(verdict(0.1, vague=True)) == 0.0
    assert claim_risk(phantom(Claim("c1", "x", 0, 1, ("S9",)), ["S9"])) == 1.0


@pytest.mark.parametrize("name", ["default", "strict", "rag"])
def test_every_profile_takes_the_threshold_from_the_configuration(name: str) -> None:
    config = Config.load(overrides={"profile": name, "risk_threshold": 0.7})
    assert profile_for(config, 4.0).risk_threshold == 0.7


def test_the_default_profile_takes_the_backend_s_own_threshold_unless_told_otherwise() -> None:
    def threshold(**settings: object) -> float | None:
        return profile_for(Config.load(overrides=dict(settings)), 2.0, 0.5, 0.3).risk_threshold

    assert threshold() == 0.3
    assert threshold(risk_threshold=0.7) == 0.7
    assert threshold(threshold_bits=1.0) is None
    assert threshold(profile="strict") is None
