"""Coherence of an answer with facts, with the conversation and with itself.

The detectors find contradictions; this module rates their severity and adds semantic drift and moved
goalposts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from groundwire.config.sections import DetectorsConfig
from groundwire.detectors.registry import detect
from groundwire.streaming.drift import drifts, goalposts
from groundwire.text.sentences import sentences
from groundwire.text.tokens import words
from groundwire.types import (
    Case,
    ContradictionType,
    Detection,
    Flag,
    HallucinationType,
    KnowledgeBase,
    Source,
    Turn,
    Verifier,
)
from groundwire.types.stream import Coherence, Contradiction

FACT, ANSWER = "fact", "answer"
_AGAINST_FACTS = (HallucinationType.CONTRADICTS_FACT, HallucinationType.WRONG_ATTRIBUTE)
_WITHIN = (HallucinationType.LOGICAL_INCONSISTENCY, HallucinationType.TEMPORAL_ERROR)
# How serious each kind of contradiction is. A negation leaves no other reading, a logical clash may.
_KIND_WEIGHT = {
    ContradictionType.DIRECT_NEGATION: 1.0,
    ContradictionType.INCOMPATIBLE_VALUES: 0.95,
    ContradictionType.TEMPORAL_IMPOSSIBILITY: 0.85,
    ContradictionType.LOGICAL_IMPOSSIBILITY: 0.75,
}
_OTHER_KIND_WEIGHT = 0.9  # the detector did not name the kind
# How much the contradicted statement counts, by who established it.
_AUTHORITY = {FACT: 1.0, "user": 0.9, "assistant": 0.8, ANSWER: 0.7}
_OTHER_AUTHORITY = 0.8  # tools and other speakers
_FACT_SENTENCES = 200  # bounds the pairwise comparison


async def validate_coherence(
    new_content: str,
    history: Sequence[Turn] = (),
    *,
    facts: Sequence[Source] = (),
    kb: KnowledgeBase | None = None,
    now: datetime | None = None,
    verifier: Verifier | None = None,
) -> Coherence:
    """Compare new content with the conversation, with facts (sources, a knowledge base) and with itself.

    The optional `verifier` decides pairs of statements that the detectors' rules leave open.
    """
    case = Case(new_content, (), history=tuple(history), kb=kb, now=now)
    found = await detect(case, DetectorsConfig(), verifier)
    stated = _as_turn(new_content, facts)
    by_facts = (
        await detect(Case(new_content, (), history=stated, now=now), verifier=verifier) if stated else None
    )
    return coherence_of(new_content, history, found, by_facts)


def coherence_of(
    new_content: str, history: Sequence[Turn], found: Detection | None, by_facts: Detection | None = None
) -> Coherence:
    """As `validate_coherence`, from existing detections on the conversation and on the facts."""
    moved = goalposts(new_content, history)
    against = [*_against(found, history), *(_against(by_facts, None) if by_facts else ())]
    remaining = [c for c in against if not any(_same(c, goal) for goal in moved)]
    order = sorted(dict.fromkeys(remaining), key=lambda c: (c.start, -c.severity))
    return Coherence(tuple(order), drifts(new_content, history), moved)


def severity(kind: ContradictionType | None, established_by: str, confidence: float) -> float:
    """Severity of a contradiction from its kind, the authority it contradicts, and its confidence.

    >>> severity(ContradictionType.DIRECT_NEGATION, "fact", 1.0)
    1.0
    >>> severity(ContradictionType.LOGICAL_IMPOSSIBILITY, "assistant", 0.5)
    0.3
    """
    weight = _KIND_WEIGHT[kind] if kind else _OTHER_KIND_WEIGHT
    return round(weight * _AUTHORITY.get(established_by, _OTHER_AUTHORITY) * confidence, 4)


def _as_turn(new_content: str, facts: Sequence[Source]) -> tuple[Turn, ...]:
    """The fact sentences that share a word with the content, as one earlier turn."""
    about = {word.norm for word in words(new_content) if not word.is_stop}
    statements = (source.text[span.start : span.end] for source in facts for span in sentences(source.text))
    near = [text for text in statements if about & {word.norm for word in words(text)}]
    return (Turn(0, "assistant", "\n\n".join(near[:_FACT_SENTENCES])),) if near else ()


def _against(found: Detection | None, history: Sequence[Turn] | None) -> Iterator[Contradiction]:
    """The contradictions in a detection. With `history` None, the earlier turn consisted of facts."""
    roles = {turn.id: turn.role for turn in history or ()}
    for flag in found.flags if found else ():
        if flag.type is HallucinationType.CONTRADICTS_PRIOR:
            yield _made(flag, FACT if history is None else roles.get(flag.turn or 0, ""))
        elif history is not None and flag.type in _AGAINST_FACTS:
            yield _made(flag, FACT)
        elif history is not None and flag.type in _WITHIN:
            yield _made(flag, ANSWER)


def _made(flag: Flag, established_by: str) -> Contradiction:
    return Contradiction(
        claim=flag.content,
        contradicts=flag.prior or flag.evidence or flag.suggestion,
        severity=severity(flag.contradiction, established_by, flag.confidence),
        start=flag.start,
        end=flag.end,
        turn=flag.turn or None,
        kind=flag.contradiction.value if flag.contradiction else flag.type.value,
        established_by=established_by,
    )


def _same(one: Contradiction, other: Contradiction) -> bool:
    return one.turn == other.turn and one.start < other.end and other.start < one.end
