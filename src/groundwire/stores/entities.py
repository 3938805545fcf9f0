"""Entities, their attributes and predicates. Functions run inside the caller's transaction.

An entity with an id is identified by it, otherwise by name and type; an entity of unknown type takes the type
of a later one with the same name. So the same rows give the same entities, whatever the order of writing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from sqlalchemy import Connection, bindparam, select, update

from groundwire.errors import InputError
from groundwire.stores import names as naming
from groundwire.stores.database import insert_rows, last_number, lock_for_writing, select_in
from groundwire.stores.names import key_of
from groundwire.stores.tables import attributes, entities, names, predicates
from groundwire.stores.values import ValidityPeriod, checked_text, checked_value, columns, from_row, same_value
from groundwire.text.names import fold, fold_identifier
from groundwire.types import Attribute, Entity, Value, ValueKind

_PREDICATES = select(predicates)


class Predicates:
    """The predicates of one batch. Spelling variants (`works_in`, `worksIn`) share their cardinality."""

    def __init__(self, connection: Connection, wanted: Iterable[str]) -> None:
        self._connection = connection
        keys = {fold_identifier(name) for name in wanted}
        rows = list(select_in(connection, _PREDICATES, predicates.c.key, sorted(keys)))
        self.numbers = {row.name: int(row.no) for row in rows}
        self._many = {row.key for row in rows if row.many}

    def number(self, name: str) -> int:
        if name not in self.numbers:
            no = last_number(self._connection, predicates) + 1
            row = {"no": no, "name": name, "key": fold_identifier(name), "many": self.is_many(name)}
            insert_rows(self._connection, predicates, [row])
            self.numbers[name] = no
        return self.numbers[name]

    def is_many(self, name: str) -> bool:
        return fold_identifier(name) in self._many

    def set_many(self, name: str) -> None:
        if not self.is_many(name):
            self._many.add(fold_identifier(name))
            same = predicates.c.key == fold_identifier(name)
            self._connection.execute(update(predicates).where(same).values(many=True))


_TARGET = entities.alias()
_CURRENT_ATTRIBUTES = (
    select(attributes, _TARGET.c.id.label("target"))
    .join(_TARGET, _TARGET.c.no == attributes.c.reference, isouter=True)
    .where(attributes.c.superseded.is_(None))
    .order_by(attributes.c.no)
)


@dataclass(slots=True)
class AttributeState:
    """An attribute while a batch is written."""

    no: int
    attribute: Attribute
    reference: int | None
    batch: str = ""
    new: bool = False
    gone: bool = False
    now_many: bool = False

    @property
    def window(self) -> ValidityPeriod:
        return ValidityPeriod(self.attribute.valid_from, self.attribute.valid_to)


AttributeInput = tuple[int, Attribute, int | None]  # entity number, attribute, and number of the referenced entity


def _current_attributes(connection: Connection, numbers: Iterable[int]) -> Iterable[tuple[int, AttributeState]]:
    for row in select_in(connection, _CURRENT_ATTRIBUTES, attributes.c.entity, numbers):
        value = from_row(row, row.target)
        attribute = Attribute(row.name, value, row.many, row.valid_from, row.valid_to)
        yield row.entity, AttributeState(row.no, attribute, row.reference, row.batch)


def merge_attributes(connection: Connection, wanted: Sequence[AttributeInput], now: datetime, batch: str) -> None:
    """Add new attributes; a new value of a single-valued attribute supersedes the old one.

    Within one import (`batch`) that is an error: the rows are probably about two entities.
    """
    if not wanted:
        return
    called = Predicates(connection, {attribute.name for _, attribute, _ in wanted})
    for _, attribute, _ in wanted:
        called.number(attribute.name)
    states: dict[tuple[int, str], list[AttributeState]] = {}
    for no, standing in _current_attributes(connection, {no for no, _, _ in wanted}):
        states.setdefault((no, fold_identifier(standing.attribute.name)), []).append(standing)
    number = last_number(connection, attributes)
    for no, attribute, reference in wanted:
        others = states.setdefault((no, fold_identifier(attribute.name)), [])
        if _supersede_others(others, attribute, batch):
            number += 1
            many = attribute.many or any(o.attribute.many for o in others)
            new = AttributeState(number, replace(attribute, many=many), reference, batch, new=True)
            others.append(new)
    _write_attributes(connection, states, now, batch)


def _supersede_others(others: Sequence[AttributeState], attribute: Attribute, batch: str) -> bool:
    """Mark superseded attributes; returns false if the attribute is stored already."""
    many = attribute.many or any(o.attribute.many for o in others)
    window = ValidityPeriod(attribute.valid_from, attribute.valid_to)
    for other in others:
        other.now_many = other.now_many or (many and not other.attribute.many)
    alive = [o for o in others if not o.gone]
    for other in alive:
        if other.window == window and same_value(other.attribute.value, attribute.value):
            other.batch = batch or other.batch
            return False
    for other in () if many else [o for o in alive if o.window.meets(window)]:
        if batch and other.batch == batch:
            was, now = other.attribute.value.text[:40], attribute.value.text[:40]
            message = f"'{attribute.name}' was '{was}' and is now '{now}' in one import"
            raise InputError(message, hint="give two things of one name their ids, or mark the attribute with *")
        other.gone = True
    return True


def _write_attributes(
    connection: Connection, states: dict[tuple[int, str], list[AttributeState]], now: datetime, batch: str
) -> None:
    rows, changed = [], []
    for (entity, name_key), standing in states.items():
        for one in standing:
            attribute, superseded = one.attribute, now.replace(tzinfo=None) if one.gone else None
            state = {"many": attribute.many or one.now_many, "superseded": superseded, "batch": one.batch}
            if one.new:
                period = {"valid_from": attribute.valid_from, "valid_to": attribute.valid_to}
                name = {"entity": entity, "name": attribute.name, "name_key": name_key}
                row = {"no": one.no, "reference": one.reference, **name, **period}
                rows.append(columns(attribute.value) | state | row)
            elif one.gone or one.now_many or batch:
                changed.append({"number_": one.no, **state})
    insert_rows(connection, attributes, rows)
    if changed:
        connection.execute(update(attributes).where(attributes.c.no == bindparam("number_")), changed)


MAX_ID, MAX_NAME, MAX_TYPE, MAX_ALIASES = 500, 2000, 200, 10_000
_ENTITIES = select(entities)
_NAMES = select(names.c.entity, names.c.text).order_by(names.c.entity, names.c.position)
_SLUG = re.compile(r"[^\w+#.-]+")


@dataclass(slots=True)
class StoredEntity:
    """An entity while a batch is written."""

    no: int
    id: str
    type: str
    names: list[str] = field(default_factory=list)
    new: bool = False
    fresh_names: list[str] = field(default_factory=list)
    defined: bool = False
    changed: bool = False
    renamed: bool = False

    def add_name(self, name: str) -> None:
        """Add a name unless a variant of it exists."""
        if key_of(name) not in {key_of(known) for known in self.names}:
            self.names.append(name)
            self.fresh_names.append(name)

    def take_type(self, kind: str) -> None:
        if kind and not self.type:
            self.type, self.changed = kind, True

    def define(self, name: str) -> None:
        """Give an entity that was only referred to its proper name."""
        if not self.defined:
            self.defined = self.changed = True
            if self.names != [name]:
                self.names, self.fresh_names, self.renamed = [name], [name], not self.new


def put_many(connection: Connection, given: Sequence[Entity], *, batch: str = "") -> list[Entity]:
    """Write entities, adding aliases and attributes to stored ones. Returns the stored state."""
    lock_for_writing(connection)
    batch_entities = EntityBatch(connection)
    batch_entities.read([e.id for e in given], [e.name for e in given])
    entered = []
    for entity in map(_validated_entity, given):
        mine = batch_entities.by_id(entity) if entity.id else batch_entities.by_name(entity.name, entity.type)
        mine.define(entity.name)
        for alias in entity.aliases:
            mine.add_name(alias)
        entered.append(mine)
    wanted = [
        (mine.no, attribute) for mine, entity in zip(entered, given, strict=True) for attribute in entity.attributes
    ]
    resolved = batch_entities.refer([attribute.value for _, attribute in wanted])
    batch_entities.write()
    merge_attributes(
        connection,
        [
            (no, replace(attribute, value=value), batch_entities.number(value.entity))
            for (no, attribute), value in zip(wanted, resolved, strict=True)
        ],
        datetime.now(UTC),
        batch,
    )
    loaded = load(connection, [mine.no for mine in entered])
    return [loaded[mine.no] for mine in entered]


def load(connection: Connection, numbers: Iterable[int]) -> dict[int, Entity]:
    """Entities by row number, with all names and current attributes."""
    wanted = list(dict.fromkeys(numbers))
    rows = {row.no: row for row in select_in(connection, _ENTITIES, entities.c.no, wanted)}
    called: dict[int, list[str]] = {}
    for name in select_in(connection, _NAMES, names.c.entity, wanted):
        called.setdefault(name.entity, []).append(name.text)
    attributed: dict[int, list[Attribute]] = {}
    for no, standing in _current_attributes(connection, wanted):
        attributed.setdefault(no, []).append(standing.attribute)
    return {
        no: Entity(row.id, called[no][0], row.type, tuple(called[no][1:]), tuple(attributed.get(no, ())))
        for no in wanted
        if (row := rows.get(no)) is not None
    }


def numbers_of(connection: Connection, ids: Iterable[str]) -> dict[str, int]:
    rows = select_in(connection, _ENTITIES, entities.c.id, ids)
    return {row.id: row.no for row in rows}


class EntityBatch:
    """The entities of a batch: loaded once, changed in memory, written once."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._by_id: dict[str, StoredEntity] = {}
        self._by_name: dict[str, list[StoredEntity]] = {}
        self._by_alias: dict[str, list[StoredEntity]] = {}
        self._read_names: set[str] = set()
        self._next = last_number(connection, entities) + 1

    def read(self, ids: Iterable[str], called: Iterable[str]) -> None:
        """Load the entities that the ids and names may refer to, unless loaded before."""
        keys = {key_of(name) for name in called} - self._read_names
        self._read_names |= keys
        found = naming.by_key(self._connection, sorted(keys))
        numbers = {named.entity for same in found.values() for named in same}
        slugs = {slug(key) for key in keys}
        wanted_ids = ({i for i in ids if i} | slugs) - self._by_id.keys()
        numbers |= set(numbers_of(self._connection, sorted(wanted_ids)).values())
        known = {stored.no for stored in self._by_id.values()}
        rows = select_in(self._connection, _ENTITIES, entities.c.no, sorted(numbers - known))
        by_number = {row.no: StoredEntity(row.no, row.id, row.type, defined=row.defined) for row in rows}
        for row in select_in(self._connection, _NAMES, names.c.entity, sorted(by_number)):
            by_number[row.entity].names.append(row.text)
        for stored in by_number.values():
            self._file(stored)

    def _file(self, stored: StoredEntity) -> None:
        self._by_id[stored.id] = stored
        self._by_name.setdefault(key_of(stored.names[0]), []).append(stored)
        for alias in stored.names[1:]:
            self._by_alias.setdefault(key_of(alias), []).append(stored)

    def by_id(self, entity: Entity) -> StoredEntity:
        stored = self._by_id.get(entity.id)
        if stored is None:
            return self._make(entity.id, entity.name, entity.type)
        stored.take_type(entity.type)
        if stored.defined:
            stored.add_name(entity.name)
        return stored

    def by_name(self, name: str, kind: str) -> StoredEntity:
        """The entity of that name and type, created if there is none."""
        same = self._by_name.get(key_of(name), [])
        typed = [stored for stored in same if fold(stored.type) == fold(kind)]
        untyped = [stored for stored in same if not stored.type]
        chosen = (typed or untyped) if kind else (untyped or same)
        if len(chosen) > 1 and not (typed or untyped):
            raise ambiguous(name, chosen)
        if chosen:
            chosen[0].take_type(kind)
            return chosen[0]
        return self._make(self._free_id(name, kind), name, kind)

    def _make(self, identity: str, name: str, kind: str) -> StoredEntity:
        stored = StoredEntity(self._next, identity, kind, [name], new=True, fresh_names=[name])
        self._next += 1
        self._file(stored)
        return stored

    def _free_id(self, name: str, kind: str) -> str:
        """An unused id from the name; with the type or a number if it is taken."""
        base = slug(key_of(name))
        tries = [base, *([f"{base}@{slug(fold(kind))}"] if kind else [])]
        tries += [f"{base}~{count}" for count in range(2, 1000)]
        self.read(tries[:3], ())
        for identity in tries:
            if identity not in self._by_id and not numbers_of(self._connection, [identity]):
                return identity
        raise InputError(f"too many entities are called '{name[:40]}'", hint="give them ids")

    def refer(self, values: Sequence[Value]) -> list[Value]:
        """Resolve references to entity ids, creating missing entities."""
        pointing = [v for v in values if v.kind is ValueKind.REFERENCE]
        self.read([v.entity or v.text for v in pointing], [v.text for v in pointing])
        return [self._pointed(v) if v.kind is ValueKind.REFERENCE else v for v in values]

    def _pointed(self, value: Value) -> Value:
        if not value.entity:
            stored = self.meant(value.text)
            text = stored.names[0] if value.text == stored.id else value.text
            return replace(value, entity=stored.id, text=text)
        if value.entity not in self._by_id:
            self._make(value.entity, value.text or value.entity, "")
        return value

    def meant(self, text: str) -> StoredEntity:
        """Resolve a bare name: by name, then alias, then id; otherwise create an entity."""
        key = key_of(text)
        for found in (self._by_name.get(key, []), self._by_alias.get(key, [])):
            distinct = list({stored.no: stored for stored in found}.values())
            if len(distinct) > 1:
                raise ambiguous(text, distinct)
            if distinct:
                return distinct[0]
        return self._by_id.get(text) or self.by_name(text, "")

    def number(self, identity: str) -> int | None:
        stored = self._by_id.get(identity) if identity else None
        return stored.no if stored else None

    def write(self) -> None:
        """Write the changes."""
        every = list(self._by_id.values())
        new = [{"no": h.no, "id": h.id, "type": h.type, "defined": h.defined} for h in every if h.new]
        insert_rows(self._connection, entities, new)
        for stored in every:
            if stored.changed and not stored.new:
                now = {"type": stored.type, "defined": stored.defined}
                self._connection.execute(update(entities).where(entities.c.no == stored.no).values(now))
            if stored.renamed:
                naming.drop_names(self._connection, stored.no)
        fresh = [(h.no, h.names.index(n), n) for h in every for n in h.fresh_names]
        naming.add_names(self._connection, fresh)
        for stored in every:
            stored.new, stored.changed, stored.renamed, stored.fresh_names = False, False, False, []


def slug(key: str) -> str:
    """A folded name as an id: 'john smith' becomes john-smith."""
    return _SLUG.sub("-", key)[:MAX_ID].strip("-") or "-"


def ambiguous(name: str, found: Sequence[StoredEntity]) -> InputError:
    ids = ", ".join(h.id for h in found[:4])
    return InputError(f"'{name[:60]}' names {len(found)} entities ({ids})", hint="write the id instead")


def _validated_entity(entity: Entity) -> Entity:
    if not entity.name.strip():
        raise InputError("an entity needs a name")
    if len(entity.aliases) > MAX_ALIASES:
        raise InputError(f"'{entity.name[:40]}' has {len(entity.aliases):,} aliases")
    checked_text(entity.id, "an id", MAX_ID)
    checked_text(entity.type, "a type", MAX_TYPE)
    for name in (entity.name, *entity.aliases):
        checked_text(name, "a name", MAX_NAME)
    for attribute in entity.attributes:
        if not attribute.name.strip():
            raise InputError("an attribute needs a name")
        checked_text(attribute.name, "an attribute's name", MAX_TYPE)
        checked_value(attribute.value, f"'{attribute.name[:40]}'")
    return entity
