"""`groundwire kb paths`: what was found in conversations, by path."""

from __future__ import annotations

import json
import sys

from rich.console import Console
from rich.text import Text

from groundwire.cli.streams import delivered
from groundwire.reports.plaintext import sanitize
from groundwire.stores.database import open_database
from groundwire.stores.paths import PathStore

FINE = 0


def run_paths(prefix: str, store: str, console: Console, *, as_json: bool = False) -> int:
    """A line a path, or everything as objects in objects."""
    database = open_database(store, create=False)
    try:
        paths = PathStore(database)
        with delivered():
            if as_json:
                sys.stdout.write(json.dumps(paths.export(prefix), ensure_ascii=False, indent=2) + "\n")
            else:
                _show(paths, prefix, console)
    finally:
        database.close()
    return FINE


def _show(paths: PathStore, prefix: str, console: Console) -> None:
    found = False
    for entry in paths.scan(prefix):
        found = True
        value = sanitize(json.dumps(entry.value, ensure_ascii=False))
        console.print(Text.assemble(sanitize(entry.path), ("  " + value, "cyan")), soft_wrap=True)
    if not found:
        console.print(Text(f"nothing stands below {sanitize(prefix)}"), soft_wrap=True)
