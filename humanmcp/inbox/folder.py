"""The folder inbox: exchanges wait in plain files, and every program of humanmcp meets there.

`docs/reference/folder.md` describes the files. No process asks another: what must happen once
is a rename or a link, which the file system lets happen once.
"""

from __future__ import annotations

import os
import stat
import time
from contextlib import suppress
from functools import cached_property, partial
from typing import TYPE_CHECKING

from humanmcp.common.settings import UnsafeFolderError, make_home, make_private
from humanmcp.inbox import records
from humanmcp.inbox.atomic import discard, keeping, replace_file, sweep_temporary
from humanmcp.inbox.bell import Bell, ring
from humanmcp.inbox.contract import (
    InboxError,
    Key,
    Life,
    NotHeldError,
    OutgoingResult,
    Purpose,
    UnknownItemError,
)
from humanmcp.inbox.letters import Letters, rank_of
from humanmcp.inbox.life_lock import LifeLock, is_held, turn
from humanmcp.inbox.outbox import Outbox
from humanmcp.inbox.reply_reader import ReplyReader
from humanmcp.inbox.session_folder import SessionFolder, read_record
from humanmcp.inbox.transcript_writer import TranscriptWriter
from humanmcp.inbox.writer_files import WriterFiles
from humanmcp.protocol.conversation.exchange import NegotiatedState
from humanmcp.protocol.conversation.stages import ExchangeState

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from humanmcp.inbox.contract import (
        Answer,
        Draft,
        Item,
        Reply,
        SessionFacts,
        Tail,
        Waiting,
        Writer,
    )
    from humanmcp.inbox.guest_folder import Entered, GuestFolder
    from humanmcp.inbox.shelves import ItemCache, RecordCache, SessionCache
    from humanmcp.inbox.watch import Watch
    from humanmcp.protocol.conversation.transcript import Frame
    from humanmcp.protocol.diagnostics.model import Diagnostic


class _Owned:
    """A session that this process began and holds open."""

    def __init__(
        self,
        folder: SessionFolder,
        lock: LifeLock,
        transcript: TranscriptWriter,
        facts: SessionFacts,
    ) -> None:
        self.folder = folder
        self.lock = lock
        self.bell = Bell.hang(folder.path / records.BELL)
        self.transcript = transcript
        self.facts = facts
        self.negotiated = NegotiatedState()
        self.lettered = False


