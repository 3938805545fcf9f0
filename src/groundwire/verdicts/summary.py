"""Build the report on a response from the verdicts on its claims."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from groundwire.budget import required_bits
from groundwire.text.sentences import place_spans
from groundwire.types import (
    NOTHING_TO_CHECK,
    Case,
    Claim,
    ClaimKind,
    ClaimVerification,
    EpistemicGap,
    GapType,
    HallucinationReport,
    Span,
    Status,
)
from groundwire.verdicts.profile import Profile
from groundwire.verdicts.rag import hallucination_check, warning
from groundwire.verdicts.risk import claim_risk, response_risk

ACTIONS = {
    GapType.UNSUPPORTED: "remove it, or find a source that says it",
    GapType.PARTIAL_SUPPORT: "keep what the evidence says and drop the rest",
    GapType.PHANTOM_CITATION: "cite a source that exists",
    GapType.CONTRADICTED: "correct it to what the evidence says",
    GapType.OVER_EXTRAPOLATION: "say no more than the evidence does, or mark it as an inference",
    GapType.EVIDENCE_INDEPENDENT: "nothing to do; the claim holds without its citation",
    GapType.KNOWN_NOT_IN_SOURCES: "add a source that says it, or mark it as general knowledge",
}

EVEN_PRIOR = 0.5
"""Prior of a claim that no verifier was asked about (a phantom citation): its gap is what it needs."""


def summarise(
    case: Case, verdicts: Sequence[ClaimVerification], skipped: Sequence[Claim], backend: str, profile: Profile
) -> HallucinationReport:
    """Build the report of a case.

    Args:
        verdicts: the verdicts on its claims.
        skipped: sentences that were not verified.
        backend: name of the verifier's backend.
        profile: the profile that the verdicts were made with.
    """
    claims = tuple(in_response(verdict, case.response) for verdict in verdicts)
    gaps = tuple(gap_of(c) for c in claims if c.gap_type is not None)
    critical = [c for c in claims if _is_critical(c, profile.critical_bits)]
    checked = [c for c in claims if c.status is not Status.UNCHECKED]
    error = _error(claims) or _nothing_to_check(case, claims, skipped)
    measured = bool(checked) or (not claims and bool(case.sources) and error is None)
    flagged = any(c.is_flagged for c in claims)
    return HallucinationReport(
        response_id=case.id,
        response=case.response,
        backend=backend,
        profile=profile.name,
        claims=claims,
        skipped=tuple(skipped),
        gaps=gaps,
        spans=merged([span for c in claims for span in c.spans]),
        flagged=None if error and not flagged else flagged,
        risk=response_risk(claims) if measured else None,
        grounding_ratio=_grounded(checked) if measured else None,
        overall_confidence=_confidence(checked) if measured else None,
        has_critical_gaps=bool(critical),
        should_retry=bool(critical),
        retry_guidance=_guidance(critical),
        error=error,
        extra=_extra(claims, case.response, profile, backend),
    )


def in_response(verdict: ClaimVerification, response: str) -> ClaimVerification:
    """Convert the spans to offsets in the response; a flagged claim without spans becomes one span."""
    if not verdict.is_flagged:
        return verdict
    raw = response[verdict.start : verdict.end]
    placed = place_spans(verdict.claim_text, raw, verdict.spans, verdict.start)
    whole = Span(verdict.start, verdict.end, round(claim_risk(verdict), 4))
    return replace(verdict, spans=placed or (whole,))


def gap_of(claim: ClaimVerification) -> EpistemicGap:
    assert claim.gap_type is not None
    unmeasured = required_bits(EVEN_PRIOR, claim.confidence)
    bits = max(0.0, unmeasured if claim.budget_gap is None else claim.budget_gap)
    return EpistemicGap(claim.claim_id, claim.claim_text, claim.gap_type, bits, ACTIONS[claim.gap_type])


def _is_critical(claim: ClaimVerification, critical_bits: float) -> bool:
    if not claim.is_flagged:
        return False
    certain_kind = claim.gap_type in (GapType.PHANTOM_CITATION, GapType.CONTRADICTED)
    if claim.budget_gap is None:  # p0 was not asked for, because p1 alone is too low for any gap to close
        return certain_kind or claim.p1 is not None
    return certain_kind or claim.budget_gap > critical_bits


def _error(claims: Sequence[ClaimVerification]) -> str | None:
    missed = [c for c in claims if c.status is Status.UNCHECKED]
    if not missed:
        return None
    return f"{len(missed)} of {len(claims)} claims {missed[0].reason}"


def _nothing_to_check(case: Case, claims: Sequence[ClaimVerification], skipped: Sequence[Claim]) -> str | None:
    """An error for text without any assertion: it may contain a claim that was not recognised as one.

    Not without sources, where the detectors alone decide, nor if assertions were skipped on purpose.
    """
    asserted = claims or any(claim.kind is ClaimKind.ASSERTION for claim in skipped)
    says = bool(case.sources) and not asserted and any(map(str.isalnum, case.response))
    return NOTHING_TO_CHECK if says else None


def _grounded(checked: Sequence[ClaimVerification]) -> float:
    """The share of supported claims; 1 without claims."""
    return sum(c.status is Status.ENTAILED for c in checked) / len(checked) if checked else 1.0


def _confidence(checked: Sequence[ClaimVerification]) -> float:
    """Mean support of the claims, weighted by the confidence that each expresses."""
    weights = [c.confidence for c in checked]
    if not sum(weights):
        return 1.0 if not checked else 0.0
    return sum((c.p1 or 0.0) * w for c, w in zip(checked, weights, strict=True)) / sum(weights)


def _guidance(critical: Sequence[ClaimVerification]) -> str | None:
    if not critical:
        return None
    lines = [f'- "{c.claim_text}": {c.reason}' for c in critical]
    return "Answer again, using only the evidence. It does not support these claims:\n" + "\n".join(lines)


def _extra(claims: Sequence[ClaimVerification], response: str, profile: Profile, backend: str) -> dict[str, object]:
    # More than one verifier may have judged the claims.
    extra: dict[str, object] = {"decided_by": Counter(c.method for c in claims)} if backend == "cascade" else {}
    if profile.name != "rag":
        return extra
    check = hallucination_check(claims, response)
    return {**extra, "hallucination_check": check, "warning": warning(check, response)}


def merged(spans: Sequence[Span]) -> tuple[Span, ...]:
    """Sort and merge overlapping spans; a merged span has the higher score."""
    merged: list[Span] = []
    for span in sorted(spans, key=lambda s: (s.start, s.end)):
        if merged and span.start < merged[-1].end:
            last = merged[-1]
            merged[-1] = Span(last.start, max(last.end, span.end), max(last.score, span.score))
        else:
            merged.append(span)
    return tuple(merged)
