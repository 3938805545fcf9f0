"""What the knowledge base holds about all that a response speaks of: a handful of questions, asked once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from groundwire.detectors.context import Known
from groundwire.openie.parser import bare
from groundwire.text.lexicon import word_set
from groundwire.types import (
    Coverage,
    Covering,
    Entity,
    Fact,
    KnowledgeBase,
    Match,
    MentionKind,
    Segment,
    ValueKind,
)

MAX_NAMES = 500
"""Of a longer list of names only the first are looked up."""
_MAX_WORDS = 8
_ADJECTIVES = word_set("new latest current old original standard popular own")
_HEADS = word_set(
    "team department dept division group office unit branch project plan programme program committee"
)


def gather(kb: KnowledgeBase, segments: Sequence[Segment], spoken: Sequence[str] = ()) -> Known:
    """Look everything up; `spoken` are names of the dialogue that pronouns and descriptions may mean."""
    names = list(dict.fromkeys(_names(segments, spoken)))[:MAX_NAMES]
    matches = _matches(kb, names)
    covering = kb if isinstance(kb, Covering) else None
    coverage = covering.coverage() if covering else Coverage()
    ids = dict.fromkeys([*(m.entity.id for m in matches.values()), *coverage.only.values()])
    facts = _by_entity(kb.facts_about(list(ids)) if ids else (), ids)
    found = {match.entity.id: match.entity for match in matches.values()}
    entities = found | _more(kb, [*coverage.only.values(), *_references(found.values(), facts)], found)
    unknown = [name for name in names if name.casefold() not in matches]
    values = covering.values(unknown) if covering and unknown else set()
    every = {v.casefold() for v in (*values, *_value_texts(entities.values(), facts))}
    return Known(matches, facts, entities, frozenset(every), coverage)


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
    """A name as it stands, without its article, and without "team" or "project"."""
    plain = bare(name)
    if not plain or len(plain.split()) > _MAX_WORDS or not any(map(str.isalpha, plain)):
        return
    yield plain
    words = plain.split()
    if len(words) > 1 and words[-1].lower() in _HEADS:
        yield " ".join(words[:-1])
    if len(words) > 1 and words[0].lower() in _HEADS | _ADJECTIVES:
        yield " ".join(words[1:])


def _matches(kb: KnowledgeBase, names: Sequence[str]) -> dict[str, Match]:
    """Misspellings are only looked for in names: "the price" is not "the prince"."""
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


def _references(entities: Iterable[Entity], facts: dict[str, tuple[Fact, ...]]) -> Iterator[str]:
    for entity in entities:
        yield from (a.value.entity for a in entity.attributes if a.value.kind is ValueKind.REFERENCE)
    for found in facts.values():
        yield from (role.value.entity for fact in found for role in fact.roles if role.value.entity)


def _value_texts(entities: Iterable[Entity], facts: dict[str, tuple[Fact, ...]]) -> Iterator[str]:
    for entity in entities:
        yield from (attribute.value.text for attribute in entity.attributes)
    for found in facts.values():
        yield from (role.value.text for fact in found for role in fact.roles)


def _more(kb: KnowledgeBase, ids: Iterable[str], have: dict[str, Entity]) -> dict[str, Entity]:
    missing = [identity for identity in dict.fromkeys(ids) if identity and identity not in have][:MAX_NAMES]
    return kb.entities(missing) if missing else {}
