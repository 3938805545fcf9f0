"""The file of the embedded index: its schema, its version, and connections for several threads.

A writer takes its lock at once and waits for another one's, so two processes never fail half-way; what was
committed stays, whatever happens to the process afterwards.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import quote

from groundwire.errors import InputError, StoreError

SCHEMA_VERSION = 1
APPLICATION_ID = 0x67775247  # "gwRG": this file is an index of ours and no other database

_PATIENCE = 30.0
_PRAGMAS = ("PRAGMA journal_mode = WAL", "PRAGMA synchronous = NORMAL", "PRAGMA cache_size = -32768")
_SCHEMA = (
    """CREATE TABLE documents (
        id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, title TEXT NOT NULL, digest TEXT NOT NULL,
        passages INTEGER NOT NULL, characters INTEGER NOT NULL)""",
    # AUTOINCREMENT: a number is never given twice, so whoever holds vectors in memory can tell new from old.
    """CREATE TABLE passages (
        id INTEGER PRIMARY KEY AUTOINCREMENT, document INTEGER NOT NULL REFERENCES documents (id),
        number INTEGER NOT NULL, part TEXT NOT NULL, heading TEXT NOT NULL,
        start INTEGER NOT NULL, stop INTEGER NOT NULL, text TEXT NOT NULL)""",
    "CREATE INDEX passages_by_document ON passages (document)",
    # Apart from the texts, so that all of them are read in one go.
    "CREATE TABLE vectors (passage INTEGER PRIMARY KEY, vector BLOB NOT NULL)",
    # What is indexed are normal forms made by us, so that Hebrew, Arabic and unspaced scripts are found too.
    "CREATE VIRTUAL TABLE terms USING fts5(words, tokenize = 'unicode61 remove_diacritics 2')",
    "CREATE VIRTUAL TABLE vocabulary USING fts5vocab('terms', 'row')",
    "CREATE TABLE changes (generation INTEGER NOT NULL)",
    "INSERT INTO changes VALUES (0)",
    f"PRAGMA application_id = {APPLICATION_ID}",
    f"PRAGMA user_version = {SCHEMA_VERSION}",
)


class IndexFile:
    """Hands out connections in a transaction and takes them back; `close()` closes those that are idle."""

    def __init__(self, path: Path, *, create: bool = True) -> None:
        self.path = path
        self.readonly = path.is_file() and not _is_writable(path)
        if not self.readonly:
            _prepare(path, create=create)
        self._idle: list[sqlite3.Connection] = []
        self._lock = threading.Lock()
        with self._translated(), self._borrowed() as db:
            self._bring_up(db)

    @contextmanager
    def read(self) -> Iterator[sqlite3.Connection]:
        """A connection that sees one snapshot."""
        with self._translated(), self._borrowed() as db, _transaction(db, "BEGIN"):
            yield db

    @contextmanager
    def write(self) -> Iterator[sqlite3.Connection]:
        """Everything in it is kept, or on an exception nothing."""
        if self.readonly:
            raise StoreError(f"the index {self.path} may not be written", hint="check its permissions")
        with self._translated(), self._borrowed() as db, _transaction(db, "BEGIN IMMEDIATE"):
            yield db
            db.execute("UPDATE changes SET generation = generation + 1")

    def close(self) -> None:
        with self._lock:
            idle, self._idle = self._idle, []
        for db in idle:
            db.close()

    @contextmanager
    def _borrowed(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            db = self._idle.pop() if self._idle else None
        db = db or self._connect()
        try:
            yield db
        except BaseException:
            db.close()
            raise
        with self._lock:
            self._idle.append(db)

    def _connect(self) -> sqlite3.Connection:
        uri = f"file:{quote(str(self.path.absolute()))}" + ("?mode=ro&immutable=1" if self.readonly else "")
        db = sqlite3.connect(uri, uri=True, timeout=_PATIENCE, isolation_level=None, check_same_thread=False)
        if not self.readonly:
            for pragma in _PRAGMAS:
                db.execute(pragma)
        return db

    def _bring_up(self, db: sqlite3.Connection) -> None:
        """Make the tables of a new file; refuse a file that is not ours or of a later release."""
        if self._version(db) == SCHEMA_VERSION:
            return
        with _transaction(db, "BEGIN IMMEDIATE"):
            if self._version(db) == SCHEMA_VERSION:
                return  # another process was first
            if db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                raise StoreError(f"{self.path} is another program's database", hint="set rag.path elsewhere")
            for statement in _SCHEMA:
                db.execute(statement)

    def _version(self, db: sqlite3.Connection) -> int:
        version: int = db.execute("PRAGMA user_version").fetchone()[0]
        ours = db.execute("PRAGMA application_id").fetchone()[0] == APPLICATION_ID
        if ours and version > SCHEMA_VERSION:
            raise StoreError(f"the index {self.path} is from a newer release", hint="upgrade groundwire")
        return version if ours else 0

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """SQLite's words as one line that says what to do."""
        try:
            yield
        except sqlite3.DatabaseError as error:
            code = getattr(error, "sqlite_errorcode", 0) & 0xFF
            hint = _HINTS.get(code, "")
            raise StoreError(f"the index {self.path} failed ({error})", hint=hint) from error


_HINTS = {
    sqlite3.SQLITE_FULL: "make room on the disk; what was committed is kept",
    sqlite3.SQLITE_BUSY: "another process is writing; try again",
    sqlite3.SQLITE_READONLY: "check its permissions",
    sqlite3.SQLITE_NOTADB: "set rag.path (or --index) to another file",
    sqlite3.SQLITE_CORRUPT: "remove the file and ingest the documents again",
    sqlite3.SQLITE_CANTOPEN: "check the folder and its permissions",
    sqlite3.SQLITE_IOERR: "check the disk; what was committed is kept",
}


@contextmanager
def _transaction(db: sqlite3.Connection, begin: str) -> Iterator[None]:
    db.execute(begin)
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        with suppress(sqlite3.Error):  # a full disk rolls back by itself
            db.execute("ROLLBACK")
        raise


def _is_writable(path: Path) -> bool:
    """SQLite writes beside the file too, even when it only reads."""
    return os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)


def _prepare(path: Path, *, create: bool) -> None:
    if not create and not path.is_file():
        raise InputError(f"there is no index at {path}", hint="groundwire rag ingest PATH… makes one")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # Made before SQLite makes it: what people ingest is theirs only.
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    except OSError as error:
        raise InputError(f"cannot open the index {path}: {error.strerror}") from None
