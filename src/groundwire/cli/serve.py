"""`groundwire serve`: the HTTP service on an address of this machine, until a signal ends it."""

from __future__ import annotations

import errno
import logging
import socket
import sys
from collections.abc import Sequence
from contextlib import closing

from groundwire._optional import load
from groundwire.config import Config
from groundwire.errors import InputError

FINE = 0
_BACKLOG = 2048
_SWITCH = 0.0005
"""Seconds the engine's thread may keep the one that carries streams waiting, each time it is busy."""


def run_serve(config: Config, routers: Sequence[str] | None = None) -> int:
    """Serve until told to stop. What can be wrong is said before anything listens."""
    for module in ("uvicorn", "fastapi", "opentelemetry", "httptools"):
        load(module, feature="the HTTP service", extra="server")
    from groundwire.server.app import ROUTERS, create_app, make_server
    from groundwire.server.middleware.auth import wants_keys
    from groundwire.server.middleware.telemetry import WithRequestId
    from groundwire.server.service import Service

    for handler in logging.getLogger("groundwire").handlers:
        handler.addFilter(WithRequestId())
    if wants_keys(config.server):
        _refuse_without_keys(config)
    held = Service(config)
    with closing(_bound(config.server.host, config.server.port)) as listener:
        said = _greeting(_address(config.server.host, listener), held.engine.backend.name, config)
        app = create_app(config, held, ROUTERS if routers is None else routers)
        server = make_server(app, config.server, held.life, lambda: print(said, file=sys.stderr, flush=True))
        if config.proxy.upstreams:
            sys.setswitchinterval(_SWITCH)
        server.run(sockets=[listener])
    return FINE


def _greeting(where: str, backend: str, config: Config) -> str:
    from groundwire.server.middleware.auth import wants_keys

    keys = "API keys needed" if wants_keys(config.server) else "no keys needed"
    return f"groundwire serves {where} (backend {backend}, {keys}; Ctrl-C stops it)"


def _bound(host: str, port: int) -> socket.socket:
    """A listening socket; why there is none is one line."""
    try:
        family, kind, number, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except (OSError, UnicodeError):
        raise InputError(f"there is no address {host}", hint="set server.host or --host") from None
    listener = socket.socket(family, kind, number)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(_BACKLOG)
    except OSError as error:
        listener.close()
        if error.errno == errno.EADDRINUSE:
            raise InputError(f"port {port} of {host} is taken", hint="choose another with --port") from None
        raise InputError(f"cannot listen on {host}:{port}: {error.strerror}") from None
    return listener


def _address(host: str, listener: socket.socket) -> str:
    return f"http://{f'[{host}]' if ':' in host else host}:{listener.getsockname()[1]}"


def _refuse_without_keys(config: Config) -> None:
    from groundwire.stores.database import open_database
    from groundwire.stores.keys import Keys

    database = open_database(config.store.url)
    try:
        if not Keys(database).standing():
            raise InputError(
                f"there are no API keys, and {config.server.host} can be reached by others",
                hint="make one first: groundwire keys add NAME --scope check",
            )
    finally:
        database.close()
