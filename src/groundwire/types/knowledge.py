"""Knowledge base records: entities with attributes, facts, and the protocol to query them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from enum import StrEnum
from typing import Protocol, runtime_checkable


class ValueKind(StrEnum):
    TEXT = "text"
    NUMBER = "number"
    DATE = "date"
    REFERENCE = "reference"


@dataclass(frozen=True, slots=True)
class Value:
    """One value: `text` as written, and its parsed form.

    `number` with `unit` for numbers, `day` for dates, `entity` (an id) for references.
    """

    text: str
    kind: ValueKind = ValueKind.TEXT
    number: float | None = None
    unit: str = ""
    day: date | None = None
    entity: str = ""


@dataclass(frozen=True, slots=True)
class Attribute:
    """A named value of an entity. `many` attributes may hold several at once (languages spoken)."""

    name: str
    value: Value
    many: bool = False
    valid_from: date | None = None
    valid_to: date | None = None

    def holds_on(self, day: date) -> bool:
        """Return True if the attribute is valid on that day; an open end never expires."""
        return (self.valid_from is None or self.valid_from <= day) and (self.valid_to is None or day <= self.valid_to)


@dataclass(frozen=True, slots=True)
class Entity:
    id: str
    name: str
    type: str = ""
    aliases: tuple[str, ...] = ()
    attributes: tuple[Attribute, ...] = ()

    def values_of(self, name: str, on: date | None = None) -> list[Attribute]:
        """The attributes of that name, restricted to those valid on a day if one is given."""
        return [a for a in self.attributes if a.name == name and (on is None or a.holds_on(on))]


class FactStatus(StrEnum):
    """`unverified` facts were stored because the verifier failed; the last two are history."""

    VERIFIED = "verified"
    ASSERTED = "asserted"
    UNVERIFIED = "unverified"
    PENDING = "pending"
    SUPERSEDED = "superseded"
    RETRACTED = "retracted"


@dataclass(frozen=True, slots=True)
class Provenance:
    """The origin of a fact: `source[start:end]`, and when it was recorded."""

    source: str = ""
    start: int | None = None
    end: int | None = None
    recorded: datetime | None = None


@dataclass(frozen=True, slots=True)
class Record:
    """The verification record of a fact."""

    p0: float
    p1: float
    bits: float
    method: str = ""


@dataclass(frozen=True, slots=True)
class Role:
    """One role of a fact (subject, object, place, since, …) and its value."""

    name: str
    value: Value


@dataclass(frozen=True, slots=True)
class Fact:
    """A hyperedge: a predicate with any number of entities and values in named roles.

    `text` is the original sentence, if it was given as one. `many` predicates may have several objects at
    once.
    """

    id: str
    predicate: str
    roles: tuple[Role, ...]
    confidence: float = 1.0
    status: FactStatus = FactStatus.ASSERTED
    provenance: Provenance = Provenance()
    record: Record | None = None
    text: str = ""
    many: bool = False
    superseded_by: str = ""
    valid_from: date | None = None
    valid_to: date | None = None

    def role(self, name: str) -> Value | None:
        """The first value in that role."""
        return next((role.value for role in self.roles if role.name == name), None)


class MatchKind(StrEnum):
    EXACT = "exact"
    ALIAS = "alias"
    FUZZY = "fuzzy"


@dataclass(frozen=True, slots=True)
class Match:
    """An entity found for a name; `score` is the similarity (1.0 unless fuzzy)."""

    entity: Entity
    kind: MatchKind
    score: float = 1.0


@dataclass(frozen=True, slots=True)
class Coverage:
    """The coverage of a knowledge base; "not found" is evidence only within its coverage.

    `types` counts the entities per type, `only` maps a type with a single entity to its id, `predicates` are
    all attribute names and fact predicates.
    """

    types: Mapping[str, int] = field(default_factory=dict)
    only: Mapping[str, str] = field(default_factory=dict)
    predicates: frozenset[str] = frozenset()


@runtime_checkable
class KnowledgeBase(Protocol):
    """The read interface of a knowledge base. Names are compared case-insensitively."""

    def find(self, names: Sequence[str], *, fuzzy: bool = True) -> dict[str, Match]:
        """Find the entity of each name: by exact name, then alias, then fuzzy match."""
        ...

    def similar(self, name: str, at_least: float = 0.8, limit: int = 5) -> list[Match]:
        """Find entities with a similar name or alias, best first."""
        ...

    def entities(self, ids: Sequence[str]) -> dict[str, Entity]: ...

    def facts_about(self, ids: Sequence[str], limit: int = 1000) -> list[Fact]:
        """Return the current facts in which any of these entities has a role."""
        ...


@runtime_checkable
class CoverageProvider(Protocol):
    """A knowledge base that can report its coverage."""

    def coverage(self) -> Coverage: ...

    def values(self, names: Sequence[str]) -> set[str]:
        """Return the names that occur as an attribute value or in a role of a fact."""
        ...
