"""`groundwire mcp`: the tools for agents."""

from __future__ import annotations

from typing import Annotated

import typer

from groundwire.cli.options import Backend, ConfigFile, ProfileOption, Store, Target, settings

app = typer.Typer(rich_markup_mode=None)


@app.command()
def mcp(
    http: Annotated[
        str | None,
        typer.Option(metavar="HOST:PORT", help="Streamable HTTP at /mcp there, instead of stdin and stdout."),
    ] = None,
    backend: Backend = None,
    target: Target = None,
    profile: ProfileOption = None,
    store: Store = None,
    config: ConfigFile = None,
) -> None:
    """Serve the tools check, verify_claim, audit_trace, … to an MCP client."""
    from groundwire.mcp import run_mcp

    raise typer.Exit(run_mcp(http, settings(config, backend, target, profile, store)))
