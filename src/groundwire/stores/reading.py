"""Facts out of the database: by id, by entity, by pattern, by status."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC
from typing import Any

from sqlalchemy import BindParameter, Column, ColumnElement, Connection, Row, and_, bindparam, or_, select

from groundwire.stores.database import among
from groundwire.stores.entities import numbers_of, predicate_key
from groundwire.stores.tables import entities, facts, names, predicates, roles
from groundwire.stores.values import from_row, value_key
from groundwire.types import Fact, FactStatus, Pattern, Provenance, Record, Role

SHOWN = ("verified", "asserted", "unverified")
_FACTS = select(
    facts, predicates.c.name.label("predicate_name"), predicates.c.many.label("predicate_many")
).join(predicates, predicates.c.no == facts.c.predicate)
_ROLES = (
    select(roles, entities.c.id.label("target"))
    .join(entities, entities.c.no == roles.c.entity, isouter=True)
    .order_by(roles.c.fact, roles.c.position)
)
# Written so that no index fits: the few facts of an entity are looked through, not the many of a status.
_STANDS = facts.c.status.concat("").in_(SHOWN)
_WANTED: BindParameter[Any] = bindparam("wanted", expanding=True)
_ROLE_OF_STANDING = (
    select(roles.c.fact)
    .join(facts, facts.c.no == roles.c.fact)
    .where(_STANDS)
    .distinct()
    .order_by(roles.c.fact)
    .limit(bindparam("most"))
)
_BY_ENTITY = _ROLE_OF_STANDING.where(roles.c.entity.in_(_WANTED))
_BY_NAME = _ROLE_OF_STANDING.where(roles.c.value_key.in_(_WANTED), roles.c.kind != "reference")
_KEYS = select(names.c.key)
Loaded = tuple[int, Fact, bytes, bytes | None, str]
"""A fact with its row number, what it says, what it says it of, and the import that said it."""


def get(connection: Connection, fact_id: str) -> Fact | None:
    return next(iter(read_facts(connection, facts.c.id == fact_id)), None)


def listing(
    connection: Connection, *, status: FactStatus | None = None, limit: int = 100, after: str = ""
) -> list[Fact]:
    """Facts, the newest first; `after` is the id of the last one of the page before."""
    query = _FACTS.order_by(facts.c.no.desc()).limit(limit)
    if status is not None:
        query = query.where(facts.c.status == status.value)
    if after:
        query = query.where(facts.c.no < select(facts.c.no).where(facts.c.id == after).scalar_subquery())
    return [fact for _, fact, *_ in _loaded(connection, list(connection.execute(query)))]


def read_facts(connection: Connection, condition: ColumnElement[bool], limit: int = 1000) -> list[Fact]:
    query = _FACTS.where(condition).order_by(facts.c.no).limit(limit)
    return [fact for _, fact, *_ in _loaded(connection, list(connection.execute(query)))]


def held_by(connection: Connection, column: Column[Any], wanted: Iterable[Any]) -> list[Loaded]:
    """The facts whose column is one of these, as a writer needs them."""
    return _loaded(connection, list(among(connection, _FACTS, column, wanted)))


def history(connection: Connection, fact_id: str, limit: int = 1000) -> list[Fact]:
    """A fact and all that it took the place of, oldest first, and what took its place."""
    slot = select(facts.c.slot).where(facts.c.id == fact_id).scalar_subquery()
    return read_facts(connection, or_(facts.c.id == fact_id, facts.c.slot == slot), limit)


def about(connection: Connection, ids: Sequence[str], limit: int) -> list[Fact]:
    """The standing facts in which an entity has a role, by reference or, as text, by one of its names."""
    numbers = sorted(numbers_of(connection, ids).values())
    if not numbers:
        return []
    found = set(connection.execute(_BY_ENTITY, {"wanted": numbers, "most": limit}).scalars())
    keys = sorted({row.key for row in among(connection, _KEYS, names.c.entity, numbers)})
    found.update(connection.execute(_BY_NAME, {"wanted": keys, "most": limit}).scalars())
    return _by_numbers(connection, sorted(found)[:limit])


def _by_numbers(connection: Connection, numbers: Sequence[int]) -> list[Fact]:
    loaded = held_by(connection, facts.c.no, numbers)
    return [fact for _, fact, *_ in sorted(loaded, key=lambda found: found[0])]


def matching(connection: Connection, pattern: Pattern) -> list[Fact]:
    """Facts by entity, role, predicate and value. A role is the entity's, or without one the value's."""
    query = select(facts.c.no).order_by(facts.c.no).limit(pattern.limit).distinct()
    if not pattern.history:
        query = query.where(_STANDS)
    if pattern.predicate:
        same = select(predicates.c.no).where(predicates.c.key == predicate_key(pattern.predicate))
        narrow = facts.c.predicate + 0 if pattern.entity or pattern.value else facts.c.predicate
        query = query.where(narrow.in_(same))
    if pattern.entity:
        end = roles.alias()
        theirs = [end.c.name == pattern.role] if pattern.role else []
        query = query.join(end, end.c.fact == facts.c.no).where(_is(connection, end, pattern.entity), *theirs)
    if pattern.value or (pattern.role and not pattern.entity):
        end = roles.alias()
        asked = [end.c.value_key == value_key(pattern.value)] if pattern.value else []
        asked += [end.c.name == pattern.role] if pattern.role and not pattern.entity else []
        query = query.join(end, end.c.fact == facts.c.no).where(*asked)
    return _by_numbers(connection, list(connection.execute(query).scalars()))


def _is(connection: Connection, end: Any, identity: str) -> ColumnElement[bool]:
    number = numbers_of(connection, [identity]).get(identity, -1)
    keys = list(connection.execute(select(names.c.key).where(names.c.entity == number)).scalars())
    return or_(end.c.entity == number, and_(end.c.value_key.in_(keys), end.c.kind != "reference"))


def _loaded(connection: Connection, rows: Sequence[Row[Any]]) -> list[Loaded]:
    ends: dict[int, list[Role]] = {}
    for end in among(connection, _ROLES, roles.c.fact, [row.no for row in rows]):
        ends.setdefault(end.fact, []).append(Role(end.name, from_row(end, end.target)))
    return [
        (row.no, _fact(row, tuple(ends.get(row.no, ()))), row.content, row.slot, row.batch) for row in rows
    ]


def _fact(row: Row[Any], ends: tuple[Role, ...]) -> Fact:
    record = None if row.p0 is None else Record(row.p0, row.p1, row.bits, row.method)
    return Fact(
        id=row.id,
        predicate=row.predicate_name,
        roles=ends,
        confidence=row.confidence,
        status=FactStatus(row.status),
        provenance=Provenance(row.source, row.start, row.end, row.recorded.replace(tzinfo=UTC)),
        record=record,
        text=row.text,
        many=row.many or row.predicate_many,
        superseded_by=row.superseded_by,
        valid_from=row.valid_from,
        valid_to=row.valid_to,
    )
