"""Linguistic signals of a text, and the score of a flag.

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
from groundwire.config import EvidenceWeights
from groundwire.text.lexicon import expressions
from groundwire.types import Flag, HallucinationType, Segment


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
