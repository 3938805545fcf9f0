"""Which claims are verified, what fails, and what is said about it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.agent.conftest import Engines

from groundwire.agent.checkpoint import annotate, check, choose, guidance, is_critical, is_uncertain, reason_to_skip
from groundwire.claims.extractor import extract
from groundwire.config import Config, VerificationConfig
from groundwire.types import Claim, Estimate, EvidenceRef
from groundwire.verdicts.judge import ClaimScores, Profile, judge

LONG = "The tower is tall. " * 10
FILES = {"a.txt": "The tower is tall. It opened in 1889."}
CLAIMS = [Claim(f"c{n}", f"Thing {n} is red.", 20 * n, 20 * n + 16) for n in range(20)]


@pytest.mark.spec("SPEC-16.21")
def test_settings_are_a_section_of_the_configuration() -> None:
    settings = Config.load(None, {"verification.on_failure": "retry", "verification.max_retries": 1}).verification
    assert (settings.enabled, settings.mode, settings.sample_rate) == (True, "sample", 0.3)
    assert (settings.on_failure, settings.max_retries) == ("retry", 1)


@pytest.mark.spec("SPEC-16.22")
@pytest.mark.parametrize(
    ("answer", "files", "changes", "verify", "why"),
    [
        ("", FILES, {}, True, "no answer"),
        ("  \n", FILES, {}, True, "no answer"),
        (LONG, FILES, {"enabled": False}, True, "off"),
        (LONG, FILES, {}, False, "not asked for"),
        ("x" * 99, FILES, {}, True, "shorter than 100"),
        (LONG, {}, {}, True, "no files"),
        (LONG, {"a.txt": " \n"}, {}, True, "no files"),
    ],
)
def test_reasons_to_skip_verification(
    answer: str, files: dict[str, str], changes: dict[str, bool], verify: bool, why: str
) -> None:
    settings = VerificationConfig(**changes)  # type: ignore[arg-type]
    assert why in (reason_to_skip(answer, files, settings, verify=verify) or "")
    assert reason_to_skip("x" * 100, FILES, VerificationConfig()) is None


@pytest.mark.spec("SPEC-16.28")
def test_sample_is_deterministic() -> None:
    settings = VerificationConfig(mode="sample", sample_rate=0.3)
    first = choose("answer", CLAIMS, settings=settings)
    assert len(first) == 6
    assert first == choose("answer", CLAIMS, settings=settings)
    assert first == sorted(first, key=lambda claim: claim.start)
    others = [choose(f"answer {n}", CLAIMS, settings=settings) for n in range(5)]
    assert any(other != first for other in others)
    assert choose("answer", CLAIMS, settings=settings, seed=1) != first


@given(st.integers(1, 20), st.floats(0, 1), st.integers(1, 30), st.sampled_from(["full", "sample"]))
def test_selection_stays_within_limits(count: int, rate: float, most: int, mode: str) -> None:
    settings = VerificationConfig(mode=mode, sample_rate=rate, max_claims_per_response=most)  # type: ignore[arg-type]
    chosen = choose("answer", CLAIMS[:count], settings=settings)
    assert 1 <= len(chosen) <= min(count, most)
    assert set(chosen) <= set(CLAIMS)


@pytest.mark.spec("SPEC-16.31")
def test_claims_with_hedges_or_numbers_are_critical() -> None:
    answer = "The tower is tall. It was probably built by Eiffel. It opened in 1889. Two men saw it. It is grey."
    claims = extract(answer)
    assert [claim.text for claim in claims if is_critical(answer, claim)] == [
        "It was probably built by Eiffel.", "It opened in 1889.", "Two men saw it.",
    ]  # fmt: skip
    settings = VerificationConfig(mode="critical_only", max_claims_per_response=2)
    assert len(choose(answer, claims, settings=settings)) == 2
    assert choose("It is grey.", extract("It is grey."), settings=settings) == []


def test_critical_claims_are_selected_first() -> None:
    answer = "It is grey. It is wide. It opened in 1889."
    settings = VerificationConfig(mode="full", max_claims_per_response=1)
    assert [claim.text for claim in choose(answer, extract(answer), settings=settings)] == ["It opened in 1889."]


async def test_unselected_claims_are_listed(engines: Engines) -> None:
    engine = engines()
    answer = "The tower is tall. It opened in 1889. It is made of cheese."
    found = await check(engine, answer, FILES, question="", settings=VerificationConfig())
    assert found.report is not None
    assert (len(found.report.claims), len(found.report.skipped)) == (1, 2)


@pytest.mark.spec("SPEC-16.23")
async def test_failing_claims_are_annotated_in_place(engines: Engines) -> None:
    answer = "The tower is tall. It is made of cheese. It opened in 1889."
    settings = VerificationConfig(mode="full")
    found = await check(engines(), answer, FILES, question="", settings=settings)
    marked = annotate(answer, found.uncertain)
    assert found.failed
    assert marked.startswith("The tower is tall. It is made of cheese. [")
    assert marked.endswith("] It opened in 1889.")
    assert "It is made of cheese" in guidance(found.uncertain)


@pytest.mark.parametrize(
    ("changes", "fails"), [({}, False), ({"support_threshold": 0.99}, True), ({"gap_threshold_bits": -5.0}, True)]
)
async def test_thresholds_decide(engines: Engines, changes: dict[str, float], fails: bool) -> None:
    settings = VerificationConfig(mode="full", **changes)  # type: ignore[arg-type]
    found = await check(engines(), "The tower is tall.", FILES, question="", settings=settings)
    assert found.failed is fails
    assert found.report is not None
    assert found.report.should_retry is fails


async def test_unchecked_answer_does_not_fail(engines: Engines) -> None:
    engine = engines(**{"limits.max_answer_chars": 10})
    found = await check(engine, LONG, FILES, question="", settings=VerificationConfig())
    assert (found.failed, found.report) == (False, None)
    assert "190 characters" in (found.error or "")


def test_low_dependence_counts_against_what_is_believed_without_evidence() -> None:
    scores = ClaimScores(
        Claim("c1", "Paris is in France.", 0, 19), (EvidenceRef("S0", 0, 19, "Paris is in France."),),
        Estimate.point(0.98, 0.0, "fake"), Estimate.point(0.97, 0.0, "fake"),
    )  # fmt: skip
    found = judge(scores, Profile("default", 2.0, 0.95))
    assert is_uncertain(found, VerificationConfig())
    assert not is_uncertain(found, VerificationConfig(dependence_threshold=0.0))
