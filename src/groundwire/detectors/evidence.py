"""What is known about the names of a response, as text that the budget can be paid from."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date

from groundwire.detectors.view import Known
from groundwire.types import Entity, Fact, FactStatus

_SURE = 0.5
_MAIN = ("subject", "object")
_MOST_LINES = 400


def known_text(known: Known, today: date) -> str:
    """A line an attribute or fact that holds today; empty where nothing is known."""
    lines = list(dict.fromkeys(_lines(known, today)))[:_MOST_LINES]
    return "\n".join(lines)


def _lines(known: Known, today: date) -> Iterator[str]:
    for match in known.matches.values():
        yield from _attributes(match.entity, today)
        for fact in known.facts.get(match.entity.id, ()):
            if fact.confidence >= _SURE and fact.status in (FactStatus.VERIFIED, FactStatus.ASSERTED):
                yield _sentence(fact)


def _attributes(entity: Entity, today: date) -> Iterator[str]:
    for attribute in entity.attributes:
        if attribute.holds_on(today):
            yield f"{entity.name}'s {attribute.name} is {attribute.value.text}."


def _sentence(fact: Fact) -> str:
    """As it was told, or its subject, predicate and object, with the other roles named."""
    if fact.text:
        return fact.text
    subject, thing = fact.role("subject"), fact.role("object")
    rest = [
        f"{role.name}: {role.value.text}" for role in fact.roles if role.name not in ("subject", "object")
    ]
    main = " ".join(
        value for value in (subject and subject.text, fact.predicate, thing and thing.text) if value
    )
    return f"{main} ({'; '.join(rest)})." if rest else f"{main}."
