"""Before an answer: is what it needs to know in the sources, the knowledge base or the conversation?

Catches: names, sides of a comparison, premises and whole questions that nothing there speaks of, and
questions for a time, a number or a person where nothing near holds one. Misses: an answer in quite other
words than the question (counted as missing), and sources that speak of the matter without answering (counted
as there). Cost: one index of the sources, linear in their length, or none where one is handed over; no model
is asked.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from math import sqrt

from groundwire.retrieval.select import Index
from groundwire.streaming.alternatives import alternatives
from groundwire.streaming.requests import Need, needs
from groundwire.text.sentences import sentences
from groundwire.text.tokens import names, similarity, terms, weighted
from groundwire.types import Entity, KnowledgeBase, Source
from groundwire.types.realtime import Context, KnowledgeCheck, Requirement

NEAR = 8
"""So many passages together may hold what is needed; a premise stands in one."""

ENOUGH: dict[str, float] = {
    "question": 0.45,
    "user": 0.45,
    "side": 0.5,
    "entity": 0.5,
    "description": 0.5,
    "premise": 0.6,
}
"""How much of each kind of need must be there, by weight of words; measured by `groundwire bench monitor`."""

_REMEMBERED = 20_000  # characters of the conversation, the latest
_USUAL_WORDS = 5
_ALIKE = 0.65
_ASKING = re.compile(
    r"\b(?:tell|explain|describe|give|list|show|find|please|know|want|need|help|define|say|discuss|provide"
    r"|identify|compare|difference|write|essay|article|summari[sz]e|about|me)\b",
    re.IGNORECASE,
)
_TIME = re.compile(
    r"\b\d{4}\b|\d{1,2}[:./-]\d{1,2}|\b(?:jan|feb|mar|apr|may|june?|july?|aug|sep|oct|nov|dec)[a-z]*\b"
    r"|\b(?:mon|tues|wednes|thurs|fri|satur|sun)day\b|\b(?:today|yesterday|tomorrow|morning|noon|evening|night)\b"
    r"|\b(?:ago|years?|months?|weeks?|days?|hours?|century|o'clock|am|pm|before|after|during|until)\b|\d|שנ[הת]|ב-?\d",
    re.IGNORECASE,
)
_NUMBER = re.compile(
    r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|\w+teen|\w+ty|hundred|thousand|million|half|no|none|all"
    r"|several|many|few|dozen)\b|[א-ת]",
    re.IGNORECASE,
)
_NAME = re.compile(r"(?<!\A)(?<![.!?]\s)\b[^\W\d_a-z]\w+|[א-ת]|\A\W*[A-Z]\w+")
_HOLDS = {"time": _TIME, "number": _NUMBER, "name": _NAME}


def verify_knowledge(request: str, context: Context, *, index: Index | None = None) -> KnowledgeCheck:
    """What the request needs to know, what of it is there, and what to do where something is missing.

    `index` is one of the context's sources that somebody has made already.
    """
    wanted = needs(request)
    if not wanted:
        return KnowledgeCheck(True)
    shelf = Shelf(context, index)
    found = tuple(shelf.look_up(need) for need in wanted)
    missing = [requirement for requirement in found if not requirement.found_in]
    return KnowledgeCheck(not missing, found, alternatives(request, missing, found) if missing else ())


class Shelf:
    """Where knowledge may be: the sources, what is known, and what was said."""

    def __init__(self, context: Context, index: Index | None = None) -> None:
        self._context = context
        self._sources = index

    @cached_property
    def sources(self) -> Index:
        return self._sources or Index(self._context.sources)

    @cached_property
    def memory(self) -> Index:
        """What was said lately: statements of both sides; a question asked before tells nothing."""
        said: list[Source] = []
        left = _REMEMBERED
        for turn in reversed(self._context.history):
            text = _said(turn.text[-left:])
            said += [Source(f"turn {turn.id}", text)] if text else []
            left -= len(turn.text)
            if left <= 0:
                break
        return Index(said[::-1])

    def look_up(self, need: Need) -> Requirement:
        """The requirement with the place where it is met, the best there is where it is not."""
        if need.kind == "referent":
            return self._referent(need)
        if need.kind == "material":
            return self._material(need)
        asked, about = _ASKING.sub(" ", need.text), need.about or self._meant(need)
        order = ("memory", "sources") if need.kind == "user" else ("sources", "memory")
        best = 0.0
        for where in order:
            index = self.sources if where == "sources" else self.memory
            coverage, units = _coverage(index, asked, about, 1 if need.kind == "premise" else NEAR)
            best = max(best, coverage)
            if units and coverage >= _enough(need, asked) and _answers(need, index, units):
                unit = index.units[units[0]]
                place = f"{unit.source}[{unit.start}:{unit.end}]" if where == "sources" else unit.source
                return _met(need, where, place, coverage)
        known = self._known(need, asked)
        return known or Requirement(need.text, need.explicit, coverage=round(best, 3), kind=need.kind)

    def _meant(self, need: Need) -> str:
        """What "it" may mean: what the last turns name."""
        pronoun = re.search(r"\b(?:it|its|he|she|they|his|her|their|him|them)\b", need.text, re.IGNORECASE)
        lately = " ".join(turn.text[-_REMEMBERED:] for turn in self._context.history[-2:])
        return names(lately) if pronoun else ""

    def _referent(self, need: Need) -> Requirement:
        """A pronoun means somebody of the conversation, or what the only source is about."""
        spoken = [turn for turn in self._context.history if turn.text.strip()]
        if spoken:
            return _met(need, "memory", f"turn {spoken[-1].id}", 1.0)
        if len(self._context.sources) == 1:
            return _met(need, "sources", self._context.sources[0].id, 1.0)
        return Requirement(need.text, need.explicit, kind=need.kind)

    def _material(self, need: Need) -> Requirement:
        """An errand on what is at hand needs only that something is."""
        there = next((source.id for source in self._context.sources if source.text.strip()), "")
        return _met(need, "sources", there, 1.0) if there else self._referent(need)

    def _known(self, need: Need, asked: str) -> Requirement | None:
        """What the knowledge base holds of whom the need names."""
        if self._context.kb is None:
            return None
        for entity in _entities(self._context.kb, f"{need.text} {need.about}"):
            own = {*terms(entity.name), *(term for alias in entity.aliases for term in terms(alias))}
            left = [term for term in terms(asked) if term not in own]
            if need.kind in ("entity", "side", "description") or not left:
                return _met(need, "kb", entity.name, 1.0)
            for what, said in _statements(self._context.kb, entity):
                held = sum(any(similarity(term, word) >= _ALIKE for word in said) for term in left) / len(
                    left
                )
                if held >= ENOUGH.get(need.kind, 0.0):
                    return _met(need, "kb", f"{entity.name}: {what}", held)
        return None


def _met(need: Need, where: str, place: str, coverage: float) -> Requirement:
    return Requirement(need.text, need.explicit, where, place, round(coverage, 3), need.kind)


def _coverage(index: Index, asked: str, about: str, k: int) -> tuple[float, list[int]]:
    """What is asked must be there, and so must what it is asked of."""
    coverage, units = index.coverage(asked, k)
    if not about:
        return coverage, units
    both, units = index.coverage(f"{asked} {about}", k)
    return min(coverage, both), units


def _enough(need: Need, asked: str) -> float:
    """Of a long question less need be there: it tells a story around what it asks."""
    words = len(weighted(asked))
    return ENOUGH[need.kind] * min(1.0, sqrt(_USUAL_WORDS / max(1, words)))


def _answers(need: Need, index: Index, units: Sequence[int]) -> bool:
    """Whether what is near holds the kind of thing that is asked for."""
    holds = _HOLDS.get(need.expects)
    return holds is None or any(holds.search(index.units[number].text) for number in units)


def _said(text: str) -> str:
    spoken = (text[span.start : span.end] for span in sentences(text))
    return " ".join(sentence for sentence in spoken if not sentence.endswith("?"))


def _entities(kb: KnowledgeBase, text: str) -> Iterator[Entity]:
    """Whom a text names, as the knowledge base has them: runs of words, longest first."""
    words = [word.strip(".,;:?!\"'()") for word in text.split()]
    runs = [" ".join(words[at : at + size]) for size in (4, 3, 2, 1) for at in range(len(words) - size + 1)]
    found = kb.find([run for run in dict.fromkeys(runs) if run], fuzzy=False)
    yield from {match.entity.id: match.entity for match in found.values()}.values()


def _among(term: str, said: set[str]) -> bool:
    return term in said or any(similarity(term, word) >= _ALIKE for word in said)


def _statements(kb: KnowledgeBase, entity: Entity) -> Iterator[tuple[str, set[str]]]:
    for attribute in entity.attributes:
        yield (
            attribute.name,
            {*terms(attribute.name), *terms(attribute.value.text)},
        )
    for fact in kb.facts_about([entity.id], limit=200):
        said = " ".join((fact.predicate.replace("_", " "), fact.text, *(r.value.text for r in fact.roles)))
        yield fact.predicate, set(terms(said))
