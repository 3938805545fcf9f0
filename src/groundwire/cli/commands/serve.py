"""`groundwire serve`, and the keys that let callers in."""

from __future__ import annotations

from typing import Annotated

import typer

from groundwire.cli.options import AsJson, Backend, ConfigFile, ProfileOption, Store, group, settings
from groundwire.cli.streams import open_console

app = typer.Typer()
keys = group("API keys of the HTTP service: made, listed, revoked.")


@app.command()
def serve(
    host: Annotated[str | None, typer.Option(help="Address to listen on (127.0.0.1).")] = None,
    port: Annotated[int | None, typer.Option(min=0, max=65535, help="0 takes a free one (8321).")] = None,
    keys: Annotated[str | None, typer.Option("--keys", help="auto: not on loopback; or always.")] = None,
    upstream: Annotated[
        list[str], typer.Option("--upstream", help="Proxy this OpenAI-compatible API: URL or name=URL.")
    ] = [],  # noqa: B006
    mode: Annotated[str | None, typer.Option(help="Proxy: observe, annotate, block, fix or off.")] = None,
    backend: Backend = None,
    profile: ProfileOption = None,
    store: Store = None,
    config: ConfigFile = None,
) -> None:
    """Serve HTTP: checks, facts, the chatbot, the page, and a proxy that verifies what passes."""
    from groundwire.cli.serve import run_serve
    from groundwire.proxy.upstream import parse_upstreams

    further: dict[str, object] = {"server.host": host, "server.port": port, "server.keys": keys}
    further |= {"proxy.upstreams": parse_upstreams(upstream) or None, "proxy.mode": mode}
    raise typer.Exit(run_serve(settings(config, backend, None, profile, store, further)))


@keys.command("add")
def add(
    name: Annotated[str, typer.Argument(help="Whose key it is.")],
    scope: Annotated[list[str], typer.Option("--scope", help="What it opens; several are fine.")] = [],  # noqa: B006
    per_minute: Annotated[int | None, typer.Option(min=1, help="Requests a minute.")] = None,
    store: Store = None,
    config: ConfigFile = None,
) -> None:
    """Make a key and print it, once."""
    from groundwire.cli.keys import run_add

    raise typer.Exit(run_add(name, scope, per_minute, settings(config, store=store)))


@keys.command("list")
def list_keys(as_json: AsJson = False, store: Store = None, config: ConfigFile = None) -> None:
    """All keys, and what they open."""
    from groundwire.cli.keys import run_list

    raise typer.Exit(run_list(as_json, settings(config, store=store), open_console()))


@keys.command("revoke")
def revoke(
    key: Annotated[str, typer.Argument(help="The key's name or id.")],
    store: Store = None,
    config: ConfigFile = None,
) -> None:
    """End a key at once."""
    from groundwire.cli.keys import run_revoke

    raise typer.Exit(run_revoke(key, settings(config, store=store), open_console()))
