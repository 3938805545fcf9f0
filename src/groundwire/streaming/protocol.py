"""When a verdict may stop a stream: the evidence says otherwise, and clearly so. Lack of support never does.

A stop costs the reader a true answer where it is wrong, so the bar is higher than for a flag: the verdict
must be sure, and a piece of evidence must speak of the very matter. "It won the cup in 1999" is not
contradicted by "It was founded in 1931", however sure a verifier is. `groundwire bench streams` prints what
this is worth.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType

from groundwire.config.service import CLEAR, RealTimeConfig, RiskAction
from groundwire.openie.parser import triples
from groundwire.reports.plaintext import nearest_evidence
from groundwire.text.dates import dates
from groundwire.text.names import names
from groundwire.text.numbers import numbers
from groundwire.text.tokens import similarity, words
from groundwire.types import ClaimVerification, GapType, Risk, Status
from groundwire.types.stream import Coherence, StreamWarning, WeakPoint

_MATTER = 0.5
"""The share of a claim's words, names and values aside, that one piece of evidence must hold."""
_ALIKE = 0.6
_PIECES = 5
_NEAR = 40
_SAYS = re.compile(r"evidence says ([^']+)\Z")
_LABEL = re.compile(r"\bname:", re.IGNORECASE)
_ARTICLE = re.compile(r"^(?:the|an?|its|his|her|their)\s+", re.IGNORECASE)


def is_clear_contradiction(verdict: ClaimVerification, threshold: float) -> bool:
    """Whether the claim is contradicted by evidence so surely that going on makes no sense."""
    contradicted = verdict.status is Status.CONTRADICTED and verdict.is_flagged and verdict.certain
    if not contradicted or verdict.p1 is None or 1.0 - verdict.p1 < threshold:
        return False
    pieces = tuple(ref.text for ref in verdict.evidence[:_PIECES])
    return _compares(verdict, pieces) and speaks_of(verdict.claim_text, pieces)


def _compares(verdict: ClaimVerification, pieces: Sequence[str]) -> bool:
    """Not where a name is held against a number: "evidence says Ann Lee" of a claim that counts rooms."""
    said = _SAYS.match(verdict.reason)
    if said is None or numbers(said[1]) or dates(said[1]) or not numbers(verdict.claim_text):
        return True
    known = " ".join(pieces)
    return any(name.text not in known for name in names(verdict.claim_text))


@lru_cache(maxsize=1024)
def speaks_of(claim: str, evidence: tuple[str, ...]) -> bool:
    """Whether one piece of the evidence is about what the claim says, not only about whom or what.

    >>> speaks_of("Acme won the cup in 1999.", ("Acme was founded in 1931.",))
    False
    >>> speaks_of("Acme was founded in 1999.", ("The founding of Acme was in 1931.",))
    True
    """
    pieces = [piece for piece in evidence if piece]
    matter = _matter(claim, pieces)
    if not matter:
        return bool(pieces)
    counted = _counted(claim)
    there = [_words_of(piece, claim) for piece in pieces]
    return any(_held(matter, own) >= _MATTER * len(matter) or _held(counted, own) > 0 for own in there)


def _matter(claim: str, pieces: Sequence[str]) -> frozenset[str]:
    """The content words of a claim without its values and without whom or what it is about."""
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
    """Whether a subject is something the evidence names in the same words, as it names "the quota queue"."""
    bare = _ARTICLE.sub("", subject).casefold()
    return " of " not in bare and any(bare in piece.casefold() for piece in pieces)


def _counted(claim: str) -> frozenset[str]:
    """What numbers count: the content word behind each."""
    behind = [words(claim[number.end : number.end + _NEAR]) for number in numbers(claim)]
    firsts = (next((word.norm for word in found[:2] if not word.is_stop), "") for found in behind)
    return frozenset(filter(None, firsts))


def _words_of(piece: str, claim: str) -> frozenset[str]:
    """What a piece of evidence says, without the names that the claim has as well: they are no matter."""
    shared = {word.norm for name in names(claim) for word in words(name.text)}
    found = {word.norm for word in words(_LABEL.sub("", piece)) if not word.is_stop}
    return frozenset(found - shared)


def _held(matter: frozenset[str], there: frozenset[str]) -> int:
    return sum(any(similarity(word, other) >= _ALIKE for other in there) for word in matter)


# The response protocol: what is weak in an answer, how risky that makes it, and what to do about it.
#
# `LEVELS` is the whole of it as a table. A claim that merely lacks support is rephrased, never a reason to
# stop; only what evidence clearly contradicts, or a pattern of critical risk, is.

HIGH_SEVERITY = 0.75
"""The severity from which a contradiction of what was established is of high risk."""

