"""Entities with their names and attributes, predicates, and facts with their roles."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

_SERIAL = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    _entities()
    _names()
    _words()
    _word_forms()
    _name_words()
    _attributes()
    _predicates()
    _facts()
    _roles()


def _entities() -> None:
    op.create_table(
        "entities",
        sa.Column("no", _SERIAL, primary_key=True, autoincrement=False),
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("type", sa.Text, nullable=False),
        sa.Column("defined", sa.Boolean, nullable=False),
    )
    op.create_index("ix_entities_id", "entities", ["id"], unique=True)
    op.create_index("ix_entities_type", "entities", ["type"])


def _names() -> None:
    op.create_table(
        "names",
        sa.Column("no", _SERIAL, primary_key=True, autoincrement=False),
        sa.Column("entity", _SERIAL, sa.ForeignKey("entities.no"), nullable=False),
        sa.Column("position", sa.Integer, nullable=False),
        sa.Column("text", sa.Text, nullable=False),
        sa.Column("key", sa.Text, nullable=False),
        sa.Column("core", sa.Text, nullable=False),
    )
    op.create_index("ix_names_entity_position", "names", ["entity", "position"], unique=True)
    op.create_index("ix_names_key", "names", ["key"])
    op.create_index("ix_names_core", "names", ["core"])


def _words() -> None:
    op.create_table(
        "words",
        sa.Column("no", _SERIAL, primary_key=True, autoincrement=False),
        sa.Column("text", sa.Text, nullable=False),
    )
    op.create_index("ix_words_text", "words", ["text"], unique=True)


def _word_forms() -> None:
    op.create_table(
        "word_forms",
        sa.Column("form", sa.Text, primary_key=True),
        sa.Column("word", _SERIAL, sa.ForeignKey("words.no"), primary_key=True),
        sqlite_with_rowid=False,
    )


def _name_words() -> None:
    op.create_table(
        "name_words",
        sa.Column("word", _SERIAL, sa.ForeignKey("words.no"), primary_key=True),
        sa.Column("name", _SERIAL, sa.ForeignKey("names.no"), primary_key=True),
        sqlite_with_rowid=False,
    )


def _attributes() -> None:
    op.create_table(
        "attributes",
        sa.Column("no", _SERIAL, primary_key=True, autoincrement=False),
        sa.Column("entity", _SERIAL, sa.ForeignKey("entities.no"), nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("name_key", sa.Text, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("text", sa.Text, nullable=False),
        sa.Column("number", sa.Double),
        sa.Column("unit", sa.Text, nullable=False),
        sa.Column("day", sa.Date),
        sa.Column("reference", _SERIAL, sa.ForeignKey("entities.no")),
        sa.Column("value_key", sa.Text, nullable=False),
        sa.Column("many", sa.Boolean, nullable=False),
        sa.Column("valid_from", sa.Date),
        sa.Column("valid_to", sa.Date),
        sa.Column("superseded", sa.DateTime),
        sa.Column("batch", sa.Text, nullable=False),
    )
    op.create_index("ix_attributes_entity", "attributes", ["entity"])
    op.create_index("ix_attributes_value_key_name_key", "attributes", ["value_key", "name_key"])


def _predicates() -> None:
    op.create_table(
        "predicates",
        sa.Column("no", _SERIAL, primary_key=True, autoincrement=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("key", sa.Text, nullable=False),
        sa.Column("many", sa.Boolean, nullable=False),
    )
    op.create_index("ix_predicates_name", "predicates", ["name"], unique=True)
    op.create_index("ix_predicates_key", "predicates", ["key"])


def _facts() -> None:
    op.create_table(
        "facts",
        sa.Column("no", _SERIAL, primary_key=True, autoincrement=False),
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("content", sa.LargeBinary, nullable=False),
        sa.Column("slot", sa.LargeBinary),
        sa.Column("predicate", _SERIAL, sa.ForeignKey("predicates.no"), nullable=False),
        sa.Column("confidence", sa.Double, nullable=False),
        sa.Column("status", sa.Text, nullable=False),
        sa.Column("source", sa.Text, nullable=False),
        sa.Column("start", sa.Integer),
        sa.Column("end", sa.Integer),
        sa.Column("recorded", sa.DateTime, nullable=False),
        sa.Column("p0", sa.Double),
        sa.Column("p1", sa.Double),
        sa.Column("bits", sa.Double),
        sa.Column("method", sa.Text, nullable=False),
        sa.Column("text", sa.Text, nullable=False),
        sa.Column("many", sa.Boolean, nullable=False),
        sa.Column("superseded_by", sa.Text, nullable=False),
        sa.Column("valid_from", sa.Date),
        sa.Column("valid_to", sa.Date),
        sa.Column("batch", sa.Text, nullable=False),
    )
    op.create_index("ix_facts_id", "facts", ["id"], unique=True)
    op.create_index("ix_facts_content", "facts", ["content"], unique=True)
    op.create_index("ix_facts_slot", "facts", ["slot"])
    op.create_index("ix_facts_predicate", "facts", ["predicate"])
    op.create_index("ix_facts_superseded_by", "facts", ["superseded_by"])
    op.create_index("ix_facts_status_no", "facts", ["status", "no"])


def _roles() -> None:
    op.create_table(
        "roles",
        sa.Column("fact", _SERIAL, sa.ForeignKey("facts.no"), primary_key=True),
        sa.Column("position", sa.Integer, primary_key=True),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("text", sa.Text, nullable=False),
        sa.Column("number", sa.Double),
        sa.Column("unit", sa.Text, nullable=False),
        sa.Column("day", sa.Date),
        sa.Column("entity", _SERIAL, sa.ForeignKey("entities.no")),
        sa.Column("value_key", sa.Text, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_roles_entity", "roles", ["entity"])
    op.create_index("ix_roles_value_key", "roles", ["value_key"])
