"""From the estimates of one claim to its verdict: citation, bits, status, flag, reason."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from groundwire.budget import Budget, adjusted_confidence, budget, observed_bits
from groundwire.text.tokens import words
from groundwire.types import Claim, ClaimVerification, Estimate, EvidenceRef, GapType, Status
from groundwire.verdicts import reasons
from groundwire.verdicts.profile import Profile
from groundwire.verdicts.rag import grounding

PARTIAL_SHARE = 0.1
"""Observed bits of at least this share of the required ones count as partial support."""
STATED_SHARE = 0.8
"""Share of a claim's content words that evidence must hold to count as saying it; chosen by hand."""
UNASKED = Estimate.point(0.05, 0.0, "none")
"""Stands for a p0 that was not asked for; 0.05 is what verifiers say of most claims without evidence."""
BITS_AGAINST = 0.5
"""Bits by which evidence must lower a bare probability to contradict a claim; .6 to .1 is .8 bits."""


@dataclass(frozen=True, slots=True)
class ClaimScores:
    """The estimates of one claim that its verdict is computed from.

    `cited` (the cited sources alone) and `nothing` (no evidence at all) are estimated only where the claim
    would pass without its evidence. `without_evidence` is None where it was not worth a request.
    """

    claim: Claim
    evidence: tuple[EvidenceRef, ...]
    with_evidence: Estimate
    without_evidence: Estimate | None
    cited: Estimate | None = None
    nothing: Estimate | None = None
    elsewhere: tuple[EvidenceRef, ...] = ()

    @property
    def error(self) -> str | None:
        estimates = (self.with_evidence, self.without_evidence, self.cited, self.nothing)
        return next((e.error for e in estimates if e is not None and e.error), None)

    @property
    def p0(self) -> Estimate:
        return self.without_evidence or UNASKED

    def is_stated(self) -> bool:
        """Return whether the evidence holds nearly all content words of the claim."""
        said = {word.norm for ref in self.evidence for word in words(ref.text)}
        asked = [word.norm for word in words(self.claim.text) if not word.is_stop]
        return bool(asked) and sum(norm in said for norm in asked) >= STATED_SHARE * len(asked)

    def is_known(self, profile: Profile) -> bool:
        """Return whether the verifier believes the claim with no source in view."""
        prior = (self.nothing or self.p0).p_yes
        return prior >= max(self.claim.confidence, profile.min_support)


def budget_of(p1: Estimate, p0: Estimate, target: float) -> Budget:
    return budget(p1.p_yes, p0.p_yes, target, (p1.low, p1.high), (p0.low, p0.high))


def needs_p0(scores: ClaimScores, profile: Profile) -> bool:
    """Return whether the estimate without evidence can change the verdict, so that it is worth a request.

    It cannot where the sources deny the claim or leave it below the floor, nor where they reach its target in
    the claim's own words. A citation must raise the probability, so for a cited claim it always can.
    """
    p1, claim = scores.with_evidence, scores.claim
    if profile.name == "rag":
        return True
    if p1.error or _denied(p1) or p1.p_yes < profile.floor(claim.confidence):
        return False
    return bool(claim.citations) or p1.p_yes < claim.confidence or not scores.is_stated()


def needs_citation_check(scores: ClaimScores, profile: Profile, *, free: bool = False) -> bool:
    """Return whether the cited sources must be judged by themselves.

    They must where the claim would pass without them. Where an estimate is `free`, they also are whenever
    other sources mention the claim, since those may be the ones that support it.
    """
    if not scores.claim.citations or scores.error:
        return False
    if free and scores.elsewhere:
        return True
    required = budget_of(scores.with_evidence, scores.p0, scores.claim.confidence).required_bits
    return required <= max(profile.threshold_bits, 0.0)


def needs_prior(scores: ClaimScores, profile: Profile) -> bool:
    """Return whether to ask with no source in view: a high p0 may be knowledge, or another source."""
    return profile.faithful and not scores.error and scores.is_known(profile)


