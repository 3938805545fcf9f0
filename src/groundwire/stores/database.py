"""One database for all that must last: a SQLite file, or PostgreSQL by URL.

`read()` and `write()` hand out a connection in a transaction. On SQLite a writer takes its lock at once
(BEGIN IMMEDIATE), so that two processes wait for each other instead of failing half-way.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from sqlite3 import Connection as SQLiteConnection
from typing import Any, TypeVar
from urllib.parse import quote

from sqlalchemy import (
    Column,
    Connection,
    Engine,
    Row,
    Select,
    Table,
    bindparam,
    create_engine,
    event,
    func,
    insert,
    inspect,
    select,
    text,
)
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DatabaseError, DBAPIError, IntegrityError
from sqlalchemy.pool import ConnectionPoolEntry

from groundwire.errors import InputError, MissingExtra, StoreError

# Bring a store to the newest schema, whoever wrote it, even when several processes open it at once.

_FOLDER = Path(__file__).parent / "migrations"
_SCHEMA_LOCK = 0x6764_7769  # any number that no other program uses


def newest_revision() -> str:
    """The newest revision. The steps' file names begin with their revision, so no step need be loaded."""
    return max(path.name.partition("_")[0] for path in (_FOLDER / "versions").glob("[0-9]*.py"))


def current_revision(connection: Connection) -> str:
    """The revision a store stands at; empty for a new one."""
    if not inspect(connection).has_table("alembic_version"):
        return ""
    return str(connection.execute(text("SELECT version_num FROM alembic_version")).scalar() or "")


