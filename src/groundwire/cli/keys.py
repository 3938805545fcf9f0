"""`groundwire keys`: who may ask the HTTP service for what."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime

from rich.console import Console
from rich.table import Table
from rich.text import Text

from groundwire.cli.streams import delivered
from groundwire.config import Config
from groundwire.errors import InputError
from groundwire.reports.plaintext import sanitize
from groundwire.stores.database import open_database
from groundwire.stores.keys import SCOPES, ApiKey, Keys

FINE = 0


def run_add(name: str, scopes: Sequence[str], per_minute: int | None, config: Config) -> int:
    """Make a key. It goes to standard output alone, so that a script can take it."""
    unknown = next((scope for scope in scopes if scope not in SCOPES), None)
    if unknown is not None:
        raise InputError(f"there is no scope '{unknown}'", hint=f"one of {', '.join(SCOPES)}")
    if not scopes:
        raise InputError("a key needs a scope", hint=f"--scope {' | '.join(SCOPES)}")
    with _opened(config) as keys:
        _, token = keys.add(name, scopes, per_minute)
    print("groundwire: keep it; it is not shown again", file=sys.stderr)
    print(token)
    return FINE


def run_list(as_json: bool, config: Config, console: Console) -> int:
    with _opened(config) as keys:
        found = keys.all()
    with delivered():
        if as_json:
            sys.stdout.write(json.dumps([_object(key) for key in found], ensure_ascii=False, indent=2) + "\n")
        elif found:
            console.print(_table(found))
        else:
            console.print("no keys")
    return FINE


def run_revoke(which: str, config: Config, console: Console) -> int:
    with _opened(config) as keys:
        gone = keys.revoke(which)
    console.print(Text(f"{sanitize(gone.name)} opens nothing any more"))
    return FINE


def _table(found: Sequence[ApiKey]) -> Table:
    table = Table(box=None, pad_edge=False)
    for header in ("name", "id", "scopes", "per minute", "made", "revoked"):
        table.add_column(header)
    for key in found:
        rate = "" if key.per_minute is None else str(key.per_minute)
        cells = (
            key.name,
            key.id,
            ", ".join(sorted(key.scopes)),
            rate,
            _when(key.created),
            _when(key.revoked),
        )
        table.add_row(*(Text(sanitize(cell)) for cell in cells))
    return table


def _object(key: ApiKey) -> dict[str, object]:
    """All but the digest, which is nobody's business."""
    return {
        "name": key.name,
        "id": key.id,
        "scopes": sorted(key.scopes),
        "per_minute": key.per_minute,
        "created": _when(key.created),
        "revoked": _when(key.revoked) or None,
    }


def _when(stamp: float | None) -> str:
    return "" if stamp is None else datetime.fromtimestamp(stamp, UTC).isoformat(timespec="seconds")


@contextmanager
def _opened(config: Config) -> Iterator[Keys]:
    database = open_database(config.store.url)
    try:
        yield Keys(database)
    finally:
        database.close()
