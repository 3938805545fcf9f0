"""Bring a store to the newest schema, whoever wrote it, even when several processes open it at once."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import Connection, inspect, text

from groundwire.errors import StoreError

_FOLDER = Path(__file__).parent / "migrations"
_ADVISORY_LOCK = 0x6764_7769  # any number that no other program uses


def head() -> str:
    """The newest revision. The steps' file names begin with their revision, so no step need be loaded."""
    return max(path.name.partition("_")[0] for path in (_FOLDER / "versions").glob("[0-9]*.py"))


def revision(connection: Connection) -> str:
    """The revision a store stands at; empty for a new one."""
    if not inspect(connection).has_table("alembic_version"):
        return ""
    return str(connection.execute(text("SELECT version_num FROM alembic_version")).scalar() or "")


def upgrade(connection: Connection, to: str = "head") -> None:
    """Run the missing steps inside the caller's transaction: all of them or none."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _ADVISORY_LOCK})
    at, newest = revision(connection), head()
    if at == newest:
        return
    if at > newest:
        raise StoreError(f"the store is of a newer release (its schema is {at}, ours {newest})")
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(_FOLDER))
    config.attributes["connection"] = connection
    command.upgrade(config, to)
