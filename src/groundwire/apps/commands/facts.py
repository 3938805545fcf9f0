"""`groundwire facts …`: what was earned through the memory gate."""

from __future__ import annotations

from groundwire.apps.options import group

app = group("Facts that must be verified before they are kept.")
