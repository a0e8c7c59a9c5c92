"""The folder of one session, and what is done to the exchanges in it.

An exchange is a folder; where it lies is its state. It moves once, from `pending` to its last
state, and what is at work on it at that moment follows it (`SessionFolder.follow`).
"""

from __future__ import annotations

import errno
import logging
import os
import threading
import time
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Final, TypeVar

from humanmcp.inbox import records
from humanmcp.inbox.atomic import (
    FolderTime,
    Signature,
    drop,
    make_temporary_folder,
    move,
    publish_first,
    read_file,
    replace_file,
    signature,
    sync_folder,
    write_new,
    write_temporary,
)
from humanmcp.inbox.contract import (
    WRITES_FOR,
    Draft,
    Key,
    OutgoingResult,
    Reply,
    TakenError,
    UnknownItemError,
)
from humanmcp.protocol.conversation.exchange import ExchangeState
from humanmcp.protocol.conversation.transcript import sha256

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from humanmcp.inbox.contract import Answer, Item, Waiting, Writer
    from humanmcp.protocol.diagnostics.model import Diagnostic

_log = logging.getLogger(__name__)
_Found = TypeVar("_Found")
_TRIES: Final = 4  # an exchange moves once; the rest is for a reply that is given back meanwhile


class SessionFolder:
    """The folder of one session."""

    def __init__(self, name: str, path: Path) -> None:
        """Use the session of this name, at `path`, which may not exist yet."""
        self.name = name
        self.path = path

    @property
    def temporary(self) -> Path:
        """Where files are written before they get their name."""
        return self.path.parent.parent / records.TEMPORARY

    @property
    def outbox(self) -> Path:
        """Where people put what they say first."""
        return self.path / records.OUTBOX

    def make(self) -> None:
        """Make the folder with everything that is always in it.

        Raises:
            FileExistsError: another session has this name.
        """
        self.path.mkdir(mode=0o700)
        for name in (records.OUTBOX, *records.STATES):
            (self.path / name).mkdir(mode=0o700)

    def at(self, state: ExchangeState, number: int) -> Path:
        """Return where an exchange lies when it is in this state."""
        return self.path / state.value / records.exchange_name(number)

    def numbers(self, state: ExchangeState) -> list[int]:
        """List the exchanges in one state, oldest first.

        A copy of a session may lack its empty folders: git and some archives leave them out.
        """
        with suppress(FileNotFoundError), os.scandir(self.path / state.value) as entries:
            found = (
                records.exchange_number(entry.name)
                for entry in entries
                if entry.is_dir(follow_symlinks=False)
            )
            return sorted(number for number in found if number is not None)
        return []

    def locate(self, number: int) -> tuple[ExchangeState, Path]:
        """Find an exchange.

        It moves from `pending` to one of the others and never back: looking in that order finds it.

        Raises:
            UnknownItemError: there is none with this number.
        """
        found = self._find(number)
        if found is None:
            raise UnknownItemError(f"{self.name}/{number}")
        return found

    def _find(self, number: int) -> tuple[ExchangeState, Path] | None:
        for state in ExchangeState:
            path = self.at(state, number)
            if path.is_dir() and not path.is_symlink():
                return state, path
        return None

    def follow(self, number: int, act: Callable[[ExchangeState, Path], _Found]) -> _Found:
        """Act on an exchange; again, if it was moved meanwhile."""
        for _ in range(_TRIES):
            state, path = self.locate(number)
            try:
                return act(state, path)
            except FileNotFoundError:
                continue
        raise UnknownItemError(f"{self.name}/{number}")

    def _replace(
        self, path: Path, value: records.Record | tuple[object, ...], *, durable: bool = False
    ) -> None:
        replace_file(self.temporary, path, records.encode(value), durable=durable)

    # -- what the server does -------------------------------------------------------------------

    def deliver(self, item: Item) -> Signature | None:
        """Make the folder of an exchange appear, complete. Returns its draft's signature."""
        found = self._find(item.key.number)
        if found is not None:
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(found[1]))
        new = make_temporary_folder(self.temporary)
        try:
            draft = _fill(new, item)
            move(new, self.at(ExchangeState.PENDING, item.key.number))
        except BaseException:
            discard(new)
            raise
        sync_folder(self.path / ExchangeState.PENDING.value)
        return draft

    def update(self, number: int, line: str, id_token: str, waiting: Waiting) -> None:
        """Replace the request where it differs, and how long it may wait."""
        path = self.at(ExchangeState.PENDING, number)
        request = records.decode(read_file(path / records.REQUEST))
        if (request.get("line"), request.get("id")) != (line, id_token):
            changed = {**request, "line": line, "id": id_token}
            self._replace(path / records.REQUEST, changed, durable=True)
        self._replace(path / records.WAIT, waiting)

    def refuse(self, number: int, diagnostics: Sequence[Diagnostic]) -> Signature | None:
        """Turn the reply into the draft again, with its problems. Returns the draft's signature."""
        path = self.at(ExchangeState.PENDING, number)
        reply = _read(path / records.REPLY, records.read_reply)
        if reply is not None:
            self._give_back(path, reply)
        self._replace(path / records.PROBLEMS, records.diagnostics_record(diagnostics))
        (path / records.REPLY).unlink(missing_ok=True)
        return signature(path / records.DRAFT)

    def _give_back(self, path: Path, reply: Reply) -> None:
        """Make the reply's text the draft, and lose no other text that was typed there.

        A desk may save a draft at any moment: the old draft is taken away in one step, and the
        reply's text gets the name only when no draft was saved meanwhile.
        """
        draft = reply.as_draft
        self._keep_other(path, _read(path / records.DRAFT, records.read_draft), draft)
        taken_away = path / records.OLD_DRAFT
        with suppress(FileNotFoundError):
            move(path / records.DRAFT, taken_away)
        written, _ = write_temporary(self.temporary, records.encode(draft), durable=True)
        try:
            if not publish_first(written, path / records.DRAFT):
                self.keep(path, draft)
        finally:
            drop(written)
        self._keep_other(path, _read(taken_away, records.read_draft), draft)
        drop(taken_away)

    def _keep_other(self, path: Path, draft: Draft | None, text: Draft) -> None:
        if draft is not None and draft.touched and draft.text != text.text:
            self.keep(path, draft)

    def close(
        self,
        number: int,
        state: ExchangeState,
        answer: Answer | None,
        reason: str,
        taken: Signature | None,
    ) -> None:
        """Move an exchange to its last state. `taken` is the reply that the server has seen."""
        path = self.at(ExchangeState.PENDING, number)
        target = self.at(state, number)
        try:
            if answer is not None or reason:
                self._replace(path / records.ANSWER, records.close_record(state, answer, reason))
            move(path, target)
        except FileNotFoundError:
            self.locate(number)  # closed before: nothing to do
            return
        if signature(target / records.REPLY) not in (None, taken):
            self._keep_untaken(target)

    def fetched(self, number: int, at: str) -> None:
        """Note in the ending of an exchange when its client came for the answer."""
        path = self.at(ExchangeState.ANSWERED, number) / records.ANSWER
        record = records.decode(read_file(path))
        if not record.get("fetched"):
            self._replace(path, {**record, "fetched": at})

    def _keep_untaken(self, path: Path) -> None:
        """Turn a reply that came too late into a draft."""
        reply = _read(path / records.REPLY, records.read_reply)
        if reply is not None:
            self.keep(path, reply.as_draft)
            (path / records.REPLY).unlink(missing_ok=True)

    # -- what the desks do --------------------------------------------------------------------

    def save(self, number: int, draft: Draft) -> None:
        """Replace the draft, wherever the exchange lies."""
        self.follow(
            number, lambda _, path: self._replace(path / records.DRAFT, draft, durable=True)
        )

    def send(self, number: int, reply: Reply) -> None:
        """Publish a reply, if it is the first.

        Raises:
            TakenError: it is not. Its text is kept.
        """
        content = records.encode(reply)
        written, _ = write_temporary(self.temporary, content, durable=True)
        try:
            winner = self.follow(number, partial(_publish, written))
        finally:
            drop(written)
        if winner is not None:
            lost = reply.as_draft
            self.follow(number, lambda _, path: self.keep(path, lost))
            raise TakenError(Key(self.name, number), *winner)

    def put_aside(self, number: int, draft: Draft) -> None:
        """Keep a text beside the draft, wherever the exchange lies."""
        self.follow(number, lambda _, path: self.keep(path, draft))

    def keep(self, path: Path, draft: Draft) -> None:
        """Keep a text beside the draft, under the next free number, unless it is there already."""
        kept = kept_drafts(path)
        if any(old.text == draft.text and old.form is draft.form for old in kept.values()):
            return
        number = max(_kept_numbers(path), default=0) + 1
        self.publish(
            draft._replace(touched=True), lambda free: path / records.KEPT.format(free), number
        )

    def publish(self, value: Draft | Reply, name: Callable[[int], Path], number: int) -> int:
        """Write a record under the first free number from this one, and return it."""
        written, _ = write_temporary(self.temporary, records.encode(value), durable=True)
        try:
            while not publish_first(written, name(number)):
                number += 1
        finally:
            drop(written)
        return number


