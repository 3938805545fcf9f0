"""The schema: a store has exactly what the tables say, on both databases, and keeps what is there."""

from __future__ import annotations

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Connection, inspect, text
from tests.knowledge import early_store

from groundwire.errors import StoreError
from groundwire.stores import entities, facts
from groundwire.stores.database import (
    Database,
    _engine,
    _place,
    current_revision,
    newest_revision,
    open_database,
    upgrade,
)
from groundwire.stores.knowledge_base import Knowledge
from groundwire.stores.tables import metadata
from groundwire.types import Entity, Fact, Role, Value, ValueKind

KNOWLEDGE = "entities names words word_forms name_words attributes predicates facts roles"


def test_a_new_store_has_what_the_tables_say(store_url: str) -> None:
    database = open_database(store_url)
    with database.read() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []
        assert current_revision(connection) == newest_revision()
    database.close()


def test_a_store_of_a_newer_release_is_refused(store_url: str) -> None:
    database = open_database(store_url)
    with database.write() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    database.close()
    with pytest.raises(StoreError, match="newer release"):
        open_database(store_url)


def test_a_failed_step_leaves_the_store_as_it_was(bare_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(connection: Connection) -> None:
        upgrade(connection)
        raise StoreError("no more")

    monkeypatch.setattr("groundwire.stores.database.upgrade", broken)
    with pytest.raises(StoreError, match="no more"):
        open_database(bare_url)
    monkeypatch.undo()
    database = Database(_engine(_place(bare_url)))
    with database.read() as connection:
        assert inspect(connection).get_table_names() == []
    database.close()


def test_what_an_early_schema_held_is_there_at_the_newest(bare_url: str) -> None:
    with early_store(bare_url, "0001", KNOWLEDGE) as connection:
        entities.put_many(connection, [Entity("", "Ann", "person", ("Annie",))])
        told = (Role("subject", Value("Ann", ValueKind.REFERENCE)), Role("object", Value("tea")))
        facts.add_many(connection, [Fact("", "likes", told)])
    with Knowledge.open(bare_url) as kb:
        assert kb.find(["Annie"])["Annie"].entity.name == "Ann"
        assert [fact.predicate for fact in kb.facts_about(["ann"])] == ["likes"]
        with kb.database.read() as connection:
            assert compare_metadata(MigrationContext.configure(connection), metadata) == []
            assert current_revision(connection) == newest_revision()
