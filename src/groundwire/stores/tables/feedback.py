"""What people said of verdicts: each opinion, and the report it was about."""

from __future__ import annotations

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    Double,
    ForeignKey,
    Index,
    Integer,
    String,
    Table,
    Text,
)

from groundwire.stores.tables.base import metadata

Serial = BigInteger().with_variant(Integer, "sqlite")

feedback_reports = Table(
    "feedback_reports",
    metadata,
    Column("key", String(32), primary_key=True),
    Column("name", Text, nullable=False),
    Column("risk", Double),
    Column("backend", Text, nullable=False),
    Column("profile", Text, nullable=False),
    Column("claims", Integer, nullable=False),
    Column("flagged", JSON, nullable=False),
)
"""`flagged` are the keys of the claims that were flagged: all of them judged wrong make a false alarm."""

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
    Column("p1", Double),
    Column("p0", Double),
    Column("gap_bits", Double),
    Column("method", Text, nullable=False),
    Column("right", Boolean, nullable=False),
    Column("note", Text, nullable=False),
    Column("at", Double, nullable=False),
    Index(None, "key"),
    Index(None, "report"),
)
"""Nothing is overwritten: the newest opinion on a claim counts, older ones say what was thought before."""
