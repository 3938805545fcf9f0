"""What the memory gate keeps beside the facts: the ones it refused, and the ones still to be verified."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Double, Index, Integer, Table, Text

from groundwire.stores.tables.base import metadata

Serial = BigInteger().with_variant(Integer, "sqlite")
"""SQLite numbers rows by itself only where the key is an INTEGER."""

rejected_facts = Table(
    "rejected_facts",
    metadata,
    Column("id", Serial, primary_key=True, autoincrement=True),
    Column("text", Text, nullable=False),
    Column("fact", Text, nullable=False),
    Column("evidence", Text, nullable=False),
    Column("confidence", Double, nullable=False),
    Column("adjusted", Double),
    Column("p0", Double),
    Column("p1", Double),
    Column("required_bits", Double),
    Column("observed_bits", Double),
    Column("gap_bits", Double),
    Column("threshold_bits", Double, nullable=False),
    Column("verdict", Text, nullable=False),
    Column("method", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("recorded", Double, nullable=False),
    Index(None, "recorded"),
)

jobs = Table(
    "jobs",
    metadata,
    Column("id", Serial, primary_key=True, autoincrement=True),
    Column("kind", Text, nullable=False),
    Column("key", Text, nullable=False),
    Column("payload", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("due", Double, nullable=False),
    Column("holder", Text, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("reason", Text, nullable=False),
    Column("created", Double, nullable=False),
    Index(None, "kind", "key", unique=True),
    Index(None, "kind", "state", "due", "id"),
)
"""`due` is when a job may be taken; taking it moves that to the end of the taker's lease."""