def upgrade(connection: Connection, to: str = "head") -> None:
    """Run the missing steps inside the caller's transaction: all of them or none."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _SCHEMA_LOCK})
    at, newest = current_revision(connection), newest_revision()
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


_PATIENCE = 30.0
_CACHE_KIB = 32_768


class Database:
    """An engine, and the two ways to use it. Safe for threads; open one a process."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.dialect = engine.dialect.name

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A connection that sees one snapshot."""
        with _translated(self.engine), self.engine.connect() as connection, connection.begin():
            yield connection

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """A transaction: everything in it is kept, or on an exception nothing."""
        writing = self.engine.execution_options(groundwire_write=True)
        with _translated(self.engine), writing.connect() as connection, connection.begin():
            yield connection

    def close(self) -> None:
        self.engine.dispose()


def open_database(url: str, *, create: bool = True) -> Database:
    """The store behind a path or URL, brought to the newest schema. Without `create` it must exist."""
    place = _place(url)
    if place.get_backend_name() == "sqlite":
        path = Path(place.database or "")
        if not create and path.is_file() and not _is_writable(path):
            place = _for_reading(path)
        else:
            _prepare_file(path, create=create)
    database = Database(_engine(place))
    try:
        with database.read() as connection:
            current = current_revision(connection) == newest_revision()
        if not current:
            with database.write() as connection:
                upgrade(connection)
    except BaseException:
        database.close()
        raise
    return database


def _place(url: str) -> URL:
    if not url.strip():
        raise InputError("the store has no name", hint="give a file or a postgresql:// URL")
    if "://" not in url:
        return URL.create("sqlite", database=str(Path(url).expanduser()))
    try:
        place = make_url(url)
    except (ArgumentError, ValueError):  # ValueError: a port that is no number
        raise InputError("the store's URL cannot be read", hint="write postgresql://user@host/name") from None
    if place.drivername in ("postgresql", "postgres"):
        place = place.set(drivername="postgresql+psycopg")
    if place.get_backend_name() not in ("sqlite", "postgresql"):
        raise InputError(f"a store cannot be {place.get_backend_name()}", hint="use SQLite or PostgreSQL")
    return place


def _is_writable(path: Path) -> bool:
    """SQLite writes beside the file too, even when it only reads."""
    return os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)


def _for_reading(path: Path) -> URL:
    """A file that nobody can change here, such as one on a read-only disk, can still be asked."""
    name = f"file:{quote(str(path.absolute()))}"
    return URL.create("sqlite", database=name, query={"mode": "ro", "immutable": "1", "uri": "true"})


def _prepare_file(path: Path, *, create: bool) -> None:
    if str(path) in ("", ".", ":memory:"):
        raise InputError("a store in memory would be lost", hint="give it a file")
    if not create and not path.is_file():
        raise InputError(f"there is no store at {path}")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # Made before SQLite makes it: what is known is the owner's only.
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    except OSError as error:
        raise InputError(f"cannot open the store {path}: {error.strerror}") from None


def _engine(place: URL) -> Engine:
    if place.get_backend_name() == "sqlite":
        engine = create_engine(place, connect_args={"timeout": _PATIENCE})
        event.listen(engine, "connect", _configure_reader if "immutable" in place.query else _configure)
        event.listen(engine, "begin", _begin)
        return engine
    try:
        return create_engine(place, pool_pre_ping=True, connect_args={"connect_timeout": 10})
    except ModuleNotFoundError:
        raise MissingExtra("PostgreSQL", "postgres") from None


def _configure(connection: SQLiteConnection, entry: ConnectionPoolEntry) -> None:
    _configure_reader(connection, entry)
    for pragma in ("journal_mode = WAL", "synchronous = NORMAL", "foreign_keys = ON"):
        connection.execute(f"PRAGMA {pragma}")


def _configure_reader(connection: SQLiteConnection, _: ConnectionPoolEntry) -> None:
    connection.isolation_level = None  # BEGIN is ours to say
    for pragma in (
        f"busy_timeout = {int(_PATIENCE * 1000)}",
        f"cache_size = -{_CACHE_KIB}",
        "temp_store = MEMORY",
    ):
        connection.execute(f"PRAGMA {pragma}")


def _begin(connection: Connection) -> None:
    writes = connection.get_execution_options().get("groundwire_write", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


@contextmanager
def _translated(engine: Engine) -> Iterator[None]:
    """What the driver says, as one line of ours. A broken constraint is the caller's to understand."""
    try:
        yield
    except IntegrityError:
        raise
    except DBAPIError as error:
        where = engine.url.render_as_string(hide_password=True)
        said = " ".join(str(error.orig).split())
        if isinstance(error, DatabaseError) and "not a database" in said:
            raise InputError(f"{engine.url.database} is no store of groundwire") from None
        raise StoreError(f"the store {where} failed: {said[:300]}") from error


# What every writer of knowledge shares: being alone, numbering rows, and many rows at once.

T = TypeVar("T")
_WRITE_LOCK = 0x6764_6B62  # any number that no other program uses
_MOST = 4000
"""Values in one statement; SQLite takes 32,766 at most."""


def lock_for_writing(connection: Connection) -> None:
    """From here to the end of the transaction no other process writes knowledge.

    On SQLite the transaction itself is the lock.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _WRITE_LOCK})


def last_number(connection: Connection, table: Table) -> int:
    return int(connection.execute(select(func.coalesce(func.max(table.c.no), 0))).scalar_one())


def insert_rows(connection: Connection, table: Table, rows: Sequence[Mapping[str, Any]]) -> None:
    if rows:
        connection.execute(insert(table), list(rows))


def select_in(
    connection: Connection, query: Select[Any], column: Column[Any], values: Iterable[Any]
) -> Iterator[Row[Any]]:
    """The rows whose column is one of the values, however many they are."""
    for part in chunks(list(dict.fromkeys(values)), _MOST):
        yield from connection.execute(_within(query, column), {"wanted": part})


@lru_cache(maxsize=256)
def _within(query: Select[Any], column: Column[Any]) -> Select[Any]:
    """Made once for a query that is kept: to make it takes longer than to ask it."""
    return query.where(column.in_(bindparam("wanted", expanding=True)))


def chunks(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]
