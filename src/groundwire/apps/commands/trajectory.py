"""`groundwire trajectory`: what a run of the orchestrator did, step by step."""

from __future__ import annotations

import typer

app = typer.Typer(rich_markup_mode=None)
