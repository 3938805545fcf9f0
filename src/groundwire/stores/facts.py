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
from typing import Any

from sqlalchemy import BindParameter, Column, Connection, Row, bindparam, delete, or_, select, update

from groundwire.errors import InputError
from groundwire.stores.database import insert_rows, last_number, lock_for_writing, select_in
from groundwire.stores.entities import EntityBatch, Predicates, numbers_of
from groundwire.stores.tables import entities, facts, names, predicates, roles
from groundwire.stores.values import ValidityPeriod, checked_text, checked_value, columns, from_row, identity
from groundwire.text.names import fold, fold_identifier
from groundwire.types import Fact, FactStatus, Provenance, Record, Role

SUBJECT = "subject"
_VALUES = frozenset(("object", "since", "until"))
"""Roles that hold the value. All other roles identify what the fact is about, so they belong to the slot."""
STANDING = (FactStatus.VERIFIED, FactStatus.ASSERTED, FactStatus.UNVERIFIED)
VISIBLE_STATUSES = tuple(status.value for status in STANDING)
_SETTLED = (FactStatus.VERIFIED, FactStatus.ASSERTED)
_GONE = (FactStatus.SUPERSEDED, FactStatus.RETRACTED)
_RANK = {status: rank for rank, status in enumerate(FactStatus)}
MAX_ROLES, MAX_LABEL = 1000, 500
_MAX_HISTORY = 1000  # versions of a fact that are read

_FACTS = select(facts, predicates.c.name.label("predicate_name"), predicates.c.many.label("predicate_many")).join(
    predicates, predicates.c.no == facts.c.predicate
)
_ROLES = (
    select(roles, entities.c.id.label("target"))
    .join(entities, entities.c.no == roles.c.entity, isouter=True)
    .order_by(roles.c.fact, roles.c.position)
)
_WANTED: BindParameter[Any] = bindparam("wanted", expanding=True)
_ROLE_OF_STANDING = (
    select(roles.c.fact)
    .join(facts, facts.c.no == roles.c.fact)
    # The concatenation keeps the query planner from using the index on status, which is not selective.
    .where(facts.c.status.concat("").in_(VISIBLE_STATUSES))
    .distinct()
    .order_by(roles.c.fact)
    .limit(bindparam("most"))
)
_BY_ENTITY = _ROLE_OF_STANDING.where(roles.c.entity.in_(_WANTED))
_BY_NAME = _ROLE_OF_STANDING.where(roles.c.value_key.in_(_WANTED), roles.c.kind != "reference")
_KEYS = select(names.c.key)


@dataclass(slots=True)
class StoredFact:
    """A fact with its digests, stored or about to be: `no` is 0 and `new` is true until it is written.

    `content` identifies the whole statement, whatever its notation, source, confidence and status. `slot` is
    equal for facts of which only one can hold, and None without a subject and an object. `batch` is the
    import that wrote the fact last.
    """

    fact: Fact
    content: bytes
    slot: bytes | None
    no: int = 0
    batch: str = ""
    new: bool = False
    changed: bool = False

    @classmethod
    def of(cls, fact: Fact) -> StoredFact:
        parts = sorted("\x1f".join((role.name, *identity(role.value))) for role in fact.roles)
        predicate, said = fold_identifier(fact.predicate), parts or [fold(fact.text)]
        content = _digest([predicate, str(fact.valid_from), str(fact.valid_to), *said])
        if fact.role(SUBJECT) is None or fact.role("object") is None:
            return cls(fact, content, None)
        about = [part for part in parts if part.partition("\x1f")[0] not in _VALUES]
        return cls(fact, content, _digest([predicate, *about]))

    @property
    def window(self) -> ValidityPeriod:
        return ValidityPeriod(self.fact.valid_from, self.fact.valid_to)


def _digest(parts: Iterable[str]) -> bytes:
    return blake2b("\x1e".join(parts).encode(), digest_size=16).digest()


def get(connection: Connection, fact_id: str) -> Fact | None:
    return next((stored.fact for stored in load_facts(connection, facts.c.id, [fact_id])), None)


def list_facts(
    connection: Connection, *, status: FactStatus | None = None, limit: int = 100, after: str = ""
) -> list[Fact]:
    """Facts, newest first; `after` is the id of the last fact of the previous page."""
    query = _FACTS.order_by(facts.c.no.desc()).limit(limit)
    if status is not None:
        query = query.where(facts.c.status == status.value)
    if after:
        query = query.where(facts.c.no < select(facts.c.no).where(facts.c.id == after).scalar_subquery())
    return [stored.fact for stored in _loaded(connection, connection.execute(query).all())]


def load_facts(connection: Connection, column: Column[Any], wanted: Iterable[Any]) -> list[StoredFact]:
    """The facts whose column is one of these values."""
    return _loaded(connection, list(select_in(connection, _FACTS, column, wanted)))


def history(connection: Connection, fact_id: str) -> list[Fact]:
    """A fact with all facts it superseded and that superseded it, oldest first."""
    slot = select(facts.c.slot).where(facts.c.id == fact_id).scalar_subquery()
    query = _FACTS.where(or_(facts.c.id == fact_id, facts.c.slot == slot)).order_by(facts.c.no).limit(_MAX_HISTORY)
    return [stored.fact for stored in _loaded(connection, connection.execute(query).all())]


