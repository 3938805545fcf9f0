"""Facts in the database: identity, queries and writing. Functions run inside the caller's transaction.

A fact written twice is stored once. If only one value can hold, a new fact supersedes the old one, which
stays as history. Facts that are `pending` or `unverified` supersede nothing until they get a verdict.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from hashlib import blake2b
from math import isfinite
from typing import Any, NamedTuple

from sqlalchemy import (
    BindParameter,
    Column,
    ColumnElement,
    Connection,
    Row,
    and_,
    bindparam,
    delete,
    or_,
    select,
    update,
)

from groundwire.errors import InputError
from groundwire.stores.database import insert_rows, last_number, lock_for_writing, select_in
from groundwire.stores.entities import EntityBatch, Predicates, numbers_of, predicate_key
from groundwire.stores.tables import entities, facts, names, predicates, roles
from groundwire.stores.values import ValidityPeriod, checked_text, checked_value, columns, from_row, identity, value_key
from groundwire.text.names import fold
from groundwire.types import Fact, FactStatus, Pattern, Provenance, Record, Role

SUBJECT = "subject"
_VALUES = frozenset(("object", "since", "until"))
"""Roles that hold the value. All other roles identify what the fact is about, so they belong to the slot."""


def content_digest(fact: Fact) -> bytes:
    """A digest of the statement, independent of notation, source, confidence and status."""
    provenance = sorted(_role_digest_part(role) for role in fact.roles) or [fold(fact.text)]
    return _digest([predicate_key(fact.predicate), str(fact.valid_from), str(fact.valid_to), *provenance])


def slot_digest(fact: Fact) -> bytes | None:
    """A digest that is equal for facts of which only one can hold; None without a subject and an object."""
    if fact.role(SUBJECT) is None or fact.role("object") is None:
        return None
    roles = sorted(_role_digest_part(role) for role in fact.roles if role.name not in _VALUES)
    return _digest([predicate_key(fact.predicate), *roles])


def _role_digest_part(role: Role) -> str:
    kind, worth = identity(role.value)
    return f"{role.name}\x1f{kind}\x1f{worth}"


def _digest(parts: Iterable[str]) -> bytes:
    return blake2b("\x1e".join(parts).encode(), digest_size=16).digest()


VISIBLE_STATUSES = ("verified", "asserted", "unverified")
_FACTS = select(facts, predicates.c.name.label("predicate_name"), predicates.c.many.label("predicate_many")).join(
    predicates, predicates.c.no == facts.c.predicate
)
_ROLES = (
    select(roles, entities.c.id.label("target"))
    .join(entities, entities.c.no == roles.c.entity, isouter=True)
    .order_by(roles.c.fact, roles.c.position)
)
# The concatenation keeps the query planner from using the index on status, which is not selective.
_STANDS = facts.c.status.concat("").in_(VISIBLE_STATUSES)
_WANTED: BindParameter[Any] = bindparam("wanted", expanding=True)
_ROLE_OF_STANDING = (
    select(roles.c.fact)
    .join(facts, facts.c.no == roles.c.fact)
    .where(_STANDS)
    .distinct()
    .order_by(roles.c.fact)
    .limit(bindparam("most"))
)
_BY_ENTITY = _ROLE_OF_STANDING.where(roles.c.entity.in_(_WANTED))
_BY_NAME = _ROLE_OF_STANDING.where(roles.c.value_key.in_(_WANTED), roles.c.kind != "reference")
_KEYS = select(names.c.key)
LoadedFact = tuple[int, Fact, bytes, bytes | None, str]
"""Row number, fact, content digest, slot digest and import batch."""


def get(connection: Connection, fact_id: str) -> Fact | None:
    return next(iter(read_facts(connection, facts.c.id == fact_id)), None)


def list_facts(
    connection: Connection, *, status: FactStatus | None = None, limit: int = 100, after: str = ""
) -> list[Fact]:
    """Facts, newest first; `after` is the id of the last fact of the previous page."""
    query = _FACTS.order_by(facts.c.no.desc()).limit(limit)
    if status is not None:
        query = query.where(facts.c.status == status.value)
    if after:
        query = query.where(facts.c.no < select(facts.c.no).where(facts.c.id == after).scalar_subquery())
    return [fact for _, fact, *_ in _loaded(connection, list(connection.execute(query)))]


def read_facts(connection: Connection, condition: ColumnElement[bool], limit: int = 1000) -> list[Fact]:
    query = _FACTS.where(condition).order_by(facts.c.no).limit(limit)
    return [fact for _, fact, *_ in _loaded(connection, list(connection.execute(query)))]


def load_facts(connection: Connection, column: Column[Any], wanted: Iterable[Any]) -> list[LoadedFact]:
    """The facts whose column is one of these values, with their digests."""
    return _loaded(connection, list(select_in(connection, _FACTS, column, wanted)))


def history(connection: Connection, fact_id: str, limit: int = 1000) -> list[Fact]:
    """A fact with all facts it superseded and that superseded it, oldest first."""
    slot = select(facts.c.slot).where(facts.c.id == fact_id).scalar_subquery()
    return read_facts(connection, or_(facts.c.id == fact_id, facts.c.slot == slot), limit)


def facts_about(connection: Connection, ids: Sequence[str], limit: int) -> list[Fact]:
    """Current facts in which an entity has a role, by reference or by one of its names as text."""
    numbers = sorted(numbers_of(connection, ids).values())
    if not numbers:
        return []
    found = set(connection.execute(_BY_ENTITY, {"wanted": numbers, "most": limit}).scalars())
    keys = sorted({row.key for row in select_in(connection, _KEYS, names.c.entity, numbers)})
    found.update(connection.execute(_BY_NAME, {"wanted": keys, "most": limit}).scalars())
    return _by_numbers(connection, sorted(found)[:limit])


def _by_numbers(connection: Connection, numbers: Sequence[int]) -> list[Fact]:
    loaded = load_facts(connection, facts.c.no, numbers)
    return [fact for _, fact, *_ in sorted(loaded, key=lambda found: found[0])]


def match_facts(connection: Connection, pattern: Pattern) -> list[Fact]:
    """Facts by entity, role, predicate and value.

    The role is the entity's, or the value's if no entity is given.
    """
    query = select(facts.c.no).order_by(facts.c.no).limit(pattern.limit).distinct()
    if not pattern.history:
        query = query.where(_STANDS)
    if pattern.predicate:
        same = select(predicates.c.no).where(predicates.c.key == predicate_key(pattern.predicate))
        narrow = facts.c.predicate + 0 if pattern.entity or pattern.value else facts.c.predicate
        query = query.where(narrow.in_(same))
    if pattern.entity:
        end = roles.alias()
        theirs = [end.c.name == pattern.role] if pattern.role else []
        query = query.join(end, end.c.fact == facts.c.no).where(_is(connection, end, pattern.entity), *theirs)
    if pattern.value or (pattern.role and not pattern.entity):
        end = roles.alias()
        asked = [end.c.value_key == value_key(pattern.value)] if pattern.value else []
        asked += [end.c.name == pattern.role] if pattern.role and not pattern.entity else []
        query = query.join(end, end.c.fact == facts.c.no).where(*asked)
    return _by_numbers(connection, list(connection.execute(query).scalars()))


def _is(connection: Connection, end: Any, identity: str) -> ColumnElement[bool]:
    number = numbers_of(connection, [identity]).get(identity, -1)
    keys = list(connection.execute(select(names.c.key).where(names.c.entity == number)).scalars())
    return or_(end.c.entity == number, and_(end.c.value_key.in_(keys), end.c.kind != "reference"))


def _loaded(connection: Connection, rows: Sequence[Row[Any]]) -> list[LoadedFact]:
    ends: dict[int, list[Role]] = {}
    for end in select_in(connection, _ROLES, roles.c.fact, [row.no for row in rows]):
        ends.setdefault(end.fact, []).append(Role(end.name, from_row(end, end.target)))
    return [(row.no, _fact(row, tuple(ends.get(row.no, ()))), row.content, row.slot, row.batch) for row in rows]


def _fact(row: Row[Any], ends: tuple[Role, ...]) -> Fact:
    record = None if row.p0 is None else Record(row.p0, row.p1, row.bits, row.method)
    return Fact(
        id=row.id,
        predicate=row.predicate_name,
        roles=ends,
        confidence=row.confidence,
        status=FactStatus(row.status),
        provenance=Provenance(row.source, row.start, row.end, row.recorded.replace(tzinfo=UTC)),
        record=record,
        text=row.text,
        many=row.many or row.predicate_many,
        superseded_by=row.superseded_by,
        valid_from=row.valid_from,
        valid_to=row.valid_to,
    )


STANDING = (FactStatus.VERIFIED, FactStatus.ASSERTED, FactStatus.UNVERIFIED)
_SETTLED = (FactStatus.VERIFIED, FactStatus.ASSERTED)
_GONE = (FactStatus.SUPERSEDED, FactStatus.RETRACTED)
_RANK = {status: rank for rank, status in enumerate(FactStatus)}
MAX_ROLES, MAX_LABEL = 1000, 500


@dataclass(slots=True)
class StoredFact:
    """A fact, stored or new, while a batch is written."""

    no: int
    fact: Fact
    content: bytes
    slot: bytes | None
    batch: str
    new: bool = False
    changed: bool = False

    @property
    def window(self) -> ValidityPeriod:
        return ValidityPeriod(self.fact.valid_from, self.fact.valid_to)


class FactInput(NamedTuple):
    """A fact to be written, with its digests."""

    fact: Fact
    content: bytes
    slot: bytes | None

    @classmethod
    def of(cls, fact: Fact) -> FactInput:
        return cls(fact, content_digest(fact), slot_digest(fact))


def add(connection: Connection, fact: Fact) -> Fact:
    """Write one fact and return it with its id, or the stored fact if it exists."""
    return add_many(connection, [fact])[0]


def add_many(connection: Connection, given: Sequence[Fact], *, batch: str = "") -> list[Fact]:
    """Write facts in order.

    `batch` identifies an import. Several values in one import do not supersede each other: the predicate is
    then marked as multi-valued, since a file is assumed not to contradict itself.
    """
    lock_for_writing(connection)
    batch_entities, now = EntityBatch(connection), datetime.now(UTC)
    ready = _with_references(batch_entities, [_validated_fact(fact, now) for fact in given])
    batch_entities.write()
    entries = [FactInput.of(fact) for fact in ready]
    fact_batch = FactBatch(connection, batch_entities, entries, batch)
    written = [fact_batch.enter(entry) for entry in entries]
    fact_batch.write()
    return [stored.fact for stored in written]


def apply_verdict(
    connection: Connection, fact_id: str, *, status: FactStatus, confidence: float, record: Record | None
) -> Fact | None:
    """Store the verdict on a fact; if it is accepted, it supersedes the previous one."""
    lock_for_writing(connection)
    found = read_facts(connection, facts.c.id == fact_id)
    if not found:
        return None
    judged = replace(found[0], status=status, confidence=confidence, record=record)
    entry = FactInput.of(judged)
    fact_batch = FactBatch(connection, EntityBatch(connection), [entry], "")
    stored = fact_batch.enter(entry, force=True)
    fact_batch.write()
    return stored.fact


def retract(connection: Connection, fact_id: str) -> Fact | None:
    """Retract a fact; it stays as history."""
    lock_for_writing(connection)
    same = facts.c.id == fact_id
    connection.execute(update(facts).where(same).values(status=FactStatus.RETRACTED.value))
    return next(iter(read_facts(connection, same)), None)


def remove(connection: Connection, fact_id: str) -> Fact | None:
    """Delete a fact without a trace."""
    lock_for_writing(connection)
    found = load_facts(connection, facts.c.id, [fact_id])
    if not found:
        return None
    no, fact, *_ = found[0]
    connection.execute(delete(roles).where(roles.c.fact == no))
    connection.execute(delete(facts).where(facts.c.no == no))
    return fact


class FactBatch:
    """The facts that a batch touches: loaded once, changed in memory, written once."""

    def __init__(
        self, connection: Connection, batch_entities: EntityBatch, given: Sequence[FactInput], batch: str
    ) -> None:
        self._connection = connection
        self._entities = batch_entities
        self._batch = batch
        self._predicates = Predicates(connection, {entry.fact.predicate for entry in given})
        self._by_content: dict[bytes, StoredFact] = {}
        self._by_slot: dict[bytes, list[StoredFact]] = {}
        self._by_id: dict[str, StoredFact] = {}
        self._next = last_number(connection, facts) + 1
        self._fetch(facts.c.content, [entry.content for entry in given])
        self._fetch(facts.c.id, [entry.fact.id for entry in given if entry.fact.id])
        self._fetch(facts.c.slot, [e.slot for e in given if e.slot and not self._is_many(e.fact)])

    def _is_many(self, fact: Fact) -> bool:
        return fact.many or self._predicates.is_many(fact.predicate)

    def _fetch(self, column: Any, wanted: Sequence[Any]) -> None:
        for no, fact, content, slot, batch in load_facts(self._connection, column, wanted):
            if content not in self._by_content:
                self._file(StoredFact(no, fact, content, slot, batch))

    def _file(self, stored: StoredFact) -> None:
        self._by_content[stored.content] = stored
        self._by_id[stored.fact.id] = stored
        if stored.slot:
            self._by_slot.setdefault(stored.slot, []).append(stored)

    def enter(self, entry: FactInput, *, force: bool = False) -> StoredFact:
        fact = entry.fact
        if fact.many:
            self._predicates.set_many(fact.predicate)
        stored = self._by_content.get(entry.content)
        if stored is None:
            stored = self._new(entry)
        else:
            _agree(stored, fact, force=force)
            stored.batch, stored.changed = self._batch or stored.batch, True
        if stored.fact.status in _SETTLED:
            self._take_place(stored)
        if not stored.fact.many and self._predicates.is_many(fact.predicate):
            stored.fact = replace(stored.fact, many=True)
        return stored

    def _new(self, entry: FactInput) -> StoredFact:
        fact, content, slot = entry
        identity = fact.id or content.hex()
        if identity in self._by_id:
            raise InputError(f"the id '{identity[:60]}' belongs to another fact", hint="leave the id out")
        stored = StoredFact(self._next, replace(fact, id=identity), content, slot, self._batch, new=True)
        self._next += 1
        self._file(stored)
        return stored

    def _take_place(self, stored: StoredFact) -> None:
        """Supersede current facts that cannot hold at the same time."""
        if stored.slot is None or self._predicates.is_many(stored.fact.predicate):
            return
        rivals = [
            other
            for other in self._by_slot[stored.slot]
            if other is not stored and other.fact.status in STANDING and other.window.meets(stored.window)
        ]
        if self._batch and any(other.batch == self._batch for other in rivals):
            self._predicates.set_many(stored.fact.predicate)
            return
        for other in rivals:
            other.fact = replace(other.fact, status=FactStatus.SUPERSEDED, superseded_by=stored.fact.id)
            other.changed = True

    def write(self) -> None:
        entered = list(self._by_content.values())
        rows = [self._row(stored) for stored in entered if stored.new]
        insert_rows(self._connection, facts, rows)
        insert_rows(self._connection, roles, [row for h in entered if h.new for row in self._role_rows(h)])
        changed = [{**_shared(stored), "number_": stored.no} for stored in entered if stored.changed and not stored.new]
        if changed:
            self._connection.execute(update(facts).where(facts.c.no == bindparam("number_")), changed)

    def _row(self, stored: StoredFact) -> dict[str, Any]:
        fact = stored.fact
        return _shared(stored) | {
            "no": stored.no,
            "id": fact.id,
            "content": stored.content,
            "slot": stored.slot,
            "predicate": self._predicates.number(fact.predicate),
            "text": fact.text,
            "valid_from": fact.valid_from,
            "valid_to": fact.valid_to,
        }

    def _role_rows(self, stored: StoredFact) -> list[dict[str, Any]]:
        return [
            columns(role.value)
            | {
                "fact": stored.no,
                "position": position,
                "name": role.name,
                "entity": self._entities.number(role.value.entity),
            }
            for position, role in enumerate(stored.fact.roles)
        ]


def _shared(stored: StoredFact) -> dict[str, Any]:
    """The columns that can change."""
    fact, provenance, record = stored.fact, stored.fact.provenance, stored.fact.record
    return {
        "confidence": fact.confidence,
        "status": fact.status.value,
        "source": provenance.source,
        "start": provenance.start,
        "end": provenance.end,
        "recorded": provenance.recorded.astimezone(UTC).replace(tzinfo=None) if provenance.recorded else None,
        "p0": record.p0 if record else None,
        "p1": record.p1 if record else None,
        "bits": record.bits if record else None,
        "method": record.method if record else "",
        "many": fact.many,
        "superseded_by": fact.superseded_by,
        "batch": stored.batch,
    }


def _agree(stored: StoredFact, fact: Fact, *, force: bool) -> None:
    """Merge into a stored fact: take over a better status or a verdict, keep the time of recording."""
    old = stored.fact
    back = old.status in _GONE and fact.status not in _GONE
    if not (force or back or _RANK[fact.status] <= _RANK[old.status]):
        return
    provenance = replace(fact.provenance, recorded=old.provenance.recorded)
    stored.fact = replace(
        old,
        status=fact.status,
        confidence=fact.confidence,
        record=fact.record or (None if force else old.record),
        provenance=provenance if provenance.source or provenance.start is not None else old.provenance,
        superseded_by=(fact.superseded_by or old.superseded_by) if fact.status in _GONE else "",
    )


def _with_references(batch_entities: EntityBatch, given: Sequence[Fact]) -> list[Fact]:
    values = iter(batch_entities.refer([role.value for fact in given for role in fact.roles]))
    found = []
    for fact in given:
        ends = tuple(Role(role.name, next(values)) for role in fact.roles)
        found.append(fact if ends == fact.roles else replace(fact, roles=ends))
    return found


def _validated_fact(fact: Fact, now: datetime) -> Fact:
    if not fact.roles and not fact.text.strip():
        raise InputError("a fact needs roles or a text")
    if not fact.predicate.strip() and fact.roles:
        raise InputError("a fact needs a predicate")
    if not (isfinite(fact.confidence) and 0 <= fact.confidence <= 1):
        raise InputError(f"a confidence of {fact.confidence} is not between 0 and 1")
    if len(fact.roles) > MAX_ROLES:
        raise InputError(f"a fact has {len(fact.roles):,} roles", hint=f"the limit is {MAX_ROLES:,}")
    checked_text(fact.predicate, "a predicate", MAX_LABEL)
    checked_text(fact.id, "an id", MAX_LABEL)
    checked_text(fact.text, "a fact")
    checked_text(fact.provenance.source, "a source")
    for role in fact.roles:
        if not role.name.strip():
            raise InputError("a role needs a name")
        checked_text(role.name, "a role", MAX_LABEL)
        checked_value(role.value, f"'{role.name[:40]}'")
    for place in (fact.provenance.start, fact.provenance.end):
        if place is not None and not 0 <= place < 2**31:
            raise InputError(f"a span cannot begin or end at {place}")
    recorded = fact.provenance.recorded or now
    recorded = recorded.replace(tzinfo=UTC) if recorded.tzinfo is None else recorded.astimezone(UTC)
    return replace(fact, provenance=replace(fact.provenance, recorded=recorded))
