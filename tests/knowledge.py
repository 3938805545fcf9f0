"""Stores for tests: a knowledge base in memory, which is the protocol and nothing more, and old databases."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import Connection, text

from groundwire.stores.database import Database, _engine, _place
from groundwire.stores.facts import list_facts
from groundwire.stores.knowledge_base import Knowledge
from groundwire.stores.tables import metadata
from groundwire.text.names import core_words
from groundwire.types import Entity, Fact, Match, MatchKind


class MemoryKnowledge:
    def __init__(self, entities: Iterable[Entity] = (), facts: Iterable[Fact] = ()) -> None:
        self._entities = {entity.id: entity for entity in entities}
        self._facts = tuple(facts)

    def find(self, names: Sequence[str], *, fuzzy: bool = True) -> dict[str, Match]:
        found = {}
        for name in names:
            for entity in self._entities.values():
                if core_words(name) in [core_words(n) for n in (entity.name, *entity.aliases)]:
                    found[name] = Match(entity, MatchKind.EXACT)
        return found

    def similar(self, name: str, at_least: float = 0.8, limit: int = 5) -> list[Match]:
        return list(self.find([name]).values())

    def entities(self, ids: Sequence[str]) -> dict[str, Entity]:
        return {i: self._entities[i] for i in ids if i in self._entities}

    def facts_about(self, ids: Sequence[str], limit: int = 1000) -> list[Fact]:
        return [f for f in self._facts if any(role.value.entity in ids for role in f.roles)]


def all_facts(kb: Knowledge) -> list[Fact]:
    """Everything that a store holds, history included, newest first."""
    with kb.database.read() as connection:
        return list_facts(connection, limit=100_000)


@contextmanager
def early_store(url: str, revision: str, tables: str) -> Iterator[Connection]:
    """A store of an early revision, which had only some of the tables."""
    if "://" not in url:
        Path(url).touch()
    database = Database(_engine(_place(url)))
    with database.write() as connection:
        metadata.create_all(connection, [metadata.tables[name] for name in tables.split()])
        connection.execute(text("CREATE TABLE alembic_version (version_num VARCHAR(32) PRIMARY KEY)"))
        connection.execute(text("INSERT INTO alembic_version VALUES (:at)"), {"at": revision})
        yield connection
    database.close()
