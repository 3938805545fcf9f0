"""A flag's refined score: the severity of its kind, moved by what the knowledge, the dialogue, the wording
and the other flags say.

Every kind of evidence turns into a factor around 1, and its weight w says how much of the factor counts:
the score is multiplied by w x factor + (1 - w). The result stands beside the detector's own confidence, on
which thresholds act; it never replaces it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from groundwire.config.sections import EvidenceWeights
from groundwire.detectors.signals import Signal, SignalKind, linguistic_signals
from groundwire.types import Flag, HallucinationType, Segment


@dataclass(frozen=True, slots=True)
class KBEvidence:
    """What the knowledge base says of the flagged claim; neither flag set means that it bears it out."""

    contradicts: bool = False
    unverifiable: bool = False
    confidence: float = 1.0


@dataclass(frozen=True, slots=True)
class HistoryEvidence:
    """What the dialogue says of the flagged claim; not contradicting means that it agrees."""

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
    """Between 0 and 1. `others` are the flags of the same response without this one."""
    share = weights or EvidenceWeights()
    result = flag.type.base_severity
    if kb is not None:
        result *= _weighed(share.kb_evidence, kb_factor(kb))
    if history is not None:
        result *= _weighed(share.history_evidence, history_factor(history))
    result *= _weighed(share.linguistic_signals, linguistic_factor(signals))
    result *= _weighed(share.consistency, consistency_factor(flag, others))
    return min(1.0, max(0.0, result))


def _weighed(weight: float, factor: float) -> float:
    return weight * factor + (1.0 - weight)


def kb_factor(kb: KBEvidence) -> float:
    if kb.contradicts:
        return 1.0 + 0.3 * kb.confidence
    return 1.0 if kb.unverifiable else 0.5


def history_factor(history: HistoryEvidence) -> float:
    return 1.0 + 0.25 * history.confidence if history.contradicts else 0.7


def linguistic_factor(signals: Sequence[Signal]) -> float:
    """Doubt and self-correction speak for the writer; certainty about what is flagged speaks against."""
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
    """Several related hallucinations hint at one cause."""
    return 1.0 + min(0.1 * sum(related(flag, other) for other in others), 0.3)


def related(flag: Flag, other: Flag) -> bool:
    return flag.type == other.type or flag.content in other.content or other.content in flag.content


_CONTRADICTS = frozenset({HallucinationType.WRONG_ATTRIBUTE, HallucinationType.CONTRADICTS_FACT})
_UNVERIFIABLE = frozenset({HallucinationType.FABRICATED_FACT, HallucinationType.NONEXISTENT_ENTITY})


def scored(
    flags: Sequence[Flag], segments: Sequence[Segment], weights: EvidenceWeights | None = None
) -> tuple[Flag, ...]:
    """The flags of one response, each with its score and the wording that moved it."""
    result = []
    for i, flag in enumerate(flags):
        signals = [s for text in _texts(flag, segments) for s in linguistic_signals(text)]
        others = [*flags[:i], *flags[i + 1 :]]
        value = score(flag, _kb(flag), _history(flag), signals, others, weights)
        wording = "; ".join(f"{signal.kind.value}: {signal.text}" for signal in signals)
        told = (*flag.related, ("linguistic", wording)) if wording else flag.related
        result.append(replace(flag, score=value, related=told))
    return tuple(result)


def _texts(flag: Flag, segments: Sequence[Segment]) -> list[str]:
    return [s.text for s in segments if s.start < flag.end and flag.start < s.end]


def _kb(flag: Flag) -> KBEvidence | None:
    if flag.type in _CONTRADICTS:
        return KBEvidence(contradicts=True, confidence=flag.confidence)
    return KBEvidence(unverifiable=True) if flag.type in _UNVERIFIABLE else None


def _history(flag: Flag) -> HistoryEvidence | None:
    prior = flag.type is HallucinationType.CONTRADICTS_PRIOR
    return HistoryEvidence(contradicts=True, confidence=flag.confidence) if prior else None
