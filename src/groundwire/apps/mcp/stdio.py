"""`groundwire mcp`: the tools on standard input and output, for a client that starts this process."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, TypeVar

import anyio
from mcp.server.stdio import stdio_server

from groundwire.apps.mcp.server import create_server
from groundwire.bridge import away, run
from groundwire.config import Config
from groundwire.engine import Groundwire

T = TypeVar("T")
FINE = 0


@dataclass(frozen=True, slots=True)
class Alone:
    """An engine that nobody shares. It works on a loop of its own, so that a ping is always answered."""

    engine: Groundwire

    async def work(self, job: Callable[[], Coroutine[Any, Any, T]], size: int = 0) -> T:  # noqa: ARG002
        return await away(job())


def run_stdio(config: Config) -> int:
    """Until the client closes our input."""
    engine = Groundwire(config)  # what is wrong with the configuration is said before anyone connects
    if sys.stdin.isatty():
        print("groundwire: MCP clients start this and speak on its input; Ctrl-C ends it", file=sys.stderr)
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # who waits for input cannot be woken, only ended
    try:
        anyio.run(_serve, Alone(engine))
    except* BrokenPipeError:
        pass  # the client left while it was being answered
    finally:
        run(engine.aclose())
    return FINE


async def _serve(held: Alone) -> None:
    server = create_server(held)
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())