def facts_about(connection: Connection, ids: Sequence[str], limit: int) -> list[Fact]:
    """Current facts in which an entity has a role, by reference or by one of its names as text."""
    numbers = sorted(numbers_of(connection, ids).values())
    if not numbers:
        return []
    found = set(connection.execute(_BY_ENTITY, {"wanted": numbers, "most": limit}).scalars())
    keys = sorted({row.key for row in select_in(connection, _KEYS, names.c.entity, numbers)})
    found.update(connection.execute(_BY_NAME, {"wanted": keys, "most": limit}).scalars())
    loaded = load_facts(connection, facts.c.no, sorted(found)[:limit])
    return [stored.fact for stored in sorted(loaded, key=lambda stored: stored.no)]


def _loaded(connection: Connection, rows: Sequence[Row[Any]]) -> list[StoredFact]:
    ends: dict[int, list[Role]] = {}
    for end in select_in(connection, _ROLES, roles.c.fact, [row.no for row in rows]):
        ends.setdefault(end.fact, []).append(Role(end.name, from_row(end, end.target)))
    return [
        StoredFact(_fact(row, tuple(ends.get(row.no, ()))), row.content, row.slot, row.no, row.batch) for row in rows
    ]


def _fact(row: Row[Any], ends: tuple[Role, ...]) -> Fact:
    return Fact(
        id=row.id,
        predicate=row.predicate_name,
        roles=ends,
        confidence=row.confidence,
        status=FactStatus(row.status),
        provenance=Provenance(row.source, row.start, row.end, row.recorded.replace(tzinfo=UTC)),
        record=None if row.p0 is None else Record(row.p0, row.p1, row.bits, row.method),
        text=row.text,
        many=row.many or row.predicate_many,
        superseded_by=row.superseded_by,
        valid_from=row.valid_from,
        valid_to=row.valid_to,
    )


def add_many(connection: Connection, given: Sequence[Fact], *, batch: str = "") -> list[Fact]:
    """Write facts in order, and return them with their ids, or the stored facts where they exist.

    `batch` identifies an import. Several values in one import do not supersede each other: the predicate is
    then marked as multi-valued, since a file is assumed not to contradict itself.
    """
    lock_for_writing(connection)
    batch_entities, now = EntityBatch(connection), datetime.now(UTC)
    ready = [_validated_fact(fact, now) for fact in given]
    values = iter(batch_entities.refer([role.value for fact in ready for role in fact.roles]))
    entries = [
        StoredFact.of(replace(fact, roles=tuple(Role(role.name, next(values)) for role in fact.roles)))
        for fact in ready
    ]
    batch_entities.write()
    fact_batch = FactBatch(connection, batch_entities, entries, batch)
    written = [fact_batch.enter(entry) for entry in entries]
    fact_batch.write()
    return [stored.fact for stored in written]


def apply_verdict(
    connection: Connection, fact_id: str, status: FactStatus, confidence: float, record: Record | None
) -> Fact | None:
    """Store the verdict on a fact; if it is accepted, it supersedes the previous one."""
    lock_for_writing(connection)
    found = get(connection, fact_id)
    if found is None:
        return None
    entry = StoredFact.of(replace(found, status=status, confidence=confidence, record=record))
    fact_batch = FactBatch(connection, EntityBatch(connection), [entry], "")
    stored = fact_batch.enter(entry, force=True)
    fact_batch.write()
    return stored.fact


def remove(connection: Connection, fact_id: str) -> None:
    """Delete a fact without a trace."""
    lock_for_writing(connection)
    number = select(facts.c.no).where(facts.c.id == fact_id).scalar_subquery()
    connection.execute(delete(roles).where(roles.c.fact == number))
    connection.execute(delete(facts).where(facts.c.id == fact_id))


class FactBatch:
    """The facts that a batch touches: loaded once, changed in memory, written once."""

    def __init__(
        self, connection: Connection, batch_entities: EntityBatch, given: Sequence[StoredFact], batch: str
    ) -> None:
        self._connection = connection
        self._entities = batch_entities
        self._batch = batch
        self._predicates = known = Predicates(connection, {entry.fact.predicate for entry in given})
        self._by_content: dict[bytes, StoredFact] = {}
        self._by_slot: dict[bytes, list[StoredFact]] = {}
        self._by_id: dict[str, StoredFact] = {}
        self._next = last_number(connection, facts) + 1
        single = [e for e in given if e.slot and not (e.fact.many or known.is_many(e.fact.predicate))]
        for column, wanted in (
            (facts.c.content, [entry.content for entry in given]),
            (facts.c.id, [entry.fact.id for entry in given if entry.fact.id]),
            (facts.c.slot, [entry.slot for entry in single]),
        ):
            for stored in load_facts(connection, column, wanted):
                if stored.content not in self._by_content:
                    self._file(stored)

    def _file(self, stored: StoredFact) -> None:
        self._by_content[stored.content] = stored
        self._by_id[stored.fact.id] = stored
        if stored.slot:
            self._by_slot.setdefault(stored.slot, []).append(stored)

    def enter(self, entry: StoredFact, *, force: bool = False) -> StoredFact:
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

    def _new(self, entry: StoredFact) -> StoredFact:
        fact_id = entry.fact.id or entry.content.hex()
        if fact_id in self._by_id:
            raise InputError(f"the id '{fact_id[:60]}' belongs to another fact", hint="leave the id out")
        stored = replace(entry, fact=replace(entry.fact, id=fact_id), no=self._next, batch=self._batch, new=True)
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
        entered = self._by_content.values()
        new = [stored for stored in entered if stored.new]
        insert_rows(self._connection, facts, [self._row(stored) for stored in new])
        ends = [
            columns(role.value)
            | {"fact": h.no, "position": n, "name": role.name, "entity": self._entities.number(role.value.entity)}
            for h in new
            for n, role in enumerate(h.fact.roles)
        ]
        insert_rows(self._connection, roles, ends)
        changed = [{**_shared(h), "number_": h.no} for h in entered if h.changed and not h.new]
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
