"""What a Python client does with odd answers: `python reactions_of_sdk.py CASES COMMAND …`.

CASES is JSON: the method that each case answers oddly. Runs with the Python SDK 1.x and 2.x, with
nothing else, and prints `NAME REACTION` lines. NAME is the last argument of the server.
"""

import asyncio
import json
import logging
import os
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

from mcp import ClientSession
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.types import PromptReference
from pydantic import AnyUrl

SECONDS: Final = 4.0
PROMPT: Final = PromptReference(type="ref/prompt", name="p")
ADDRESS: Any = "file:///a" if version("mcp") >= "2" else AnyUrl("file:///a")
STEPS: Final[dict[str, Any]] = {
    "initialize": lambda session: session.initialize(),
    "tools/list": lambda session: session.list_tools(),
    "tools/call": lambda session: session.call_tool("t", {}),
    "resources/list": lambda session: session.list_resources(),
    "resources/templates/list": lambda session: session.list_resource_templates(),
    "resources/read": lambda session: session.read_resource(ADDRESS),
    "prompts/list": lambda session: session.list_prompts(),
    "prompts/get": lambda session: session.get_prompt("p"),
    "completion/complete": lambda session: session.complete(PROMPT, {"name": "a", "value": ""}),
    "ping": lambda session: session.send_ping(),
}
ALWAYS: Final = ("initialize", "tools/list", "tools/call", "ping")


async def reaction(name: str, method: str, command: str, arguments: list[str]) -> str:
    """Return what the client does where `method` is answered with the line of this case."""
    observed = "tools/list" if method.startswith("notifications/") else method
    told, step = "", ""
    server = StdioServerParameters(command=command, args=[*arguments, name])
    try:
        with Path(os.devnull).open("w", encoding="utf-8") as nowhere:  # noqa: ASYNC230 - never waits
            async with (
                stdio_client(server, errlog=nowhere) as streams,
                ClientSession(*streams) as session,
            ):
                for step, take in STEPS.items():
                    if step not in (*ALWAYS, observed):
                        continue
                    try:
                        async with asyncio.timeout(SECONDS):
                            await take(session)
                        told = "taken" if step == observed else told
                    except TimeoutError:
                        told = "silent" if step == observed else told
                    except Exception:  # noqa: BLE001 - whatever it raises: the caller learns of it
                        told = "failed" if step == observed else told
                        if step == "initialize":
                            break
                        if step == "ping" and told == "taken":
                            told = "ended"
    except BaseException:  # noqa: BLE001 - the reader of the SDK broke down, maybe after the call
        return told or "failed"
    return told


async def main(cases: dict[str, str], command: str, arguments: list[str]) -> None:
    """Play the cases, six at a time."""
    gate = asyncio.Semaphore(6)

    async def play(name: str, method: str) -> None:
        async with gate:
            told = await reaction(name, method, command, arguments)
            os.write(1, f"{name} {told}\n".encode())

    await asyncio.gather(*(play(*case) for case in cases.items()))


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)
    asyncio.run(main(json.loads(sys.argv[1]), sys.argv[2], sys.argv[3:]))