def _fill(folder: Path, item: Item) -> Signature | None:
    request = records.encode(records.request_record(item))
    write_new(folder / records.REQUEST, request, durable=True)
    write_new(folder / records.WAIT, records.encode(item.waiting), durable=False)
    if item.diagnostics:
        diagnostics = records.encode(records.diagnostics_record(item.diagnostics))
        write_new(folder / records.PROBLEMS, diagnostics, durable=False)
    if item.draft is None:
        return None
    return write_new(folder / records.DRAFT, records.encode(item.draft), durable=False)


def _publish(written: Path, state: ExchangeState, path: Path) -> tuple[ExchangeState, str] | None:
    """Give the reply its name. Returns the state and who was first, if not this one."""
    closing = (path / records.ANSWER).exists()
    if (
        state is ExchangeState.PENDING
        and not closing
        and publish_first(written, path / records.REPLY)
    ):
        return None
    answer, _reason = _read(path / records.ANSWER, records.read_close) or (None, "")
    first = answer or _read(path / records.REPLY, records.read_reply)
    return state, first.by if first else ""


def _read(path: Path, reader: Callable[[records.Record], _Found]) -> _Found | None:
    with suppress(FileNotFoundError):
        return read_record(path, reader)
    return None


def read_record(path: Path, reader: Callable[[records.Record], _Found]) -> _Found | None:
    """Return what a reader makes of a file; None, with a line in the log, where it cannot be read.

    Raises:
        FileNotFoundError: there is none.
    """
    try:
        return reader(records.decode(read_file(path)))
    except FileNotFoundError:
        raise
    except (OSError, records.UnreadableError) as error:
        _log.warning("%s is passed over: %s", path, error)
        return None


