"""`humanmcp desk`: serve the page, or find the desk that already serves it.

The page's address with the one-time key is printed in the terminal only: it is never in a log, an
argument list or the environment.
"""

from __future__ import annotations

import ipaddress
import os
import threading
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from humanmcp import __version__, extensions, launch
from humanmcp.common import qr_code, terminal
from humanmcp.common.own_process import need_files
from humanmcp.common.settings import add_flags, book_path, brought_settings, home_folder, make_home
from humanmcp.desk import context
from humanmcp.desk.app import make_app
from humanmcp.desk.board import Board, Following
from humanmcp.desk.desk import Desk
from humanmcp.desk.guard import Address
from humanmcp.desk.inbox.saved_answers import Shelf
from humanmcp.desk.live import Live
from humanmcp.desk.login import FILE_NAME, Door
from humanmcp.desk.moments import Listener
from humanmcp.desk.settings import snippets
from humanmcp.http.listening import (
    EVERYWHERE,
    QuietServer,
    listen,
    outside_of,
    own_addresses,
    own_names,
)
from humanmcp.inbox import open_inbox
from humanmcp.inbox.life_lock import LifeLock, is_held
from humanmcp.launch import DeskFacts
from humanmcp.locales import say
from humanmcp.locales.stop import REFUSED, StopError, sentence_of, stopped

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from humanmcp.common.parsing import Parser
    from humanmcp.common.settings import Settings

SETTINGS: Final = brought_settings()
CANNOT: Final = 1
MOST_CONNECTIONS: Final = 1200
"""The maximum number of connections, including idle ones; further ones get 503."""


class NotLoopbackError(Exception):
    """Other computers could reach the desk at this address."""


def add_arguments(parser: Parser) -> None:
    add_flags(parser, "home", "inbox", "host", "port", "book", "lang")
    flag = parser.flags("desk", "help.")
    flag("--open", action="store_true")
    flag("--url", metavar="URL")
    flag("--lan", action="store_true")
    flag("--stop", action="store_true")


def run(arguments: argparse.Namespace, settings: Settings) -> int:
    """Serve the page until told to stop. Returns the exit status."""
    try:
        need_files()
        host = loopback(settings.host)
        home = make_home(home_folder(settings.home))
        if arguments.stop:
            return _stop(home)
        lock = _hold(home)
        if lock is None and (arguments.lan or arguments.url):
            lock, settings = _take_over(home, settings)
        if lock is None:
            try:
                return _point_to(home, arguments)
            except OSError:
                lock = _hold(home, ENDS_WITHIN)
                if lock is None:
                    raise
        launch.forget_facts(home)
        server_settings = snippets.server_settings(home, settings, vars(arguments))
        return _serve(home, host, settings, server_settings, arguments)
    except NotLoopbackError:
        terminal.to_stderr(say("desk", "not loopback", host=settings.host))
    except (OSError, StopError) as error:
        terminal.to_stderr("humanmcp: ", sentence_of(error))
    return CANNOT


def loopback(host: str) -> str:
    """Return the address to listen on.

    Raises:
        NotLoopbackError: other computers could reach it, as at every spelling of "everywhere".
    """
    if host == "localhost":
        return "127.0.0.1"
    try:
        found = ipaddress.ip_address(host.strip("[]"))
    except ValueError as error:
        raise NotLoopbackError(host) from error
    if str(found) not in ("127.0.0.1", "::1"):
        raise NotLoopbackError(host)
    return str(found)


ENDS_WITHIN: Final = 1.0
"""Seconds within which a desk that was killed lets go: its connections are cut first."""


def _hold(home: Path, within: float = 0.0) -> LifeLock | None:
    """Become the desk of this inbox. Returns None if another one is it for so many seconds."""
    try:
        return LifeLock.take(home / launch.LOCK_NAME, within)
    except BlockingIOError:
        return None
    except PermissionError:  # Windows reports it this way
        if is_held(home / launch.LOCK_NAME):
            return None
        raise


def _take_over(home: Path, settings: Settings) -> tuple[LifeLock | None, Settings]:
    """End a desk that only this computer reaches, to continue at its port.

    Its logins and drafts are on disk. Another desk keeps running: the lock is then None.
    """
    running = launch.wait_for_facts(home)
    if running is None or running.elsewhere:
        return None, settings
    terminal.to_stdout(say("desk", "restart"))
    launch.end(home)
    return _hold(home), settings._replace(port=urlsplit(running.address).port or settings.port)


