"""A client for `humanmcp judge`: python judged.py stdio|http COMMAND ARGUMENTS… | URL.

Runs with the Python SDK 1.x and 2.x. It lists the tools, calls one, prints the text of the result,
and ends. A request may take 4 seconds.
"""

import asyncio
import os
import sys
from contextlib import AsyncExitStack
from datetime import timedelta
from importlib.metadata import version
from typing import Any

from mcp import ClientSession
from mcp.client import streamable_http
from mcp.client.stdio import StdioServerParameters, stdio_client

SECONDS: Any = 4.0 if version("mcp") >= "2" else timedelta(seconds=4)


async def main(transport: str, command: str, *arguments: str) -> None:
    """Play the session."""
    async with AsyncExitStack() as stack:
        if transport == "http":
            newer = hasattr(streamable_http, "streamable_http_client")
            name = "streamable_http_client" if newer else "streamablehttp_client"
            connect = getattr(streamable_http, name)
            streams = await stack.enter_async_context(connect(command))
        else:
            server = StdioServerParameters(command=command, args=list(arguments))
            streams = await stack.enter_async_context(stdio_client(server))
        session = ClientSession(streams[0], streams[1], read_timeout_seconds=SECONDS)
        await stack.enter_async_context(session)
        await session.initialize()
        await session.list_tools()
        result: Any = await session.call_tool("t", {})
        failed = getattr(result, "isError", False) or getattr(result, "is_error", False)
        head = "the tool failed: " if failed else ""
        for one in result.content:
            os.write(1, f"{head}{getattr(one, 'text', one.type)}\n".encode())


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
