"""The database behind all stores: a SQLite file, or PostgreSQL by URL, upgraded when it is opened.

`read()` and `write()` give a connection in a transaction. On SQLite a writer takes the lock at once (BEGIN
IMMEDIATE), so that two processes wait for each other instead of failing half-way through.
"""

from __future__ import annotations

import os
import sqlite3
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote

import sqlalchemy as sa
from sqlalchemy import Connection, Engine, Select, Table, event, text
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DatabaseError, DBAPIError, IntegrityError
from sqlalchemy.pool import ConnectionPoolEntry

from groundwire.errors import InputError, MissingExtra, StoreError
from groundwire.stores.tables import metadata

_FOLDER = Path(__file__).parent / "migrations"
_BASELINE = "0008"  # revisions before this one only added tables, so a store of theirs gets the missing tables at once
_SCHEMA_LOCK = 0x6764_7769  # arbitrary, unlikely to clash with other programs


def newest_revision() -> str:
    """The newest revision, read from the file names of the migrations, so that none has to be imported."""
    return max(path.name.partition("_")[0] for path in (_FOLDER / "versions").glob("[0-9]*.py"))


def current_revision(connection: Connection) -> str:
    """The revision of a store; empty for a new one."""
    if not sa.inspect(connection).has_table("alembic_version"):
        return ""
    return str(connection.execute(text("SELECT version_num FROM alembic_version")).scalar() or "")


def upgrade(connection: Connection) -> None:
    """Bring the schema up to date inside the caller's transaction."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _SCHEMA_LOCK})
    at, newest = current_revision(connection), newest_revision()
    if at == newest:
        return
    if at > newest:
        raise StoreError(f"the store was written by a newer release (its schema is {at}, ours is {newest})")
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(_FOLDER))
    config.attributes["connection"] = connection
    if at < _BASELINE:  # a new store, or one whose missing migrations would only have added tables
        metadata.create_all(connection)
        command.stamp(config, _BASELINE if at else "head", purge=True)
    command.upgrade(config, "head")


_BUSY_TIMEOUT_SECONDS = 30.0  # longer than the largest import batch holds the write lock
_CACHE_KIB = 2048
"""SQLite page cache of one connection. Every connection of the pool fills its own, with each stored report,
and never gives it back; what it misses, the operating system has cached once for all of them."""


class Database:
    """A connection pool. Thread-safe; open one per process. `what` it is, is said in messages."""

    def __init__(self, engine: Engine, what: str = "store") -> None:
        self.engine = engine
        self.dialect = engine.dialect.name
        self._what = what

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A connection with a consistent snapshot."""
        with self._translated(), self.engine.connect() as connection, connection.begin():
            yield connection

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """A write transaction; rolled back on an exception."""
        writing = self.engine.execution_options(groundwire_write=True)
        with self._translated(), writing.connect() as connection, connection.begin():
            yield connection

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """Translate driver errors into ours. Constraint violations are left to the caller."""
        try:
            yield
        except IntegrityError:
            raise
        except DBAPIError as error:
            where = self.engine.url.render_as_string(hide_password=True)
            message = " ".join(str(error.orig).split())
            if isinstance(error, DatabaseError) and "not a database" in message:
                raise InputError(f"{self.engine.url.database} is not a groundwire {self._what}") from None
            hint = _HINTS.get(getattr(error.orig, "sqlite_errorcode", 0) & 0xFF, "")
            raise StoreError(f"the {self._what} {where} failed: {message[:300]}", hint=hint) from error

    def close(self) -> None:
        self.engine.dispose()


_HINTS = {
    sqlite3.SQLITE_FULL: "free some disk space; what was committed is safe",
    sqlite3.SQLITE_BUSY: "another process is writing; try again",
    sqlite3.SQLITE_READONLY: "check its permissions",
    sqlite3.SQLITE_CORRUPT: "restore the file from a backup, or remove it and begin anew",
    sqlite3.SQLITE_CANTOPEN: "check the folder and its permissions",
    sqlite3.SQLITE_IOERR: "check the disk; what was committed is safe",
}


