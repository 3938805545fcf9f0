"""The tables of the store. New stores are made from them; `migrations` changes older ones."""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    Date,
    DateTime,
    Double,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
)
from sqlalchemy.types import TypeEngine

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)

# Knowledge: entities with their names and attributes, predicates, and facts with their roles.
#
# Rows refer to each other by row number; `id` is the public id. A name is found by `key` (as written, folded)
# or `core` (without title, article and kind), a misspelt one by its words: `word_forms` holds each word with
# letters left out, so that similar words share a form.

Serial = BigInteger().with_variant(Integer, "sqlite")
"""SQLite autoincrements only INTEGER keys. Numbers of knowledge are assigned by the writer, which holds the
write lock, so that inserts are bulk."""


def _filled(kind: TypeEngine[Any], *names: str) -> list[Column[Any]]:
    """Columns of one type that are never null."""
    return [Column(name, kind, nullable=False) for name in names]


def _optional(kind: TypeEngine[Any], *names: str) -> list[Column[Any]]:
    return [Column(name, kind) for name in names]


entities = Table(
    "entities",
    metadata,
    Column("no", Serial, primary_key=True, autoincrement=False),
    *_filled(Text(), "id", "type"),
    Column("defined", Boolean, nullable=False),
    Index(None, "id", unique=True),
    Index(None, "type"),
)
"""`defined` is false for entities that are only referred to; their name is as written there."""

names = Table(
    "names",
    metadata,
    Column("no", Serial, primary_key=True, autoincrement=False),
    Column("entity", Serial, ForeignKey("entities.no"), nullable=False),
    Column("position", Integer, nullable=False),
    *_filled(Text(), "text", "key", "core"),
    Index(None, "entity", "position", unique=True),
    Index(None, "key"),
    Index(None, "core"),
)
"""Position 0 is the name, the others are aliases."""

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
    *_filled(Text(), "name", "name_key", "kind", "text"),
    Column("number", Double),
    Column("unit", Text, nullable=False),
    Column("day", Date),
    Column("reference", Serial, ForeignKey("entities.no")),
    Column("value_key", Text, nullable=False),
    Column("many", Boolean, nullable=False),
    *_optional(Date(), "valid_from", "valid_to"),
    Column("superseded", DateTime),
    Column("batch", Text, nullable=False),
    Index(None, "entity"),
    Index(None, "value_key", "name_key"),
)

predicates = Table(
    "predicates",
    metadata,
    Column("no", Serial, primary_key=True, autoincrement=False),
    *_filled(Text(), "name", "key"),
    Column("many", Boolean, nullable=False),
    Index(None, "name", unique=True),
    Index(None, "key"),
)
"""Names of facts and attributes. `many` is set once several values were seen at a time."""

facts = Table(
    "facts",
    metadata,
    Column("no", Serial, primary_key=True, autoincrement=False),
    Column("id", Text, nullable=False),
    Column("content", LargeBinary, nullable=False),
    Column("slot", LargeBinary),
    Column("predicate", Serial, ForeignKey("predicates.no"), nullable=False),
    Column("confidence", Double, nullable=False),
    *_filled(Text(), "status", "source"),
    *_optional(Integer(), "start", "end"),
    Column("recorded", DateTime, nullable=False),
    *_optional(Double(), "p0", "p1", "bits"),
    *_filled(Text(), "method", "text"),
    Column("many", Boolean, nullable=False),
    Column("superseded_by", Text, nullable=False),
    *_optional(Date(), "valid_from", "valid_to"),
    Column("batch", Text, nullable=False),
    Index(None, "id", unique=True),
    Index(None, "content", unique=True),
    Index(None, "slot"),
    Index(None, "predicate"),
    Index(None, "superseded_by"),
    Index(None, "status", "no"),
)
"""`content` is a unique digest of the whole statement; `slot` a digest without the value, equal for facts
of which only one can hold; `batch` is the import that wrote the fact last."""

roles = Table(
    "roles",
    metadata,
    Column("fact", Serial, ForeignKey("facts.no"), primary_key=True),
    Column("position", Integer, primary_key=True),
    *_filled(Text(), "name", "kind", "text"),
    Column("number", Double),
    Column("unit", Text, nullable=False),
    Column("day", Date),
    Column("entity", Serial, ForeignKey("entities.no")),
    Column("value_key", Text, nullable=False),
    Index(None, "entity"),
    Index(None, "value_key"),
    sqlite_with_rowid=False,
)

# Of the memory gate: rejected facts, and jobs for facts that are still to be verified.

rejected_facts = Table(
    "rejected_facts",
    metadata,
    Column("id", Serial, primary_key=True, autoincrement=True),
    *_filled(Text(), "text", "fact", "evidence"),
    Column("confidence", Double, nullable=False),
    *_optional(Double(), "adjusted", "p0", "p1", "required_bits", "observed_bits", "gap_bits"),
    Column("threshold_bits", Double, nullable=False),
    *_filled(Text(), "verdict", "method", "reason"),
    Column("recorded", Double, nullable=False),
    Index(None, "recorded"),
)

