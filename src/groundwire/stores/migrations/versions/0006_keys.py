"""API keys of the HTTP service."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    op.create_table(
        "api_keys",
        sa.Column("id", sa.String(16), primary_key=True),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("scopes", sa.JSON, nullable=False),
        sa.Column("per_minute", sa.Integer),
        sa.Column("created", sa.Double, nullable=False),
        sa.Column("revoked", sa.Double),
    )
    op.create_index("ix_api_keys_name", "api_keys", ["name"])
