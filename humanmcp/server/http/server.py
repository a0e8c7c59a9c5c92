"""`humanmcp serve --http`: one process, an address, and as many sessions as clients come.

event loop (main thread)   the sockets, the streams, which session a message belongs to
attendant (one thread)     every session: what comes in, what people and the book answer
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import os
import secrets
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from humanmcp import __version__
from humanmcp.http.listening import HttpServeError, QuietServer
from humanmcp.inbox.attendant import Attendant
from humanmcp.locales import say
from humanmcp.server.http.app import HttpApp
from humanmcp.server.http.sessions import MOST_SESSIONS, HttpSessions

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable
    from types import FrameType
    from typing import Self

    from humanmcp.inbox.contract import ServerInbox
    from humanmcp.protocol.http.inbound import HttpAddress
    from humanmcp.server.http.sessions import MakeSession

MOST_CONNECTIONS: Final = 4_000

BESIDE: Final = 64
"""Open files that are needed besides those of sessions and connections."""

PER_SESSION: Final = 2
"""Open files of a session in a folder: its lock and its bell."""


class Limits(NamedTuple):
    """How many sessions and connections there may be at once."""

    sessions: int = MOST_SESSIONS
    connections: int = MOST_CONNECTIONS

    @classmethod
    def of(cls, files: int) -> Self:
        """Return what so many open files are enough for: two connections for each session."""
        files = max(0, files - BESIDE)
        sessions = max(1, min(MOST_SESSIONS, files // (PER_SESSION + 2)))
        return cls(sessions, max(2, min(MOST_CONNECTIONS, files - PER_SESSION * sessions)))


def read_key(name: str) -> tuple[str, Path | None]:
    """Return the key that stands in a file, and the file where it was made now.

    Raises:
        HttpServeError: it is empty.
        OSError: it can neither be read nor made.
    """
    path = Path(name).expanduser()
    with contextlib.suppress(FileExistsError):
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            key = secrets.token_urlsafe(24)
            file.write(f"{key}\n")
            return key, path
    key = path.read_text(encoding="utf-8").strip()
    if not key or not key.isascii() or " " in key:
        raise HttpServeError("no key", file=path)
    return key, None


LARGEST: Final = Limits()


class _Open:
    """Keeps the attendant at work while no session is there."""

    def begin(self, wake: Callable[[], object]) -> None:
        """Do nothing: nothing wakes it."""

    def step(self, now: float) -> float | None:  # noqa: ARG002 - an `Attended`
        """Wait for ever."""
        return math.inf

    def leave(self) -> None:
        """Do nothing."""


class _SessionsServer(QuietServer):
    """The server of the sessions, whose streams end when it ends."""

    def __init__(
        self,
        app: HttpApp,
        sessions: HttpSessions,
        ready: Callable[[], object],
        most: int,
        *,
        behind_proxy: bool,
    ) -> None:
        super().__init__(app, ready, most=most, lifespan="off", behind_proxy=behind_proxy)
        self._sessions = sessions

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End the streams first: uvicorn waits for whatever is open."""
        self._sessions.close()
        await super().shutdown(sockets)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop in order; uvicorn would send itself the signal again, and so end without a word."""
        del sig, frame
        self.should_exit = True


def serve(  # noqa: PLR0913 - the parts of a server, each made elsewhere
    listening: socket.socket,
    address: HttpAddress,
    make: MakeSession,
    inbox: ServerInbox,
    ready: Callable[[], object],
    *,
    limits: Limits = LARGEST,
) -> None:
    """Serve until told to stop. `make` makes the session of a connection.

    It goes on with what the process before this one left of its sessions at the port in `inbox`.
    """
    attendant = Attendant()
    attendant.attend(_Open())
    thread = threading.Thread(target=attendant.run, name="attendant")
    thread.start()

    async def run() -> None:
        sessions = HttpSessions(make, attendant, inbox, address.port, most=limits.sessions)
        await sessions.go_on(inbox.orphaned_sessions(address.port))
        silence = asyncio.ensure_future(sessions.end_the_silent())
        try:
            app = HttpApp(sessions, address)
            await _SessionsServer(
                app, sessions, ready, limits.connections, behind_proxy=bool(address.outside)
            ).serve([listening])
        finally:
            silence.cancel()

    try:
        with contextlib.suppress(KeyboardInterrupt):
            asyncio.run(run())
    finally:
        attendant.stop()
        thread.join()


def told(address: HttpAddress, *, made: Path | None, limits: Limits) -> str:
    """Say where the server is, who can reach it, and how many: `made` is the file of a new key."""
    lines = [say("http", "hello", version=__version__, url=address.url)]
    if made is not None:
        lines.append(say("http", "new key", file=made))
    if address.is_open:
        lines.append(say("http", "open with key" if address.key else "open"))
    if limits.sessions < MOST_SESSIONS:
        needed = BESIDE + (PER_SESSION + 2) * MOST_SESSIONS
        lines.append(say("http", "few files", most=limits.sessions, needed=needed))
    return "\n".join(lines) + "\n"
