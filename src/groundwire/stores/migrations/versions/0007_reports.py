"""Reports of the service, kept for a while: to be shared by a link, and counted."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"

_SERIAL = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    op.create_table(
        "reports",
        sa.Column("number", _SERIAL, primary_key=True, autoincrement=True),
        sa.Column("id", sa.String(32), nullable=False),
        sa.Column("kind", sa.String(20), nullable=False),
        sa.Column("owner", sa.String(64), nullable=False),
        sa.Column("created", sa.Double, nullable=False),
        sa.Column("hour", sa.Integer, nullable=False),
        sa.Column("title", sa.Text, nullable=False),
        sa.Column("flagged", sa.Boolean),
        sa.Column("risk", sa.Double),
        sa.Column("grounding", sa.Double),
        sa.Column("claims", sa.Integer, nullable=False),
        sa.Column("flagged_claims", sa.Integer, nullable=False),
        sa.Column("unchecked", sa.Integer, nullable=False),
        sa.Column("backend", sa.Text, nullable=False),
        sa.Column("profile", sa.Text, nullable=False),
    )
    op.create_index("ix_reports_id", "reports", ["id"], unique=True)
    op.create_index("ix_reports_created", "reports", ["created"])
    op.create_index("ix_reports_owner_number", "reports", ["owner", "number"])
    op.create_table(
        "report_bodies",
        sa.Column("report", _SERIAL, primary_key=True),
        sa.Column("body", sa.LargeBinary, nullable=False),
        _belongs("report_bodies"),
    )
    op.create_table(
        "report_counts",
        sa.Column("report", _SERIAL, primary_key=True),
        sa.Column("dimension", sa.String(10), primary_key=True),
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("hour", sa.Integer, nullable=False),
        sa.Column("claims", sa.Integer, nullable=False),
        sa.Column("flagged", sa.Integer, nullable=False),
        _belongs("report_counts"),
        sqlite_with_rowid=False,
    )
    op.create_index(
        "ix_report_counts_dimension_hour_name_claims_flagged",
        "report_counts",
        ["dimension", "hour", "name", "claims", "flagged"],
    )


def _belongs(table: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(
        ["report"], ["reports.number"], name=f"fk_{table}_report", ondelete="CASCADE"
    )
