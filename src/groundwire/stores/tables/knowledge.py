"""What is known: entities with their names and attributes, predicates, and facts with their roles.

Rows point at each other by small numbers; the ids people see stand in `id`. A name is found by `key` (as
written, folded) or `core` (without title, article and kind); a misspelt one by its words: `word_forms` holds
each word with letters left out, so that two near words share a form.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Date,
    DateTime,
    Double,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    Table,
    Text,
)

from groundwire.stores.tables.base import metadata

Serial = BigInteger().with_variant(Integer, "sqlite")
"""Row numbers are given out by the writer, who is alone (stores/writing.py); so many rows go in at once."""

entities = Table(
    "entities",
    metadata,
    Column("no", Serial, primary_key=True, autoincrement=False),
    Column("id", Text, nullable=False),
    Column("type", Text, nullable=False),
    Column("defined", Boolean, nullable=False),
    Index(None, "id", unique=True),
    Index(None, "type"),
)
"""Not `defined` is what others only refer to: its name is how they wrote it."""

names = Table(
    "names",
    metadata,
    Column("no", Serial, primary_key=True, autoincrement=False),
    Column("entity", Serial, ForeignKey("entities.no"), nullable=False),
    Column("position", Integer, nullable=False),
    Column("text", Text, nullable=False),
    Column("key", Text, nullable=False),
    Column("core", Text, nullable=False),
    Index(None, "entity", "position", unique=True),
    Index(None, "key"),
    Index(None, "core"),
)
"""Position 0 is the name itself, the others are aliases."""

words = Table(
    "words",
    metadata,
    Column("no", Serial, primary_key=True, autoincrement=False),
    Column("text", Text, nullable=False),
    Index(None, "text", unique=True),
)

word_forms = Table(
    "word_forms",
    metadata,
    Column("form", Text, primary_key=True),
    Column("word", Serial, ForeignKey("words.no"), primary_key=True),
    sqlite_with_rowid=False,
)

name_words = Table(
    "name_words",
    metadata,
    Column("word", Serial, ForeignKey("words.no"), primary_key=True),
    Column("name", Serial, ForeignKey("names.no"), primary_key=True),
    sqlite_with_rowid=False,
)

attributes = Table(
    "attributes",
    metadata,
    Column("no", Serial, primary_key=True, autoincrement=False),
    Column("entity", Serial, ForeignKey("entities.no"), nullable=False),
    Column("name", Text, nullable=False),
    Column("name_key", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("text", Text, nullable=False),
    Column("number", Double),
    Column("unit", Text, nullable=False),
    Column("day", Date),
    Column("reference", Serial, ForeignKey("entities.no")),
    Column("value_key", Text, nullable=False),
    Column("many", Boolean, nullable=False),
    Column("valid_from", Date),
    Column("valid_to", Date),
    Column("superseded", DateTime),
    Column("batch", Text, nullable=False),
    Index(None, "entity"),
    Index(None, "value_key", "name_key"),
)

predicates = Table(
    "predicates",
    metadata,
    Column("no", Serial, primary_key=True, autoincrement=False),
    Column("name", Text, nullable=False),
    Column("key", Text, nullable=False),
    Column("many", Boolean, nullable=False),
    Index(None, "name", unique=True),
    Index(None, "key"),
)
"""What facts and attributes are called. What was once seen with several values at once stays `many`."""

facts = Table(
    "facts",
    metadata,
    Column("no", Serial, primary_key=True, autoincrement=False),
    Column("id", Text, nullable=False),
    Column("content", LargeBinary, nullable=False),
    Column("slot", LargeBinary),
    Column("predicate", Serial, ForeignKey("predicates.no"), nullable=False),
    Column("confidence", Double, nullable=False),
    Column("status", Text, nullable=False),
    Column("source", Text, nullable=False),
    Column("start", Integer),
    Column("end", Integer),
    Column("recorded", DateTime, nullable=False),
    Column("p0", Double),
    Column("p1", Double),
    Column("bits", Double),
    Column("method", Text, nullable=False),
    Column("text", Text, nullable=False),
    Column("many", Boolean, nullable=False),
    Column("superseded_by", Text, nullable=False),
    Column("valid_from", Date),
    Column("valid_to", Date),
    Column("batch", Text, nullable=False),
    Index(None, "id", unique=True),
    Index(None, "content", unique=True),
    Index(None, "slot"),
    Index(None, "predicate"),
    Index(None, "superseded_by"),
    Index(None, "status", "no"),
)
"""`content` is a digest of what is said, so that nothing can be said twice; `slot` one of what it is said
of, where only one value can hold; `batch` names the import that said it last."""

roles = Table(
    "roles",
    metadata,
    Column("fact", Serial, ForeignKey("facts.no"), primary_key=True),
    Column("position", Integer, primary_key=True),
    Column("name", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("text", Text, nullable=False),
    Column("number", Double),
    Column("unit", Text, nullable=False),
    Column("day", Date),
    Column("entity", Serial, ForeignKey("entities.no")),
    Column("value_key", Text, nullable=False),
    Index(None, "entity"),
    Index(None, "value_key"),
    sqlite_with_rowid=False,
)
