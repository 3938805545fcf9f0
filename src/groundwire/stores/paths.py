"""Values by path: `/hallucination/chat/3/detection/total_flags` → 2, scanned by prefix in bytewise order.

A path is `/` and segments; `path_of` escapes `/`, `%` and control characters in them (`%2F`). A value is a
string, a number, true, false or null.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from urllib.parse import quote, unquote_to_bytes

from sqlalchemy import BigInteger, ColumnElement, Connection, Text, cast, delete, select, true

from groundwire.errors import InputError
from groundwire.stores.database import Database, upsert
from groundwire.stores.tables import paths

Scalar = str | int | float | bool | None
Tree = dict[str, "Scalar | Tree"]

MAX_BYTES = 2000  # the longest key of a PostgreSQL index page
PAGE = 500  # entries per transaction of a scan
_ESCAPE = re.compile(r"[/%\x00-\x1f\x7f-\x9f\ud800-\udfff\u2028\u2029]")
_UNWRITABLE = re.compile(r"%(?![0-9A-F]{2})|[\x00-\x1f\x7f-\x9f\ud800-\udfff\u2028\u2029]")


def escape_segment(text: str) -> str:
    """
    >>> escape_segment("a/b 100%"), escape_segment("שיחה")
    ('a%2Fb 100%25', 'שיחה')
    """
    if not text:
        raise InputError("a name is empty", hint="give it one letter at least")
    return _ESCAPE.sub(lambda found: quote(found[0], safe="", errors="surrogatepass"), text)


def unescape_segment(escaped: str) -> str:
    """
    >>> unescape_segment("a%2Fb 100%25")
    'a/b 100%'
    """
    return unquote_to_bytes(escaped).decode("utf-8", "surrogatepass")


def path_of(*segments: str | int) -> str:
    """
    >>> path_of("hallucination", "team/7", 3)
    '/hallucination/team%2F7/3'
    """
    return "".join(f"/{escape_segment(str(part))}" for part in segments)


@dataclass(frozen=True, slots=True)
class PathEntry:
    path: str
    value: Scalar


class PathStore:
    """One JSON value per path. Each method is a transaction; `writing` combines several."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @contextmanager
    def writing(self) -> Iterator[PathWriter]:
        """A transaction for several writes."""
        with self._database.write() as connection:
            yield PathWriter(connection, time.time())

    def put(self, path: str, value: Scalar) -> None:
        with self.writing() as writer:
            writer.put({path: value})

    def delete(self, prefix: str) -> int:
        """Delete a path and everything below it; returns the number of values."""
        with self.writing() as writer:
            return writer.delete(prefix)

    def get(self, path: str, default: Scalar = None) -> Scalar:
        with self._database.read() as connection:
            found = connection.execute(select(paths.c.value).where(paths.c.path == checked_path(path))).scalar()
        return default if found is None else json.loads(found)

    def scan(self, prefix: str = "/", *, limit: int | None = None) -> Iterator[PathEntry]:
        """Entries below a prefix that ends in `/`, or a path and those below it, in bytewise order.

        Each page is a transaction, so a slow reader does not block writers.
        """
        within, after = path_range(prefix), ""
        while limit is None or limit > 0:
            size = PAGE if limit is None else min(PAGE, limit)
            with self._database.read() as connection:
                page = _page(connection, within, after, size)
            yield from page
            if len(page) < size:
                return
            after, limit = page[-1].path, None if limit is None else limit - size

    def export(self, prefix: str = "/") -> Tree:
        """Everything below a prefix, nested by segment."""
        return nest_paths((entry.path, entry.value) for entry in self.scan(prefix))


class PathWriter:
    """Writes inside one transaction."""

    def __init__(self, connection: Connection, now: float) -> None:
        self._connection = connection
        self._now = now

    def put(self, values: Mapping[str, Scalar]) -> None:
        """Write values, sorted by path, so that concurrent writers cannot deadlock."""
        rows = [
            # ASCII JSON, since PostgreSQL rejects NUL and lone surrogates.
            {"path": checked_path(path), "value": json.dumps(value, allow_nan=False), "written": self._now}
            for path, value in sorted(values.items())
        ]
        if rows:
            statement = upsert(self._connection, paths)
            new = {"value": statement.excluded.value, "written": statement.excluded.written}
            self._connection.execute(statement.on_conflict_do_update(index_elements=[paths.c.path], set_=new), rows)

    def add(self, path: str, amount: int) -> int:
        """Add to a counter atomically and return the new value. Other writers wait for the transaction."""
        row = {"path": checked_path(path), "value": str(amount), "written": self._now}
        statement = upsert(self._connection, paths).values(row)
        more = cast(cast(paths.c.value, BigInteger) + amount, Text)
        counted = statement.on_conflict_do_update(
            index_elements=[paths.c.path], set_={"value": more, "written": self._now}
        )
        return int(self._connection.execute(counted.returning(paths.c.value)).scalar_one())

    def scan(self, prefix: str) -> list[PathEntry]:
        return _page(self._connection, path_range(prefix), "", None)

    def delete(self, prefix: str) -> int:
        return self._connection.execute(delete(paths).where(path_range(prefix))).rowcount


def _page(connection: Connection, within: ColumnElement[bool], after: str, size: int | None) -> list[PathEntry]:
    wanted = select(paths.c.path, paths.c.value).where(within, paths.c.path > after)
    rows = connection.execute(wanted.order_by(paths.c.path).limit(size))
    return [PathEntry(path, json.loads(value)) for path, value in rows]


def path_range(prefix: str) -> ColumnElement[bool]:
    """The condition for a key range. `LIKE` would not be bytewise and would misread escapes."""
    if prefix in ("", "/"):
        return true()
    stem = checked_path(prefix.rstrip("/"))
    inside = (paths.c.path >= f"{stem}/") & (paths.c.path < f"{stem}0")  # the byte after "/" is "0"
    return inside if prefix.endswith("/") else (paths.c.path == stem) | inside


def checked_path(path: str) -> str:
    """Return a valid path, or raise an `InputError`."""
    if not path.startswith("/") or path.endswith("/") or "//" in path:
        raise InputError(f"{path!r} is not a valid path", hint="write /segment/segment")
    if _UNWRITABLE.search(path):
        raise InputError(f"{path!r} is not a valid path", hint="write % as %25, and control characters as in %0A")
    if len(path.encode()) > MAX_BYTES:
        raise InputError(f"a path has more than {MAX_BYTES:,} bytes", hint="use shorter names")
    return path


def nest_paths(entries: Iterable[tuple[str, Scalar]]) -> Tree:
    """Paths as nested objects. A value with others below it gets the key ''.

    >>> nest_paths([("/a", 1), ("/a/b", 2), ("/c%2Fd/e", 3)])
    {'a': {'': 1, 'b': 2}, 'c/d': {'e': 3}}
    """
    whole: Tree = {}
    for path, value in entries:
        *way, last = [unescape_segment(part) for part in path[1:].split("/")]
        here = whole
        for name in way:
            inner = here.get(name)
            if not isinstance(inner, dict):
                inner = {} if name not in here else {"": inner}
                here[name] = inner
            here = inner
        here[last] = value
    return whole
