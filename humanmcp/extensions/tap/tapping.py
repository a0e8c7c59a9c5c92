"""One tapped run, from the start of the real server to its end.

The pumps move bytes, the recorder writes, and each step here does all the rest: it is the only one
that decides, so nothing needs a lock. The attendant steps it when something came from a pump, when
a desk rings, and at the moments that it names. It ends when the server has ended and
all it said was passed on.
"""

from __future__ import annotations

import logging
import math
import time
from collections import deque
from dataclasses import InitVar, dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

from humanmcp.common.timestamps import stamp
from humanmcp.extensions.tap.hold import Cancelled, Held, NotTaken
from humanmcp.extensions.tap.pump import Pump
from humanmcp.extensions.tap.recorder import BY_TAP
from humanmcp.inbox.attendant import FALLBACK_POLL, PollSchedule
from humanmcp.inbox.contract import InboxError
from humanmcp.locales import speaking
from humanmcp.locales.stop import sentence_of
from humanmcp.protocol.conversation.transcript import Direction
from humanmcp.protocol.validation.held import PatternError, parse_patterns

if TYPE_CHECKING:
    from collections.abc import Callable

    from humanmcp.common.book_file import BookFile
    from humanmcp.extensions.tap.hold import HeldQueue, HoldPolicy
    from humanmcp.extensions.tap.pump import Sink
    from humanmcp.extensions.tap.real_server import RemoteServer, ServerProcess
    from humanmcp.extensions.tap.recorder import Listening, TapRecorder
    from humanmcp.inbox.inbox_session import InboxSession

logger = logging.getLogger(__name__)

VISITOR: Final = "HUMANMCP_TAP_VISITOR"
"""The variable that tells a tap that its client has no session (`SessionFacts.http.visitor`)."""

SESSION_ID: Final = "HUMANMCP_TAP_SESSION"
"""The variable that tells a tap the `Mcp-Session-Id` of its client (`SessionFacts.http.id`)."""

KEYED: Final = "HUMANMCP_TAP_KEYED"
"""The variable that tells a tap that its lines come with orders (`keyed_server.py`)."""

QUIET: Final = 0.3
"""Seconds without a byte until a pipe that outlived its server counts as another program's."""

KILL_GRACE: Final = 1.5
"""Seconds between a signal and the end by force. Hosts wait 2 s before they end us that way."""

RECORDS_WITHIN: Final = 10.0
"""Seconds that the last remarks may take once all else has ended. They seldom take any."""

RECORDS_SOON: Final = 0.3
"""The same when we were told to stop."""


TapEvent: TypeAlias = Held | NotTaken | Cancelled | Direction
"""What was held, refused or cancelled, or the stream of which a pump has moved the last byte."""


class TapEvents:
    """The events of a tap's threads, in order, until a step takes them. `put` is for any thread."""

    def __init__(self) -> None:
        self.wake: Callable[[], object] = lambda: None
        self._waiting: deque[TapEvent] = deque()

    def put(self, event: TapEvent) -> None:
        self._waiting.append(event)
        self.wake()

    def take(self) -> TapEvent | None:
        return self._waiting.popleft() if self._waiting else None


@dataclass(frozen=True, slots=True)
class TappedSession:
    """The session in the inbox. There is none when the inbox cannot be used: all passes then."""

    inbox_session: InboxSession
    holds: HeldQueue
    listening: Listening
    book_file: BookFile | None = None


