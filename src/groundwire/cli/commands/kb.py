"""`groundwire kb …`: what is known."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from groundwire.cli.options import AsJson, ConfigFile, group, settings
from groundwire.cli.streams import open_console

app = group("Look at, fill and export a knowledge base.")
StoreUrl = Annotated[
    str | None,
    typer.Option("--store", "--kb", help="A SQLite file or postgresql://… URL; else as configured."),
]


@app.command("import")
def import_(
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE…", help="CSV, JSONL or triples; '-' for stdin.")
    ],
    store: StoreUrl = None,
    form: Annotated[str, typer.Option("--format", help="csv, jsonl, triples or nt; else by the name.")] = "",
    encoding: Annotated[str, typer.Option(help="Of files that are not UTF-8.")] = "utf-8",
    strict: Annotated[bool, typer.Option("--strict", help="One bad row, and nothing is imported.")] = False,
    config: ConfigFile = None,
) -> None:
    """Bring entities and facts in. A bad row is reported with its line and the others go in."""
    from groundwire.cli.kb import Wanted, run_import

    wanted = Wanted(tuple(files), _place(store, config), form, encoding, strict)
    raise typer.Exit(run_import(wanted, open_console()))


@app.command()
def export(
    out: Annotated[Path | None, typer.Option("-o", "--output", help="A file; else standard output.")] = None,
    form: Annotated[
        str, typer.Option("--format", help="jsonl (everything), triples, csv-entities or csv-facts.")
    ] = "jsonl",
    store: StoreUrl = None,
    config: ConfigFile = None,
) -> None:
    """Write out what is known; JSON lines hold all of it and can be imported again."""
    from groundwire.cli.kb import run_export

    raise typer.Exit(run_export(_place(store, config), out, form))


@app.command()
def show(
    name: Annotated[str, typer.Argument(help="A name, an alias or an id.")],
    store: StoreUrl = None,
    as_json: AsJson = False,
    config: ConfigFile = None,
) -> None:
    """All that is known of one entity."""
    from groundwire.cli.kb import run_show

    raise typer.Exit(run_show(_place(store, config), name, open_console(), as_json=as_json))


@app.command()
def search(
    text: Annotated[str, typer.Argument(help="A name or a part of one, misspelt or not.")],
    limit: Annotated[int, typer.Option(min=1, max=1000, help="At most so many.")] = 10,
    store: StoreUrl = None,
    config: ConfigFile = None,
) -> None:
    """Entities whose names are alike."""
    from groundwire.cli.kb import run_search

    raise typer.Exit(run_search(_place(store, config), text, limit, open_console()))


@app.command()
def stats(store: StoreUrl = None, as_json: AsJson = False, config: ConfigFile = None) -> None:
    """How much is known, and of what kinds."""
    from groundwire.cli.kb import run_stats

    raise typer.Exit(run_stats(_place(store, config), open_console(), as_json=as_json))


@app.command()
def paths(
    prefix: Annotated[str, typer.Argument(help="As in /hallucination/SESSION/; a / in a name is %2F.")] = "/",
    store: StoreUrl = None,
    as_json: AsJson = False,
    config: ConfigFile = None,
) -> None:
    """What the detectors found in conversations, by path."""
    from groundwire.cli.paths import run_paths

    raise typer.Exit(run_paths(prefix, _place(store, config), open_console(), as_json=as_json))


def _place(store: str | None, config: Path | None) -> str:
    found: str = settings(config).store.url
    return store or found
