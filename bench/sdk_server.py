"""The server that humanmcp is compared with: an `MCPServer` of the official SDK, one tool.

Over stdio; with a port, and `JSON` or `SSE`, over Streamable HTTP.
"""

from __future__ import annotations

import sys

from mcp.server.mcpserver import MCPServer

server = MCPServer("bench")


@server.tool()
def forecast(location: str) -> str:
    """Tell the weather."""
    return f"sunny in {location}"


if __name__ == "__main__":
    if len(sys.argv) == 1:
        server.run()
    else:
        port, way = sys.argv[1:]
        server.run("streamable-http", port=int(port), json_response=way == "JSON")
