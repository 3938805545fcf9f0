"""JSON Lines: one entity or fact per line, with every field, so that an export can be imported unchanged."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, TextIO

from pydantic import TypeAdapter, ValidationError

from groundwire.errors import InputError
from groundwire.stores.io_csv import ParsedRow, parse_row, readable
from groundwire.stores.values import value_of
from groundwire.types import Attribute, Entity, Fact, FactStatus, Value, ValueKind

Json = Mapping[str, Any]
_ENTITY, _FACT = TypeAdapter(Entity), TypeAdapter(Fact)


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
        yield read_fact(row, source) if kind == "fact" else _entity(row)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        raise InputError(f"'{'.'.join(map(str, first['loc']))}': {first['msg']}") from None
    except (TypeError, AttributeError, OverflowError) as error:  # a list where an object must stand
        raise InputError(f"is not a valid {kind}: {error}") from None


def _entity(row: Json) -> Entity:
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
        {"name": name, "value": _end(row[name], name, predicate)}
        for name in ("subject", "object")
        if name in row
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
