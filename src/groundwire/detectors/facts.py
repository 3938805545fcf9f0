"""Flags for claims that disagree with what is known, with the correction that would make them agree."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from groundwire.detectors.context import DetectionContext
from groundwire.detectors.kb_lookup import LookupResult, claim_queries, look_up, reliability
from groundwire.detectors.values import Comparison, replacement
from groundwire.types import Flag, HallucinationType, Segment, Triple, Value

_TIES = ("from", "in", "at", "on")


def asserted_triples(segment: Segment) -> Iterator[Triple]:
    """The claims a sentence makes: all of an assertion; of an instruction what it says by the way
    ("contact Sarah from the Analytics team")."""
    for claim in segment.claims:
        by_the_way = claim.predicate in _TIES and not segment.text.rstrip().endswith("?")
        if (segment.assertive or by_the_way) and claim.quantifier not in ("no", "few", "some"):
            yield claim


def find_conflicts(
    view: DetectionContext, *, of_facts: bool, kind: HallucinationType, base: float
) -> list[Flag]:
    """One flag for every claim that some attribute, or some fact, speaks against."""
    return [
        _without_fix(flag) if _is_shared(segment, claim, judged) else flag
        for segment in view.segments
        for claim in asserted_triples(segment)
        for judged in _against(view, claim)
        if not _is_further(view, segment, claim)
        if (judged.holding is not None and judged.holding.fact is not None) == of_facts
        for flag in (_flag(view, claim, judged, kind, base),)
    ]


def _is_further(view: DetectionContext, segment: Segment, claim: Triple) -> bool:
    """ "Founded by Bill Gates and Paul Allen": beside a value that is known, another is a further one."""
    beside = [
        other
        for other in segment.claims
        if (other.subject_span, other.predicate) == (claim.subject_span, claim.predicate)
        and other.object_span != claim.object_span
    ]
    found = (look_up(view, other, reading) for other in beside for reading in claim_queries(view, other))
    return any(judged is not None and judged.verdict is Comparison.SAME for judged in found)


def _is_shared(segment: Segment, claim: Triple, judged: LookupResult) -> bool:
    """Whether the words that are wrong of one are said of another too: "Ann and Bo work in Sales"."""
    span = judged.reading.span
    return any(
        other.object_span == span
        and other.subject_span != claim.subject_span
        and other.predicate == claim.predicate
        for other in segment.claims
    )


def _without_fix(flag: Flag) -> Flag:
    return replace(flag, correction="", fix=None)


def _against(view: DetectionContext, claim: Triple) -> list[LookupResult]:
    found = [look_up(view, claim, reading) for reading in claim_queries(view, claim)]
    if any(judged and judged.verdict is Comparison.SAME for judged in found):
        return []
    return [judged for judged in found if judged and judged.verdict is Comparison.DIFFERENT][:1]


def _flag(
    view: DetectionContext, claim: Triple, judged: LookupResult, kind: HallucinationType, base: float
) -> Flag:
    holding, reading = judged.holding, judged.reading
    assert holding is not None
    assert view.known is not None
    value = _shown(holding.value)
    repair = None if claim.denied else replacement(holding.value, _said(view, reading.span), view.known)
    place = (reading.span[0] + repair.start, reading.span[0] + repair.end) if repair else None
    source = holding.fact.provenance.source if holding.fact else ""
    known = f"{reading.entity.name}: {holding.name} = {value}"
    return Flag(
        type=kind,
        start=claim.start,
        end=claim.end,
        content=view.response[claim.start : claim.end],
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


def _said(view: DetectionContext, span: tuple[int, int]) -> str:
    return view.response[span[0] : span[1]]


# Wrong attributes: the entity is known, so is the attribute, and its value is another.
#
# Catches values that differ as numbers, dates, times, names or text, and denials of what is so. Misses
# attributes that may hold several values (a further one contradicts none), states of the past,
# and what the rules read no triple from. Cost: no lookups of its own.

ATTRIBUTE_BASE = 0.9


async def detect_wrong_attributes(view: DetectionContext) -> list[Flag]:
    kind = HallucinationType.WRONG_ATTRIBUTE
    return find_conflicts(view, of_facts=False, kind=kind, base=ATTRIBUTE_BASE)


# Contradictions of known facts: a fact of the store with the same subject and predicate says otherwise.
#
# Catches single-valued facts with another object, in any role, from either end, and denials. Misses facts of
# predicates that may hold with several objects. A fact's own confidence scales the flag's. Cost: no lookups
# of its own.

FACT_BASE = 0.95


async def detect_kb_contradictions(view: DetectionContext) -> list[Flag]:
    kind = HallucinationType.CONTRADICTS_FACT
    return find_conflicts(view, of_facts=True, kind=kind, base=FACT_BASE)
