"""The MCP server built on the official SDK, and its stdio transport."""

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

from groundwire._loop import run, run_on_shared_loop
from groundwire.config import Config, Operation
from groundwire.engine import Groundwire
from groundwire.errors import GroundwireError
from groundwire.mcp.arguments import text_size
from groundwire.mcp.tools import TOOLS, Result, Tool, ToolCall, ToolService, as_text, parse_arguments
from groundwire.reports.feedback import FeedbackReader
from groundwire.reports.json import report_object
from groundwire.types import HallucinationReport
from groundwire.verifiers.backends import choose
from groundwire.version import __version__

T = TypeVar("T")
Context = ServerRequestContext[dict[str, Any]]

INSTRUCTIONS = (
    "groundwire measures how many bits of evidence support each claim. Before you present an answer that "
    "is based on documents, call `check` with the answer and its sources, and correct or remove what is "
    "flagged. Write citations as [S0], [S1], …, and pass the sources under these ids."
)
_PROGRESS_SECONDS = 2.0  # between two progress messages: clients give up on silence
_MAX_REF_DEPTH = 8  # of nested references in a schema: a recursive one must end


def create_server(service: ToolService) -> Server[dict[str, Any]]:
    """Create a server with all tools. The caller owns the service and closes it."""
    known = {tool.name: tool for tool in TOOLS}
    listed = wire.ListToolsResult(tools=[_describe(tool) for tool in TOOLS])

    async def list_tools(_: Context, __: wire.PaginatedRequestParams | None) -> wire.ListToolsResult:
        return listed

    async def call_tool(context: Context, params: wire.CallToolRequestParams) -> wire.CallToolResult:
        if params.name not in known:
            raise MCPError(code=wire.INVALID_PARAMS, message=f"unknown tool {params.name[:100]!r}")
        return await _call_tool(service, known[params.name], params.arguments or {}, context)

    return Server(
        "groundwire",
        version=__version__,
        title="groundwire",
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


async def _call_tool(
    service: ToolService, tool: Tool, arguments: Mapping[str, Any], context: Context
) -> wire.CallToolResult:
    """Run a tool. Invalid arguments and expected failures become one line that the model can read."""
    try:
        parsed = parse_arguments(tool, arguments)
        work = _run_tool(service, tool, parsed, context.request, text_size(arguments))
        found = await _with_progress(work, context.session.report_progress)
        text = wire.TextContent(type="text", text=as_text(found))
    except GroundwireError as error:
        message = wire.TextContent(type="text", text=f"{tool.name}: {error}")
        return wire.CallToolResult(content=[message], is_error=True)
    return wire.CallToolResult(content=[text], structured_content=found)


async def _run_tool(service: ToolService, tool: Tool, parsed: BaseModel, request: Any, size: int) -> Result:
    kb = await service.known(request) if getattr(parsed, "kb", False) else None
    call = ToolCall(await asyncio.to_thread(service.engine_for, tool.operation), parsed, kb)
    found = await service.work(lambda: tool.run(call), size=size)
    if isinstance(found, HallucinationReport):
        return report_object(await service.with_opinions(found, request))
    return found


async def _with_progress(work: Awaitable[T], report: Callable[[float, None, str], Awaitable[None]]) -> T:
    """Await work, and report progress meanwhile."""
    task, start = asyncio.ensure_future(work), monotonic()
    try:
        while not (await asyncio.wait({task}, timeout=_PROGRESS_SECONDS))[0]:
            await report(round(monotonic() - start, 1), None, "checking")
        return task.result()
    finally:
        task.cancel()


def _describe(tool: Tool) -> wire.Tool:
    hints = wire.ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)
    return wire.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.summary,
        input_schema=inline_references(tool.arguments.model_json_schema()),
        output_schema=inline_references(tool.returns.model_json_schema(mode="serialization")),
        annotations=hints,
    )


def inline_references(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema without references, which some clients do not follow, and without generated titles."""
    definitions = schema.get("$defs", {})

    def inline(node: Any, depth: int = 0) -> Any:
        if isinstance(node, list):
            return [inline(item, depth) for item in node]
        if not isinstance(node, dict):
            return node
        if "$ref" in node and depth < _MAX_REF_DEPTH:
            definition = definitions[node["$ref"].rpartition("/")[2]]
            return inline({**definition, **{k: v for k, v in node.items() if k != "$ref"}}, depth + 1)
        return {
            key: {name: inline(value, depth) for name, value in inner.items()}
            if key == "properties"
            else inline(inner, depth)
            for key, inner in node.items()
            if key not in ("$defs", "title")
        }

    found: dict[str, Any] = inline(schema)
    return found


class LocalToolService:
    """The engines of one stdio process. They run on another event loop, so that pings are always answered."""

    def __init__(self, engine: Groundwire) -> None:
        self._config = engine.config
        self._engines = {engine.backend.name: engine}
        self._opening = Lock()

    def engine_for(self, operation: Operation) -> Groundwire:
        """Return the engine for an operation; operations with the same backend share one."""
        if self._config.hallucination.backend.type != "configurable":
            return next(iter(self._engines.values()))
        name = choose(self._config.hallucination.backend, operation)
        with self._opening:
            if name not in self._engines:
                self._engines[name] = Groundwire(self._config, backend=name, operation=operation)
            return self._engines[name]

    async def work(self, job: Callable[[], Coroutine[Any, Any, T]], size: int = 0) -> T:  # noqa: ARG002
        return await run_on_shared_loop(job())

    async def known(self, request: Any) -> str:  # noqa: ARG002
        """Return the user's own store: the client runs with the user's rights."""
        return self._config.store.url

    async def with_opinions(self, report: HallucinationReport, request: Any) -> HallucinationReport:  # noqa: ARG002
        def annotate() -> HallucinationReport:
            with FeedbackReader(self._config) as feedback:
                return feedback.annotate(report)

        return await asyncio.to_thread(annotate)

    async def aclose(self) -> None:
        for engine in self._engines.values():
            await engine.aclose()


def run_stdio(config: Config) -> int:
    """Serve until the client closes stdin."""
    service = LocalToolService(Groundwire(config))  # reports configuration errors before a client connects
    if sys.stdin.isatty():
        print("groundwire: waiting for an MCP client on stdin; press Ctrl-C to stop", file=sys.stderr)
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # a blocking read of stdin cannot be cancelled
    try:
        anyio.run(_serve, service)
    except* BrokenPipeError:
        pass  # the client disconnected during a response
    finally:
        run(service.aclose())
    return 0


async def _serve(service: LocalToolService) -> None:
    server = create_server(service)
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())
