"""A client for `humanmcp judge` with mcp-use: judged_mcp_use.py stdio|http COMMAND … | URL.

Runs with mcp-use and nothing else. It lists the tools, calls one, prints the text of the result,
and ends.
"""

import asyncio
import os
import sys

from mcp_use import MCPClient  # type: ignore[import-not-found] # tools.judging installs it


async def main(transport: str, command: str, *arguments: str) -> None:
    """Play the session."""
    server = {"url": command} if transport == "http" else {"command": command, "args": arguments}
    client = MCPClient.from_dict({"mcpServers": {"judge": server}})
    try:
        session = await client.create_session("judge")
        await session.list_tools()
        result = await session.call_tool("t", {})
        for one in result.content:
            os.write(1, f"{getattr(one, 'text', one.type)}\n".encode())
    finally:
        await client.close_all_sessions()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
