"""The oldest schema with a migration of its own. `stores.database` makes it, and new stores, from the tables.

A later change of the tables is a file like this one that alters older stores; new ones get it by themselves.
"""

from __future__ import annotations

revision = "0008"
down_revision = None


def upgrade() -> None:
    """Never run: stores are stamped with this revision when their tables are made."""
