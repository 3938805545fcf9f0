"""API keys: who may ask the HTTP service for what. The secret itself is nowhere."""

from __future__ import annotations

from sqlalchemy import JSON, Column, Double, Index, Integer, String, Table, Text

from groundwire.stores.tables.base import metadata

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
"""A name may come again once its key is revoked; the revoked row stays, for who reads old logs."""
