"""Detector for fabricated facts: claims about unknown subjects or unknown attributes of known ones.

Catches: checkable claims (a known predicate with a name, figure or date) within the coverage of the knowledge
base that no source, question or earlier turn mentions.
Misses: vague claims and common-noun subjects, on purpose: a knowledge base without cities cannot say that
Paris is not a capital.
Cost: none beyond the snapshot.
"""

from __future__ import annotations

from collections.abc import Iterator

from groundwire.detectors.context import DetectionContext
from groundwire.detectors.entities import is_covered_name
from groundwire.detectors.facts import asserted_triples
from groundwire.detectors.kb_lookup import ClaimAsQuery, claim_queries, is_licensed, known_values, resolve_entity
from groundwire.detectors.values import strip_unit_noun
from groundwire.openie.parser import bare
from groundwire.openie.predicates import groups, is_known, normal, same
from groundwire.text.dates import dates
from groundwire.text.lexicon import word_set
from groundwire.text.names import COMPANY_NOUNS, is_common_name
from groundwire.text.numbers import numbers
from groundwire.text.tokens import similarity
from groundwire.types import Entity, Flag, HallucinationType, Triple

UNKNOWN_SUBJECT = 0.85
"""Confidence for a claim about an unknown subject."""
BASE = 0.6
"""Confidence for an unknown attribute of a known entity, before `fabrication_confidence` adjusts it."""
_COMMON = word_set("email phone department title location")
_WELL_DOCUMENTED = 10  # attributes; a missing one is then more suspicious
_SIMILAR = 0.6  # character-bigram similarity from which two attribute names are related
_MIN_ATTRIBUTES = 2  # with fewer known attributes, a missing one means nothing
_WEAK = word_set("be have from in at on") | {"be in", "be on", "be at", "be from", "be with", "be part of"}
_WEAK |= {"join in", "join on", "hired in", "hired on", "come out in"}  # also said of calls and meetings
_OF_COMPANIES = word_set(
    "founded founder ceo cto cfo chair owner employees revenue acquired headquarters president industry"
)
"""Predicates checked for a bare "the company": its history and people, not everything a company may do."""
_FIRST_PERSON = word_set("i we you me us he she it they this that these those who one")


async def detect_fabricated_facts(context: DetectionContext) -> list[Flag]:
    flags = (_check_claim(context, claim) for segment in context.segments for claim in asserted_triples(segment))
    return [flag for flag in flags if flag is not None]


def _check_claim(context: DetectionContext, claim: Triple) -> Flag | None:
    if claim.denied or not _is_checkable(claim) or _is_supported(context, claim):
        return None
    found = claim_queries(context, claim)
    if not found or (resolve_entity(context, claim.subject) is None and not _has_holder(found, claim)):
        return _unknown_subject(context, claim)
    if any(known_values(context, reading) for reading in found):
        return None  # the predicate is known: the detectors in `facts` compare its value
    return _unknown_attribute(context, claim, found[0])


def _has_holder(found: list[ClaimAsQuery], claim: Triple) -> bool:
    """ "James Roberts founded Acme" is a query about the founder of Acme, which is known."""
    return any(reading.predicate != claim.predicate for reading in found)


def _is_checkable(claim: Triple) -> bool:
    """True for a predicate with known synonyms and an object that is a name, figure or date."""
    predicate = normal(claim.predicate)
    if claim.subject.lower() in _FIRST_PERSON or predicate in _WEAK or not is_known(predicate):
        return False
    return bool(dates(claim.object) or numbers(claim.object) or "@" in claim.object or _is_named(claim.object))


def _is_named(text: str) -> bool:
    return any(word[:1].isupper() for word in bare(text).split())


def _is_supported(context: DetectionContext, claim: Triple) -> bool:
    """True if sources, question or dialogue mention both the subject and the object."""
    return is_licensed(context, claim.object) and is_licensed(context, claim.subject)


def _unknown_subject(context: DetectionContext, claim: Triple) -> Flag | None:
    if not _is_covered_subject(context, claim):
        return None
    return _flag(
        context,
        claim,
        UNKNOWN_SUBJECT,
        f"Could not verify: '{claim.subject}'",
        "Subject entity not found in knowledge base",
        f"{claim.subject}: no such entity",
    )


def _is_covered_subject(context: DetectionContext, claim: Triple) -> bool:
    """True for a name the knowledge base should contain, or for "the company" it belongs to."""
    known = context.known
    if known is None or is_common_name(claim.subject) or known.is_known(bare(claim.subject)):
        return False
    subject = bare(claim.subject)
    if subject.lower() in COMPANY_NOUNS and subject != claim.subject:
        return bool(known.coverage.types or known.matches) and bool(groups(claim.predicate) & _OF_COMPANIES)
    if is_licensed(context, claim.subject) or not _is_named(claim.subject):
        return False
    return is_covered_name(context, claim.subject) or _covers(context, claim)


def _covers(context: DetectionContext, claim: Triple) -> bool:
    """True if the knowledge base knows the object and uses the predicate."""
    known = context.known
    return (
        known is not None
        and any(same(name, claim.predicate) for name in known.coverage.predicates)
        and known.match(bare(claim.object)) is not None
    )


def _unknown_attribute(context: DetectionContext, claim: Triple, reading: ClaimAsQuery) -> Flag | None:
    entity = reading.entity
    if is_licensed(context, reading.stated):
        return None
    names = list(dict.fromkeys([*(a.name for a in entity.attributes), *_predicates(context, entity)]))
    if len(names) < _MIN_ATTRIBUTES or _is_known_otherwise(context, reading):
        return None
    known = f"Known attributes: {', '.join(names)}"
    return _flag(
        context,
        claim,
        fabrication_confidence(reading.predicate, names),
        f"No '{reading.predicate}' attribute found for '{entity.name}'",
        known,
        f"{entity.name}: no '{reading.predicate}'. {known}",
    )


def _is_known_otherwise(context: DetectionContext, reading: ClaimAsQuery) -> bool:
    """True if the value is known under another attribute: the designer may also be the creator."""
    values = [a.value for a in reading.entity.attributes]
    for fact in context.known.facts.get(reading.entity.id, ()) if context.known else ():
        values += [role.value for role in fact.roles]
    return any(strip_unit_noun(value.text).casefold() == strip_unit_noun(reading.stated).casefold() for value in values)


def _predicates(context: DetectionContext, entity: Entity) -> Iterator[str]:
    facts = context.known.facts.get(entity.id, ()) if context.known else ()
    yield from (fact.predicate for fact in facts)


def fabrication_confidence(predicate: str, names: list[str]) -> float:
    """Confidence that a missing attribute is fabricated: higher for a well-documented entity and a common
    attribute, lower if no known attribute is similar."""
    confidence = BASE
    if len(names) > _WELL_DOCUMENTED:
        confidence += 0.15
    if groups(predicate) & _COMMON:
        confidence += 0.1
    if not any(similarity(normal(name), normal(predicate)) >= _SIMILAR for name in names):
        confidence -= 0.1
    return round(min(1.0, max(0.0, confidence)), 4)


def _flag(
    context: DetectionContext, claim: Triple, confidence: float, suggestion: str, evidence: str, lookup: str
) -> Flag:
    return Flag(
        type=HallucinationType.FABRICATED_FACT,
        start=claim.start,
        end=claim.end,
        content=context.response[claim.start : claim.end],
        confidence=confidence,
        suggestion=suggestion,
        evidence=evidence,
        related=(("kb_lookup", lookup),),
    )
