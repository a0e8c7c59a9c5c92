"""An MCP server made with the official SDK (`pip install mcp`): the weather, as far as it is known.

Start it through a client, for example: humanmcp client -- python samples/servers/weather.py
It speaks every protocol version, 2026-07-28 too.
"""

from typing import Annotated

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import Field

KNOWN = {"東京": "sunny", "Tokyo": "sunny"}

server = MCPServer("weather", version="1.0.0", log_level="WARNING")


@server.tool(name="get-japan-forecast", structured_output=False)
def get_japan_forecast(location: Annotated[str, Field(description="location name")]) -> str:
    """Get weather forecast."""
    if location not in KNOWN:
        raise ToolError(f"The weather is known for {', '.join(KNOWN)} only, not for {location}")
    return KNOWN[location]


if __name__ == "__main__":
    server.run()
