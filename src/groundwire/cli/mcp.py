"""`groundwire mcp`: serve the tools to an MCP client."""

from __future__ import annotations

import re
from typing import Annotated

import typer

from groundwire._optional import load
from groundwire.cli.options import Backend, ConfigFile, ProfileOption, Store, Target, command_app, settings
from groundwire.config import Config
from groundwire.errors import InputError

app = command_app()
ROUTERS = ("health",)
"""The service's other routes in `groundwire mcp --http`."""
_ADDRESS = re.compile(r"(?:(?P<host>\[[0-9a-fA-F:.]+\]|[^:\s]+):|:)?(?P<port>\d{1,5})")


@app.command()
def mcp(
    http: Annotated[
        str | None, typer.Option(metavar="HOST:PORT", help="Serve streamable HTTP at /mcp instead of stdio.")
    ] = None,
    backend: Backend = None,
    target: Target = None,
    profile: ProfileOption = None,
    store: Store = None,
    config: ConfigFile = None,
) -> None:
    """Serve the tools check, verify_claim, audit_trace, … to an MCP client."""
    chosen = settings(config, backend, target, profile, store)
    raise typer.Exit(run_stdio(chosen) if http is None else run_http(http, chosen))


def run_stdio(config: Config) -> int:
    """Serve on stdin and stdout until the client closes stdin."""
    code: int = load("groundwire.mcp.server:run_stdio", feature="groundwire mcp", extra="mcp")(config)
    return code


def run_http(address: str, config: Config) -> int:
    """Serve only the tools. As for every server, an address beyond loopback requires keys."""
    load("mcp", feature="groundwire mcp --http", extra="mcp,server")  # fail before listening, not at a call
    from groundwire.cli.serve import run_serve  # imports the proxy, which stdio does not need

    host, port = parse_address(address)
    server = config.server.model_copy(update={"host": host or config.server.host, "port": port})
    return run_serve(config.model_copy(update={"server": server}), ROUTERS)


def parse_address(address: str) -> tuple[str, int]:
    """
    >>> [parse_address(text) for text in ("0.0.0.0:80", "[::1]:8322", ":8322", "8322")]
    [('0.0.0.0', 80), ('::1', 8322), ('', 8322), ('', 8322)]
    """
    found = _ADDRESS.fullmatch(address.strip())
    if found is None or int(found["port"]) > 65535:
        raise InputError(f"invalid address '{address}'", hint="write HOST:PORT, such as 127.0.0.1:8322")
    return (found["host"] or "").strip("[]"), int(found["port"])
