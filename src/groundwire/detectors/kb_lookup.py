"""Knowledge base lookups: fetch a snapshot for a response, and compare claims with the known values.

A claim can be looked up from both ends: "Ann founded Acme" is about Ann, and about Acme's founder. The values
of an entity come from its attributes and from the facts it has a role in; both are compared in the same way.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from functools import lru_cache

from groundwire.detectors.context import DetectionContext, KBSnapshot
from groundwire.detectors.values import Comparison, compare, strip_unit_noun
from groundwire.openie.lexicon import UNIT_NOUNS, Form, form_of, groups, inverse, normal, same
from groundwire.openie.parser import bare
from groundwire.text.dates import dates, weekdays
from groundwire.text.lexicon import word_sets
from groundwire.text.names import COMPANY_NOUNS, PERSON_TYPES, PLACE_TYPES, fold, is_place, same_name
from groundwire.text.numbers import numbers
from groundwire.types import (
    Coverage,
    CoverageProvider,
    Entity,
    Fact,
    FactStatus,
    KnowledgeBase,
    Match,
    MatchKind,
    MentionKind,
    Segment,
    Tense,
    Triple,
    Value,
)

MAX_NAMES = 500
"""Only the first names of a longer list are looked up, to bound the size of the queries."""
_MAX_WORDS = 8  # longer phrases are descriptions, not names
_ADJECTIVES, _EVENTS, _PLACES, _DATED, _UNIT_WORDS, _STATUS, _JOBS = word_sets(
    "detect_kb", "adjectives events places dated unit_words status jobs"
)
_PARTS = _UNIT_WORDS | {"office", "staff"}


def fetch_snapshot(kb: KnowledgeBase, segments: Sequence[Segment], spoken: Sequence[str] = ()) -> KBSnapshot:
    """Fetch everything known about the names in the segments.

    `spoken` are names from the dialogue, which pronouns and descriptions may refer to.
    """
    names = list(dict.fromkeys(_names(segments, spoken)))[:MAX_NAMES]
    matches = _matches(kb, names)
    covering = kb if isinstance(kb, CoverageProvider) else None
    coverage = covering.coverage() if covering else Coverage()
    ids = dict.fromkeys([*(m.entity.id for m in matches.values()), *coverage.only.values()])
    facts = _by_entity(kb.facts_about(list(ids)) if ids else (), ids)
    found = {match.entity.id: match.entity for match in matches.values()}
    referred = [*coverage.only.values(), *(value.entity for value in _all_values(found.values(), facts))]
    missing = [identity for identity in dict.fromkeys(referred) if identity and identity not in found][:MAX_NAMES]
    entities = found | (kb.entities(missing) if missing else {})
    unknown = [name for name in names if name.casefold() not in matches]
    values = covering.values(unknown) if covering and unknown else set()
    every = {text.casefold() for text in (*values, *(v.text for v in _all_values(entities.values(), facts)))}
    return KBSnapshot(matches, facts, entities, frozenset(every), coverage)


def _names(segments: Sequence[Segment], spoken: Sequence[str]) -> Iterator[str]:
    for piece in segments:
        for claim in piece.claims:
            yield from _forms(claim.subject)
            yield from _forms(claim.object)
        for mention in piece.mentions:
            if mention.kind is not MentionKind.PRONOUN:
                yield from _forms(mention.text)
    for name in spoken[-20:]:
        yield from _forms(name)


def _forms(name: str) -> Iterator[str]:
    """A name without its article, also without "team" or "project" and without a leading adjective."""
    plain = bare(name)
    if not plain or len(plain.split()) > _MAX_WORDS or not any(map(str.isalpha, plain)):
        return
    yield plain
    words = plain.split()
    if len(words) > 1 and words[-1].lower() in UNIT_NOUNS:
        yield " ".join(words[:-1])
    if len(words) > 1 and words[0].lower() in UNIT_NOUNS | _ADJECTIVES:
        yield " ".join(words[1:])


def _matches(kb: KnowledgeBase, names: Sequence[str]) -> dict[str, Match]:
    """Fuzzy matching is limited to capitalised names: "the price" is not a misspelt "the prince"."""
    proper = [name for name in names if any(map(str.isupper, name))]
    others = [name for name in names if name not in set(proper)]
    found = {**(kb.find(others, fuzzy=False) if others else {}), **(kb.find(proper) if proper else {})}
    return {name.casefold(): match for name, match in found.items()}


def _by_entity(facts: Iterable[Fact], ids: Iterable[str]) -> dict[str, tuple[Fact, ...]]:
    wanted, filed = set(ids), dict[str, list[Fact]]()
    for fact in facts:
        for entity in {role.value.entity for role in fact.roles} & wanted:
            filed.setdefault(entity, []).append(fact)
    return {entity: tuple(found) for entity, found in filed.items()}


def _all_values(entities: Iterable[Entity], facts: dict[str, tuple[Fact, ...]]) -> Iterator[Value]:
    for entity in entities:
        yield from (attribute.value for attribute in entity.attributes)
    for found in facts.values():
        yield from (role.value for fact in found for role in fact.roles)


@dataclass(frozen=True, slots=True)
class ClaimAsQuery:
    """A claim as a query about one entity: which predicate, which value, and where it is written."""

    entity: Entity
    predicate: str
    stated: str
    span: tuple[int, int]
    sure: float
    """Confidence that the name refers to this entity, 0 to 1."""


@dataclass(frozen=True, slots=True)
class KnownValue:
    """One known value of an entity; `fact` is None for an attribute."""

    name: str
    value: Value
    many: bool
    current: bool
    fact: Fact | None = None


def claim_queries(context: DetectionContext, claim: Triple) -> list[ClaimAsQuery]:
    """Queries about the subject and, if the predicate has an inverse, about the object."""
    if context.known is None:
        return []
    found: list[ClaimAsQuery] = []
    subject = resolve_entity(context, claim.subject)
    if subject and _can_be_called(subject[0], context.response[slice(*claim.subject_span)]):
        found.append(ClaimAsQuery(subject[0], claim.predicate, claim.object, claim.object_span, subject[1]))
    turned = inverse(claim.predicate)
    holder = resolve_entity(context, claim.object) if turned else None
    if holder:
        found.append(ClaimAsQuery(holder[0], turned, claim.subject, claim.subject_span, holder[1]))
    return found


def _can_be_called(entity: Entity, written: str) -> bool:
    """Reject "he" and "she" for things and "it" for people; entities without a type may be either."""
    kind, low = entity.type.lower(), written.lower()
    if not kind or low not in ("he", "she", "it"):
        return True
    return (kind in PERSON_TYPES) == (low != "it")


def resolve_entity(context: DetectionContext, name: str) -> tuple[Entity, float] | None:
    """Find the entity a name or description refers to, with a confidence."""
    known = context.known
    if known is None:
        return None
    plain = bare(name)
    match = known.match(plain) or next(filter(None, _short_forms(known, plain)), None)
    if match and _is_entity_itself(match, plain):
        return match.entity, 1.0 if match.kind is not MatchKind.FUZZY else match.score
    described = plain.lower()
    if plain != name.strip() or name.lower() in ("we", "our", "us"):
        return _described(context, known, "company" if described in ("we", "our", "us") else described)
    return None


def _is_entity_itself(match: Match, name: str) -> bool:
    """Reject "the Acme office" for Acme: the fuzzy match ignores such head nouns."""
    head = name.rsplit(maxsplit=1)[-1].lower()
    named = " ".join((match.entity.name, *match.entity.aliases)).lower().split()
    return head not in _PARTS or head in named or match.entity.type.lower() in _PARTS


def _short_forms(known: KBSnapshot, name: str) -> Iterator[Match | None]:
    """Matches without the noun or adjective: "the Tern project" is Tern where that is a project, "new Vega
    Microscope" a Vega Microscope; "the Acme office" is not Acme."""
    start, _, head = name.rpartition(" ")
    match = known.match(start) if start else None
    kind = match.entity.type.lower() if match else ""
    if kind == head or (kind in _UNIT_WORDS and head in _UNIT_WORDS):
        yield match
    first, _, rest = name.partition(" ")
    if rest[:1].isupper() and first.islower():
        yield known.match(rest)


