"""What a fact says, and what it says it of, each as 16 bytes that are equal only where the two are."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b

from groundwire.stores.entities import predicate_key
from groundwire.stores.values import identity
from groundwire.text.names import fold
from groundwire.types import Fact, Role

SUBJECT = "subject"
_VALUES = frozenset(("object", "since", "until"))
"""Roles that hold the value. All others say of what or where it is meant, so they belong to the slot."""


def content_of(fact: Fact) -> bytes:
    """Equal for the same fact, however its values are written; not its source, confidence or status."""
    said = sorted(_role(role) for role in fact.roles) or [fold(fact.text)]
    return _digest([predicate_key(fact.predicate), str(fact.valid_from), str(fact.valid_to), *said])


def slot_of(fact: Fact) -> bytes | None:
    """Equal for facts of which only one can hold; None for what has no subject and no object."""
    if fact.role(SUBJECT) is None or fact.role("object") is None:
        return None
    kept = sorted(_role(role) for role in fact.roles if role.name not in _VALUES)
    return _digest([predicate_key(fact.predicate), *kept])


def _role(role: Role) -> str:
    kind, worth = identity(role.value)
    return f"{role.name}\x1f{kind}\x1f{worth}"


def _digest(parts: Iterable[str]) -> bytes:
    return blake2b("\x1e".join(parts).encode(), digest_size=16).digest()
