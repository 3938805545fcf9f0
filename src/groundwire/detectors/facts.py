"""Detectors that need the knowledge base: wrong attributes, contradicted and fabricated facts, nonexistent
entities.

The first two catch claims that differ from the known value (as numbers, dates, times, names or text) and
denials of it; facts are compared in any role and from either end. They miss attributes that may have several
values, past states, and sentences from which the parser extracts no triple.
The third catches checkable claims (a known predicate with a name, figure or date) within the coverage of the
knowledge base that no source, question or earlier turn mentions. It misses vague claims and common-noun
subjects, on purpose: a knowledge base without cities cannot say that Paris is not a capital.
The fourth catches names within the coverage of the knowledge base that are in no source, dialogue or knowledge
base: people if it has people, "the X team" if it has teams, names related to a known entity. It misses names
it cannot be expected to contain (Paris, Kubernetes), scripts without capitals, and single words at the start of
a sentence.
Cost: none beyond the snapshot.
"""

from __future__ import annotations

from collections.abc import Iterator

from groundwire.detectors.context import DetectionContext, KBSnapshot
from groundwire.detectors.kb_lookup import (
    ClaimAsQuery,
    Comparison,
    LookupResult,
    claim_queries,
    is_licensed,
    known_values,
    look_up,
    reliability,
    replacement,
    resolve_entity,
    strip_unit_noun,
)
from groundwire.openie.lexicon import UNIT_NOUNS, groups, is_known, may_be_person, normal, same
from groundwire.openie.parser import bare
from groundwire.text.dates import dates
from groundwire.text.lexicon import expressions, word_sets
from groundwire.text.names import COMPANY_NOUNS, PERSON_TYPES, is_common_name
from groundwire.text.numbers import numbers
from groundwire.text.tokens import similarity
from groundwire.types import Flag, HallucinationType, MatchKind, Mention, MentionKind, Segment, Triple

ATTRIBUTE_BASE, FACT_BASE = 0.9, 0.95
"""Confidence that a claim is wrong which differs from an attribute or a fact, if the name is sure."""
UNKNOWN_SUBJECT = 0.85
"""Confidence for a claim about an unknown subject."""
UNKNOWN_ATTRIBUTE = 0.6
"""Confidence for an unknown attribute of a known entity, before `fabrication_confidence` adjusts it."""
_WELL_DOCUMENTED = 10  # attributes; a missing one is then more suspicious
_SIMILAR = 0.6  # character-bigram similarity from which two attribute names are related
_MIN_ATTRIBUTES = 2  # with fewer known attributes, a missing one means nothing
_TIES = ("from", "in", "at", "on")
_COMMON, _WEAK, _OF_COMPANIES, _PRONOUNS = word_sets("detect_kb", "common weak of_companies pronouns")


async def detect_wrong_attributes(context: DetectionContext) -> list[Flag]:
    return _conflicts(context, of_facts=False)


async def detect_kb_contradictions(context: DetectionContext) -> list[Flag]:
    return _conflicts(context, of_facts=True)


def _asserted_triples(segment: Segment) -> Iterator[Triple]:
    """The triples a sentence asserts: all of an assertion, and of an instruction only its asides
    ("contact Sarah from the Analytics team")."""
    for claim in segment.claims:
        by_the_way = claim.predicate in _TIES and not segment.text.rstrip().endswith("?")
        if (segment.assertive or by_the_way) and claim.quantifier not in ("no", "few", "some"):
            yield claim


def _conflicts(context: DetectionContext, *, of_facts: bool) -> list[Flag]:
    """One flag for every claim that a known attribute (or, with `of_facts`, a known fact) contradicts."""
    flags = []
    for segment in context.segments:
        for claim in _asserted_triples(segment):
            found = _look_ups(context, claim)
            against = next((result for result in found if result.verdict is Comparison.DIFFERENT), None)
            agrees = any(result.verdict is Comparison.SAME for result in found)
            if against is None or agrees or _adds_to_known(context, segment, claim):
                continue
            if (against.holding is not None and against.holding.fact is not None) == of_facts:
                flags.append(_conflict_flag(context, segment, claim, against))
    return flags


