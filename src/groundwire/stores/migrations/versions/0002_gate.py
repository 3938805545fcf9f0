"""The memory gate's own tables: refused facts, and the queue of verifications still to be made."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

_SERIAL = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    op.create_table(
        "rejected_facts",
        sa.Column("id", _SERIAL, primary_key=True, autoincrement=True),
        sa.Column("text", sa.Text, nullable=False),
        sa.Column("fact", sa.Text, nullable=False),
        sa.Column("evidence", sa.Text, nullable=False),
        sa.Column("confidence", sa.Double, nullable=False),
        sa.Column("adjusted", sa.Double),
        sa.Column("p0", sa.Double),
        sa.Column("p1", sa.Double),
        sa.Column("required_bits", sa.Double),
        sa.Column("observed_bits", sa.Double),
        sa.Column("gap_bits", sa.Double),
        sa.Column("threshold_bits", sa.Double, nullable=False),
        sa.Column("verdict", sa.Text, nullable=False),
        sa.Column("method", sa.Text, nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("recorded", sa.Double, nullable=False),
    )
    op.create_index("ix_rejected_facts_recorded", "rejected_facts", ["recorded"])
    op.create_table(
        "jobs",
        sa.Column("id", _SERIAL, primary_key=True, autoincrement=True),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("key", sa.Text, nullable=False),
        sa.Column("payload", sa.Text, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("due", sa.Double, nullable=False),
        sa.Column("holder", sa.Text, nullable=False),
        sa.Column("attempts", sa.Integer, nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("created", sa.Double, nullable=False),
    )
    op.create_index("ix_jobs_kind_key", "jobs", ["kind", "key"], unique=True)
    op.create_index("ix_jobs_kind_state_due_id", "jobs", ["kind", "state", "due", "id"])
