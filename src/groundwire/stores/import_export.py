"""Import files into a knowledge base, and export it: CSV, JSON Lines and triples.

Files are read line by line; undecodable bytes are passed through as surrogates, so that one bad character
costs one row. Imports run in batches, one transaction each, and are idempotent: an interrupted import is
completed by running it again. Bad rows are reported with their line and skipped; with `strict` they abort the
whole import.
"""

from __future__ import annotations

import codecs
import csv
import io
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, islice
from pathlib import Path
from secrets import token_hex
from typing import Any, BinaryIO, TextIO

from pydantic import TypeAdapter, ValidationError
from sqlalchemy import Connection, select
from sqlalchemy.exc import IntegrityError

from groundwire.errors import InputError
from groundwire.stores import entities, facts
from groundwire.stores.knowledge_base import Knowledge
from groundwire.stores.tables import attributes, roles
from groundwire.stores.tables import entities as entities_table
from groundwire.stores.tables import facts as facts_table
from groundwire.stores.values import known_kind, typed_value, value_of
from groundwire.text.controls import cell_text, inert_cell, json_text, sanitize
from groundwire.text.names import fold_identifier
from groundwire.types import Attribute, Entity, Fact, FactStatus, Provenance, Role, Value, ValueKind

_SUFFIXES = {
    **dict.fromkeys((".csv", ".tsv"), "csv"),
    **dict.fromkeys((".jsonl", ".ndjson", ".json"), "jsonl"),
    ".triples": "triples",
}
_MARKS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
Json = Mapping[str, Any]
_ENTITY, _FACT, _VALUE = TypeAdapter(Entity), TypeAdapter(Fact), TypeAdapter(Value)


@dataclass(frozen=True, slots=True)
class ParsedRow:
    """The entity or fact of one row, or the error."""

    line: int
    item: Entity | Fact | None = None
    error: str = ""


def format_of(path: Path, given: str = "") -> str:
    found = given or _SUFFIXES.get(path.suffix.lower(), "")
    if found not in READERS:
        what = f"unknown format '{given}'" if given else f"cannot tell the format of {path} from its name"
        raise InputError(what, hint=f"--format {', '.join(READERS)}")
    return found


@contextmanager
def open_text(file: BinaryIO, encoding: str) -> Iterator[TextIO]:
    """Open a file as text; a byte order mark overrides the encoding."""
    head = file.peek(4)[:4] if isinstance(file, io.BufferedReader) else b""
    marked = next((name for mark, name in _MARKS if head.startswith(mark)), encoding)
    try:
        text = io.TextIOWrapper(file, encoding=marked, errors="surrogateescape", newline="")
    except LookupError:
        raise InputError(f"unknown encoding '{encoding}'") from None
    try:
        yield text
    finally:
        text.detach()


class UnreadableRow(InputError):
    """A row that is not valid in the encoding of the file."""


def readable(text: str) -> str:
    if not text.isascii() and any("\udc80" <= c <= "\udcff" for c in text):
        raise UnreadableRow("is not in the encoding of the file", hint="save it as UTF-8 or say --encoding")
    return text


def parse_row(line: int, read: Callable[[], Entity | Fact]) -> ParsedRow:
    """The item of a row; an error affects this row only."""
    try:
        return ParsedRow(line, read())
    except InputError as error:
        return ParsedRow(line, error=str(error))
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        value = f"'{str(first['input'])[:40]}' is not a valid {'.'.join(map(str, first['loc']))}"
        return ParsedRow(line, error=f"{value}: {first['msg'][:1].lower()}{first['msg'][1:]}")
    except (TypeError, AttributeError, OverflowError) as error:  # a list where an object must stand
        return ParsedRow(line, error=f"is not a valid row: {error}")


# CSV. A header with `name` makes entities, one with `subject` and `predicate` facts.
#
#     name,type,aliases,founded:date,languages*,height:cm,boss:ref
#     subject,predicate,object,confidence,source,place
#
# A header may give the kind or unit of its values (`founded:date`, `height (cm)`); `*` marks several values
# separated by `;`. Columns that are not a field of a fact become further roles.

