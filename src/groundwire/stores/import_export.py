"""Import files into a knowledge base and export it.

Imports run in batches, one transaction each, and are idempotent: an interrupted import is completed by
running it again. Bad rows are reported with their line and skipped; with `strict` they abort the whole
import.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from secrets import token_hex
from typing import Any

from sqlalchemy import Connection, func, select
from sqlalchemy.exc import IntegrityError

from groundwire.errors import InputError
from groundwire.stores import entities, facts
from groundwire.stores.entities import load
from groundwire.stores.facts import VISIBLE_STATUSES, load_facts
from groundwire.stores.formats import ParsedRow, entity_object, fact_object
from groundwire.stores.knowledge_base import Knowledge
from groundwire.stores.tables import attributes, roles
from groundwire.stores.tables import entities as entities_table
from groundwire.stores.tables import facts as facts_table
from groundwire.text.controls import inert_cell, json_text, sanitize
from groundwire.types import Entity, Fact, Value, ValueKind

BATCH = 1000
"""Rows per transaction."""
KEPT_ERRORS = 1000
"""Bad rows that are listed; further ones are only counted."""


@dataclass(slots=True)
class ImportResult:
    """The result of an import. `bad` are the first bad rows, `failed` is the number of all."""

    entities: int = 0
    facts: int = 0
    failed: int = 0
    bad: list[ParsedRow] = field(default_factory=list)

    def note(self, row: ParsedRow) -> None:
        self.failed += 1
        if len(self.bad) < KEPT_ERRORS:
            self.bad.append(row)


class StrictImportError(InputError):
    """A strict import found bad rows; nothing was written."""

    def __init__(self, imported: ImportResult) -> None:
        rows = "1 row" if imported.failed == 1 else f"{imported.failed:,} rows"
        super().__init__(f"{rows} cannot be used, so nothing was imported")
        self.imported = imported


def import_rows(
    knowledge: Knowledge,
    rows: Iterator[ParsedRow],
    *,
    strict: bool = False,
    on_batch: Callable[[ImportResult], None] = lambda _: None,
) -> ImportResult:
    """Write rows to the knowledge base. `on_batch` is called with the progress after every batch."""
    done, token = ImportResult(), token_hex(8)
    if strict:
        with knowledge.writing() as connection:
            for batch in _batches(rows):
                _write(connection, batch, token, done)
                on_batch(done)
            if done.failed:
                raise StrictImportError(done)
        return done
    for batch in _batches(rows):
        with knowledge.writing() as connection:
            _write(connection, batch, token, done)
        on_batch(done)
    return done


def _batches(rows: Iterator[ParsedRow]) -> Iterator[list[ParsedRow]]:
    while batch := list(islice(rows, BATCH)):
        yield batch


def _write(connection: Connection, batch: Sequence[ParsedRow], token: str, done: ImportResult) -> None:
    for row in batch:
        if row.item is None:
            done.note(row)
    good = [row for row in batch if row.item is not None]
    for kind in (Entity, Fact):
        _halved(connection, [row for row in good if isinstance(row.item, kind)], token, done)


def _halved(connection: Connection, rows: Sequence[ParsedRow], token: str, done: ImportResult) -> None:
    """Write rows at once; on failure bisect them to find the bad ones."""
    if not rows:
        return
    try:
        with connection.begin_nested():
            _put(connection, [row.item for row in rows if row.item is not None], token)
    except (InputError, IntegrityError) as error:
        if len(rows) == 1:
            done.note(ParsedRow(rows[0].line, error=str(error) if isinstance(error, InputError) else "conflicts"))
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


# What a store knows, as lines of text: JSON lines hold everything, CSV and triples what fits into them.

PAGE = 1000
_FACT_HEADER = (
    "id", "subject", "predicate", "object", "confidence", "status", "source", "start", "end", "recorded",
    "text", "many", "superseded_by", "valid_from", "valid_to",
)  # fmt: skip


def to_jsonl(knowledge: Knowledge) -> Iterator[str]:
    """Export entities, then all facts including history, oldest first. Importing it gives the same store."""
    with knowledge.database.read() as connection:
        for entity in _entities(connection):
            yield json_text(entity_object(entity)) + "\n"
        for fact in _facts(connection, history=True):
            yield json_text(fact_object(fact)) + "\n"


def to_triples(knowledge: Knowledge) -> Iterator[str]:
    """Export current facts with a subject and an object as triples; other roles are dropped."""
    with knowledge.database.read() as connection:
        for fact in _facts(connection):
            subject, told = fact.role("subject"), fact.role("object")
            if subject is not None and told is not None:
                predicate = f"{fact.predicate}*" if fact.many else fact.predicate
                texts = (subject.text, predicate, told.text)
                yield "\t".join(" ".join(sanitize(text).split()) for text in texts) + "\n"


def entities_to_csv(knowledge: Knowledge) -> Iterator[str]:
    """Export one row per entity and one column per attribute; `*` marks multi-valued ones."""
    with knowledge.database.read() as connection:
        columns = _attribute_columns(connection)
        headers = [f"{name}{'*' if many else ''}{kind}" for name, (many, kind) in columns.items()]
        yield _row(["id", "name", "type", "aliases", *headers])
        for entity in _entities(connection):
            row = []
            for name, (many, _) in columns.items():
                texts = [_written(a.value) for a in entity.attributes if a.name == name]
                one = "" if many else "".join(texts[-1:])
                row.append(one or "; ".join(map(_escaped, texts)))
            aliases = "; ".join(map(_escaped, entity.aliases))
            yield _row([entity.id, entity.name, entity.type, aliases, *row])


def facts_to_csv(knowledge: Knowledge) -> Iterator[str]:
    """Export one row per current fact; further roles become columns."""
    with knowledge.database.read() as connection:
        query = select(roles.c.name).distinct().where(roles.c.name.not_in(("subject", "object")))
        extra = sorted(connection.execute(query).scalars())
        yield _row([*_FACT_HEADER, *(f"{name}*" for name in extra)])
        for fact in _facts(connection):
            if fact.role("subject") is not None:
                named = {name: [r.value.text for r in fact.roles if r.name == name] for name in extra}
                yield _row([*_fact_cells(fact), *("; ".join(map(_escaped, named[name])) for name in extra)])


def _fact_cells(fact: Fact) -> list[str]:
    found = fact_object(fact)
    subject, told = fact.role("subject"), fact.role("object")
    ends = {"subject": _written(subject) if subject else "", "object": told.text if told else ""}
    return [_cell((found | ends).get(name)) for name in _FACT_HEADER]


def _cell(value: Any) -> str:
    return "" if value is None else "yes" if value is True else str(value)


def _written(value: Value) -> str:
    return value.entity if value.kind is ValueKind.REFERENCE and value.entity else value.text


def _escaped(text: str) -> str:
    return text.replace(";", "\\;").replace("|", "\\|")


def _row(cells: Iterable[str]) -> str:
    line = io.StringIO()
    csv.writer(line, lineterminator="\n").writerow(map(inert_cell, cells))
    return line.getvalue()


def _attribute_columns(connection: Connection) -> dict[str, tuple[bool, str]]:
    """The attribute columns: name, multiplicity, and the common kind of the values."""
    kinds: dict[str, set[str]] = {}
    many: dict[str, bool] = {}
    query = select(attributes.c.name, attributes.c.kind, attributes.c.many, func.count())
    grouped = query.where(attributes.c.superseded.is_(None)).group_by(
        attributes.c.name, attributes.c.kind, attributes.c.many
    )
    for name, kind, several, _ in connection.execute(grouped):
        kinds.setdefault(name, set()).add(kind)
        many[name] = many.get(name, False) or several
    suffix = {"reference": ":ref", "date": ":date", "number": ":number", "text": ":text"}
    return {
        name: (many[name], suffix[next(iter(found))] if len(found) == 1 else "")
        for name, found in sorted(kinds.items())
    }


def _entities(connection: Connection) -> Iterator[Entity]:
    last = ""
    while True:
        query = select(entities_table.c.no, entities_table.c.id).where(entities_table.c.id > last)
        page = connection.execute(query.order_by(entities_table.c.id).limit(PAGE)).all()
        if not page:
            return
        last = page[-1].id
        loaded = load(connection, [row.no for row in page])
        yield from (loaded[row.no] for row in page)


def _facts(connection: Connection, *, history: bool = False) -> Iterator[Fact]:
    last = 0
    while True:
        query = select(facts_table.c.no).where(facts_table.c.no > last)
        if not history:
            query = query.where(facts_table.c.status.in_(VISIBLE_STATUSES))
        page: Sequence[int] = connection.execute(query.order_by(facts_table.c.no).limit(PAGE)).scalars().all()
        if not page:
            return
        last = page[-1]
        loaded = {no: fact for no, fact, *_ in load_facts(connection, facts_table.c.no, page)}
        yield from (loaded[no] for no in page)
