"""`groundwire mcp`: the tools on standard input and output, for a client that starts this process."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Callable, Coroutine
from threading import Lock
from typing import Any, TypeVar

import anyio
from mcp.server.stdio import stdio_server

from groundwire._loop import away, run
from groundwire.cli.opinions import Said
from groundwire.config import Config, Operation
from groundwire.engine import Groundwire
from groundwire.mcp.server import create_server
from groundwire.types import HallucinationReport
from groundwire.verifiers.route import choose

T = TypeVar("T")
FINE = 0


class Alone:
    """Engines that nobody shares. They work on a loop of their own, so that a ping is always answered."""

    def __init__(self, engine: Groundwire) -> None:
        self._config = engine.config
        self._engines = {engine.backend.name: engine}
        self._opening = Lock()

    def engine_for(self, operation: Operation) -> Groundwire:
        """Operations with the same backend have the same engine."""
        if self._config.hallucination.backend.type != "configurable":
            return next(iter(self._engines.values()))
        name = choose(self._config.hallucination.backend, operation)
        with self._opening:
            if name not in self._engines:
                self._engines[name] = Groundwire(self._config, backend=name, operation=operation)
            return self._engines[name]

    async def work(self, job: Callable[[], Coroutine[Any, Any, T]], size: int = 0) -> T:  # noqa: ARG002
        return await away(job())

    async def known(self, request: Any) -> str:  # noqa: ARG002
        """Whoever started this process may read what its user knows."""
        return self._config.store.url

    async def with_opinions(self, report: HallucinationReport) -> HallucinationReport:
        return await asyncio.to_thread(self._said, report)

    def _said(self, report: HallucinationReport) -> HallucinationReport:
        with Said(self._config) as said:
            return said.report(report)

    async def aclose(self) -> None:
        for engine in self._engines.values():
            await engine.aclose()


def run_stdio(config: Config) -> int:
    """Until the client closes our input."""
    held = Alone(Groundwire(config))  # what is wrong with the configuration is said before anyone connects
    if sys.stdin.isatty():
        print("groundwire: MCP clients start this and speak on its input; Ctrl-C ends it", file=sys.stderr)
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # who waits for input cannot be woken, only ended
    try:
        anyio.run(_serve, held)
    except* BrokenPipeError:
        pass  # the client left while it was being answered
    finally:
        run(held.aclose())
    return FINE


async def _serve(held: Alone) -> None:
    server = create_server(held)
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())
