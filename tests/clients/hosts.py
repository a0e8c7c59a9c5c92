"""The real clients: each plays the weather session as a host and says what it understood."""

import json
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import anyio
import mcp_types as types
import pytest
from mcp import Client, MCPError, StdioServerParameters

from tests.support.serve_process import COMMAND, bare_environment
from tests.support.waiting import PATIENCE

NODE: Final = Path(__file__).parent / "node"
LOCATIONS: Final = ("東京", "大阪", "北海道")


@dataclass(frozen=True, slots=True)
class Understood:
    """What a client made of a session: the names of the tools, and an answer per location.

    An answer is `{"text": …}`, or `{"code": …, "message": …}` where the call failed.
    `version` is what was negotiated, "" where the client does not tell.
    """

    tools: list[str]
    answers: list[dict[str, Any]]
    version: str


@dataclass(frozen=True, slots=True)
class Host:
    """One client in one mode. `script` is the Node.js file, "" for the Python SDK."""

    name: str
    mode: str
    script: str = ""
    arguments: tuple[str, ...] = field(default=())

    def __str__(self) -> str:
        """Name it in a test's id."""
        return self.name

    def play(self, home: Path, *flags: str) -> Understood:
        """Play the weather session with `humanmcp serve`, whose inbox is `home`."""
        return self.play_with([*COMMAND, "--home", str(home), *flags], home)

    def play_with(self, server: Sequence[str], home: Path) -> Understood:
        """Play the weather session with any server, or one at an address.

        Its home directory is that of `home`.
        """
        if self.script:
            return _with_node(self, server, home)
        return anyio.run(_with_python, self.mode, server, home)


PYTHON_LEGACY: Final = Host("python-legacy", "legacy")
PYTHON_AUTO: Final = Host("python-auto", "auto")
SDK_1: Final = Host("sdk1", "legacy", "sdk1.mjs")
CLIENT_2_LEGACY: Final = Host("client2-legacy", "legacy", "client2.mjs", ("legacy",))
CLIENT_2_AUTO: Final = Host("client2-auto", "auto", "client2.mjs", ("auto",))
CLIENT_2_PIN: Final = Host("client2-pin", "pin", "client2.mjs", ("2026-07-28",))


async def _with_python(mode: str, server: Sequence[str], home: Path) -> Understood:
    parameters: str | StdioServerParameters = StdioServerParameters(
        command=server[0], args=list(server[1:]), env=bare_environment(home.parent)
    )
    if server[0].startswith("http:"):
        parameters = server[0]
    with anyio.fail_after(PATIENCE):
        async with Client(parameters, mode=mode) as client:
            listed = await client.list_tools()
            return Understood(
                tools=[tool.name for tool in listed.tools],
                answers=[await _call(client, location) for location in LOCATIONS],
                version=client.protocol_version,
            )


async def _call(client: Client, location: str) -> dict[str, Any]:
    try:
        result = await client.call_tool("get-japan-forecast", {"location": location})
    except MCPError as error:
        return {"code": error.code, "message": error.message}
    texts = [item.text for item in result.content if isinstance(item, types.TextContent)]
    return {"text": " ".join(texts)}


def _with_node(host: Host, server: Sequence[str], home: Path) -> Understood:
    run = subprocess.run(
        ["node", str(NODE / host.script), *host.arguments, *server],
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
        timeout=PATIENCE * 2,
        env=bare_environment(home.parent),
    )
    assert run.returncode == 0, run.stderr
    said = json.loads(run.stdout)
    return Understood(said["tools"], said["answers"], said["version"])


def with_node(host: Host) -> Any:  # noqa: ANN401 - pytest does not name the type of a parameter set
    """Mark a client that needs Node.js."""
    return pytest.param(host, marks=pytest.mark.node, id=host.name)
