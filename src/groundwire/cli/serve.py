"""`groundwire serve`: the HTTP service."""

from __future__ import annotations

import errno
import logging
import socket
import sys
from collections.abc import Sequence
from contextlib import closing
from typing import Annotated

import typer

from groundwire._optional import load
from groundwire.cli.console import ExitCode
from groundwire.cli.options import Backend, ConfigFile, ProfileOption, Store, command_app, settings
from groundwire.config import Config
from groundwire.errors import InputError
from groundwire.proxy.upstream import parse_upstreams

app = command_app()
_BACKLOG = 2048
"""Connections that the kernel queues: a burst waits instead of being refused."""
_SWITCH_INTERVAL_SECONDS = 0.0005
"""How long the engine's thread may hold the GIL while proxied streams wait (Python's default is 0.005)."""


@app.command()
def serve(
    host: Annotated[str | None, typer.Option(help="Address to listen on (127.0.0.1).")] = None,
    port: Annotated[int | None, typer.Option(min=0, max=65535, help="0 takes a free port (8321).")] = None,
    keys: Annotated[str | None, typer.Option("--keys", help="auto (not on loopback) or always.")] = None,
    upstream: Annotated[
        list[str] | None, typer.Option("--upstream", help="Proxy this OpenAI-compatible API: URL or name=URL.")
    ] = None,
    mode: Annotated[str | None, typer.Option(help="Proxy: observe, annotate, block, fix or off.")] = None,
    backend: Backend = None,
    profile: ProfileOption = None,
    store: Store = None,
    config: ConfigFile = None,
) -> None:
    """Serve HTTP: the API, the page, and a proxy that verifies the answers that pass through."""
    overrides: dict[str, object] = {"server.host": host, "server.port": port, "server.auth": keys}
    overrides |= {"proxy.upstreams": parse_upstreams(upstream or []) or None, "proxy.mode": mode}
    raise typer.Exit(run_serve(settings(config, backend, None, profile, store, overrides)))


def run_serve(config: Config, routers: Sequence[str] | None = None) -> ExitCode:
    """Serve until interrupted. Errors in the configuration are raised before the port is opened."""
    for module in ("uvicorn", "fastapi", "opentelemetry", "httptools"):
        load(module, feature="the HTTP service", extra="server")
    from groundwire.server.app import ROUTERS, create_app, make_server
    from groundwire.server.middleware.auth import requires_keys
    from groundwire.server.middleware.telemetry import RequestIdFilter
    from groundwire.server.service import Service

    for handler in logging.getLogger("groundwire").handlers:
        handler.addFilter(RequestIdFilter())
    if requires_keys(config.server):
        _require_keys(config)
    service = Service(config)
    with closing(_listen(config.server.host, config.server.port)) as listener:
        greeting = _greeting(_address(config.server.host, listener), service.engine.backend.name, config)
        app = create_app(config, service, ROUTERS if routers is None else routers)
        server = make_server(app, config.server, service.state, lambda: print(greeting, file=sys.stderr, flush=True))
        if config.proxy.upstreams:
            sys.setswitchinterval(_SWITCH_INTERVAL_SECONDS)
        server.run(sockets=[listener])
    return ExitCode.OK


def _greeting(where: str, backend: str, config: Config) -> str:
    from groundwire.server.middleware.auth import requires_keys

    keys = "API keys required" if requires_keys(config.server) else "no keys required"
    return f"groundwire serves {where} (backend {backend}, {keys}; Ctrl-C stops it)"


def _listen(host: str, port: int) -> socket.socket:
    """A listening socket; raises `InputError` if the address cannot be used."""
    try:
        family, kind, number, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except (OSError, UnicodeError):
        raise InputError(f"unknown address {host}", hint="set server.host or --host") from None
    listener = socket.socket(family, kind, number)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(_BACKLOG)
    except OSError as error:
        listener.close()
        if error.errno == errno.EADDRINUSE:
            raise InputError(f"port {port} of {host} is in use", hint="choose another with --port") from None
        raise InputError(f"cannot listen on {host}:{port}: {error.strerror}") from None
    return listener


def _address(host: str, listener: socket.socket) -> str:
    return f"http://{f'[{host}]' if ':' in host else host}:{listener.getsockname()[1]}"


def _require_keys(config: Config) -> None:
    from groundwire.stores.database import open_database
    from groundwire.stores.keys import KeyStore

    database = open_database(config.store.url)
    try:
        if not KeyStore(database).standing():
            raise InputError(
                f"there are no API keys, and {config.server.host} is reachable from other machines",
                hint="create one first: groundwire keys add NAME --scope check",
            )
    finally:
        database.close()
