"""The knowledge base in a database: queried by the detectors, filled by imports and by the memory gate."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Column, Connection, func, select

from groundwire.stores import entities as stores_entities
from groundwire.stores import facts
from groundwire.stores import names as lookup
from groundwire.stores.database import Database, open_database, select_in
from groundwire.stores.tables import attributes, predicates, roles
from groundwire.stores.tables import entities as entity_rows
from groundwire.stores.tables import facts as fact_rows
from groundwire.stores.tables import names as name_rows
from groundwire.stores.values import value_key
from groundwire.types import Coverage, Entity, Fact, Match

_MAX_TYPES = 100  # types of entities that are looked at, with one query each
_MAX_PREDICATES = 5000  # names of predicates that are read into memory
_ONE_OR_MORE = 2  # entities read per type: coverage only distinguishes one from several


_TOP = 10  # types and predicates listed in statistics


@dataclass(frozen=True, slots=True)
class KnowledgeStats:
    """Counts; `types` and `predicates` list the most frequent ones."""

    entities: int
    names: int
    attributes: int
    facts: int
    by_status: dict[str, int] = field(default_factory=dict)
    types: dict[str, int] = field(default_factory=dict)
    predicates: dict[str, int] = field(default_factory=dict)


class Knowledge:
    """A persistent `KnowledgeBase`. Thread-safe; several processes may share a database."""

    def __init__(self, database: Database) -> None:
        self.database = database

    @classmethod
    def open(cls, url: str, *, create: bool = True) -> Knowledge:
        return cls(open_database(url, create=create))

    def close(self) -> None:
        self.database.close()

    def __enter__(self) -> Knowledge:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def writing(self) -> AbstractContextManager[Connection]:
        """A transaction for several writes with the functions of `stores.facts` and `stores.entities`."""
        return self.database.write()

    def find(self, names: Sequence[str], *, fuzzy: bool = True) -> dict[str, Match]:
        """The entity for each name that has one: by exact name, then alias, then similarity."""
        with self.database.read() as connection:
            hits = lookup.find(connection, names, fuzzy=fuzzy)
            loaded = stores_entities.load(connection, [hit.entity for hit in hits.values()])
        return {name: Match(loaded[hit.entity], hit.kind, hit.score) for name, hit in hits.items()}

    def similar(self, name: str, at_least: float = 0.8, limit: int = 5) -> list[Match]:
        """Entities whose name or alias is similar or contains the name; best first."""
        with self.database.read() as connection:
            hits = lookup.similar(connection, name, at_least, limit)
            loaded = stores_entities.load(connection, [hit.entity for hit in hits])
        return [Match(loaded[hit.entity], hit.kind, hit.score) for hit in hits]

    def entities(self, ids: Sequence[str]) -> dict[str, Entity]:
        with self.database.read() as connection:
            numbers = stores_entities.numbers_of(connection, ids)
            loaded = stores_entities.load(connection, numbers.values())
        return {identity: loaded[no] for identity, no in numbers.items()}

    def facts_about(self, ids: Sequence[str], limit: int = 1000) -> list[Fact]:
        """Current facts in which one of these entities has a role."""
        with self.database.read() as connection:
            return facts.facts_about(connection, ids, limit)

    def fact(self, fact_id: str) -> Fact | None:
        with self.database.read() as connection:
            return facts.get(connection, fact_id)

    def history(self, fact_id: str) -> list[Fact]:
        """All versions of a fact, oldest first."""
        with self.database.read() as connection:
            return facts.history(connection, fact_id)

    def put_entity(self, entity: Entity) -> Entity:
        """Write an entity; aliases and attributes are added to stored ones."""
        return self.put_entities([entity])[0]

    def put_entities(self, given: Sequence[Entity]) -> list[Entity]:
        with self.writing() as connection:
            return stores_entities.put_many(connection, given)

    def put_fact(self, fact: Fact) -> Fact:
        """Write a fact.

        Duplicates are merged; a new value of a single-valued predicate supersedes the old one.
        """
        return self.put_many([fact])[0]

    def put_many(self, given: Sequence[Fact]) -> list[Fact]:
        """Write facts in one transaction."""
        with self.writing() as connection:
            return facts.add_many(connection, given)

    def coverage(self) -> Coverage:
        """The types and predicates that exist. Runs before every detection, so it uses indexes only."""
        types: dict[str, int] = {}
        only: dict[str, str] = {}
        with self.database.read() as connection:
            for kind in _types(connection):
                some = select(entity_rows.c.id).where(entity_rows.c.type == kind).limit(_ONE_OR_MORE)
                ids = connection.execute(some).scalars().all()
                types[kind] = len(ids)
                if len(ids) == 1:
                    only[kind] = ids[0]
            called = connection.execute(select(predicates.c.name).limit(_MAX_PREDICATES)).scalars()
            return Coverage(types, only, frozenset(called))

    def values(self, names: Sequence[str]) -> set[str]:
        """The names that are an attribute value or fill a role of a fact."""
        keys = {value_key(name): name for name in names}
        found: set[str] = set()
        with self.database.read() as connection:
            for table in (attributes, roles):
                rows = select_in(connection, select(table.c.value_key).distinct(), table.c.value_key, keys)
                found.update(keys[row.value_key] for row in rows)
        return found

    def stats(self) -> KnowledgeStats:
        with self.database.read() as connection:
            tables = (entity_rows, name_rows, attributes, fact_rows)
            entities, names, values, facts = (
                connection.execute(select(func.count()).select_from(table)).scalar_one() for table in tables
            )
            by_number = _counts(connection, fact_rows.c.predicate, fact_rows.c.no)
            called = {str(no): name for no, name in connection.execute(select(predicates.c.no, predicates.c.name))}
            return KnowledgeStats(
                entities,
                names,
                values,
                facts,
                by_status=_counts(connection, fact_rows.c.status, fact_rows.c.no),
                types=_counts(connection, entity_rows.c.type, entity_rows.c.no),
                predicates={called[no]: count for no, count in by_number.items()},
            )


def _types(connection: Connection) -> Iterator[str]:
    """The types, each found by the index; a DISTINCT would read every entity."""
    last: str | None = ""
    for _ in range(_MAX_TYPES):
        last = connection.execute(select(func.min(entity_rows.c.type)).where(entity_rows.c.type > last)).scalar()
        if last is None:
            return
        yield last


def _counts(connection: Connection, by: Column[Any], counted: Column[Any]) -> dict[str, int]:
    """The most frequent values of a column."""
    amount = func.count(counted)
    query = select(by, amount).group_by(by).order_by(amount.desc(), by).limit(_TOP)
    return {str(name): int(count) for name, count in connection.execute(query)}
