"""`groundwire mcp`: serve the tools to an MCP client."""

from __future__ import annotations

from typing import Annotated

import typer

from groundwire.cli.options import Backend, ConfigFile, ProfileOption, Store, Target, command_app, settings

app = command_app()


@app.command()
def mcp(
    http: Annotated[
        str | None,
        typer.Option(metavar="HOST:PORT", help="Serve streamable HTTP at /mcp instead of stdio."),
    ] = None,
    backend: Backend = None,
    target: Target = None,
    profile: ProfileOption = None,
    store: Store = None,
    config: ConfigFile = None,
) -> None:
    """Serve the tools check, verify_claim, audit_trace, … to an MCP client."""
    # Imported here: the MCP SDK is an optional extra.
    from groundwire.mcp import run_mcp

    raise typer.Exit(run_mcp(http, settings(config, backend, target, profile, store)))