def _look_ups(context: DetectionContext, claim: Triple) -> list[LookupResult]:
    return [found for query in claim_queries(context, claim) if (found := look_up(context, claim, query))]


def _adds_to_known(context: DetectionContext, segment: Segment, claim: Triple) -> bool:
    """ "Founded by Bill Gates and Paul Allen": a value next to a known one is an addition, not a conflict."""
    return any(
        result.verdict is Comparison.SAME
        for other in segment.claims
        if (other.subject_span, other.predicate) == (claim.subject_span, claim.predicate)
        and other.object_span != claim.object_span
        for result in _look_ups(context, other)
    )


def _conflict_flag(context: DetectionContext, segment: Segment, claim: Triple, found: LookupResult) -> Flag:
    holding, query = found.holding, found.reading
    assert holding is not None
    assert context.known is not None
    shared = any(  # "Ann and Bo work in Sales": the words cannot be replaced for one of them
        (other.object_span, other.predicate) == (query.span, claim.predicate)
        and other.subject_span != claim.subject_span
        for other in segment.claims
    )
    stated = context.response[slice(*query.span)]
    repair = None if claim.denied or shared else replacement(holding.value, stated, context.known)
    kind, base, source = HallucinationType.WRONG_ATTRIBUTE, ATTRIBUTE_BASE, ""
    if holding.fact:
        kind, base, source = HallucinationType.CONTRADICTS_FACT, FACT_BASE, holding.fact.provenance.source
    unit = holding.value.unit if holding.value.unit not in holding.value.text else ""
    shown = f"{holding.value.text} {unit}".strip()
    known = f"{query.entity.name}: {holding.name} = {shown}"
    return Flag(
        kind, claim.start, claim.end, context.response[claim.start : claim.end],
        confidence=round(base * query.sure * reliability(holding), 4),
        suggestion=f"Known value for '{holding.name}' of '{query.entity.name}': '{shown}'",
        evidence=f"Known: {known}",
        correction=repair.text if repair else "",
        fix=(query.span[0] + repair.start, query.span[0] + repair.end) if repair else None,
        source=f"Knowledge Base ({source})" if source else "Knowledge Base",
        related=(("kb_lookup", known),),
    )  # fmt: skip


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
        if not _is_covered_subject(context, claim):
            return None
        evidence, lookup = "Subject entity not found in knowledge base", f"{claim.subject}: no such entity"
        return _fabrication(context, claim, UNKNOWN_SUBJECT, f"Could not verify: '{claim.subject}'", evidence, lookup)
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


# Entities that do not exist.

NONEXISTENT = 0.7
"""Confidence that a name found nowhere does not exist, before `nonexistence_confidence` adjusts it."""
_BY_KIND = {MentionKind.PROPER_NAME: 0.15, MentionKind.DEFINITE: 0.05}
_MISSPELT, _SIMILAR_FROM = 0.2, 0.8
_GENERIC, _GENERIC_NAMES = 0.3, ("the team", "the manager", "someone", "a person")
_CONTACT, _IN_TEAM, _COLLEAGUES = expressions("detect_kb", "contact in_team colleagues")
"""`_COLLEAGUES`: what stands between two people of one organisation."""
_ORGANISED, _CLOSED = word_sets("detect_kb", "organised closed")


async def detect_nonexistent_entities(context: DetectionContext) -> list[Flag]:
    flags: list[Flag] = []
    for segment in context.segments if context.known else ():
        seen: set[str] = set()
        for mention in segment.mentions if not segment.text.rstrip().endswith("?") else ():
            key = bare(mention.text).casefold()
            if mention.kind is MentionKind.PRONOUN or key in seen or _exists(context, mention):
                continue
            seen.add(key)
            if _should_be_known(context, segment, mention):
                flags.append(_nonexistence(context, mention))
    return flags


def _exists(context: DetectionContext, mention: Mention) -> bool:
    """True if the name is in the knowledge base (misspellings included), a common name, or in the input."""
    assert context.known is not None
    forms = {bare(mention.text), strip_unit_noun(bare(mention.text))}
    matches = [match for form in forms if (match := context.known.match(form))]
    if any(match.kind is not MatchKind.FUZZY or match.score >= _SIMILAR_FROM for match in matches):
        return True
    known = any(context.known.is_known(form) or is_common_name(form) for form in forms)
    return known or is_licensed(context, mention.text)


