"""The path-keyed store of detections and the patterns learned from them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    op.create_table(
        "paths",
        sa.Column("path", sa.Text().with_variant(sa.Text(collation="C"), "postgresql"), primary_key=True),
        sa.Column("value", sa.Text, nullable=False),
        sa.Column("written", sa.Double, nullable=False),
    )
