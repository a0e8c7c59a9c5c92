"""The practice host: play the client's part of a lesson against a seat, in the room's process.

It is attended as the seat's session is, by the same thread, and talks to it over a connection in
memory, so that no learner needs a process or a thread. The lesson decides what is sent when and
what passes (`LessonRun`); `demo/good_host.py` reacts to each answer.
"""

from __future__ import annotations

import enum
import math
import time
from typing import TYPE_CHECKING, Final, NamedTuple

from humanmcp.answering.summary import message_in
from humanmcp.extensions.classroom.demo.good_host import (
    GIVES_UP_AFTER,
    Answered,
    Failed,
    Ignored,
    Noticed,
    WasAsked,
)
from humanmcp.extensions.classroom.demo.steps import (
    GIVEN_BY,
    LessonRun,
    list_again,
    reply_of,
    tells_of_tools,
)
from humanmcp.inbox.contract import InboxError, Key, Life, StoreError
from humanmcp.protocol.conversation.transcript import Direction
from humanmcp.protocol.json.jsonrpc import Message

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from humanmcp.extensions.classroom.demo.good_host import Reaction
    from humanmcp.extensions.classroom.demo.steps import DemoStep, LessonSteps
    from humanmcp.inbox.contract import Inbox, Reply
    from humanmcp.protocol.conversation.transcript import Frame
    from humanmcp.protocol.json.jsonrpc import JsonObject
    from humanmcp.server.memory_connection import MemoryConnection
    from humanmcp.server.session import ServedSession

_SOON: Final = 0.02
_ASKS_AGAIN: Final = 0.2
"""Seconds between two looks whether the process that ran a session has let go of it."""
LIST: Final = "tools/list"
BY_TEACHER: Final = "teacher"
"""The author of an answer that the teacher sent at a learner's seat."""


class StepOutcome(enum.Enum):
    """The outcome of a step."""

    PASSED = "passed"
    FAILED = "failed"
    GIVEN = "given"
    """The lesson or the teacher answered it, not the learner."""


class StepEnd(NamedTuple):
    """The end of step `at`, from 1. With `is_retold`, it happened before this process.

    `by` is who answered its request, exchange `number` of the session; "" for nobody.
    """

    at: int
    number: int
    by: str
    outcome: StepOutcome
    is_retold: bool


class LessonStanding(NamedTuple):
    """Where a seat is in its lesson: at request `step` of `total`, from 1; `total` + 1 at its end.

    `since` is when the step was first asked, by the clock of the class; 0 for not known.
    """

    step: int
    total: int
    outcomes: tuple[StepOutcome, ...] = ()
    since: float = 0.0

    @property
    def is_over(self) -> bool:
        """Return True if every step has its answer."""
        return self.step > self.total

    @property
    def passed(self) -> int:
        """How many steps the learner passed."""
        return self.outcomes.count(StepOutcome.PASSED)


class PracticeLine(NamedTuple):
    """Where a practice host speaks: its end of the connection, and the session at the other end."""

    connection: MemoryConnection
    inbox: Inbox
    session: str


