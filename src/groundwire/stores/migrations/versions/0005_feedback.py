"""User feedback on verdicts."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"

_SERIAL = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    op.create_table(
        "feedback_reports",
        sa.Column("key", sa.String(32), primary_key=True),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("risk", sa.Double),
        sa.Column("backend", sa.Text, nullable=False),
        sa.Column("profile", sa.Text, nullable=False),
        sa.Column("claims", sa.Integer, nullable=False),
        sa.Column("flagged", sa.JSON, nullable=False),
    )
    op.create_table(
        "feedback",
        sa.Column("id", _SERIAL, primary_key=True, autoincrement=True),
        sa.Column("key", sa.String(32), nullable=False),
        sa.Column("report", sa.String(32), nullable=False),
        sa.Column("claim", sa.Text, nullable=False),
        sa.Column("status", sa.String(20), nullable=False),
        sa.Column("gap_type", sa.String(40)),
        sa.Column("flagged", sa.Boolean, nullable=False),
        sa.Column("p1", sa.Double),
        sa.Column("p0", sa.Double),
        sa.Column("gap_bits", sa.Double),
        sa.Column("method", sa.Text, nullable=False),
        sa.Column("right", sa.Boolean, nullable=False),
        sa.Column("note", sa.Text, nullable=False),
        sa.Column("at", sa.Double, nullable=False),
        sa.ForeignKeyConstraint(
            ["report"], ["feedback_reports.key"], name="fk_feedback_report", ondelete="CASCADE"
        ),
    )
    op.create_index("ix_feedback_key", "feedback", ["key"])
    op.create_index("ix_feedback_report", "feedback", ["report"])
