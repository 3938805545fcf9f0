"""After the answer: does it agree with what was established, by facts, by the conversation, by itself?

The detectors find the contradictions; here they get a severity, and drift and moved goalposts come beside.
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
_GRAVITY = {
    ContradictionType.DIRECT_NEGATION: 1.0,
    ContradictionType.INCOMPATIBLE_VALUES: 0.95,
    ContradictionType.TEMPORAL_IMPOSSIBILITY: 0.85,
    ContradictionType.LOGICAL_IMPOSSIBILITY: 0.75,
}
_UNNAMED = 0.9  # a detector that does not say which kind it is
_AUTHORITY = {FACT: 1.0, "user": 0.9, "assistant": 0.8, ANSWER: 0.7}
_SPEAKER = 0.8
_FACT_SENTENCES = 200


async def validate_coherence(
    new_content: str,
    history: Sequence[Turn] = (),
    *,
    facts: Sequence[Source] = (),
    kb: KnowledgeBase | None = None,
    now: datetime | None = None,
    verifier: Verifier | None = None,
) -> Coherence:
    """New content held against the conversation, against facts (sources, a knowledge base) and itself.

    A `verifier` is asked about pairs of statements that the rules leave open; without one rules decide alone.
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
    """The same from what the detectors have already found, in the conversation and in the facts."""
    moved = goalposts(new_content, history)
    against = [*_against(found, history), *(_against(by_facts, None) if by_facts else ())]
    kept = [c for c in against if not any(_same(c, goal) for goal in moved)]
    order = sorted(dict.fromkeys(kept), key=lambda c: (c.start, -c.severity))
    return Coherence(tuple(order), drifts(new_content, history), moved)


def severity(kind: ContradictionType | None, established_by: str, confidence: float) -> float:
    """How grave a contradiction is: what kind, whose word it goes against, how sure it is.

    >>> severity(ContradictionType.DIRECT_NEGATION, "fact", 1.0)
    1.0
    >>> severity(ContradictionType.LOGICAL_IMPOSSIBILITY, "assistant", 0.5)
    0.3
    """
    gravity = _GRAVITY[kind] if kind else _UNNAMED
    return round(gravity * _AUTHORITY.get(established_by, _SPEAKER) * confidence, 4)


def _as_turn(new_content: str, facts: Sequence[Source]) -> tuple[Turn, ...]:
    """The sentences of the facts that share a word with the content, as one statement made before it."""
    about = {word.norm for word in words(new_content) if not word.is_stop}
    said = (source.text[span.start : span.end] for source in facts for span in sentences(source.text))
    near = [text for text in said if about & {word.norm for word in words(text)}]
    return (Turn(0, "assistant", "\n\n".join(near[:_FACT_SENTENCES])),) if near else ()


def _against(found: Detection | None, history: Sequence[Turn] | None) -> Iterator[Contradiction]:
    """`history` None: what was "said before" were the facts, and only that is of interest."""
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
