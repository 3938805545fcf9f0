"""Attributes of entities in the database: typed, one value or many, valid from and to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, bindparam, select, update

from groundwire.errors import InputError
from groundwire.stores.database import among, insert_rows, last_number
from groundwire.stores.predicates import Predicates
from groundwire.stores.tables import attributes, entities
from groundwire.stores.values import Window, columns, from_row, same_value
from groundwire.text.names import label
from groundwire.types import Attribute

_TARGET = entities.alias()
_STANDING = (
    select(attributes, _TARGET.c.id.label("target"))
    .join(_TARGET, _TARGET.c.no == attributes.c.reference, isouter=True)
    .where(attributes.c.superseded.is_(None))
    .order_by(attributes.c.no)
)


@dataclass(slots=True)
class Standing:
    """An attribute of the store while another may take its place."""

    no: int
    attribute: Attribute
    reference: int | None
    batch: str = ""
    new: bool = False
    gone: bool = False
    now_many: bool = False

    @property
    def window(self) -> Window:
        return Window(self.attribute.valid_from, self.attribute.valid_to)


Wanted = tuple[int, Attribute, int | None]
"""Whose it is, what it is, and the row of the entity it points at."""


def attributes_of(connection: Connection, numbers: Iterable[int]) -> dict[int, tuple[Attribute, ...]]:
    found: dict[int, list[Attribute]] = {}
    for no, standing in _standing(connection, numbers):
        found.setdefault(no, []).append(standing.attribute)
    return {no: tuple(listed) for no, listed in found.items()}


def _standing(connection: Connection, numbers: Iterable[int]) -> Iterable[tuple[int, Standing]]:
    for row in among(connection, _STANDING, attributes.c.entity, numbers):
        value = from_row(row, row.target)
        attribute = Attribute(row.name, value, row.many, row.valid_from, row.valid_to)
        yield row.entity, Standing(row.no, attribute, row.reference, row.batch)


def merge_attributes(connection: Connection, wanted: Sequence[Wanted], now: datetime, batch: str) -> None:
    """Add what is new. Of an attribute with one value, a new value takes the place of the old one.

    Within one import (`batch`) it may not: nobody contradicts himself in one file, so two things are meant.
    """
    if not wanted:
        return
    called = Predicates(connection, {attribute.name for _, attribute, _ in wanted})
    for _, attribute, _ in wanted:
        called.number(attribute.name)
    held: dict[tuple[int, str], list[Standing]] = {}
    for no, standing in _standing(connection, {no for no, _, _ in wanted}):
        held.setdefault((no, label(standing.attribute.name)), []).append(standing)
    number = last_number(connection, attributes)
    for no, attribute, reference in wanted:
        others = held.setdefault((no, label(attribute.name)), [])
        if _makes_room(others, attribute, batch):
            number += 1
            many = attribute.many or any(o.attribute.many for o in others)
            new = Standing(number, replace(attribute, many=many), reference, batch, new=True)
            others.append(new)
    _write(connection, held, now, batch)


def _makes_room(others: Sequence[Standing], attribute: Attribute, batch: str) -> bool:
    """Whether it has to be added; what it takes the place of is gone then."""
    many = attribute.many or any(o.attribute.many for o in others)
    window = Window(attribute.valid_from, attribute.valid_to)
    for other in others:
        other.now_many = other.now_many or (many and not other.attribute.many)
    alive = [o for o in others if not o.gone]
    for other in alive:
        if other.window == window and same_value(other.attribute.value, attribute.value):
            other.batch = batch or other.batch
            return False
    for other in () if many else [o for o in alive if o.window.meets(window)]:
        if batch and other.batch == batch:
            raise _two_values(attribute, other.attribute)
        other.gone = True
    return True


def _two_values(new: Attribute, old: Attribute) -> InputError:
    said = f"'{new.name}' was '{old.value.text[:40]}' and is now '{new.value.text[:40]}' in one import"
    return InputError(said, hint="give two things of one name their ids, or mark the attribute with *")


def _write(
    connection: Connection, held: dict[tuple[int, str], list[Standing]], now: datetime, batch: str
) -> None:
    stamp = now.replace(tzinfo=None)
    rows, changed = [], []
    for (entity, name_key), standing in held.items():
        for one in standing:
            gone, many = stamp if one.gone else None, one.attribute.many or one.now_many
            if one.new:
                rows.append(_row(one, entity, name_key) | {"many": many, "superseded": gone})
            elif one.gone or one.now_many or batch:
                changed.append({"number_": one.no, "many": many, "superseded": gone, "batch": one.batch})
    insert_rows(connection, attributes, rows)
    if changed:
        connection.execute(update(attributes).where(attributes.c.no == bindparam("number_")), changed)


def _row(standing: Standing, entity: int, name_key: str) -> dict[str, Any]:
    attribute = standing.attribute
    return columns(attribute.value) | {
        "no": standing.no,
        "entity": entity,
        "name": attribute.name,
        "name_key": name_key,
        "reference": standing.reference,
        "batch": standing.batch,
        "valid_from": attribute.valid_from,
        "valid_to": attribute.valid_to,
    }