def _described(context: DetectionContext, known: KBSnapshot, noun: str) -> tuple[Entity, float] | None:
    """ "the company": the entity of this type mentioned last, or the only company in the knowledge base."""
    types = COMPANY_NOUNS | {"organisation", "employer"} if noun in COMPANY_NOUNS else {noun}
    for spoken in _mentioned_names(context):
        match = known.match(bare(spoken))
        if match and match.entity.type.lower() in types and match.kind is not MatchKind.FUZZY:
            return match.entity, 1.0
    # A company's own knowledge base need not name it; events and projects must be named.
    for kind, identity in known.coverage.only.items() if noun in COMPANY_NOUNS else ():
        if kind.lower() in types and identity in known.entities:
            return known.entities[identity], 1.0
    return None


def _mentioned_names(context: DetectionContext) -> Iterator[str]:
    """Names in the response, then in the dialogue, latest first."""
    for piece in context.segments:
        yield from (mention.text for mention in piece.mentions)
        yield from (claim.subject for claim in piece.claims)
    yield from reversed(context.dialogue.names)


def known_values(context: DetectionContext, reading: ClaimAsQuery) -> list[KnownValue]:
    """All known values of the entity under an attribute or predicate that can mean the same."""
    today = context.now.date()
    found = [
        KnownValue(a.name, a.value, a.many, a.holds_on(today))
        for a in reading.entity.attributes
        if same_attribute(a.name, reading.predicate)
    ]
    facts = context.known.facts.get(reading.entity.id, ()) if context.known else ()
    for fact in facts:
        found += _of_fact(fact, reading, today)
    return found


