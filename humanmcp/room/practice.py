"""The practice host: plays the client's part of a lesson against a seat, inside the room's process.

It is attended as the seat's session is, by the same thread, and talks to it over a connection in
memory: no process and no thread for each learner. What is said when, and what passes, is the
lesson's (`Course`); what a good host makes of each answer, `demo/good_host.py` knows.
"""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from humanmcp.demo.good_host import (
    GIVES_UP_AFTER,
    Answered,
    Failed,
    Ignored,
    Noticed,
    WasAsked,
)
from humanmcp.demo.passing import passes
from humanmcp.demo.steps import list_again
from humanmcp.inbox.contract import InboxError, Key, Reply
from humanmcp.protocol.diagnostics.verdict import TextForm

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from humanmcp.demo.good_host import Reaction
    from humanmcp.demo.steps import Course, DemoStep
    from humanmcp.inbox.contract import Draft, Inbox
    from humanmcp.protocol.json.jsonrpc import Message
    from humanmcp.stub.connection import MemoryConnection

_SOON: Final = 0.02
BY: Final = "practice"
"""How an answer is signed that was given before, or that the teacher let be given."""


class LessonStanding(NamedTuple):
    """Where a seat is in its lesson: at request `step` of `total`, from 1; `total` + 1 at its end.

    `passed` says of each request that is over whether its answer passed.
    """

    step: int
    total: int
    passed: tuple[bool, ...] = ()


def as_reply(example: Mapping[str, Any]) -> Reply:
    """Return an answer of the lesson's own as what a person sends."""
    form = TextForm.ERROR if "error" in example else TextForm.RESULT
    return Reply(json.dumps(example[form.value], ensure_ascii=False), form)


class PracticeLine(NamedTuple):
    """Where a practice host speaks: its end of the connection, and the session at the other end."""

    connection: MemoryConnection
    inbox: Inbox
    session: str


class Practice:
    """The host of one session. `given` are answers that are sent for the learner, in order.

    `on_change` is called, from the attendant's thread, when something has changed.
    """

    def __init__(
        self,
        course: Course,
        line: PracticeLine,
        on_change: Callable[[], object],
        given: Sequence[Reply] = (),
    ) -> None:
        """Begin with the first step of the course."""
        self._course = course
        self._connection, self._inbox, self.session = line
        self._on_change = on_change
        self._given = list(given)
        self._host = course.host()
        self._heard: list[Reaction] = []
        self._next = 0
        self._asked: tuple[DemoStep, Message] | None = None
        self._number = 0
        self._deadline = math.inf
        self._ask_again = False
        self._passed: list[bool] = []
        self._over = False
        self._draft: tuple[int, Draft] | None = None

    @property
    def standing(self) -> LessonStanding:
        """Where the learner is."""
        total = len(self._course.requests)
        done = min(len(self._passed), total)
        return LessonStanding(done + 1, total, tuple(self._passed[:total]))

    def end(self) -> None:
        """Hang up: the session is over. Callable from any thread."""
        self._over = True
        self._connection.hang_up()
        self._connection.on_line()

    def start_from(self, number: int, draft: Draft) -> None:
        """Let a request start from what was typed for it before."""
        self._draft = number, draft

    # -- attended -------------------------------------------------------------------------------

    def begin(self, wake: Callable[[], object]) -> None:
        """Be woken by each line of the session."""
        self._connection.on_line = wake

    def step(self, now: float) -> float | None:
        """Hear what was said, and say what comes next."""
        while (heard := self._connection.hear()) is not None:
            self._hear(heard.content, now)
        if now >= self._deadline and self._asked is not None:
            self._give_up(self._asked)
        while self._asked is None and not self._over and self._next < len(self._course.steps):
            self._say_next(now)
        if self._asked is None:  # that was all
            self._connection.hang_up()
            self._on_change()
            return None
        if self._over:
            return None
        return now + _SOON if self._has_to_give() else self._deadline

    def leave(self) -> None:
        """Do nothing: who ends this hangs up."""

    # -- what the host says ---------------------------------------------------------------------

    def _say_next(self, now: float) -> None:
        again = self._ask_again
        step = list_again("en") if again else self._course.steps[self._next]
        self._next += not again
        self._ask_again = False
        params = self._course.params(step, self._host.tools, passed=all(self._passed[-1:]))
        if params is None:  # there is no tool to call, and nothing to go on with
            self._next = len(self._course.steps)
            self._passed += [False] * (len(self._course.requests) - len(self._passed))
            return
        if step.example is None and not again:
            self._connection.say(step.line.encode())
            return
        asked = self._host.ask(step.method, params)
        self._asked, self._heard = (step, asked), []
        self._deadline = now + step.patience if step.patience else math.inf
        self._number += 1
        self._connection.say(asked.raw.encode())
        self._on_change()

    def _has_to_give(self) -> bool:
        """Send an answer that stands already. True while its request is on its way to the inbox."""
        if self._asked is None or not (self._given or self._draft):
            return False
        if not self._given:
            return self._has_to_draft()
        try:
            self._inbox.send(Key(self.session, self._number), self._given[0]._replace(by=BY))
        except InboxError:  # it is not there yet, or somebody was first
            return not self._is_over()
        del self._given[0]
        return False

    def _has_to_draft(self) -> bool:
        if self._draft is None or self._draft[0] != self._number:
            return False
        try:
            self._inbox.item(Key(self.session, self._number))
        except InboxError:
            return True
        self._inbox.save(Key(self.session, self._number), self._draft[1])
        self._draft = None
        return False

    def _is_over(self) -> bool:
        try:
            return not self._inbox.item(Key(self.session, self._number)).waits
        except InboxError:
            return False

    # -- what it makes of what it hears ---------------------------------------------------------

    def _hear(self, line: bytes, now: float) -> None:
        for reaction in self._host.take(line):
            self._react(reaction, now)

    def _react(self, reaction: Reaction, now: float) -> None:
        self._heard.append(reaction)
        match reaction:
            case Answered() | Failed():
                self._settle(reaction)
            case Ignored():
                if reaction.is_in_vain:
                    self._deadline = min(self._deadline, now + GIVES_UP_AFTER)
            case WasAsked(_, line):
                self._connection.say(line.encode())
            case Noticed(message):
                self._ask_again |= message.method == "notifications/tools/list_changed"

    def _settle(self, reaction: Answered | Failed) -> None:
        if self._asked is None:
            return
        step, _ = self._asked
        self._finish(step)
        if step.method == "initialize" and isinstance(reaction, Failed):
            self.end()

    def _give_up(self, open_one: tuple[DemoStep, Message]) -> None:
        step, asked = open_one
        line = self._host.give_up(asked, step.gives_up_after)
        if line is not None:
            self._connection.say(line.encode())
        self._finish(step)

    def _finish(self, step: DemoStep) -> None:
        self._asked, self._deadline = None, math.inf
        if step.example is not None:
            self._passed.append(passes(step.passes, self._heard))
        self._on_change()
