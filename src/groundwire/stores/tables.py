"""The tables of the store. New stores are made from them; `migrations` changes older ones."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from sqlalchemy.types import TypeEngine

metadata = sa.MetaData(
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

Serial = sa.BigInteger().with_variant(sa.Integer, "sqlite")
"""SQLite autoincrements only INTEGER keys. Numbers of knowledge are assigned by the writer, which holds the
write lock, so that inserts are bulk."""


def _filled(kind: TypeEngine[Any], *names: str) -> list[sa.Column[Any]]:
    """Columns of one type that are never null."""
    return [sa.Column(name, kind, nullable=False) for name in names]


def _optional(kind: TypeEngine[Any], *names: str) -> list[sa.Column[Any]]:
    return [sa.Column(name, kind) for name in names]


def _numbered(name: str, *items: Any) -> sa.Table:
    """A table of knowledge, whose rows the writer numbers."""
    return sa.Table(name, metadata, sa.Column("no", Serial, primary_key=True, autoincrement=False), *items)


def _links(name: str, key: sa.Column[Any], more: sa.Column[Any], *items: Any) -> sa.Table:
    """A table with a key of two columns; SQLite needs no row ids beside it."""
    return sa.Table(name, metadata, key, more, *items, sqlite_with_rowid=False)


entities = _numbered(
    "entities",
    *_filled(sa.Text(), "id", "type"),
    *_filled(sa.Boolean(), "defined"),
    sa.Index(None, "id", unique=True),
    sa.Index(None, "type"),
)
"""`defined` is false for entities that are only referred to; their name is as written there."""

names = _numbered(
    "names",
    sa.Column("entity", Serial, sa.ForeignKey("entities.no"), nullable=False),
    sa.Column("position", sa.Integer, nullable=False),
    *_filled(sa.Text(), "text", "key", "core"),
    sa.Index(None, "entity", "position", unique=True),
    sa.Index(None, "key"),
    sa.Index(None, "core"),
)
"""Position 0 is the name, the others are aliases."""

words = _numbered("words", *_filled(sa.Text(), "text"), sa.Index(None, "text", unique=True))

word_forms = _links(
    "word_forms",
    sa.Column("form", sa.Text, primary_key=True),
    sa.Column("word", Serial, sa.ForeignKey("words.no"), primary_key=True),
)

name_words = _links(
    "name_words",
    sa.Column("word", Serial, sa.ForeignKey("words.no"), primary_key=True),
    sa.Column("name", Serial, sa.ForeignKey("names.no"), primary_key=True),
)

attributes = _numbered(
    "attributes",
    sa.Column("entity", Serial, sa.ForeignKey("entities.no"), nullable=False),
    *_filled(sa.Text(), "name", "name_key", "kind", "text", "unit", "value_key", "batch"),
    *_optional(sa.Double(), "number"),
    *_optional(sa.Date(), "day", "valid_from", "valid_to"),
    sa.Column("reference", Serial, sa.ForeignKey("entities.no")),
    *_filled(sa.Boolean(), "many"),
    *_optional(sa.DateTime(), "superseded"),
    sa.Index(None, "entity"),
    sa.Index(None, "value_key", "name_key"),
)

predicates = _numbered(
    "predicates",
    *_filled(sa.Text(), "name", "key"),
    *_filled(sa.Boolean(), "many"),
    sa.Index(None, "name", unique=True),
    sa.Index(None, "key"),
)
"""Names of facts and attributes. `many` is set once several values were seen at a time."""

facts = _numbered(
    "facts",
    *_filled(sa.Text(), "id", "status", "source", "method", "text", "superseded_by", "batch"),
    *_filled(sa.LargeBinary(), "content"),
    *_optional(sa.LargeBinary(), "slot"),
    sa.Column("predicate", Serial, sa.ForeignKey("predicates.no"), nullable=False),
    *_filled(sa.Double(), "confidence"),
    *_optional(sa.Double(), "p0", "p1", "bits"),
    *_optional(sa.Integer(), "start", "end"),
    *_filled(sa.DateTime(), "recorded"),
    *_optional(sa.Date(), "valid_from", "valid_to"),
    *_filled(sa.Boolean(), "many"),
    sa.Index(None, "id", unique=True),
    sa.Index(None, "content", unique=True),
    sa.Index(None, "slot"),
    sa.Index(None, "predicate"),
    sa.Index(None, "superseded_by"),
    sa.Index(None, "status", "no"),
)
"""`content` is a unique digest of the whole statement; `slot` a digest without the value, equal for facts
of which only one can hold; `batch` is the import that wrote the fact last."""

roles = _links(
    "roles",
    sa.Column("fact", Serial, sa.ForeignKey("facts.no"), primary_key=True),
    sa.Column("position", sa.Integer, primary_key=True),
    *_filled(sa.Text(), "name", "kind", "text", "unit", "value_key"),
    *_optional(sa.Double(), "number"),
    *_optional(sa.Date(), "day"),
    sa.Column("entity", Serial, sa.ForeignKey("entities.no")),
    sa.Index(None, "entity"),
    sa.Index(None, "value_key"),
)

# The memory gate: rejected facts, and jobs for facts that are still to be verified.

rejected_facts = sa.Table(
    "rejected_facts",
    metadata,
    sa.Column("id", Serial, primary_key=True, autoincrement=True),
    *_filled(sa.Text(), "text", "fact", "evidence", "verdict", "method", "reason"),
    *_filled(sa.Double(), "confidence", "threshold_bits", "recorded"),
    *_optional(sa.Double(), "adjusted", "p0", "p1", "required_bits", "observed_bits", "gap_bits"),
    sa.Index(None, "recorded"),
)

jobs = sa.Table(
    "jobs",
    metadata,
    sa.Column("id", Serial, primary_key=True, autoincrement=True),
    *_filled(sa.Text(), "kind", "key", "payload", "state", "holder", "reason"),
    *_filled(sa.Double(), "due", "created"),
    *_filled(sa.Integer(), "attempts"),
    sa.Index(None, "kind", "key", unique=True),
    sa.Index(None, "kind", "state", "due", "id"),
)
"""`due` is when a job may be claimed; claiming it moves that to the end of the lease."""

# The path-keyed store: one value per path, in bytewise order whatever the collation of the database.

Bytewise = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
"""SQLite compares text bytewise; PostgreSQL has to be told."""

paths = sa.Table(
    "paths",
    metadata,
    sa.Column("path", Bytewise, primary_key=True),
    *_filled(sa.Text(), "value"),
    *_filled(sa.Double(), "written"),
)

# Reasoning traces as a graph: goals, decisions, actions, observations, claims and verdicts, and the edges between
# them. An edge's target has no foreign key on purpose: a claim may cite what does not exist, and that must be kept.

trace_nodes = sa.Table(
    "trace_nodes",
    metadata,
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=True),
    *_filled(sa.String(200), "id"),
    sa.Column("root", sa.String(200), sa.ForeignKey("trace_nodes.id", ondelete="CASCADE"), nullable=False),
    *_filled(sa.String(20), "kind"),
    *_optional(sa.String(200), "name"),
    *_filled(sa.Text(), "text"),
    *_optional(sa.Float(), "confidence"),
    *_optional(sa.String(20), "status"),
    *_filled(sa.JSON(), "detail"),
    *_filled(sa.DateTime(timezone=True), "created"),
    sa.UniqueConstraint("id"),
    sa.UniqueConstraint("root", "name"),
    sa.Index(None, "kind"),
)

trace_edges = sa.Table(
    "trace_edges",
    metadata,
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=True),
    sa.Column("source", sa.String(200), sa.ForeignKey("trace_nodes.id", ondelete="CASCADE"), nullable=False),
    *_filled(sa.String(20), "label"),
    *_filled(sa.String(200), "target"),
    sa.UniqueConstraint("source", "label", "target"),
    sa.Index(None, "target"),
)

# User feedback on verdicts, and the reports it refers to.

feedback_reports = sa.Table(
    "feedback_reports",
    metadata,
    sa.Column("key", sa.String(32), primary_key=True),
    *_filled(sa.Text(), "name", "backend", "profile"),
    *_optional(sa.Double(), "risk"),
    *_filled(sa.Integer(), "claims"),
    *_filled(sa.JSON(), "flagged"),
)
"""`flagged` are the keys of the flagged claims; if all of them are marked wrong, it was a false alarm."""

feedback = sa.Table(
    "feedback",
    metadata,
    sa.Column("id", Serial, primary_key=True, autoincrement=True),
    *_filled(sa.String(32), "key"),
    sa.Column("report", sa.String(32), sa.ForeignKey("feedback_reports.key", ondelete="CASCADE"), nullable=False),
    *_filled(sa.Text(), "claim", "method", "note"),
    *_filled(sa.String(20), "status"),
    *_optional(sa.String(40), "gap_type"),
    *_filled(sa.Boolean(), "flagged", "right"),
    *_optional(sa.Double(), "p1", "p0", "gap_bits"),
    *_filled(sa.Double(), "at"),
    sa.Index(None, "key"),
    sa.Index(None, "report"),
)
"""Append-only: the newest feedback on a claim counts, older rows are history."""

# Stored reports: a narrow row for lists, and the body apart.

reports = sa.Table(
    "reports",
    metadata,
    sa.Column("number", Serial, primary_key=True, autoincrement=True),
    *_filled(sa.String(32), "id"),
    *_filled(sa.String(20), "kind"),
    *_filled(sa.String(64), "owner"),
    *_filled(sa.Double(), "created"),
    *_filled(sa.Text(), "title", "backend", "profile"),
    *_optional(sa.Boolean(), "flagged"),
    *_optional(sa.Double(), "risk", "grounding"),
    *_filled(sa.Integer(), "hour", "claims", "flagged_claims", "unchecked"),
    sa.Index(None, "id", unique=True),
    sa.Index(None, "created"),
    sa.Index(None, "owner", "number"),
)
"""`owner` is the id of the API key, empty without one; `hour` counts from 1970."""

report_bodies = sa.Table(
    "report_bodies",
    metadata,
    sa.Column("report", Serial, sa.ForeignKey("reports.number", ondelete="CASCADE"), primary_key=True),
    *_filled(sa.LargeBinary(), "body"),
)
"""Bodies are stored apart, so that lists do not read them."""

report_shares = sa.Table(
    "report_shares",
    metadata,
    sa.Column("report", Serial, sa.ForeignKey("reports.number", ondelete="CASCADE"), primary_key=True),
    sa.Column("digest", sa.String(64), primary_key=True),
)
"""The SHA-256 digests of the tokens that let other keys read a report."""

# API keys: who may ask the HTTP service for what. Only digests of the secrets are stored.

api_keys = sa.Table(
    "api_keys",
    metadata,
    sa.Column("id", sa.String(16), primary_key=True),
    *_filled(sa.Text(), "name"),
    *_filled(sa.String(64), "digest"),
    *_filled(sa.JSON(), "scopes"),
    *_optional(sa.Integer(), "per_minute"),
    *_filled(sa.Double(), "created"),
    *_optional(sa.Double(), "revoked"),
    sa.Index(None, "name"),
)
"""A name can be reused once its key is revoked; revoked rows stay, for reading old logs."""
