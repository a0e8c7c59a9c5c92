"""`humanmcp tap`: stands where a server's command stood in a host's configuration.

Puts the parts together; the work is in `tapping.py`. What cannot be recorded or held passes all
the same: the host and its server must not suffer from a listener.
"""

from __future__ import annotations

import argparse
import logging
import os
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from humanmcp.common.book_file import BookFile
from humanmcp.common.child import start_error
from humanmcp.common.own_process import StopSignals, claim, log_to, log_what_ends_a_thread
from humanmcp.common.settings import (
    UnsafeFolderError,
    add_flags,
    book_path,
    home_folder,
    make_home,
)
from humanmcp.common.terminal import to_stderr
from humanmcp.common.timestamps import now
from humanmcp.extensions.tap.hold import Held, HeldQueue, HoldPolicy, NotTaken
from humanmcp.extensions.tap.pump import Sink
from humanmcp.extensions.tap.real_server import (
    NOT_EXECUTABLE,
    NOT_FOUND,
    RemoteServer,
    ServerProcess,
)
from humanmcp.extensions.tap.recorder import Listening, TapRecorder, TextLog
from humanmcp.extensions.tap.tapping import (
    KEYED,
    SESSION_ID,
    VISITOR,
    Tap,
    TapEvents,
    TappedSession,
)
from humanmcp.http.server_address import ServerAddress, add_header_flags, is_address, put_headers
from humanmcp.inbox import open_inbox
from humanmcp.inbox.attendant import Attendant
from humanmcp.inbox.contract import HttpFacts, InboxError, Role, SessionFacts
from humanmcp.inbox.inbox_session import InboxSession
from humanmcp.locales import say, titled
from humanmcp.locales.stop import StopError, sentence_of, trouble
from humanmcp.protocol.conversation.transcript import HELD, Direction
from humanmcp.protocol.validation.held import PatternError, parse_patterns

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from humanmcp.common.parsing import Parser
    from humanmcp.common.settings import Settings
    from humanmcp.protocol.validation.held import Pattern
    from humanmcp.protocol.validation.whole_conversation import NeverAnswered

logger = logging.getLogger(__name__)

USAGE_ERROR: Final = 2
PROGRAM: Final = "humanmcp"

MOST_NAMED: Final = 20
"""Requests without an answer that are named on stderr; the record names them all."""

SWITCH_EVERY: Final = 0.0001
"""Seconds after which a thread that forwards gets its turn from any other."""


