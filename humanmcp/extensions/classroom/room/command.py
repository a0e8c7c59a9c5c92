"""`humanmcp room`: open a room, and print its address, its code, and the teacher's address.

One process for all seats: an event loop for requests of browsers and hosts, and one thread that
attends to all sessions. Nothing is fetched from anywhere.
"""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from humanmcp import __version__, launch
from humanmcp.common import qr_code, terminal
from humanmcp.common.own_process import need_files
from humanmcp.common.settings import add_flags, home_folder, make_home, make_private
from humanmcp.desk import context
from humanmcp.desk.guard import Address, is_near
from humanmcp.extensions.classroom.room import records
from humanmcp.extensions.classroom.room.app import HostSeats, make_app
from humanmcp.extensions.classroom.room.classroom import Classroom
from humanmcp.extensions.classroom.room.pages import around_of
from humanmcp.http.listening import QuietServer, listen, outside_of, own_addresses, own_names
from humanmcp.inbox.life_lock import LifeLock, is_held
from humanmcp.locales import say
from humanmcp.locales.stop import StopError, sentence_of, stopped

if TYPE_CHECKING:
    import argparse
    import socket
    from collections.abc import Callable, Sequence

    from humanmcp.common.parsing import Parser
    from humanmcp.common.settings import Settings

SECTION: Final = "room"
ROOMS: Final = "rooms"
LOCK: Final = "room.lock"
PORT: Final = 8770
"""The port that a new room tries first; later it keeps its port."""
MOST_CONNECTIONS: Final = 2_000
CANNOT: Final = 1
EVERYWHERE: Final = "0.0.0.0"  # noqa: S104 - only on request


def add_arguments(parser: Parser) -> None:
    flag = parser.flags(SECTION, "help ")
    flag("name", nargs="?", default="class", metavar="NAME")
    flag("--lesson", metavar="LESSON", default="")
    flag("--lan", action="store_true")
    flag("--open", action="store_true")
    flag("--url", metavar="URL", default="")
    flag("--tls", nargs=2, metavar=("CERT", "KEY"))
    add_flags(parser, "home", "inbox", "port", "lang")


def run(arguments: argparse.Namespace, settings: Settings) -> int:
    """Serve the room until it is stopped. Returns the exit status."""
    try:
        need_files()
        folder = _folder(settings, arguments.name)
        lock = _hold(folder)
        context.log_to(folder)
        classroom = Classroom(folder, settings.lang, around_of, settings.inbox)
        listening, address, urls = _addresses(arguments, settings, classroom.record.port)
        classroom.record.port = address.port
        lesson = str(arguments.lesson)
        classroom.plays(classroom.brought(lesson) if lesson else classroom.record.lesson)
        classroom.open(address, urls[0])
    except (OSError, ValueError, StopError) as error:
        terminal.to_stderr("humanmcp: ", sentence_of(error))
        return CANNOT
    try:
        _serve(
            classroom,
            listening,
            arguments.tls,
            lambda: _tell(classroom, urls, arguments),
        )
    finally:
        lock.release()
    terminal.to_stdout(say(SECTION, "closed", folder=folder))
    return 0


def _folder(settings: Settings, name: str) -> Path:
    """Return the folder of a room.

    Raises:
        StopError: this cannot be the name of a folder everywhere.
    """
    if not name.isidentifier() and not name.replace("-", "_").isalnum():
        raise stopped(SECTION, "no name", name=name)
    home = make_home(home_folder(settings.home))
    return make_private(make_private(home / ROOMS) / name)


def _hold(folder: Path) -> LifeLock:
    try:
        return LifeLock.take(folder / LOCK)
    except OSError as error:
        if is_held(folder / LOCK):
            raise stopped(SECTION, "open already", name=folder.name) from error
        raise


def _addresses(
    arguments: argparse.Namespace, settings: Settings, last: int
) -> tuple[socket.socket, Address, list[str]]:
    """Listen. Return the names under which the room answers, and the addresses to print."""
    wanted = settings.port if arguments.port else last or PORT
    listening = listen(EVERYWHERE if arguments.lan else "127.0.0.1", wanted)
    port = int(listening.getsockname()[1])
    scheme = "https" if arguments.tls else "http"
    own = [one for one in own_addresses() if ":" not in one] if arguments.lan else []
    names = ["127.0.0.1", "localhost", *own, *(own_names() if arguments.lan else ())]
    urls = [f"{scheme}://{one}:{port}" for one in (*own, "127.0.0.1")]
    outside = outside_of(arguments.url)
    return listening, Address(port, tuple(names), scheme, outside), [*outside, *urls]


def _tell(classroom: Classroom, urls: list[str], arguments: argparse.Namespace) -> None:
    """Print where the room is, and how to join; open the teacher's page."""
    terminal.to_stdout(say(SECTION, "hello", version=__version__))
    for url in urls:
        is_here = classroom.is_reachable and is_near(urlsplit(url).netloc)
        terminal.to_stdout("  ", say(SECTION, "here", url=url) if is_here else url)
    terminal.to_stdout(say(SECTION, "code", code=records.spaced(classroom.record.code)))
    if classroom.is_reachable:
        terminal.to_stdout(say(SECTION, "qr"))
        terminal.to_stdout(qr_code.for_terminal(classroom.joining_link))
    else:
        terminal.to_stdout(say(SECTION, "no network" if arguments.lan else "near"))
    links = [classroom.typed_link(one) for one in (classroom.record.teacher, classroom.record.wall)]
    for name, link in zip(("links", "wall link"), links, strict=True):
        terminal.to_stdout(say(SECTION, name))
        terminal.to_stdout("  ", link)
    terminal.to_stdout(say(SECTION, "typed"))
    if classroom.address.scheme == "http" and len(urls) > 1:
        terminal.to_stdout(say(SECTION, "plain"))
    if arguments.open:
        opening = threading.Thread(target=_open, args=(classroom, urls[-1], links[0]), daemon=True)
        opening.start()


def _open(classroom: Classroom, url: str, teacher: str) -> None:
    """Open the teacher's page, while the room serves it."""
    terminal.to_stdout(launch.open_in_browser(classroom.folder, url, teacher))


def _serve(
    classroom: Classroom,
    listening: socket.socket,
    tls: list[str] | None,
    ready: Callable[[], object],
) -> None:
    hosts = HostSeats(classroom)
    classroom.on_removed = hosts.remove
    classroom.run()
    try:
        _RoomServer(classroom, hosts, ready, tls or ()).run(sockets=[listening])
    finally:
        classroom.close()


class _RoomServer(QuietServer):
    """The HTTP server of a room, which first continues the sessions of hosts."""

    def __init__(
        self,
        classroom: Classroom,
        hosts: HostSeats,
        ready: Callable[[], object],
        tls: Sequence[str],
    ) -> None:
        def ending() -> None:
            classroom.end_streams()
            hosts.close()

        super().__init__(
            make_app(classroom, hosts),
            ready,
            most=MOST_CONNECTIONS,
            ending=ending,
            tls=tls,
            behind_proxy=bool(classroom.address.outside),
        )
        self._hosts = hosts

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Continue the sessions of hosts, then listen."""
        await self._hosts.go_on()
        await super().startup(sockets)
