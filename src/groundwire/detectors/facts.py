"""Detectors for wrong attributes and contradicted facts: claims that differ from the known value.

Catches: values that differ as numbers, dates, times, names or text, and denials of known values; facts are
compared in any role and from either end. A fact's own confidence scales the flag's.
Misses: attributes and predicates that may have several values, past states, and sentences from which the
parser extracts no triple.
Cost: none beyond the snapshot.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from groundwire.detectors.context import DetectionContext
from groundwire.detectors.kb_lookup import LookupResult, claim_queries, look_up, reliability
from groundwire.detectors.values import Comparison, replacement
from groundwire.types import Flag, HallucinationType, Segment, Triple, Value

_TIES = ("from", "in", "at", "on")


def asserted_triples(segment: Segment) -> Iterator[Triple]:
    """The triples a sentence asserts: all of an assertion, and of an instruction only its asides
    ("contact Sarah from the Analytics team")."""
    for claim in segment.claims:
        by_the_way = claim.predicate in _TIES and not segment.text.rstrip().endswith("?")
        if (segment.assertive or by_the_way) and claim.quantifier not in ("no", "few", "some"):
            yield claim


def find_conflicts(context: DetectionContext, *, of_facts: bool, kind: HallucinationType, base: float) -> list[Flag]:
    """One flag for every claim that a known attribute (or, with `of_facts`, a known fact) contradicts."""
    return [
        _without_fix(flag) if _is_shared(segment, claim, judged) else flag
        for segment in context.segments
        for claim in asserted_triples(segment)
        for judged in _against(context, claim)
        if not _is_further(context, segment, claim)
        if (judged.holding is not None and judged.holding.fact is not None) == of_facts
        for flag in (_flag(context, claim, judged, kind, base),)
    ]


def _is_further(context: DetectionContext, segment: Segment, claim: Triple) -> bool:
    """ "Founded by Bill Gates and Paul Allen": a value next to a known one is an addition, not a conflict."""
    beside = [
        other
        for other in segment.claims
        if (other.subject_span, other.predicate) == (claim.subject_span, claim.predicate)
        and other.object_span != claim.object_span
    ]
    found = (look_up(context, other, reading) for other in beside for reading in claim_queries(context, other))
    return any(judged is not None and judged.verdict is Comparison.SAME for judged in found)


def _is_shared(segment: Segment, claim: Triple, judged: LookupResult) -> bool:
    """True if the wrong words also apply to another subject ("Ann and Bo work in Sales"): no fix in place."""
    span = judged.reading.span
    return any(
        other.object_span == span and other.subject_span != claim.subject_span and other.predicate == claim.predicate
        for other in segment.claims
    )


def _without_fix(flag: Flag) -> Flag:
    return replace(flag, correction="", fix=None)


def _against(context: DetectionContext, claim: Triple) -> list[LookupResult]:
    found = [look_up(context, claim, reading) for reading in claim_queries(context, claim)]
    if any(judged and judged.verdict is Comparison.SAME for judged in found):
        return []
    return [judged for judged in found if judged and judged.verdict is Comparison.DIFFERENT][:1]


def _flag(context: DetectionContext, claim: Triple, judged: LookupResult, kind: HallucinationType, base: float) -> Flag:
    holding, reading = judged.holding, judged.reading
    assert holding is not None
    assert context.known is not None
    value = _shown(holding.value)
    repair = None if claim.denied else replacement(holding.value, _text_at(context, reading.span), context.known)
    place = (reading.span[0] + repair.start, reading.span[0] + repair.end) if repair else None
    source = holding.fact.provenance.source if holding.fact else ""
    known = f"{reading.entity.name}: {holding.name} = {value}"
    return Flag(
        type=kind,
        start=claim.start,
        end=claim.end,
        content=context.response[claim.start : claim.end],
        confidence=round(base * reading.sure * reliability(holding), 4),
        suggestion=f"Known value for '{holding.name}' of '{reading.entity.name}': '{value}'",
        evidence=f"Known: {known}",
        correction=repair.text if repair else "",
        fix=place,
        source=f"Knowledge Base ({source})" if source else "Knowledge Base",
        related=(("kb_lookup", known),),
    )


def _shown(value: Value) -> str:
    unit = value.unit if value.unit not in value.text else ""
    return f"{value.text} {unit}".strip()


def _text_at(context: DetectionContext, span: tuple[int, int]) -> str:
    return context.response[span[0] : span[1]]


ATTRIBUTE_BASE = 0.9


async def detect_wrong_attributes(context: DetectionContext) -> list[Flag]:
    kind = HallucinationType.WRONG_ATTRIBUTE
    return find_conflicts(context, of_facts=False, kind=kind, base=ATTRIBUTE_BASE)


FACT_BASE = 0.95


async def detect_kb_contradictions(context: DetectionContext) -> list[Flag]:
    kind = HallucinationType.CONTRADICTS_FACT
    return find_conflicts(context, of_facts=True, kind=kind, base=FACT_BASE)
