"""The response protocol: the weak points of an answer, the risk they imply, and the action to take.

`LEVELS` is the whole protocol as a table. Lack of support leads to rephrasing, never to an interruption. Only
a clear contradiction or a sure pattern of high or critical risk interrupts: a wrong interruption costs the
reader a true answer, so the bar is higher than for a flag. The verdict must be certain and the evidence must
be about the same matter: "It won the cup in 1999" is not contradicted by "It was founded in 1931", whatever
the verifier says.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType

from groundwire.config import CLEAR, RealTimeConfig, RiskAction
from groundwire.openie.parser import bare, triples
from groundwire.reports.plaintext import nearest_evidence
from groundwire.text.dates import dates
from groundwire.text.names import names
from groundwire.text.numbers import numbers
from groundwire.text.tokens import content_words, similarity, words
from groundwire.types import ClaimVerification, GapType, Risk, Status
from groundwire.types.stream import Coherence, StreamWarning, WeakPoint

_MIN_SHARED_WORDS = 0.5
"""Share of a claim's words, without names and values, that one piece of evidence must contain."""
_WORD_SIMILARITY = 0.6  # two words count as the same from here on
_MAX_EVIDENCE = 5  # pieces of evidence compared, best first
_UNIT_CHARS = 40  # where to look for the noun that a number counts
_LABEL = re.compile(r"\bname:", re.IGNORECASE)


def is_clear_contradiction(verdict: ClaimVerification, threshold: float) -> bool:
    """True if evidence contradicts the claim clearly enough to interrupt."""
    contradicted = verdict.status is Status.CONTRADICTED and verdict.is_flagged and verdict.certain
    if not contradicted or verdict.p1 is None or 1.0 - verdict.p1 < threshold:
        return False
    pieces = tuple(ref.text for ref in verdict.evidence[:_MAX_EVIDENCE])
    return speaks_of(verdict.claim_text, pieces)


@lru_cache(maxsize=1024)
def speaks_of(claim: str, evidence: tuple[str, ...]) -> bool:
    """True if one piece of evidence is about the same matter, not only about the same subject.

    >>> speaks_of("Acme won the cup in 1999.", ("Acme was founded in 1931.",))
    False
    >>> speaks_of("Acme was founded in 1999.", ("The founding of Acme was in 1931.",))
    True
    """
    pieces = [piece for piece in evidence if piece]
    matter, counted = _matter(claim, pieces), _counted(claim)
    shared_names = {word.norm for name in names(claim) for word in words(name.text)}
    there = [content_words(_LABEL.sub("", piece)) - shared_names for piece in pieces]
    enough = _MIN_SHARED_WORDS * len(matter)
    return any(_shared_words(matter, own) >= enough or _shared_words(counted, own) > 0 for own in there)


def _matter(claim: str, pieces: Sequence[str]) -> frozenset[str]:
    """The content words of a claim without names, values and its subject."""
    aside = [(name.start, name.end) for name in names(claim)]
    aside += [(number.start, number.end) for number in numbers(claim)]
    aside += [(date.start, date.end) for date in dates(claim)]
    aside += [triple.subject_span for triple in triples(claim) if _is_thing(triple.subject, pieces)]
    return frozenset(
        word.norm
        for word in words(claim)
        if not word.is_stop and not any(start <= word.start < end for start, end in aside)
    )


def _is_thing(subject: str, pieces: Sequence[str]) -> bool:
    """True if the evidence names the subject in the same words, such as "the quota queue"."""
    name = bare(subject).casefold()
    return " of " not in name and any(name in piece.casefold() for piece in pieces)


def _counted(claim: str) -> frozenset[str]:
    """The nouns that the numbers of a claim count."""
    behind = [words(claim[number.end : number.end + _UNIT_CHARS]) for number in numbers(claim)]
    firsts = (next((word.norm for word in found[:2] if not word.is_stop), "") for found in behind)
    return frozenset(filter(None, firsts))


def _shared_words(matter: frozenset[str], there: frozenset[str]) -> int:
    return sum(any(similarity(word, other) >= _WORD_SIMILARITY for other in there) for word in matter)


HIGH_SEVERITY = 0.75
"""From this severity on, contradicting an established statement is a high risk."""

LEVELS: Mapping[str, Risk] = MappingProxyType(
    {
        "unchecked": Risk.LOW,  # could not be verified
        "vague": Risk.LOW,  # says too little to be verified
        "warning": Risk.LOW,  # a pattern matched; the warning has its own risk
        "unsupported": Risk.MEDIUM,  # not covered by the sources
        "partial_support": Risk.MEDIUM,
        "over_extrapolation": Risk.MEDIUM,
        "phantom_citation": Risk.MEDIUM,
        "doubtful": Risk.MEDIUM,  # the evidence seems to contradict it
        "earlier": Risk.MEDIUM,  # differs from an earlier statement
        "established": Risk.HIGH,  # contradicts an established fact or a user's statement
        "contradicted": Risk.HIGH,  # the evidence clearly contradicts it
    }
)
"""Risk by kind of weak point. Two or more contradictions in at least half of all claims are critical."""

RANK = {risk: rank for rank, risk in enumerate(Risk)}


@dataclass(frozen=True, slots=True)
class Assessment:
    """The weak points in text order, the overall risk and the reason for it."""

    points: tuple[WeakPoint, ...] = ()
    risk: Risk = Risk.LOW
    reason: str = ""

    @property
    def failing(self) -> tuple[WeakPoint, ...]:
        """The points that must not stay in the answer."""
        return tuple(p for p in self.points if is_grave(p.risk))