@dataclass(eq=False, kw_only=True)
class Tap:
    """The pumps of one run and what happens between them. An `Attended`.

    `source` is where the client writes.
    """

    child: ServerProcess | RemoteServer
    source: InitVar[int]
    sinks: dict[Direction, Sink]
    hold_policy: HoldPolicy
    recorder: TapRecorder
    events: TapEvents
    session: TappedSession | None

    def __post_init__(self, source: int) -> None:
        self._pumps = {
            direction: Pump(
                direction,
                descriptor,
                self.sinks[direction],
                gate=self.hold_policy,
                listener=self.recorder,
                ended=self.events.put,
            )
            for direction, descriptor in (
                (Direction.IN, source),
                (Direction.OUT, self.child.stdout),
                (Direction.ERR, self.child.stderr),
            )
        }
        bell = None if self.session is None else self.session.inbox_session.bell
        self._schedule = PollSchedule(bell)
        self._schedule.duties = math.inf
        self._kill_at: float | None = None
        self._killed = False
        self._is_ending = False
        self._known_holds: tuple[str, ...] = self.hold_policy.patterns

    def begin_steps(self, wake: Callable[[], object]) -> None:
        """Start the pumps and the server's watch."""
        self.events.wake = wake
        self._schedule.listen(wake)
        if self.session is not None:
            self.session.listening.start()
        for pump in self._pumps.values():
            pump.start()
        self.child.watch(wake)

    def pass_on(self, number: int) -> None:
        """Pass a signal on. At once: thousands of held messages may wait for a step."""
        self.child.pass_on(number)
        self._kill_at = self._kill_at or time.monotonic() + KILL_GRACE
        self.events.wake()

    # -- a step ---------------------------------------------------------------------------------

    def step(self, now: float) -> float | None:
        """Handle one event, then what is due."""
        event = self.events.take()
        self._take_in(event)
        self._look(now)
        if not self._is_ending and self._over(now):
            self._is_ending = True
            self._let_the_last_go()
        if self._is_ending:
            return now + FALLBACK_POLL if self._somebody_still_reads(now) else None
        return now if event is not None else self._next_step(now)

    def _next_step(self, now: float) -> float:
        killed_at = math.inf if self._kill_at is None or self._killed else self._kill_at
        ended = math.inf if self.child.status is None else now + FALLBACK_POLL
        return min(ended, killed_at, math.inf if self.session is None else self._schedule.next())

    def _take_in(self, event: TapEvent | None) -> None:
        match event:
            case Held():
                self._hold(event)
            case NotTaken():
                if self.session is not None:
                    self.session.holds.refuse(event, stamp(time.time()))
            case Cancelled():
                if self.session is not None:
                    self.session.holds.cancelled(event)
            case Direction():
                self._side_ended(event)
            case None:
                pass

    def _hold(self, held: Held) -> None:
        if self.session is None:  # nobody could let it go
            self.sinks[held.direction].insert(held.line)
            return
        if not self._pumps[
            held.direction
        ].running:  # many may wait behind it, and none for a person
            self.session.holds.side_ended(held.direction, stamp(time.time()))
        now = time.monotonic()
        self.session.holds.take(held, now, stamp(time.time()))
        self._schedule.arrived(now)
        self._schedule.duties = now

    def _side_ended(self, direction: Direction) -> None:
        """Pass the end of a stream on, after what was held of it."""
        if self.session is not None:
            self.session.holds.side_ended(direction, stamp(time.time()))
        self.sinks[direction].close()

    def _look(self, now: float) -> None:
        if self._must_end(now) and not self._killed:
            self._killed = True
            logger.warning("the server did not end when it was told to: it is ended by force")
            self.child.kill()
        session, schedule = self.session, self._schedule
        if session is None or not schedule.is_due(now):
            return
        if schedule.desks_are_due(now):
            session.holds.follow_people(stamp(time.time()))
            self._look_at_holds(session)
            schedule.desks_were_seen(now, time.monotonic(), waiting=len(session.holds) > 0)
        if now >= schedule.duties:
            session.holds.come_due(now, stamp(time.time()))
        schedule.duties = session.holds.next()
        if schedule.rest_is_due(now):
            self._look_at_book(session.book_file, now)
            session.inbox_session.catch_up()

    def _look_at_book(self, book_file: BookFile | None, now: float) -> None:
        """Follow a book that was saved; a mistake in it is said, and the last good one stays."""
        if book_file is None or not book_file.poll(now):
            return
        if book_file.complaint is not None:
            self._note(f"the answer book cannot be used: {book_file.complaint}")
        else:
            self.hold_policy.follow(book_file.book)

    def _look_at_holds(self, session: TappedSession) -> None:
        """Hold what a person wants held now; tell them what is no longer held (`next`)."""
        inbox, name = session.inbox_session.inbox, session.inbox_session.name
        try:
            wanted = tuple(inbox.holds(name))
            if wanted != self._known_holds:
                self.hold_policy.hold(parse_patterns(wanted))
            elif self.hold_policy.patterns != wanted:
                inbox.hold(name, self.hold_policy.patterns)
            session.holds.refuse_outgoing()
        except (InboxError, PatternError) as error:
            with speaking("en"):  # as all of the transcript
                self._note(sentence_of(error))
        self._known_holds = tuple(self.hold_policy.patterns)

    def _note(self, trouble: str) -> None:
        """Write a trouble of our own into the record, where it is seen, and into the log."""
        logger.warning("%s", trouble)
        self.recorder.put(Direction.NOTE, b"", by=BY_TAP, note=trouble)

    # -- the end --------------------------------------------------------------------------------

    def _over(self, now: float) -> bool:
        """Return True if the server has ended and nothing that it said is still on its way."""
        if self.child.status is None:
            return False
        return not any(
            self._still_says_something(direction, now)
            for direction in (Direction.OUT, Direction.ERR)
        )

    def _still_says_something(self, direction: Direction, now: float) -> bool:
        """Return True if a pipe has unread bytes, and is not merely held open by a grandchild."""
        pump = self._pumps[direction]
        if not pump.running:
            return False
        if self._must_end(now):
            return False  # told to stop, and whoever should read does not
        return not pump.silent_for(QUIET)

    def _must_end(self, now: float) -> bool:
        return self._kill_at is not None and now >= self._kill_at

    def _let_the_last_go(self) -> None:
        """Pass on what the server said last, and both ends of the streams."""
        self._side_ended(Direction.IN)  # nobody reads it: its pump ends, however much is written
        if self.session is not None:
            self.session.holds.side_ended(Direction.OUT, stamp(time.time()))
        while (event := self.events.take()) is not None:  # what ended while we looked
            self._take_in(event)
        for direction in (Direction.OUT, Direction.ERR):
            self._side_ended(direction)

    def _somebody_still_reads(self, now: float) -> bool:
        """Return True if the last words wait for a slow reader, and we were not told to stop."""
        if self._must_end(now):
            return False
        return any(self.sinks[direction].open for direction in (Direction.OUT, Direction.ERR))

    def leave(self) -> None:
        """Hear the last lines within the time limit, and end the session."""
        if self.session is None:
            return
        self.session.listening.stop()
        began = time.monotonic()
        while not self.session.listening.wait(FALLBACK_POLL):
            timeout = RECORDS_WITHIN if self._kill_at is None else RECORDS_SOON
            if time.monotonic() - began > timeout:
                break
        self.recorder.trouble = self.session.inbox_session.end() or self.recorder.trouble