_DELIMITERS = ",;\t|"
_SPLIT = re.compile(r"(?<!\\)[;|]")
_UNIT = re.compile(r"^(?P<name>.+?)\s*\((?P<kind>[^()]+)\)$")
_MANY: dict[str, Any] = {"many": True, "*": True, "one": False, "": False}
ENTITY_FIELDS = ("id", "name", "type", "aliases")
FACT_FIELDS = (
    "id", "subject", "predicate", "object", "confidence", "source", "start", "end", "recorded", "status",
    "text", "many", "valid from", "valid to", "superseded by",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Column:
    name: str
    kind: str | None = None
    many: bool = False

    def values(self, cell: str) -> list[Value]:
        texts = split(cell) if self.many else [cell.strip()]
        return [self.value(text) for text in texts if text]

    def value(self, text: str) -> Value:
        return value_of(text, about=self.name) if self.kind is None else typed_value(text, self.kind)


def read_csv(file: TextIO, source: str) -> Iterator[ParsedRow]:
    """The rows of a file. A bad row is reported; a bad header is an error."""
    first = file.readline()
    if not first.strip():
        raise InputError("the file is empty" if not first else "the first line of the file is empty")
    delimiter = max(_DELIMITERS, key=first.count)
    reader = csv.reader(chain([first], file), delimiter=delimiter)
    columns = _header(_next(reader) or [])
    fields = {fold_identifier(column.name) for column in columns if column}
    if not ({"subject", "predicate"} <= fields or "name" in fields):
        raise InputError("the header names no column 'name' (entities) or 'subject' and 'predicate' (facts)")
    make = partial(_fact, source) if {"subject", "predicate"} <= fields else _entity
    line = reader.line_num + 1
    while (cells := _next(reader, line)) is not None:
        if isinstance(cells, ParsedRow):
            yield cells
        elif any(cell.strip() for cell in cells):
            yield parse_row(line, partial(make, columns, cells))
        line = reader.line_num + 1


def _next(reader: Iterator[list[str]], line: int = 1) -> list[str] | ParsedRow | None:
    try:
        cells = next(reader, None)
        return cells and [cell_text(cell) for cell in cells]
    except csv.Error as error:
        return ParsedRow(line, error=f"is not valid CSV: {error} (is a quote never closed?)")


def _header(cells: Sequence[str] | ParsedRow) -> list[Column | None]:
    if isinstance(cells, ParsedRow):
        raise InputError(f"the header {cells.error}")
    try:
        columns = [_column(readable(cell)) for cell in cells]
    except UnreadableRow as error:
        raise InputError(f"the header {error.message}", hint=error.hint) from None
    seen: set[str] = set()
    for column in columns:
        if column is not None and fold_identifier(column.name) in seen:
            raise InputError(f"duplicate column '{column.name}'")
        seen.add(fold_identifier(column.name) if column else "")
    return columns


def _column(header: str) -> Column | None:
    """Parse a header cell; None if it is empty, as spreadsheets leave behind."""
    text = header.strip().removeprefix("\ufeff")
    unit = _UNIT.match(text)
    if unit and known_kind(unit["kind"].strip()):
        text = f"{unit['name']}:{unit['kind'].strip()}"
    name, colon, kind = text.rpartition(":")
    if not colon:
        name, kind = text, ""
    many = name.endswith("*") or kind.endswith("*")
    name, kind = name.rstrip("* ").strip(), kind.rstrip("*").strip()
    if colon and not known_kind(kind):
        raise InputError(f"the column '{text}' has an unknown kind", hint="text, number, date, ref or a unit")
    return Column(name, kind if colon else None, many) if name else None


def _cells(columns: Sequence[Column | None], cells: Sequence[str]) -> list[tuple[Column, str]]:
    extra = [cell for cell in cells[len(columns) :] if cell.strip()]
    if extra:
        raise InputError(f"has {len(cells)} cells where the header has {len(columns)}")
    pairs = zip(columns, map(readable, cells), strict=False)
    return [(column, cell) for column, cell in pairs if column is not None]


def _entity(columns: Sequence[Column | None], row: Sequence[str]) -> Entity:
    cells = _cells(columns, row)
    plain = {fold_identifier(column.name): cell.strip() for column, cell in cells}
    if not plain.get("name"):
        raise InputError("has no name")
    attributes = [
        Attribute(column.name, value, column.many)
        for column, cell in cells
        if fold_identifier(column.name) not in ENTITY_FIELDS
        for value in column.values(cell)
    ]
    aliases = tuple(split(plain.get("aliases", "")))
    return Entity(plain.get("id", ""), plain["name"], plain.get("type", ""), aliases, tuple(attributes))


def _fact(source: str, columns: Sequence[Column | None], row: Sequence[str]) -> Fact:
    cells = _cells(columns, row)
    plain = {fold_identifier(column.name): cell.strip() for column, cell in cells}
    for needed in ("subject", "predicate"):
        if not plain.get(needed):
            raise InputError(f"has no {needed}")
    predicate = plain["predicate"].rstrip("* ")
    many = plain["predicate"].endswith("*") or _MANY.get(plain.get("many", ""), plain.get("many"))
    fields = {name.replace(" ", "_"): plain.get(name) for name in FACT_FIELDS}
    return read_fact({**fields, "predicate": predicate, "many": many, "roles": _roles(cells, predicate)}, source)


def _roles(cells: Iterable[tuple[Column, str]], predicate: str) -> list[Json]:
    found: list[Json] = []
    for column, cell in cells:
        name, text = fold_identifier(column.name), cell.strip()
        if name == "subject":
            kind = ValueKind.REFERENCE if column.kind is None else None
            found.append({"name": name, "value": Value(text, kind) if kind else column.value(text)})
        elif name == "object" and text:
            found.append({"name": name, "value": Column(predicate, column.kind).value(text)})
        elif name not in FACT_FIELDS:
            found += [{"name": column.name, "value": value} for value in column.values(cell)]
    return found


def split(cell: str) -> list[str]:
    """Split a cell at `;`; a literal `;` is written `\\;`."""
    return [part for piece in _SPLIT.split(cell) if (part := re.sub(r"\\([;|])", r"\1", piece).strip())]


# JSON Lines: one entity or fact per line, with every field, so that an export can be imported unchanged.


def read_jsonl(file: TextIO, source: str) -> Iterator[ParsedRow]:
    for line, text in enumerate(file, start=1):
        if text.strip():
            yield parse_row(line, partial(_item, text, source))


def _item(text: str, source: str) -> Entity | Fact:
    try:
        row = json.loads(readable(text).removeprefix("\ufeff"))
    except (ValueError, RecursionError) as error:
        raise InputError(f"is not JSON: {error}") from None
    if not isinstance(row, dict):
        raise InputError("is not a JSON object")
    kind = row.get("kind") or ("fact" if "predicate" in row else "entity")
    if kind not in ("fact", "entity"):
        raise InputError(f"is a '{str(kind)[:40]}'", hint="kind is entity or fact")
    if kind == "fact":
        return read_fact(row, source)
    return _ENTITY.validate_python({"id": "", **_given(row), "attributes": list(_attributes(row))})


def _attributes(row: Json) -> Iterator[Json]:
    """The attributes as objects; the short form is an object of values by name."""
    given = row.get("attributes") or []
    if isinstance(given, dict):
        for name, value in given.items():
            many = isinstance(value, list)
            for one in value if many else [value]:
                yield {"name": name, "value": _value(one, name), "many": many}
        return
    for item in given:
        yield {**_given(item), "value": _value(item.get("value"), item["name"])}


def read_fact(row: Json, source: str = "") -> Fact:
    """Parse a fact as written by `fact_object`, or with `subject` and `object` instead of roles."""
    predicate = row.get("predicate") or ""
    roles = [{**item, "value": _value(item.get("value"), predicate)} for item in row.get("roles") or ()]
    for name in () if roles else ("subject", "object"):
        if name in row:  # a subject given as a string is the name of an entity
            by_name = name == "subject" and isinstance(row[name], str)
            value = Value(row[name], ValueKind.REFERENCE) if by_name else _value(row[name], predicate)
            roles.append({"name": name, "value": value})
    given = _given(row)
    made = {
        "id": given.get("id", ""),
        "predicate": predicate,
        "roles": roles,
        "provenance": {**given, "source": row.get("source", source) or ""},
        "status": str(given.get("status", FactStatus.ASSERTED)).lower(),
    }
    return _FACT.validate_python(given | made)


def _given(row: Json) -> dict[str, Any]:
    """The fields that are not empty; the others have their defaults."""
    return {key: value for key, value in row.items() if value is not None and value != ""}


def _value(given: Any, about: str) -> Value | Json:
    """Parse a value: an object with all fields, a string or a number."""
    if isinstance(given, Value):
        return given
    if isinstance(given, bool) or given is None or isinstance(given, list):
        raise InputError(f"'{about}' has a value that is not a text, a number or an object")
    if isinstance(given, int | float):
        return Value(str(given), ValueKind.NUMBER, float(given))
    return value_of(given, about=about) if isinstance(given, str) else {"text": "", **_given(given)}


def entity_object(entity: Entity) -> dict[str, Any]:
    """An entity as JSON, without empty fields."""
    found = _ENTITY.dump_python(entity, mode="json")
    attributes = [_compact({**item, "value": _compact(item["value"])}) for item in found["attributes"]]
    return {"kind": "entity", **_compact({**found, "attributes": attributes})}


def _compact(row: Json) -> dict[str, Any]:
    """The fields that are set; a number that is 0 is."""
    return {key: value for key, value in row.items() if value or (value == 0 and value is not False)}


def fact_object(fact: Fact) -> dict[str, Any]:
    provenance, record = fact.provenance, fact.record
    found = {
        "kind": "fact",
        "id": fact.id,
        "predicate": fact.predicate,
        "roles": [
            {"name": role.name, "value": _compact(_VALUE.dump_python(role.value, mode="json"))} for role in fact.roles
        ],
        "text": fact.text or None,
        "confidence": fact.confidence,
        "status": fact.status.value,
        "many": fact.many or None,
        "source": provenance.source,
        "start": provenance.start,
        "end": provenance.end,
        "recorded": provenance.recorded and provenance.recorded.isoformat(),
        "record": record and {"p0": record.p0, "p1": record.p1, "bits": record.bits, "method": record.method},
        "superseded_by": fact.superseded_by or None,
        "valid_from": fact.valid_from and fact.valid_from.isoformat(),
        "valid_to": fact.valid_to and fact.valid_to.isoformat(),
    }
    return {key: value for key, value in found.items() if value is not None}


# Triples


def read_triples(file: TextIO, source: str) -> Iterator[ParsedRow]:
    """Tab-separated triples; a predicate with `*` can have several objects."""
    for line, text in enumerate(file, start=1):
        if text.strip() and not (line == 1 and text.lower().split() == ["subject", "predicate", "object"]):
            yield parse_row(line, partial(_triple, text, source))


def _triple(text: str, source: str) -> Fact:
    cells = [cell.strip() for cell in readable(text).removeprefix("\ufeff").rstrip("\r\n").split("\t")]
    if len(cells) != 3 or not all(cells):
        raise InputError("is not a subject, a predicate and an object separated by tabs")
    subject, predicate, told = cells
    name = predicate.rstrip("* ")
    roles = (Role("subject", Value(subject, ValueKind.REFERENCE)), Role("object", value_of(told, about=name)))
    return Fact("", name, roles, provenance=Provenance(source), many=predicate.endswith("*"))


READERS: dict[str, Callable[[TextIO, str], Iterator[ParsedRow]]] = {
    "csv": read_csv,
    "jsonl": read_jsonl,
    "triples": read_triples,
}

# Imports

BATCH = 1000  # rows per transaction
KEPT_ERRORS = 1000  # bad rows that are listed; further ones are only counted


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
            while batch := list(islice(rows, BATCH)):
                _write(connection, batch, token, done)
                on_batch(done)
            if done.failed:
                raise StrictImportError(done)
        return done
    while batch := list(islice(rows, BATCH)):
        with knowledge.writing() as connection:
            _write(connection, batch, token, done)
        on_batch(done)
    return done


def _write(connection: Connection, batch: Sequence[ParsedRow], token: str, done: ImportResult) -> None:
    for row in batch:
        if row.item is None:
            done.note(row)
    put, add = partial(entities.put_many, connection, batch=token), partial(facts.add_many, connection, batch=token)
    done.entities += _halved(connection, put, [row for row in batch if isinstance(row.item, Entity)], done)
    done.facts += _halved(connection, add, [row for row in batch if isinstance(row.item, Fact)], done)


def _halved(
    connection: Connection, write: Callable[[Any], Sequence[object]], rows: Sequence[ParsedRow], done: ImportResult
) -> int:
    """Write rows at once, and return how many were written; on failure bisect them to find the bad ones."""
    if not rows:
        return 0
    try:
        with connection.begin_nested():
            return len(write([row.item for row in rows]))
    except (InputError, IntegrityError) as error:
        if len(rows) == 1:
            done.note(ParsedRow(rows[0].line, error=str(error) if isinstance(error, InputError) else "conflicts"))
            return 0
    middle = len(rows) // 2
    return sum(_halved(connection, write, part, done) for part in (rows[:middle], rows[middle:]))


# Exports: JSON Lines hold everything, CSV and triples what fits into them.

PAGE = 1000  # rows in memory at a time while a store is exported
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
            subject, told = fact.role("subject"), fact.role("object")
            if subject is not None:
                named = {name: [r.value.text for r in fact.roles if r.name == name] for name in extra}
                found = fact_object(fact) | {"subject": _written(subject), "object": told.text if told else ""}
                cells = ["yes" if found.get(name) is True else str(found.get(name, "")) for name in _FACT_HEADER]
                yield _row([*cells, *("; ".join(map(_escaped, named[name])) for name in extra)])


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
    query = select(attributes.c.name, attributes.c.kind, attributes.c.many).distinct()
    for name, kind, several in connection.execute(query.where(attributes.c.superseded.is_(None))):
        kinds.setdefault(name, set()).add("ref" if kind == "reference" else kind)
        many[name] = many.get(name, False) or several
    return {name: (many[name], f":{kind}" if not rest else "") for name, (kind, *rest) in sorted(kinds.items())}


def _entities(connection: Connection) -> Iterator[Entity]:
    query = select(entities_table.c.no).order_by(entities_table.c.id)
    for page in connection.execute(query.execution_options(yield_per=PAGE)).scalars().partitions():
        loaded = entities.load(connection, page)
        yield from (loaded[no] for no in page)


def _facts(connection: Connection, *, history: bool = False) -> Iterator[Fact]:
    query = select(facts_table.c.no).order_by(facts_table.c.no)
    if not history:
        query = query.where(facts_table.c.status.in_(facts.VISIBLE_STATUSES))
    for page in connection.execute(query.execution_options(yield_per=PAGE)).scalars().partitions():
        loaded = {stored.no: stored.fact for stored in facts.load_facts(connection, facts_table.c.no, page)}
        yield from (loaded[no] for no in page)


WRITERS: dict[str, Callable[[Knowledge], Iterator[str]]] = {
    "jsonl": to_jsonl,
    "triples": to_triples,
    "csv-entities": entities_to_csv,
    "csv-facts": facts_to_csv,
}
