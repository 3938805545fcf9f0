"""Read entities and facts from CSV, JSON Lines and triples, and write them as JSON.

Files are read line by line. Undecodable bytes are passed through as surrogates, so that one bad character
costs one row.
"""

from __future__ import annotations

import codecs
import csv
import io
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, datetime
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, TextIO, TypeVar

from pydantic import TypeAdapter, ValidationError

from groundwire.errors import InputError
from groundwire.stores.values import known_kind, typed_value, value_of
from groundwire.text.controls import cell_text
from groundwire.text.names import fold_identifier
from groundwire.types import Attribute, Entity, Fact, FactStatus, Provenance, Role, Value, ValueKind

_SUFFIXES = {
    ".csv": "csv",
    ".tsv": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".triples": "triples",
}
T = TypeVar("T")
_MARKS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))


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


def parse_row(line: int, read: Callable[[], Iterator[Entity | Fact]]) -> Iterator[ParsedRow]:
    """The items of a row; an error affects this row only."""
    try:
        items = list(read())
    except InputError as error:
        yield ParsedRow(line, error=str(error))
        return
    for item in items:
        yield ParsedRow(line, item)


class UnreadableRow(InputError):
    """A row that is not valid in the encoding of the file."""


def readable(text: str) -> str:
    if not text.isascii() and any("\udc80" <= c <= "\udcff" for c in text):
        raise UnreadableRow("is not in the encoding of the file", hint="save it as UTF-8 or say --encoding")
    return text


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
_TRUE, _FALSE = ("1", "true", "yes", "many", "*"), ("", "0", "false", "no", "one")
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
    make = partial(_fact, source=source) if {"subject", "predicate"} <= fields else _entity
    line = reader.line_num + 1
    while (cells := _next(reader, line)) is not None:
        if isinstance(cells, ParsedRow):
            yield cells
        elif any(cell.strip() for cell in cells):
            yield from parse_row(line, lambda cells=cells: iter([make(_cells(columns, cells))]))  # type: ignore[misc]
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
        if column is not None:
            seen.add(fold_identifier(column.name))
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


def _entity(cells: Sequence[tuple[Column, str]]) -> Entity:
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


def _fact(cells: Sequence[tuple[Column, str]], source: str) -> Fact:
    plain = {fold_identifier(column.name): cell.strip() for column, cell in cells}
    for needed in ("subject", "predicate"):
        if not plain.get(needed):
            raise InputError(f"has no {needed}")
    predicate = plain["predicate"].rstrip("* ")
    return Fact(
        id=plain.get("id", ""),
        predicate=predicate,
        roles=tuple(_roles(cells, predicate)),
        confidence=_parsed(float, plain.get("confidence") or "1", "'{}' is not a valid confidence"),
        status=_status(plain.get("status") or FactStatus.ASSERTED),
        provenance=Provenance(
            plain.get("source") or source, _place(plain, "start"), _place(plain, "end"), _moment(plain)
        ),
        text=plain.get("text", ""),
        many=plain["predicate"].endswith("*") or _yes(plain.get("many", "")),
        superseded_by=plain.get("superseded by", ""),
        valid_from=_day(plain, "valid from"),
        valid_to=_day(plain, "valid to"),
    )


def _roles(cells: Iterable[tuple[Column, str]], predicate: str) -> Iterator[Role]:
    for column, cell in cells:
        name = fold_identifier(column.name)
        if name == "subject":
            kind = ValueKind.REFERENCE if column.kind is None else None
            yield Role(name, Value(cell.strip(), kind) if kind else column.value(cell.strip()))
        elif name == "object" and cell.strip():
            about = Column(predicate, column.kind)
            yield Role(name, about.value(cell.strip()))
        elif name not in FACT_FIELDS:
            yield from (Role(column.name, value) for value in column.values(cell))


def split(cell: str) -> list[str]:
    """Split a cell at `;`; a literal `;` is written `\\;`."""
    return [part for piece in _SPLIT.split(cell) if (part := re.sub(r"\\([;|])", r"\1", piece).strip())]


def _parsed(convert: Callable[[str], T], text: str, wrong: str, hint: str = "") -> T:
    """A cell's value; `wrong` says what an error says of it."""
    try:
        return convert(text)
    except ValueError:
        raise InputError(wrong.format(text[:40]), hint=hint) from None


def _status(text: str) -> FactStatus:
    known = ", ".join(FactStatus)
    return _parsed(lambda name: FactStatus(name.lower()), text, "'{}' is not a valid status", known)


def _day(plain: Mapping[str, str], name: str) -> date | None:
    text, wrong = plain.get(name), f"{name.replace(' ', '_')} '{{}}' is not a valid date"
    return _parsed(date.fromisoformat, text, wrong, "write 2024-02-29") if text else None


