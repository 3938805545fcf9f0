"""`groundwire uninstall`: take away what `groundwire install` wrote."""

from __future__ import annotations

from pathlib import Path

from groundwire.cli.install import Assistant, DryRun, Folder, uninstall_from
from groundwire.cli.options import command_app

app = command_app()


@app.command()
def uninstall(assistant: Assistant, folder: Folder = Path(), dry_run: DryRun = False) -> None:
    """Take away exactly what `groundwire install` wrote into a project."""
    uninstall_from(folder, assistant, dry_run=dry_run)
