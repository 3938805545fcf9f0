"""`groundwire chat` and `groundwire repl`: verifying while you work."""

from __future__ import annotations

import typer

app = typer.Typer(rich_markup_mode=None)