def _should_be_known(context: DetectionContext, segment: Segment, mention: Mention) -> bool:
    assert context.known is not None
    if mention.kind is MentionKind.DEFINITE:
        # "the Analytics team", but not "the whole team" or "the Brazil national team"
        *name, head = bare(mention.text).split()
        named = bool(name) and all(part[:1].isupper() for part in name) and not any(map(is_common_name, name))
        return named and head.lower() in UNIT_NOUNS and _covers(context.known, UNIT_NOUNS, _ORGANISED)
    if is_covered_name(context, mention.text):
        return True
    return _covers(context.known, PERSON_TYPES, _CLOSED) and _is_treated_as_person(context.known, segment, mention)


def _covers(known: KBSnapshot, types: frozenset[str], relations: frozenset[str]) -> bool:
    """True if the knowledge base has entities of these types, or attributes that relate such entities."""
    named = {kind.lower() for kind in known.coverage.types} | {m.entity.type.lower() for m in known.matches.values()}
    attributes = (attribute.name for entity in known.entities.values() for attribute in entity.attributes)
    return bool(named & types) or any(groups(p) & relations for p in (*known.coverage.predicates, *attributes))


def _is_treated_as_person(known: KBSnapshot, segment: Segment, mention: Mention) -> bool:
    """True if the sentence gives a name a person's place in the organisation: in a team, as
    someone to contact, or as a colleague of a person the knowledge base knows. A single word needs more than
    "contact", which is also said of companies.
    """
    if not may_be_person(mention.text):
        return False
    at = mention.start - segment.start
    before, after = segment.text[:at], segment.text[at + len(mention.text) :]
    if _IN_TEAM.match(after):
        return True
    if " " not in mention.text:
        return False
    if _CONTACT.search(before):
        return True
    for other in segment.mentions:
        match = known.match(bare(other.text))
        if match is not None and match.entity.type.lower() in PERSON_TYPES:
            first, last = sorted((mention, other), key=lambda one: one.start)
            if _COLLEAGUES.fullmatch(segment.text[first.end - segment.start : last.start - segment.start]):
                return True
    return False


def is_covered_name(context: DetectionContext, name: str) -> bool:
    """True if a claim relates the name to a known entity by a relation of which both ends should be known."""
    known = context.known
    if known is None or is_common_name(name) or not any(c.isupper() for c in name):
        return False
    plain = bare(name).casefold()
    for segment in context.segments:
        for claim in segment.claims:
            ends = (bare(claim.subject).casefold(), bare(claim.object).casefold())
            if plain in ends and groups(claim.predicate) & _CLOSED and claim.predicate not in ("be", "be in", "in"):
                other = ends[1] if ends[0] == plain else ends[0]
                if known.match(other) or known.match(strip_unit_noun(other)):
                    return True
    return False


def nonexistence_confidence(mention: Mention, similar: bool) -> float:
    """Confidence that a name found nowhere does not exist."""
    confidence = NONEXISTENT + _BY_KIND.get(mention.kind, 0.0)
    if similar:
        confidence -= _MISSPELT  # may be a misspelling
    if any(generic in mention.text.lower() for generic in _GENERIC_NAMES):
        confidence -= _GENERIC
    return round(min(1.0, max(0.0, confidence)), 4)


def _nonexistence(context: DetectionContext, mention: Mention) -> Flag:
    from rapidfuzz.fuzz import ratio

    wanted = bare(mention.text)
    near = context.known.match(wanted) if context.known else None
    spoken = (bare(name).casefold() for name in context.dialogue.names)
    misspelt = near is not None or any(ratio(wanted.casefold(), name) >= 100 * _SIMILAR_FROM for name in spoken)
    similar = f"; similar: {near.entity.name}" if near else ""
    return Flag(
        HallucinationType.NONEXISTENT_ENTITY, mention.start, mention.end,
        context.response[mention.start : mention.end], nonexistence_confidence(mention, misspelt),
        f"Could not find entity: '{mention.text}'", f"Not found in dialogue history or knowledge base{similar}",
        related=(("kb_lookup", f"{mention.text}: no such entity{similar}"),),
    )  # fmt: skip
