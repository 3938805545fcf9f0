"""What a knowledge base speaks of at all: types of entities, names of attributes, predicates.

Read before every detection, so it never scans a table: types are stepped through by their index.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import TracebackType

from sqlalchemy import Connection, func, select

from groundwire.stores import entities as stores_entities
from groundwire.stores import facts
from groundwire.stores import names as lookup
from groundwire.stores.database import Database, open_database, select_in
from groundwire.stores.tables import attributes, entities, names, predicates, roles
from groundwire.stores.tables import entities as entity_rows
from groundwire.stores.tables import facts as fact_rows
from groundwire.stores.values import value_key
from groundwire.types import Coverage, Entity, Fact, Match, Pattern

_TYPES = 100
_PREDICATES = 5000
_MANY = 2
"""Whether there is one entity of a type or more is all that is asked."""


def coverage(connection: Connection) -> Coverage:
    types: dict[str, int] = {}
    only: dict[str, str] = {}
    for kind in _types(connection):
        some = select(entities.c.id).where(entities.c.type == kind).limit(_MANY)
        ids = connection.execute(some).scalars().all()
        types[kind] = len(ids)
        if len(ids) == 1:
            only[kind] = ids[0]
    called = connection.execute(select(predicates.c.name).limit(_PREDICATES)).scalars()
    return Coverage(types, only, frozenset(called))


def _types(connection: Connection) -> list[str]:
    found: list[str] = []
    last = ""
    while len(found) < _TYPES:
        after = connection.execute(select(func.min(entities.c.type)).where(entities.c.type > last)).scalar()
        if after is None:
            break
        found.append(after)
        last = after
    return found


def values_among(connection: Connection, names: Sequence[str]) -> set[str]:
    """Which of these names are the value of some attribute or stand in a role of some fact."""
    keys = {value_key(name): name for name in names}
    found: set[str] = set()
    for table in (attributes, roles):
        rows = select_in(connection, select(table.c.value_key).distinct(), table.c.value_key, list(keys))
        found.update(keys[row.value_key] for row in rows if row.value_key in keys)
    return found


# The knowledge base on a database: asked by detectors, filled by imports and by the memory gate.

_TOP = 10


@dataclass(frozen=True, slots=True)
class KnowledgeStats:
    """How much is known. `types` and `predicates` are the commonest, with their counts."""

    entities: int
    names: int
    attributes: int
    facts: int
    by_status: dict[str, int] = field(default_factory=dict)
    types: dict[str, int] = field(default_factory=dict)
    predicates: dict[str, int] = field(default_factory=dict)


class Knowledge:
    """A `KnowledgeBase` that lasts. Safe for threads, and for several processes on one database."""

    def __init__(self, database: Database) -> None:
        self.database = database

    @classmethod
    def open(cls, url: str, *, create: bool = True) -> Knowledge:
        return cls(open_database(url, create=create))

    def close(self) -> None:
        self.database.close()

    def __enter__(self) -> Knowledge:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """One transaction for several writes, which take the connection (`stores.facts`, `.entities`)."""
        with self.database.write() as connection:
            yield connection

    def find(self, names: Sequence[str], *, fuzzy: bool = True) -> dict[str, Match]:
        """The entity behind each name that has one: exact, then alias, then fuzzy."""
        with self.database.read() as connection:
            hits = lookup.find(connection, names, fuzzy=fuzzy)
            loaded = stores_entities.load(connection, [hit.entity for hit in hits.values()])
        return {name: Match(loaded[hit.entity], hit.kind, hit.score) for name, hit in hits.items()}

    def similar(self, name: str, at_least: float = 0.8, limit: int = 5) -> list[Match]:
        """Entities whose name or alias is alike, or has the name as a whole part; best first."""
        with self.database.read() as connection:
            hits = lookup.similar(connection, name, at_least, limit)
            loaded = stores_entities.load(connection, [hit.entity for hit in hits])
        return [Match(loaded[hit.entity], hit.kind, hit.score) for hit in hits]

    def entities(self, ids: Sequence[str]) -> dict[str, Entity]:
        with self.database.read() as connection:
            numbers = stores_entities.numbers_of(connection, ids)
            loaded = stores_entities.load(connection, numbers.values())
        return {identity: loaded[no] for identity, no in numbers.items()}

    def having(self, attribute: str, value: str, *, type: str = "", limit: int = 100) -> list[Entity]:
        """The entities whose attribute has that value: everyone whose `department` is Analytics."""
        with self.database.read() as connection:
            numbers = stores_entities.with_attribute(connection, attribute, value, type, limit)
            return list(stores_entities.load(connection, numbers).values())

    def facts_about(self, ids: Sequence[str], limit: int = 1000) -> list[Fact]:
        """The standing facts in which any of these entities has any role."""
        with self.database.read() as connection:
            return facts.facts_about(connection, ids, limit)

    def facts(self, pattern: Pattern) -> list[Fact]:
        with self.database.read() as connection:
            return facts.match_facts(connection, pattern)

    def fact(self, fact_id: str) -> Fact | None:
        with self.database.read() as connection:
            return facts.get(connection, fact_id)

    def history(self, fact_id: str) -> list[Fact]:
        """All that was ever said in the place of a fact, oldest first."""
        with self.database.read() as connection:
            return facts.history(connection, fact_id)

    def put_entity(self, entity: Entity) -> Entity:
        """Write an entity; aliases and attributes are added to what is there."""
        return self.put_entities([entity])[0]

    def put_entities(self, given: Sequence[Entity]) -> list[Entity]:
        with self.writing() as connection:
            return stores_entities.put_many(connection, given)

    def put_fact(self, fact: Fact) -> Fact:
        """Write a fact. Twice is once; a new value of what has one value takes the old one's place."""
        return self.put_many([fact])[0]

    def put_many(self, given: Sequence[Fact]) -> list[Fact]:
        """Many facts in one transaction: all of them or, on an error, none."""
        with self.writing() as connection:
            return facts.add_many(connection, given)

    def retract(self, fact_id: str) -> Fact | None:
        """Take a fact back. It stays as history; None where there is no such fact."""
        with self.writing() as connection:
            return facts.retract(connection, fact_id)

    def coverage(self) -> Coverage:
        """Which types and predicates it speaks of at all."""
        with self.database.read() as connection:
            return coverage(connection)

    def values(self, names: Sequence[str]) -> set[str]:
        """Which of these names are a value of some attribute, or stand in a role of some fact."""
        with self.database.read() as connection:
            return values_among(connection, names)

    def stats(self) -> KnowledgeStats:
        with self.database.read() as connection:
            return KnowledgeStats(
                entities=_count(connection, entity_rows),
                names=_count(connection, names),
                attributes=_count(connection, attributes),
                facts=_count(connection, fact_rows),
                by_status=_counts(connection, fact_rows.c.status, fact_rows.c.no),
                types=_counts(connection, entity_rows.c.type, entity_rows.c.no),
                predicates=_predicate_counts(connection),
            )


def _count(connection: Connection, table: object) -> int:
    return int(connection.execute(select(func.count()).select_from(table)).scalar_one())  # type: ignore[arg-type]


def _counts(connection: Connection, by: object, counted: object) -> dict[str, int]:
    amount = func.count(counted)  # type: ignore[arg-type]
    query = select(by, amount).group_by(by).order_by(amount.desc(), by).limit(_TOP)  # type: ignore[call-overload]
    return {str(name): int(count) for name, count in connection.execute(query)}


def _predicate_counts(connection: Connection) -> dict[str, int]:
    by_number = _counts(connection, fact_rows.c.predicate, fact_rows.c.no)
    rows = connection.execute(select(predicates.c.no, predicates.c.name))
    called = {str(no): name for no, name in rows}
    return {called[no]: count for no, count in by_number.items()}
