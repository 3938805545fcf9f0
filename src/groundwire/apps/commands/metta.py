"""`groundwire metta`: MeTTa programs with the predicates of groundwire."""

from __future__ import annotations

import typer

app = typer.Typer(rich_markup_mode=None)
