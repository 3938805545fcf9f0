"""From the estimates of one claim to its verdict: profile, citation, bits, status, flag, reason, shares of sources."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from groundwire.budget import Budget, adjusted_confidence, budget, observed_bits
from groundwire.config import Config
from groundwire.retrieval.gather import Gathered, cited_ids, without_source
from groundwire.text.tokens import words
from groundwire.types import Claim, ClaimVerification, Estimate, EvidenceRef, GapType, Source, SourceShare, Span, Status

# ---- profiles: named sets of thresholds that turn estimates into verdicts

SCRUBBED = "[EVIDENCE REMOVED]"  # replaces evidence in the context of p0
REDACTED = "[REDACTED]"  # the same in the profile `rag`
MIN_CHARS, MAX_CLAIMS = 15, 10
"""Profile `rag`: minimum characters of a claim, and maximum number of claims; conventions of the chatbot."""


@dataclass(frozen=True, slots=True)
class Profile:
    """The thresholds of a check.

    `threshold_bits`: largest budget gap of an accepted claim. `target`: confidence that a claim must reach.
    `min_chars`, `max_claims`: limits of the claims that are verified. `critical_bits`: budget gap above which
    a flagged claim is critical. `min_support`: p1 below which a claim is not entailed, however small its gap
    (a claim that is likely without evidence needs few bits, but must not pass for that reason alone).
    `risk_threshold`: if set, a response is flagged exactly if its risk exceeds it. `faithful`: what the
    verifier believes without the sources is supported only if a source says it.
    """

    name: str
    threshold_bits: float
    target: float
    marker: str = SCRUBBED
    min_chars: int = 0
    max_claims: int = 2000
    critical_bits: float = 2.0
    min_support: float = 0.5
    risk_threshold: float | None = None
    faithful: bool = True

    def floor(self, confidence: float) -> float:
        """The minimum p1 of a claim with this confidence; a hedged claim needs less."""
        return self.min_support * min(1.0, confidence / self.target) if self.target else 0.0


def profile_for(
    config: Config, backend_threshold_bits: float, min_support: float = 0.5, backend_risk_threshold: float | None = None
) -> Profile:
    """The configured profile.

    Args:
        backend_threshold_bits: the backend's calibrated threshold, used unless the configuration has its own.
        min_support: the backend's minimum p1.
        backend_risk_threshold: the backend's calibrated threshold of the response's risk, used by the profile
            `default` unless the configuration sets a threshold.
    """
    own = config.threshold_bits
    calibrated = backend_threshold_bits if own is None else own
    base = Profile(
        config.profile,
        calibrated,
        config.target,
        max_claims=config.limits.max_claims,
        critical_bits=config.verification.gap_threshold_bits,
        min_support=min_support,
        risk_threshold=config.risk_threshold,
        faithful=config.faithful,
    )
    if config.profile == "default" and own is None and config.risk_threshold is None:
        return replace(base, risk_threshold=backend_risk_threshold)
    if config.profile == "strict":
        return replace(base, threshold_bits=0.0 if own is None else own)
    if config.profile == "rag":
        return replace(base, marker=REDACTED, min_chars=MIN_CHARS, max_claims=MAX_CLAIMS)
    return base


# ---- the score of the profile `rag`


# Conventions of the chatbot's API (docs/rag.md); its clients rely on them.
EVIDENCE_USE = 0.15  # p1 - p0 above which the cited evidence was used
CONFIDENCE = 0.45  # confidence above which a claim is grounded
OVERALL = 0.70  # share of grounded claims from which the answer is
SURE = 0.7  # p1 above which a claim counts as well supported


@dataclass(frozen=True, slots=True)
class Grounding:
    confidence: float
    grounded: bool


def grounding(p1: float, p0: float, cited: bool) -> Grounding:
    """Score a claim by its p1 and p0; a cited source must also have been used (p1 clearly above p0).

    >>> grounding(0.92, 0.25, cited=True)
    Grounding(confidence=1.0, grounded=True)
    >>> grounding(0.45, 0.42, cited=False).grounded
    False
    """
    use = max(0.0, p1 - p0)
    if cited:
        confidence = min(1.0, use * 1.5 + (0.3 if p1 > SURE else 0.0))
        return Grounding(confidence, confidence > CONFIDENCE and use > EVIDENCE_USE)
    confidence = p1 * 0.7 if p1 > SURE else p1 * 0.4
    return Grounding(confidence, confidence > CONFIDENCE)


MIN_CONTENT_WORDS = 2
"""With a single content word ("it depends") nothing specific is stated."""


def is_vague(text: str, *, answers: bool = False) -> bool:
    """Return True for text with fewer than two content words and without a name or number.

    Args:
        answers: the text answers a question, so a name alone is enough.

    >>> is_vague("It is what it is."), is_vague("This is so."), is_vague("It is 450 m tall.")
    (True, True, False)
    >>> is_vague("Lyon"), is_vague("Lyon", answers=True), is_vague("It depends.", answers=True)
    (True, False, True)
    >>> is_vague("It is in Paris."), is_vague("It is in doubt.")
    (False, True)
    """
    found = [word for word in words(text) if not word.is_stop]
    if any(character.isdigit() for character in text):
        return False
    if any(word.text[0].isupper() and word.start > 0 for word in found):
        return False  # a name can be confirmed or denied
    if answers and any(not word.text[0].islower() for word in found):
        return False
    return len({word.norm for word in found}) < MIN_CONTENT_WORDS


# ---- the verdict

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
    verdict = replace(
        unmeasured(claim, status, gap_type, _reason(scores, status, gap_type, p1, found), p1.method),
        evidence=scores.evidence,
        p1=p1.p_yes,
        is_flagged=flagged,
        certain=_certain(scores, p1, p0, found, profile),
        spans=p1.spans if flagged else (),
        consistency_score=1.0 - (p1.high - p1.low) if p1.high > p1.low else None,
        adjusted_confidence=adjusted_confidence(claim.confidence, found, status is Status.CONTRADICTED),
    )
    if p0 is UNASKED:
        return verdict
    return replace(
        verdict,
        p0=p0.p_yes,
        required_bits=found.required_bits,
        observed_bits=found.observed_bits,
        budget_gap=found.gap_bits,
        gap_low=found.gap_low,
        gap_high=found.gap_high,
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
        return p1.undecided or VAGUE
    if gap_type is not None and status is not Status.ENTAILED:
        return reason_for(gap_type, scores.claim, p1, scores.evidence)
    if gap_type is not None:
        return WORDS[gap_type]
    helped = found.observed_bits > PARTIAL_SHARE * found.required_bits
    return SUPPORTED if helped else LITTLE


def unmeasured(claim: Claim, status: Status, gap_type: GapType | None, reason: str, method: str) -> ClaimVerification:
    """A verdict without probabilities and bits; it is flagged where it has a gap."""
    flagged = gap_type is not None
    return ClaimVerification(
        claim.id, claim.text, claim.start, claim.end, claim.citations, (), claim.confidence,
        p1=None, p0=None, required_bits=None, observed_bits=None, budget_gap=None, gap_low=None, gap_high=None,
        status=status, gap_type=gap_type, is_flagged=flagged, reason=reason, certain=flagged, method=method,
    )  # fmt: skip


# ---- the reason: one statement that agrees with the status and adds to the claim's own words

SUPPORTED = "supported by the sources"
LITTLE = "little evidence is needed, and the sources add little"
VAGUE = "too vague to judge"
WORDS = {
    GapType.UNSUPPORTED: "the sources do not mention this",
    GapType.PARTIAL_SUPPORT: "the sources support only part of this",
    GapType.OVER_EXTRAPOLATION: "the sources are about this but do not say it",
    GapType.CONTRADICTED: "the sources say otherwise",
    GapType.EVIDENCE_INDEPENDENT: "holds without this evidence as well",
    GapType.KNOWN_NOT_IN_SOURCES: "may be true, but no source says it",
}
QUOTES = "the source says “"
"""How a reason begins that quotes the evidence."""
_MAX_PARTS = 2
"""Unsupported parts quoted in one reason; more would repeat the claim."""
_WHOLE = 0.8
"""Share of the claim's content words from which a quotation counts as the whole claim."""
_MOST = 0.5
"""Share from which what is left of the claim is too little to be called supported."""
_AFFIRMS = re.compile(
    r"\b(?:support(?:s|ed)?|cover(?:s|ed)?|confirm(?:s|ed)?|entail(?:s|ed)?|consistent with|match(?:es)?)\b", re.I
)
_DENIES = re.compile(r"\b(?:not|no|never|nothing|neither|none|only|part(?:ly|ial)?|cannot|without|but)\b|n't", re.I)
_NAMED = re.compile(r"(?:evidence says|the sources say) '?(.+?)'?(?: here|, not .*)?\Z")
_AGAINST = re.compile(r"\bagainst\b|\bdenie[sd]\b|\bcontradict|\bsay otherwise\b", re.I)
_UNSAID = re.compile(r"the evidence does not carry\b", re.I)


