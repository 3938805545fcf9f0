"""From two estimates to the verdict on one claim, in the order the design lays down."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from groundwire.budget import Budget, adjusted_confidence, budget
from groundwire.types import Claim, ClaimVerification, Estimate, EvidenceRef, GapType, Status
from groundwire.verdicts.profile import Profile
from groundwire.verdicts.rag import grounding

PARTIAL_SHARE = 0.1
"""Evidence that pays at least this share of what is required supports the claim in part."""


@dataclass(frozen=True, slots=True)
class ClaimScores:
    """All that was found out about one claim before judging it.

    `cited` and `nothing` are asked for only where the claim would pass without its cited sources:
    the claim with the cited sources alone in view, and with no evidence at all.
    """

    claim: Claim
    evidence: tuple[EvidenceRef, ...]
    with_evidence: Estimate
    without_evidence: Estimate
    cited: Estimate | None = None
    nothing: Estimate | None = None
    elsewhere: tuple[EvidenceRef, ...] = ()


def budget_of(p1: Estimate, p0: Estimate, target: float) -> Budget:
    return budget(p1.p_yes, p0.p_yes, target, (p1.low, p1.high), (p0.low, p0.high))


def needs_citation_check(ballot: ClaimScores, profile: Profile, *, free: bool = False) -> bool:
    """Would the claim pass even if its cited sources said nothing? Then ask what they say by themselves.

    Where asking is `free`, it is done whenever other sources speak of the claim, since they may be the ones
    that carry it.
    """
    if not ballot.claim.citations or ballot.with_evidence.error or ballot.without_evidence.error:
        return False
    if free and ballot.elsewhere:
        return True
    required = budget_of(ballot.with_evidence, ballot.without_evidence, ballot.claim.confidence).required_bits
    return required <= max(profile.threshold_bits, 0.0)


def phantom(claim: Claim, missing: Sequence[str]) -> ClaimVerification:
    """A claim that cites what does not exist; no model is asked."""
    names = ", ".join(missing)
    reason = f"cites {names}, which {'is' if len(missing) == 1 else 'are'} not among the sources"
    return unmeasured(claim, Status.NOT_IN_CONTEXT, GapType.PHANTOM_CITATION, reason, "citation check")


def unchecked(claim: Claim, error: str, method: str = "none") -> ClaimVerification:
    """The explicit "could not check": neither fine nor flagged."""
    return unmeasured(claim, Status.UNCHECKED, None, f"could not be checked: {error}", method)


def judge(ballot: ClaimScores, profile: Profile, *, vague: bool = False) -> ClaimVerification:
    error = ballot.with_evidence.error or ballot.without_evidence.error
    if error:
        return unchecked(ballot.claim, error, ballot.with_evidence.method)
    if ballot.cited is not None and ballot.nothing is not None:
        return _judge_citation(ballot, ballot.cited, ballot.nothing, profile, vague)
    return _verdict(ballot, ballot.with_evidence, ballot.without_evidence, profile, vague=vague)


def _judge_citation(
    ballot: ClaimScores, cited: Estimate, nothing: Estimate, profile: Profile, vague: bool
) -> ClaimVerification:
    """The claim needs little beyond what stands without its citation. Is that redundant, or wrong?"""
    if cited.error or nothing.error:
        return unchecked(ballot.claim, cited.error or nothing.error or "", cited.method)
    if _passes(ballot.claim, cited, nothing, profile) and not _denied(cited):
        return _verdict(ballot, ballot.with_evidence, ballot.without_evidence, profile, vague=False)
    wrong = _verdict(ballot, cited, nothing, profile, vague=vague)
    if _denied(cited):
        return wrong
    if not _carried(ballot.claim, ballot.with_evidence, ballot.without_evidence, profile):
        return _verdict(ballot, ballot.with_evidence, ballot.without_evidence, profile, vague=vague)
    helps = ballot.without_evidence.p_yes > nothing.p_yes  # else it is believed, not read elsewhere
    stands = f"; {ballot.elsewhere[0].source} does" if helps and ballot.elsewhere else ""
    reason = f"{', '.join(ballot.claim.citations)} does not carry this{stands}"
    return replace(
        wrong, reason=reason, gap_type=GapType.UNSUPPORTED, evidence=ballot.elsewhere or wrong.evidence
    )


def _passes(claim: Claim, p1: Estimate, p0: Estimate, profile: Profile) -> bool:
    if profile.name == "rag":
        return grounding(p1.p_yes, p0.p_yes, bool(claim.citations)).grounded
    return _carried(claim, p1, p0, profile)


def _carried(claim: Claim, p1: Estimate, p0: Estimate, profile: Profile) -> bool:
    within = not budget_of(p1, p0, claim.confidence).exceeds(profile.threshold_bits)
    return within and p1.p_yes >= profile.floor(claim.confidence)


def _denied(estimate: Estimate) -> bool:
    return estimate.p_no > max(estimate.p_yes, estimate.p_unsure)


def _verdict(
    ballot: ClaimScores, p1: Estimate, p0: Estimate, profile: Profile, *, vague: bool
) -> ClaimVerification:
    claim = ballot.claim
    found = budget_of(p1, p0, claim.confidence)
    status, gap_type, flagged = _outcome(ballot, p1, p0, found, profile, vague)
    contradicted = status is Status.CONTRADICTED
    return ClaimVerification(
        claim_id=claim.id,
        claim_text=claim.text,
        start=claim.start,
        end=claim.end,
        citations=claim.citations,
        evidence=ballot.evidence,
        confidence=claim.confidence,
        p1=p1.p_yes,
        p0=p0.p_yes,
        required_bits=found.required_bits,
        observed_bits=found.observed_bits,
        budget_gap=found.gap_bits,
        gap_low=found.gap_low,
        gap_high=found.gap_high,
        status=status,
        gap_type=gap_type,
        is_flagged=flagged,
        reason=_reason(status, gap_type, p1, found),
        certain=_certain(ballot, p1, p0, found, profile),
        method=p1.method,
        spans=p1.spans if flagged else (),
        consistency_score=1.0 - (p1.high - p1.low),
        adjusted_confidence=adjusted_confidence(claim.confidence, found, contradicted),
    )


def _outcome(
    ballot: ClaimScores, p1: Estimate, p0: Estimate, found: Budget, profile: Profile, vague: bool
) -> tuple[Status, GapType | None, bool]:
    if _denied(p1):
        return Status.CONTRADICTED, GapType.CONTRADICTED, True
    if _passes(ballot.claim, p1, p0, profile):
        independent = found.required_bits == 0.0 and ballot.claim.confidence > 0.0
        return Status.ENTAILED, GapType.EVIDENCE_INDEPENDENT if independent else None, False
    if vague:
        return Status.UNVERIFIABLE, None, False
    return Status.NOT_IN_CONTEXT, _shortfall(ballot, p1, found), True


def _certain(ballot: ClaimScores, p1: Estimate, p0: Estimate, found: Budget, profile: Profile) -> bool:
    """Would the verdict be the same anywhere within the intervals?"""
    if profile.name == "rag":
        cited = bool(ballot.claim.citations)
        pessimist = grounding(p1.low, p0.high, cited).grounded
        optimist = grounding(p1.high, p0.low, cited).grounded
    else:
        floor = profile.floor(ballot.claim.confidence)
        pessimist = found.gap_high <= profile.threshold_bits and p1.low >= floor
        optimist = found.gap_low <= profile.threshold_bits and p1.high >= floor
    if _denied(p1):
        return not optimist or (p1.low == p1.high and p0.low == p0.high)
    return pessimist == optimist


def _shortfall(ballot: ClaimScores, p1: Estimate, found: Budget) -> GapType:
    speaks = p1.speaks if p1.speaks is not None else bool(ballot.evidence)
    if not speaks:
        return GapType.UNSUPPORTED
    if found.observed_bits > PARTIAL_SHARE * found.required_bits:
        return GapType.PARTIAL_SUPPORT
    return GapType.OVER_EXTRAPOLATION


_CARRIED = "the sources carry this"
_LITTLE = "the sources add little to this, and little is needed"
_WORDS = {
    GapType.UNSUPPORTED: "nothing in the sources speaks of this",
    GapType.PARTIAL_SUPPORT: "the sources support only part of this",
    GapType.OVER_EXTRAPOLATION: "the sources speak of this but do not say it",
    GapType.CONTRADICTED: "the sources say otherwise",
    GapType.EVIDENCE_INDEPENDENT: "stands without this evidence as well",
}


def _reason(status: Status, gap_type: GapType | None, p1: Estimate, found: Budget) -> str:
    if status is Status.UNVERIFIABLE:
        return "too vague to judge"
    carried = found.observed_bits > PARTIAL_SHARE * found.required_bits
    words = _WORDS[gap_type] if gap_type else _CARRIED if carried else _LITTLE
    if status is Status.ENTAILED or not p1.reason:
        return words
    return p1.reason if gap_type is GapType.CONTRADICTED else f"{words}: {p1.reason}"


def unmeasured(
    claim: Claim, status: Status, gap_type: GapType | None, reason: str, method: str
) -> ClaimVerification:
    flagged = gap_type is not None
    return ClaimVerification(
        claim_id=claim.id,
        claim_text=claim.text,
        start=claim.start,
        end=claim.end,
        citations=claim.citations,
        evidence=(),
        confidence=claim.confidence,
        p1=None,
        p0=None,
        required_bits=None,
        observed_bits=None,
        budget_gap=None,
        gap_low=None,
        gap_high=None,
        status=status,
        gap_type=gap_type,
        is_flagged=flagged,
        reason=reason,
        certain=flagged,
        method=method,
    )
