"""uvicorn around the application: one process, heads in time, and a shutdown that finishes what it took."""

from __future__ import annotations

import signal
import socket
import time
from collections.abc import Callable
from types import FrameType
from typing import Any

import uvicorn

from groundwire.config.service import ServerConfig
from groundwire.server.middleware.timeout import Life
from groundwire.server.protocol import TimelyProtocol

_LAST_SECONDS = 2
"""What requests have that are still under way when the grace is over, before they are cut off."""


_KEPT_OPEN = 75
"""Seconds between two requests of a connection: more than the minute that load balancers take for granted."""


class Server(uvicorn.Server):
    """The first signal: take nothing new, finish what is under way. The second: stop now.

    While it drains it still listens, so that whoever balances the load can read in /readyz that it leaves.
    """

    def __init__(self, config: uvicorn.Config, life: Life, grace: float, started: Callable[[], None]) -> None:
        super().__init__(config)
        self._life = life
        self._grace = grace
        self._until: float | None = None
        self._on_started = started

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._on_started()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:  # noqa: ARG002
        if self._until is None:
            self.drain()
        else:
            self.should_exit = True
            self.force_exit = self.force_exit or sig == signal.SIGINT

    def drain(self) -> None:
        self._life.draining = True
        self._until = time.monotonic() + self._grace

    async def on_tick(self, counter: int) -> bool:
        if self._until is not None and (not self._life.under_way or time.monotonic() >= self._until):
            self.should_exit = True
        return await super().on_tick(counter)


def make_server(
    app: Any, settings: ServerConfig, life: Life, started: Callable[[], None] = lambda: None
) -> Server:
    class Protocol(TimelyProtocol):
        head_seconds = settings.body_timeout

    config = uvicorn.Config(
        app,
        http=Protocol,
        ws="none",
        lifespan="on",
        log_config=None,
        log_level="error",
        access_log=False,
        server_header=False,
        timeout_keep_alive=_KEPT_OPEN,
        timeout_graceful_shutdown=_LAST_SECONDS,
    )
    return Server(config, life, settings.shutdown_grace, started)
