"""Which requests never got an answer, or one that the asking side has most likely dropped.

Pure: takes what `ConversationState` observed, with the number of each line, and what the check
said of it.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, NamedTuple

from humanmcp.protocol.conversation.state import MOST_OPEN
from humanmcp.protocol.diagnostics.kinds.rpc import AnswerDropped, LeftWithoutAnswer
from humanmcp.protocol.json.jsonrpc import Kind, ids_in
from humanmcp.protocol.spec import methods
from humanmcp.protocol.validation.observed import DROPPED

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from humanmcp.protocol.conversation.state import (
        ConversationState,
        ObservedMessage,
        ObservedRequest,
    )
    from humanmcp.protocol.diagnostics.model import Diagnostic
    from humanmcp.protocol.json.jsonrpc import Malformed


class NeverAnswered(NamedTuple):
    """A request without an answer: the number of its line, and of the line that was dropped."""

    seq: int
    request: ObservedRequest
    dropped: int = 0

    @property
    def diagnostic(self) -> Diagnostic:
        """The same as the check says it."""
        token = self.request.request.id.token if self.request.request.id is not None else ""
        method, line = self.request.method, str(self.dropped)
        if not self.dropped:
            return LeftWithoutAnswer(method=method, id=token).unplaced()
        return AnswerDropped(method=method, id=token, line=line).unplaced()


class Unanswered:
    """What is open, and what was answered in vain. Lines are told in their order."""

    def __init__(self) -> None:
        self._lines: OrderedDict[int, int] = OrderedDict()
        """From the number of a request to that of its line."""
        self._in_vain: OrderedDict[int, NeverAnswered] = OrderedDict()

    def heard(self, seq: int, observed: ObservedMessage) -> None:
        """Take note of a request; an answer needs no note unless it was dropped."""
        if observed.request is not None and observed.message.kind is Kind.REQUEST:
            self._lines[observed.request.number] = seq
            if len(self._lines) > MOST_OPEN:
                self._lines.popitem(last=False)

    def checked(
        self, seq: int, observed: ObservedMessage, said: Iterable[Diagnostic]
    ) -> NeverAnswered | None:
        """Take note of what the check said of an answer. Returns the request that it fails."""
        is_answer = observed.message.kind.is_answer
        if observed.request is None or not is_answer or DROPPED.isdisjoint(p.code for p in said):
            return None
        return self._failed(seq, observed.request)

    def broken(
        self, seq: int, malformed: Malformed, waiting: Collection[ObservedRequest]
    ) -> NeverAnswered | None:
        """Take note of a line that is no message. Returns the request whose id stands in it."""
        named = ids_in(malformed.text)
        request = next(
            (
                one
                for one in waiting
                if one.request.id is not None and one.request.id.token in named
            ),
            None,
        )
        return None if request is None else self._failed(seq, request)

    def _failed(self, seq: int, request: ObservedRequest) -> NeverAnswered:
        unanswered = NeverAnswered(self._lines.get(request.number, 0), request, seq)
        self._in_vain[request.number] = unanswered
        if len(self._in_vain) > MOST_OPEN:
            self._in_vain.popitem(last=False)
        return unanswered

    def left(self, conversation: ConversationState) -> tuple[NeverAnswered, ...]:
        """List what was never answered, now that nothing more comes, in the order of the requests.

        A subscription (2026-07-28) stays open by design.
        """
        left = dict(self._in_vain)
        for request in conversation.open:
            if not methods.of(request.method).stays_open and request.number not in left:
                left[request.number] = NeverAnswered(self._lines.get(request.number, 0), request)
        return tuple(left[number] for number in sorted(left))
