"""Tokens that let other keys read a report."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    op.create_table(
        "report_shares",
        sa.Column("report", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True),
        sa.Column("digest", sa.String(64), primary_key=True),
        sa.ForeignKeyConstraint(
            ["report"], ["reports.number"], name="fk_report_shares_report", ondelete="CASCADE"
        ),
    )
