"""`humanmcp serve`: what a host starts as its MCP server.

Puts the parts together and takes them apart again; the work is in `session.py`.
"""

from __future__ import annotations

import logging
import os
import sys
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from humanmcp import __version__, extensions
from humanmcp.common.book_file import BookFile
from humanmcp.common.line_pipe import wait_until_ready
from humanmcp.common.own_process import StopSignals, log_to, need_files
from humanmcp.common.settings import (
    add_brought_flags,
    add_flags,
    book_path,
    brought_settings,
    by_hand,
    home_folder,
    make_home,
)
from humanmcp.inbox import open_inbox
from humanmcp.inbox.attendant import SLOW, Attendant, on_a_beat
from humanmcp.inbox.contract import SessionFacts
from humanmcp.locales import say, spoken_language
from humanmcp.locales.stop import StopError, called_on, sentence_of, stopped
from humanmcp.protocol.answer_book.decide import HandshakePolicy, Mode
from humanmcp.protocol.session import McpSession
from humanmcp.protocol.tables import versions
from humanmcp.server.connection import PipeConnection
from humanmcp.server.journal import Clock, Journal
from humanmcp.server.serve_part import ServePart
from humanmcp.server.session import ServedSession
from humanmcp.server.waiting import ServeOptions

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator, Sequence

    from humanmcp.common.parsing import Parser
    from humanmcp.common.settings import Settings
    from humanmcp.inbox.contract import ServerInbox
    from humanmcp.protocol.http.inbound import HttpAddress
    from humanmcp.server.connection import Connection
    from humanmcp.server.resuming import Resumed

logger = logging.getLogger(__name__)

SETTINGS: Final = brought_settings()

OTHERWISE_ERROR: Final = "error"
OTHERWISE: Final = ("hand", OTHERWISE_ERROR)
"""What happens to requests without an answer."""

HANDSHAKES: Final = (HandshakePolicy.BOOK.value, HandshakePolicy.HAND.value)

NEW: Final = SessionFacts("", "")
"""What is known of a session that has not begun."""

CANNOT_START: Final = 1


class Stderr:
    """Writes to the host's log: at most 2 KB in a session, without waiting or failing.

    Some hosts open a pipe for stderr and never read it; servers that talked on were found hanging
    after 4,000 bytes on Windows, and after 16 to 64 KB elsewhere.
    """

    def __init__(self, descriptor: int = 2, budget: int = 2048) -> None:
        """Say at most `budget` bytes to `descriptor`."""
        self._descriptor = descriptor
        self._budget = budget

    def write(self, text: str) -> bool:
        """Write a line, cut to the budget. Return True if any of it was written.

        What could act on a terminal is shown as its code point. Secrets are removed: people send
        the logs of their hosts to others.
        """
        from humanmcp.protocol.validation.redaction import without_secrets  # noqa: PLC0415 - the first answer does not wait for it

        safe = "".join(
            c if c.isprintable() or c == "\n" else f"⟦U+{ord(c):04X}⟧"
            for c in without_secrets(text.rstrip("\n"))
        )
        line = safe.encode()[: max(0, self._budget - 1)].decode(errors="ignore").encode() + b"\n"
        if line == b"\n":
            return False
        try:
            # Not O_NONBLOCK: it would change the terminal or pipe for everybody who shares it. A
            # pipe that is ready takes PIPE_BUF bytes (4,096, at least 512) without waiting.
            if not wait_until_ready(self._descriptor, for_reading=False, seconds=0):
                return False
            written = os.write(self._descriptor, line)
        except (OSError, ValueError):  # full, closed, or -1
            return False
        self._budget -= written
        return True


class ParentWatch:
    """Notices the end of the parent process. An attendant polls it.

    A host that is killed closes its pipes, unless another of its children holds them as well.
    Not PR_SET_PDEATHSIG: it fires when the *thread* that started us ends, and hosts start
    servers from worker threads. Windows never gives a child a new parent; there the pipe is
    the only sign.
    """

    def __init__(self, gone: Callable[[], object]) -> None:
        """Call `gone` once."""
        self._gone = gone
        self._parent = os.getppid()

    def begin_steps(self, wake: Callable[[], object]) -> None:
        """Do nothing: nothing wakes it."""

    def step(self, now: float) -> float | None:
        """Check the parent. Return when to check again; None once it is gone."""
        if os.getppid() == self._parent:
            return on_a_beat(now + SLOW)
        self._gone()
        return None

    def leave(self) -> None:
        """Do nothing."""


def add_arguments(parser: Parser) -> None:
    add_flags_of_server(parser)
    for part in _parts_brought():
        part.add_arguments(parser)


@cache
def _parts_brought() -> Sequence[ServePart]:
    asked = {"read": (StopError, OSError)}
    found = extensions.parts("serving")
    return [extensions.guard(name, part, ServePart, asked) for name, part in found]


