"""What the tests of the client's seat share: ways to a scripted server, and an onlooker."""

import sys
import threading
from pathlib import Path
from typing import Final, Protocol

from humanmcp.common.child import ChildCommand, ChildTransport, EndedError
from humanmcp.extensions.host.client.callbacks import ClientObserver
from humanmcp.extensions.host.client.client import Transport
from humanmcp.protocol.conversation.outcomes import Event
from tests.extensions.host.memory import MemoryTransport, pair
from tests.extensions.host.scripted import ScriptedServer

SCRIPTED: Final = Path(__file__).parent / "scripted.py"
SAMPLES: Final = Path(__file__).parents[3] / "samples"


class Way(Protocol):
    """Starts a scripted server and returns the way to it."""

    def __call__(self, *flags: str) -> Transport:
        """Start it with these flags."""


class ServerInMemory:
    """The listener at the server's end of a pair."""

    def __init__(self, end: MemoryTransport, *flags: str) -> None:
        """Serve."""
        self.end = end
        self.server = ScriptedServer(end.send, *flags)
        end.start(self)

    def line_arrived(self, line: bytes) -> None:
        """Serve one line; "die" closes the connection, as an exit does."""
        try:
            self.server.receive(line.decode())
        except SystemExit:
            self.end.close()

    def stderr_line(self, line: bytes) -> None:
        """Never called: memory has no stderr."""

    def ended(self) -> None:
        """Do nothing."""


def in_memory(*flags: str) -> Transport:
    """Start a scripted server in this process."""
    ours, theirs = pair()
    ServerInMemory(theirs, *flags)
    return ours


def as_process(*flags: str) -> Transport:
    """Start a scripted server as a child."""
    return ChildTransport(ChildCommand((sys.executable, str(SCRIPTED), *flags)))


def sample(name: str) -> ChildCommand:
    """Return the command of a sample server."""
    return ChildCommand((sys.executable, str(SAMPLES / "servers" / f"{name}.py")))


class Notes(ClientObserver):
    """An onlooker that writes everything down."""

    def __init__(self) -> None:
        """Begin with an empty page."""
        self.sent: list[str] = []
        self.arrived: list[str] = []
        self.events: list[Event] = []
        self.aside: list[bytes] = []
        self.over = threading.Event()
        self.why = ""

    def line_sent(self, line: str) -> None:
        """Note it."""
        self.sent.append(line)

    def line_arrived(self, line: bytes) -> None:
        """Note it."""
        self.arrived.append(line.decode())

    def stderr_line(self, line: bytes) -> None:
        """Note it."""
        self.aside.append(line)

    def happened(self, event: Event) -> None:
        """Note it."""
        self.events.append(event)

    def server_ended(self, error: EndedError) -> None:
        """Note it."""
        self.why = str(error)
        self.over.set()
