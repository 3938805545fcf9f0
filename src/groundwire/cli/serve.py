"""The servers and who may use them: `groundwire serve`, `groundwire mcp` and `groundwire keys`."""

from __future__ import annotations

import errno
import logging
import re
import socket
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from groundwire._optional import load
from groundwire.cli.console import ExitCode, print_line, print_result, print_table, warn
from groundwire.cli.options import AsJson, command, group, setting
from groundwire.config import Config
from groundwire.errors import InputError

if TYPE_CHECKING:
    from groundwire.stores.keys import ApiKey, KeyStore

_BACKLOG = 2048
"""Connections that the kernel queues: a burst waits instead of being refused."""
_SWITCH_INTERVAL_SECONDS = 0.0005
"""How long the engine's thread may hold the GIL while proxied streams wait (Python's default is 0.005)."""
_MCP_ROUTERS = ("health",)
"""The service's other routes in `groundwire mcp --http`."""
_ADDRESS = re.compile(r"(?:(?P<host>\[[0-9a-fA-F:.]+\]|[^:\s]+):|:)?(?P<port>\d{1,5})")


@command(
    "backend",
    "profile",
    "store",
    host=setting("server.host", help="Address to listen on (127.0.0.1)."),
    port=setting("server.port", kind=int, min=0, max=65535, help="0 takes a free port (8321)."),
    keys=setting("server.auth", help="auto (not on loopback) or always."),
    mode=setting("proxy.mode", help="Proxy: observe, annotate, block, fix or off."),
)
def serve(
    upstream: Annotated[
        list[str] | None, typer.Option("--upstream", help="Proxy this OpenAI-compatible API: URL or name=URL.")
    ] = None,
    *,
    config: Config,
) -> ExitCode:
    """Serve HTTP: the API, the page, and a proxy that verifies the answers that pass through."""
    if upstream:
        from groundwire.proxy.upstream import parse_upstreams

        proxy = config.proxy.model_dump(exclude_unset=True)
        config = config.changed(proxy={**proxy, "upstreams": parse_upstreams(upstream)})
    return run_serve(config)


@command("backend", "target", "profile", "store")
def mcp(
    http: Annotated[
        str | None, typer.Option(metavar="HOST:PORT", help="Serve streamable HTTP at /mcp instead of stdio.")
    ] = None,
    *,
    config: Config,
) -> int:
    """Serve the tools check, verify_claim, audit_trace, … to an MCP client."""
    if http is None:
        code: int = load("groundwire.mcp.server:run_stdio", feature="groundwire mcp", extra="mcp")(config)
        return code
    load("mcp", feature="groundwire mcp --http", extra="mcp,server")  # fail before listening, not at a call
    host, port = parse_address(http)
    server = config.server.model_copy(update={"host": host or config.server.host, "port": port})
    return run_serve(config.model_copy(update={"server": server}), _MCP_ROUTERS)


def parse_address(address: str) -> tuple[str, int]:
    """
    >>> [parse_address(text) for text in ("0.0.0.0:80", "[::1]:8322", ":8322", "8322")]
    [('0.0.0.0', 80), ('::1', 8322), ('', 8322), ('', 8322)]
    """
    found = _ADDRESS.fullmatch(address.strip())
    if found is None or int(found["port"]) > 65535:
        raise InputError(f"invalid address '{address}'", hint="write HOST:PORT, such as 127.0.0.1:8322")
    return (found["host"] or "").strip("[]"), int(found["port"])


def run_serve(config: Config, routers: Sequence[str] | None = None) -> ExitCode:
    """Serve until interrupted. Errors in the configuration are raised before the port is opened."""
    for module in ("uvicorn", "fastapi", "opentelemetry", "httptools"):
        load(module, feature="the HTTP service", extra="server")
    from groundwire.server.app import ROUTERS, create_app, make_server
    from groundwire.server.auth import requires_keys
    from groundwire.server.middleware import RequestIdFilter
    from groundwire.server.service import Service

    for handler in logging.getLogger("groundwire").handlers:
        handler.addFilter(RequestIdFilter())
    if requires_keys(config.server):
        with _open_keys(config) as store:
            if not store.standing():
                what = f"there are no API keys, and {config.server.host} is reachable from other machines"
                raise InputError(what, hint="create one first: groundwire keys add NAME --scope check")
    service = Service(config)
    with closing(_listen(config.server.host, config.server.port)) as listener:
        host = config.server.host
        where = f"http://{f'[{host}]' if ':' in host else host}:{listener.getsockname()[1]}"
        access = "API keys required" if requires_keys(config.server) else "no keys required"
        greeting = f"groundwire serves {where} (backend {service.engine.backend.name}, {access}; Ctrl-C stops it)"
        app = create_app(config, service, ROUTERS if routers is None else routers)
        server = make_server(app, config.server, service.state, lambda: print(greeting, file=sys.stderr, flush=True))
        if config.proxy.upstreams:
            sys.setswitchinterval(_SWITCH_INTERVAL_SECONDS)
        server.run(sockets=[listener])
    return ExitCode.OK


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


# ---- API keys

keys_group = group("keys", "API keys of the HTTP service: create, list, revoke.")


@command("store", parent=keys_group)
def add(
    name: Annotated[str, typer.Argument(help="Name of the key's owner.")],
    scope: Annotated[list[str] | None, typer.Option("--scope", help="What it gives access to; repeatable.")] = None,
    per_minute: Annotated[int | None, typer.Option(min=1, help="Requests per minute.")] = None,
    *,
    config: Config,
) -> None:
    """Create a key and print it once."""
    from groundwire.stores.keys import SCOPES

    unknown = next((one for one in scope or () if one not in SCOPES), None)
    if unknown is not None:
        raise InputError(f"unknown scope '{unknown}'", hint=f"use one of {', '.join(SCOPES)}")
    if not scope:
        raise InputError("a key needs a scope", hint=f"--scope {' | '.join(SCOPES)}")
    with _open_keys(config) as store:
        _, token = store.add(name, scope, per_minute)
    warn("store this key now: it is not shown again")
    print(token)  # alone on stdout, so that a script can capture it


@command("store", parent=keys_group)
def list_(as_json: AsJson = False, *, config: Config, console: Console) -> None:
    """List the keys and their scopes."""
    with _open_keys(config) as store:
        found = [_key_object(key) for key in store.all()]
    heads = ("name", "id", "scopes", "per minute", "created", "revoked")
    print_result(as_json, found, lambda: print_table(console, heads, (key.values() for key in found), "no keys"))


@command("store", parent=keys_group)
def revoke(
    key: Annotated[str, typer.Argument(help="The key's name or id.")], *, config: Config, console: Console
) -> None:
    """Revoke a key immediately."""
    with _open_keys(config) as store:
        revoked = store.revoke(key)
    print_line(console, f"{revoked.name} is revoked")


def _key_object(key: ApiKey) -> dict[str, object]:
    """A key without its digest, which must not leave the store."""
    return {
        "name": key.name,
        "id": key.id,
        "scopes": sorted(key.scopes),
        "per_minute": key.per_minute,
        "created": _when(key.created),
        "revoked": _when(key.revoked),
    }


def _when(stamp: float | None) -> str | None:
    return None if stamp is None else datetime.fromtimestamp(stamp, UTC).isoformat(timespec="seconds")


@contextmanager
def _open_keys(config: Config) -> Iterator[KeyStore]:
    from groundwire.stores.database import open_database
    from groundwire.stores.keys import KeyStore

    with closing(open_database(config.store.url)) as database:
        yield KeyStore(database)