def add_flags_of_server(parser: Parser) -> None:
    """Add the flags of the core and of its capabilities."""
    flag = parser.flags("serve")
    add_flags(parser, "home", "inbox", "book", "title", "versions")
    add_flags(parser, "client_limit", "notify", "lang")
    add_brought_flags(parser, SETTINGS)
    manner = parser.add_mutually_exclusive_group()
    flag("--by-hand", to=manner, action="store_true")
    flag("--auto", to=manner, action="store_true")
    flag("--handshake", to=manner, choices=HANDSHAKES, metavar="WHO")
    flag("--approvals", action="store_true")
    flag("--no-progress", action="store_true")
    flag("--open", action="store_true")
    more = (word for part in _parts_brought() for word in part.otherwise)
    flag("--otherwise", choices=(*OTHERWISE, *more), metavar="WHO")
    flag("--http", nargs="?", const="", metavar="ADDRESS")
    flag("--lan", action="store_true")
    flag("--url", metavar="URL", default="")
    flag("--allow-origin", metavar="ORIGIN", action="append", default=[])
    flag("--key", metavar="FILE")


def run(arguments: argparse.Namespace, settings: Settings) -> int:
    """Be the server until the client is gone. Returns the exit status."""
    files = need_files()
    if arguments.http is not None:
        return _run_http(arguments, settings, files)
    typed = os.isatty(0)
    stderr = Stderr()
    endpoints = extensions.loaded("endpoints")
    for one in (each for brought in endpoints for each in getattr(brought, "SETTINGS", ())):
        if getattr(arguments, one.name, None):  # typed: what a file says is for other servers, too
            stderr.write(f"humanmcp: {say('serve', 'needs http', flag=f'--{one.name}')}\n")
            return CANNOT_START
    connection = PipeConnection.claim()
    attendant = Attendant()
    attendant.attend(ParentWatch(attendant.stop), background=True)
    with StopSignals(lambda _number: attendant.stop()):
        try:
            parts = _parts(arguments, settings, stderr)
            # The client's first message comes first: several give up within a second or two.
            session = parts.session(
                connection,
                open_inbox(parts.home, settings.inbox),
                when_quiet=partial(_announce, stderr, typed=typed),
            )
        except (StopError, OSError) as error:
            stderr.write(f"humanmcp: {sentence_of(error)}\n")
            return CANNOT_START
        if arguments.open:
            _open_desk(parts.home)
        attendant.attend(session)
        attendant.run()
        unread, left = session.session.unreadable, session.left
        if left or unread:
            answered = session.session.exchanges.last - left
            counts = {"read": session.read, "unread": unread, "answered": answered, "count": left}
            stderr.write(say("serve", "left", **counts))
        return _ended(parts.options, session.exit_status, stderr)


def _run_http(arguments: argparse.Namespace, settings: Settings, files: int) -> int:
    """Be the server of all clients that come, until it is stopped. Returns the exit status.

    `files` is how many open files the system allows.
    """
    from humanmcp.http.listening import bind  # noqa: PLC0415 - a pipe does not pay for it
    from humanmcp.server.http import sessions  # noqa: PLC0415 - as above

    stderr, limits = Stderr(), sessions.HttpLimits.of(files)
    try:
        parts = _parts(arguments, settings, stderr)
        inbox = open_inbox(parts.home, settings.inbox)
        key, made = sessions.read_key(arguments.key) if arguments.key else ("", None)
        listening, address = bind(
            arguments.http, key, lan=arguments.lan, url=arguments.url, pages=arguments.allow_origin
        )
        asked = [*_asked(parts, inbox, address)]
    except (StopError, OSError) as error:
        stderr.write(f"humanmcp: {sentence_of(error)}\n")
        return CANNOT_START

    def ready() -> None:
        stderr.write(sessions.told(address, made=made, limits=limits))
        if arguments.open:
            _open_desk(parts.home)

    sessions.serve(
        listening,
        address,
        lambda connection, facts: parts.session(connection, inbox, facts=facts),
        inbox,
        ready,
        limits=limits,
        endpoints=[one for one in asked if one is not None],
    )
    return _ended(parts.options, 0, stderr)


def _asked(parts: ServerParts, inbox: ServerInbox, address: HttpAddress) -> Iterator[Any]:
    """Yield what each extension puts at the address, None for nothing.

    What was asked for is not left out: it may be what keeps strangers away.
    """
    for name, one in extensions.parts("endpoints"):
        settings = getattr(one, "SETTINGS", ())
        is_asked = any(parts.options.added.get(each.name) for each in settings)
        ask = called_on if is_asked else extensions.call
        yield ask(name, "endpoints", one.of, parts, inbox, address)


def _ended(options: ServeOptions, status: int, stderr: Stderr) -> int:
    """Say what the parts of extensions have to say at the end. Return the exit status."""
    for part in _parts_brought():
        told, changed = part.ended(options.added)
        for text in told:
            stderr.write(text)
        status = status or changed
    return status


