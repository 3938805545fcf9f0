"""Source attribution: which source each claim comes from, whether that can be verified, and a confidence.

>>> score(SourceType.FILE_CONTENT, 0.5)
0.4
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, replace
from graphlib import CycleError, TopologicalSorter

from groundwire.config import RealTimeConfig
from groundwire.errors import InputError
from groundwire.reports.plaintext import nearest_evidence
from groundwire.requests import History, as_turns
from groundwire.streaming.patterns import KnownContent
from groundwire.text.numbers import numbers
from groundwire.text.tokens import weighted
from groundwire.types import ClaimVerification, HallucinationReport, Source, Status
from groundwire.types.stream import Attribution, SourceType

BASE: dict[SourceType, float] = {
    SourceType.DIRECT_OBSERVATION: 0.9,
    SourceType.FILE_CONTENT: 0.8,
    SourceType.USER_STATEMENT: 0.7,
    SourceType.INFERENCE: 0.6,
    SourceType.NONE: 0.3,
}

_UNCHECKED_QUALITY = 0.5  # neither supported nor contradicted


@dataclass(frozen=True, slots=True)
class ScoredClaim:
    """A claim with its confidence; `potential_hallucination` if that is below the threshold."""

    claim: str
    confidence: float
    potential_hallucination: bool


def score(kind: SourceType, quality: float = 1.0) -> float:
    """The base confidence of the source type times the quality of the source."""
    if not 0.0 <= quality <= 1.0:
        raise InputError(f"quality must be between 0 and 1, got {quality}")
    return BASE[kind] * quality


def score_confidence(found: Attribution, config: RealTimeConfig | None = None) -> ScoredClaim:
    """Score an attribution. A source that could not be verified counts as none."""
    threshold = (config or RealTimeConfig()).hallucination_threshold
    kind = SourceType.NONE if found.reason else found.type
    confidence = score(kind, found.quality)
    return ScoredClaim(found.claim, confidence, confidence < threshold)


def quality_of(verdict: ClaimVerification) -> float:
    """Quality of a verdict's evidence: the probability it gives the claim; one half if unchecked."""
    if verdict.status is Status.UNCHECKED:
        return _UNCHECKED_QUALITY
    return 0.0 if verdict.status is Status.CONTRADICTED else min(1.0, max(0.0, verdict.p1 or 0.0))


UNATTRIBUTED = "unattributed_claim"
UNVERIFIABLE = "unverifiable_source"
_MIN_OVERLAP = 0.6
"""Share of a claim's words, by weight, that its source must contain."""


class SourceAttributionTracker:
    """Record where claims come from with `track_claim` or `track`; check it with `verify_claim`.

    Args:
        sources: documents.
        observations: tool results by call id.
        history: the conversation.
    """

    def __init__(
        self, sources: Sequence[Source] = (), *, observations: Mapping[str, str] | None = None, history: History = ()
    ) -> None:
        self.files = {source.id: source.text for source in sources}
        self.observations = dict(observations or {})
        self.user_turns = {str(turn.id): turn.text for turn in as_turns(history) if turn.role == "user"}
        self._map: dict[str, Attribution] = {}

    def track_claim(self, claim: str, source: Attribution) -> None:
        """Record the source of a claim, replacing an earlier record."""
        self._map[_key(claim)] = replace(source, claim=claim)

    def track(self, verdicts: Iterable[ClaimVerification] | HallucinationReport) -> None:
        """Record the evidence of each verdict; unsupported claims have no source."""
        if isinstance(verdicts, HallucinationReport):
            if verdicts.detection and verdicts.detection.known:
                self.files.setdefault("kb", verdicts.detection.known)
            verdicts = verdicts.claims
        for verdict in verdicts:
            self.track_claim(verdict.claim_text, self._of(verdict))

    def verify_claim(self, claim: str) -> Attribution:
        """The attribution of a claim, verified or with the reason why not."""
        noted = self._map.get(_key(claim))
        if noted is None:
            return Attribution(claim, reason=UNATTRIBUTED, note="no source was named for this claim")
        return self._verified(noted, self._holding())

    def attributions(self) -> tuple[Attribution, ...]:
        """All tracked claims in the order of tracking, verified or with the reason why not."""
        holding = self._holding()
        return tuple(self._verified(noted, holding) for noted in self._map.values())

    def _verified(self, noted: Attribution, holding: Set[str]) -> Attribution:
        wrong = METHODS[noted.type](self, noted, holding)
        return replace(noted, verified=not wrong, reason=UNVERIFIABLE if wrong else "", note=wrong)

    def _holding(self) -> Set[str]:
        """Keys of the verified claims, premises before what rests on them; claims in a circle are not verified."""
        order = TopologicalSorter({key: list(map(_key, noted.premises)) for key, noted in self._map.items()})
        with suppress(CycleError):  # what does not depend on the circle is still delivered
            order.prepare()
        holding: set[str] = set()
        while ready := order.get_ready():
            order.done(*ready)
            holding.update(k for k in ready if k in self._map and self._verified(self._map[k], holding).verified)
        return holding

    def _of(self, verdict: ClaimVerification) -> Attribution:
        best = nearest_evidence(verdict) if verdict.status is Status.ENTAILED else None
        if best is None:
            return Attribution(verdict.claim_text, quality=quality_of(verdict))
        observed = best.source in self.observations
        text = (self.observations if observed else self.files).get(best.source, "")
        return Attribution(
            verdict.claim_text,
            SourceType.DIRECT_OBSERVATION if observed else SourceType.FILE_CONTENT,
            best.source,
            best.start,
            best.end,
            quality=quality_of(verdict),
            quote=text[best.start : best.end],
        )


