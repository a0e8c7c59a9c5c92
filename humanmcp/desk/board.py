"""The desk's view of all sessions: what waits, what changed, and the last lines.

It keeps rows, not messages, which are in the inbox. `refresh` only says that a session may have
changed; the board then reads it again. Every change has a number, so that a page can ask for the
changes that it missed. It does not use HTTP.
"""

from __future__ import annotations

import itertools
import logging
import threading
import time
from bisect import bisect_left, insort
from collections import deque
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

from humanmcp.answering.standing import Urgency
from humanmcp.answering.summary import Asker, Badge, Row, asker_of, badge_of, row
from humanmcp.common.settings import UnsafeFolderError
from humanmcp.common.timestamps import now
from humanmcp.desk.login import ONLY_SESSION
from humanmcp.inbox.contract import InboxError, Key, Purpose, UnknownItemError
from humanmcp.inbox.letters import rank_of
from humanmcp.inbox.watch import Watch
from humanmcp.protocol.conversation.allow_patterns import pattern_of
from humanmcp.protocol.conversation.stages import ExchangeState

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Self

    from humanmcp.desk.history.rows import Step
    from humanmcp.inbox.contract import Inbox, Item, SessionFacts, Writer

REMEMBERED: Final = 1024
"""The number of changes that a page can catch up with; after more, it reads everything again."""

MOST_MISSED: Final = 256
"""The maximum number of exchanges that one look searches because they came and ended before it."""

MOST_LONG: Final = 256
"""The maximum number of cached rows of long lines: each is as small as any other row."""

LOOK_ONCE_MORE: Final = 2.5
"""The seconds after which what has gone is looked for once more.

The folder of an inbox may be away for a moment, and then everything in it seems to have gone. A
longer absence, and the return, are found by the poll of the watch, which is more frequent.
"""

LATEST: Final = ("~", 0)
"""A place after every line with a time stamp."""


@dataclass(frozen=True, slots=True)
class BoardChange:
    """A change in a session, and of an exchange (0: of the session itself)."""

    version: int
    what: str
    """One of arrived, changed, closed, session, or lines (a line was sent or received)."""
    session: str
    number: int = 0


@dataclass(frozen=True, slots=True)
class SessionView:
    """A session as the page shows it."""

    facts: SessionFacts
    badge: Badge
    asker: Asker
    waiting: int = 0
    holds: tuple[str, ...] = ()
    """The messages that a running tap holds."""

    @property
    def label(self) -> str:
        """What people call it: its title, else its client."""
        return self.facts.title or self.facts.client


_RowOrder: TypeAlias = "tuple[bool, bool, float, Key]"
"""Where a row is among those that wait."""


@dataclass(slots=True)
class _Seen:
    """The last known state of a session: its rows, and a mark of each item behind a row.

    `highest` is the highest number that pages know. `last` is the time and the number of the last
    line; LATEST if they are not known.
    """

    view: SessionView
    rows: dict[int, Row] = field(default_factory=dict)
    marks: dict[int, int] = field(default_factory=dict)
    highest: int = 0
    last: tuple[str, int] = LATEST


