"""One tapped run, from the start of the real server to its end.

The pumps move bytes, the recorder writes, and this loop does all the rest: it is the only one that
decides, so nothing needs a lock. It ends when the server has ended and all it said was passed on.
"""

from __future__ import annotations

import logging
import signal
import time
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Final, TypeAlias

from humanmcp.common.file_descriptors import ending_signals
from humanmcp.common.timestamps import stamp
from humanmcp.inbox.contract import InboxError
from humanmcp.locales.stop import sentence_of
from humanmcp.protocol.conversation.transcript import Direction
from humanmcp.protocol.policy.hold_patterns import PatternError, parse_all
from humanmcp.tap.hold_policy import Cancelled, Held
from humanmcp.tap.pump import Pump
from humanmcp.tap.recorder import BY_TAP

if TYPE_CHECKING:
    from types import FrameType

    from humanmcp.common.book_file import BookFile
    from humanmcp.inbox.contract import StubInbox
    from humanmcp.tap.child import ServerProcess
    from humanmcp.tap.held_queue import HeldQueue
    from humanmcp.tap.hold_policy import HoldPolicy
    from humanmcp.tap.recorder import TapRecorder
    from humanmcp.tap.sink import Sink

logger = logging.getLogger(__name__)

NAP: Final = 0.01
"""Seconds between two looks at the inbox while something is held."""

LONG_NAP: Final = 0.25
"""Seconds between two looks while nothing is: a person may say what is to be held."""

QUIET: Final = 0.3
"""Seconds without a byte after which a pipe that outlived its server counts as somebody else's."""

MERCY: Final = 1.5
"""Seconds between a signal and the end by force. Hosts wait 2 s before they end us that way."""

RECORDS_WITHIN: Final = 10.0
"""Seconds that the record may take to be complete once all else has ended. It seldom takes any."""

RECORDS_SOON: Final = 0.3
"""The same when we were told to stop."""


@dataclass(frozen=True, slots=True)
class StreamEnded:
    """A pump has moved its last byte."""

    way: Direction


@dataclass(frozen=True, slots=True)
class ChildEnded:
    """The real server has ended."""


News: TypeAlias = Held | Cancelled | StreamEnded | ChildEnded


@dataclass(frozen=True, slots=True)
class TappedSession:
    """The session in the inbox. There is none when the inbox cannot be used: all passes then."""

    inbox: StubInbox
    name: str
    holds: HeldQueue
    shelf: BookFile | None = None


