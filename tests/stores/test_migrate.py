"""The schema: the steps make exactly what the tables say, on both databases, and keep what is there."""

from __future__ import annotations

import importlib
import pkgutil

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import text

from groundwire.errors import StoreError
from groundwire.stores import tables
from groundwire.stores.database import open_database
from groundwire.stores.migrate import head, revision, upgrade
from groundwire.stores.tables.base import metadata


def test_the_steps_make_what_the_tables_say(store_url: str) -> None:
    for module in pkgutil.iter_modules(tables.__path__):
        importlib.import_module(f"{tables.__name__}.{module.name}")
    database = open_database(store_url)
    with database.read() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []
        assert revision(connection) == head()
    database.close()


def test_a_store_of_a_newer_release_is_refused(store_url: str) -> None:
    database = open_database(store_url)
    with database.write() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    database.close()
    with pytest.raises(StoreError, match="newer release"):
        open_database(store_url)


def test_a_failed_step_leaves_the_store_as_it_was(bare_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(connection: object, to: str = "head") -> None:
        upgrade(connection, "0001")  # type: ignore[arg-type]
        raise StoreError("no more")

    monkeypatch.setattr("groundwire.stores.database.upgrade", broken)
    with pytest.raises(StoreError, match="no more"):
        open_database(bare_url)
    monkeypatch.undo()
    database = open_database(bare_url)
    with database.read() as connection:
        assert revision(connection) == head()
    database.close()