@dataclass
class Board:
    """All sessions of an inbox, and their changes. It can be used from several threads."""

    inbox: Inbox
    is_aside: Callable[[str], bool] = lambda _session: False
    """Returns True for a session whose requests wait until something else is over: no list shows
    them, and no page opens them by itself."""
    long_lines: dict[tuple[str, int, int], Step] = field(default_factory=dict)
    """The rows of long lines in the history, by session, number and hash of the line."""
    _sessions: dict[str, _Seen] = field(default_factory=dict)
    _by_letter: list[_Seen] | None = None
    _waiting: list[tuple[_RowOrder, Row]] = field(default_factory=list)
    _changes: deque[BoardChange] = field(default_factory=lambda: deque(maxlen=REMEMBERED))
    version: int = field(default_factory=lambda: time.time_ns() // 1000)
    """The number of the last change, counted on from the microseconds of the start.

    Those of a restarted desk are greater than the old ones, also where it began within the same
    second, so that a page that was connected before reads everything again. They are below 2**53,
    the bound of an integer in a browser.
    """
    writers: Mapping[Key, tuple[Writer, ...]] = field(default_factory=dict)
    """The people who were writing at the last look, by exchange."""
    _shown: dict[Key, str] = field(default_factory=dict)
    _less: dict[str, float] = field(default_factory=dict)
    # When to look once more at a session of which less was found than before.
    _listeners: list[Callable[[], None]] = field(default_factory=list)
    _away: str = ""
    _lock: threading.RLock = field(default_factory=threading.RLock)
    _changed: threading.Condition = field(default_factory=threading.Condition)
    _reading: threading.RLock = field(default_factory=threading.RLock)
    # Files are read and lines are decoded under the second lock: pages only wait for the first.

    # -- being kept up to date ------------------------------------------------------------------

    def listen(self, listener: Callable[[], None]) -> None:
        """Call `listener` after every change, in the thread that noticed it."""
        self._listeners.append(listener)

    def refresh_all(self) -> None:
        """Read every session again: at the start, and if the watch missed a change."""
        with self._reading:
            before = self.version
            listed = self.inbox.sessions()
            for facts in reversed(listed):
                self._refresh(facts, None)
            for name in self._sessions.keys() - {facts.name for facts in listed}:
                self._forget(name)
        self._tell(before)

    def refresh(self, session: str, number: int | None = None) -> None:
        """Read a session again; with a number only that exchange, with 0 no exchange."""
        with self._reading:
            before, shown = self.version, self._extent(session)
            try:
                self._refresh(self.inbox.facts(session), number)
            except UnknownItemError:
                self._forget(session)
            if self._extent(session) < shown:
                self._less[session] = time.monotonic() + LOOK_ONCE_MORE
        self._tell(before)

    def _extent(self, session: str) -> tuple[bool, bool, int]:
        seen = self._sessions.get(session)
        if seen is None:
            return False, False, 0
        return True, seen.view.facts.is_open, len(seen.rows)

    def take_less(self) -> list[str]:
        """Return, once, the sessions to read again: less of them was found a moment ago."""
        with self._reading:
            due = [one for one, at in self._less.items() if at <= time.monotonic()]
            for session in due:
                del self._less[session]
        return due

    def _forget(self, session: str) -> None:
        with self._lock:
            seen = self._sessions.pop(session, None)
            if seen is not None:
                for number in tuple(seen.rows):
                    self._replace(seen, number, None)
                self._by_letter = None
                self._note("session", session)

    def _refresh(self, facts: SessionFacts, number: int | None) -> None:
        seen = self._sessions.get(facts.name)
        if seen is None and facts.probe:
            return  # a process that only got a probe is not shown
        known = seen is not None
        asker = asker_of(facts)
        seen = seen or _Seen(SessionView(facts, badge_of(facts), asker))
        # Every row says who asks, and what waits at the end of a session waits when it goes on.
        same = known and (seen.view.asker, seen.view.facts.life) == (asker, facts.life)
        found = self._look(seen, facts, number if same else None)
        # Pages also get what came and ended between two looks.
        first = seen.highest + 1 if known else number or 1
        end = max((number or 0, *found)) if known else number or 0
        between = range(first, end + 1)[-MOST_MISSED:]
        unfound = (self.item(Key(facts.name, one)) for one in between if not found.get(one))
        missed = [
            item.key.number for item in unfound if item and item.state is not ExchangeState.PENDING
        ]
        last = self.inbox.last_frames_before(facts.name, 0, 1) if facts.is_open else ()
        tap = facts.is_open and facts.role.traits.holds
        kept = self.inbox.holds(facts.name) if tap else ()
        # the others are allowed calls
        holds = tuple(one for one in kept if pattern_of(one) is None)
        with self._lock:
            if not known or (seen.view.facts, seen.view.holds) != (facts, holds):
                self._note("session", facts.name)
            self._sessions[facts.name] = seen
            for one in missed:
                self._note("arrived", facts.name, one)
                self._note("closed", facts.name, one)
            for one in sorted(found):
                self._replace(seen, one, found[one])
            seen.highest = max(seen.highest, number or 0, *found, *missed)
            before, seen.last = seen.last, (last[0].at, last[0].seq) if last else LATEST
            if not known or facts.letter != seen.view.facts.letter:
                self._by_letter = None
            waiting = sum(one.standing.urgency is Urgency.NOW for one in seen.rows.values())
            seen.view = SessionView(facts, badge_of(facts), asker, waiting, holds)
            if last and seen.last != before:
                self._note("lines", facts.name)

    def _look(
        self, seen: _Seen, facts: SessionFacts, number: int | None
    ) -> dict[int, tuple[int, Row] | None]:
        """Read what waits: one exchange, all, or none. None means that an exchange no longer waits.

        Only changed rows are made again, but each row depends on what distinguishes it from others.
        """
        # A request that waits at the end of a session is only in the history.
        if not facts.is_open and not facts.parked:
            return dict.fromkeys(seen.rows)
        if number is not None:
            item = self.item(Key(facts.name, number))
            waits = item is not None and item.state is ExchangeState.PENDING
            items = {number: item} if waits else {}
            looked = {number} if number else set()
        else:
            items = {item.key.number: item for item in self.inbox.items(facts.name)}
            looked = {*items, *seen.rows}
        found: dict[int, tuple[int, Row] | None] = {}
        asker = asker_of(facts)
        for one in looked:
            item = items.get(one)
            if item is not None and not facts.is_open and not item.outlives:
                item = None
            mark = hash((item, facts.life, asker))
            if item is None:
                found[one] = None
            elif one not in seen.rows or seen.marks[one] != mark:
                found[one] = mark, row(item, facts)
        return found

    def _replace(self, seen: _Seen, number: int, new: tuple[int, Row] | None) -> None:
        """Store the new row of an exchange, and record the change."""
        old, session = seen.rows.get(number), seen.view.facts.name
        if new is None and old is None:
            return
        if old is not None:
            del self._waiting[bisect_left(self._waiting, (_order(old),))]
        if new is None:
            del seen.rows[number], seen.marks[number]
            self._note("closed", session, number)
            return
        seen.marks[number], seen.rows[number] = new
        insort(self._waiting, (_order(new[1]), new[1]), key=lambda one: one[0])
        if new[1] != old:
            self._note("arrived" if old is None else "changed", session, number)

    def _note(self, what: str, session: str, number: int = 0) -> None:
        self.version += 1
        self._changes.append(BoardChange(self.version, what, session, number))

    def _tell(self, before: int) -> None:
        if self.version != before:
            with self._changed:
                self._changed.notify_all()
            for listener in tuple(self._listeners):
                listener()

    def poke(self, key: Key | None = None) -> None:
        """Tell every page to look again, or those of one exchange, after a change elsewhere."""
        with self._lock:
            before = self.version
            if key is None:
                self._note("session", "")
            else:
                self._note("changed", key.session, key.number)
        self._tell(before)

    def look_away(self) -> None:
        """Tell every page to look again when the inbox is gone or back."""
        away, self._away = self._away, self.inbox.away
        if away != self._away:
            self.poke()

    def wait(self, seconds: float) -> None:
        with self._changed:
            self._changed.wait(seconds)

    # -- what a page asks -----------------------------------------------------------------------

    def since(self, version: int) -> tuple[BoardChange, ...] | None:
        """Return the changes after `version`; None if it is too old, or of another desk.

        A login that sees one session learns of no other one.
        """
        with self._lock:
            if version > self.version:
                return None
            if version == self.version:
                return ()
            if not self._changes or self._changes[0].version > version + 1:
                return None
            newest = reversed(self._changes)
            newer = list(itertools.takewhile(lambda change: change.version > version, newest))
        only = ONLY_SESSION.get()
        return tuple(one for one in newer[::-1] if not only or one.session in {"", only})

    def sessions(self) -> list[SessionView]:
        """Return all sessions, the newest letter first."""
        with self._lock:
            if self._by_letter is None:
                self._by_letter = sorted(
                    self._sessions.values(),
                    key=lambda seen: rank_of(seen.view.facts.letter),
                    reverse=True,
                )
            views = [seen.view for seen in self._by_letter]
        only = ONLY_SESSION.get()
        return [one for one in views if only in {"", one.facts.name}] if only else views

    def listed(self) -> list[SessionView]:
        """Return the sessions that lists show: all but those that are aside."""
        return [one for one in self.sessions() if not self.is_aside(one.facts.name)]

    def session(self, name: str) -> SessionView:
        """Return one session.

        Raises:
            UnknownItemError: there is no session with this name, or the login sees only another.
        """
        if ONLY_SESSION.get() not in {"", name}:
            raise UnknownItemError(name)
        with self._lock:
            seen = self._sessions.get(name)
            if seen is not None:
                return seen.view
        facts = self.inbox.facts(name)  # a probe also has a page, under its name
        return SessionView(facts, badge_of(facts), asker_of(facts))

    def waiting(self, session: str = "") -> list[Row]:
        """Return what waits for a person, the longest waiting first; of one session if named.

        Parked calls and open subscriptions come last, because no client waits for their response.
        """
        only = ONLY_SESSION.get()
        with self._lock:
            rows = [row for _order, row in self._waiting]
        return [
            one
            for one in rows
            if session in {"", one.key.session} and only in {"", one.key.session}
        ]

    def item(self, key: Key) -> Item | None:
        """Return an exchange; None if there is none."""
        try:
            return self.inbox.item(key) if key.number else None
        except UnknownItemError:
            return None

    def waits(self, key: Key) -> bool:
        seen = self._sessions.get(key.session)
        return seen is not None and key.number in seen.rows

    def last_line(self, session: str) -> tuple[str, int]:
        """Return the latest possible time of a session's last line, and its number."""
        seen = self._sessions.get(session)
        return LATEST if seen is None else seen.last

    def note_last_line(self, facts: SessionFacts, at: str, seq: int) -> None:
        """Store the last line of an ended session, which cannot change."""
        seen = self._sessions.get(facts.name)
        if seen is not None and not facts.is_open:
            seen.last = (at, seq)

    def remember_long(self, place: tuple[str, int, int], row: Step) -> None:
        """Cache the row of a long line; drop the oldest if the cache is full."""
        with self._lock:
            self.long_lines[place] = row
            if len(self.long_lines) > MOST_LONG:
                del self.long_lines[next(iter(self.long_lines))]

    def held(self, session: str) -> frozenset[int]:
        """Return the numbers of the messages that a tap holds in a session."""
        rows = self.waiting(session)
        return frozenset(row.key.number for row in rows if row.purpose is Purpose.HELD)

    def count(self) -> int:
        """Return the number of requests that wait for a person now."""
        return sum(one.waiting for one in self.listed())

    # -- what was shown -------------------------------------------------------------------------

    def show(self, key: Key) -> None:
        """Record that a page shows a request to somebody."""
        with self._lock:
            self._shown.setdefault(key, now())
            if len(self._shown) > REMEMBERED:
                del self._shown[next(iter(self._shown))]

    def shown_at(self, key: Key) -> str:
        """Return when this desk first showed a request, "" if unknown."""
        return self._shown.get(key, "")

    # -- who else is writing --------------------------------------------------------------------

    def look_at_writers(self) -> None:
        """Read who is writing, and tell pages to look again if that changed."""
        found = self.inbox.writers()
        with self._lock:
            before, old = self.version, self.writers
            self.writers = found
            for key in found.keys() | old.keys():
                if found.get(key) != old.get(key):
                    self._note("changed", *key)
        self._tell(before)


def _order(row: Row) -> _RowOrder:
    return row.subscription, row.parked, row.arrived, row.key


def opens_next(rows: Iterable[Row], opened: Urgency = Urgency.NEVER) -> Row | None:
    """Return what a page opens by itself: what has waited longest, of the most urgent.

    None if nothing is more urgent than what is `opened`.
    """
    more = [one for one in rows if one.standing.urgency < opened]
    return min(more, key=lambda one: (one.standing.urgency, one.arrived, one.key), default=None)


_log = logging.getLogger(__name__)


LOOK_AT_WRITERS: Final = 1.0
"""The seconds between two looks for writers: no event reports that somebody stopped."""


class Following:
    """Follows the inbox of a board, or of several, within a `with` block."""

    def __init__(self, board: Board | None = None, *, below: Path | None = None) -> None:
        """Keep `board` up to date with its inbox, or the boards that are added.

        With `below`, one watch serves all inboxes that are folders in it.
        """
        self._first = board
        self._boards: list[Board] = []
        self._below = None if below is None else Watch(below)
        self._watches = ExitStack()
        self._marked: set[tuple[int, str, int]] = set()
        self._condition = threading.Condition()
        self._ending = False
        self._thread = threading.Thread(target=self._work, name="desk-follow", daemon=True)

    def add(self, home: Path, board: Board) -> None:
        """Keep another board up to date; its inbox is the folder `home`."""
        wake = partial(self._wake, len(self._boards))
        self._boards.append(board)
        if self._below is None:
            self._watches.enter_context(board.inbox.watch(wake))
        else:
            self._below.add(home, wake)
        board.refresh_all()

    def __enter__(self) -> Self:
        """Start to watch, then read everything, so that no change is missed."""
        if self._below is not None:
            self._watches.enter_context(self._below)
        if self._first is not None:
            self.add(Path(), self._first)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._watches.close()
        with self._condition:
            self._ending = True
            self._condition.notify()
        self._thread.join()

    def _wake(self, board: int, session: str, number: int) -> None:
        with self._condition:
            self._marked.add((board, session, number))
            self._condition.notify()

    def _work(self) -> None:
        while True:
            with self._condition:
                self._condition.wait_for(lambda: self._marked or self._ending, LOOK_AT_WRITERS)
                if self._ending:
                    return
                marked, self._marked = self._marked, set()
            for one in tuple(self._boards):
                with suppress(InboxError):
                    one.look_at_writers()
                for session in one.take_less():
                    self._read(one, session, None)
            for board, session, number in sorted(marked):
                self._read(self._boards[board], session, number)

    def _read(self, board: Board, session: str, number: int | None) -> None:
        try:
            board.refresh(session, number)
        except (OSError, InboxError, UnsafeFolderError) as error:
            _log.warning("session %s cannot be read: %s", session, error)