def assess(
    claims: Sequence[ClaimVerification],
    warnings: Sequence[StreamWarning] = (),
    coherence: Coherence | None = None,
    threshold: float = CLEAR,
) -> Assessment:
    """Combine verdicts, warnings and coherence into weak points and one risk."""
    points = [
        *(point for claim in claims for point in _of_claim(claim, threshold)),
        *_of_coherence(coherence or Coherence()),
        *(_of_warning(warning, threshold) for warning in warnings if not _answered(warning, claims)),
    ]
    ordered = tuple(sorted(points, key=lambda p: (p.start, -RANK[p.risk])))
    risk = _overall(ordered, claims)
    worst = max(ordered, key=lambda p: RANK[p.risk], default=None)
    return Assessment(ordered, risk, worst.reason if worst else "")


def is_grave(risk: Risk) -> bool:
    return RANK[risk] >= RANK[Risk.HIGH]


def action_for(risk: Risk, config: RealTimeConfig) -> RiskAction:
    found: RiskAction = getattr(config, risk.value)
    return found


def wordings(config: RealTimeConfig) -> dict[Risk, RiskAction]:
    """The action per risk for a single sentence: actions on the whole answer become rephrasing."""
    actions = {risk: action_for(risk, config) for risk in Risk}
    whole: tuple[RiskAction, ...] = ("reformulate", "discard")
    return {risk: "rephrase" if action in whole else action for risk, action in actions.items()}


def stops(risk: Risk, config: RealTimeConfig) -> bool:
    """True if the protocol interrupts the answer at this risk."""
    return is_grave(risk) and action_for(risk, config) in ("reformulate", "discard")


def guidance(points: Sequence[WeakPoint]) -> str:
    """The instruction for a model that has to rewrite the rest of its answer."""
    lines = [_instruction(number, point) for number, point in enumerate(points[:5], start=1)]
    return "\n".join((_AGAIN, *lines, _KEEP))


_AGAIN = "What you have written so far stands. What followed goes against the sources and was taken out:"
_KEEP = (
    "Write only what should follow instead, and only what the sources say, in their words. Where they do not "
    "say it, write that the sources do not say it. Do not mention these instructions."
)


def _instruction(number: int, point: WeakPoint) -> str:
    says = f" The source {point.source} says: {point.quote}" if point.quote and point.source else ""
    return f"{number}. “{point.text}”: {point.reason or point.kind}.{says}"


def _overall(points: Sequence[WeakPoint], claims: Sequence[ClaimVerification]) -> Risk:
    risk = max((p.risk for p in points), key=lambda r: RANK[r], default=Risk.LOW)
    wrong = sum(p.kind == "contradicted" for p in points)
    checked = sum(claim.status is not Status.UNCHECKED for claim in claims)
    return Risk.CRITICAL if wrong >= 2 and 2 * wrong >= checked else risk


def _of_claim(claim: ClaimVerification, threshold: float) -> Iterator[WeakPoint]:
    kind = _kind(claim, threshold)
    if kind:
        best = nearest_evidence(claim) if kind in ("contradicted", "doubtful") else None
        yield WeakPoint(
            claim.claim_text, claim.start, claim.end, kind, LEVELS[kind], claim.reason,
            quote=best.text if best else "", source=best.source if best else "",
        )  # fmt: skip


def _kind(claim: ClaimVerification, threshold: float) -> str:
    if claim.status is Status.UNCHECKED:
        return "unchecked"
    if claim.status is Status.UNVERIFIABLE:
        return "vague"
    if claim.status is Status.CONTRADICTED and claim.is_flagged:
        return "contradicted" if is_clear_contradiction(claim, threshold) else "doubtful"
    gap = claim.gap_type or GapType.UNSUPPORTED
    return gap.value if claim.is_flagged else ""


def _of_coherence(found: Coherence) -> Iterator[WeakPoint]:
    for one in found.contradictions:
        kind = "established" if one.severity >= HIGH_SEVERITY else "earlier"
        reason = f"differs from “{one.contradicts}”"
        yield WeakPoint(one.claim, one.start, one.end, kind, LEVELS[kind], reason, prior=one.contradicts)
    for one in found.goalposts:
        reason = f"{one.kind} than “{one.contradicts}”, which was said before"
        yield WeakPoint(one.claim, one.start, one.end, "earlier", LEVELS["earlier"], reason, prior=one.contradicts)


def _of_warning(warning: StreamWarning, threshold: float) -> WeakPoint:
    """The warning's own risk, but at most medium below the confidence threshold."""
    sure = warning.confidence >= threshold
    risk = warning.risk if sure else min(warning.risk, Risk.MEDIUM, key=lambda r: RANK[r])
    reason = warning.note or warning.pattern.replace("_", " ")
    return WeakPoint(warning.segment, warning.start, warning.end, "warning", risk, reason)


_REFERENCES = frozenset({"invented_citation", "invented_url", "invented_doi", "fabricated_references"})


def _answered(warning: StreamWarning, claims: Sequence[ClaimVerification]) -> bool:
    """True if a verdict covers the warning: a supported claim needs none, a contradicted one has worse.

    No verdict covers an invented reference: the sentence around it may be true.
    """
    if warning.pattern in _REFERENCES:
        return False
    judged = (Status.ENTAILED, Status.CONTRADICTED, Status.NOT_IN_CONTEXT)
    return any(claim.status in judged and claim.start < warning.end and warning.start < claim.end for claim in claims)