def _stop(home: Path) -> int:
    """Stop the running desk of this inbox."""
    is_there = launch.end(home)
    terminal.to_stdout(say("desk", "stopped" if is_there else "not there"))
    return 0


def _point_to(home: Path, arguments: argparse.Namespace) -> int:
    """Print the address of the running desk.

    A desk that other devices cannot reach cannot change that while it runs.
    """
    facts = launch.wait_for_facts(home)
    if facts is None:
        raise stopped("no_desk", "no start", REFUSED, log=home / launch.LOG_NAME)
    wanted = outside_of(arguments.url)
    reached = facts.elsewhere in wanted if wanted else facts.elsewhere
    if (arguments.lan or wanted) and not reached:
        raise stopped("no_desk", "elsewhere", REFUSED, address=facts.elsewhere or facts.address)
    address, code = launch.ways_in(facts)
    if code:
        terminal.to_stdout(say("desk", "code.now", address=facts.address, code=code))
    terminal.to_stdout(say("desk", "there already", version=facts.version))
    terminal.to_stdout(address)
    if arguments.lan or wanted:
        _show_link(launch.ways_in(facts, device=say("desk", "device.first"))[0])
    if arguments.open:
        terminal.to_stdout(launch.open_in_browser(home, facts.address, launch.login_address(facts)))
    return 0


def _show_link(link: str) -> None:
    """Print the link for a first device."""
    terminal.to_stdout(say("desk", "device.scan"))
    terminal.to_stdout(qr_code.for_terminal(link))
    terminal.to_stdout("  ", link)


def _serve(
    home: Path,
    host: str,
    settings: Settings,
    server_settings: Mapping[str, Any],
    arguments: argparse.Namespace,
) -> int:
    outside, open_browser = outside_of(arguments.url), arguments.open
    context.log_to(home)
    listening = listen(EVERYWHERE if arguments.lan else host, settings.port)
    port = int(listening.getsockname()[1])
    near = (*own_addresses(), *own_names()) if arguments.lan else ()
    address = Address(port, (*Address(port).names, *near), outside=outside)
    desk = make_desk(home, address, settings, server_settings)
    shown = f"[{host}]" if ":" in host else host
    facts = DeskFacts(
        f"http://{shown}:{port}/", desk.door.token, os.getpid(), __version__, address.elsewhere
    )

    def login() -> str:
        return f"{facts.address}login#k={desk.door.new_key()}"

    def ready() -> None:
        launch.write_facts(home, facts)
        terminal.to_stdout(say("desk", "hello", version=__version__))
        terminal.to_stdout(login())
        terminal.to_stdout(say("desk", "code", address=facts.address, code=desk.door.code))
        desk.door.tell = lambda code: terminal.to_stdout(say("desk", "code.new", code=code))
        if desk.address.elsewhere:
            _show_link(desk.device_link(say("desk", "device.first")))
        if open_browser:
            threading.Thread(target=open_page, daemon=True).start()  # the page is served meanwhile

    def open_page() -> None:
        terminal.to_stdout(launch.open_in_browser(home, facts.address, login()))

    with Following(desk.board), desk.heard():
        app, behind_proxy = make_app(desk), bool(outside)
        ending = desk.live.end
        QuietServer(
            app, ready, most=MOST_CONNECTIONS, ending=ending, behind_proxy=behind_proxy
        ).run(sockets=[listening])
    return 0


def _listeners(home: Path) -> Iterator[Listener]:
    """Make the listeners of a desk in its folder. Their faults stay in them."""
    for name, make in extensions.parts("desks"):
        made = extensions.call(name, "desks", make, home, passes=(StopError, OSError))
        if made is not None:
            yield extensions.guard(name, made, Listener, {"try_now": (OSError,)})


def make_desk(
    home: Path,
    address: Address,
    settings: Settings,
    server_settings: Mapping[str, Any] | None = None,
) -> Desk:
    """Create a desk for an inbox."""
    inbox = open_inbox(home, settings.inbox)
    inbox.sweep()
    board = Board(inbox)
    book = book_path(settings.book, home)
    return Desk(
        home=home,
        board=board,
        live=Live(board),
        door=Door(home / FILE_NAME),
        address=address,
        shelf=Shelf(home),
        book=book,
        language=settings.lang,
        server_settings=server_settings or {},
        listeners=list(_listeners(home)),
    )
