"""The held messages: they wait in the inbox as exchanges, and go on as a person decides.

One thread works here. What is held holds up nothing else: everything that is not held has gone on
long since.
"""

from __future__ import annotations

import logging
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from humanmcp.inbox.contract import (
    Action,
    Answer,
    Draft,
    InboxError,
    Item,
    Purpose,
    Reply,
    Waiting,
)
from humanmcp.protocol.conversation.exchange import ExchangeState
from humanmcp.protocol.conversation.transcript import CHANGED, DROPPED, INSTEAD, LET_GO, Direction
from humanmcp.protocol.diagnostics import kinds
from humanmcp.protocol.json.jsonrpc import Kind
from humanmcp.protocol.json.tree import pretty
from humanmcp.protocol.rules.answer_book import by_rule
from humanmcp.protocol.rules.timeouts import timeout_plan
from humanmcp.protocol.validation.held import HeldMessage, answers, judge
from humanmcp.tap.recorder import BY_TAP

if TYPE_CHECKING:
    from collections.abc import Mapping

    from humanmcp.inbox.inbox_session import InboxSession
    from humanmcp.tap.hold_policy import Cancelled, Held, HoldPolicy
    from humanmcp.tap.pump import Sink
    from humanmcp.tap.recorder import TapRecorder

logger = logging.getLogger(__name__)

_OTHER: Final[Mapping[Direction, Direction]] = {
    Direction.IN: Direction.OUT,
    Direction.OUT: Direction.IN,
}


@dataclass(slots=True)
class _HeldLine:
    """A held message. `due` is when something happens by itself; None for never."""

    held: Held
    passing: HeldMessage
    due: float | None


