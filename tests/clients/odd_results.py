"""Results that are wrong at one place, and a server that sends one of them.

python tests/clients/odd_results.py NAME        NAME is METHOD:NUMBER, as in `odd_results.toml`
"""

import json
import os
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

_FILE: Final = Path(__file__).with_suffix(".toml")
_WHOLE: Final = '{"jsonrpc":"2.0","id":ID,'
"""The beginning of a whole response: the others are only its result."""
_DECLARED: Final[dict[str, Any]] = {"tools": {}, "resources": {}, "prompts": {}, "completions": {}}
_RIGHT: Final[dict[str, Any]] = {
    "initialize": {
        "protocolVersion": "2025-11-25",
        "capabilities": _DECLARED,
        "serverInfo": {"name": "rain", "version": "1"},
    },
    "tools/list": {"tools": [{"name": "t", "inputSchema": {"type": "object"}}]},
    "tools/call": {"content": []},
    "ping": {},
}
PARAMS: Final[dict[str, Any]] = {
    "initialize": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "c", "version": "1"},
    },
    "tools/call": {"name": "t", "arguments": {}},
    "resources/read": {"uri": "file:///a"},
    "prompts/get": {"name": "p"},
    "completion/complete": {
        "ref": {"type": "ref/prompt", "name": "p"},
        "argument": {"name": "a", "value": ""},
    },
}
"""What a client sends with each method."""


def odd_results() -> dict[str, str]:
    """Return the results, as JSON, by name."""
    methods = tomllib.loads(_FILE.read_text("utf-8"))
    return {
        f"{method}:{number}": result
        for method, results in methods.items()
        for number, result in enumerate(results, 1)
    }


def answer(name: str, message: dict[str, Any]) -> str:
    """Return the response to a request where this result is sent."""
    method, token = message["method"], json.dumps(message["id"])
    if method == name.partition(":")[0]:
        odd = odd_results()[name]
        if odd.startswith(_WHOLE):
            return odd.replace("ID", token, 1)
        return f'{{"jsonrpc":"2.0","id":{token},"result":{odd}}}'
    if method in _RIGHT:
        return json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": _RIGHT[method]})
    error = {"code": -32601, "message": "Method not found"}
    return json.dumps({"jsonrpc": "2.0", "id": message["id"], "error": error})


def _requests() -> Iterator[dict[str, Any]]:
    for line in sys.stdin:
        message = json.loads(line)
        if "id" in message and "method" in message:
            yield message


if __name__ == "__main__":
    for request in _requests():
        os.write(1, answer(sys.argv[-1], request).encode() + b"\n")
