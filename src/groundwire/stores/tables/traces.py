"""Reasoning traces as a graph: what was wanted, decided, done, seen, claimed and verified, and how it hangs
together.

An edge's target has no foreign key on purpose: a claim may cite what does not exist, and that must be kept.
"""

from __future__ import annotations

from sqlalchemy import (
    JSON,
    Column,
    DateTime,
    Float,
    ForeignKey,
    Index,
    Integer,
    String,
    Table,
    Text,
    UniqueConstraint,
)

from groundwire.stores.tables.base import metadata

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