def same_attribute(name: str, predicate: str) -> bool:
    """True if the attribute means the predicate in the same direction: the manager of someone has another
    manager of their own."""
    if not inverse(predicate) or normal(predicate) == "employ":  # whom, or how many
        return same(name, predicate)
    form = normal(name)
    return (form_of(form, Form.THIRD) or form) == normal(predicate)


def _of_fact(fact: Fact, reading: ClaimAsQuery, today: date) -> Iterator[KnownValue]:
    """The values a fact gives for the predicate: its object, or the role that the predicate names."""
    current = (fact.valid_from or today) <= today <= (fact.valid_to or today)
    ours = [role for role in fact.roles if _refers_to(role.value, reading.entity)]
    others = [role for role in fact.roles if not _refers_to(role.value, reading.entity)]
    is_subject = any(role.name == "subject" for role in ours) or (bool(ours) and ours[0] is fact.roles[0])
    meant = same_attribute(fact.predicate, reading.predicate)
    backwards = bool(inverse(fact.predicate)) and same(inverse(fact.predicate), reading.predicate)
    for role in others:
        plain = role.name in ("object", "value") or len(others) == 1
        named = role.name not in ("subject", "object") and same(role.name, reading.predicate)
        if (meant and is_subject and plain) or (backwards and not is_subject and role.name == "subject"):
            yield KnownValue(fact.predicate, role.value, fact.many, current, fact)
        elif named or (_same_verb(fact.predicate, reading.predicate) and _kinds_meet(role.value, reading.stated)):
            yield KnownValue(role.name, role.value, fact.many, current, fact)


def _same_verb(fact: str, stated: str) -> bool:
    """ "acquire beta in" and "acquire" name different roles of the same event."""
    left, right = normal(fact).split(), normal(stated).split()
    return bool(left and right) and left[0] == right[0] and len(right) > 1


def _refers_to(value: Value, entity: Entity) -> bool:
    names = (entity.name, *entity.aliases)
    return value.entity == entity.id if value.entity else value.text.casefold() in {n.casefold() for n in names}


def _kinds_meet(value: Value, stated: str) -> bool:
    return bool(dates(value.text) if dates(stated) else numbers(value.text) and numbers(stated))


def type_compatible(context: DetectionContext, holding: KnownValue, reading: ClaimAsQuery) -> bool:
    """True if the claimed text can be a value of this attribute at all: a place is not a department."""
    kinds = groups(holding.name)
    stated = reading.stated
    if normal(reading.predicate) == "be":
        return _compatible_with_be(kinds, holding, stated)
    if not _is_specific(kinds, holding, reading):
        return False
    timed = bool(dates(stated) or weekdays(stated))
    if timed and not (kinds & _DATED) and not dates(holding.value.text) and not weekdays(holding.value.text):
        return False
    if "joined" in kinds and not dates(stated):
        return False  # "joined on Tuesday" is about a call, not about employment
    if not timed and (kinds & groups(reading.predicate)) <= _DATED and not _has_time(stated):
        return normal(holding.name) == normal(reading.predicate)
    match = context.known.match(bare(stated)) if context.known else None
    place = is_place(bare(stated)) or (match is not None and match.entity.type.lower() in PLACE_TYPES)
    if place and reading.predicate in ("be in", "be at") and reading.entity.type.lower() in PERSON_TYPES:
        return False  # "is in Berlin" says where a person is today, not where they work or live
    if place and normal(holding.name) != normal(reading.predicate):
        return bool(kinds & _PLACES)
    if set(stated.lower().split()) & _UNIT_WORDS:
        return not kinds <= _PLACES
    return True


