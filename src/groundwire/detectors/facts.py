"""Detectors for wrong attributes, contradicted facts and fabricated facts.

The first two catch claims that differ from the known value (as numbers, dates, times, names or text) and
denials of it; facts are compared in any role and from either end. They miss attributes that may have several
values, past states, and sentences from which the parser extracts no triple.
The third catches checkable claims (a known predicate with a name, figure or date) within the coverage of the
knowledge base that no source, question or earlier turn mentions. It misses vague claims and common-noun
subjects, on purpose: a knowledge base without cities cannot say that Paris is not a capital.
Cost: none beyond the snapshot.
"""

from __future__ import annotations

from collections.abc import Iterator

from groundwire.detectors.context import DetectionContext
from groundwire.detectors.entities import is_covered_name
from groundwire.detectors.kb_lookup import (
    ClaimAsQuery,
    LookupResult,
    claim_queries,
    is_licensed,
    known_values,
    look_up,
    reliability,
    resolve_entity,
)
from groundwire.detectors.values import Comparison, replacement, strip_unit_noun
from groundwire.openie.lexicon import groups, is_known, normal, same
from groundwire.openie.parser import bare
from groundwire.text.dates import dates
from groundwire.text.lexicon import word_sets
from groundwire.text.names import COMPANY_NOUNS, is_common_name
from groundwire.text.numbers import numbers
from groundwire.text.tokens import similarity
from groundwire.types import Flag, HallucinationType, Segment, Triple, Value

ATTRIBUTE_BASE, FACT_BASE = 0.9, 0.95
"""Confidence that a claim is wrong which differs from an attribute or a fact, if the name is sure."""
UNKNOWN_SUBJECT = 0.85
"""Confidence for a claim about an unknown subject."""
UNKNOWN_ATTRIBUTE = 0.6
"""Confidence for an unknown attribute of a known entity, before `fabrication_confidence` adjusts it."""
_WELL_DOCUMENTED = 10  # attributes; a missing one is then more suspicious
_SIMILAR = 0.6  # character-bigram similarity from which two attribute names are related
_MIN_ATTRIBUTES = 2  # with fewer known attributes, a missing one means nothing
_Rated = tuple[HallucinationType, float]  # the kind of a flag and its confidence for a sure name
_TIES = ("from", "in", "at", "on")
_COMMON, _WEAK, _OF_COMPANIES, _PRONOUNS = word_sets("detect_kb", "common weak of_companies pronouns")


async def detect_wrong_attributes(context: DetectionContext) -> list[Flag]:
    return _conflicts(context, of_facts=False, kind=HallucinationType.WRONG_ATTRIBUTE, base=ATTRIBUTE_BASE)


async def detect_kb_contradictions(context: DetectionContext) -> list[Flag]:
    return _conflicts(context, of_facts=True, kind=HallucinationType.CONTRADICTS_FACT, base=FACT_BASE)


def _asserted_triples(segment: Segment) -> Iterator[Triple]:
    """The triples a sentence asserts: all of an assertion, and of an instruction only its asides
    ("contact Sarah from the Analytics team")."""
    for claim in segment.claims:
        by_the_way = claim.predicate in _TIES and not segment.text.rstrip().endswith("?")
        if (segment.assertive or by_the_way) and claim.quantifier not in ("no", "few", "some"):
            yield claim


def _conflicts(context: DetectionContext, *, of_facts: bool, kind: HallucinationType, base: float) -> list[Flag]:
    """One flag for every claim that a known attribute (or, with `of_facts`, a known fact) contradicts."""
    return [
        _conflict_flag(context, segment, claim, found, (kind, base))
        for segment in context.segments
        for claim in _asserted_triples(segment)
        if (found := _contradicted(context, claim)) and not _adds_to_known(context, segment, claim)
        if (found.holding is not None and found.holding.fact is not None) == of_facts
    ]


def _look_ups(context: DetectionContext, claim: Triple) -> list[LookupResult]:
    return [found for query in claim_queries(context, claim) if (found := look_up(context, claim, query))]


def _contradicted(context: DetectionContext, claim: Triple) -> LookupResult | None:
    found = _look_ups(context, claim)
    if any(result.verdict is Comparison.SAME for result in found):
        return None
    return next((result for result in found if result.verdict is Comparison.DIFFERENT), None)


def _adds_to_known(context: DetectionContext, segment: Segment, claim: Triple) -> bool:
    """ "Founded by Bill Gates and Paul Allen": a value next to a known one is an addition, not a conflict."""
    return any(
        result.verdict is Comparison.SAME
        for other in segment.claims
        if (other.subject_span, other.predicate) == (claim.subject_span, claim.predicate)
        and other.object_span != claim.object_span
        for result in _look_ups(context, other)
    )


