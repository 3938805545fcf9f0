"""Read entities and facts from CSV, and what all readers share: rows, encodings and errors by line.

Files are read line by line. Undecodable bytes are passed through as surrogates, so that one bad character
costs one row.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, datetime
from itertools import chain
from pathlib import Path
from typing import BinaryIO, TextIO

from groundwire.errors import InputError
from groundwire.stores.values import known_kind, typed_value, value_of
from groundwire.text.controls import cell_text
from groundwire.text.names import fold_identifier
from groundwire.types import Attribute, Entity, Fact, FactStatus, Provenance, Role, Value, ValueKind

FORMATS = ("csv", "jsonl", "triples", "nt")
_SUFFIXES = {
    ".csv": "csv",
    ".tsv": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".nt": "nt",
    ".triples": "triples",
}
_MARKS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))


@dataclass(frozen=True, slots=True)
class ParsedRow:
    """The entity or fact of one row, or the error."""

    line: int
    item: Entity | Fact | None = None
    error: str = ""


def format_of(path: Path, given: str = "") -> str:
    found = given or _SUFFIXES.get(path.suffix.lower(), "")
    if found not in FORMATS:
        what = f"unknown format '{given}'" if given else f"cannot tell the format of {path} from its name"
        raise InputError(what, hint=f"--format {', '.join(FORMATS)}")
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
    make = _maker(fields, source)
    line = reader.line_num + 1
    while (cells := _next(reader, line)) is not None:
        if isinstance(cells, ParsedRow):
            yield cells
        elif any(cell.strip() for cell in cells):
            yield from parse_row(line, lambda cells=cells: make(_cells(columns, cells)))  # type: ignore[misc]
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


def _maker(fields: set[str], source: str) -> _Maker:
    if "subject" in fields and "predicate" in fields:
        return _Maker(facts=True, source=source)
    if "name" in fields:
        return _Maker(facts=False, source=source)
    raise InputError("the header names no column 'name' (entities) or 'subject' and 'predicate' (facts)")


@dataclass(frozen=True, slots=True)
class _Maker:
    facts: bool
    source: str

    def __call__(self, cells: Sequence[tuple[Column, str]]) -> Iterator[Entity | Fact]:
        yield _fact(cells, self.source) if self.facts else _entity(cells)


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
        confidence=number(plain.get("confidence") or "1", "confidence"),
        status=status_of(plain.get("status", "")),
        provenance=Provenance(
            plain.get("source") or source, _place(plain, "start"), _place(plain, "end"), _moment(plain)
        ),
        text=plain.get("text", ""),
        many=plain["predicate"].endswith("*") or _yes(plain.get("many", "")),
        superseded_by=plain.get("superseded by", ""),
        valid_from=day_of(plain.get("valid from", ""), "valid_from"),
        valid_to=day_of(plain.get("valid to", ""), "valid_to"),
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


def number(text: str, what: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InputError(f"'{text[:40]}' is not a valid {what}") from None


def status_of(text: str) -> FactStatus:
    try:
        return FactStatus(text.lower()) if text else FactStatus.ASSERTED
    except ValueError:
        raise InputError(f"'{text[:40]}' is not a valid status", hint=", ".join(FactStatus)) from None


def day_of(text: str, what: str) -> date | None:
    try:
        return date.fromisoformat(text) if text else None
    except ValueError:
        raise InputError(f"{what} '{text[:40]}' is not a valid date", hint="write 2024-02-29") from None


def time_of(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text) if text else None
    except ValueError:
        raise InputError(
            f"recorded '{text[:40]}' is not a valid time", hint="write 2024-02-29T12:00:00Z"
        ) from None


def _moment(plain: Mapping[str, str]) -> datetime | None:
    return time_of(plain.get("recorded", ""))


def _place(plain: Mapping[str, str], name: str) -> int | None:
    text = plain.get(name, "")
    if text and not text.isdecimal():
        raise InputError(f"'{text[:40]}' is not a valid {name}")
    return int(text[:12]) if text else None


def _yes(text: str) -> bool:
    if text.lower() not in (*_TRUE, *_FALSE):
        raise InputError(f"many is '{text[:40]}'", hint="write yes or no")
    return text.lower() in _TRUE
