"""The server as the demo's host has it: a child process whose lines wait here to be read."""

from __future__ import annotations

import queue
import time
from pathlib import Path
from typing import Final, Self

from humanmcp.common.child import ChildCommand, ChildTransport
from humanmcp.inbox.opening import open_inbox

_LOOK_EVERY: Final = 0.05
_VISIBLE_WITHIN: Final = 5.0


class DemoServer:
    """The server, as a host has it: its lines wait here until somebody reads them."""

    def __init__(self, command: list[str]) -> None:
        """Start it. What it says on stderr is kept for the case that it dies."""
        self.lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self.said: list[bytes] = []
        self.transport = ChildTransport(ChildCommand(tuple(command)))
        self.transport.start(self)

    def __enter__(self) -> Self:
        """Use it as a context: it ends with the block."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close its stdin and wait: that is how a client says goodbye over stdio."""
        self.transport.close()

    def files(self, home: Path, wanted: Path) -> Path:
        """Return where its text files are: another folder than `wanted` where that one is in use.

        A session can be seen from its first message on; call this after that.
        """
        inbox = open_inbox(home)
        until = time.monotonic() + _VISIBLE_WITHIN
        while time.monotonic() < until:
            for facts in inbox.sessions():
                if facts.pid == self.transport.process.pid and facts.files:
                    return Path(facts.files)
            time.sleep(_LOOK_EVERY)
        return wanted

    def receive(self, timeout: float) -> bytes | None:
        """Return the next line of the server, None when none came in time.

        Raises:
            EndedError: the server is gone.
        """
        try:
            line = self.lines.get(timeout=timeout)
        except queue.Empty:
            return None
        if line is None:
            raise self.transport.obituary()
        return line

    def line_arrived(self, line: bytes) -> None:
        """Keep a line from the server."""
        self.lines.put(line)

    def said_aside(self, line: bytes) -> None:
        """Keep a line of its stderr."""
        self.said.append(line)

    def ended(self) -> None:
        """Let whoever waits for a line know that none will come."""
        self.lines.put(None)