def reason_for(gap_type: GapType, claim: Claim, p1: Estimate, evidence: Sequence[EvidenceRef]) -> str:
    """The reason why a claim is flagged: the verifier's own where it explains something, else ours."""
    # "Speaks against it" is no reason where the verdict is that the sources do not say it.
    fits = not _UNSAID.match(p1.reason) and (gap_type is GapType.CONTRADICTED or not _AGAINST.search(p1.reason))
    given = p1.reason if fits and _explains(p1.reason, claim.text, evidence) else ""
    part = _unsupported_part(claim.text, p1.spans, evidence)
    if gap_type is GapType.PARTIAL_SUPPORT:
        if part and word_share(claim.text, part) <= _MOST:
            return f"supported except for {part}"
        return f"the sources do not say {part}" if part else given or WORDS[GapType.OVER_EXTRAPOLATION]
    if given or gap_type is GapType.CONTRADICTED or not p1.spans or not part:
        return given or WORDS[gap_type]
    return f"the sources do not say {part}"


def _explains(reason: str, claim: str, evidence: Sequence[EvidenceRef]) -> bool:
    """False for a reason that is empty, repeats the claim or a value of it, denies the verdict or names a cut value."""
    if reason.startswith(QUOTES):
        return True  # the sentence that decides may well share most of its words with the claim
    if not reason or (_AFFIRMS.search(reason) and not _DENIES.search(reason)):
        return False
    named = _NAMED.search(reason)
    if named:
        value = named[1]
        return not (_whole_value(value).search(claim) or _is_fragment(value, [ref.text for ref in evidence]))
    return word_share(claim, reason) < _WHOLE


