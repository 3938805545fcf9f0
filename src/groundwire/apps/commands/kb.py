"""`groundwire kb …`: what is known."""

from __future__ import annotations

from groundwire.apps.options import group

app = group("Look at, fill and export a knowledge base.")