class Practice:
    """The host of one session.

    `on_change` is called after each change, `on_ask` with each step that is asked for the first
    time and whether that was before this process, `on_end` with the end of each step; all from the
    attendant's thread, but for what is told again. `on_ask` returns since when the step is open.
    """

    def __init__(
        self,
        lesson_steps: LessonSteps,
        line: PracticeLine,
        on_change: Callable[[], object],
        on_ask: Callable[[int, bool], float],
        on_end: Callable[[StepEnd], object],
    ) -> None:
        self._lesson_run = LessonRun(lesson_steps, lesson_steps.host())
        self._connection, self._inbox, self.session = line
        self._on_change = on_change
        self._on_ask = on_ask
        self._on_end = on_end
        self._given: dict[int, Reply] = {
            at: one.reply for at, one in enumerate(lesson_steps.requests, 1) if one.given
        }
        self._asked: tuple[DemoStep, Message] | None = None
        self._number = 0
        self._steps: dict[int, int] = {}
        """Which step each exchange asks for, from 1."""
        self._deadline = math.inf
        self._list_again = False
        self._answers: dict[int, JsonObject] = {}
        """What was answered to each step last, if the host could use it."""
        self._given_steps: set[int] = set()
        """The steps that the lesson or the teacher answered."""
        self.since = 0.0
        """When the present step was first asked, by the clock of the class; 0 for not known."""
        self.has_ended = False
        """The session is over, whether or not the lesson came to its end."""
        self._is_left_off = False
        self.on_leaving_off: Callable[[], object] = lambda: None
        self._told: Frame | None = None
        """The line that is told again: what happened before. Then nothing is said."""

    @property
    def standing(self) -> LessonStanding:
        """Where the learner is."""
        total = len(self._lesson_run.lesson_steps.requests)
        passed = enumerate(tuple(self._lesson_run.passed), 1)
        outcomes = tuple(self._outcome(at, passed=one) for at, one in passed)
        return LessonStanding(len(outcomes) + 1, total, outcomes, self.since)

    def _outcome(self, at: int, *, passed: bool) -> StepOutcome:
        if not passed:
            return StepOutcome.FAILED
        return StepOutcome.GIVEN if at in self._given_steps else StepOutcome.PASSED

    @property
    def open_step(self) -> int:
        """The step that waits for its answer, from 1; 0 for none."""
        return 0 if self._asked is None or self.has_ended else self.step_of(self._number)

    def step_of(self, number: int) -> int:
        """Return the step that an exchange asks for, from 1; 0 where it belongs to none."""
        return self._steps.get(number, 0)

    def replies_before(self, step: int) -> dict[int, Reply]:
        """Return what answers the steps before one again: what passed, else the example."""
        passed = {at for at, one in enumerate(self._lesson_run.passed, 1) if one}
        return {
            at: reply_of(self._answers[at]) if at in passed & {*self._answers} else example
            for at, example in self._lesson_run.lesson_steps.replies_before(step).items()
        }

    def was_broken_off(self, life: Life) -> bool:
        """Return True if the room was killed while it ended this session to begin the next one.

        Then the session is closed, or its open request is, before the lesson has come to its end.
        """
        is_left = self._asked is not None or bool(self._lesson_run.left)
        is_closed = life is Life.CLOSED or (self._asked is not None and self._is_over())
        return is_closed and is_left and not self.has_ended

    def end(self) -> None:
        """Hang up: the session is over. Callable from any thread."""
        self.has_ended = True
        self._connection.hang_up()
        self._connection.on_line()

    def leave_off(self) -> None:
        """Stop where the lesson is; another host can go on with the session. From any thread."""
        self._is_left_off = True
        self._connection.on_line()
        self.on_leaving_off()

    def go_on(self, frames: Iterable[Frame]) -> bool:
        """Be where the transcript of a session ends. Return False if it is of another lesson."""
        found = all(self._retell(frame, message_in(frame)) for frame in frames)
        self._told = None
        return found

    def _retell(self, frame: Frame, message: object) -> bool:
        now = time.monotonic()
        if frame.direction is Direction.OUT:
            self._told = frame
            self._hear(frame.raw, now)
        elif not frame.note and isinstance(message, Message) and message.method:
            self._told = frame
            if self._asked is not None:  # the host says nothing else before it gives up
                self._give_up(self._asked)
                if message.method == "notifications/cancelled":
                    return True
            # The host can have heard of new tools after it said this.
            waits, said = self._list_again and message.method != LIST, ""
            self._list_again &= not waits
            while not said and self._lesson_run.left and not self.has_ended:
                said = self._say_next(now)
            self._list_again |= waits
            return said == message.method
        return True

    def give(self, given: Mapping[int, Reply]) -> None:
        """Answer these steps for the learner when they are asked. Callable from any thread."""
        self._given = {**given, **self._given}
        self._connection.on_line()

    @property
    def gives(self) -> bool:
        """Return True while the request is open that the lesson answers."""
        at = self.open_step
        return at > 0 and self._lesson_run.lesson_steps.requests[at - 1].given

    # -- attended -------------------------------------------------------------------------------

    def begin_steps(self, wake: Callable[[], object]) -> None:
        """Be woken by each line of the session."""
        self._connection.on_line = wake

    def step(self, now: float) -> float | None:
        """Read the server's lines, and send the next step."""
        if self._is_left_off:
            return None
        while (heard := self._connection.hear()) is not None:
            self._hear(heard.content, now)
        if now >= self._deadline and self._asked is not None:
            self._give_up(self._asked)
        while self._asked is None and not self.has_ended and self._lesson_run.left:
            self._say_next(now)
        if self._asked is None:  # the lesson is over
            self.has_ended = True
            self._connection.hang_up()
            self._on_change()
            return None
        if self.has_ended:
            return None
        return now + _SOON if self._has_to_give() else self._deadline

    def leave(self) -> None:
        """Do nothing: who ends this hangs up."""

    # -- what the host sends --------------------------------------------------------------------

    def _say(self, line: str) -> None:
        if self._told is None:
            self._connection.say(line.encode())

    def _say_next(self, now: float) -> str:
        """Send the next message. Return its method; "" if the lesson goes back or cannot go on."""
        again, self._list_again = self._list_again, False
        step = list_again("en") if again else self._lesson_run.left.pop(0)
        line, request = self._lesson_run.message(step)
        if not line:
            if not self._lesson_run.go_back():
                self.has_ended = True
            return ""
        self._say(line)
        if request is None:
            return step.method
        self._asked = step, request
        self._deadline = now + step.timeout if step.timeout else math.inf
        self._number += 1
        if not again:
            at = len(self._lesson_run.passed) + 1
            if at not in self._steps.values():
                self.since = self._on_ask(at, self._told is not None)
            self._steps[self._number] = at
        self._on_change()
        return step.method

    def _has_to_give(self) -> bool:
        """Send a prepared answer. Return True while its request is not in the inbox yet."""
        at = self.step_of(self._number)
        if self._asked is None or at not in self._given:
            return False
        try:
            self._inbox.send(Key(self.session, self._number), self._given[at])
        except InboxError:  # not there yet, or already answered
            return not self._is_over()
        del self._given[at]
        return False

    def _is_over(self) -> bool:
        try:
            return not self._inbox.item(Key(self.session, self._number)).waits
        except InboxError:
            return False

    # -- how it reacts --------------------------------------------------------------------------

    def _hear(self, line: bytes, now: float) -> None:
        for reaction in self._lesson_run.host.take(line):
            self._react(reaction, now)

    def _react(self, reaction: Reaction, now: float) -> None:
        self._lesson_run.heard.append(reaction)
        match reaction:
            case Answered() | Failed():
                self._settle(reaction)
            case Ignored():
                if reaction.is_in_vain:
                    self._deadline = min(self._deadline, now + GIVES_UP_AFTER)
            case WasAsked(_, line):
                self._say(line)
            case Noticed():
                self._list_again |= tells_of_tools(reaction)

    def _settle(self, reaction: Answered | Failed) -> None:
        if self._asked is None:
            return
        step, _ = self._asked
        if isinstance(reaction, Answered):
            self._answers[self.step_of(self._number)] = reaction.message.body
        self._finish()
        if step.method == "initialize" and isinstance(reaction, Failed):
            self.end()

    def _give_up(self, open_one: tuple[DemoStep, Message]) -> None:
        step, request = open_one
        line = self._lesson_run.host.give_up(request, step.gives_up_after)
        if line is not None:
            self._say(line)
        self._finish()

    def _finish(self) -> None:
        at, self._asked, self._deadline = self.step_of(self._number), None, math.inf
        if at:
            told, author = self._told, self._author()
            self._given_steps.discard(at)
            if author in {GIVEN_BY, BY_TEACHER}:
                self._given_steps.add(at)
            outcome = self._outcome(at, passed=self._lesson_run.judge(given=author == GIVEN_BY))
            self._on_end(StepEnd(at, self._number, author, outcome, told is not None))
        self._on_change()

    def _author(self) -> str:
        """Return who answered the request that is over; "" for nobody."""
        if self._told is not None:
            return self._told.by
        try:
            answer = self._inbox.item(Key(self.session, self._number)).answer
        except InboxError:
            return ""
        return "" if answer is None else answer.by


