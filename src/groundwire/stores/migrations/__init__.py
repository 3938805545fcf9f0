"""How a store of an older release is carried forward: Alembic, one file a step, in order."""