jobs = Table(
    "jobs",
    metadata,
    Column("id", Serial, primary_key=True, autoincrement=True),
    *_filled(Text(), "kind", "key", "payload", "state"),
    Column("due", Double, nullable=False),
    Column("holder", Text, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("reason", Text, nullable=False),
    Column("created", Double, nullable=False),
    Index(None, "kind", "key", unique=True),
    Index(None, "kind", "state", "due", "id"),
)
"""`due` is when a job may be claimed; claiming it moves that to the end of the lease."""

# The path-keyed store: one value a path, in bytewise order whatever the database's own collation.

Bytewise = Text().with_variant(Text(collation="C"), "postgresql")
"""SQLite compares text bytewise; PostgreSQL has to be told."""

paths = Table(
    "paths",
    metadata,
    Column("path", Bytewise, primary_key=True),
    Column("value", Text, nullable=False),
    Column("written", Double, nullable=False),
)

# Reasoning traces as a graph: what was wanted, decided, done, seen, claimed and verified, and how it hangs
# together.
#
# An edge's target has no foreign key on purpose: a claim may cite what does not exist, and that must be kept.

trace_nodes = Table(
    "trace_nodes",
    metadata,
    Column("number", Integer, primary_key=True, autoincrement=True),
    Column("id", String(200), nullable=False),
    Column("root", String(200), ForeignKey("trace_nodes.id", ondelete="CASCADE"), nullable=False),
    Column("kind", String(20), nullable=False),
    Column("name", String(200), nullable=True),
    Column("text", Text, nullable=False),
    Column("confidence", Float, nullable=True),
    Column("status", String(20), nullable=True),
    Column("detail", JSON, nullable=False),
    Column("created", DateTime(timezone=True), nullable=False),
    UniqueConstraint("id"),
    UniqueConstraint("root", "name"),
    Index(None, "kind"),
)

trace_edges = Table(
    "trace_edges",
    metadata,
    Column("number", Integer, primary_key=True, autoincrement=True),
    Column("source", String(200), ForeignKey("trace_nodes.id", ondelete="CASCADE"), nullable=False),
    Column("label", String(20), nullable=False),
    Column("target", String(200), nullable=False),
    UniqueConstraint("source", "label", "target"),
    Index(None, "target"),
)

# User feedback on verdicts, and the reports it refers to.

feedback_reports = Table(
    "feedback_reports",
    metadata,
    Column("key", String(32), primary_key=True),
    Column("name", Text, nullable=False),
    Column("risk", Double),
    *_filled(Text(), "backend", "profile"),
    Column("claims", Integer, nullable=False),
    Column("flagged", JSON, nullable=False),
)
"""`flagged` are the keys of the flagged claims; if all of them are marked wrong, it was a false alarm."""

feedback = Table(
    "feedback",
    metadata,
    Column("id", Serial, primary_key=True, autoincrement=True),
    Column("key", String(32), nullable=False),
    Column("report", String(32), ForeignKey("feedback_reports.key", ondelete="CASCADE"), nullable=False),
    Column("claim", Text, nullable=False),
    Column("status", String(20), nullable=False),
    Column("gap_type", String(40)),
    Column("flagged", Boolean, nullable=False),
    *_optional(Double(), "p1", "p0", "gap_bits"),
    Column("method", Text, nullable=False),
    Column("right", Boolean, nullable=False),
    Column("note", Text, nullable=False),
    Column("at", Double, nullable=False),
    Index(None, "key"),
    Index(None, "report"),
)
"""Append-only: the newest feedback on a claim counts, older rows are history."""

# Stored reports: a narrow row for lists, and the whole apart.

reports = Table(
    "reports",
    metadata,
    Column("number", Serial, primary_key=True, autoincrement=True),
    Column("id", String(32), nullable=False),
    Column("kind", String(20), nullable=False),
    Column("owner", String(64), nullable=False),
    Column("created", Double, nullable=False),
    Column("hour", Integer, nullable=False),
    Column("title", Text, nullable=False),
    Column("flagged", Boolean),
    *_optional(Double(), "risk", "grounding"),
    *_filled(Integer(), "claims", "flagged_claims", "unchecked"),
    *_filled(Text(), "backend", "profile"),
    Index(None, "id", unique=True),
    Index(None, "created"),
    Index(None, "owner", "number"),
)
"""`owner` is the id of the API key, empty without one; `hour` counts from 1970."""

report_bodies = Table(
    "report_bodies",
    metadata,
    Column("report", Serial, ForeignKey("reports.number", ondelete="CASCADE"), primary_key=True),
    Column("body", LargeBinary, nullable=False),
)
"""Bodies are stored apart, so that lists do not read them."""

report_shares = Table(
    "report_shares",
    metadata,
    Column("report", Serial, ForeignKey("reports.number", ondelete="CASCADE"), primary_key=True),
    Column("digest", String(64), primary_key=True),
)
"""The SHA-256 digests of the tokens that let other keys read a report."""

# API keys: who may ask the HTTP service for what. The secret itself is nowhere.

api_keys = Table(
    "api_keys",
    metadata,
    Column("id", String(16), primary_key=True),
    Column("name", Text, nullable=False),
    Column("digest", String(64), nullable=False),
    Column("scopes", JSON, nullable=False),
    Column("per_minute", Integer),
    Column("created", Double, nullable=False),
    Column("revoked", Double),
    Index(None, "name"),
)
"""A name can be reused once its key is revoked; revoked rows stay, for reading old logs."""