def _notifier(command: str) -> Callable[[str, int, str], object] | None:
    if not command.strip():
        return None
    from humanmcp.server.notifier import CommandNotifier  # noqa: PLC0415 - only who wants it pays for it

    return CommandNotifier(command)


def _handshake(wanted: str | None, settings: Settings) -> HandshakePolicy:
    """Return who answers the handshake: as asked; else a person, if a setting says so."""
    if wanted:
        return HandshakePolicy(wanted)
    chosen = [name for name, value in settings.added.items() if value]
    return HandshakePolicy.HAND if by_hand(chosen) else HandshakePolicy.BY_CLIENT


def _versions(wanted: str) -> Sequence[str]:
    """Return the protocol versions to serve; none where the answer book says which.

    Raises:
        StopError: one of them is no version.
    """
    named = [word.strip() for word in wanted.split(",") if word.strip()]
    unknown = [one for one in named if one not in versions.ALL]
    if unknown:
        known = ", ".join(versions.ALL)
        raise stopped("serve", "no version", value=wanted, unknown=unknown[0], known=known)
    return [one for one in versions.ALL if one in named]


class ServerParts(NamedTuple):
    """What the sessions of a server have in common."""

    home: Path
    book_file: BookFile
    options: ServeOptions
    title: str = ""
    folder: str = ""
    """The folder in which a client started this process."""

    def session(
        self,
        connection: Connection,
        inbox: ServerInbox,
        when_quiet: Callable[[str], object] = lambda _where: None,
        facts: SessionFacts = NEW,
    ) -> ServedSession:
        """Begin a session, or go on with the one of these `facts`.

        Each looks at the book for itself.
        """
        clock = Clock()
        facts, resumed = self._found(inbox, facts, clock)
        journal = Journal(connection, inbox, facts, clock, self.home)
        if resumed:
            journal.go_on(resumed.seq)
        return ServedSession(
            session=resumed.session if resumed else McpSession(),
            journal=journal,
            book_file=self.book_file.another(),
            options=self.options,
            when_quiet=when_quiet,
            resumed=resumed,
        )

    def _found(
        self, inbox: ServerInbox, facts: SessionFacts, clock: Clock
    ) -> tuple[SessionFacts, Resumed | None]:
        """Have a session in the inbox: a new one, or what another process left of one."""
        if facts.name:
            from humanmcp.server.resuming import resumed  # noqa: PLC0415 - over HTTP alone

            facts, waiting = inbox.resume(facts.name)
            return facts, resumed(inbox, facts.name, waiting)
        where = facts.folder or ("" if facts.http.port else self.folder)
        facts = facts._replace(started=clock.stamp(), pid=os.getpid(), title=self.title, probe=True)
        facts = facts._replace(folder=where)
        return facts._replace(name=inbox.begin_session(facts)), None


def _parts(arguments: argparse.Namespace, settings: Settings, stderr: Stderr) -> ServerParts:
    """Settle what was asked for.

    Raises:
        StopError: it does not go together.
        OSError: a file cannot be read.
    """
    home = make_home(home_folder(settings.home))
    log_to(home)
    book = book_path(settings.book, home)
    book_file = BookFile(
        book,
        _versions(settings.versions),
        must_exist=bool(settings.book),
        approvals=arguments.approvals,
    )
    read: dict[str, Any] = {}
    for part in _parts_brought():
        read |= part.read(arguments, settings, home)
    # With --auto nobody is there: a call would wait for ever.
    is_alone = arguments.auto and settings.book and not arguments.approvals
    refuses = arguments.otherwise == OTHERWISE_ERROR or (is_alone and not arguments.otherwise)
    mode = Mode.BY_HAND if arguments.by_hand else Mode.AUTO if arguments.auto else Mode.NORMAL
    options = ServeOptions(
        mode,
        settings.client_limit,
        _handshake(arguments.handshake, settings),
        False if arguments.no_progress else None,
        bool(refuses) and not read,
        _notifier(settings.notify),
        tell_stderr=stderr.write,
        added={**settings.added, **read},
    )
    return ServerParts(home, book_file, options, settings.title, str(Path.cwd()))


def _announce(stderr: Stderr, where: str, *, typed: bool) -> None:
    """Say where to answer: hosts show the first lines of stderr in their logs.

    `where` has the lines of front ends. `typed` says that the messages come from a terminal, where
    a person may wonder what to do.
    """
    stderr.write(say("serve", "hello", version=__version__, where=where) + "\n")
    if typed:
        stderr.write(say("serve", "terminal") + "\n")


def _open_desk(home: Path) -> None:
    """Let the page be found or started, and opened, while the server already works.

    In a process of its own: the desk is a neighbour, its start may take seconds, and some hosts
    wait 1.5 s for the first answer. What it has to say goes to stderr.
    """
    import subprocess  # noqa: PLC0415 - seldom wanted, and a part of every start otherwise

    subprocess.Popen(  # noqa: S603 - our own interpreter and our own words
        [sys.executable, "-m", "humanmcp.launch", str(home), spoken_language()],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )
