"""The order of judgement, case by case."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.budget import kl_bits
from groundwire.types import Claim, Estimate, EvidenceRef, GapType, Span, Status
from groundwire.verdicts.judge import ClaimScores, Profile, judge, needs_citation_check, needs_p0, phantom
from groundwire.verdicts.summary import gap_of

DEFAULT = Profile("default", threshold_bits=2.0, target=0.95)
STRICT = Profile("strict", threshold_bits=0.0, target=0.95)
CLAIM = Claim("c1", "The tower is 330 metres tall.", 0, 29)
CITED = replace(CLAIM, citations=("S0",))
REF = (EvidenceRef("S0", 0, 10, "evidence"),)


def said(yes: float, no: float = 0.0, **more: object) -> Estimate:
    return replace(Estimate.point(yes, no, "fake"), **more)  # type: ignore[arg-type]


def ballot(p1: Estimate, p0: Estimate, claim: Claim = CLAIM, evidence: tuple[EvidenceRef, ...] = REF) -> ClaimScores:
    return ClaimScores(claim, evidence, p1, p0)


@pytest.mark.spec("SPEC-08.01", "SPEC-08.03", "SPEC-08.04")
def test_a_supported_claim_carries_its_two_probabilities_and_its_bits() -> None:
    found = judge(ballot(said(0.97), said(0.05)), DEFAULT)
    assert (found.status, found.gap_type, found.is_flagged) == (Status.ENTAILED, None, False)
    assert (found.p1, found.p0) == (0.97, 0.05)
    assert found.required_bits == kl_bits(0.95, 0.05)
    assert found.observed_bits == kl_bits(0.97, 0.05)
    assert found.budget_gap == pytest.approx(found.required_bits - kl_bits(0.97, 0.05))


@pytest.mark.spec("SPEC-08.05")
@given(st.floats(0, 1), st.floats(0, 0.94))
def test_strict_flags_exactly_what_requires_more_than_it_observes(p1: float, p0: float) -> None:
    found = judge(ballot(said(p1), said(p0)), STRICT)
    assert found.required_bits is not None
    assert found.observed_bits is not None
    assert found.is_flagged == (found.required_bits > found.observed_bits)


def test_a_no_that_dominates_is_a_contradiction_however_small_the_gap() -> None:
    found = judge(ballot(said(0.3, 0.6), said(0.3)), replace(DEFAULT, threshold_bits=99.0))
    assert (found.status, found.gap_type, found.is_flagged) == (
        Status.CONTRADICTED, GapType.CONTRADICTED, True,
    )  # fmt: skip
    assert found.adjusted_confidence == 0.0


def test_a_failure_is_unchecked_and_never_fine() -> None:
    for p1, p0 in ((Estimate.failed("timeout"), said(0.1)), (said(0.9), Estimate.failed("timeout"))):
        found = judge(ballot(p1, p0), DEFAULT)
        assert (found.status, found.is_flagged, found.p1, found.budget_gap) == (
            Status.UNCHECKED, False, None, None,
        )  # fmt: skip
        assert "timeout" in found.reason
        assert not found.confidence_justified


def test_what_the_evidence_pays_in_part_is_partial_support() -> None:
    found = judge(ballot(said(0.4), said(0.05)), DEFAULT)
    assert (found.status, found.gap_type) == (Status.NOT_IN_CONTEXT, GapType.PARTIAL_SUPPORT)


def test_evidence_that_speaks_of_it_without_saying_it_is_over_extrapolated() -> None:
    found = judge(ballot(said(0.06, speaks=True), said(0.05)), DEFAULT)
    assert found.gap_type is GapType.OVER_EXTRAPOLATION


def test_evidence_that_does_not_speak_of_it_leaves_it_unsupported() -> None:
    assert judge(ballot(said(0.06, speaks=False), said(0.05)), DEFAULT).gap_type is GapType.UNSUPPORTED
    without = judge(ballot(said(0.06), said(0.05), evidence=()), DEFAULT)
    assert without.gap_type is GapType.UNSUPPORTED


def test_what_is_too_vague_is_unverifiable_and_not_flagged() -> None:
    found = judge(ballot(said(0.06), said(0.05)), DEFAULT, vague=True)
    assert (found.status, found.is_flagged) == (Status.UNVERIFIABLE, False)


@pytest.mark.parametrize(("p1", "p0"), [(0.99, 0.97), (0.99, 0.99), (0.97, 0.99)])
def test_what_the_model_knows_and_no_source_says_is_known_not_in_the_sources(p1: float, p0: float) -> None:
    found = judge(ballot(said(p1), said(p0)), DEFAULT)
    assert (found.status, found.gap_type, found.is_flagged) == (
        Status.NOT_IN_CONTEXT, GapType.KNOWN_NOT_IN_SOURCES, True,
    )  # fmt: skip
    assert found.reason == "may be true, but no source says it"
    assert gap_of(found).suggested_action == "add a source that says it, or mark it as general knowledge"
    known = judge(ballot(said(p1), said(p0)), replace(DEFAULT, faithful=False))
    assert (known.status, known.gap_type) == (Status.ENTAILED, GapType.EVIDENCE_INDEPENDENT)


@pytest.mark.parametrize(("p1", "p0"), [(0.99, 0.97), (0.99, 0.99)])
def test_what_the_model_knows_and_a_source_says_is_supported(p1: float, p0: float) -> None:
    said_so = (EvidenceRef("S0", 0, 40, "Its tower is 330 metres tall today."),)
    found = judge(ballot(said(p1), said(p0), evidence=said_so), STRICT)
    assert (found.status, found.gap_type, found.required_bits) == (
        Status.ENTAILED, GapType.EVIDENCE_INDEPENDENT, 0.0,
    )  # fmt: skip


def test_a_citation_that_changes_nothing_does_not_support_its_claim() -> None:
    same = replace(ballot(said(0.98), said(0.98), CITED), cited=said(0.98), nothing=said(0.98))
    assert judge(same, DEFAULT).gap_type is GapType.KNOWN_NOT_IN_SOURCES
    more = replace(ballot(said(0.99), said(0.98), CITED), cited=said(0.99), nothing=said(0.98))
    assert judge(more, DEFAULT).status is Status.ENTAILED


def test_p0_is_asked_for_only_where_it_can_change_the_verdict() -> None:
    said_so = (EvidenceRef("S0", 0, 40, "Its tower is 330 metres tall today."),)
    unasked = replace(ballot(said(0.97), said(0.0)), without_evidence=None, evidence=said_so)
    assert not needs_p0(unasked, DEFAULT)
    assert needs_p0(replace(unasked, evidence=REF), DEFAULT)
    assert needs_p0(replace(unasked, claim=CITED), DEFAULT)
    assert needs_p0(replace(unasked, with_evidence=said(0.8)), DEFAULT)
    assert not needs_p0(replace(unasked, with_evidence=said(0.4)), DEFAULT)
    assert not needs_p0(replace(unasked, with_evidence=said(0.1, 0.9)), DEFAULT)


@given(st.floats(0, 1), st.floats(0, 1), st.floats(0, 1))
def test_where_p0_is_not_asked_for_it_would_have_changed_nothing(p1: float, no: float, p0: float) -> None:
    said_so = (EvidenceRef("S0", 0, 40, "Its tower is 330 metres tall today."),)
    scores = ClaimScores(CLAIM, said_so, said(p1, no * (1 - p1)), None)
    if not needs_p0(scores, DEFAULT):
        without, measured = judge(scores, DEFAULT), judge(replace(scores, without_evidence=said(p0)), DEFAULT)
        assert (without.status, without.is_flagged) == (measured.status, measured.is_flagged)
        assert (without.p1, without.p0, without.budget_gap) == (p1, None, None)


@pytest.mark.parametrize("p", [0.5, 0.7, 0.94])
def test_evidence_that_changes_nothing_supports_nothing(p: float) -> None:
    found = judge(ballot(said(p), said(p)), replace(DEFAULT, threshold_bits=2.0))
    assert (found.status, found.observed_bits) == (Status.NOT_IN_CONTEXT, 0.0)


def test_sources_that_add_little_are_not_said_to_support_a_claim() -> None:
    found = judge(ballot(said(0.79), said(0.76)), DEFAULT)
    assert (found.status, found.reason) == (Status.ENTAILED, "little evidence is needed, and the sources add little")
    assert judge(ballot(said(0.97), said(0.76)), DEFAULT).reason == "supported by the sources"


def test_a_claim_that_claims_nothing_needs_nothing() -> None:
    found = judge(ballot(said(0.05), said(0.05), replace(CLAIM, confidence=0.0)), STRICT)
    assert (found.required_bits, found.is_flagged) == (0.0, False)


def test_phantoms_are_named_without_asking_anyone() -> None:
    found = phantom(CITED, ["S7", "S9"])
    assert (found.gap_type, found.is_flagged, found.p1) == (GapType.PHANTOM_CITATION, True, None)
    assert "S7, S9" in found.reason


def test_only_cited_claims_that_stand_anyway_are_asked_about_again() -> None:
    assert needs_citation_check(ballot(said(0.97), said(0.96), CITED), STRICT)
    assert needs_citation_check(ballot(said(0.97), said(0.60), CITED), DEFAULT)
    assert not needs_citation_check(ballot(said(0.97), said(0.05), CITED), DEFAULT)
    assert not needs_citation_check(ballot(said(0.97), said(0.96)), STRICT)
    others = replace(ballot(said(0.97), said(0.05), CITED), elsewhere=REF)
    assert needs_citation_check(others, DEFAULT, free=True)
    assert not needs_citation_check(others, DEFAULT)
    assert not needs_citation_check(ballot(Estimate.failed("x"), said(0.96), CITED), STRICT)


def test_redundant_support_is_fine_and_a_wrong_citation_names_who_carries_it() -> None:
    asked = ballot(said(0.97), said(0.96), CITED)
    redundant = judge(replace(asked, cited=said(0.97), nothing=said(0.05)), DEFAULT)
    assert (redundant.status, redundant.gap_type) == (Status.ENTAILED, GapType.EVIDENCE_INDEPENDENT)
    elsewhere = (EvidenceRef("S3", 0, 4, "here"),)
    wrong = judge(replace(asked, cited=said(0.05), nothing=said(0.05), elsewhere=elsewhere), DEFAULT)
    assert wrong.is_flagged
    assert wrong.reason == "S0 does not support this; S3 does"
    assert wrong.evidence == elsewhere
    assert wrong.budget_gap is not None
    assert wrong.budget_gap > DEFAULT.threshold_bits


def test_a_source_is_named_as_carrying_a_claim_only_where_one_does() -> None:
    elsewhere = (EvidenceRef("S3", 0, 4, "here"),)
    half = said(0.45)
    nobody = judge(replace(ballot(half, half, CITED), cited=half, nothing=half, elsewhere=elsewhere), DEFAULT)
    assert nobody.is_flagged
    assert "S3 does" not in nobody.reason
    believed = ballot(said(0.97), said(0.96), CITED)
    prior = judge(replace(believed, cited=said(0.2), nothing=said(0.97), elsewhere=elsewhere), DEFAULT)
    assert prior.gap_type is GapType.KNOWN_NOT_IN_SOURCES


def test_a_verdict_that_samples_could_overturn_is_not_certain() -> None:
    torn = replace(said(0.4, 0.5), low=0.1, high=0.8)
    denied = judge(ballot(torn, said(0.3)), DEFAULT)
    assert (denied.status, denied.certain) == (Status.CONTRADICTED, False)
    assert judge(ballot(said(0.02, 0.97), said(0.05)), DEFAULT).certain
    around_the_floor = replace(said(0.55), low=0.4, high=0.7)
    assert not judge(ballot(around_the_floor, said(0.5)), DEFAULT).certain
    rag = replace(DEFAULT, name="rag")
    assert not judge(ballot(replace(said(0.8), low=0.3, high=0.9), said(0.1)), rag).certain
    assert judge(ballot(said(0.8), said(0.1)), rag).certain


def test_uncertain_estimates_say_so() -> None:
    wide = replace(said(0.9), low=0.2, high=1.0)
    assert not judge(ballot(wide, said(0.05)), DEFAULT).certain
    assert judge(ballot(said(0.97), said(0.05)), DEFAULT).certain


def test_spans_are_shown_only_on_flagged_claims() -> None:
    marked = said(0.97, spans=(Span(0, 3),))
    assert judge(ballot(marked, said(0.05)), DEFAULT).spans == ()
    low = said(0.06, spans=(Span(0, 3),))
    assert judge(ballot(low, said(0.05)), DEFAULT).spans == (Span(0, 3),)


@given(st.floats(0, 1), st.floats(0, 1), st.floats(0, 1), st.floats(0, 1))
def test_every_estimate_gets_a_verdict_with_finite_numbers(a: float, b: float, p0: float, target: float) -> None:
    yes, no = (a, b) if a + b <= 1 else (a / (a + b), b / (a + b))
    found = judge(ballot(said(yes, no), said(p0), replace(CLAIM, confidence=target)), DEFAULT)
    assert found.budget_gap is not None
    assert found.budget_gap == found.budget_gap
    assert found.adjusted_confidence is not None
    assert 0.0 <= found.adjusted_confidence <= target


@pytest.mark.parametrize(
    ("p0", "p1", "status"),
    [(0.6, 0.1, Status.CONTRADICTED), (0.1, 0.05, Status.NOT_IN_CONTEXT), (0.9, 0.6, Status.NOT_IN_CONTEXT)],
)
def test_a_bare_probability_contradicts_where_the_evidence_lowers_it_far(p0: float, p1: float, status: Status) -> None:
    assert judge(ballot(said(p1), said(p0)), STRICT).status is status


def test_consistency_is_measured_or_absent() -> None:
    sampled = said(0.97, low=0.77, high=0.99)
    assert judge(ballot(said(0.97), said(0.05)), DEFAULT).consistency_score is None
    assert judge(ballot(sampled, said(0.05)), DEFAULT).consistency_score == pytest.approx(0.78)