class FolderInbox:
    """An inbox in a folder. Threads may share one; every process makes its own."""

    def __init__(self, home: Path) -> None:
        """Use the inbox in `home`, which is made when there is none.

        Raises:
            UnsafeFolderError: it cannot be made, or another user could read what is kept there.
            StoreError: the folders in it cannot be made.
        """
        self.home, self._path = make_home(home), home / records.SESSIONS
        self._by_hand = home / records.HANDSHAKE_BY_HAND
        with keeping("inbox", folder=home):
            self._make_folders()
        self._check_format()
        self._own: dict[str, _Owned] = {}
        self._guests: dict[str, GuestFolder] = {}
        self._entered: dict[Key, Entered] = {}
        self._polls: dict[str, ReplyReader] = {}
        self._outboxes: dict[str, Outbox] = {}
        self._letters = Letters(home)
        self._writers = WriterFiles(home)

    def _check_format(self) -> None:
        """Note in a new home how this humanmcp stores, and refuse that of a newer one."""
        path = self.home / records.FORMAT_FILE
        try:
            found = read_record(path, records.read_format) or 0
        except FileNotFoundError:
            found = 0
        if found > records.FORMAT:
            known = records.FORMAT
            raise InboxError("newer format", folder=self.home, format=found, known=known)
        if found < records.FORMAT:
            content = records.encode({"format": records.FORMAT})
            with suppress(OSError):  # a full disk keeps nobody from reading
                replace_file(self.home / records.TEMPORARY, path, content, durable=False)

    @cached_property
    def _sessions(self) -> SessionCache:
        from humanmcp.inbox.shelves import SessionCache  # noqa: PLC0415 - no server reads what it wrote

        return SessionCache(self._path)

    @cached_property
    def _items(self) -> ItemCache:
        from humanmcp.inbox.shelves import ItemCache  # noqa: PLC0415 - no server reads what it wrote

        return ItemCache()

    @cached_property
    def _holds(self) -> RecordCache:
        from humanmcp.inbox.shelves import RecordCache  # noqa: PLC0415 - no server holds anything

        return RecordCache()

    def watch(self, wake: Callable[[str, int], None]) -> Watch:
        """Return what wakes with a session and the number of its exchange that may have changed."""
        from humanmcp.inbox.watch import Watch  # noqa: PLC0415 - no server watches

        return Watch(self.home, wake)

    def sweep(self) -> None:
        """Remove what is no longer needed.

        Files that a crash left without a name, and letters of sessions that were removed.
        """
        sweep_temporary(self.home / records.TEMPORARY)
        self._letters.sweep(self._path)

    def folder(self, session: str) -> Path:
        """Return the folder of a session: a server puts its text files there."""
        return self._folder(session).path

    def _folder(self, session: str) -> SessionFolder:
        owned = self._own.get(session)
        if owned is not None:
            return owned.folder
        if not records.is_session_name(session):
            raise UnknownItemError(repr(session))
        path = self._path / session
        try:
            found = path.lstat()
        except OSError:
            raise UnknownItemError(session) from None
        if not stat.S_ISDIR(found.st_mode):
            raise UnknownItemError(session)
        return SessionFolder(session, path)

    def _owned(self, session: str) -> _Owned:
        owned = self._own.get(session)
        if owned is None:
            raise NotHeldError(session)
        return owned

    # -- the server's side ----------------------------------------------------------------------

    def begin_session(self, facts: SessionFacts) -> str:
        with keeping("new session"):
            self._make_folders()  # somebody may have deleted them
            folder = self._make(facts.name)
            try:
                owned = self._open(folder, facts)
            except BaseException:
                discard(folder.path)
                raise
        self._own[folder.name] = owned
        self._polls[folder.name] = ReplyReader(folder, own=True)
        return folder.name

    def _make_folders(self) -> None:
        for folder in (self.home, self._path, self.home / records.TEMPORARY):
            make_private(folder)

    def _make(self, wanted: str) -> SessionFolder:
        if wanted and not records.is_session_name(wanted):
            raise ValueError(wanted)
        while True:
            stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
            name = wanted or records.session_name(stamp, os.urandom(2).hex())
            folder = SessionFolder(name, self._path / name)
            try:
                folder.make()
            except FileExistsError:
                if wanted:
                    raise
            else:
                return folder

    def orphaned_sessions(self, at: str) -> Sequence[SessionFacts]:
        return [
            facts for facts in self._all_facts() if facts.life is Life.GONE and facts.comes_back(at)
        ]

    def session_by_http_id(self, http_id: str) -> SessionFacts | None:
        """Return the session that a client comes back to under this id, in any process."""
        return next((facts for facts in self._all_facts() if facts.http.id == http_id), None)

    def of_visitor(self, _visitor: str, /) -> Sequence[SessionFacts]:
        """List none: one process listens at an address, and resumes what is left at its port."""
        return ()

    def sign_of_life(self, _session: str, /) -> str:
        """Return "": a process whose lock is held lives."""
        return ""

    def _all_facts(self) -> Iterator[SessionFacts]:
        found = (self._sessions.facts(name) for name in sorted(self._sessions.names()))
        return (facts for facts in found if facts is not None)

    def resume(self, session: str) -> tuple[SessionFacts, Sequence[int]]:
        folder = self._folder(session)
        with keeping("session", session=session):
            owned = self._open(folder, None)
            self._own[session] = owned
            reader = self._polls[session] = ReplyReader(folder, own=True)
            waiting = folder.numbers(ExchangeState.PENDING)
            for number in waiting:
                # An ending that a killed process left of an exchange that still waits.
                (folder.at(ExchangeState.PENDING, number) / records.ANSWER).unlink(missing_ok=True)
                reader.add(number, None)
        return owned.facts, waiting

    @property
    def away(self) -> str:
        """Return "": a folder is there, or nothing works."""
        return ""

    def is_held(self, session: str) -> bool:
        """Return True while this process runs the session: a lock ends with its process."""
        return session in self._own

    def leave_session(self, session: str) -> None:
        self._let_go(self._owned(session))

    def describe(self, facts: SessionFacts, negotiated: NegotiatedState) -> None:
        owned = self._owned(facts.name)
        with keeping("session", session=facts.name):
            if negotiated != owned.negotiated:
                path = owned.folder.path / records.KNOWN
                content = records.encode(negotiated)
                replace_file(owned.folder.temporary, path, content, durable=False)
                owned.negotiated = negotiated
            facts = facts._replace(life=Life.OPEN)
            if facts != owned.facts:
                owned.facts = facts
                self._write_facts(owned)

    def record(self, session: str, *frames: Frame, durable: bool = False) -> None:
        """Append frames to the transcript. Durable ones are on the disk when this returns."""
        self._owned(session).transcript.append(*frames, durable=durable)

    def deliver(self, item: Item) -> None:
        owned = self._entered.get(item.key) or self._owned(item.key.session)
        if item.key.number < 1:
            raise ValueError(item.key)
        with keeping("item", number=item.key.number):
            draft = owned.folder.deliver(item)
            reader = self._polls.get(item.key.session)
            if item.state is not ExchangeState.PENDING:
                return
            if reader is None:  # another thread has ended the session meanwhile
                owned.folder.close(item.key.number, ExchangeState.ABANDONED, None, "", None)
            else:
                reader.add(item.key.number, draft)

    def update(self, key: Key, *, line: str, id: str, waiting: Waiting) -> None:  # noqa: A002 - the protocol's own word
        folder = self._folder(key.session)
        with keeping("item", number=key.number):
            try:
                folder.update(key.number, line, id, waiting)
            except FileNotFoundError:
                folder.locate(key.number)

    def bell(self, session: str, number: int = 0) -> Bell | None:
        """Return what rings when a desk has sent something; None where nothing does."""
        entered = self._entered.get(Key(session, number))
        return (entered or self._owned(session)).bell

    def _ring(self, session: str, number: int = 0) -> None:
        path = self._folder(session).path
        ring(path / records.BELL)
        ring(path / records.PROMPT_BELL.format(number))

    # -- a guest's session ----------------------------------------------------------------------

    def guest_session(self, name: str) -> str:
        from humanmcp.inbox.guest_folder import is_forgotten, present_name  # noqa: PLC0415 - no server does it

        with keeping("new session"):
            return present_name(name, partial(is_forgotten, self.home))

    def join(self, facts: SessionFacts) -> str:
        if not records.is_session_name(facts.name):
            raise ValueError(facts.name)
        from humanmcp.inbox.guest_folder import join  # noqa: PLC0415 - no server does it

        with keeping("new session"):
            self._make_folders()
            guest = join(self.home, facts, self.guest_session, self._letters.give)
        name = guest.folder.name
        self._guests[name] = guest
        self._polls.setdefault(name, ReplyReader(guest.folder, own=True))
        return name

    def enter(self, session: str) -> Key:
        with keeping("new session"):
            key, self._entered[key] = self._guests[session].enter()
        return key

    def share(self, session: str, write: Callable[[Tail], tuple[Sequence[Frame], Tail]]) -> None:
        from humanmcp.inbox.guest_folder import GuestFolder  # noqa: PLC0415 - as above

        with keeping("session", session=session):
            GuestFolder(self._folder(session)).share(write)

    def leave(self, key: Key) -> None:
        entered = self._entered.pop(key, None)
        if entered is not None:
            with suppress(InboxError):
                self.close(key, ExchangeState.ABANDONED)
            entered.leave()

    def take_replies(self, session: str) -> Sequence[tuple[Key, Reply]]:
        return self._polls_of(session).replies()

    def drafts(self, session: str) -> Sequence[tuple[Key, Draft]]:
        return self._polls_of(session).drafts()

    def _polls_of(self, session: str) -> ReplyReader:
        reader = self._polls.get(session)
        if reader is None:
            reader = self._polls[session] = ReplyReader(self._folder(session), own=False)
        return reader

    def refuse(self, key: Key, diagnostics: Sequence[Diagnostic]) -> None:
        folder = self._folder(key.session)
        with keeping("refusal", number=key.number):
            try:
                draft = folder.refuse(key.number, diagnostics)
            except FileNotFoundError:
                folder.locate(key.number)  # closed meanwhile: there is nobody to give it back to
                return
        self._polls_of(key.session).given_back(key.number, draft)

    def close(
        self, key: Key, state: ExchangeState, answer: Answer | None = None, reason: str = ""
    ) -> None:
        if state is ExchangeState.PENDING:
            raise ValueError(state)
        folder = self._folder(key.session)
        reader = self._polls_of(key.session)
        with keeping("end", number=key.number):
            folder.close(key.number, state, answer, reason, reader.taken(key.number))
        reader.drop(key.number)

    def take_parked(self, key: Key) -> Reply | None:
        found = self._polls_of(key.session).replies(key.number)
        return found[0][1] if found else None

    def fetched(self, key: Key, at: str, became: str = "", after: str = "") -> bool:
        folder = self._folder(key.session)
        with keeping("end", number=key.number), turn(folder.path / records.TURN):
            return folder.fetched(key.number, at, became, after)

    def outgoing(self, session: str) -> Sequence[tuple[str, Reply]]:
        return self._outbox(session).outgoing()

    def settle_outgoing(self, session: str, ticket: str, diagnostics: Sequence[Diagnostic]) -> None:
        with keeping("settled", ticket=ticket):
            self._outbox(session).settle_outgoing(ticket, diagnostics)

    def _outbox(self, session: str) -> Outbox:
        outbox = self._outboxes.get(session)
        if outbox is None:
            outbox = self._outboxes[session] = Outbox(self._folder(session))
        return outbox

    def holds(self, session: str) -> Sequence[str]:
        path = self._folder(session).path / records.HOLDS
        found = self._holds.read(path, records.read_holds)
        if found is None and path.exists():  # unreadable: nothing may pass that a person held
            return ("in", "out")
        return found or ()

    def handshake_is_by_hand(self) -> bool:
        return self._by_hand.exists()

    def answer_handshake_by_hand(self, *, on: bool) -> None:
        with keeping("handshake"):
            if on:
                self._by_hand.touch(mode=0o600)
            else:
                self._by_hand.unlink(missing_ok=True)

    def end(self, session: str) -> None:
        owned = self._own.get(session)
        if owned is None:
            self.facts(session)  # ended before, or never there
            return
        try:
            with keeping("session end", session=session):
                for item in self.items(session):
                    number = item.key.number
                    if not item.outlives:
                        taken = self._polls[session].taken(number)
                        owned.folder.close(number, ExchangeState.ABANDONED, None, "", taken)
                owned.facts = owned.facts._replace(life=Life.CLOSED)
                self._write_facts(owned)
        finally:
            self._let_go(owned)

    def _let_go(self, owned: _Owned) -> None:
        if owned.bell is not None:
            owned.bell.close()
        owned.transcript.close()
        owned.lock.release()
        del self._own[owned.folder.name], self._polls[owned.folder.name]

    def _open(self, folder: SessionFolder, new: SessionFacts | None) -> _Owned:
        """Take ownership of a session: a `new` one, or the existing one.

        A new one is listed once its record is there, which comes last.
        """
        lock = LifeLock.take(folder.path / records.LOCK)
        try:
            facts = new or self._still_open(folder.name)
            transcript = TranscriptWriter(folder.path / records.TRANSCRIPT, new=new is not None)
            started = facts.started or time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
            facts = facts._replace(name=folder.name, started=started, life=Life.OPEN)
            owned = _Owned(folder, lock, transcript, facts)
            owned.lettered = new is None and not facts.probe
            self._write_facts(owned)
        except BaseException:
            lock.release()
            raise
        return owned

    def _still_open(self, session: str) -> SessionFacts:
        """Return the facts of a session that was not closed in order; its lock is ours."""
        facts = self._sessions.facts(session)
        if facts is None or facts.life is Life.CLOSED:
            raise UnknownItemError(session)
        return facts._replace(pid=os.getpid())

    def _write_facts(self, owned: _Owned) -> None:
        """Write a session's facts, and first its letter."""
        if not owned.facts.probe and not owned.lettered:
            owned.lettered = bool(self._letters.give(owned.folder))
        content = records.encode(records.facts_record(owned.facts))
        path = owned.folder.path / records.SESSION
        replace_file(owned.folder.temporary, path, content, durable=False)

    # -- the desk's side ----------------------------------------------------------------------

    def sessions(self) -> Sequence[SessionFacts]:
        if self._path.is_symlink():  # the folder was replaced
            raise UnsafeFolderError("link", folder=self._path, place=self._path.resolve())
        found = (self._sessions.facts(name) for name in self._sessions.names())
        shown = [facts for facts in found if facts is not None and not facts.probe]
        shown.sort(key=lambda facts: (facts.started, facts.name))
        lettered = []
        for facts in shown:
            with suppress(UnknownItemError):  # forgotten meanwhile
                lettered.append(self._lettered(facts))
        # By letter, not by time: somebody may have set the clock back.
        return sorted(lettered, key=lambda facts: rank_of(facts.letter), reverse=True)

    def probes(self) -> Sequence[SessionFacts]:
        found = (self._sessions.facts(name) for name in self._sessions.names())
        return [one for one in found if one is not None and one.probe and one.is_open]

    def _lettered(self, facts: SessionFacts) -> SessionFacts:
        """Return the facts of a visible session with its letter; one without gets it now."""
        letter = self._sessions.letter(facts.name) or self._letters.give(self._folder(facts.name))
        return facts._replace(letter=letter)

    def facts(self, session: str) -> SessionFacts:
        facts = self._sessions.facts(self._folder(session).name)
        if facts is None:
            raise UnknownItemError(session)
        return facts if facts.probe else self._lettered(facts)

    def negotiated(self, session: str) -> NegotiatedState:
        return self._sessions.negotiated(self._folder(session).name)

    def items(
        self, session: str, state: ExchangeState = ExchangeState.PENDING, most: int = 0
    ) -> Sequence[Item]:
        folder = self._folder(session)
        found = list(self._items.items(folder, state, most))
        if state is ExchangeState.ABANDONED:
            found += self._items.items(folder, ExchangeState.PENDING)
            found.sort(key=lambda one: one.key.number)
        return [one for one in (self._now(folder, each) for each in found) if one.state is state]

    def item(self, key: Key) -> Item:
        folder = self._folder(key.session)
        return self._now(folder, self._items.item(folder, key.number))

    def _now(self, folder: SessionFolder, item: Item) -> Item:
        """Return an exchange as it is: a prompt whose process is gone does not wait."""
        lock = folder.path / records.ENTERED / records.exchange_name(item.key.number)
        waits = item.state is ExchangeState.PENDING
        if not waits or item.purpose is not Purpose.PROMPT or is_held(lock):
            return item
        item = self._items.item(folder, item.key.number)  # it may have been closed meanwhile
        is_left = item.state is ExchangeState.PENDING
        return item._replace(state=ExchangeState.ABANDONED) if is_left else item

    def save(self, key: Key, draft: Draft, since: str = "") -> None:
        with keeping("draft", number=key.number):
            self._folder(key.session).save(key.number, draft, since)
        self._ring(key.session)

    def change_draft(self, key: Key, change: Callable[[Draft | None], Draft]) -> None:
        with keeping("draft", number=key.number):
            self._folder(key.session).change_draft(key.number, change)
        self._ring(key.session)

    def put_aside(self, key: Key, draft: Draft) -> None:
        with keeping("draft", number=key.number):
            self._folder(key.session).put_aside(key.number, draft)

    def send(self, key: Key, reply: Reply) -> None:
        with keeping("reply", number=key.number):
            self._folder(key.session).send(key.number, reply)
        self._ring(*key)

    def note_writer(self, key: Key, writer: Writer) -> None:
        self._folder(key.session)
        with keeping("draft", number=key.number):
            self._writers.note(key, writer)

    def clear_writer(self, page: str) -> None:
        self._writers.clear(page)

    def writers(self) -> Mapping[Key, tuple[Writer, ...]]:
        return self._writers.lately()

    def submit(self, session: str, reply: Reply) -> str:
        with keeping("saying"):
            ticket = self._outbox(session).submit(reply)
        self._ring(session)
        return ticket

    def change_holds(self, session: str, change: Callable[[Sequence[str]], Sequence[str]]) -> None:
        with keeping("holds", session=session), turn(self._folder(session).path / records.TURN):
            self.hold(session, change(self.holds(session)))

    def hold(self, session: str, patterns: Sequence[str]) -> None:
        folder = self._folder(session)
        content = records.encode(records.holds_record(patterns))
        with keeping("holds", session=session):
            replace_file(folder.temporary, folder.path / records.HOLDS, content, durable=False)
        self._ring(session)

    def outgoing_result(self, session: str, ticket: str) -> OutgoingResult | None:
        """Return the problems of an outgoing message: None while it waits, () when it was sent."""
        return self._outbox(session).result(ticket)

    def forget(self, key: Key) -> None:
        """Forget a finished exchange, with every copy of its texts."""
        from humanmcp.inbox.forgetting import forget_exchange  # noqa: PLC0415 - no server does it

        folder, facts = self._folder(key.session), self.facts(key.session)
        with keeping("forgetting", name=f"{key.session}/{key.number}"):
            forget_exchange(self.home, folder, facts, key.number)

    def forget_session(self, session: str) -> None:
        from humanmcp.inbox.forgetting import forget_session  # noqa: PLC0415 - no server does it

        folder, facts = self._folder(session), self.facts(session)
        with keeping("forgetting", name=session):
            forget_session(self.home, folder, facts)
            self._letters.sweep(self._path)

    def frames(self, session: str, after: int = 0) -> Iterator[Frame]:
        from humanmcp.inbox.transcripts import frames_after  # noqa: PLC0415 - few servers do it

        return frames_after(self._folder(session).path / records.TRANSCRIPT, after)

    def last_frames_before(
        self, session: str, seq: int, count: int, word: str = ""
    ) -> Sequence[Frame]:
        from humanmcp.inbox.transcripts import frames_before  # noqa: PLC0415 - no server does it

        return frames_before(self._folder(session).path / records.TRANSCRIPT, seq, count, word)