def open_database(url: str, *, create: bool = True) -> Database:
    """Open the store at a path or URL and upgrade its schema. Without `create` it must exist."""
    place = _place(url)
    if place.get_backend_name() == "sqlite":
        path = Path(place.database or "")
        if path.name in ("", ":memory:"):
            raise InputError("a store cannot be in memory", hint="give it a file")
        database = open_file(path, "store", "store.url", create=create)
    else:
        database = Database(_engine(place))
    with closing_on_error(database):
        with database.read() as connection:
            current = current_revision(connection) == newest_revision()
        if not current:
            with database.write() as connection:
                upgrade(connection)
    return database


def open_file(path: Path, what: str, setting: str, *, create: bool, hint: str = "") -> Database:
    """Open a SQLite file without looking at its tables; the arguments are those of `prepare_file`."""
    place = URL.create("sqlite", database=str(path))
    if not create and path.is_file() and not is_writable(path):
        # An immutable file, such as one on a read-only disk, can still be queried.
        query = {"mode": "ro", "immutable": "1", "uri": "true"}
        place = URL.create("sqlite", database=f"file:{quote(str(path.absolute()))}", query=query)
    else:
        prepare_file(path, what, setting, create=create, hint=hint)
    return Database(_engine(place), what)


@contextmanager
def closing_on_error(database: Database) -> Iterator[None]:
    """Close a database that turns out to be unusable while it is opened."""
    try:
        yield
    except BaseException:
        database.close()
        raise


def _place(url: str) -> URL:
    if not url.strip():
        raise InputError("the store has no path or URL", hint="give a file or a postgresql:// URL")
    if "://" not in url:
        return URL.create("sqlite", database=str(Path(url).expanduser().absolute()))
    try:
        place = make_url(url)
    except (ArgumentError, ValueError):  # ValueError: the port is not a number
        raise InputError("the store's URL cannot be read", hint="write postgresql://user@host/name") from None
    if place.drivername in ("postgresql", "postgres"):
        place = place.set(drivername="postgresql+psycopg")
    if place.get_backend_name() not in ("sqlite", "postgresql"):
        raise InputError(f"unsupported database: {place.get_backend_name()}", hint="use SQLite or PostgreSQL")
    return place


def _engine(place: URL) -> Engine:
    if place.get_backend_name() == "sqlite":
        engine = sa.create_engine(place, connect_args={"timeout": _BUSY_TIMEOUT_SECONDS})
        event.listen(engine, "connect", partial(_configure, writable="immutable" not in place.query))
        event.listen(engine, "begin", _begin)
        return engine
    try:
        return sa.create_engine(place, pool_pre_ping=True, connect_args={"connect_timeout": 10})
    except ModuleNotFoundError:
        raise MissingExtra("PostgreSQL", "postgres") from None


def _configure(connection: sqlite3.Connection, _: ConnectionPoolEntry, *, writable: bool) -> None:
    connection.isolation_level = None  # transactions are begun by `_begin`
    pragmas = [f"busy_timeout = {int(_BUSY_TIMEOUT_SECONDS * 1000)}", f"cache_size = -{_CACHE_KIB}"]
    pragmas.append("temp_store = MEMORY")
    if writable:
        # FULL: what a caller was told is stored survives a power cut. It costs one flush to the disk per commit.
        # fullfsync: on macOS a plain flush leaves the data in the disk's own cache; elsewhere it does nothing.
        pragmas += ["journal_mode = WAL", "synchronous = FULL", "fullfsync = ON", "foreign_keys = ON"]
    for pragma in pragmas:
        connection.execute(f"PRAGMA {pragma}")


def _begin(connection: Connection) -> None:
    writes = connection.get_execution_options().get("groundwire_write", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


# Database files: each project has its own, and only their owner can read them.

PROJECT_FOLDER = ".groundwire"
EARLIER_FOLDER = "~/.local/share/groundwire"  # where releases before 0.2 kept one file for all projects


def is_writable(path: Path) -> bool:
    """SQLite also writes files next to the database, even when it only reads."""
    return os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)