def _is_fragment(value: str, texts: Sequence[str]) -> bool:
    """True for a value cut out of a longer one.

    >>> _is_fragment("00", ["open until 17:00"]), _is_fragment("330 m", ["It is 330 m tall."])
    (True, False)
    """
    whole = _whole_value(value)
    if any(whole.search(text) for text in texts):
        return False
    # A value that stands nowhere was converted from another unit or date, unless it is bare digits.
    return value.isdigit() or any(value.casefold() in text.casefold() for text in texts)


def _whole_value(value: str) -> re.Pattern[str]:
    """Matches the value where it is not part of a longer one."""
    return re.compile(rf"(?<![\w.,:]){re.escape(value)}(?!\w|[.,:]\d)", re.I)


def _unsupported_part(claim: str, spans: Sequence[Span], evidence: Sequence[EvidenceRef]) -> str:
    """The parts of the claim that nothing supports, quoted; empty if they are all of it or unknown.

    Without spans from the verifier, these are the words that no piece of evidence has.
    """
    found = [claim[span.start : span.end] for span in spans]
    if not found:
        known = {word.norm for ref in evidence for word in words(ref.text)}
        found = [word.text for word in words(claim) if not word.is_stop and word.norm not in known]
    if not found or len(found) > _MAX_PARTS or word_share(claim, " ".join(found)) >= _WHOLE:
        return ""
    return " and ".join(f"“{part}”" for part in found)


