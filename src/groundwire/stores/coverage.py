"""What a knowledge base speaks of at all: types of entities, names of attributes, predicates.

Read before every detection, so it never scans a table: types are stepped through by their index.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection, func, select

from groundwire.stores.database import among
from groundwire.stores.tables import attributes, entities, predicates, roles
from groundwire.stores.values import value_key
from groundwire.types import Coverage

_TYPES = 100
_PREDICATES = 5000
_MANY = 2
"""Whether there is one entity of a type or more is all that is asked."""


def coverage(connection: Connection) -> Coverage:
    types: dict[str, int] = {}
    only: dict[str, str] = {}
    for kind in _types(connection):
        some = select(entities.c.id).where(entities.c.type == kind).limit(_MANY)
        ids = connection.execute(some).scalars().all()
        types[kind] = len(ids)
        if len(ids) == 1:
            only[kind] = ids[0]
    called = connection.execute(select(predicates.c.name).limit(_PREDICATES)).scalars()
    return Coverage(types, only, frozenset(called))


def _types(connection: Connection) -> list[str]:
    found: list[str] = []
    last = ""
    while len(found) < _TYPES:
        after = connection.execute(select(func.min(entities.c.type)).where(entities.c.type > last)).scalar()
        if after is None:
            break
        found.append(after)
        last = after
    return found


def values_among(connection: Connection, names: Sequence[str]) -> set[str]:
    """Which of these names are the value of some attribute or stand in a role of some fact."""
    keys = {value_key(name): name for name in names}
    found: set[str] = set()
    for table in (attributes, roles):
        rows = among(connection, select(table.c.value_key).distinct(), table.c.value_key, list(keys))
        found.update(keys[row.value_key] for row in rows if row.value_key in keys)
    return found
