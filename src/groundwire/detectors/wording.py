"""The wording of a response: linguistic signals, the score of a flag, and the detector for unsupported claims.

The score starts from the severity of the flag's type. Each kind of evidence (knowledge base, dialogue,
wording, other flags) gives a factor around 1, and its weight w says how much of it counts: the score is
multiplied by w x factor + (1 - w). The score is reported next to the detector's confidence, on which
thresholds act.

Signals are fixed English phrases; irony, tone and other languages are not recognised.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from math import prod

from groundwire.claims.assertiveness import inferred
from groundwire.claims.markup import marks
from groundwire.config import EvidenceWeights
from groundwire.detectors.context import DetectionContext
from groundwire.text.lexicon import expressions
from groundwire.text.sentences import sentences
from groundwire.text.tokens import content_words
from groundwire.types import Estimate, Flag, HallucinationType, Query, Segment


class SignalKind(StrEnum):
    HEDGING = "Hedging"
    OVERCONFIDENCE = "Overconfidence"
    VAGUENESS = "Vagueness"
    SELF_CORRECTION = "SelfCorrection"
    CERTAINTY_MARKER = "CertaintyMarker"


@dataclass(frozen=True, slots=True)
class Signal:
    """A phrase that signals doubt or certainty; `strength` is 0 to 1, and 1 for kinds without degrees."""

    kind: SignalKind
    strength: float = 1.0
    text: str = ""
    start: int = 0
    end: int = 0


_SIGNALS = (
    (SignalKind.HEDGING, "hedging", 0.0),  # the strength of a hedge depends on its words
    (SignalKind.OVERCONFIDENCE, "strong_overconfidence", 1.0),
    (SignalKind.OVERCONFIDENCE, "overconfidence", 0.8),
    (SignalKind.OVERCONFIDENCE, "weak_overconfidence", 0.5),
    (SignalKind.VAGUENESS, "vagueness", 1.0),
    (SignalKind.SELF_CORRECTION, "self_correction", 1.0),
    (SignalKind.CERTAINTY_MARKER, "certainty", 1.0),
)
_PATTERNS = tuple(expressions("detect_wording", " ".join(name for _, name, _ in _SIGNALS)))


def linguistic_signals(text: str) -> list[Signal]:
    """All signals of a text, in order.

    >>> [(s.kind.value, s.strength) for s in linguistic_signals("Absolutely, or rather, it might be.")]
    [('Overconfidence', 1.0), ('SelfCorrection', 1.0), ('Hedging', 0.4)]
    """
    found = [
        Signal(kind, strength or _doubt(match[0]), match[0], match.start(), match.end())
        for (kind, _, strength), pattern in zip(_SIGNALS, _PATTERNS, strict=True)
        for match in pattern.finditer(text)
    ]
    return sorted(found, key=lambda signal: (signal.start, signal.kind))


def _doubt(phrase: str) -> float:
    """The doubt expressed by a hedge, from the table of confidence words; 0.4 for other hedges."""
    sure = inferred(phrase)
    return round(1.0 - sure, 2) if sure is not None else 0.4


@dataclass(frozen=True, slots=True)
class KBEvidence:
    """Knowledge base evidence for a flagged claim; if neither flag is set, the claim is supported."""

    contradicts: bool = False
    unverifiable: bool = False
    confidence: float = 1.0


@dataclass(frozen=True, slots=True)
class HistoryEvidence:
    """Dialogue evidence for a flagged claim; if it does not contradict, it agrees."""

    contradicts: bool = False
    confidence: float = 1.0


def strength(evidence: KBEvidence | HistoryEvidence | Signal | None) -> float:
    """How strongly evidence indicates a hallucination, 0 to 1: its confidence if it contradicts."""
    if isinstance(evidence, Signal):
        return evidence.strength
    return evidence.confidence if evidence and evidence.contradicts else 0.0


def score(
    flag: Flag,
    kb: KBEvidence | None = None,
    history: HistoryEvidence | None = None,
    signals: Sequence[Signal] = (),
    others: Sequence[Flag] = (),
    weights: EvidenceWeights | None = None,
) -> float:
    """Score a flag, 0 to 1. `others` are the other flags of the same response."""
    share = weights or EvidenceWeights()
    factors = [
        (share.kb_evidence, kb_factor(kb) if kb else 1.0),
        (share.history_evidence, history_factor(history) if history else 1.0),
        (share.linguistic_signals, linguistic_factor(signals)),
        (share.consistency, consistency_factor(flag, others)),
    ]
    result = flag.type.base_severity * prod(weight * factor + (1.0 - weight) for weight, factor in factors)
    return min(1.0, max(0.0, result))


def kb_factor(kb: KBEvidence) -> float:
    if kb.contradicts:
        return 1.0 + 0.3 * kb.confidence
    return 1.0 if kb.unverifiable else 0.5


def history_factor(history: HistoryEvidence) -> float:
    return 1.0 + 0.25 * history.confidence if history.contradicts else 0.7


def linguistic_factor(signals: Sequence[Signal]) -> float:
    """Hedging and self-correction lower the factor; certainty about a flagged claim raises it."""
    factor = 1.0
    for signal in signals:
        match signal.kind:
            case SignalKind.HEDGING:
                factor *= 1.0 - 0.3 * signal.strength
            case SignalKind.OVERCONFIDENCE:
                factor *= 1.0 + 0.2 * signal.strength
            case SignalKind.SELF_CORRECTION:
                factor *= 0.8
            case SignalKind.CERTAINTY_MARKER:
                factor *= 1.15
    return factor


def consistency_factor(flag: Flag, others: Sequence[Flag]) -> float:
    """Related hallucinations suggest a common cause: 10 % each, at most 30 %."""
    related = [o for o in others if flag.type == o.type or flag.content in o.content or o.content in flag.content]
    return 1.0 + min(0.1 * len(related), 0.3)


def with_scores(
    flags: Sequence[Flag], segments: Sequence[Segment], weights: EvidenceWeights | None = None
) -> tuple[Flag, ...]:
    """Add to each flag its score and the linguistic signals that affected it."""
    result = []
    for i, flag in enumerate(flags):
        texts = [s.text for s in segments if s.start < flag.end and flag.start < s.end]
        signals = [signal for text in texts for signal in linguistic_signals(text)]
        value = score(flag, *_evidence(flag), signals, [*flags[:i], *flags[i + 1 :]], weights)
        wording = "; ".join(f"{signal.kind.value}: {signal.text}" for signal in signals)
        told = (*flag.related, ("linguistic", wording)) if wording else flag.related
        result.append(replace(flag, score=value, related=told))
    return tuple(result)


def _evidence(flag: Flag) -> tuple[KBEvidence | None, HistoryEvidence | None]:
    match flag.type:
        case HallucinationType.WRONG_ATTRIBUTE | HallucinationType.CONTRADICTS_FACT:
            return KBEvidence(contradicts=True, confidence=flag.confidence), None
        case HallucinationType.FABRICATED_FACT | HallucinationType.NONEXISTENT_ENTITY:
            return KBEvidence(unverifiable=True), None
        case HallucinationType.CONTRADICTS_PRIOR:
            return None, HistoryEvidence(contradicts=True, confidence=flag.confidence)
    return None, None


# Unsupported claims.

# Base confidence per kind. Only an appeal exceeds the default threshold of 0.5 by itself.
APPEAL, STATISTIC, SUPERLATIVE, CAUSE = 0.60, 0.45, 0.40, 0.40
# Added to the confidence: the appeal contains a figure, the wording is overconfident, the sources do not
# support the claim, the verifier says the sources contradict it, the wording is hedged, a source is named.
_FIGURE, _OVERCONFIDENT, _NO_SUPPORT, _CONTRADICTED = 0.10, 0.05, 0.15, 0.20
_HEDGED, _SOURCE_GIVEN = -0.15, -0.20
_SUPPORTED, _NOT_SUPPORTED = 0.5, 0.1  # P(yes) from which a claim is supported, and below which it is not
# Share of content words found in one sentence of the evidence: supported without asking the verifier; too
# similar to flag without its answer; upper bound if a figure of the claim occurs nowhere.
_SUPPORTING_OVERLAP, _PARTIAL_OVERLAP, _MISSING_FIGURE_OVERLAP = 0.75, 0.5, 0.25
_MAX_QUERIES = 24  # verifier queries per response
_APPEAL, _DENIES, _FIGURES, _SUPERLATIVE, _CAUSE, _SOURCE_NAMED = expressions(
    "detect_wording", "appeal denies figure superlative cause source_named"
)


async def detect_unsupported_claims(context: DetectionContext) -> list[Flag]:
    """Flag unnamed studies, figures, superlatives and causes without evidence.

    Catches "Studies show …", "experts agree", "scientifically proven" without a source; and, if sources are
    given, figures, superlatives and causes that neither they, the known facts nor the conversation support.
    Misses plain statements (the verifier checks those), appeals that name their source, other languages.
    Costs regular expressions; one verifier query per candidate if there are sources.
    """
    has_sources = bool(context.sources)
    evidence = _stated_words(context)
    unclear = []
    for segment in context.segments:
        if kind := _unsupported_kind(segment, has_sources):
            overlap = _overlap(_unmarked(segment.text, context), evidence)
            if overlap < _SUPPORTING_OVERLAP:
                unclear.append((segment, kind, overlap))
    estimates = await _estimates(context, [segment for segment, *_ in unclear])
    flags = []
    for segment, (base, claimed), overlap in unclear:
        confidence = _confidence(segment.text, base, overlap, estimates.get(segment.index), has_sources)
        if confidence is not None:
            why = f"The sentence contains {claimed} that no source, fact or earlier turn supports"
            label, suggestion = HallucinationType.UNSUPPORTED_CLAIM, "Could not find support for this claim"
            flags.append(Flag(label, segment.start, segment.end, segment.text, confidence, suggestion, why))
    return flags


def _unsupported_kind(segment: Segment, has_sources: bool) -> tuple[float, str] | None:
    """The strongest kind of evidence that the sentence claims to have, with its base confidence."""
    text, appeal = segment.text, _APPEAL.search(segment.text)
    if not segment.assertive:
        return None
    if appeal and not _DENIES.search(text[: appeal.start()]):
        return APPEAL, "an appeal to evidence"
    kinds = ((_FIGURES, STATISTIC, "figure"), (_SUPERLATIVE, SUPERLATIVE, "superlative"), (_CAUSE, CAUSE, "cause"))
    return next(((base, f"a {what}") for pattern, base, what in kinds if has_sources and pattern.search(text)), None)


def _stated_words(context: DetectionContext) -> list[frozenset[str]]:
    """The content words of every sentence the response may be based on."""
    texts = [source.text for source in context.sources]
    texts += [turn.text for turn in context.dialogue.turns]
    facts = context.known.facts.values() if context.known else ()
    stored = [f.text or " ".join((f.predicate, *(r.value.text for r in f.roles))) for about in facts for f in about]
    told = [content_words(text) for text in stored]
    return told + [content_words(text[s.start : s.end]) for text in texts for s in sentences(text)]


def _overlap(text: str, evidence: Sequence[frozenset[str]]) -> float:
    """Largest share of the content words found in one sentence; capped if a figure occurs in none."""
    wanted = content_words(text)
    best = max((len(wanted & other) / len(wanted) for other in evidence), default=0.0) if wanted else 0.0
    available = {word for other in evidence for word in other}
    missing = any(word not in available for word in wanted if any(map(str.isdigit, word)))
    return min(best, _MISSING_FIGURE_OVERLAP) if missing else best


def _unmarked(text: str, context: DetectionContext) -> str:
    """A sentence without its citation marks: the 0 of [S0] is no figure of it."""
    for mark in reversed(marks(text, [source.id for source in context.sources])):
        text = text[: mark.start].rstrip() + text[mark.end :]
    return text


async def _estimates(context: DetectionContext, segments: Sequence[Segment]) -> dict[int, Estimate]:
    """Estimates by segment index, given the sources and the conversation; failed ones are left out."""
    premise = "\n".join((*(s.text for s in context.sources), *(turn.text for turn in context.dialogue.turns)))
    if context.verifier is None or not premise.strip() or not segments:
        return {}
    asked = segments[:_MAX_QUERIES]
    estimates = await context.verifier.estimate([Query(_unmarked(s.text, context), premise) for s in asked])
    return {s.index: estimate for s, estimate in zip(asked, estimates, strict=True) if estimate.error is None}


def _confidence(text: str, base: float, overlap: float, estimate: Estimate | None, has_sources: bool) -> float | None:
    """None if the claim is supported, or if it is not an appeal and the verifier gave no clear answer."""
    if estimate is not None and estimate.p_yes >= _SUPPORTED:
        return None
    appeal = base == APPEAL
    if appeal and has_sources and estimate is None and overlap >= _PARTIAL_OVERLAP:
        return None
    if not appeal and (estimate is None or estimate.p_yes >= _NOT_SUPPORTED or overlap >= _PARTIAL_OVERLAP):
        return None
    kinds = {signal.kind for signal in linguistic_signals(text)}
    adjustments = (
        (_FIGURE, appeal and _FIGURES.search(text)),
        (_NO_SUPPORT, has_sources),
        (_CONTRADICTED, estimate is not None and estimate.p_no >= _SUPPORTED),
        (_SOURCE_GIVEN, _SOURCE_NAMED.search(text)),
        (_HEDGED, SignalKind.HEDGING in kinds),
        (_OVERCONFIDENT, SignalKind.OVERCONFIDENCE in kinds),
    )
    return min(1.0, max(0.0, base + sum(change for change, applies in adjustments if applies)))
