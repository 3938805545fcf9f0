"""One database for all that must last: a SQLite file, or PostgreSQL by URL.

`read()` and `write()` hand out a connection in a transaction. On SQLite a writer takes its lock at once
(BEGIN IMMEDIATE), so that two processes wait for each other instead of failing half-way.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from sqlite3 import Connection as SQLiteConnection
from urllib.parse import quote

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DatabaseError, DBAPIError, IntegrityError
from sqlalchemy.pool import ConnectionPoolEntry

from groundwire.errors import InputError, MissingExtra, StoreError
from groundwire.stores.migrate import head, revision, upgrade

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
            current = revision(connection) == head()
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
