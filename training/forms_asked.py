"""A fact as a claim states it: right, or with one thing in it changed."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from training.forms_scheme import PEOPLE, Document, Fact, kind_of, slots_of, written
from training.forms_words import Value, another
from training.pairs import CONTRADICTED, ENTAILED, NEUTRAL, NOT_ENTAILED


@dataclass(frozen=True, slots=True)
class Asked:
    """A statement without its full stop; `needs`: who (when it matters) said what, to judge it."""

    text: str
    target: int
    spans: tuple[tuple[int, int], ...]
    needs: tuple[tuple[str, str], ...]


def _wording(fact: Fact, target: int, rng: random.Random) -> str:
    """A claim's wording; a detail that the source lacks only where the claim is to be wrong.

    Half of the time a wrong claim keeps off the details that the source has, so that a detail in a claim
    means nothing by itself.
    """
    optional = fact.scheme.optional()
    hidden = optional - fact.known
    claims = fact.scheme.claims
    if target == ENTAILED:
        claims = tuple(claim for claim in claims if not slots_of(claim) & hidden)
    elif optional and not hidden and rng.random() < 0.5:
        claims = tuple(claim for claim in claims if not slots_of(claim) & optional) or claims
    return rng.choice(claims)


def asked(fact: Fact, document: Document, rng: random.Random, target: int, leads: Sequence[str]) -> Asked:
    """The fact as a claim states it; anything but ENTAILED changes one slot that the wording shows."""
    template = _wording(fact, target, rng)
    if template.startswith("~"):
        template = rng.choice(leads) + template[1:]
    shown = slots_of(template)
    values, changed = dict(fact.values), sorted(shown - fact.known - PEOPLE)
    if changed:
        target = NEUTRAL
    elif target != ENTAILED:
        options = [change for change in fact.scheme.vary if change[0] in shown]
        options += [("b", "", NOT_ENTAILED)] if "b" in shown and fact.lines[0][0] else []
        weights = [3 if change[2] == CONTRADICTED else 1 for change in options]
        slot, source, target = rng.choices(options, weights)[0]
        changed = _apply(values, slot, source, (fact, document, shown), rng)
        target = _told(document, fact, slot, values[slot]) if target == NEUTRAL else target
    text, where = written(template, values, rng, True)
    spans = tuple(span for slot in changed for span in where.get(slot, ()))
    people = {str(fact.values[slot]) for slot in where if slot in PEOPLE}
    told = tuple((who if who in people else "", said) for who, said in fact.lines)
    return Asked(text, target, spans, (*told, *(("", name) for name in sorted(people))))


def _apply(
    values: dict[str, Value],
    slot: str,
    source: str,
    seen: tuple[Fact, Document, set[str]],
    rng: random.Random,
) -> list[str]:
    """Change one slot (or swap two) in place; which slots are wrong now."""
    fact, document, shown = seen
    other = source.lstrip("<>")
    if source.startswith("<>") or other in shown:
        values[slot], values[other] = values[other], values[slot]
        return [slot, other]
    if source:
        values[slot] = values[source[1:]]
        return [slot]
    if slot in fact.old and rng.random() < 0.7:
        values[slot] = fact.old[slot]
        return [slot]
    kind = kind_of(slot)
    if kind == "person":
        new: Value = rng.choice([one for one in document.people if one != values[slot]])
    else:
        new = _later(slot, another(kind, values[slot], _same(document, kind), rng), values, rng)
    for who in "abc":
        if kind == "person" and who in shown and who != slot and values.get(who) == new:
            values[who], values[slot] = values[slot], new
            return [slot, who]
    values[slot] = new
    return [slot]


def _later(slot: str, new: Value, values: dict[str, Value], rng: random.Random) -> Value:
    """A wrong hour still lies on its side of the other one: nobody closes before opening."""
    if slot not in ("time", "time2") or "time2" not in values:
        return new
    opens, closes = int(str(values["time"])), int(str(values["time2"]))
    low, high = (closes - 300, closes - 15) if slot == "time" else (opens + 15, opens + 300)
    options = [minute for minute in range(low, high + 1, 15) if 0 < minute < 1380 and minute != values[slot]]
    return rng.choice(options)


def _told(document: Document, fact: Fact, slot: str, value: Value) -> int:
    """What is said of another thing of the same source may well deny the claim."""
    holders = [one for one in document.facts if value in one.values.values()]
    if any(one.scheme is fact.scheme and one.values.get(slot) == value for one in holders):
        return CONTRADICTED
    return NOT_ENTAILED if holders else NEUTRAL


def _same(document: Document, kind: str) -> list[Value]:
    return [value for fact in document.facts for slot, value in fact.values.items() if kind_of(slot) == kind]
