"""A real server for the tests of `--otherwise forward`: it talks, asks back, and can end.

It knows the handshake alone, says on stderr how it was opened, and answers each tool by its name.
"""

import json
import os
import sys
from typing import Any


def write(line: str) -> None:
    """Write one line."""
    os.write(1, line.encode() + b"\n")


def say(**message: object) -> None:
    """Write one message."""
    write(json.dumps({"jsonrpc": "2.0", **message}, separators=(",", ":")))


def told(text: str) -> dict[str, Any]:
    """Wrap a text as the result of a tool."""
    return {"content": [{"type": "text", "text": text}]}


def call(asked: dict[str, Any]) -> None:
    """Do what the tool is called."""
    params = asked["params"]
    token = params.get("_meta", {}).get("progressToken")
    match params["name"]:
        case "talk":
            say(method="notifications/message", params={"level": "info", "data": "at it"})
            say(
                method="notifications/progress",
                params={"progressToken": token, "progress": 1, "total": 2},
            )
            write("no message")
            say(id=asked["id"], result=told("said"))
        case "ask":
            say(id=1, method="roots/list")
            answer = json.loads(sys.stdin.readline())
            say(id=asked["id"], result=told(f"{answer['id']}: {answer['result']['roots']}"))
        case "respell":
            say(id=int(asked["id"]), result=told("as a whole number"))
        case "die":
            sys.stderr.write("my last words\n")
            sys.stderr.flush()
            os._exit(7)
        case "wait":
            said = json.loads(sys.stdin.readline())
            sys.stderr.write(f"{said['method']} {said['params']['requestId']}\n")
            sys.stderr.flush()
        case name:
            say(id=asked["id"], result=told(name))


def main() -> None:
    """Answer until stdin is closed."""
    for line in sys.stdin:
        asked = json.loads(line)
        match asked["method"]:
            case "initialize":
                if "refuse" in sys.argv:
                    say(id=asked["id"], error={"code": -32603, "message": "not today"})
                    continue
                sys.stderr.write(line)
                sys.stderr.flush()
                result = {
                    "protocolVersion": asked["params"]["protocolVersion"],
                    "capabilities": {"tools": {}, "logging": {}},
                    "serverInfo": {"name": "asking", "version": "1"},
                }
                say(id=asked["id"], result=result)
            case "tools/call":
                call(asked)
            case "tools/list":
                say(id=asked["id"], result={"tools": []})
            case _:
                pass


if __name__ == "__main__":
    main()
