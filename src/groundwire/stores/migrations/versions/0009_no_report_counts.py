"""Drop the counts of claims by type and source, which only the statistics of the service read."""

from __future__ import annotations

from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    op.execute("DROP TABLE IF EXISTS report_counts")  # a store of before 0007 never had it