class Tap:
    """The pumps of one run and what happens between them."""

    def __init__(  # noqa: PLR0913 - the parts of a tap, each with its own module
        self,
        *,
        child: ServerProcess,
        source: int,
        sinks: dict[Direction, Sink],
        gate: HoldPolicy,
        recorder: TapRecorder,
        news: SimpleQueue[News],
        session: TappedSession | None,
    ) -> None:
        """Put the parts together. `source` is where the client writes."""
        self._child = child
        self._recorder = recorder
        self._gate = gate
        self._session = session
        self._news = news
        self._sinks = sinks
        self._pumps = {
            way: Pump(
                way, descriptor, sinks[way], gate=gate, listener=recorder, ended=self._stream_ended
            )
            for way, descriptor in (
                (Direction.IN, source),
                (Direction.OUT, child.stdout),
                (Direction.ERR, child.stderr),
            )
        }
        self._kill_at: float | None = None
        self._killed = False
        self._told_holds: tuple[str, ...] = gate.patterns
        self._next_look_at_holds = 0.0

    def run(self) -> int:
        """Work until the real server has ended. Returns its exit status."""
        before = {number: signal.signal(number, self._told) for number in _heeded()}
        self._recorder.start()
        for pump in self._pumps.values():
            pump.start()
        self._child.watch(lambda: self._news.put(ChildEnded()))
        while not self._over():
            self._take_in(self._wait())
            self._look()
        self._finish()
        for number, handler in before.items():
            signal.signal(number, handler)
        return self._child.status or 0

    def _stream_ended(self, way: Direction) -> None:
        self._news.put(StreamEnded(way))

    def _told(self, number: int, _frame: FrameType | None) -> None:
        """Pass a signal on. At once: thousands of held messages may wait for the loop."""
        self._child.pass_on(number)
        self._kill_at = self._kill_at or time.monotonic() + MERCY

    # -- the loop -------------------------------------------------------------------------------

    def _wait(self) -> News | None:
        soon = self._child.status is not None or (self._session and len(self._session.holds))
        try:
            return self._news.get(timeout=NAP if soon else LONG_NAP)
        except Empty:
            return None

    def _take_in(self, news: News | None) -> None:
        match news:
            case Held():
                self._hold(news)
            case Cancelled():
                if self._session is not None:
                    self._session.holds.cancelled(news)
            case StreamEnded(way):
                self._side_ended(way)
            case ChildEnded() | None:
                pass

    def _hold(self, held: Held) -> None:
        if self._session is None:  # nobody could let it go
            self._sinks[held.way].insert(held.line)
            return
        if not self._pumps[held.way].running:  # many may wait behind it, and none for a person
            self._session.holds.side_ended(held.way, stamp(time.time()))
        self._session.holds.take(held, time.monotonic(), stamp(time.time()))

    def _side_ended(self, way: Direction) -> None:
        """Pass the end of a stream on, after what was held of it."""
        if self._session is not None:
            self._session.holds.side_ended(way, stamp(time.time()))
        self._sinks[way].close()

    def _look(self) -> None:
        now = time.monotonic()
        if self._out_of_mercy(now) and not self._killed:
            self._killed = True
            logger.warning("the server did not end when it was told to: it is ended by force")
            self._child.kill()
        if self._session is None:
            return
        if len(self._session.holds):
            self._session.holds.look(now, stamp(time.time()))
        if now >= self._next_look_at_holds:
            self._next_look_at_holds = now + LONG_NAP
            self._look_at_holds(self._session)
            self._look_at_book(self._session.shelf, now)

    def _look_at_book(self, shelf: BookFile | None, now: float) -> None:
        """Follow a book that was saved; a mistake in it is said, and the last good one stays."""
        if shelf is None or not shelf.poll(now):
            return
        if shelf.complaint is not None:
            self._note(f"the answer book cannot be used: {shelf.complaint}")
        else:
            self._gate.follow(shelf.book)

    def _look_at_holds(self, session: TappedSession) -> None:
        """Hold what a person wants held now; tell them what is no longer held (`next`)."""
        try:
            wanted = tuple(session.inbox.holds(session.name))
            if wanted != self._told_holds:
                self._gate.hold(parse_all(wanted))
            elif self._gate.patterns != wanted:
                session.inbox.hold(session.name, self._gate.patterns)
            session.holds.refuse_sayings()
        except (InboxError, PatternError) as error:
            self._note(sentence_of(error, "en"))
        self._told_holds = tuple(self._gate.patterns)

    def _note(self, trouble: str) -> None:
        """Write a trouble of our own into the record, where it is seen, and into the log."""
        logger.warning("%s", trouble)
        self._recorder.put(Direction.NOTE, b"", by=BY_TAP, note=trouble)

    # -- the end --------------------------------------------------------------------------------

    def _over(self) -> bool:
        """Return True if the server has ended and nothing that it said is still on its way."""
        if self._child.status is None:
            return False
        return not any(self._still_says_something(way) for way in (Direction.OUT, Direction.ERR))

    def _still_says_something(self, way: Direction) -> bool:
        """Tell a pipe with something in it from one that a grandchild merely holds open."""
        pump = self._pumps[way]
        if not pump.running:
            return False
        if self._out_of_mercy(time.monotonic()):
            return False  # told to stop, and whoever should read does not
        return not pump.silent_for(QUIET)

    def _out_of_mercy(self, now: float) -> bool:
        return self._kill_at is not None and now >= self._kill_at

    def _finish(self) -> None:
        self._side_ended(
            Direction.IN
        )  # nobody reads it: its pump ends, however much a client writes
        if self._session is not None:
            self._session.holds.side_ended(Direction.OUT, stamp(time.time()))
        while (news := self._next_news()) is not None:  # what ended while we looked
            self._take_in(news)
        for way in (Direction.OUT, Direction.ERR):
            self._side_ended(way)
        while self._somebody_still_reads():
            self._take_in(self._wait())
        self._finish_record()
        if self._session is not None:
            try:
                self._session.inbox.end(self._session.name)
            except InboxError as error:
                logger.warning("the session cannot be ended in the inbox: %s", error)
                self._recorder.trouble = error

    def _somebody_still_reads(self) -> bool:
        """Return True if the last words wait for a slow reader, and nobody told us to stop."""
        if self._out_of_mercy(time.monotonic()):
            return False
        return any(self._sinks[way].open for way in (Direction.OUT, Direction.ERR))

    def _finish_record(self) -> None:
        """Let what waits be written down, as long as nobody is in a hurry."""
        self._recorder.stop()
        began = time.monotonic()
        while not self._recorder.wait(NAP):
            patience = RECORDS_WITHIN if self._kill_at is None else RECORDS_SOON
            if time.monotonic() - began > patience:
                break

    def _next_news(self) -> News | None:
        try:
            return self._news.get_nowait()
        except Empty:
            return None


def _heeded() -> list[signal.Signals]:
    """List the signals that are passed on; a hangup stays ignored where it was (`nohup`)."""
    return [
        number
        for number in ending_signals()
        if not (number.name == "SIGHUP" and signal.getsignal(number) is signal.SIG_IGN)
    ]