def _in_document(tracker: SourceAttributionTracker, found: Attribution, _: Set[str]) -> str:
    observed = found.type is SourceType.DIRECT_OBSERVATION
    text = (tracker.observations if observed else tracker.files).get(found.source)
    missing = f"no tool returned {found.source!r}" if observed else f"there is no source {found.source!r}"
    return missing if text is None else _in_text(text, found)


def _in_turns(tracker: SourceAttributionTracker, found: Attribution, _: Set[str]) -> str:
    """A user statement must be in the named turn, or in any user turn."""
    by_id = tracker.user_turns
    turns = [by_id[found.source]] if found.source in by_id else list(by_id.values())
    if not turns:
        return "there are no messages of the user"
    return "" if any(not _in_text(text, found) for text in turns) else "the user did not say this"


def _from_premises(_: SourceAttributionTracker, found: Attribution, holding: Set[str]) -> str:
    """An inference is verified if all its premises are."""
    if not found.premises:
        return "the inference has no premises"
    lost = [p for p in found.premises if _key(p) not in holding]
    return f'a premise is not verified: "{lost[0]}"' if lost else ""


Method = Callable[[SourceAttributionTracker, Attribution, Set[str]], str]
METHODS: dict[SourceType, Method] = {
    SourceType.DIRECT_OBSERVATION: _in_document,
    SourceType.FILE_CONTENT: _in_document,
    SourceType.USER_STATEMENT: _in_turns,
    SourceType.INFERENCE: _from_premises,
    SourceType.NONE: lambda *_: "no source supports it",
}
"""Verification by source type. Each returns "" on success, else the reason for the failure."""


def _in_text(text: str, found: Attribution) -> str:
    """Look for the quote, at its place if given; without a quote, for the claim's words and numbers."""
    if found.end > found.start:
        if found.end > len(text):
            return f"the source ends at {len(text)}, before {found.end}"
        text = text[found.start : found.end]
    if found.quote:
        return "" if _flat(found.quote) in _flat(text) else "the quote is not there"
    wanted, there, known = weighted(found.claim), weighted(text), KnownContent([Source("text", text)])
    covered = sum(weight for term, weight in wanted.items() if term in there)
    counted = all(known.has_number(n, found.claim[n.start : n.end]) for n in numbers(found.claim))
    says = counted and wanted and covered >= _MIN_OVERLAP * sum(wanted.values())
    return "" if says else "the source does not say this"


def _flat(text: str) -> str:
    return " ".join(text.split()).casefold()


def _key(claim: str) -> str:
    return _flat(claim).rstrip(".!")