class HeldQueue:
    """What is held in one session, and how it ends. Times are seconds of one monotonic clock."""

    def __init__(
        self,
        *,
        inbox_session: InboxSession,
        recorder: TapRecorder,
        hold_policy: HoldPolicy,
        sinks: Mapping[Direction, Sink],
        release_after: float = 0.0,
    ) -> None:
        """Hold for a session. `sinks` by where a line came from; `release_after` 0 is never."""
        self._recorder = recorder
        self._hold_policy = hold_policy
        self._sinks = sinks
        self._release_after = release_after
        self._inbox_session = inbox_session
        self._waiting: dict[int, _HeldLine] = {}
        self._delivered: set[int] = set()
        self._ended: set[Direction] = set()

    def __len__(self) -> int:
        return len(self._waiting)

    # -- what comes -----------------------------------------------------------------------------

    def take(self, held: Held, now: float, at: str) -> None:
        """Hold a message from now on; `at` is the wall clock, for people."""
        passing = HeldMessage(_text(held.raw), held.direction, held.version, _asked(held))
        after = held.rule[1].after if held.rule else self._release_after or None
        due = None if after is None else now + after
        held_line = self._waiting[held.number] = _HeldLine(held, passing, due)
        if held.direction in self._ended:
            self._last_word(held_line, at)
            return
        if after == 0:  # nobody needs to see it wait: it stands in the transcript
            self._come_due(held_line, at)
            return
        try:
            self._inbox_session.deliver(self._item(held, passing, at))
        except InboxError as error:
            logger.error("a held message cannot be kept, so it goes on: %s", error)  # noqa: TRY400 - the sentence says it
            self._let_go(held, BY_TAP, at)
        else:
            self._delivered.add(held.number)

    def _item(self, held: Held, passing: HeldMessage, at: str) -> Item:
        observed = held.observed
        token = observed.message.id
        return Item(
            key=self._inbox_session.key(held.number),
            line=passing.line,
            method=observed.method,
            id="" if token is None or held.batch else token.token,
            protocol_version=held.version,
            arrived=at,
            purpose=Purpose.HELD,
            waiting=self._waits(held),
            draft=Draft(pretty(passing.line), by=BY_TAP, at=at),
            way=held.direction,
            asked=passing.asked,
        )

    def _waits(self, held: Held) -> Waiting:
        """Return how long the client will wait, and when the message goes on by itself."""
        release = self._release_after or None
        request = held.observed.request
        if request is None or request.direction is not Direction.IN:
            return Waiting(book_at=release)
        timeout = timeout_plan(request, self._inbox_session.negotiated.client_name, 0.0)
        book_at = held.rule[1].after if held.rule else release
        return Waiting(limit=timeout.limit, source=timeout.source, book_at=book_at)

    def cancelled(self, cancelled: Cancelled) -> None:
        """Hold a request no more whose answer is not awaited: the other side never sees it."""
        held = self._waiting.pop(cancelled.number, None)
        if held is not None:
            self._hold_policy.settled(held.held, went_on=False)
            self._close(cancelled.number, ExchangeState.CANCELLED, reason=cancelled.reason)

    # -- what people and time want --------------------------------------------------------------

    def follow_people(self, at: str) -> None:
        """Do what people have sent."""
        for key, reply in self._inbox_session.take():
            held = self._waiting.get(key.number)
            if held is not None:
                self._settle(held, reply, at)

    def refuse_outgoing(self) -> None:
        """Give back what people want to say first: both ends of a tap are taken."""
        for ticket, _outgoing in self._inbox_session.outgoing():
            self._inbox_session.settle(ticket, (kinds.own_message_at_tap().unplaced(),))

    def next(self) -> float:
        """Return when something happens by itself; infinity for never."""
        due = (held.due for held in self._waiting.values() if held.due is not None)
        return min(due, default=math.inf)

    def come_due(self, now: float, at: str) -> None:
        """Do what is to happen by itself now."""
        for held in tuple(self._waiting.values()):
            if held.due is not None and now >= held.due:
                self._come_due(held, at)

    def _come_due(self, held: _HeldLine, at: str) -> None:
        rule = held.held.rule
        if rule is None:
            self._let_go(held.held, BY_TAP, at)
            return
        index, prepared = rule
        negotiated = self._inbox_session.negotiated
        verdict = judge(held.passing, prepared.text, prepared.form, negotiated, answer=True)
        if verdict.line is None:
            logger.warning("%s does not pass the check: it goes on instead", by_rule(index))
            self._let_go(held.held, BY_TAP, at)
        else:
            self._answer(held.held, verdict.line, by_rule(index), at)

    def _settle(self, held_line: _HeldLine, reply: Reply, at: str) -> None:
        """Do what a reply asks for, unless the check finds errors in it."""
        held, passing = held_line.held, held_line.passing
        if reply.action is Action.DROP:
            self._drop(held, reply.by)
            return
        if reply.action is Action.FORWARD and reply.text == passing.line:
            self._let_go(held, reply.by, at)
            return
        answer = reply.action is Action.ANSWER or answers(passing, reply.text, reply.form)
        verdict = judge(
            passing, reply.text, reply.form, self._inbox_session.negotiated, answer=answer
        )
        line = verdict.line if verdict.sendable or not reply.anyway else verdict.forced
        if line is None:
            self._inbox_session.refuse(held.number, verdict.diagnostics)
        elif answer and (passing.question is not None or passing.questions):
            self._answer(held, line, reply.by, at, deliberate=not verdict.sendable)
        elif line == passing.line:
            self._let_go(held, reply.by, at)
        else:
            self._change(held, line, reply.by, at, deliberate=not verdict.sendable)

    # -- the four ends --------------------------------------------------------------------------

    def _let_go(self, held: Held, by: str, at: str) -> None:
        """Let a message go on byte for byte."""
        self._recorder.put(Direction.NOTE, b"", number=held.number, by=by, note=LET_GO)
        self._sinks[held.direction].insert(_whole(held.line))
        self._end(held, Answer(_text(held.raw), by, at), went_on=True)

    def _change(self, held: Held, line: str, by: str, at: str, *, deliberate: bool = False) -> None:
        raw = line.encode("utf-8", "replace")
        self._recorder.put(held.direction, raw, number=held.number, by=by, note=CHANGED)
        self._sinks[held.direction].insert(raw + b"\n")
        self._end(held, Answer(line, by, at, deliberate), went_on=True)

    def _answer(self, held: Held, line: str, by: str, at: str, *, deliberate: bool = False) -> None:
        """Answer a request in the place of the side that it was sent to."""
        raw = line.encode("utf-8", "replace")
        back = _OTHER[held.direction]
        self._recorder.put(back, raw, number=held.number, by=by, note=INSTEAD)
        self._sinks[back].insert(raw + b"\n")
        self._end(held, Answer(line, by, at, deliberate), went_on=False)

    def _drop(self, held: Held, by: str) -> None:
        self._recorder.put(Direction.NOTE, b"", number=held.number, by=by, note=DROPPED)
        del self._waiting[held.number]
        self._hold_policy.settled(held, went_on=False)
        self._close(held.number, ExchangeState.CANCELLED, reason=DROPPED)

    def _end(self, held: Held, answer: Answer, *, went_on: bool) -> None:
        self._waiting.pop(held.number, None)
        self._hold_policy.settled(held, went_on=went_on)
        self._close(held.number, ExchangeState.ANSWERED, answer)

    def _close(
        self, number: int, state: ExchangeState, answer: Answer | None = None, reason: str = ""
    ) -> None:
        if number not in self._delivered:
            return
        self._delivered.discard(number)
        self._inbox_session.close(number, state, answer, reason)

    def side_ended(self, direction: Direction, at: str) -> None:
        """One side says nothing more. What it said last is let go, if anybody reads it.

        A request of a client that is gone is not: its answer is not awaited. What comes after
        this was said before the end, and is treated alike.
        """
        self._ended.add(direction)
        for held in tuple(self._waiting.values()):
            if held.held.direction is direction:
                self._last_word(held, at)

    def _last_word(self, held_line: _HeldLine, at: str) -> None:
        held = held_line.held
        wants_answer = held.observed.message.kind is Kind.REQUEST
        if wants_answer or not self._sinks[held.direction].open:
            del self._waiting[held.number]
            self._close(held.number, ExchangeState.ABANDONED)
        else:
            self._let_go(held, BY_TAP, at)


def _asked(held: Held) -> str:
    """Return the request that a held answer belongs to, "" for anything but an answer."""
    request = held.observed.request
    is_answer = held.observed.message.kind.is_answer
    return request.request.raw if request is not None and is_answer and not held.batch else ""


def _text(raw: bytes) -> str:
    return raw.removesuffix(b"\r").decode("utf-8", "replace")


def _whole(line: bytes) -> bytes:
    """Give a line its line feed, if it came without one at the end of a stream."""
    return line if line.endswith(b"\n") else line + b"\n"