def prepare_file(path: Path, what: str, setting: str, *, create: bool, hint: str = "") -> None:
    """Create a database file if there is none; without `create` it must exist, and not be empty.

    Args:
        what: what the file is, for messages: "store", "index".
        setting: the configuration key of its path.
        hint: how to get one, for the message that there is none.
    """
    in_project = path.absolute().parent == Path(PROJECT_FOLDER).absolute()
    old, earlier = Path(EARLIER_FOLDER, path.name), ""
    if in_project and not path.exists() and old.expanduser().is_file():
        earlier = f"earlier releases kept one for all projects: to go on with that, set {setting} to {old}"
    if not create and not path.is_file():
        raise InputError(f"there is no {what} at {path}", hint=earlier or hint)
    if not create and not path.stat().st_size:  # SQLite would take it for a new database
        raise InputError(f"{path} is an empty file, not a groundwire {what}")
    if earlier:
        warnings.warn(f"{path} is a new {what}; {earlier}", stacklevel=2)
    try:
        _make_folder(path.parent)
        # Created here and not by SQLite, so that only the owner can read it.
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
        ignore = path.parent / ".gitignore"
        if in_project and not ignore.exists():
            ignore.write_text("*\n", encoding="utf-8")  # facts and documents do not belong in a repository
    except OSError as error:
        raise InputError(f"cannot open the {what} {path}: {error.strerror}") from None


def _make_folder(folder: Path, mode: int = 0o700) -> None:
    """Create a folder and those above it, so that they survive a power cut as what is stored in them does."""
    if folder.is_dir():
        return
    _make_folder(folder.parent, mode=0o777)  # only the last one is ours
    folder.mkdir(mode=mode, exist_ok=True)
    if os.name == "posix":  # elsewhere a folder cannot be opened
        above = os.open(folder.parent, os.O_RDONLY)
        try:
            os.fsync(above)  # SQLite does it for the files that it creates, not for the folder they are in
        finally:
            os.close(above)


# What every writer of knowledge shares: being alone, numbering rows, and many rows at once.

T = TypeVar("T")
_UNSTORABLE = {0: "\ufffd", **dict.fromkeys(range(0xD800, 0xE000), "\ufffd")}
_WRITE_LOCK = 0x6764_6B62  # arbitrary, unlikely to clash with other programs
_MAX_PARAMETERS = 4000  # values per statement; SQLite allows 32,766


def lock_for_writing(connection: Connection) -> None:
    """Block other writers of knowledge until the transaction ends. On SQLite the transaction is the lock."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _WRITE_LOCK})


def last_number(connection: Connection, table: Table) -> int:
    return int(connection.execute(sa.select(sa.func.coalesce(sa.func.max(table.c.no), 0))).scalar_one())


def insert_rows(connection: Connection, table: Table, rows: Sequence[Mapping[str, Any]]) -> None:
    if rows:
        connection.execute(sa.insert(table), list(rows))


def upsert(connection: Connection, table: Table) -> postgresql.Insert | sqlite.Insert:
    """An insert with `on_conflict_do_update`, which both databases have, each in its own dialect."""
    return sqlite.insert(table) if connection.dialect.name == "sqlite" else postgresql.insert(table)


def select_in(
    connection: Connection, query: Select[Any], column: sa.Column[Any], values: Iterable[Any]
) -> Iterator[sa.Row[Any]]:
    """Rows whose column is one of the values, in as many statements as needed."""
    for part in chunks(list(dict.fromkeys(values)), _MAX_PARAMETERS):
        yield from connection.execute(_within(query, column), {"wanted": part})


@lru_cache(maxsize=256)
def _within(query: Select[Any], column: sa.Column[Any]) -> Select[Any]:
    """Cached, because building the statement takes longer than running it."""
    return query.where(column.in_(sa.bindparam("wanted", expanding=True)))


def record_of(kind: type[T], row: sa.Row[Any], **other: Any) -> T:
    """A row as a record of this class, by the names of its fields; `other` are fields to set otherwise."""
    own = (field.name for field in fields(kind) if field.name not in other)  # type: ignore[arg-type]
    return kind(**{name: getattr(row, name) for name in own}, **other)


def storable_text(text: str) -> str:
    """Replace NUL, which PostgreSQL rejects, and lone surrogates, which cannot be encoded."""
    return text.translate(_UNSTORABLE)


def chunks(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]