def kept_drafts(path: Path) -> dict[int, Draft]:
    """Read the texts that are kept beside an exchange, oldest first."""
    files = {number: path / records.KEPT.format(number) for number in _kept_numbers(path)}
    found = ((number, _read(file, records.read_draft)) for number, file in files.items())
    return {number: draft for number, draft in found if draft is not None}


def _kept_numbers(path: Path) -> list[int]:
    with os.scandir(path) as entries:
        numbers = (records.kept_number(entry.name) for entry in entries)
        return sorted(number for number in numbers if number is not None)


def discard(folder: Path) -> None:
    """Remove a folder that no reader has seen yet. What cannot be removed stays."""
    from shutil import rmtree  # noqa: PLC0415 - seldom wanted

    rmtree(folder, ignore_errors=True)


LEFT_BEHIND: Final = 3600.0
"""Seconds after which a file that has no name yet was left by a crash; it takes one a moment."""


def sweep_temporary(folder: Path) -> None:
    """Remove what crashes left among the files that have no name yet."""
    until = time.time() - LEFT_BEHIND
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            with suppress(OSError):
                if entry.stat(follow_symlinks=False).st_mtime <= until:
                    is_folder = entry.is_dir(follow_symlinks=False)
                    (discard if is_folder else drop)(folder / entry.name)


