"""What facts and attributes are called, and whether a thing can have only one value of each."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, and_, bindparam, select, update

from groundwire.errors import InputError
from groundwire.stores import names as naming
from groundwire.stores.database import insert_rows, last_number, lock_for_writing, select_in
from groundwire.stores.names import key_of
from groundwire.stores.tables import attributes, entities, names, predicates
from groundwire.stores.values import (
    Window,
    checked_text,
    checked_value,
    columns,
    from_row,
    same_value,
    value_key,
)
from groundwire.text.names import fold, fold_identifier
from groundwire.types import Attribute, Entity, Value, ValueKind

_PREDICATES = select(predicates)


class Predicates:
    """The predicates of one batch. Two ways of writing one (`works_in`, `worksIn`) share its cardinality."""

    def __init__(self, connection: Connection, wanted: Iterable[str]) -> None:
        self._connection = connection
        keys = {predicate_key(name) for name in wanted}
        rows = list(select_in(connection, _PREDICATES, predicates.c.key, sorted(keys)))
        self.numbers = {row.name: int(row.no) for row in rows}
        self._many = {row.key for row in rows if row.many}

    def number(self, name: str) -> int:
        if name not in self.numbers:
            no = last_number(self._connection, predicates) + 1
            row = {"no": no, "name": name, "key": predicate_key(name), "many": self.is_many(name)}
            insert_rows(self._connection, predicates, [row])
            self.numbers[name] = no
        return self.numbers[name]

    def is_many(self, name: str) -> bool:
        return predicate_key(name) in self._many

    def set_many(self, name: str) -> None:
        if not self.is_many(name):
            self._many.add(predicate_key(name))
            same = predicates.c.key == predicate_key(name)
            self._connection.execute(update(predicates).where(same).values(many=True))


def predicate_key(name: str) -> str:
    return fold_identifier(name)


# Attributes of entities in the database: typed, one value or many, valid from and to.

_TARGET = entities.alias()
_CURRENT_ATTRIBUTES = (
    select(attributes, _TARGET.c.id.label("target"))
    .join(_TARGET, _TARGET.c.no == attributes.c.reference, isouter=True)
    .where(attributes.c.superseded.is_(None))
    .order_by(attributes.c.no)
)


@dataclass(slots=True)
class AttributeState:
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


AttributeInput = tuple[int, Attribute, int | None]
"""Whose it is, what it is, and the row of the entity it points at."""


def attributes_of(connection: Connection, numbers: Iterable[int]) -> dict[int, tuple[Attribute, ...]]:
    found: dict[int, list[Attribute]] = {}
    for no, standing in _current_attributes(connection, numbers):
        found.setdefault(no, []).append(standing.attribute)
    return {no: tuple(listed) for no, listed in found.items()}


def _current_attributes(
    connection: Connection, numbers: Iterable[int]
) -> Iterable[tuple[int, AttributeState]]:
    for row in select_in(connection, _CURRENT_ATTRIBUTES, attributes.c.entity, numbers):
        value = from_row(row, row.target)
        attribute = Attribute(row.name, value, row.many, row.valid_from, row.valid_to)
        yield row.entity, AttributeState(row.no, attribute, row.reference, row.batch)


def merge_attributes(
    connection: Connection, wanted: Sequence[AttributeInput], now: datetime, batch: str
) -> None:
    """Add what is new. Of an attribute with one value, a new value takes the place of the old one.

    Within one import (`batch`) it may not: nobody contradicts himself in one file, so two things are meant.
    """
    if not wanted:
        return
    called = Predicates(connection, {attribute.name for _, attribute, _ in wanted})
    for _, attribute, _ in wanted:
        called.number(attribute.name)
    held: dict[tuple[int, str], list[AttributeState]] = {}
    for no, standing in _current_attributes(connection, {no for no, _, _ in wanted}):
        held.setdefault((no, fold_identifier(standing.attribute.name)), []).append(standing)
    number = last_number(connection, attributes)
    for no, attribute, reference in wanted:
        others = held.setdefault((no, fold_identifier(attribute.name)), [])
        if _supersede_others(others, attribute, batch):
            number += 1
            many = attribute.many or any(o.attribute.many for o in others)
            new = AttributeState(number, replace(attribute, many=many), reference, batch, new=True)
            others.append(new)
    _write_attributes(connection, held, now, batch)


def _supersede_others(others: Sequence[AttributeState], attribute: Attribute, batch: str) -> bool:
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


def _write_attributes(
    connection: Connection, held: dict[tuple[int, str], list[AttributeState]], now: datetime, batch: str
) -> None:
    stamp = now.replace(tzinfo=None)
    rows, changed = [], []
    for (entity, name_key), standing in held.items():
        for one in standing:
            gone, many = stamp if one.gone else None, one.attribute.many or one.now_many
            if one.new:
                rows.append(_attribute_row(one, entity, name_key) | {"many": many, "superseded": gone})
            elif one.gone or one.now_many or batch:
                changed.append({"number_": one.no, "many": many, "superseded": gone, "batch": one.batch})
    insert_rows(connection, attributes, rows)
    if changed:
        connection.execute(update(attributes).where(attributes.c.no == bindparam("number_")), changed)


def _attribute_row(standing: AttributeState, entity: int, name_key: str) -> dict[str, Any]:
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


# Entities in the database. Every function works inside the caller's transaction.
#
# Who is meant: an entity with an id is that id's. Without one it is the entity of the same name and type; one
# whose type is not known yet takes the type of the newcomer. So the same rows give the same entities, in
# whatever order and by however many processes they are written.

MAX_ID, MAX_NAME, MAX_TYPE, MAX_ALIASES = 500, 2000, 200, 10_000
_ENTITIES = select(entities)
_NAMES = select(names.c.entity, names.c.text).order_by(names.c.entity, names.c.position)
_SLUG = re.compile(r"[^\w+#.-]+")


@dataclass(slots=True)
class StoredEntity:
    """An entity of the store while it is being written to."""

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
        """Another way of writing a name it has is none."""
        if key_of(name) not in {key_of(known) for known in self.names}:
            self.names.append(name)
            self.fresh_names.append(name)

    def define(self, name: str) -> None:
        """What was only referred to takes the name it is given; the other was how someone wrote it."""
        if not self.defined:
            self.defined = self.changed = True
            if self.names != [name]:
                self.names, self.fresh_names, self.renamed = [name], [name], not self.new


def put_many(connection: Connection, given: Sequence[Entity], *, batch: str = "") -> list[Entity]:
    """Write entities; aliases and attributes are added to what is there. Returns them as they stand."""
    lock_for_writing(connection)
    desk = EntityBatch(connection)
    desk.read([e.id for e in given], [e.name for e in given])
    held = []
    for entity in map(_validated_entity, given):
        mine = desk.by_id(entity) if entity.id else desk.by_name(entity.name, entity.type)
        mine.define(entity.name)
        for alias in entity.aliases:
            mine.add_name(alias)
        held.append(mine)
    wanted = [
        (mine.no, attribute)
        for mine, entity in zip(held, given, strict=True)
        for attribute in entity.attributes
    ]
    resolved = desk.refer([attribute.value for _, attribute in wanted])
    desk.write()
    merge_attributes(
        connection,
        [
            (no, replace(attribute, value=value), desk.number(value.entity))
            for (no, attribute), value in zip(wanted, resolved, strict=True)
        ],
        datetime.now(UTC),
        batch,
    )
    loaded = load(connection, [mine.no for mine in held])
    return [loaded[mine.no] for mine in held]


def load(connection: Connection, numbers: Iterable[int]) -> dict[int, Entity]:
    """Entities by row number, with all names and the attributes that stand."""
    wanted = list(dict.fromkeys(numbers))
    rows = {row.no: row for row in select_in(connection, _ENTITIES, entities.c.no, wanted)}
    called: dict[int, list[Any]] = {}
    for name in select_in(connection, _NAMES, names.c.entity, wanted):
        called.setdefault(name.entity, []).append(name)
    attributed = attributes_of(connection, wanted)
    found = {}
    for no in wanted:
        if no in rows:
            texts = [name.text for name in called.get(no, [])]
            found[no] = Entity(rows[no].id, texts[0], rows[no].type, tuple(texts[1:]), attributed.get(no, ()))
    return found


def numbers_of(connection: Connection, ids: Iterable[str]) -> dict[str, int]:
    rows = select_in(connection, _ENTITIES, entities.c.id, ids)
    return {row.id: row.no for row in rows}


def with_attribute(connection: Connection, name: str, value: str, kind: str, limit: int) -> list[int]:
    """Entities of a type whose attribute has a value. Empty type or name: any."""
    query = (
        select(attributes.c.entity)
        .distinct()
        .where(attributes.c.value_key == value_key(value), attributes.c.superseded.is_(None))
    )
    if name:
        query = query.where(attributes.c.name_key == fold_identifier(name))
    if kind:
        query = query.join(entities, and_(entities.c.no == attributes.c.entity, entities.c.type == kind))
    return list(connection.execute(query.order_by(attributes.c.entity).limit(limit)).scalars())


class EntityBatch:
    """What is being written to: read once for a whole batch, changed in memory, written once."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._by_id: dict[str, StoredEntity] = {}
        self._by_name: dict[str, list[StoredEntity]] = {}
        self._by_alias: dict[str, list[StoredEntity]] = {}
        self._read_names: set[str] = set()
        self._next = last_number(connection, entities) + 1

    def read(self, ids: Iterable[str], called: Iterable[str]) -> None:
        """Fetch the entities that could be meant; again only for what has not been asked for before."""
        keys = {key_of(name) for name in called} - self._read_names
        self._read_names |= keys
        found = naming.by_key(self._connection, sorted(keys))
        numbers = {named.entity for same in found.values() for named in same}
        slugs = {slug(key) for key in keys}
        wanted_ids = ({i for i in ids if i} | slugs) - self._by_id.keys()
        numbers |= set(numbers_of(self._connection, sorted(wanted_ids)).values())
        known = {held.no for held in self._by_id.values()}
        for held in self._fetch(numbers - known):
            self._file(held)

    def _fetch(self, numbers: set[int]) -> list[StoredEntity]:
        rows = select_in(self._connection, _ENTITIES, entities.c.no, sorted(numbers))
        held = {row.no: StoredEntity(row.no, row.id, row.type, defined=row.defined) for row in rows}
        for row in select_in(self._connection, _NAMES, names.c.entity, sorted(held)):
            held[row.entity].names.append(row.text)
        return list(held.values())

    def _file(self, held: StoredEntity) -> None:
        self._by_id[held.id] = held
        self._by_name.setdefault(key_of(held.names[0]), []).append(held)
        for alias in held.names[1:]:
            self._by_alias.setdefault(key_of(alias), []).append(held)

    def by_id(self, entity: Entity) -> StoredEntity:
        held = self._by_id.get(entity.id)
        if held is None:
            return self._make(entity.id, entity.name, entity.type)
        self._take_type(held, entity.type)
        if held.defined:
            held.add_name(entity.name)
        return held

    def by_name(self, name: str, kind: str) -> StoredEntity:
        """The one of that name and type, made where there is none."""
        same = self._by_name.get(key_of(name), [])
        typed = [held for held in same if fold(held.type) == fold(kind)]
        untyped = [held for held in same if not held.type]
        chosen = (typed or untyped) if kind else (untyped or same)
        if len(chosen) > 1 and not (typed or untyped):
            raise ambiguous(name, chosen)
        if chosen:
            self._take_type(chosen[0], kind)
            return chosen[0]
        return self._make(self._free_id(name, kind), name, kind)

    def _take_type(self, held: StoredEntity, kind: str) -> None:
        if kind and not held.type:
            held.type, held.changed = kind, True

    def _make(self, identity: str, name: str, kind: str) -> StoredEntity:
        held = StoredEntity(self._next, identity, kind, [name], new=True, fresh_names=[name])
        self._next += 1
        self._file(held)
        return held

    def _free_id(self, name: str, kind: str) -> str:
        """The name as an id; where another has it, with the type, or with a number."""
        base = slug(key_of(name))
        tries = [base, *([f"{base}@{slug(fold(kind))}"] if kind else [])]
        tries += [f"{base}~{count}" for count in range(2, 1000)]
        self.read(tries[:3], ())
        for identity in tries:
            if identity not in self._by_id and not numbers_of(self._connection, [identity]):
                return identity
        raise InputError(f"too many things are called '{name[:40]}'", hint="give them ids")

    def refer(self, values: Sequence[Value]) -> list[Value]:
        """Values whose references name an entity by its id, made where there is none yet."""
        pointing = [v for v in values if v.kind is ValueKind.REFERENCE]
        self.read([v.entity or v.text for v in pointing], [v.text for v in pointing])
        return [self._pointed(v) if v.kind is ValueKind.REFERENCE else v for v in values]

    def _pointed(self, value: Value) -> Value:
        if not value.entity:
            held = self.meant(value.text)
            text = held.names[0] if value.text == held.id else value.text
            return replace(value, entity=held.id, text=text)
        if value.entity not in self._by_id:
            self._make(value.entity, value.text or value.entity, "")
        return value

    def meant(self, text: str) -> StoredEntity:
        """Who is meant by a name alone: a name, else an alias, else an id, else someone new."""
        key = key_of(text)
        for found in (self._by_name.get(key, []), self._by_alias.get(key, [])):
            distinct = list({held.no: held for held in found}.values())
            if len(distinct) > 1:
                raise ambiguous(text, distinct)
            if distinct:
                return distinct[0]
        return self._by_id.get(text) or self.by_name(text, "")

    def number(self, identity: str) -> int | None:
        held = self._by_id.get(identity) if identity else None
        return held.no if held else None

    def write(self) -> None:
        """Bring the database to what is held here."""
        every = list(self._by_id.values())
        new = [{"no": h.no, "id": h.id, "type": h.type, "defined": h.defined} for h in every if h.new]
        insert_rows(self._connection, entities, new)
        for held in every:
            if held.changed and not held.new:
                now = {"type": held.type, "defined": held.defined}
                self._connection.execute(update(entities).where(entities.c.no == held.no).values(now))
            if held.renamed:
                naming.drop_names(self._connection, held.no)
        fresh = [(h.no, h.names.index(n), n) for h in every for n in h.fresh_names]
        naming.add_names(self._connection, fresh)
        for held in every:
            held.new, held.changed, held.renamed, held.fresh_names = False, False, False, []


def slug(key: str) -> str:
    """A folded name as an id: 'john smith' is john-smith."""
    return _SLUG.sub("-", key)[:MAX_ID].strip("-") or "-"


def ambiguous(name: str, held: Sequence[StoredEntity]) -> InputError:
    ids = ", ".join(h.id for h in held[:4])
    return InputError(f"'{name[:60]}' names {len(held)} entities ({ids})", hint="write the id instead")


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
