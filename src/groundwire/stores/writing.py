"""What every writer of knowledge shares: being alone, numbering rows, and many rows at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, TypeVar

from sqlalchemy import Column, Connection, Row, Select, Table, bindparam, func, insert, select, text

T = TypeVar("T")
_ADVISORY_LOCK = 0x6764_6B62  # any number that no other program uses
_MOST = 4000
"""Values in one statement; SQLite takes 32,766 at most."""


def alone(connection: Connection) -> None:
    """From here to the end of the transaction no other process writes knowledge.

    On SQLite the transaction itself is the lock.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _ADVISORY_LOCK})


def last_number(connection: Connection, table: Table) -> int:
    return int(connection.execute(select(func.coalesce(func.max(table.c.no), 0))).scalar_one())


def insert_rows(connection: Connection, table: Table, rows: Sequence[Mapping[str, Any]]) -> None:
    if rows:
        connection.execute(insert(table), list(rows))


def among(
    connection: Connection, query: Select[Any], column: Column[Any], values: Iterable[Any]
) -> Iterator[Row[Any]]:
    """The rows whose column is one of the values, however many they are."""
    for part in parts(list(dict.fromkeys(values)), _MOST):
        yield from connection.execute(_within(query, column), {"wanted": part})


@lru_cache(maxsize=256)
def _within(query: Select[Any], column: Column[Any]) -> Select[Any]:
    """Made once for a query that is kept: to make it takes longer than to ask it."""
    return query.where(column.in_(bindparam("wanted", expanding=True)))


def parts(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]