def _conflict_flag(
    context: DetectionContext, segment: Segment, claim: Triple, found: LookupResult, rated: _Rated
) -> Flag:
    (kind, base), holding, query = rated, found.holding, found.reading
    assert holding is not None
    assert context.known is not None
    shared = any(  # "Ann and Bo work in Sales": the words cannot be replaced for one of them
        other.object_span == query.span
        and other.subject_span != claim.subject_span
        and other.predicate == claim.predicate
        for other in segment.claims
    )
    stated = context.response[slice(*query.span)]
    repair = None if claim.denied or shared else replacement(holding.value, stated, context.known)
    source = holding.fact.provenance.source if holding.fact else ""
    known = f"{query.entity.name}: {holding.name} = {_shown(holding.value)}"
    return Flag(
        kind, claim.start, claim.end, context.response[claim.start : claim.end],
        confidence=round(base * query.sure * reliability(holding), 4),
        suggestion=f"Known value for '{holding.name}' of '{query.entity.name}': '{_shown(holding.value)}'",
        evidence=f"Known: {known}",
        correction=repair.text if repair else "",
        fix=(query.span[0] + repair.start, query.span[0] + repair.end) if repair else None,
        source=f"Knowledge Base ({source})" if source else "Knowledge Base",
        related=(("kb_lookup", known),),
    )  # fmt: skip


def _shown(value: Value) -> str:
    unit = value.unit if value.unit not in value.text else ""
    return f"{value.text} {unit}".strip()


async def detect_fabricated_facts(context: DetectionContext) -> list[Flag]:
    flags = (_fabricated(context, claim) for segment in context.segments for claim in _asserted_triples(segment))
    return [flag for flag in flags if flag is not None]


def _fabricated(context: DetectionContext, claim: Triple) -> Flag | None:
    supported = is_licensed(context, claim.object) and is_licensed(context, claim.subject)
    if claim.denied or supported or not _is_checkable(claim):
        return None
    found = claim_queries(context, claim)
    # "James Roberts founded Acme" is a query about the founder of Acme, which is known.
    about_object = any(query.predicate != claim.predicate for query in found)
    if not found or (resolve_entity(context, claim.subject) is None and not about_object):
        return _unknown_subject(context, claim)
    if any(known_values(context, query) for query in found):
        return None  # the predicate is known, so its value was compared above
    return _unknown_attribute(context, claim, found[0])


def _is_checkable(claim: Triple) -> bool:
    """True for a predicate with known synonyms and an object that is a name, figure or date."""
    predicate = normal(claim.predicate)
    if claim.subject.lower() in _PRONOUNS or predicate in _WEAK or not is_known(predicate):
        return False
    return bool(dates(claim.object) or numbers(claim.object) or "@" in claim.object or _is_named(claim.object))


def _is_named(text: str) -> bool:
    return any(word[:1].isupper() for word in bare(text).split())


def _unknown_subject(context: DetectionContext, claim: Triple) -> Flag | None:
    if not _is_covered_subject(context, claim):
        return None
    lookup = f"{claim.subject}: no such entity"
    evidence = "Subject entity not found in knowledge base"
    return _fabrication(context, claim, UNKNOWN_SUBJECT, f"Could not verify: '{claim.subject}'", evidence, lookup)


def _is_covered_subject(context: DetectionContext, claim: Triple) -> bool:
    """True for a name the knowledge base should contain, or for "the company" it belongs to."""
    known, subject = context.known, bare(claim.subject)
    if known is None or is_common_name(claim.subject) or known.is_known(subject):
        return False
    if subject.lower() in COMPANY_NOUNS and subject != claim.subject:
        return bool(known.coverage.types or known.matches) and bool(groups(claim.predicate) & _OF_COMPANIES)
    if is_licensed(context, claim.subject) or not _is_named(claim.subject):
        return False
    used = any(same(name, claim.predicate) for name in known.coverage.predicates)
    return is_covered_name(context, claim.subject) or (used and known.match(bare(claim.object)) is not None)


def _unknown_attribute(context: DetectionContext, claim: Triple, query: ClaimAsQuery) -> Flag | None:
    entity, facts = query.entity, context.known.facts.get(query.entity.id, ()) if context.known else ()
    values = [a.value for a in entity.attributes] + [role.value for fact in facts for role in fact.roles]
    stated = strip_unit_noun(query.stated).casefold()
    # The designer may also be the creator: a value that is known under another attribute is not fabricated.
    known_otherwise = any(strip_unit_noun(value.text).casefold() == stated for value in values)
    names = list(dict.fromkeys([*(a.name for a in entity.attributes), *(fact.predicate for fact in facts)]))
    if len(names) < _MIN_ATTRIBUTES or known_otherwise or is_licensed(context, query.stated):
        return None
    known = f"Known attributes: {', '.join(names)}"
    suggestion = f"No '{query.predicate}' attribute found for '{entity.name}'"
    lookup = f"{entity.name}: no '{query.predicate}'. {known}"
    return _fabrication(context, claim, fabrication_confidence(query.predicate, names), suggestion, known, lookup)


def fabrication_confidence(predicate: str, names: list[str]) -> float:
    """Confidence that a missing attribute is fabricated: higher for a well-documented entity and a common
    attribute, lower if no known attribute is similar."""
    confidence = UNKNOWN_ATTRIBUTE
    if len(names) > _WELL_DOCUMENTED:
        confidence += 0.15
    if groups(predicate) & _COMMON:
        confidence += 0.1
    if not any(similarity(normal(name), normal(predicate)) >= _SIMILAR for name in names):
        confidence -= 0.1
    return round(min(1.0, max(0.0, confidence)), 4)


def _fabrication(
    context: DetectionContext, claim: Triple, confidence: float, suggestion: str, evidence: str, lookup: str
) -> Flag:
    content = context.response[claim.start : claim.end]
    kind, related = HallucinationType.FABRICATED_FACT, (("kb_lookup", lookup),)
    return Flag(kind, claim.start, claim.end, content, confidence, suggestion, evidence, related=related)
