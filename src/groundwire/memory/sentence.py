"""A sentence as a fact, and a fact as the sentence that is verified."""

from __future__ import annotations

import json
from collections.abc import Sequence

from groundwire.openie.predicates import groups
from groundwire.openie.triples import triples
from groundwire.stores.values import value_of
from groundwire.text.lexicon import word_set
from groundwire.types import Fact, Role, Triple, Value, ValueKind

SUBJECT, OBJECT = "subject", "object"
_SINGLE = word_set(
    """
    founded ceo cto cfo chair president capital population employees revenue price budget area height length
    weight width depth age speed capacity duration birthplace deadline launch start end salary version
    department team location employer manager residence country continent currency
    """
) | {"birth date", "death date"}


def fact_of(sentence: str) -> Fact:
    """What rules can read out of a sentence: who, what and, in roles of their own, the rest of it.

    Where a sentence denies something, or speaks of several things, it is kept as the sentence it is.
    """
    text = " ".join(sentence.split())
    found = triples(text)
    if not found or any(t.denied or t.quantifier or t.subject != found[0].subject for t in found):
        return Fact("", "", (), text=text)
    first, *others = found
    roles = [Role(SUBJECT, Value(first.subject, ValueKind.REFERENCE)), Role(OBJECT, _object(first))]
    roles += [Role(other.predicate, _object(other)) for other in others]
    return Fact("", first.predicate, tuple(roles), text=text)


def _object(triple: Triple) -> Value:
    return value_of(triple.object, about=triple.predicate)


def holds_one(fact: Fact) -> bool:
    """Whether only one value can hold: a figure, a date, or what one can have but one of."""
    value = fact.role(OBJECT)
    measured = value is not None and value.kind in (ValueKind.NUMBER, ValueKind.DATE)
    return measured or groups(fact.predicate) <= _SINGLE


def sentence_of(fact: Fact) -> str:
    """The fact's own text, or its roles in a row.

    >>> sentence_of(Fact("", "works_in", (Role("subject", Value("Ada")), Role("object", Value("London")))))
    'Ada works in London.'
    """
    if fact.text.strip():
        return fact.text.strip()
    said = {SUBJECT: "", OBJECT: ""} | {role.name: role.value.text for role in reversed(fact.roles)}
    rest = [
        f"{_words(role.name)} {role.value.text}" for role in fact.roles if role.name not in (SUBJECT, OBJECT)
    ]
    head = " ".join(part for part in (said[SUBJECT], _words(fact.predicate), said[OBJECT]) if part)
    return ", ".join([head, *rest]) + "."


def _words(name: str) -> str:
    return name.replace("_", " ")


def fact_json(fact: Fact) -> str:
    """A refused fact, whole, for whoever looks into why."""
    roles = [{"name": role.name, "value": role.value.text} for role in fact.roles]
    return json.dumps({"id": fact.id, "predicate": fact.predicate, "roles": roles, "text": fact.text})


def given_roles(pairs: Sequence[tuple[str, str]], predicate: str, text: str) -> Fact:
    """A fact from roles as a user names them; the subject, and what is called so, is an entity."""
    roles = tuple(Role(name, _given(name, value, predicate)) for name, value in pairs)
    return Fact("", predicate, roles, text=text)


def _given(name: str, value: str, predicate: str) -> Value:
    if name == SUBJECT:
        return Value(value, ValueKind.REFERENCE)
    return value_of(value, about=predicate if name == OBJECT else name)
