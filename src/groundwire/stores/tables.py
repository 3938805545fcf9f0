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


def _numbered(name: str, *items: Any) -> Table:
    """A table of knowledge, whose rows the writer numbers."""
    return Table(name, metadata, Column("no", Serial, primary_key=True, autoincrement=False), *items)


def _links(name: str, key: Column[Any], more: Column[Any], *items: Any) -> Table:
    """A table with a key of two columns; SQLite needs no row ids beside it."""
    return Table(name, metadata, key, more, *items, sqlite_with_rowid=False)


entities = _numbered(
    "entities",
    *_filled(Text(), "id", "type"),
    *_filled(Boolean(), "defined"),
    Index(None, "id", unique=True),
    Index(None, "type"),
)
"""`defined` is false for entities that are only referred to; their name is as written there."""

names = _numbered(
    "names",
    Column("entity", Serial, ForeignKey("entities.no"), nullable=False),
    Column("position", Integer, nullable=False),
    *_filled(Text(), "text", "key", "core"),
    Index(None, "entity", "position", unique=True),
    Index(None, "key"),
    Index(None, "core"),
)
"""Position 0 is the name, the others are aliases."""

words = _numbered("words", *_filled(Text(), "text"), Index(None, "text", unique=True))

word_forms = _links(
    "word_forms",
    Column("form", Text, primary_key=True),
    Column("word", Serial, ForeignKey("words.no"), primary_key=True),
)

name_words = _links(
    "name_words",
    Column("word", Serial, ForeignKey("words.no"), primary_key=True),
    Column("name", Serial, ForeignKey("names.no"), primary_key=True),
)

attributes = _numbered(
    "attributes",
    Column("entity", Serial, ForeignKey("entities.no"), nullable=False),
    *_filled(Text(), "name", "name_key", "kind", "text", "unit", "value_key", "batch"),
    *_optional(Double(), "number"),
    *_optional(Date(), "day", "valid_from", "valid_to"),
    Column("reference", Serial, ForeignKey("entities.no")),
    *_filled(Boolean(), "many"),
    *_optional(DateTime(), "superseded"),
    Index(None, "entity"),
    Index(None, "value_key", "name_key"),
)

predicates = _numbered(
    "predicates",
    *_filled(Text(), "name", "key"),
    *_filled(Boolean(), "many"),
    Index(None, "name", unique=True),
    Index(None, "key"),
)
"""Names of facts and attributes. `many` is set once several values were seen at a time."""

facts = _numbered(
    "facts",
    *_filled(Text(), "id", "status", "source", "method", "text", "superseded_by", "batch"),
    *_filled(LargeBinary(), "content"),
    *_optional(LargeBinary(), "slot"),
    Column("predicate", Serial, ForeignKey("predicates.no"), nullable=False),
    *_filled(Double(), "confidence"),
    *_optional(Double(), "p0", "p1", "bits"),
    *_optional(Integer(), "start", "end"),
    *_filled(DateTime(), "recorded"),
    *_optional(Date(), "valid_from", "valid_to"),
    *_filled(Boolean(), "many"),
    Index(None, "id", unique=True),
    Index(None, "content", unique=True),
    Index(None, "slot"),
    Index(None, "predicate"),
    Index(None, "superseded_by"),
    Index(None, "status", "no"),
)
"""`content` is a unique digest of the whole statement; `slot` a digest without the value, equal for facts
of which only one can hold; `batch` is the import that wrote the fact last."""

roles = _links(
    "roles",
    Column("fact", Serial, ForeignKey("facts.no"), primary_key=True),
    Column("position", Integer, primary_key=True),
    *_filled(Text(), "name", "kind", "text", "unit", "value_key"),
    *_optional(Double(), "number"),
    *_optional(Date(), "day"),
    Column("entity", Serial, ForeignKey("entities.no")),
    Index(None, "entity"),
    Index(None, "value_key"),
)

# The memory gate: rejected facts, and jobs for facts that are still to be verified.

rejected_facts = Table(
    "rejected_facts",
    metadata,
    Column("id", Serial, primary_key=True, autoincrement=True),
    *_filled(Text(), "text", "fact", "evidence", "verdict", "method", "reason"),
    *_filled(Double(), "confidence", "threshold_bits", "recorded"),
    *_optional(Double(), "adjusted", "p0", "p1", "required_bits", "observed_bits", "gap_bits"),
    Index(None, "recorded"),
)

jobs = Table(
    "jobs",
    metadata,
    Column("id", Serial, primary_key=True, autoincrement=True),
    *_filled(Text(), "kind", "key", "payload", "state", "holder", "reason"),
    *_filled(Double(), "due", "created"),
    *_filled(Integer(), "attempts"),
    Index(None, "kind", "key", unique=True),
    Index(None, "kind", "state", "due", "id"),
)
"""`due` is when a job may be claimed; claiming it moves that to the end of the lease."""

