"""From a name as someone wrote it to the entity it means: exact, then alias, then fuzzy."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from sqlalchemy import Connection, select

from groundwire.stores import names
from groundwire.stores.database import among
from groundwire.stores.names import Named, as_written, core_of, key_of, likeness
from groundwire.stores.tables import entities
from groundwire.text.lexicon import word_set
from groundwire.text.names import fold
from groundwire.types import MatchKind

FLOOR = 0.82
"""Below this two names are two things: Austria is not Australia, nor Maria Mario."""
PART = 0.8
"""How alike a person's first or last name alone is taken to be to the whole."""
_TYPES = select(entities.c.no, entities.c.type)
_PEOPLE = word_set(
    "person people human employee user customer client contact author member staff player actor artist"
    " colleague manager engineer developer scientist politician singer writer student teacher"
)


class Hit(NamedTuple):
    entity: int
    kind: MatchKind
    score: float = 1.0


def find(connection: Connection, wanted: Sequence[str], *, fuzzy: bool) -> dict[str, Hit]:
    """The best entity for each name that has one."""
    asked = [name for name in dict.fromkeys(wanted) if name.strip()]
    found = _exact(connection, asked)
    rest = [name for name in asked if name not in found]
    if rest and fuzzy:
        found |= _fuzzy(connection, rest)
    return found


def similar(connection: Connection, name: str, at_least: float, limit: int) -> list[Hit]:
    """Every entity that is alike, best first."""
    if not name.strip():
        return []
    near = names.near_words(connection, name)
    spelled = names.by_core(connection, names.spelled_right(name, near))
    candidates = [n for same in spelled.values() for n in same]
    candidates += names.sharing_words(connection, name, near)
    exact = _exact(connection, [name])
    hits = {hit.entity: hit for hit in _ranked(name, candidates, at_least)}
    hits |= {hit.entity: hit for hit in exact.values()}
    order = sorted(hits.values(), key=lambda h: (-h.score, h.kind is MatchKind.FUZZY, h.entity))
    return order[:limit]


def _exact(connection: Connection, asked: Sequence[str]) -> dict[str, Hit]:
    """As written; else without title, article and kind, which makes it an alias at best."""
    keys = names.by_key(connection, [key_of(name) for name in asked])
    found = {name: _first(keys[key_of(name)]) for name in asked if key_of(name) in keys}
    rest = [name for name in asked if name not in found]
    cores = names.by_core(connection, [core_of(name) for name in rest]) if rest else {}
    for name in rest:
        if same := cores.get(core_of(name)):
            best = max(same, key=lambda n: (as_written(name, n), -n.entity))
            found[name] = Hit(best.entity, MatchKind.ALIAS)
    return found


def _first(same: Sequence[Named]) -> Hit:
    best = same[0]
    return Hit(best.entity, MatchKind.ALIAS if best.position else MatchKind.EXACT)


def _fuzzy(connection: Connection, asked: Sequence[str]) -> dict[str, Hit]:
    near = {name: names.near_words(connection, name) for name in asked}
    guesses = {name: names.spelled_right(name, near[name]) for name in asked}
    spelled = names.by_core(connection, [core for cores in guesses.values() for core in cores])
    found: dict[str, Hit] = {}
    for name, cores in guesses.items():
        candidates = [n for core in cores for n in spelled.get(core, ())]
        ranked = _ranked(name, candidates, FLOOR)
        if not ranked:
            shared = names.sharing_words(connection, name, near[name])
            ranked = _ranked(name, shared, FLOOR, parts=False) or _only_person(connection, name, shared)
        if ranked:
            found[name] = ranked[0]
    return found


def _ranked(name: str, candidates: Iterable[Named], floor: float, *, parts: bool = True) -> list[Hit]:
    best: dict[int, float] = {}
    for named in candidates:
        score = likeness(name, named.text)
        if parts and score < PART and names.is_part(name, named.text):
            score = PART
        if score >= floor:
            best[named.entity] = max(score, best.get(named.entity, 0.0))
    hits = (Hit(entity, MatchKind.FUZZY, score) for entity, score in best.items())
    return sorted(hits, key=lambda hit: (-hit.score, hit.entity))


def _only_person(connection: Connection, name: str, shared: Sequence[Named]) -> list[Hit]:
    """A first name or a surname alone means a person, where only one could be meant."""
    whole = {named.entity for named in shared if names.is_part(name, named.text)}
    if not whole:
        return []
    types = _types(connection, whole)
    people = [no for no, kind in types.items() if not _PEOPLE.isdisjoint(fold(kind).split())]
    return [Hit(people[0], MatchKind.FUZZY, PART)] if len(people) == 1 else []


def _types(connection: Connection, numbers: Iterable[int]) -> Mapping[int, str]:
    rows = among(connection, _TYPES, entities.c.no, numbers)
    return {row.no: row.type for row in rows}
