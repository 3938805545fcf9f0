"""The synchronous functions, and the surface of the package."""

from __future__ import annotations

import asyncio

import pytest

import groundwire
from groundwire import (
    Config,
    Status,
    check,
    detect_hallucinations,
    evidence_dependence,
    verify_claim,
    verify_claims,
)

SOURCE = "The population of France is 67 million. Paris is the capital of France."


def test_the_surface_is_these_names() -> None:
    assert groundwire.__all__ == [
        "ClaimVerification", "Config", "Groundwire", "GroundwireError", "HallucinationReport", "Status",
        "__version__", "check", "detect_hallucinations", "evidence_dependence", "verify_claim", "verify_claims",
    ]  # fmt: skip
    for name in groundwire.__all__:
        assert getattr(groundwire, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = groundwire.nonsense


@pytest.mark.spec("SPEC-16.02", "SPEC-08.31")
def test_verify_claim_judges_one_claim() -> None:
    found = verify_claim("Paris is the capital of France.", SOURCE)
    assert (found.status, found.is_flagged, found.confidence) == (Status.ENTAILED, False, 0.95)
    assert found.evidence_support == found.p1
    assert found.confidence_justified
    assert found.flag_reason is None
    wrong = verify_claim("The population of France is 999 million.", ["Cats sleep.", SOURCE])
    assert (wrong.status, wrong.flag_reason, wrong.evidence_ids) == (
        Status.CONTRADICTED,
        "contradicted",
        ["S1"],
    )


def test_threshold_is_another_name_of_confidence() -> None:
    by_threshold = verify_claim("Paris is the capital of France.", SOURCE, threshold=0.6)
    assert by_threshold.confidence == 0.6
    assert by_threshold == verify_claim("Paris is the capital of France.", SOURCE, 0.6)
    assert verify_claim("Paris is a potato.", SOURCE, 0.0).required_bits == 0.0


@pytest.mark.spec("SPEC-08.31")
def test_verify_claims_takes_a_text_apart() -> None:
    found = verify_claims("Paris is the capital of France. It has 999 million people.", {"doc": SOURCE})
    assert found[0].status is Status.ENTAILED
    assert found[1].is_flagged


@pytest.mark.spec("SPEC-16.05", "SPEC-16.01")
def test_detect_hallucinations_reports_on_the_whole() -> None:
    found = detect_hallucinations("The population of France is 999 million [S0].", {"S0": SOURCE})
    assert found.flagged
    assert found.gaps[0].gap_type.value == "contradicted"
    assert found.max_gap_bits > 0


@pytest.mark.spec("SPEC-16.04")
def test_evidence_dependence_tells_carried_from_idle() -> None:
    carried = evidence_dependence("What is the capital?", "Paris is the capital of France.", SOURCE)
    idle = evidence_dependence("What is the capital?", "Paris is the capital of France.", "Cats sleep.")
    assert carried > 0.5
    assert idle < 0.2


def test_functions_work_inside_a_running_loop() -> None:
    async def notebook() -> bool | None:
        return check("Paris is the capital of France.", SOURCE).flagged

    assert asyncio.run(notebook()) is False


@pytest.mark.spec("SPEC-16.SC05")
def test_switches_off_do_not_break_what_is_asked_for_explicitly() -> None:
    config = Config.model_validate({"hallucination": {"enabled": False}, "verification": {"enabled": False}})
    assert check("Paris is the capital of France.", SOURCE, config=config).flagged is False


def test_profile_and_target_can_be_given_by_name() -> None:
    found = check("Paris is the capital of France.", SOURCE, profile="strict", target=0.5)
    assert (found.profile, found.claims[0].confidence) == ("strict", 0.5)