def phantom(claim: Claim, missing: Sequence[str]) -> ClaimVerification:
    """The verdict on a claim that cites a source that does not exist; no verifier is asked."""
    names = ", ".join(missing)
    reason = f"cites {names}, which {'is' if len(missing) == 1 else 'are'} not among the sources"
    return unmeasured(claim, Status.NOT_IN_CONTEXT, GapType.PHANTOM_CITATION, reason, "citation check")


def unchecked(claim: Claim, error: str, method: str = "none") -> ClaimVerification:
    """The verdict on a claim that could not be checked: neither supported nor flagged."""
    return unmeasured(claim, Status.UNCHECKED, None, f"could not be checked: {error}", method)


def judge(scores: ClaimScores, profile: Profile, *, vague: bool = False) -> ClaimVerification:
    if scores.error:
        return unchecked(scores.claim, scores.error, scores.with_evidence.method)
    if scores.cited is not None:
        return _judge_citation(scores, scores.cited, scores.nothing or scores.p0, profile, vague)
    return _verdict(scores, scores.with_evidence, scores.p0, profile, vague=vague)


def _judge_citation(
    scores: ClaimScores, cited: Estimate, nothing: Estimate, profile: Profile, vague: bool
) -> ClaimVerification:
    """Tell a redundant citation from a wrong one, for a claim that would pass without it."""
    if _passes(scores, cited, nothing, profile) and not _denied(cited):
        return _verdict(scores, scores.with_evidence, scores.p0, profile, vague=False)
    wrong = _verdict(scores, cited, nothing, profile, vague=vague)
    if _denied(cited):
        return wrong
    if not _supported(scores, scores.with_evidence, scores.p0, profile):
        return _verdict(scores, scores.with_evidence, scores.p0, profile, vague=vague)
    # Otherwise the model believes the claim without having read it in another source.
    helps = (scores.without_evidence or scores.with_evidence).p_yes > nothing.p_yes
    stands = f"; {scores.elsewhere[0].source} does" if helps and scores.elsewhere else ""
    reason = f"{', '.join(scores.claim.citations)} does not support this{stands}"
    return replace(wrong, reason=reason, gap_type=GapType.UNSUPPORTED, evidence=scores.elsewhere or wrong.evidence)


def _passes(scores: ClaimScores, p1: Estimate, p0: Estimate, profile: Profile) -> bool:
    if profile.name == "rag":
        return grounding(p1.p_yes, p0.p_yes, bool(scores.claim.citations)).grounded
    return _supported(scores, p1, p0, profile)


def _supported(scores: ClaimScores, p1: Estimate, p0: Estimate, profile: Profile) -> bool:
    """Evidence that changes nothing supports nothing, unless the claim reaches its target without it.

    A verifier that knows the claim says yes to any source: a citation must then raise the probability
    further, and without one the claim's words must be in the evidence.
    """
    claim = scores.claim
    found = budget_of(p1, p0, claim.confidence)
    reached = p1.p_yes >= claim.confidence
    if found.exceeds(profile.threshold_bits) or p1.p_yes < profile.floor(claim.confidence):
        return False
    if not (profile.faithful and scores.is_known(profile)):
        return reached or found.observed_bits > 0.0
    if claim.citations:
        return p1.p_yes > (scores.nothing or p0).p_yes
    return reached and scores.is_stated()


def _denied(estimate: Estimate) -> bool:
    return estimate.p_no > max(estimate.p_yes, estimate.p_unsure)


def _contradicted(scores: ClaimScores, p1: Estimate, p0: Estimate) -> bool:
    """Return whether the evidence speaks against the claim: by P(no), or by how far it lowers P(yes).

    The second is for verifiers that give a bare probability, which does not tell "no" from "unsure". A cited
    source that is judged by itself may lower it by what it leaves out.
    """
    if p1.p_no > 0.0 or p0.p_no > 0.0 or scores.cited is not None:
        return _denied(p1)
    return p1.p_yes < 0.5 and observed_bits(p1.p_yes, p0.p_yes) <= -BITS_AGAINST


