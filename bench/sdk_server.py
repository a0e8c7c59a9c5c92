"""The server that humanmcp is compared with: an `MCPServer` of the official SDK, one tool."""

from __future__ import annotations

from mcp.server.mcpserver import MCPServer

server = MCPServer("bench")


@server.tool()
def forecast(location: str) -> str:
    """Tell the weather."""
    return f"sunny in {location}"


if __name__ == "__main__":
    server.run()