def add_arguments(parser: Parser) -> None:
    flag = parser.flags("tap")
    add_flags(parser, "home", "title", "book", "lang")
    flag("--http", nargs="?", const="", metavar="ADDRESS:PORT")
    flag("--allow-origin", metavar="ORIGIN", action="append", default=[])
    flag("--log-dir", metavar="FOLDER")
    flag("--quiet", action="store_true")
    flag("--hold", action="append", default=[], metavar="PATTERN")
    flag("--release-after", code="release", type=float, default=0.0, metavar="SECONDS")
    add_header_flags(parser)
    flag("server", nargs=argparse.REMAINDER, metavar="COMMAND")


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What the command line asks for, read and found to make sense."""

    command: tuple[str, ...]
    address: ServerAddress | None
    patterns: tuple[Pattern, ...]
    book_file: BookFile | None
    release_after: float
    http: HttpFacts
    secret: str
    """What the front of `--http` gave this tap of one session (`keyed_server.py`), or ""."""

    @property
    def name(self) -> str:
        """The server in a word, without what may be a key."""
        return str(self.address) if self.address else Path(self.command[0]).name


def run(arguments: argparse.Namespace, settings: Settings) -> int:
    """Stand between a client and a server until the server has ended. Returns its status."""
    try:
        wanted = _wanted(arguments, settings)
    except (PatternError, StopError) as error:
        to_stderr(sentence_of(error))
        return USAGE_ERROR
    if bool(wanted.command) is bool(wanted.address):
        to_stderr(say("tap", "no-command"))
        return USAGE_ERROR
    if arguments.http is not None:
        return _front(arguments, settings, wanted)
    source, sink = claim()
    if wanted.address is not None:
        return _tap(arguments, settings, wanted, partial(_remote, wanted), (source, sink))
    try:
        child = ServerProcess(wanted.command)
    except OSError as error:
        why = trouble(start_error(wanted.command, error))
        to_stderr(say("tap", "cannot-start", command=wanted.command[0], why=why))
        return NOT_FOUND if isinstance(error, FileNotFoundError) else NOT_EXECUTABLE
    return _tap(arguments, settings, wanted, lambda _record: child, (source, sink))


def _remote(wanted: _Wanted, record: Callable[[bytes, str], object]) -> RemoteServer:
    assert wanted.address is not None  # noqa: S101 - only then this is called
    if not wanted.secret:
        return RemoteServer(wanted.address, record)
    from humanmcp.extensions.tap.keyed_server import KeyedServer  # noqa: PLC0415 - for `--http` alone

    return KeyedServer(wanted.address, record, wanted.secret)


def _front(arguments: argparse.Namespace, settings: Settings, wanted: _Wanted) -> int:
    """Give the server an address, with a tap for each client that comes."""
    from humanmcp.extensions.tap.http_front import TapCommand, TapFront, serve  # noqa: PLC0415 - as above
    from humanmcp.http.listening import HttpServeError, bind  # noqa: PLC0415 - most taps have pipes

    try:
        listening, address = bind(arguments.http, "", lan=False, pages=arguments.allow_origin)
    except (HttpServeError, OSError) as error:
        to_stderr(sentence_of(error))
        return USAGE_ERROR
    words = (sys.executable, "-m", PROGRAM, "tap", *_flags_of_a_session(arguments))
    server = (wanted.address.url,) if wanted.address else wanted.command
    command = TapCommand(words, server, is_keyed=wanted.address is not None)
    hello = say("tap", "at", url=address.url, name=wanted.name)
    front = partial(TapFront, command, home_folder(settings.home))
    serve(listening, address, front, lambda: to_stderr(hello))
    return 0


def _flags_of_a_session(arguments: argparse.Namespace) -> list[str]:
    """Write the flags again for the tap of one session."""
    words = ["--quiet"] if arguments.quiet else []
    for name in ("home", "title", "book", "lang", "log_dir", "key_file", "release_after"):
        value = getattr(arguments, name)
        words += [f"--{name.replace('_', '-')}", str(value)] if value else []
    for name in ("hold", "header"):
        words += [word for value in getattr(arguments, name) for word in (f"--{name}", value)]
    return words


def _wanted(arguments: argparse.Namespace, settings: Settings) -> _Wanted:
    words: Sequence[str] = arguments.server
    command = tuple(words[1:] if words[:1] == ["--"] else words)
    book_file = None
    if settings.book:
        book_file = BookFile(book_path(settings.book, Path()), must_exist=True)
    address = None
    if command and is_address(command[0]):
        address, command = ServerAddress.of(command[0]), command[1:]
        put_headers(address.changes, arguments)
    return _Wanted(
        command,
        address,
        parse_patterns(arguments.hold),
        book_file,
        max(0.0, arguments.release_after),
        HttpFacts(os.environ.pop(SESSION_ID, ""), visitor=os.environ.pop(VISITOR, "")),
        os.environ.pop(KEYED, ""),
    )


def _tap(
    arguments: argparse.Namespace,
    settings: Settings,
    wanted: _Wanted,
    start: Callable[[Callable[[bytes, str], object]], ServerProcess | RemoteServer],
    client: tuple[int, int],
) -> int:
    sys.setswitchinterval(SWITCH_EVERY)
    recorder = TapRecorder()
    events = TapEvents()

    def record(held: Held | NotTaken) -> None:
        raw = held.raw if isinstance(held, Held) else held.cut.line
        recorder.put(held.direction, raw, number=held.number, note=HELD)

    source, sink = client
    child = start(lambda raw, note: recorder.put(Direction.NOTE, raw, note=note))
    sinks = {
        Direction.IN: Sink(child.stdin),
        Direction.OUT: Sink(sink),
        Direction.ERR: Sink(os.dup(2)),
    }
    session, hold_policy = None, HoldPolicy(record=record, keep=events.put)
    try:
        inbox_session = _begin(settings, wanted)
    except (OSError, InboxError, UnsafeFolderError) as error:
        holds_any = bool(wanted.patterns or wanted.book_file)
        to_stderr(say("tap", "no-hold" if holds_any else "no-inbox", why=sentence_of(error)))
        if holds_any:
            child.kill()
            return USAGE_ERROR
    else:
        listening = Listening(inbox_session, recorder, wanted.command)
        hold_policy = HoldPolicy(record=record, keep=events.put, passed=listening.so_far)
        holds = HeldQueue(
            inbox_session=inbox_session,
            recorder=recorder,
            hold_policy=hold_policy,
            sinks=sinks,
            release_after=wanted.release_after,
        )
        session = TappedSession(inbox_session, holds, listening, wanted.book_file)
        hold_policy.hold(wanted.patterns)
        if wanted.book_file is not None:
            hold_policy.follow(wanted.book_file.book)
    _add_text_log(recorder, arguments)
    if not arguments.quiet:
        to_stderr(say("tap", "hello", session=session.inbox_session.name if session else "-"))
    if isinstance(child, RemoteServer):
        source = child.lines_of_client(source, sinks[Direction.OUT].insert)
    tap = Tap(
        child=child,
        source=source,
        sinks=sinks,
        hold_policy=hold_policy,
        recorder=recorder,
        events=events,
        session=session,
    )
    attendant = Attendant()
    with StopSignals(tap.pass_on):  # before the server is heard: it may be told to end at once
        attendant.attend(tap)
        attendant.run()
    status = child.status or 0
    logger.info("the server has ended with status %s", status)
    unanswered = session.listening.unanswered if session and not arguments.quiet else ()
    _say_what_is_left(unanswered, recorder)
    return status


def _say_what_is_left(unanswered: Sequence[NeverAnswered], recorder: TapRecorder) -> None:
    """Name the requests without an answer, and what the record misses."""
    if unanswered:
        to_stderr(say("tap", "unanswered", count=len(unanswered)))
        for one in unanswered[:MOST_NAMED]:
            to_stderr("  ", f"{one.seq}: {titled(one.diagnostic)}")
    if recorder.missing:
        logger.error("%s lines are missing: %s", recorder.missing, recorder.trouble or "-")
        why = sentence_of(recorder.trouble) if recorder.trouble else "-"
        to_stderr(say("tap", "lost", count=recorder.missing, why=why))


def _begin(settings: Settings, wanted: _Wanted) -> InboxSession:
    home = make_home(home_folder(settings.home))
    with suppress(OSError):  # without a log everything else works
        log_to(home)
        log_what_ends_a_thread()
    title = settings.title or wanted.name
    facts = SessionFacts(
        name="",
        started=now(),
        role=Role.TAP,
        pid=os.getpid(),
        title=title,
        probe=True,
        folder=str(Path.cwd()),
        http=wanted.http,
    )
    inbox_session = InboxSession.begin(open_inbox(home), facts, now)
    inbox_session.inbox.hold(inbox_session.name, tuple(pattern.text for pattern in wanted.patterns))
    logger.info("session %s: a tap before %s", inbox_session.name, wanted.name)
    return inbox_session


def _add_text_log(recorder: TapRecorder, arguments: argparse.Namespace) -> None:
    if arguments.log_dir:
        try:
            log = TextLog(Path(arguments.log_dir).expanduser(), time.time())
        except OSError as error:
            to_stderr(say("tap", "no-log", why=trouble(error)))
        else:
            recorder.outputs.append(log.write)