def _verdict(scores: ClaimScores, p1: Estimate, p0: Estimate, profile: Profile, *, vague: bool) -> ClaimVerification:
    claim = scores.claim
    found = budget_of(p1, p0, claim.confidence)
    status, gap_type, flagged = _outcome(scores, p1, p0, found, profile, vague)
    contradicted = status is Status.CONTRADICTED
    measured = p0 is not UNASKED
    return ClaimVerification(
        claim_id=claim.id,
        claim_text=claim.text,
        start=claim.start,
        end=claim.end,
        citations=claim.citations,
        evidence=scores.evidence,
        confidence=claim.confidence,
        p1=p1.p_yes,
        p0=p0.p_yes if measured else None,
        required_bits=found.required_bits if measured else None,
        observed_bits=found.observed_bits if measured else None,
        budget_gap=found.gap_bits if measured else None,
        gap_low=found.gap_low if measured else None,
        gap_high=found.gap_high if measured else None,
        status=status,
        gap_type=gap_type,
        is_flagged=flagged,
        reason=_reason(scores, status, gap_type, p1, found),
        certain=_certain(scores, p1, p0, found, profile),
        method=p1.method,
        spans=p1.spans if flagged else (),
        consistency_score=1.0 - (p1.high - p1.low) if p1.high > p1.low else None,
        adjusted_confidence=adjusted_confidence(claim.confidence, found, contradicted),
    )


def _outcome(
    scores: ClaimScores, p1: Estimate, p0: Estimate, found: Budget, profile: Profile, vague: bool
) -> tuple[Status, GapType | None, bool]:
    if p1.undecided:
        return Status.UNVERIFIABLE, None, False
    if _contradicted(scores, p1, p0):
        return Status.CONTRADICTED, GapType.CONTRADICTED, True
    if _passes(scores, p1, p0, profile):
        independent = found.required_bits == 0.0 and scores.claim.confidence > 0.0
        return Status.ENTAILED, GapType.EVIDENCE_INDEPENDENT if independent else None, False
    if vague:
        return Status.UNVERIFIABLE, GapType.UNSUPPORTED, False
    return Status.NOT_IN_CONTEXT, _shortfall(scores, p1, p0, found, profile), True


def _certain(scores: ClaimScores, p1: Estimate, p0: Estimate, found: Budget, profile: Profile) -> bool:
    """Return whether the verdict is the same anywhere within the intervals."""
    if profile.name == "rag":
        cited = bool(scores.claim.citations)
        pessimist = grounding(p1.low, p0.high, cited).grounded
        optimist = grounding(p1.high, p0.low, cited).grounded
    else:
        floor = profile.floor(scores.claim.confidence)
        pessimist = found.gap_high <= profile.threshold_bits and p1.low >= floor
        optimist = found.gap_low <= profile.threshold_bits and p1.high >= floor
    if _contradicted(scores, p1, p0):
        return not optimist or (p1.low == p1.high and p0.low == p0.high)
    return pessimist == optimist


def _shortfall(scores: ClaimScores, p1: Estimate, p0: Estimate, found: Budget, profile: Profile) -> GapType:
    floor = profile.floor(scores.claim.confidence)
    if profile.faithful and p1.p_yes >= floor <= (scores.nothing or p0).p_yes:
        return GapType.KNOWN_NOT_IN_SOURCES
    speaks = p1.speaks if p1.speaks is not None else bool(scores.evidence)
    if not speaks:
        return GapType.UNSUPPORTED
    if found.observed_bits > PARTIAL_SHARE * found.required_bits:
        return GapType.PARTIAL_SUPPORT
    return GapType.OVER_EXTRAPOLATION


def _reason(scores: ClaimScores, status: Status, gap_type: GapType | None, p1: Estimate, found: Budget) -> str:
    if status is Status.UNVERIFIABLE:
        return p1.undecided or reasons.VAGUE
    if gap_type is not None and status is not Status.ENTAILED:
        return reasons.reason_for(gap_type, scores.claim, p1, scores.evidence)
    if gap_type is not None:
        return reasons.WORDS[gap_type]
    helped = found.observed_bits > PARTIAL_SHARE * found.required_bits
    return reasons.SUPPORTED if helped else reasons.LITTLE


def unmeasured(claim: Claim, status: Status, gap_type: GapType | None, reason: str, method: str) -> ClaimVerification:
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