def _is_specific(kinds: frozenset[str], holding: KnownValue, reading: ClaimAsQuery) -> bool:
    """Common nouns count as a value only if the predicate names the attribute, or for jobs and teams."""
    stated = reading.stated
    if any(c.isupper() or c.isdigit() or c == "@" for c in bare(stated)) or numbers(stated):
        return True
    words = set(stated.lower().split())
    if words & _UNIT_WORDS or ("title" in kinds and words & _JOBS):
        return True
    return normal(holding.name) == normal(reading.predicate)


def _has_time(stated: str) -> bool:
    return bool(numbers(stated)) or any(word in stated.lower() for word in ("today", "tomorrow", "next", "last"))


def _compatible_with_be(kinds: frozenset[str], holding: KnownValue, stated: str) -> bool:
    """ "is" can state anything; only jobs, dates and states can be recognised by their form."""
    words = set(stated.lower().replace(",", " ").split())
    if "title" in kinds and words & _JOBS:
        if "of" in words:  # "head of the choir" is a role besides the job
            return False
        return set(holding.value.text.lower().split()) & _JOBS != set()
    if "status" in kinds:
        return bool(words & _STATUS) and len(words) <= 2
    return bool(kinds & _DATED and (dates(stated) or weekdays(stated)) and not stated.lower().startswith(("a ", "an ")))


@dataclass(frozen=True, slots=True)
class LookupResult:
    """Result of comparing a claim with the known values; `holding` is the decisive one."""

    verdict: Comparison
    reading: ClaimAsQuery
    holding: KnownValue | None = None


def look_up(context: DetectionContext, claim: Triple, reading: ClaimAsQuery) -> LookupResult | None:
    """Compare a claim with the known values; None if there are none for its predicate."""
    values = known_values(context, reading)
    if not values or context.known is None:
        return None
    fitting = [h for h in values if type_compatible(context, h, reading)]
    past = claim.tense is Tense.PAST
    comparable = [h for h in fitting if h.current or past]
    verdicts = [(compare(h.value, reading.stated, context.known, context.now), h) for h in comparable]
    alike = next((h for verdict, h in verdicts if verdict is Comparison.SAME), None)
    if alike:
        return LookupResult(Comparison.DIFFERENT if claim.denied and alike.current else Comparison.SAME, reading, alike)
    against = [h for verdict, h in verdicts if verdict is Comparison.DIFFERENT and h.current]
    decided = [h for h in against if _is_single(h, fitting) and not (past and _is_state(h))]
    if decided and not claim.denied and not any(v is Comparison.OPEN for v, _ in verdicts):
        return LookupResult(Comparison.DIFFERENT, reading, _nearest(decided, reading))
    return LookupResult(Comparison.OPEN, reading)


def _is_state(holding: KnownValue) -> bool:
    """True for a value that may have been different in the past; the date of an event cannot."""
    return not groups(holding.name) & _EVENTS and not dates(holding.value.text)


def _is_single(holding: KnownValue, values: Sequence[KnownValue]) -> bool:
    """True if the attribute has one value at a time: not marked `many`, and no second current value."""
    at_once = {h.value.text.casefold() for h in values if h.name == holding.name and h.current}
    return not holding.many and len(at_once) == 1


def _nearest(values: Sequence[KnownValue], reading: ClaimAsQuery) -> KnownValue:
    """The known value whose attribute name is closest to the predicate."""
    wanted = groups(reading.predicate)
    return max(
        values,
        key=lambda h: (normal(h.name) == normal(reading.predicate), len(groups(h.name) & wanted), -len(groups(h.name))),
    )


def reliability(holding: KnownValue) -> float:
    """The confidence of the fact, reduced by 20 % if it was stored unverified; 1 for attributes."""
    if holding.fact is None:
        return 1.0
    return holding.fact.confidence * (0.8 if holding.fact.status is FactStatus.UNVERIFIED else 1.0)


def is_licensed(context: DetectionContext, name: str) -> bool:
    """True if the sources, the question or the dialogue contain the name as whole words."""
    wanted = fold(strip_unit_noun(name) or bare(name))
    texts = (*(s.text for s in context.sources), *(turn.text for turn in context.dialogue.turns), context.question)
    found = re.compile(rf"(?<!\w){re.escape(wanted)}(?!\w)")
    if not wanted or any(found.search(_folded(text)) for text in texts if text):
        return True
    return any(same_name(bare(name), spoken) for spoken in context.dialogue.names)


@lru_cache(maxsize=32)
def _folded(text: str) -> str:
    return fold(text)