# The path-keyed store: one value per path, in bytewise order whatever the collation of the database.

Bytewise = Text().with_variant(Text(collation="C"), "postgresql")
"""SQLite compares text bytewise; PostgreSQL has to be told."""

paths = Table(
    "paths",
    metadata,
    Column("path", Bytewise, primary_key=True),
    *_filled(Text(), "value"),
    *_filled(Double(), "written"),
)

# Reasoning traces as a graph: goals, decisions, actions, observations, claims and verdicts, and the edges between
# them. An edge's target has no foreign key on purpose: a claim may cite what does not exist, and that must be kept.

trace_nodes = Table(
    "trace_nodes",
    metadata,
    Column("number", Integer, primary_key=True, autoincrement=True),
    *_filled(String(200), "id"),
    Column("root", String(200), ForeignKey("trace_nodes.id", ondelete="CASCADE"), nullable=False),
    *_filled(String(20), "kind"),
    *_optional(String(200), "name"),
    *_filled(Text(), "text"),
    *_optional(Float(), "confidence"),
    *_optional(String(20), "status"),
    *_filled(JSON(), "detail"),
    *_filled(DateTime(timezone=True), "created"),
    UniqueConstraint("id"),
    UniqueConstraint("root", "name"),
    Index(None, "kind"),
)

trace_edges = Table(
    "trace_edges",
    metadata,
    Column("number", Integer, primary_key=True, autoincrement=True),
    Column("source", String(200), ForeignKey("trace_nodes.id", ondelete="CASCADE"), nullable=False),
    *_filled(String(20), "label"),
    *_filled(String(200), "target"),
    UniqueConstraint("source", "label", "target"),
    Index(None, "target"),
)

# User feedback on verdicts, and the reports it refers to.

feedback_reports = Table(
    "feedback_reports",
    metadata,
    Column("key", String(32), primary_key=True),
    *_filled(Text(), "name", "backend", "profile"),
    *_optional(Double(), "risk"),
    *_filled(Integer(), "claims"),
    *_filled(JSON(), "flagged"),
)
"""`flagged` are the keys of the flagged claims; if all of them are marked wrong, it was a false alarm."""

feedback = Table(
    "feedback",
    metadata,
    Column("id", Serial, primary_key=True, autoincrement=True),
    *_filled(String(32), "key"),
    Column("report", String(32), ForeignKey("feedback_reports.key", ondelete="CASCADE"), nullable=False),
    *_filled(Text(), "claim", "method", "note"),
    *_filled(String(20), "status"),
    *_optional(String(40), "gap_type"),
    *_filled(Boolean(), "flagged", "right"),
    *_optional(Double(), "p1", "p0", "gap_bits"),
    *_filled(Double(), "at"),
    Index(None, "key"),
    Index(None, "report"),
)
"""Append-only: the newest feedback on a claim counts, older rows are history."""

# Stored reports: a narrow row for lists, and the body apart.

reports = Table(
    "reports",
    metadata,
    Column("number", Serial, primary_key=True, autoincrement=True),
    *_filled(String(32), "id"),
    *_filled(String(20), "kind"),
    *_filled(String(64), "owner"),
    *_filled(Double(), "created"),
    *_filled(Text(), "title", "backend", "profile"),
    *_optional(Boolean(), "flagged"),
    *_optional(Double(), "risk", "grounding"),
    *_filled(Integer(), "hour", "claims", "flagged_claims", "unchecked"),
    Index(None, "id", unique=True),
    Index(None, "created"),
    Index(None, "owner", "number"),
)
"""`owner` is the id of the API key, empty without one; `hour` counts from 1970."""

report_bodies = Table(
    "report_bodies",
    metadata,
    Column("report", Serial, ForeignKey("reports.number", ondelete="CASCADE"), primary_key=True),
    *_filled(LargeBinary(), "body"),
)
"""Bodies are stored apart, so that lists do not read them."""

report_shares = Table(
    "report_shares",
    metadata,
    Column("report", Serial, ForeignKey("reports.number", ondelete="CASCADE"), primary_key=True),
    Column("digest", String(64), primary_key=True),
)
"""The SHA-256 digests of the tokens that let other keys read a report."""

# API keys: who may ask the HTTP service for what. Only digests of the secrets are stored.

api_keys = Table(
    "api_keys",
    metadata,
    Column("id", String(16), primary_key=True),
    *_filled(Text(), "name"),
    *_filled(String(64), "digest"),
    *_filled(JSON(), "scopes"),
    *_optional(Integer(), "per_minute"),
    *_filled(Double(), "created"),
    *_optional(Double(), "revoked"),
    Index(None, "name"),
)
"""A name can be reused once its key is revoked; revoked rows stay, for reading old logs."""
