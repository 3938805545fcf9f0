"""JSON Lines: one entity or fact per line, with every field, so that an export can be imported unchanged."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from typing import Any, TextIO

from groundwire.errors import InputError
from groundwire.stores.io_csv import ParsedRow, day_of, parse_row, readable, status_of, time_of
from groundwire.stores.values import value_of
from groundwire.types import Attribute, Entity, Fact, Provenance, Record, Role, Value, ValueKind

Json = Mapping[str, Any]
_MOST = sys.float_info.max


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
    yield _fact(row, source) if kind == "fact" else _entity(row)


def _entity(row: Json) -> Entity:
    aliases = row.get("aliases") or []
    if not isinstance(aliases, list) or not all(isinstance(alias, str) for alias in aliases):
        raise InputError("'aliases' must be a list of texts")
    name = _text(row, "name")
    if not name.strip():
        raise InputError("has no name")
    return Entity(_text(row, "id"), name, _text(row, "type"), tuple(aliases), tuple(_attributes(row)))


def _attributes(row: Json) -> Iterator[Attribute]:
    given = row.get("attributes") or []
    if isinstance(given, dict):
        for name, value in given.items():
            many = isinstance(value, list)
            yield from (Attribute(name, _value(v, name), many) for v in (value if many else [value]))
        return
    for item in _objects(given, "attributes"):
        name = _text(item, "name")
        value = _value(item.get("value"), name)
        yield Attribute(name, value, _flag(item, "many"), _day(item, "valid_from"), _day(item, "valid_to"))


def _fact(row: Json, source: str) -> Fact:
    predicate = _text(row, "predicate")
    roles = [
        Role(_text(item, "name"), _value(item.get("value"), predicate))
        for item in _objects(row.get("roles") or [], "roles")
    ]
    if not roles:
        roles = [
            Role(name, _end(row[name], name, predicate)) for name in ("subject", "object") if name in row
        ]
    return Fact(
        id=_text(row, "id"),
        predicate=predicate,
        roles=tuple(roles),
        confidence=_number(row, "confidence", 1.0),
        status=status_of(_text(row, "status")),
        provenance=Provenance(
            _text(row, "source") if "source" in row else source,
            _whole(row, "start"),
            _whole(row, "end"),
            time_of(_text(row, "recorded")),
        ),
        record=_record(row.get("record")),
        text=_text(row, "text"),
        many=_flag(row, "many"),
        superseded_by=_text(row, "superseded_by"),
        valid_from=_day(row, "valid_from"),
        valid_to=_day(row, "valid_to"),
    )


def read_fact(row: Json) -> Fact:
    """Parse a fact as written by `fact_object`."""
    return _fact(row, "")


def _end(given: Any, role: str, predicate: str) -> Value:
    """Parse a role. A subject given as a string is the name of an entity."""
    if role == "subject" and isinstance(given, str):
        return Value(given, ValueKind.REFERENCE)
    return _value(given, predicate)


def _value(given: Any, about: str) -> Value:
    """Parse a value: an object with all fields, a string or a number."""
    if isinstance(given, bool) or given is None or isinstance(given, list):
        raise InputError(f"'{about}' has a value that is not a text, a number or an object")
    if isinstance(given, int | float):
        return Value(str(given), ValueKind.NUMBER, _number({about: given}, about, None))
    if isinstance(given, str):
        return value_of(given, about=about)
    try:
        kind = ValueKind(given.get("kind", "text"))
    except ValueError:
        raise InputError(f"'{about}' has a value of an unknown kind", hint=", ".join(ValueKind)) from None
    number = _number(given, "number", None)
    return Value(
        _text(given, "text"), kind, number, _text(given, "unit"), _day(given, "day"), _text(given, "entity")
    )


def _record(given: Any) -> Record | None:
    if given is None:
        return None
    if not isinstance(given, dict):
        raise InputError("'record' must be an object")
    p0, p1, bits = (_number(given, key, None) for key in ("p0", "p1", "bits"))
    if p0 is None or p1 is None or bits is None:
        raise InputError("'record' needs p0, p1 and bits")
    return Record(p0, p1, bits, _text(given, "method"))


def _objects(given: Any, what: str) -> list[Json]:
    if not isinstance(given, list) or not all(isinstance(item, dict) for item in given):
        raise InputError(f"'{what}' must be a list of objects")
    return given


def _text(row: Json, key: str) -> str:
    value = row.get(key)
    if value is not None and not isinstance(value, str):
        raise InputError(f"'{key}' must be text")
    return value or ""


def _number(row: Json, key: str, default: float | None) -> Any:
    value = row.get(key)
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int | float) or not -_MOST <= value <= _MOST:
        raise InputError(f"'{key}' must be a number")
    return float(value)


def _whole(row: Json, key: str) -> int | None:
    value = row.get(key)
    if value is not None and (isinstance(value, bool) or not isinstance(value, int)):
        raise InputError(f"'{key}' must be a whole number")
    return value


def _flag(row: Json, key: str) -> bool:
    value = row.get(key, False)
    if not isinstance(value, bool):
        raise InputError(f"'{key}' must be true or false")
    return value


def _day(row: Json, key: str) -> Any:
    return day_of(_text(row, key), key)


def entity_object(entity: Entity) -> dict[str, Any]:
    """An entity as JSON, without empty fields."""
    found = {
        "kind": "entity",
        "id": entity.id,
        "name": entity.name,
        "type": entity.type,
        "aliases": list(entity.aliases),
        "attributes": [_attribute_object(a) for a in entity.attributes],
    }
    return {key: value for key, value in found.items() if value}


def _attribute_object(attribute: Attribute) -> dict[str, Any]:
    found = {
        "name": attribute.name,
        "value": value_object(attribute.value),
        "many": attribute.many,
        "valid_from": attribute.valid_from and attribute.valid_from.isoformat(),
        "valid_to": attribute.valid_to and attribute.valid_to.isoformat(),
    }
    return {key: value for key, value in found.items() if value}


def value_object(value: Value) -> dict[str, Any]:
    found = {
        "text": value.text,
        "kind": value.kind.value,
        "number": value.number,
        "unit": value.unit,
        "day": value.day and value.day.isoformat(),
        "entity": value.entity,
    }
    return {key: item for key, item in found.items() if item not in ("", None)}


def fact_object(fact: Fact) -> dict[str, Any]:
    provenance, record = fact.provenance, fact.record
    found = {
        "kind": "fact",
        "id": fact.id,
        "predicate": fact.predicate,
        "roles": [{"name": role.name, "value": value_object(role.value)} for role in fact.roles],
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
