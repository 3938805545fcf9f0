"""Reasoning traces: nodes and the edges between them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    op.create_table(
        "trace_nodes",
        sa.Column("number", sa.Integer, nullable=False, autoincrement=True),
        sa.Column("id", sa.String(200), nullable=False),
        sa.Column("root", sa.String(200), nullable=False),
        sa.Column("kind", sa.String(20), nullable=False),
        sa.Column("name", sa.String(200), nullable=True),
        sa.Column("text", sa.Text, nullable=False),
        sa.Column("confidence", sa.Float, nullable=True),
        sa.Column("status", sa.String(20), nullable=True),
        sa.Column("detail", sa.JSON, nullable=False),
        sa.Column("created", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("number", name="pk_trace_nodes"),
        sa.UniqueConstraint("id", name="uq_trace_nodes_id"),
        sa.UniqueConstraint("root", "name", name="uq_trace_nodes_root_name"),
        sa.ForeignKeyConstraint(["root"], ["trace_nodes.id"], name="fk_trace_nodes_root", ondelete="CASCADE"),
    )
    op.create_index("ix_trace_nodes_kind", "trace_nodes", ["kind"])
    op.create_table(
        "trace_edges",
        sa.Column("number", sa.Integer, nullable=False, autoincrement=True),
        sa.Column("source", sa.String(200), nullable=False),
        sa.Column("label", sa.String(20), nullable=False),
        sa.Column("target", sa.String(200), nullable=False),
        sa.PrimaryKeyConstraint("number", name="pk_trace_edges"),
        sa.UniqueConstraint("source", "label", "target", name="uq_trace_edges_source_label_target"),
        sa.ForeignKeyConstraint(
            ["source"], ["trace_nodes.id"], name="fk_trace_edges_source", ondelete="CASCADE"
        ),
    )
    op.create_index("ix_trace_edges_target", "trace_edges", ["target"])
