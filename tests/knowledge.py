"""A knowledge base in memory, for tests of the detectors alone: the protocol and nothing more."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from groundwire.text.names import core_words
from groundwire.types import Entity, Fact, Match, MatchKind, Pattern


class MemoryKnowledge:
    def __init__(self, entities: Iterable[Entity] = (), facts: Iterable[Fact] = ()) -> None:
        self._entities = {entity.id: entity for entity in entities}
        self._facts = tuple(facts)

    def find(self, names: Sequence[str], *, fuzzy: bool = True) -> dict[str, Match]:
        found = {}
        for name in names:
            for entity in self._entities.values():
                if core_words(name) in [core_words(n) for n in (entity.name, *entity.aliases)]:
                    found[name] = Match(entity, MatchKind.EXACT)
        return found

    def similar(self, name: str, at_least: float = 0.8, limit: int = 5) -> list[Match]:
        return list(self.find([name]).values())

    def entities(self, ids: Sequence[str]) -> dict[str, Entity]:
        return {i: self._entities[i] for i in ids if i in self._entities}

    def facts_about(self, ids: Sequence[str], limit: int = 1000) -> list[Fact]:
        return [f for f in self._facts if any(role.value.entity in ids for role in f.roles)]

    def facts(self, pattern: Pattern) -> list[Fact]:
        return list(self._facts)
