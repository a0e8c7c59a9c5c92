"""A server over stdio that answers one request with one odd line: `python odd_server.py NAME`.

The line is that of a row of `odd_answers.toml`; everything else is right. It needs no package.
"""

import json
import os
import sys
import tomllib
from pathlib import Path
from typing import Any, Final

ROWS: Final = tomllib.loads(Path(__file__).with_name("odd_answers.toml").read_text("utf-8"))
OK: Final = '{"content":[{"type":"text","text":"ok"}]}'
RIGHT: Final[dict[str, Any]] = {
    "initialize": {
        "protocolVersion": "2025-06-18",
        "capabilities": {"tools": {}, "resources": {}, "prompts": {}},
        "serverInfo": {"name": "odd", "version": "1"},
    },
    "tools/list": {"tools": [{"name": "t", "inputSchema": {"type": "object"}}]},
    "tools/call": json.loads(OK),
    "resources/list": {"resources": []},
    "prompts/list": {"prompts": []},
    "prompts/get": {"messages": []},
    "ping": {},
}
SCHEMA: Final = {"type": "object", "properties": {"n": {"type": "number"}}, "required": ["n"]}


def case(name: str) -> tuple[str, str, str, bool]:
    """Return the method, the lines and their encoding, and whether the right answer follows.

    `NAME` is that of a row, or `NAME:2` for its second line.
    """
    row, _, number = name.partition(":")
    found = ROWS[row]
    line = found["lines"][int(number or 1) - 1]
    return (
        found.get("method", "tools/call"),
        line,
        found.get("encoding", "utf-8"),
        bool(found.get("then_right")),
    )


def written(line: str, token: str, encoding: str) -> bytes:
    """Return the bytes of a line for a request with this id."""
    text = line.replace("IDX", json.dumps(token)).replace("ID", token).replace("OK", OK)
    return text.encode(encoding, "surrogatepass" if encoding == "utf-8" else "strict") + b"\n"


def main(name: str) -> None:
    """Serve until stdin ends."""
    method, line, encoding, then_right = case(name)
    listed = {"tools": [dict(RIGHT["tools/list"]["tools"][0])]}
    if ROWS[name.partition(":")[0]].get("structured"):
        listed["tools"][0]["outputSchema"] = SCHEMA
    for raw in sys.stdin.buffer:
        message = json.loads(raw)
        asked, token = message.get("method"), json.dumps(message.get("id"))
        out = b""
        if asked == method:
            out = written(line, token, encoding)
        if "id" in message and (asked != method or then_right):
            result = listed if asked == "tools/list" else RIGHT.get(asked, {})
            out += json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}).encode()
            out += b"\n"
        os.write(1, out)


if __name__ == "__main__":
    main(sys.argv[1])
