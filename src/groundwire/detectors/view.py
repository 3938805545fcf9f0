"""What every detector sees: the response taken apart once, and what is known about what it speaks of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from groundwire.types import Coverage, Entity, Fact, Match, Segment, Source, Triple, Turn, Verifier


@dataclass(frozen=True, slots=True)
class Established:
    """A claim made in an earlier turn."""

    turn: Turn
    claim: Triple


@dataclass(frozen=True, slots=True)
class Dialogue:
    """The conversation before the response: its turns, what was claimed in them, and whom they named."""

    turns: tuple[Turn, ...] = ()
    established: tuple[Established, ...] = ()
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Known:
    """What the knowledge base holds about the names of one response, asked for in one go.

    `matches` is keyed by the name as written, casefolded; `facts` and `entities` by entity id; `values` are
    the names, casefolded, that are no entity but stand as a value somewhere.
    """

    matches: Mapping[str, Match] = field(default_factory=dict)
    facts: Mapping[str, tuple[Fact, ...]] = field(default_factory=dict)
    entities: Mapping[str, Entity] = field(default_factory=dict)
    values: frozenset[str] = frozenset()
    coverage: Coverage = field(default_factory=Coverage)

    def match(self, name: str) -> Match | None:
        return self.matches.get(name.casefold())

    def is_known(self, name: str) -> bool:
        return name.casefold() in self.matches or name.casefold() in self.values


@dataclass(frozen=True, slots=True)
class View:
    """`known` is None without a knowledge base; `verifier` None where nobody can be asked."""

    response: str
    segments: tuple[Segment, ...]
    now: datetime
    dialogue: Dialogue = Dialogue()
    known: Known | None = None
    sources: tuple[Source, ...] = ()
    question: str = ""
    verifier: Verifier | None = None
