"""`groundwire keys`: API keys of the HTTP service."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from groundwire.cli.console import ExitCode, open_console, print_json, safe_stdout, warn
from groundwire.cli.options import AsJson, ConfigFile, Store, group_app, store_settings
from groundwire.config import Config
from groundwire.errors import InputError
from groundwire.stores.database import open_database
from groundwire.stores.keys import SCOPES, ApiKey, KeyStore
from groundwire.text.controls import sanitize

app = group_app("API keys of the HTTP service: create, list, revoke.")


@app.command("add")
def add(
    name: Annotated[str, typer.Argument(help="Name of the key's owner.")],
    scope: Annotated[list[str] | None, typer.Option("--scope", help="What it gives access to; repeatable.")] = None,
    per_minute: Annotated[int | None, typer.Option(min=1, help="Requests per minute.")] = None,
    store: Store = None,
    config: ConfigFile = None,
) -> None:
    """Create a key and print it once."""
    raise typer.Exit(run_add(name, scope or (), per_minute, store_settings(config, store)))


@app.command("list")
def list_keys(as_json: AsJson = False, store: Store = None, config: ConfigFile = None) -> None:
    """List the keys and their scopes."""
    raise typer.Exit(run_list(as_json, store_settings(config, store), open_console()))


@app.command("revoke")
def revoke(
    key: Annotated[str, typer.Argument(help="The key's name or id.")], store: Store = None, config: ConfigFile = None
) -> None:
    """Revoke a key immediately."""
    raise typer.Exit(run_revoke(key, store_settings(config, store), open_console()))


def run_add(name: str, scopes: Sequence[str], per_minute: int | None, config: Config) -> ExitCode:
    """Create a key and print only the key to stdout, so that a script can capture it."""
    unknown = next((scope for scope in scopes if scope not in SCOPES), None)
    if unknown is not None:
        raise InputError(f"unknown scope '{unknown}'", hint=f"use one of {', '.join(SCOPES)}")
    if not scopes:
        raise InputError("a key needs a scope", hint=f"--scope {' | '.join(SCOPES)}")
    with _open_keys(config) as keys:
        _, token = keys.add(name, scopes, per_minute)
    warn("store this key now: it is not shown again")
    print(token)
    return ExitCode.OK


def run_list(as_json: bool, config: Config, console: Console) -> ExitCode:
    with _open_keys(config) as keys:
        found = keys.all()
    with safe_stdout():
        if as_json:
            print_json([_key_object(key) for key in found])
        elif found:
            console.print(_table(found))
        else:
            console.print("no keys")
    return ExitCode.OK


def run_revoke(which: str, config: Config, console: Console) -> ExitCode:
    with _open_keys(config) as keys:
        revoked = keys.revoke(which)
    console.print(Text(f"{sanitize(revoked.name)} is revoked"))
    return ExitCode.OK


def _table(found: Sequence[ApiKey]) -> Table:
    table = Table(box=None, pad_edge=False)
    for header in ("name", "id", "scopes", "per minute", "created", "revoked"):
        table.add_column(header)
    for key in found:
        rate = "" if key.per_minute is None else str(key.per_minute)
        cells = (key.name, key.id, ", ".join(sorted(key.scopes)), rate, _when(key.created), _when(key.revoked))
        table.add_row(*(Text(sanitize(cell)) for cell in cells))
    return table


def _key_object(key: ApiKey) -> dict[str, object]:
    """A key without its digest, which must not leave the store."""
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
def _open_keys(config: Config) -> Iterator[KeyStore]:
    database = open_database(config.store.url)
    try:
        yield KeyStore(database)
    finally:
        database.close()
