"""A server made with the official Python SDK that asks before it greets, in both eras."""

import sys
from typing import Annotated

from mcp.server import MCPServer
from mcp.server.mcpserver import Elicit, Resolve
from pydantic import BaseModel

server = MCPServer("greeter", version="1.0.0", log_level="WARNING")


class Name(BaseModel):
    """The form."""

    name: str


def who() -> Elicit[Name]:
    """Ask for a name."""
    return Elicit("Who are you?", Name)


@server.tool(structured_output=False)
def greet(asked: Annotated[Name, Resolve(who)]) -> str:
    """Ask for a name and greet."""
    return f"hello {asked.name}"


@server.tool(name="get-japan-forecast", structured_output=False)
def get_japan_forecast(location: str) -> str:
    """Get weather forecast."""
    return {"東京": "sunny"}.get(location, "unknown")


if __name__ == "__main__":
    if sys.argv[1:]:
        server.run(transport="streamable-http", port=int(sys.argv[1]))
    else:
        server.run()
