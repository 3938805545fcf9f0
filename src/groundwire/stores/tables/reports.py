"""Stored reports: a narrow row for lists and figures, the whole apart, and counts by type and source."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Double,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    String,
    Table,
    Text,
)

from groundwire.stores.tables.base import metadata

Serial = BigInteger().with_variant(Integer, "sqlite")

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
    Column("risk", Double),
    Column("grounding", Double),
    Column("claims", Integer, nullable=False),
    Column("flagged_claims", Integer, nullable=False),
    Column("unchecked", Integer, nullable=False),
    Column("backend", Text, nullable=False),
    Column("profile", Text, nullable=False),
    Index(None, "id", unique=True),
    Index(None, "created"),
    Index(None, "owner", "number"),
)
"""`owner` is the API key that asked, empty without one; `hour` counts from 1970, so that every database
groups by it with whole numbers."""

report_bodies = Table(
    "report_bodies",
    metadata,
    Column("report", Serial, ForeignKey("reports.number", ondelete="CASCADE"), primary_key=True),
    Column("body", LargeBinary, nullable=False),
)
"""What is only read one at a time stands apart, so that figures over many reports never pass over it."""

report_counts = Table(
    "report_counts",
    metadata,
    Column("report", Serial, ForeignKey("reports.number", ondelete="CASCADE"), primary_key=True),
    Column("dimension", String(10), primary_key=True),
    Column("name", Text, primary_key=True),
    Column("hour", Integer, nullable=False),
    Column("claims", Integer, nullable=False),
    Column("flagged", Integer, nullable=False),
    Index(None, "dimension", "hour", "name", "claims", "flagged"),
    sqlite_with_rowid=False,
)
"""`hour` again, so that one index answers for a stretch of time without a join."""
