"""A client without an SDK, careful, or careless in one way.

    python hand_made_client.py WAY COMMAND…

It asks for the tools, calls one, prints its text, and ends its server.
"""

import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any, Final, cast

WAY: Final = sys.argv[1]
PATIENCE: Final = 15.0
"""Seconds for a response: on a busy computer, servers take long to start."""


class TimedOutError(Exception):
    """No response came."""


def start() -> tuple["subprocess.Popen[str]", "queue.Queue[str | None]"]:
    """Start the server, and read its lines."""
    server = subprocess.Popen(
        sys.argv[2:], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, errors="replace"
    )
    lines: queue.Queue[str | None] = queue.Queue()

    def read() -> None:
        assert server.stdout is not None
        for line in server.stdout:
            lines.put(line)
        lines.put(None)

    threading.Thread(target=read, daemon=True).start()
    return server, lines


SERVER, LINES = start()


def say(message: dict[str, Any]) -> None:
    """Send a message."""
    assert SERVER.stdin is not None
    SERVER.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    SERVER.stdin.flush()


def understood(line: str) -> dict[str, Any] | None:
    """Return the message in a line; None if it is none."""
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        if WAY == "hangs on a banner":
            threading.Event().wait()
        return None
    if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
        return None
    if "method" in message and "id" in message:
        declined = {"code": -32601, "message": "Method not found"}
        answer: dict[str, Any] = {"error": declined}
        if message["method"] == "ping" or WAY == "does what it never declared":
            answer = {"result": {}}
        if WAY != "answers no questions":
            say({"id": message["id"], **answer})
        return None
    return message


def ask(token: int, method: str, params: dict[str, Any]) -> dict[str, Any]:
    """Return the result."""
    say({"id": token, "method": method, "params": params})
    end = time.monotonic() + (1e6 if WAY == "waits for ever" else PATIENCE)
    while True:
        try:
            line = LINES.get(timeout=max(0.0, end - time.monotonic()))
        except queue.Empty:
            say({"method": "notifications/cancelled", "params": {"requestId": token}})
            raise TimedOutError(f"{method}: timed out") from None
        if line is None:
            raise EOFError(f"{method}: the server closed its output")
        message = understood(line)
        if message is None:
            continue
        is_mine = message.get("id") == token and type(message["id"]) is int
        if not is_mine and WAY != "believes any id":
            continue
        if "error" in message and message["error"] is not None:
            raise ValueError(f"{method}: error {message['error']}")
        result = message.get("result")
        if WAY == "believes null" and result is None:
            return {"content": [{"text": "fine"}]}
        if WAY != "crashes on null" and not isinstance(result, dict):
            raise ValueError(f"{method}: invalid result")
        return cast("dict[str, Any]", result)  # one that crashes on null does not look


def talk() -> None:
    """Play the session of every good client."""
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}}
    answered = ask(1, "initialize", {**hello, "clientInfo": {"name": "hand", "version": "1"}})
    if WAY != "believes any version" and answered.get("protocolVersion") != "2025-06-18":
        raise ValueError("initialize: unsupported version")
    say({"method": "notifications/initialized"})
    tools = ask(2, "tools/list", {})["tools"]
    if not isinstance(tools, list):
        raise TypeError("tools/list: invalid tools")
    result = ask(3, "tools/call", {"name": "t", "arguments": {}})
    if WAY == "crashes on null":
        os.write(1, result["content"][0]["text"].encode())
        return
    content = result.get("content")
    if not isinstance(content, list) or not all(isinstance(one, dict) for one in content):
        raise ValueError("tools/call: invalid content")
    os.write(1, "\n".join(str(one.get("text")) for one in content).encode())


def end() -> None:
    """End the server as the specification says."""
    assert SERVER.stdin is not None
    if WAY == "leaves its server":
        return
    SERVER.stdin.close()
    for insist in (SERVER.terminate, SERVER.kill):
        try:
            SERVER.wait(1.0)
        except subprocess.TimeoutExpired:
            insist()


def retrying(what: Callable[[], None]) -> None:
    """Do it again until it succeeds."""
    while True:
        try:
            return what()
        except Exception:  # noqa: BLE001 - that is what is wrong with it
            time.sleep(0.01)


def main() -> int:
    """Return the exit status."""
    try:
        if WAY == "retries for ever":
            retrying(talk)
        else:
            talk()
    except Exception as error:
        if WAY == "swallows errors":
            return 0
        if WAY == "dies by a signal":
            os.kill(os.getpid(), signal.SIGABRT)
        if WAY == "dies by a signal below a shell":
            return 128 + signal.SIGABRT
        if WAY == "crashes on null":
            raise
        sys.stderr.write(f"error: {error}\n")
        return 1
    finally:
        end()
    return 0


if __name__ == "__main__":
    status = main()
    sys.stderr.flush()
    os._exit(status)
