"""`groundwire feedback`: people say which verdicts were right."""

from __future__ import annotations

import typer

app = typer.Typer(rich_markup_mode=None)
