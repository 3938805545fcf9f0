"""`groundwire facts …`: what was earned through the memory gate."""

from __future__ import annotations

from typing import Annotated

import typer

from groundwire.cli.options import SOURCE_HELP, AsJson, Backend, ConfigFile, Store, group, settings
from groundwire.cli.streams import open_console

app = group("Facts that must be verified before they are kept.")
Limit = Annotated[int, typer.Option(min=1, help="At most so many, the newest first.")]


@app.command()
def add(
    fact: Annotated[str, typer.Argument(help="A sentence, a file or '-' for stdin.")] = "",
    source: Annotated[list[str] | None, typer.Option("-s", "--source", help=SOURCE_HELP)] = None,
    subject: Annotated[str, typer.Option(help="Of whom or what it is said.")] = "",
    predicate: Annotated[str, typer.Option(help="What is said, as in 'founded in'.")] = "",
    object_: Annotated[str, typer.Option("--object", help="The value.")] = "",
    role: Annotated[
        list[str] | None, typer.Option("-r", "--role", help="NAME=VALUE, as often as needed.")
    ] = None,
    many: Annotated[bool, typer.Option("--many", help="Other values hold beside this one.")] = False,
    confidence: Annotated[float, typer.Option(help="How sure the fact is said to be, 0 to 1.")] = 0.95,
    verify: Annotated[
        bool, typer.Option("--verify/--no-verify", help="Keep it unverified, as asserted.")
    ] = True,
    as_json: AsJson = False,
    store: Store = None,
    backend: Backend = None,
    config: ConfigFile = None,
) -> None:
    """Verify a fact by its evidence and keep it. Exit code 1 if it is refused, 3 if it was not checked."""
    from groundwire.cli.facts import Addition, run_add

    named = [f"{name}={value}" for name, value in (("subject", subject), ("object", object_)) if value]
    wanted = Addition(
        fact, tuple(source or ()), predicate, (*named, *(role or ())), confidence, many, verify, as_json
    )
    raise typer.Exit(run_add(wanted, settings(config, backend, store=store), open_console()))


@app.command("list")
def list_(
    status: Annotated[
        str, typer.Option(help="Only verified, asserted, unverified, pending or superseded.")
    ] = "",
    limit: Limit = 100,
    as_json: AsJson = False,
    store: Store = None,
    config: ConfigFile = None,
) -> None:
    """The facts, with their confidence and how they were verified."""
    from groundwire.cli.facts import run_list

    raise typer.Exit(run_list(status, limit, as_json, settings(config, store=store), open_console()))


@app.command()
def rejected(
    limit: Limit = 100, as_json: AsJson = False, store: Store = None, config: ConfigFile = None
) -> None:
    """What the gate refused, and what was missing."""
    from groundwire.cli.facts import run_rejected

    raise typer.Exit(run_rejected(limit, as_json, settings(config, store=store), open_console()))


@app.command("verify-pending")
def verify_pending(
    watch: Annotated[bool, typer.Option("--watch", help="Go on until interrupted.")] = False,
    as_json: AsJson = False,
    store: Store = None,
    backend: Backend = None,
    config: ConfigFile = None,
) -> None:
    """Verify what a backend put off. Exit code 1 if anything is refused, 3 if anything still waits."""
    from groundwire.cli.facts import run_pending

    found = settings(config, backend, store=store)
    raise typer.Exit(run_pending(watch, as_json, found, open_console()))
