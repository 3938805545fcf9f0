"""The MCP server: tools for agents, over stdio or, mounted by the HTTP service, streamable HTTP."""
