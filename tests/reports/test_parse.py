"""What was written as JSON is read back as the records it was of."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime

from hypothesis import given, settings
from hypothesis import strategies as st

from groundwire.reports.json import (
    audit_from,
    audit_object,
    claim_from,
    claim_object,
    output_from,
    output_object,
    report_from,
    report_object,
)
from groundwire.types import (
    Claim,
    ClaimKind,
    ClaimVerification,
    ContradictionType,
    Derived,
    Detection,
    EpistemicGap,
    EvidenceRef,
    Feedback,
    Flag,
    GapType,
    HallucinationReport,
    HallucinationType,
    OutputCheck,
    OutputStatus,
    PostHoc,
    Repair,
    Span,
    Status,
    Step,
    StepVerdict,
    TraceAudit,
)

SHARE = st.integers(0, 10_000).map(lambda n: n / 10_000)
MAYBE = st.none() | SHARE
TEXT = st.text(max_size=12)
SPANS = st.lists(st.builds(Span, st.integers(0, 9), st.integers(9, 20), SHARE), max_size=2).map(tuple)
FEEDBACK = st.builds(
    Feedback, st.booleans(), st.sampled_from(Status), st.booleans(), st.just(datetime(2026, 1, 2, tzinfo=UTC)), TEXT
)
CLAIMS = st.builds(
    ClaimVerification,
    claim_id=TEXT,
    claim_text=TEXT,
    start=st.integers(0, 9),
    end=st.integers(9, 20),
    citations=st.lists(TEXT, max_size=2).map(tuple),
    evidence=st.lists(st.builds(EvidenceRef, TEXT, st.integers(0, 5), st.integers(5, 9), st.just("it says so")), max_size=2).map(tuple),
    confidence=SHARE,
    p1=MAYBE,
    p0=MAYBE,
    required_bits=MAYBE,
    observed_bits=MAYBE,
    budget_gap=MAYBE,
    gap_low=MAYBE,
    gap_high=MAYBE,
    status=st.sampled_from(Status),
    gap_type=st.none() | st.sampled_from(GapType),
    is_flagged=st.booleans(),
    reason=TEXT,
    certain=st.booleans(),
    method=TEXT,
    spans=SPANS,
    consistency_score=MAYBE,
    adjusted_confidence=MAYBE,
    feedback=st.none() | FEEDBACK,
)  # fmt: skip
FLAGS = st.builds(
    Flag,
    st.sampled_from(HallucinationType),
    st.integers(0, 5),
    st.integers(5, 9),
    TEXT,
    SHARE,
    suggestion=TEXT,
    evidence=TEXT,
    correction=TEXT,
    source=TEXT,
    contradiction=st.none() | st.sampled_from(ContradictionType),
    score=MAYBE,
)
DETECTIONS = st.builds(Detection, st.lists(FLAGS, max_size=2).map(tuple), skipped=st.lists(TEXT, max_size=2).map(tuple))
SKIPPED = st.builds(Claim, st.just("s1"), TEXT, st.integers(0, 5), st.integers(5, 9), kind=st.sampled_from(ClaimKind))
REPORTS = st.builds(
    HallucinationReport,
    response_id=TEXT,
    response=st.just("the answer"),
    backend=TEXT,
    profile=TEXT,
    claims=st.lists(CLAIMS, max_size=2).map(tuple),
    skipped=st.lists(SKIPPED, max_size=1).map(tuple),
    gaps=st.lists(st.builds(EpistemicGap, TEXT, TEXT, st.sampled_from(GapType), SHARE, TEXT), max_size=2).map(tuple),
    spans=SPANS,
    flagged=st.none() | st.booleans(),
    risk=MAYBE,
    grounding_ratio=MAYBE,
    overall_confidence=MAYBE,
    has_critical_gaps=st.booleans(),
    should_retry=st.booleans(),
    retry_guidance=st.none() | TEXT,
    error=st.none() | TEXT,
    detection=st.none() | DETECTIONS,
    repair=st.none() | st.builds(Repair, st.just("the answer"), TEXT),
    extra=st.just({}) | st.just({"warning": "mind"}),
)


def says_so(_source: str, _start: int, _end: int) -> str:
    return "it says so"


def wire(data: object) -> dict[str, object]:
    found: dict[str, object] = json.loads(json.dumps(data))
    return found


@settings(max_examples=50)
@given(CLAIMS)
def test_a_claim(claim: ClaimVerification) -> None:
    assert claim_from(wire(claim_object(claim)), says_so) == claim


@settings(max_examples=50)
@given(REPORTS)
def test_a_report(report: HallucinationReport) -> None:
    assert report_from(wire(report_object(report)), "the answer", says_so) == report


def test_without_the_sources_evidence_has_no_text() -> None:
    claim = CLAIM
    assert claim_from(wire(claim_object(claim))) == replace(claim, evidence=(EvidenceRef("S0", 0, 4),))


CLAIM = ClaimVerification(
    "c1", "It is red.", 0, 10, ("S0",), (EvidenceRef("S0", 0, 4, "it says so"),), 0.95, 0.9, 0.1, 1.0, 2.0, -1.0,
    -1.0, -1.0, Status.ENTAILED, None, False, "so", True, "fake",
)  # fmt: skip


def test_an_audit() -> None:
    verdict = replace(CLAIM, claim_id="step1")
    step = StepVerdict(Step("step1", "It is red.", ("S0",), 0.95), Status.ENTAILED, verdict, ("p",), ("q",), ("r",))
    audit = TraceAudit((step,), PostHoc(Derived.NO, "a", "b", "c", 0.5, "d"), "fake", "why?", "an error")
    assert audit_from(wire(audit_object(audit)), says_so) == audit


def test_an_output() -> None:
    found = OutputCheck("1", OutputStatus.VERIFIED, "", True, ("c1",), "do better")
    assert output_from(wire(output_object(found))) == found
