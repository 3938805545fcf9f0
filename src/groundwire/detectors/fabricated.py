"""Fabricated facts: claims about a subject nobody knows, or under an attribute that a known one does not
have.

Catches checkable claims (a known kind of predicate with a name, figure or date) within what the store
covers and no source, question or earlier turn mentions. Misses vague claims and subjects of common nouns, on
purpose: a store that does not speak of cities cannot say that Paris is no capital. Cost: no lookups of
its own.
"""

from __future__ import annotations

from collections.abc import Iterator

from groundwire.detectors.context import DetectionContext
from groundwire.detectors.entities import is_covered_name
from groundwire.detectors.facts import asserted_triples
from groundwire.detectors.kb_lookup import (
    ClaimAsQuery,
    claim_queries,
    is_licensed,
    known_values,
    resolve_entity,
)
from groundwire.detectors.values import strip_unit_noun
from groundwire.openie.parser import bare
from groundwire.openie.predicates import groups, is_known, normal, same
from groundwire.text.dates import dates
from groundwire.text.gazetteer import COMPANY_NOUNS, is_common_name
from groundwire.text.lexicon import word_set
from groundwire.text.numbers import numbers
from groundwire.text.tokens import similarity
from groundwire.types import Entity, Flag, HallucinationType, Triple

UNKNOWN_SUBJECT = 0.85
BASE = 0.6
_COMMON = word_set("email phone department title location")
_DOCUMENTED = 10
_SIMILAR = 0.6
_LEAST = 2
_WEAK = word_set("be have from in at on") | {"be in", "be on", "be at", "be from", "be with", "be part of"}
_WEAK |= {"join in", "join on", "hired in", "hired on", "come out in"}  # one joins a call, not only a company
_OF_COMPANIES = word_set(
    "founded founder ceo cto cfo chair owner employees revenue acquired headquarters president industry"
)
"""What "the company" alone is asked about: its own history and people, not whatever a company may do."""
_FIRST_PERSON = word_set("i we you me us he she it they this that these those who one")


async def detect_fabricated_facts(view: DetectionContext) -> list[Flag]:
    flags = (_judged(view, claim) for segment in view.segments for claim in asserted_triples(segment))
    return [flag for flag in flags if flag is not None]


def _judged(view: DetectionContext, claim: Triple) -> Flag | None:
    if claim.denied or not _is_checkable(claim) or _is_supported(view, claim):
        return None
    found = claim_queries(view, claim)
    if not found or (resolve_entity(view, claim.subject) is None and not _has_holder(found, claim)):
        return _unknown_subject(view, claim)
    if any(known_values(view, reading) for reading in found):
        return None  # something is held under this predicate: others compare it
    return _unknown_attribute(view, claim, found[0])


def _has_holder(found: list[ClaimAsQuery], claim: Triple) -> bool:
    """ "James Roberts founded Acme": Acme is known, and its founder is asked for."""
    return any(reading.predicate != claim.predicate for reading in found)


def _is_checkable(claim: Triple) -> bool:
    """A predicate whose synonyms are known, and an object that is a name, a figure or a date."""
    predicate = normal(claim.predicate)
    if claim.subject.lower() in _FIRST_PERSON or predicate in _WEAK or not is_known(predicate):
        return False
    return bool(
        dates(claim.object) or numbers(claim.object) or "@" in claim.object or _is_named(claim.object)
    )


def _is_named(text: str) -> bool:
    return any(word[:1].isupper() for word in bare(text).split())


def _is_supported(view: DetectionContext, claim: Triple) -> bool:
    """Whether what the response may draw on mentions both ends of the claim."""
    return is_licensed(view, claim.object) and is_licensed(view, claim.subject)


def _unknown_subject(view: DetectionContext, claim: Triple) -> Flag | None:
    if not _is_covered_subject(view, claim):
        return None
    return _flag(
        view,
        claim,
        UNKNOWN_SUBJECT,
        f"Could not verify: '{claim.subject}'",
        "Subject entity not found in knowledge base",
    )


def _is_covered_subject(view: DetectionContext, claim: Triple) -> bool:
    """A name the store should know, or "the company" it is of."""
    known = view.known
    if known is None or is_common_name(claim.subject) or known.is_known(bare(claim.subject)):
        return False
    subject = bare(claim.subject)
    if subject.lower() in COMPANY_NOUNS and subject != claim.subject:
        return bool(known.coverage.types or known.matches) and bool(groups(claim.predicate) & _OF_COMPANIES)
    if is_licensed(view, claim.subject) or not _is_named(claim.subject):
        return False
    return is_covered_name(view, claim.subject) or _covers(view, claim)


def _covers(view: DetectionContext, claim: Triple) -> bool:
    """The store speaks of such things: it knows what the claim says it of, and under this predicate."""
    known = view.known
    return (
        known is not None
        and any(same(name, claim.predicate) for name in known.coverage.predicates)
        and known.match(bare(claim.object)) is not None
    )


def _unknown_attribute(view: DetectionContext, claim: Triple, reading: ClaimAsQuery) -> Flag | None:
    entity = reading.entity
    if is_licensed(view, reading.said):
        return None
    names = list(dict.fromkeys([*(a.name for a in entity.attributes), *_predicates(view, entity)]))
    if len(names) < _LEAST or _is_held_otherwise(view, reading):
        return None  # an entity of which next to nothing is known speaks against nothing
    return _flag(
        view,
        claim,
        fabrication_confidence(reading.predicate, names),
        f"No '{reading.predicate}' attribute found for '{entity.name}'",
        f"Known attributes: {', '.join(names)}",
    )


def _is_held_otherwise(view: DetectionContext, reading: ClaimAsQuery) -> bool:
    """Whether the value is known of the entity under another name: who designed it may have created it."""
    values = [a.value for a in reading.entity.attributes]
    for fact in view.known.facts.get(reading.entity.id, ()) if view.known else ():
        values += [role.value for role in fact.roles]
    return any(
        strip_unit_noun(value.text).casefold() == strip_unit_noun(reading.said).casefold() for value in values
    )


def _predicates(view: DetectionContext, entity: Entity) -> Iterator[str]:
    facts = view.known.facts.get(entity.id, ()) if view.known else ()
    yield from (fact.predicate for fact in facts)


def fabrication_confidence(predicate: str, names: list[str]) -> float:
    """How likely a missing attribute was made up: more for a well-known entity and a common attribute, less
    for one that nothing known is similar to."""
    confidence = BASE
    if len(names) > _DOCUMENTED:
        confidence += 0.15
    if groups(predicate) & _COMMON:
        confidence += 0.1
    if not any(similarity(normal(name), normal(predicate)) >= _SIMILAR for name in names):
        confidence -= 0.1
    return round(min(1.0, max(0.0, confidence)), 4)


def _flag(view: DetectionContext, claim: Triple, confidence: float, suggestion: str, evidence: str) -> Flag:
    return Flag(
        type=HallucinationType.FABRICATED_FACT,
        start=claim.start,
        end=claim.end,
        content=view.response[claim.start : claim.end],
        confidence=confidence,
        suggestion=suggestion,
        evidence=evidence,
        related=(("kb_lookup", evidence),),
    )