class PracticeSession:
    """The session that a practice host talks to. The next process goes on with it where it was."""

    def __init__(
        self, make: Callable[[], ServedSession], on_over: Callable[[], object] = lambda: None
    ) -> None:
        """Serve what `make` makes, once the process that ran it before has let go of it.

        `on_over` is called at its end, which its person can order, too.
        """
        self._make, self._on_over = make, on_over
        self._server: ServedSession | None = None
        self._wake: Callable[[], object] = lambda: None
        self._leaves = False

    def leave_off(self) -> None:
        """Leave the session as it is. Callable from any thread."""
        self._leaves = True
        self._wake()

    def begin_steps(self, wake: Callable[[], object]) -> None:
        """Begin now, if nobody else runs it."""
        self._wake = wake
        self._begun()

    def _begun(self) -> ServedSession | None:
        if self._server is None:
            try:
                self._server = self._make()
            except StoreError:
                return None
            self._server.begin_steps(self._wake)
        return self._server

    def step(self, now: float) -> float | None:
        server = None if self._leaves else self._begun()
        if server is None:
            return None if self._leaves else now + _ASKS_AGAIN
        return server.step(now)

    def leave(self) -> None:
        """End a lesson that is over; leave any other to the next process."""
        if self._server is not None:
            self._server.leave(to_others=not self._server.is_over)
            if self._server.is_over:
                self._on_over()