class WriterFiles:
    """Who writes what: one file for each window, and the time of its last sign is the file's.

    Only the clock of the disk counts: the time now is that of a file written there now.
    """

    def __init__(self, home: Path) -> None:
        """Use the folder in `home`, which is made when somebody writes."""
        self._path = home / records.WRITERS
        self._temporary = home / records.TEMPORARY

    def note(self, key: Key, writer: Writer) -> None:
        """Write the file of a window."""
        self._path.mkdir(mode=0o700, exist_ok=True)
        content = records.encode(records.writer_record(key, writer))
        replace_file(self._temporary, self._file(writer.page), content, durable=False)

    def clear(self, page: str) -> None:
        """Remove the file of a window."""
        drop(self._file(page))

    def _file(self, page: str) -> Path:
        return self._path / records.WRITER.format(sha256(page)[:32])

    def lately(self) -> dict[Key, tuple[Writer, ...]]:
        """Read the files whose sign counts, and remove those that a crash left."""
        found: dict[Key, tuple[Writer, ...]] = {}
        with suppress(OSError):
            with os.scandir(self._path) as entries:
                signs = sorted((one.stat().st_mtime_ns, one.name) for one in entries)
            now = self._now() if signs else 0
            for at, name in signs:
                age = (now - at) / 1e9
                if not 0 <= age < WRITES_FOR:
                    if abs(age) > LEFT_BEHIND:
                        drop(self._path / name)
                elif record := _read(self._path / name, records.read_writer):
                    key, writer = record
                    found[key] = (*found.get(key, ()), writer)
        return found

    def _now(self) -> int:
        written, now = write_temporary(self._temporary, b"", durable=False)
        drop(written)
        return now.mtime_ns


class Outbox:
    """The outbox of one session."""

    def __init__(self, folder: SessionFolder) -> None:
        self._folder = folder
        self._path = folder.outbox
        self._waiting: dict[str, Reply] = {}
        self._passed: set[str] = set()
        self._time = FolderTime()

    # -- the desk's side ----------------------------------------------------------------------

    def submit(self, reply: Reply) -> str:
        """Submit an outgoing message under the next free number."""
        number = max((int(ticket) for ticket in self._tickets()[0]), default=0) + 1
        number = self._folder.publish(
            reply,
            lambda free: self._path / records.OUTGOING.format(records.exchange_name(free)),
            number,
        )
        return records.exchange_name(number)

    def result(self, ticket: str) -> OutgoingResult | None:
        """Return what became of an outgoing message; None while it waits."""
        try:
            found = read_record(self._result_of(ticket), records.read_diagnostics)
        except FileNotFoundError:
            if (self._path / records.OUTGOING.format(ticket)).exists():
                return None
            raise UnknownItemError(f"{self._folder.name}/{records.OUTBOX}/{ticket}") from None
        return None if found is None else OutgoingResult(found)

    def _result_of(self, ticket: str) -> Path:
        if not records.is_ticket(ticket):
            raise UnknownItemError(f"{self._folder.name}/{records.OUTBOX}/{ticket!r}")
        return self._path / records.RESULT.format(ticket)

    # -- the server's side ----------------------------------------------------------------------

    def outgoing(self) -> Sequence[tuple[str, Reply]]:
        """Return the unsettled messages, oldest first."""
        if self._may_have_changed():
            self._look()
        return sorted(self._waiting.items(), key=lambda outgoing: int(outgoing[0]))

    def settle_outgoing(self, ticket: str, diagnostics: Sequence[Diagnostic]) -> None:
        """Put the result beside an outgoing message."""
        result = records.encode(records.diagnostics_record(diagnostics))
        replace_file(self._folder.temporary, self._result_of(ticket), result, durable=False)
        self._waiting.pop(ticket, None)
        self._passed.add(ticket)

    def _may_have_changed(self) -> bool:
        """Return True if to look: one `stat`, unless something happened a moment ago."""
        try:
            found = self._path.stat(follow_symlinks=False)
        except OSError:
            return False
        return self._time.may_have_changed(found, time.monotonic())

    def _look(self) -> None:
        tickets, settled = self._tickets()
        for ticket in settled:
            self._waiting.pop(ticket, None)
        for ticket in tickets - settled - self._passed - self._waiting.keys():
            reply = None
            with suppress(FileNotFoundError):
                path = self._path / records.OUTGOING.format(ticket)
                reply = read_record(path, records.read_reply)
            if reply is None:
                self._passed.add(ticket)
            else:
                self._waiting[ticket] = reply

    def _tickets(self) -> tuple[set[str], set[str]]:
        """Return every ticket, and those that are settled."""
        with os.scandir(self._path) as entries:
            names = {entry.name for entry in entries}
        tickets = {ticket for name in names if (ticket := records.ticket_of(name)) is not None}
        return tickets, {ticket for ticket in tickets if records.RESULT.format(ticket) in names}


_TORN_FOR: Final = 1.0
"""Seconds after which a reply that cannot be read counts as torn, not as half-written."""


