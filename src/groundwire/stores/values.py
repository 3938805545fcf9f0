"""Typed values: parsing from text, comparison, and conversion to columns.

>>> value_of("3.5 km").number, value_of("3.5 km").unit, value_of("Paris").kind.value
(3500.0, 'm', 'text')
>>> value_of("March 15, 2023").day.isoformat(), value_of("1500", about="employees").kind.value
('2023-03-15', 'number')
"""

from __future__ import annotations

import re
from datetime import date
from math import isfinite
from typing import Any, NamedTuple

from sqlalchemy import Row

from groundwire.errors import InputError
from groundwire.text.dates import PartialDate, dates
from groundwire.text.lexicon import word_set
from groundwire.text.names import fold, fold_identifier
from groundwire.text.numbers import UNITS, numbers
from groundwire.types import Value, ValueKind

MAX_KEY = 200  # characters of an index key
MAX_READ = 60  # longer texts are never a number or a date
_DATED = word_set(
    """
    year date day since until founded established born birth died death started start ended end launched
    launch released release built opened closed created joined hired incorporated published made when
    season edition deadline due began begun from to
    """
)
_CODE = re.compile(r"0\d")
_KINDS = {
    **dict.fromkeys(("", "text", "string", "str"), ValueKind.TEXT),
    **dict.fromkeys(("ref", "reference", "entity"), ValueKind.REFERENCE),
    **dict.fromkeys(("date", "day", "year"), ValueKind.DATE),
    **dict.fromkeys(("number", "int", "integer", "float"), ValueKind.NUMBER),
}
"""The kinds that a header can declare, beside units."""


class ValidityPeriod(NamedTuple):
    """A validity period; None means unbounded."""

    start: date | None
    end: date | None

    def meets(self, other: ValidityPeriod) -> bool:
        mine, theirs = self.closed(), other.closed()
        return mine[0] <= theirs[1] and theirs[0] <= mine[1]

    def closed(self) -> tuple[date, date]:
        return self.start or date.min, self.end or date.max


def value_of(text: str, *, about: str = "") -> Value:
    """Parse a text that is exactly one number or date; anything else stays text.

    `about` is the name of the attribute: a bare "1500" is a year for `founded`, a number for `employees`.
    """
    plain = " ".join(text.split())
    if 0 < len(plain) <= MAX_READ:
        found = _as_date(plain, about) or _as_number(plain)
        if found is not None:
            return found
    return Value(plain)


def typed_value(text: str, kind: str) -> Value:
    """Parse a value of a declared kind: text, number, date, ref, or a unit for plain numbers."""
    plain = " ".join(text.split())
    declared = _KINDS.get(kind)
    if declared in (ValueKind.TEXT, ValueKind.REFERENCE):
        return Value(plain, declared)
    if declared is ValueKind.DATE:
        found = _as_date(plain, "date")
    else:
        unit = f" {kind}" if declared is None and plain[-1:].isdigit() else ""
        found = _as_number(f"{plain}{unit}")
    if found is None:
        raise InputError(f"'{plain[:40]}' is not a valid {kind}")
    return found


def known_kind(kind: str) -> bool:
    return kind in _KINDS or kind in UNITS


def same_value(a: Value, b: Value) -> bool:
    return identity(a) == identity(b)


def identity(value: Value) -> tuple[str, str]:
    """A normalised form in which different notations of a value are equal."""
    if value.kind is ValueKind.REFERENCE:
        return "reference", value.entity or fold(value.text)
    if value.kind is ValueKind.NUMBER and value.number is not None:
        return "number", f"{value.number:.12g} {value.unit}"
    if value.kind is ValueKind.DATE and value.day is not None:
        found = dates(value.text)
        if len(found) == 1 and found[0].year == value.day.year:
            return "date", f"{found[0].year}-{found[0].month}-{found[0].day}"
        return "date", f"{value.day.year}-{value.day.month}-{value.day.day}"
    return "text", fold(value.text)


def value_key(text: str) -> str:
    """The index key of a value, shortened to fit into an index."""
    return fold(text)[:MAX_KEY]


def columns(value: Value) -> dict[str, Any]:
    """The columns of a value, except the reference, whose column differs by table."""
    return {
        "kind": value.kind.value,
        "text": value.text,
        "number": value.number,
        "unit": value.unit,
        "day": value.day,
        "value_key": value_key(value.text),
    }


def from_row(row: Row[Any], entity: str | None) -> Value:
    return Value(row.text, ValueKind(row.kind), row.number, row.unit, row.day, entity or "")


def checked_value(value: Value, what: str) -> Value:
    """Reject values that a database cannot store unchanged."""
    checked_text(value.text, what)
    checked_text(value.unit, what)
    checked_text(value.entity, what, limit=500)
    if value.number is not None and not isfinite(value.number):
        raise InputError(f"{what} must be a finite number")
    return value


def checked_text(text: str, what: str, limit: int = 1_000_000) -> str:
    if "\0" in text or any("\ud800" <= c <= "\udfff" for c in text if c > "\ud7ff"):
        raise InputError(f"{what} contains NUL or surrogate characters")
    if len(text) > limit:
        raise InputError(f"{what} has {len(text):,} characters", hint=f"the limit is {limit:,}")
    return text


def _as_date(text: str, about: str) -> Value | None:
    found = dates(text)
    if len(found) != 1 or not _whole(text, found[0].start, found[0].end):
        return None
    first = found[0]
    if not first.year or first.years > 1 or not _meant(first, about):
        return None
    try:
        return Value(text, ValueKind.DATE, day=date(first.year, first.month or 1, first.day or 1))
    except ValueError:
        return None


def _meant(first: PartialDate, about: str) -> bool:
    """Four bare digits are a year only if the attribute is a date or unknown."""
    return bool(first.month) or not about or not _DATED.isdisjoint(fold_identifier(about).split())


def _as_number(text: str) -> Value | None:
    found = numbers(text)
    if len(found) != 1 or not _whole(text, found[0].start, found[0].end):
        return None
    first = found[0]
    if first.kind in ("ordinal", "fraction") or _CODE.match(text) or not isfinite(first.value):
        return None
    return Value(text, ValueKind.NUMBER, number=first.value, unit=first.unit)


def _whole(text: str, start: int, end: int) -> bool:
    return not text[:start].strip(" ~≈") and not text[end:].strip(" .")
