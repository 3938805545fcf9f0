"""Bring a file of knowledge into a store: in batches, so that a killed import leaves whole ones behind.

Running it again completes it: what is there already is there once. A row that cannot be used is noted with
its line and the others go in, or with `strict` none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from secrets import token_hex
from typing import TextIO

from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError

from groundwire.errors import InputError
from groundwire.stores import entities, facts
from groundwire.stores.io_csv import Read, read_csv
from groundwire.stores.io_jsonl import read_jsonl
from groundwire.stores.io_triples import read_ntriples, read_triples
from groundwire.stores.knowledge_base import Knowledge
from groundwire.types import Entity, Fact

BATCH = 1000
KEPT_ERRORS = 1000
READERS: dict[str, Callable[[TextIO, str], Iterator[Read]]] = {
    "csv": read_csv,
    "jsonl": read_jsonl,
    "triples": read_triples,
    "nt": read_ntriples,
}


@dataclass(slots=True)
class Imported:
    """What became of a file. `bad` are the first rows that could not be used, `failed` how many they are."""

    entities: int = 0
    facts: int = 0
    failed: int = 0
    bad: list[Read] = field(default_factory=list)

    def note(self, row: Read) -> None:
        self.failed += 1
        if len(self.bad) < KEPT_ERRORS:
            self.bad.append(row)


class Refused(InputError):
    """A strict import met rows that cannot be used, and left the store as it was."""

    def __init__(self, imported: Imported) -> None:
        rows = "1 row" if imported.failed == 1 else f"{imported.failed:,} rows"
        super().__init__(f"{rows} cannot be used, so nothing was imported")
        self.imported = imported


def import_rows(
    knowledge: Knowledge,
    rows: Iterator[Read],
    *,
    strict: bool = False,
    on_batch: Callable[[Imported], None] = lambda _: None,
) -> Imported:
    """`on_batch` is told after every batch how far it is."""
    done, token = Imported(), token_hex(8)
    if strict:
        with knowledge.writing() as connection:
            for batch in _batches(rows):
                _write(connection, batch, token, done)
                on_batch(done)
            if done.failed:
                raise Refused(done)
        return done
    for batch in _batches(rows):
        with knowledge.writing() as connection:
            _write(connection, batch, token, done)
        on_batch(done)
    return done


def _batches(rows: Iterator[Read]) -> Iterator[list[Read]]:
    while batch := list(islice(rows, BATCH)):
        yield batch


def _write(connection: Connection, batch: Sequence[Read], token: str, done: Imported) -> None:
    for row in batch:
        if row.item is None:
            done.note(row)
    good = [row for row in batch if row.item is not None]
    for kind in (Entity, Fact):
        _halved(connection, [row for row in good if isinstance(row.item, kind)], token, done)


def _halved(connection: Connection, rows: Sequence[Read], token: str, done: Imported) -> None:
    """All at once; where that fails each half by itself, down to the rows that are to blame."""
    if not rows:
        return
    try:
        with connection.begin_nested():
            _put(connection, [row.item for row in rows if row.item is not None], token)
    except (InputError, IntegrityError) as error:
        if len(rows) == 1:
            done.note(Read(rows[0].line, error=str(error) if isinstance(error, InputError) else "conflicts"))
            return
        middle = len(rows) // 2
        _halved(connection, rows[:middle], token, done)
        _halved(connection, rows[middle:], token, done)
        return
    if isinstance(rows[0].item, Entity):
        done.entities += len(rows)
    else:
        done.facts += len(rows)


def _put(connection: Connection, items: Sequence[Entity | Fact], token: str) -> None:
    entities.put_many(connection, [item for item in items if isinstance(item, Entity)], batch=token)
    facts.add_many(connection, [item for item in items if isinstance(item, Fact)], batch=token)
