"""A real redis-server for tests, where its program is installed (`make test-redis` installs it)."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

_PATIENCE = 20.0


@dataclass
class RedisServer:
    """Can be stopped and started again on the same port, as happens to servers."""

    folder: Path
    port: int
    process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def start(self) -> None:
        program = shutil.which("redis-server")
        assert program is not None
        self.process = subprocess.Popen(
            [program, "--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--dir", str(self.folder)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        until = time.monotonic() + _PATIENCE
        while not _answers(self.port):
            assert time.monotonic() < until, "redis-server did not start"
            time.sleep(0.02)

    def stop(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait(_PATIENCE)
            self.process = None


def _answers(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1) as wire:
            wire.sendall(b"PING\r\n")
            return wire.recv(16).startswith(b"+PONG")
    except OSError:
        return False


@contextmanager
def running(folder: Path) -> Iterator[RedisServer]:
    if shutil.which("redis-server") is None:
        reason = "redis-server is not installed: see make test-redis"
        if os.environ.get("REQUIRE_REDIS"):
            pytest.fail(reason)
        pytest.skip(reason)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    server = RedisServer(folder, port)
    server.start()
    try:
        yield server
    finally:
        server.stop()
