"""The MCP server: tools for agents, over stdio or streamable HTTP."""

from __future__ import annotations

from groundwire._optional import load
from groundwire.config import Config

_FEATURE = "groundwire mcp"


def run_mcp(http: str | None, config: Config) -> int:
    """Serve on stdin and stdout, or over HTTP at the given address."""
    if http is None:
        code: int = load("groundwire.mcp.server:run_stdio", feature=_FEATURE, extra="mcp")(config)
        return code
    served: int = load("groundwire.mcp.http:run_http", feature=f"{_FEATURE} --http", extra="mcp,server")(
        http, config
    )
    return served
