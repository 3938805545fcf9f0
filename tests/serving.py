"""The real service under the real uvicorn on a free loopback port, for every test that speaks HTTP.

    with serving({"hallucination.backend.type": "fake"}) as url:
        httpx.get(f"{url}/healthz")

The fixture `server` is one of them, with the embedded model, an `httpx.Client` in `server.client`.
"""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from groundwire.config import Config

if TYPE_CHECKING:
    from groundwire.server.app import DrainingServer
    from groundwire.server.service import Service

_PATIENCE = 30.0


@dataclass(frozen=True)
class Served:
    url: str
    service: Service
    client: httpx.Client
    server: DrainingServer


@contextmanager
def serving(overrides: Mapping[str, Any] | Config | None = None, made: Service | None = None) -> Iterator[str]:
    """The base URL of a server with these settings (dotted keys, or a whole `Config`) while the block runs."""
    with served(overrides, made) as running:
        yield running.url


@contextmanager
def served(overrides: Mapping[str, Any] | Config | None = None, made: Service | None = None) -> Iterator[Served]:
    """The same, with the service behind it and a client for it."""
    # Only here: tests that have an environment of their own come without the server's packages.
    # Imported before the server's threads start: pytest parses what it imports, and Python 3.11 fails with a
    # SystemError ("AST constructor recursion depth mismatch") if two threads parse at a time.
    import groundwire.proxy.proxy
    import groundwire.verifiers.local  # noqa: F401
    from groundwire.server.app import create_app, make_server
    from groundwire.server.service import Service

    config = overrides if isinstance(overrides, Config) else Config.load(overrides=overrides)
    service = made or Service(config)
    listener = socket.create_server(("127.0.0.1", 0))
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    server = make_server(create_app(config, service), config.server, service.state)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        _wait(server, thread)
        with httpx.Client(base_url=url, timeout=_PATIENCE, trust_env=False) as client:
            yield Served(url, service, client, server)
    finally:
        server.should_exit = True
        thread.join(_PATIENCE)
        listener.close()


@contextmanager
def process(*options: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """`groundwire serve` as a user starts it, and its URL; killed at the end if it still lives."""
    command = [sys.executable, "-m", "groundwire.cli.main", "serve", "--port", "0", *options]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as started:
        try:
            assert started.stderr is not None
            said = started.stderr.readline()
            assert said.startswith("groundwire serves http://"), said
            yield started, said.split()[2]
        finally:
            started.kill()


def _wait(server: DrainingServer, thread: threading.Thread) -> None:
    until = time.monotonic() + _PATIENCE
    while not server.started:
        if not thread.is_alive() or time.monotonic() > until:
            raise RuntimeError("the server did not start")
        time.sleep(0.01)


@pytest.fixture
def server() -> Iterator[Served]:
    """The default service: embedded model, a store of the test's own."""
    with served() as running:
        yield running
