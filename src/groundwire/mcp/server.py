"""The MCP server: the tools behind the official SDK, whichever transport carries them."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from threading import Lock
from time import monotonic
from typing import Any, TypeVar

import anyio
import mcp_types as wire
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError
from pydantic import BaseModel

from groundwire._loop import away, run
from groundwire.cli.opinions import Said
from groundwire.config import Config, Operation
from groundwire.engine import Groundwire
from groundwire.errors import GroundwireError
from groundwire.mcp.tools import TOOLS, Call, Held, Result, Tool, as_text, parsed
from groundwire.reports.json import report_object
from groundwire.types import HallucinationReport
from groundwire.verifiers.route import choose
from groundwire.version import __version__

T = TypeVar("T")
Context = ServerRequestContext[dict[str, Any]]

INSTRUCTIONS = (
    "groundwire measures how many bits of evidence stand behind each claim. Before you present an answer "
    "that rests on documents, call `check` with the answer and its sources, and mend or drop what is "
    "flagged. Write citations as [S0], [S1], …, and give the sources under these ids."
)
_BEAT = 2.0
_DEEPEST = 8


def create_server(held: Held) -> Server[dict[str, Any]]:
    """All tools over one engine; whoever holds it opens and closes it."""
    known = {tool.name: tool for tool in TOOLS}
    listed = wire.ListToolsResult(tools=[_described(tool) for tool in TOOLS])

    async def list_tools(_: Context, __: wire.PaginatedRequestParams | None) -> wire.ListToolsResult:
        return listed

    async def call_tool(context: Context, params: wire.CallToolRequestParams) -> wire.CallToolResult:
        if params.name not in known:
            raise MCPError(code=wire.INVALID_PARAMS, message=f"there is no tool {params.name[:100]!r}")
        return await _called(held, known[params.name], params.arguments or {}, context)

    return Server(
        "groundwire",
        version=__version__,
        title="groundwire",
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


async def _called(
    held: Held, tool: Tool, arguments: Mapping[str, Any], context: Context
) -> wire.CallToolResult:
    """Whatever is wrong with a call, or goes wrong in it as foreseen, is one line for the model to read."""
    try:
        asked = parsed(tool, arguments)
        work = _found(held, tool, asked, context.request, _size(arguments))
        found = await _heard(work, context.session.report_progress)
        text = wire.TextContent(type="text", text=as_text(found))
    except GroundwireError as error:
        told = wire.TextContent(type="text", text=f"{tool.name}: {error}")
        return wire.CallToolResult(content=[told], is_error=True)
    return wire.CallToolResult(content=[text], structured_content=found)


async def _found(held: Held, tool: Tool, asked: BaseModel, request: Any, size: int) -> Result:
    kb = await held.known(request) if getattr(asked, "kb", False) else None
    call = Call(await asyncio.to_thread(held.engine_for, tool.operation), asked, kb)
    found = await held.work(lambda: tool.run(call), size=size)
    if isinstance(found, HallucinationReport):
        return report_object(await held.with_opinions(found))
    return found


def _size(value: object) -> int:
    """How many characters of text a call brings."""
    if isinstance(value, Mapping):
        return sum(_size(item) for item in value.values())
    return len(value) if isinstance(value, str) else sum(map(_size, value)) if isinstance(value, list) else 0


async def _heard(work: Awaitable[T], tell: Callable[[float, None, str], Awaitable[None]]) -> T:
    """Work that takes long says so now and then: clients give up on silence."""
    task, began = asyncio.ensure_future(work), monotonic()
    try:
        while not (await asyncio.wait({task}, timeout=_BEAT))[0]:
            await tell(round(monotonic() - began, 1), None, "checking")
        return task.result()
    finally:
        task.cancel()


def _described(tool: Tool) -> wire.Tool:
    hints = wire.ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)
    return wire.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.summary,
        input_schema=plain(tool.arguments.model_json_schema()),
        output_schema=plain(tool.returns.model_json_schema(mode="serialization")),
        annotations=hints,
    )


def plain(schema: dict[str, Any]) -> dict[str, Any]:
    """A schema without references, which some clients do not follow, and without made-up titles."""
    definitions = schema.get("$defs", {})

    def resolved(node: Any, depth: int = 0) -> Any:
        if isinstance(node, list):
            return [resolved(item, depth) for item in node]
        if not isinstance(node, dict):
            return node
        if "$ref" in node and depth < _DEEPEST:
            meant = definitions[node["$ref"].rpartition("/")[2]]
            return resolved({**meant, **{k: v for k, v in node.items() if k != "$ref"}}, depth + 1)
        return {
            key: {name: resolved(value, depth) for name, value in inner.items()}
            if key == "properties"
            else resolved(inner, depth)
            for key, inner in node.items()
            if key not in ("$defs", "title")
        }

    found: dict[str, Any] = resolved(schema)
    return found


# `groundwire mcp`: the tools on standard input and output, for a client that starts this process.

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