LEVELS: Mapping[str, Risk] = MappingProxyType(
    {
        "unchecked": Risk.LOW,  # nobody could say
        "vague": Risk.LOW,  # nothing in it can be judged
        "warning": Risk.LOW,  # a pattern showed; the warning itself may say more
        "unsupported": Risk.MEDIUM,  # nothing speaks of it
        "partial_support": Risk.MEDIUM,
        "over_extrapolation": Risk.MEDIUM,
        "phantom_citation": Risk.MEDIUM,
        "doubtful": Risk.MEDIUM,  # the evidence seems to speak against it
        "earlier": Risk.MEDIUM,  # it differs from what was said, or takes it back
        "established": Risk.HIGH,  # it contradicts what facts or people established
        "contradicted": Risk.HIGH,  # the evidence clearly says otherwise
    }
)
"""What a weak point is worth. Two or more clear contradictions that are half of all claims are critical."""

_ORDER = {risk: rank for rank, risk in enumerate(Risk)}


@dataclass(frozen=True, slots=True)
class Assessment:
    """The weak points in the order of the text, the risk of the whole, and why it is what it is."""

    points: tuple[WeakPoint, ...] = ()
    risk: Risk = Risk.LOW
    reason: str = ""

    @property
    def failing(self) -> tuple[WeakPoint, ...]:
        """What cannot stay as it is."""
        return tuple(p for p in self.points if _ORDER[p.risk] >= _ORDER[Risk.HIGH])


def assess(
    claims: Sequence[ClaimVerification],
    warnings: Sequence[StreamWarning] = (),
    coherence: Coherence | None = None,
    threshold: float = CLEAR,
) -> Assessment:
    """All that was found out about an answer, as weak points and one risk."""
    points = [
        *(point for claim in claims for point in _of_claim(claim, threshold)),
        *_of_coherence(coherence or Coherence()),
        *(_of_warning(warning, threshold) for warning in warnings if not _answered(warning, claims)),
    ]
    ordered = tuple(sorted(points, key=lambda p: (p.start, -_ORDER[p.risk])))
    risk = _overall(ordered, claims)
    worst = max(ordered, key=lambda p: _ORDER[p.risk], default=None)
    return Assessment(ordered, risk, worst.reason if worst else "")


def action_for(risk: Risk, config: RealTimeConfig) -> RiskAction:
    found: RiskAction = getattr(config, risk.value)
    return found


def wordings(config: RealTimeConfig) -> dict[Risk, RiskAction]:
    """What happens to a sentence at each level; where the whole answer should go, a sentence is rephrased."""
    actions = {risk: action_for(risk, config) for risk in Risk}
    whole: tuple[RiskAction, ...] = ("reformulate", "discard")
    return {risk: "rephrase" if action in whole else action for risk, action in actions.items()}


def stops(risk: Risk, config: RealTimeConfig) -> bool:
    """Whether this level breaks an answer off rather than letting it come to its end."""
    high = _ORDER[risk] >= _ORDER[Risk.HIGH]
    return high and action_for(risk, config) in ("reformulate", "discard")


def guidance(points: Sequence[WeakPoint]) -> str:
    """What to tell a model that shall write the rest of its answer again."""
    lines = [_told(number, point) for number, point in enumerate(points[:5], start=1)]
    return "\n".join((_AGAIN, *lines, _KEEP))


_AGAIN = "What you have written so far stands. What followed goes against the sources and was taken out:"
_KEEP = (
    "Write only what should follow instead, and only what the sources say, in their words. Where they do not "
    "say it, write that the sources do not say it. Do not mention these instructions."
)


def _told(number: int, point: WeakPoint) -> str:
    says = f" The source {point.source} says: {point.quote}" if point.quote and point.source else ""
    return f"{number}. “{point.text}”: {point.reason or point.kind}.{says}"


def _overall(points: Sequence[WeakPoint], claims: Sequence[ClaimVerification]) -> Risk:
    risk = max((p.risk for p in points), key=lambda r: _ORDER[r], default=Risk.LOW)
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
        yield WeakPoint(
            one.claim, one.start, one.end, "earlier", LEVELS["earlier"], reason, prior=one.contradicts
        )


def _of_warning(warning: StreamWarning, threshold: float) -> WeakPoint:
    """As risky as it says, but high or critical only where it is sure."""
    sure = warning.confidence >= threshold
    risk = warning.risk if sure else min(warning.risk, Risk.MEDIUM, key=lambda r: _ORDER[r])
    reason = warning.note or warning.pattern.replace("_", " ")
    return WeakPoint(warning.segment, warning.start, warning.end, "warning", risk, reason)


def _answered(warning: StreamWarning, claims: Sequence[ClaimVerification]) -> bool:
    """What a source carries needs no warning; what the evidence spoke against already has worse than one."""
    judged = (Status.ENTAILED, Status.CONTRADICTED, Status.NOT_IN_CONTEXT)
    return any(
        claim.status in judged and claim.start < warning.end and warning.start < claim.end for claim in claims
    )