def _moment(plain: Mapping[str, str]) -> datetime | None:
    text, wrong = plain.get("recorded"), "recorded '{}' is not a valid time"
    return _parsed(datetime.fromisoformat, text, wrong, "write 2024-02-29T12:00:00Z") if text else None


def _place(plain: Mapping[str, str], name: str) -> int | None:
    text = plain.get(name, "")
    if text and not text.isdecimal():
        raise InputError(f"'{text[:40]}' is not a valid {name}")
    return int(text[:12]) if text else None


def _yes(text: str) -> bool:
    if text.lower() not in (*_TRUE, *_FALSE):
        raise InputError(f"many is '{text[:40]}'", hint="write yes or no")
    return text.lower() in _TRUE


# JSON Lines: one entity or fact per line, with every field, so that an export can be imported unchanged.

Json = Mapping[str, Any]
_ENTITY, _FACT, _VALUE = TypeAdapter(Entity), TypeAdapter(Fact), TypeAdapter(Value)


def read_jsonl(file: TextIO, source: str) -> Iterator[ParsedRow]:
    for line, text in enumerate(file, start=1):
        if text.strip():
            yield from parse_row(line, lambda text=text: _items(text, source))  # type: ignore[misc]


def _items(text: str, source: str) -> Iterator[Entity | Fact]:
    try:
        row = json.loads(readable(text).removeprefix("\ufeff"))
    except (ValueError, RecursionError) as error:
        raise InputError(f"is not JSON: {error}") from None
    if not isinstance(row, dict):
        raise InputError("is not a JSON object")
    kind = row.get("kind") or ("fact" if "predicate" in row else "entity")
    if kind not in ("fact", "entity"):
        raise InputError(f"is a '{str(kind)[:40]}'", hint="kind is entity or fact")
    try:
        yield read_fact(row, source) if kind == "fact" else _json_entity(row)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        raise InputError(f"'{'.'.join(map(str, first['loc']))}': {first['msg']}") from None
    except (TypeError, AttributeError, OverflowError) as error:  # a list where an object must stand
        raise InputError(f"is not a valid {kind}: {error}") from None


def _json_entity(row: Json) -> Entity:
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
    roles = [{**item, "value": _value(item.get("value"), predicate)} for item in row.get("roles") or ()] or [
        {"name": name, "value": _end(row[name], name, predicate)} for name in ("subject", "object") if name in row
    ]
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


def _end(given: Any, role: str, predicate: str) -> Value | Json:
    """Parse a role. A subject given as a string is the name of an entity."""
    if role == "subject" and isinstance(given, str):
        return Value(given, ValueKind.REFERENCE)
    return _value(given, predicate)


def _value(given: Any, about: str) -> Value | Json:
    """Parse a value: an object with all fields, a string or a number."""
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


def _value_object(value: Value) -> dict[str, Any]:
    return _compact(_VALUE.dump_python(value, mode="json"))


def _compact(row: Json) -> dict[str, Any]:
    """The fields that are set; a number that is 0 is."""
    return {key: value for key, value in row.items() if value or (value == 0 and value is not False)}


def fact_object(fact: Fact) -> dict[str, Any]:
    provenance, record = fact.provenance, fact.record
    found = {
        "kind": "fact",
        "id": fact.id,
        "predicate": fact.predicate,
        "roles": [{"name": role.name, "value": _value_object(role.value)} for role in fact.roles],
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


# Triples: tab-separated.


def read_triples(file: TextIO, source: str) -> Iterator[ParsedRow]:
    """Tab-separated triples; a predicate with `*` can have several objects."""
    for line, text in enumerate(file, start=1):
        if text.strip() and not (line == 1 and text.lower().split() == ["subject", "predicate", "object"]):
            yield from parse_row(line, lambda text=text: _tabbed(text, source))  # type: ignore[misc]


def _tabbed(text: str, source: str) -> Iterator[Fact]:
    cells = [cell.strip() for cell in readable(text).removeprefix("\ufeff").rstrip("\r\n").split("\t")]
    if len(cells) != 3 or not all(cells):
        raise InputError("is not a subject, a predicate and an object apart by tabs")
    subject, predicate, told = cells
    name = predicate.rstrip("* ")
    roles = (Role("subject", Value(subject, ValueKind.REFERENCE)), Role("object", value_of(told, about=name)))
    yield Fact("", name, roles, provenance=Provenance(source), many=predicate.endswith("*"))


READERS: dict[str, Callable[[TextIO, str], Iterator[ParsedRow]]] = {
    "csv": read_csv,
    "jsonl": read_jsonl,
    "triples": read_triples,
}