class _Poll:
    """What one exchange is asked for, and what was seen of it."""

    __slots__ = ("draft", "draft_seen", "reply", "reply_taken", "torn")

    def __init__(self, folder: Path, draft_seen: Signature | None) -> None:
        """Watch the exchange in `folder`."""
        self.reply = folder / records.REPLY
        self.draft = folder / records.DRAFT
        self.reply_taken: Signature | None = None
        self.draft_seen = draft_seen
        self.torn: tuple[Signature, float] | None = None


class ReplyReader:
    """Asks for the replies and drafts of a session's pending exchanges.

    The process that began the session knows their numbers (`add`, `drop`); any other one looks.
    """

    def __init__(self, folder: SessionFolder, *, own: bool) -> None:
        """Ask in `folder`; `own` says that this process delivers its exchanges."""
        self._folder = folder
        self._own = own
        self._polls: dict[int, _Poll] = {}
        self._lock = threading.Lock()

    def add(self, number: int, draft_seen: Signature | None) -> None:
        """Ask for this exchange, too. The draft it starts with is nothing new."""
        path = self._folder.at(ExchangeState.PENDING, number)
        with self._lock:
            self._polls[number] = _Poll(path, draft_seen)

    def taken(self, number: int) -> Signature | None:
        """Return the reply of this exchange that was taken last."""
        poll = self._polls.get(number)
        return poll.reply_taken if poll else None

    def drop(self, number: int) -> None:
        """Stop reading it."""
        with self._lock:
            self._polls.pop(number, None)

    def given_back(self, number: int, draft_seen: Signature | None) -> None:
        """Take the next reply of this exchange as a new one."""
        poll = self._polls.get(number)
        if poll is not None:
            poll.reply_taken = None
            poll.draft_seen = draft_seen

    def _current(self) -> Sequence[tuple[int, _Poll]]:
        if not self._own:
            self._look()
        with self._lock:
            return tuple(self._polls.items())

    def _look(self) -> None:
        try:
            numbers = self._folder.numbers(ExchangeState.PENDING)
        except OSError:
            numbers = []
        with self._lock:
            self._polls = {
                number: self._polls.get(number)
                or _Poll(self._folder.at(ExchangeState.PENDING, number), None)
                for number in numbers
            }

    def replies(self, only: int = 0) -> Sequence[tuple[Key, Reply]]:
        """Return the replies that are new, oldest first: all, or the one to this exchange."""
        found: list[tuple[int, int, Reply]] = []
        for number, poll in self._current():
            if only not in (0, number):
                continue
            seen = signature(poll.reply)
            if seen is None or seen == poll.reply_taken:
                continue
            reply = self._reply(poll, seen)
            if reply is not None:
                poll.reply_taken = seen
                found.append((seen.mtime_ns, number, reply))
        found.sort(key=lambda entry: entry[:2])
        return [(Key(self._folder.name, number), reply) for _, number, reply in found]

    def _reply(self, poll: _Poll, seen: Signature) -> Reply | None:
        try:
            reply = records.read_reply(records.decode(read_file(poll.reply)))
        except FileNotFoundError:
            return None
        except (OSError, records.UnreadableError) as error:
            self._torn(poll, seen, error)
            return None
        poll.torn = None
        return reply

    def _torn(self, poll: _Poll, seen: Signature, error: Exception) -> None:
        """Put a reply that stays unreadable out of the way: it would keep everybody from sending.

        Only the server does so, and only it takes replies away: no readable one can be hit.
        """
        now = time.monotonic()
        if poll.torn is None or poll.torn[0] != seen:
            _log.warning("%s cannot be read (yet): %s", poll.reply, error)
            poll.torn = (seen, now)
        elif now - poll.torn[1] > _TORN_FOR:
            aside = poll.reply.with_name(records.TORN.format(os.urandom(6).hex()))
            _log.warning("%s is put aside as %s: %s", poll.reply, aside, error)
            poll.reply.replace(aside)
            poll.torn = None

    def drafts(self) -> Sequence[tuple[Key, Draft]]:
        found: list[tuple[Key, Draft]] = []
        for number, poll in self._current():
            seen = signature(poll.draft)
            if seen is None or seen == poll.draft_seen:
                continue
            try:
                draft = read_record(poll.draft, records.read_draft)
            except FileNotFoundError:
                continue
            if draft is not None:
                found.append((Key(self._folder.name, number), draft))
            poll.draft_seen = seen
        return found
