"""What is known: entities with their attributes, facts that link them, and the one way to ask for both."""

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
    """One value: `text` as people write it, and what it is worth to a computer.

    `number` with its `unit` for numbers, `day` for dates, `entity` (an id) for references.
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
        """Whether it is valid on that day; an open end holds for ever."""
        return (self.valid_from is None or self.valid_from <= day) and (
            self.valid_to is None or day <= self.valid_to
        )


@dataclass(frozen=True, slots=True)
class Entity:
    id: str
    name: str
    type: str = ""
    aliases: tuple[str, ...] = ()
    attributes: tuple[Attribute, ...] = ()

    def values_of(self, name: str, on: date | None = None) -> list[Attribute]:
        """The attributes of that name, on a day where one is given."""
        return [a for a in self.attributes if a.name == name and (on is None or a.holds_on(on))]


class FactStatus(StrEnum):
    """`unverified` facts were stored because nobody could check them; the last two are history."""

    VERIFIED = "verified"
    ASSERTED = "asserted"
    UNVERIFIED = "unverified"
    PENDING = "pending"
    SUPERSEDED = "superseded"
    RETRACTED = "retracted"


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where a fact comes from: `source[start:end]`, and when it was written down."""

    source: str = ""
    start: int | None = None
    end: int | None = None
    recorded: datetime | None = None


@dataclass(frozen=True, slots=True)
class Record:
    """How a fact was verified."""

    p0: float
    p1: float
    bits: float
    method: str = ""


@dataclass(frozen=True, slots=True)
class Role:
    """One end of a hyperedge: what the value is to the fact (subject, object, place, since, …)."""

    name: str
    value: Value


@dataclass(frozen=True, slots=True)
class Fact:
    """A hyperedge: any number of entities and values, each in its named role, under one predicate.

    `text` is the fact as a sentence where it was given as one. `many` predicates may hold with several
    objects at once.
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


@dataclass(frozen=True, slots=True)
class Pattern:
    """What facts are asked for; whatever is left empty matches everything."""

    entity: str = ""
    role: str = ""
    predicate: str = ""
    value: str = ""
    history: bool = False
    limit: int = 100


class MatchKind(StrEnum):
    EXACT = "exact"
    ALIAS = "alias"
    FUZZY = "fuzzy"


@dataclass(frozen=True, slots=True)
class Match:
    """An entity found for a name, how, and how alike the two are (1.0 unless fuzzy)."""

    entity: Entity
    kind: MatchKind
    score: float = 1.0


@dataclass(frozen=True, slots=True)
class Coverage:
    """What a knowledge base speaks of at all: only there does "not found" mean anything.

    `types` counts the entities of each type, `only` gives the id where there is just one, `predicates`
    are the names of all attributes and the predicates of all facts.
    """

    types: Mapping[str, int] = field(default_factory=dict)
    only: Mapping[str, str] = field(default_factory=dict)
    predicates: frozenset[str] = frozenset()


@runtime_checkable
class KnowledgeBase(Protocol):
    """The read side of the store: all that detectors ask. Names are compared without regard to case."""

    def find(self, names: Sequence[str], *, fuzzy: bool = True) -> dict[str, Match]:
        """The entity behind each name that has one: exact, then alias, then fuzzy."""
        ...

    def similar(self, name: str, at_least: float = 0.8, limit: int = 5) -> list[Match]:
        """Entities whose name or alias is alike, best first."""
        ...

    def entities(self, ids: Sequence[str]) -> dict[str, Entity]: ...

    def facts_about(self, ids: Sequence[str], limit: int = 1000) -> list[Fact]:
        """The standing facts in which any of these entities has any role."""
        ...

    def facts(self, pattern: Pattern) -> list[Fact]: ...


@runtime_checkable
class Covering(Protocol):
    """A knowledge base that can say what it covers."""

    def coverage(self) -> Coverage: ...

    def values(self, names: Sequence[str]) -> set[str]:
        """Which of these names are a value of some attribute, or stand in a role of some fact."""
        ...
