"""A whole MCP server in plain Python: one tool that rolls a die.

Start it through a client, for example: humanmcp client -- python samples/servers/dice.py
It also shows the order of a session: before `notifications/initialized` it answers nothing but
`initialize` and `ping`.
"""

import json
import random
import sys
from typing import Any

VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")

DICE = {
    "name": "dice",
    "description": "Roll a dice",
    "inputSchema": {
        "type": "object",
        "properties": {
            "sides": {"type": "integer", "description": "The number of sides on the dice"}
        },
        "required": ["sides"],
    },
}


class RequestError(Exception):
    """What becomes the `error` of an answer: a code and a message."""


def named(params: object) -> dict[str, Any]:
    """Return parameters by name; MCP has no others."""
    if not isinstance(params, dict):
        raise RequestError(-32602, "params and arguments must be objects")
    return params


class DiceServer:
    """One session with one client."""

    def __init__(self, chance: random.Random) -> None:
        """Start before the handshake."""
        self.chance = chance
        self.initialized = False

    def receive(self, line: str) -> dict[str, Any] | None:
        """Return the whole answer to one line; None where none is allowed."""
        try:
            message = json.loads(line)
        except ValueError as error:
            return {"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": str(error)}}
        if not isinstance(message, dict) or "method" not in message:
            return None  # an answer, or nothing that we know
        if "id" not in message:
            self.initialized |= message["method"] == "notifications/initialized"
            return None
        reply = {"jsonrpc": "2.0", "id": message["id"]}
        try:
            params = named(message.get("params", {}))
            return reply | {"result": self.answer(message["method"], params)}
        except RequestError as error:
            code, why = error.args
            return reply | {"error": {"code": code, "message": why}}

    def answer(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Return the `result` for one request."""
        if method == "initialize":
            asked = params.get("protocolVersion")
            return {
                "protocolVersion": asked if asked in VERSIONS else VERSIONS[-1],
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "dice", "version": "1.0.0"},
            }
        if method == "ping":
            return {}
        if method not in ("tools/list", "tools/call"):
            raise RequestError(-32601, f"Method not found: {method}")
        if not self.initialized:
            raise RequestError(-32600, "Send notifications/initialized first")
        if method == "tools/list":
            return {"tools": [DICE]}
        if params.get("name") != "dice":
            raise RequestError(-32602, f"Unknown tool: {params.get('name')}")
        return self.roll(named(params.get("arguments", {})).get("sides"))

    def roll(self, sides: object) -> dict[str, Any]:
        """Roll. Wrong arguments are a result with `isError`, so that a model can fix them."""
        if not isinstance(sides, int) or isinstance(sides, bool) or sides < 1:
            why = "sides must be a whole number from 1"
            return {"content": [{"type": "text", "text": why}], "isError": True}
        return {"content": [{"type": "text", "text": str(self.chance.randint(1, sides))}]}


def main() -> None:
    """Answer line by line until the client closes our stdin. A number as argument is the seed."""
    server = DiceServer(random.Random(sys.argv[1] if len(sys.argv) > 1 else None))
    for line in sys.stdin:
        reply = server.receive(line)
        if reply is not None:
            print(json.dumps(reply), flush=True)  # flush: a client waits for this very line


if __name__ == "__main__":
    main()