def word_share(claim: str, text: str) -> float:
    """The share of the claim's content words that the text has.

    >>> round(word_share("The tower is red.", "the sources do not say “The tower is red”"), 1)
    1.0
    """
    own = {word.norm for word in words(claim) if not word.is_stop}
    return len(own & {word.norm for word in words(text)}) / len(own) if own else 0.0


# ---- shares: each source's share of a claim drawn from several: what is lost when that source alone is taken away.
#
#     p1 = .97 with S1 and S3        without S1: .10, so S1's share is KL(.97 ‖ .10) = 3.0 bits
#                                    without S3: .95, so S3's share is KL(.97 ‖ .95) = 0.0 bits
#
# It takes one more estimate per source. By itself it is therefore measured only where an estimate costs no
# request and no source has the claim's words alone; `shares` measures it wherever evidence comes from several.

MAX_SOURCES = 5
"""Sources of a claim that are taken away, best first: few claims need more, and each costs an estimate."""


def contexts_without(
    claim: Claim,
    verdict: ClaimVerification,
    found: Gathered,
    sources: Sequence[Source],
    marker: str,
    *,
    free: bool,
    every: bool,
) -> dict[tuple[str, str], tuple[Claim, str]]:
    """The contexts to ask a supported claim's shares with, by claim and source; none if it has no shares."""
    names = list(cited_ids(verdict.citations, sources) or dict.fromkeys(ref.source for ref in found.refs))
    texts: dict[str, str] = {}
    for ref in found.refs:
        texts[ref.source] = f"{texts.get(ref.source, '')} {ref.text}"
    stated_by_one = any(word_share(claim.text, text) >= STATED_SHARE for text in texts.values())
    wanted = every or (free and not stated_by_one)
    if verdict.status is not Status.ENTAILED or len(names) < 2 or not wanted:
        return {}
    # p1 was asked with the cited sources alone where an estimate costs a request (`pipeline.score_claims`).
    text = found.with_text if free else found.cited_text or found.with_text
    taken = [source.id for source in sources if source.id in names[:MAX_SOURCES]]
    return {(claim.id, name): (claim, without_source(text, name, marker)) for name in taken}


def with_shares(
    verdict: ClaimVerification, estimates: Mapping[tuple[str, str], Estimate], profile: Profile
) -> ClaimVerification:
    """The verdict with the shares of its sources; without them if one could not be measured."""
    own = {source: found for (claim, source), found in estimates.items() if claim == verdict.claim_id}
    if not own or verdict.p1 is None or any(found.error for found in own.values()):
        return verdict
    floor = profile.floor(verdict.confidence)
    shares = tuple(
        SourceShare(source, found.p_yes, observed_bits(verdict.p1, found.p_yes), found.p_yes < floor)
        for source, found in own.items()
    )
    needed = [share.source for share in shares if share.needed]
    reason = f"{verdict.reason}; needs {_together(needed)}" if len(needed) > 1 else verdict.reason
    return replace(verdict, shares=shares, reason=reason)


def _together(names: Sequence[str]) -> str:
    """
    >>> _together(["S1", "S3"]), _together(["S1", "S2", "S3"])
    ('both S1 and S3', 'S1, S2 and S3 together')
    """
    *others, last = names
    both = f"{', '.join(others)} and {last}"
    return f"both {both}" if len(names) == 2 else f"{both} together"
