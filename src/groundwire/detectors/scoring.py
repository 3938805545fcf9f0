"""Linguistic signals of a text, and the score of a flag.

The score starts from the severity of the flag's type. Each kind of evidence (knowledge base, dialogue,
wording, other flags) gives a factor around 1, and its weight w says how much of it counts: the score is
multiplied by w x factor + (1 - w). The score is reported next to the detector's confidence, on which
thresholds act.

Signals are fixed English phrases; irony, tone and other languages are not recognised.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from groundwire.claims.confidence import inferred
from groundwire.config.sections import EvidenceWeights
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


_HEDGE = re.compile(
    r"\b(?:might|may|could|perhaps|maybe|possibly|probably|presumably|apparently|seems?|seemed|appears? to|"
    r"suggests?|likely|I (?:think|believe|guess|suppose|assume)|as far as I know|to my knowledge|"
    r"I(?:['’]m| am) not (?:sure|certain)|it is possible|if I (?:recall|remember))\b(?!\s+\d{1,2}\b)",
    re.IGNORECASE,
)
_OVERCONFIDENT = tuple(
    (re.compile(rf"\b(?:{words})", re.IGNORECASE), strength)
    for words, strength in (
        (r"absolutely|(?:undeniab|indisputab|unquestionab|irrefutab)l[ey]", 1.0),
        (r"(?:without|beyond) (?:a |any )?doubt|no doubt|100\s?% (?:sure|certain)", 1.0),
        (r"guaranteed|everyone knows|it is (?:a )?(?:well[- ])?(?:known|established) fact", 0.8),
        (r"(?:always|never|impossible|proves?|proven)\b", 0.5),
    )
)
_VAGUE = re.compile(
    r"\b(?:some (?:people|experts|studies|sources|say)|many (?:people|experts|say)|various|numerous|somewhat|"
    r"sort of|kind of|a number of|and so on|etc\b|in some ways?|things? like that|or something|stuff)",
    re.IGNORECASE,
)
_CORRECTION = re.compile(
    r"\b(?:I mean|I meant|or rather|let me (?:correct|rephrase)|correction:|I misspoke|my mistake|"
    r"scratch that|sorry, (?:I|it|that)|actually, (?:no|that|it))\b|\bwait,",
    re.IGNORECASE,
)
_CERTAIN = re.compile(
    r"\b(?:certainly|definitely|clearly|obviously|surely|undoubtedly|of course|in fact|indeed"
    r"|as I (?:said|mentioned))\b",
    re.IGNORECASE,
)


def linguistic_signals(text: str) -> list[Signal]:
    """All signals of a text, in order.

    >>> [(s.kind.value, s.strength) for s in linguistic_signals("Absolutely, or rather, it might be.")]
    [('Overconfidence', 1.0), ('SelfCorrection', 1.0), ('Hedging', 0.4)]
    """
    found = [_signal(SignalKind.HEDGING, match, _doubt(match[0])) for match in _HEDGE.finditer(text)]
    for pattern, strength in _OVERCONFIDENT:
        found += [_signal(SignalKind.OVERCONFIDENCE, match, strength) for match in pattern.finditer(text)]
    for kind, pattern in (
        (SignalKind.VAGUENESS, _VAGUE),
        (SignalKind.SELF_CORRECTION, _CORRECTION),
        (SignalKind.CERTAINTY_MARKER, _CERTAIN),
    ):
        found += [_signal(kind, match) for match in pattern.finditer(text)]
    return sorted(found, key=lambda signal: (signal.start, signal.kind))


def _signal(kind: SignalKind, match: re.Match[str], strength: float = 1.0) -> Signal:
    return Signal(kind, strength, match[0], match.start(), match.end())


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
    result = flag.type.base_severity
    if kb is not None:
        result *= _weighted_factor(share.kb_evidence, kb_factor(kb))
    if history is not None:
        result *= _weighted_factor(share.history_evidence, history_factor(history))
    result *= _weighted_factor(share.linguistic_signals, linguistic_factor(signals))
    result *= _weighted_factor(share.consistency, consistency_factor(flag, others))
    return min(1.0, max(0.0, result))


def _weighted_factor(weight: float, factor: float) -> float:
    return weight * factor + (1.0 - weight)


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
    return 1.0 + min(0.1 * sum(related(flag, other) for other in others), 0.3)


def related(flag: Flag, other: Flag) -> bool:
    return flag.type == other.type or flag.content in other.content or other.content in flag.content


_CONTRADICTS = frozenset({HallucinationType.WRONG_ATTRIBUTE, HallucinationType.CONTRADICTS_FACT})
_UNVERIFIABLE = frozenset({HallucinationType.FABRICATED_FACT, HallucinationType.NONEXISTENT_ENTITY})


def with_scores(
    flags: Sequence[Flag], segments: Sequence[Segment], weights: EvidenceWeights | None = None
) -> tuple[Flag, ...]:
    """Add to each flag its score and the linguistic signals that affected it."""
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
