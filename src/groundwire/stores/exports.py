"""What a store knows, as lines of text: JSON lines hold everything, CSV and triples what fits into them."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from sqlalchemy import Connection, func, select

from groundwire.stores.entities import load
from groundwire.stores.facts import SHOWN, held_by
from groundwire.stores.io_jsonl import entity_object, fact_object
from groundwire.stores.knowledge_base import Knowledge
from groundwire.stores.tables import attributes, entities, facts, roles
from groundwire.types import Entity, Fact, Value, ValueKind

PAGE = 1000
_FACT_HEADER = (
    "id", "subject", "predicate", "object", "confidence", "status", "source", "start", "end", "recorded",
    "text", "many", "superseded_by", "valid_from", "valid_to",
)  # fmt: skip


def to_jsonl(knowledge: Knowledge) -> Iterator[str]:
    """Entities, then all facts with their history, oldest first: an import of it makes the same store."""
    with knowledge.database.read() as connection:
        for entity in _entities(connection):
            yield json.dumps(entity_object(entity), ensure_ascii=False) + "\n"
        for fact in _facts(connection, history=True):
            yield json.dumps(fact_object(fact), ensure_ascii=False) + "\n"


def to_triples(knowledge: Knowledge) -> Iterator[str]:
    """The standing facts that have a subject and an object; their other roles are left out."""
    with knowledge.database.read() as connection:
        for fact in _facts(connection):
            subject, told = fact.role("subject"), fact.role("object")
            if subject is not None and told is not None:
                predicate = f"{fact.predicate}*" if fact.many else fact.predicate
                yield "\t".join(" ".join(t.split()) for t in (subject.text, predicate, told.text)) + "\n"


def entities_to_csv(knowledge: Knowledge) -> Iterator[str]:
    """A row an entity, a column an attribute, with `*` where there may be several values."""
    with knowledge.database.read() as connection:
        columns = _attribute_columns(connection)
        headers = [f"{name}{'*' if many else ''}{kind}" for name, (many, kind) in columns.items()]
        yield _row(["id", "name", "type", "aliases", *headers])
        for entity in _entities(connection):
            cells = ["; ".join(_escaped(v) for v in _texts(entity, name)) for name in columns]
            plain = [_escaped_once(entity, name) if not columns[name][0] else "" for name in columns]
            row = [one or many for one, many in zip(plain, cells, strict=True)]
            aliases = "; ".join(map(_escaped, entity.aliases))
            yield _row([entity.id, entity.name, entity.type, aliases, *row])


def _texts(entity: Entity, name: str) -> list[str]:
    return [_written(a.value) for a in entity.attributes if a.name == name]


def _escaped_once(entity: Entity, name: str) -> str:
    return next(iter(_texts(entity, name)[-1:]), "")


def facts_to_csv(knowledge: Knowledge) -> Iterator[str]:
    """A row a standing fact; roles beyond subject and object are further columns."""
    with knowledge.database.read() as connection:
        query = select(roles.c.name).distinct().where(roles.c.name.not_in(("subject", "object")))
        extra = sorted(connection.execute(query).scalars())
        yield _row([*_FACT_HEADER, *(f"{name}*" for name in extra)])
        for fact in _facts(connection):
            if fact.role("subject") is not None:
                yield _row([*_fact_cells(fact), *(_role_cell(fact, name) for name in extra)])


def _fact_cells(fact: Fact) -> list[str]:
    found = fact_object(fact)
    subject, told = fact.role("subject"), fact.role("object")
    ends = {"subject": _written(subject) if subject else "", "object": told.text if told else ""}
    return [_cell((found | ends).get(name)) for name in _FACT_HEADER]


def _cell(value: Any) -> str:
    return "" if value is None else "yes" if value is True else str(value)


def _role_cell(fact: Fact, name: str) -> str:
    return "; ".join(_escaped(role.value.text) for role in fact.roles if role.name == name)


def _written(value: Value) -> str:
    return value.entity if value.kind is ValueKind.REFERENCE and value.entity else value.text


def _escaped(text: str) -> str:
    return text.replace(";", "\\;").replace("|", "\\|")


def _row(cells: Iterable[str]) -> str:
    line = io.StringIO()
    csv.writer(line, lineterminator="\n").writerow(cells)
    return line.getvalue()


def _attribute_columns(connection: Connection) -> dict[str, tuple[bool, str]]:
    """Each attribute's name, whether it may have several values, and the kind its values all have."""
    kinds: dict[str, set[str]] = {}
    many: dict[str, bool] = {}
    query = select(attributes.c.name, attributes.c.kind, attributes.c.many, func.count())
    grouped = query.where(attributes.c.superseded.is_(None)).group_by(
        attributes.c.name, attributes.c.kind, attributes.c.many
    )
    for name, kind, several, _ in connection.execute(grouped):
        kinds.setdefault(name, set()).add(kind)
        many[name] = many.get(name, False) or several
    suffix = {"reference": ":ref", "date": ":date", "number": ":number", "text": ":text"}
    return {
        name: (many[name], suffix[next(iter(found))] if len(found) == 1 else "")
        for name, found in sorted(kinds.items())
    }


def _entities(connection: Connection) -> Iterator[Entity]:
    last = ""
    while True:
        query = select(entities.c.no, entities.c.id).where(entities.c.id > last)
        page = connection.execute(query.order_by(entities.c.id).limit(PAGE)).all()
        if not page:
            return
        last = page[-1].id
        loaded = load(connection, [row.no for row in page])
        yield from (loaded[row.no] for row in page)


def _facts(connection: Connection, *, history: bool = False) -> Iterator[Fact]:
    last = 0
    while True:
        query = select(facts.c.no).where(facts.c.no > last)
        if not history:
            query = query.where(facts.c.status.in_(SHOWN))
        page: Sequence[int] = connection.execute(query.order_by(facts.c.no).limit(PAGE)).scalars().all()
        if not page:
            return
        last = page[-1]
        loaded = {no: fact for no, fact, *_ in held_by(connection, facts.c.no, page)}
        yield from (loaded[no] for no in page)
