"""A whole MCP server in plain Python: one tool that adds numbers.

Start it through a client, for example: humanmcp client -- python samples/servers/calculate.py
It speaks the protocol versions with a handshake (2024-11-05 to 2025-11-25).
"""

import json
import sys
from typing import Any

VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")

CALCULATE = {
    "name": "calculate",
    "description": "This tool calculates the sum of numbers",
    "inputSchema": {
        "type": "object",
        "properties": {
            "first": {"type": "number", "description": "This is the first parameter"},
            "second": {
                "type": "array",
                "items": {"type": "number"},
                "description": "This is the second parameter, which is an array of numbers",
            },
        },
        "required": ["first", "second"],
    },
}


class RequestError(Exception):
    """What becomes the `error` of an answer: a code and a message."""


def answer(method: str, params: dict[str, Any]) -> dict[str, Any]:
    """Return the `result` for one request."""
    match method:
        case "initialize":
            asked = params.get("protocolVersion")
            return {
                "protocolVersion": asked if asked in VERSIONS else VERSIONS[-1],
                "capabilities": {"tools": {}, "resources": {}},
                "serverInfo": {"name": "calculate", "version": "1.0.0"},
            }
        case "ping":
            return {}
        case "tools/list":
            return {"tools": [CALCULATE]}
        case "tools/call":
            if params.get("name") != "calculate":
                raise RequestError(-32602, f"Unknown tool: {params.get('name')}")
            return calculate(named(params.get("arguments", {})))
        case "resources/list":
            return {"resources": []}
        case _:
            raise RequestError(-32601, f"Method not found: {method}")


def named(params: object) -> dict[str, Any]:
    """Return parameters by name; MCP has no others."""
    if not isinstance(params, dict):
        raise RequestError(-32602, "params and arguments must be objects")
    return params


def calculate(arguments: dict[str, Any]) -> dict[str, Any]:
    """Run the tool. Wrong arguments are a result with `isError`, so that a model can fix them."""
    second = arguments.get("second")
    numbers = [arguments.get("first"), *(second if isinstance(second, list) else [None])]
    if not all(map(is_number, numbers)):
        return text("first must be a number, and second a list of numbers", is_error=True)
    return text(f"The result of the addition is: {sum(numbers)}")


def is_number(value: object) -> bool:
    """Say whether a JSON value is a number: in Python, `true` would count as one."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def text(words: str, *, is_error: bool = False) -> dict[str, Any]:
    """Wrap text as the result of a tool."""
    return {"content": [{"type": "text", "text": words}], **({"isError": True} if is_error else {})}


def reply_to(line: str) -> dict[str, Any] | None:
    """Return the whole answer to one line; None where none is allowed."""
    try:
        message = json.loads(line)
    except ValueError as error:
        return {"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": str(error)}}
    if not isinstance(message, dict) or "id" not in message or "method" not in message:
        return None  # a notification, or an answer: nobody waits
    reply = {"jsonrpc": "2.0", "id": message["id"]}
    try:
        return reply | {"result": answer(message["method"], named(message.get("params", {})))}
    except RequestError as error:
        code, why = error.args
        return reply | {"error": {"code": code, "message": why}}


def main() -> None:
    """Answer line by line until the client closes our stdin."""
    for line in sys.stdin:
        reply = reply_to(line)
        if reply is not None:
            print(json.dumps(reply), flush=True)  # flush: a client waits for this very line


if __name__ == "__main__":
    main()
