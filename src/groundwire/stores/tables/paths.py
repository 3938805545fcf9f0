"""The path-keyed store: one value a path, in bytewise order whatever the database's own collation."""

from __future__ import annotations

from sqlalchemy import Column, Double, Table, Text

from groundwire.stores.tables.base import metadata

Bytewise = Text().with_variant(Text(collation="C"), "postgresql")
"""SQLite compares text by its bytes already; PostgreSQL does where it is told."""

paths = Table(
    "paths",
    metadata,
    Column("path", Bytewise, primary_key=True),
    Column("value", Text, nullable=False),
    Column("written", Double, nullable=False),
)
