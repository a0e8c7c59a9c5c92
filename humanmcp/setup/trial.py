"""Start `humanmcp serve` as a host would, in a scratch folder, and look at what it does.

A host reads nothing but JSON-RPC lines from stdout and gives up on a slow start: so the trial
measures both, with the few variables of the environment that most hosts pass on.
"""

from __future__ import annotations

import contextlib
import json
import queue
import sys
import tempfile
import time
from typing import Any, Final

from humanmcp.common.child import ChildCommand, ChildTransport, EndedError, StartError

LONGEST: Final = 20.0
"""Seconds for all answers together."""

_INITIALIZE: Final[dict[str, object]] = {
    "jsonrpc": "2.0",
    "id": "doctor-1",
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "humanmcp-doctor", "version": "1"},
    },
}
_PING: Final[dict[str, object]] = {"jsonrpc": "2.0", "id": "doctor-2", "method": "ping"}


class Trial:
    """What was seen of a server. Times are seconds; None where it never came to that."""

    def __init__(self) -> None:
        self.first_answer: float | None = None
        self.exit_time: float | None = None
        self.status: int | None = None
        self.stray: list[str] = []
        """Lines on stdout that are no JSON-RPC message."""
        self.stderr = ""
        self.failure: object = None
        """Why it could not even be started."""
        self._arrived: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()

    def line_arrived(self, line: bytes) -> None:
        """Keep a message; what is none is stray."""
        with contextlib.suppress(ValueError):
            value = json.loads(line)
            if isinstance(value, dict) and value.get("jsonrpc") == "2.0":
                self._arrived.put(value)
                return
        self.stray.append(line.decode("utf-8", "replace"))

    def stderr_line(self, line: bytes) -> None:
        """Keep a line of its stderr."""
        self.stderr += line.decode("utf-8", "replace") + "\n"

    def ended(self) -> None:
        """Let the wait for an answer end."""
        self._arrived.put(None)

    def ask(self, transport: ChildTransport, request: dict[str, object], until: float) -> bool:
        """Send a request and wait for its answer. False when none came."""
        with contextlib.suppress(EndedError, queue.Empty):
            transport.send(json.dumps(request))
            while (left := until - time.monotonic()) > 0:
                message = self._arrived.get(timeout=left)
                if message is None or message.get("id") == request["id"]:
                    return message is not None
        return False


def run(starter: tuple[str, ...] = ()) -> Trial:
    """Start the server, say hello, ping it, close its stdin and wait for its end.

    `starter` are the words that start it, up to `serve`; without them it is this installation's.
    """
    trial = Trial()
    with tempfile.TemporaryDirectory(prefix="humanmcp-doctor-") as scratch:
        starter = starter or (sys.executable, "-m", "humanmcp", "serve")
        words = (*starter, "--auto", "--home", scratch)
        began = time.monotonic()
        try:
            transport = ChildTransport(ChildCommand(words, folder=scratch))
        except StartError as error:
            trial.failure = error.fillings["why"]
            return trial
        transport.start(trial)
        try:
            if trial.ask(transport, _INITIALIZE, began + LONGEST):
                trial.first_answer = time.monotonic() - began
                trial.ask(transport, _PING, began + LONGEST)
        finally:
            closing = time.monotonic()
            transport.close()
        trial.exit_time = time.monotonic() - closing
        trial.status = transport.process.returncode
    return trial
