"""What facts and attributes are called, and whether a thing can have only one value of each."""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy import Connection, select, update

from groundwire.stores.database import among, insert_rows, last_number
from groundwire.stores.tables import predicates
from groundwire.text.names import label

_PREDICATES = select(predicates)


class Predicates:
    """The predicates of one batch. Two ways of writing one (`works_in`, `worksIn`) share its cardinality."""

    def __init__(self, connection: Connection, wanted: Iterable[str]) -> None:
        self._connection = connection
        keys = {key_of(name) for name in wanted}
        rows = list(among(connection, _PREDICATES, predicates.c.key, sorted(keys)))
        self.numbers = {row.name: int(row.no) for row in rows}
        self._many = {row.key for row in rows if row.many}

    def number(self, name: str) -> int:
        if name not in self.numbers:
            no = last_number(self._connection, predicates) + 1
            row = {"no": no, "name": name, "key": key_of(name), "many": self.is_many(name)}
            insert_rows(self._connection, predicates, [row])
            self.numbers[name] = no
        return self.numbers[name]

    def is_many(self, name: str) -> bool:
        return key_of(name) in self._many

    def set_many(self, name: str) -> None:
        if not self.is_many(name):
            self._many.add(key_of(name))
            same = predicates.c.key == key_of(name)
            self._connection.execute(update(predicates).where(same).values(many=True))


def key_of(name: str) -> str:
    return label(name)
