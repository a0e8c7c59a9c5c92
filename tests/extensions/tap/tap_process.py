"""A running `humanmcp tap` with a test in the client's place, and another one at the inbox."""

import sys
from pathlib import Path
from queue import Empty
from typing import Final

from humanmcp.inbox.contract import Item, Key, Reply
from humanmcp.inbox.folder import FolderInbox
from humanmcp.protocol.conversation.stages import ExchangeState
from humanmcp.protocol.conversation.transcript import Direction, Frame
from tests.support.serve_process import Piped
from tests.support.waiting import PATIENCE, until

SERVERS: Final = Path(__file__).with_name("servers")
COMMAND: Final = (sys.executable, "-m", "humanmcp", "tap", "--quiet")


def server(name: str, *arguments: str) -> tuple[str, ...]:
    """Return the command of one of the servers beside this file."""
    return (sys.executable, str(SERVERS / f"{name}.py"), *arguments)


def python(code: str) -> tuple[str, ...]:
    """Return the command of a server of a few lines."""
    return (sys.executable, "-c", code)


class Tapped(Piped):
    """One tap around one server. `home` is the inbox folder."""

    def __init__(
        self, home: Path, server: tuple[str, ...], *flags: str, command: tuple[str, ...] = COMMAND
    ) -> None:
        """Start it before this server."""
        super().__init__(home, *command, "--home", str(home), *flags, *server)

    # -- the client's side ----------------------------------------------------------------------

    def say(self, line: bytes) -> None:
        """Write bytes to the server, through the tap."""
        self.write(line)

    def hear(self) -> bytes:
        """Return the next line that reaches the client, with its end."""
        try:
            return self._lines.get(timeout=PATIENCE)
        except Empty:
            raise AssertionError("no line reached the client") from None

    def hears_nothing_yet(self) -> bool:
        """Return True if everything that reached the client was heard."""
        return self._lines.empty()

    def close(self) -> tuple[int, bytes, bytes]:
        """Close the client's end. Returns the status, what still came, and what stderr has."""
        self.stdin.close()
        return self.ended()

    def ended(self) -> tuple[int, bytes, bytes]:
        """Wait for its end. Returns the status, what still came, and what stderr has."""
        assert self.process.stderr is not None
        errors = self.process.stderr.read()
        status = self.process.wait(timeout=PATIENCE)
        return status, b"".join(self.rest()), errors

    # -- the person's side ----------------------------------------------------------------------

    @property
    def inbox(self) -> FolderInbox:
        """The inbox, as any desk opens it."""
        return FolderInbox(self.home)

    @property
    def session(self) -> str:
        """The name of its session, also of one that nobody is shown yet."""
        found = until(lambda: sorted(self.home.glob("sessions/*/session.json")), "a session")
        return found[0].parent.name

    def frames(self) -> list[Frame]:
        """Return what is recorded so far."""
        return list(self.inbox.frames(self.session))

    def recorded(self, direction: Direction) -> list[bytes]:
        """Return the lines of one way."""
        return [frame.raw for frame in self.frames() if frame.direction is direction]

    def held(self, count: int = 1) -> list[Item]:
        """Wait until so many messages are held, and return them."""
        inbox = self.inbox
        return until(
            lambda: found if len(found := list(inbox.items(self.session))) >= count else None,
            f"{count} held messages",
        )

    def send(self, key: Key, reply: Reply) -> None:
        """Decide about a held message as a desk does."""
        self.inbox.send(key, reply)

    def settled(self, key: Key) -> Item:
        """Wait until a held message is held no more."""
        inbox = self.inbox
        return until(
            lambda: item if (item := inbox.item(key)).state is not ExchangeState.PENDING else None,
            f"{key} settled",
        )
