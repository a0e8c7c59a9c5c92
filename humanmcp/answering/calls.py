"""What was asked of a server, and how it was answered, as its transcript has it.

For tests and scripts that look at what a client did. A request that the client was only asked to
repeat, so that a person gets more time, is one call.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from humanmcp.inbox.contract import Answer, Item, Key, Seat
from humanmcp.protocol.conversation.exchange import ExchangeState
from humanmcp.protocol.conversation.perspective import seen_by_client
from humanmcp.protocol.conversation.state import ConversationState, name_of
from humanmcp.protocol.conversation.transcript import Direction
from humanmcp.protocol.json import jsonrpc
from humanmcp.protocol.json.jsonrpc import Kind, Message
from humanmcp.protocol.spec import methods

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from humanmcp.inbox.contract import DeskInbox, SessionFacts
    from humanmcp.protocol.conversation.transcript import Frame

_TO_GAIN_TIME: Final = "hold"
"""The note of an answer that only asks the client to repeat its request."""


@dataclass(frozen=True, slots=True)
class ReceivedCall:
    """A request of the client's. `result` and `error` are None as long as there is no answer.

    `arguments` are those of a tool or a prompt, the whole `params` elsewhere. `at` and
    `answered_at` are the moments in UTC, `by` says who answered: `book: rule 2`, `desk`, …
    """

    number: int
    method: str
    name: str
    arguments: dict[str, Any]
    at: str
    line: str
    answer: str = ""
    answered_at: str = ""
    by: str = ""
    result: Any = None
    error: Any = None


def calls(frames: Iterable[Frame]) -> tuple[ReceivedCall, ...]:
    """Collect the requests of a session, in the order in which they came."""
    conversation = ConversationState()
    found: dict[int, ReceivedCall] = {}
    by_request: dict[int, int] = {}
    for frame in seen_by_client(frames):
        requests = 0
        for message in jsonrpc.items_in(frame.raw):
            if not isinstance(message, Message):
                continue
            observed = conversation.observe(frame.direction, message)
            if (
                frame.direction is Direction.IN
                and message.kind is Kind.REQUEST
                and observed.request
            ):
                # An array is recorded under the number of its first request.
                key = frame.number + requests if frame.number else -observed.request.number
                requests += 1
                by_request[observed.request.number] = key
                found.setdefault(key, _call(max(key, 0), frame, message))
            elif frame.direction is Direction.OUT and observed.request and message.kind.is_answer:
                key = by_request.pop(observed.request.number, 0)
                if key and frame.note != _TO_GAIN_TIME:
                    found[key] = _answered(found[key], frame, message)
    return tuple(found.values())


def answered_at_once(
    inbox: DeskInbox, facts: SessionFacts, waited: Collection[int]
) -> Iterator[Item]:
    """List the answered requests of a session whose numbers are not among those that waited.

    They are in no folder of the inbox: the book answered, or humanmcp itself, as they came.
    """
    for call in calls(inbox.frames(facts.name)) if facts.seat is Seat.SERVER else ():
        asked = jsonrpc.read(jsonrpc.encoded(call.line))
        if not call.answer or call.number in {0, *waited} or not isinstance(asked, Message):
            continue
        yield Item(
            Key(facts.name, call.number),
            call.line,
            call.method,
            asked.id.token if asked.id else "",
            facts.revision,
            call.at,
            ExchangeState.ANSWERED,
            answer=Answer(call.answer, call.by, call.answered_at),
        )


def _call(number: int, frame: Frame, request: Message) -> ReceivedCall:
    member = methods.of(request.method).arguments
    arguments = request.params.get(member) if member else request.params
    return ReceivedCall(
        number=number,
        method=request.method,
        name=name_of(request),
        arguments=dict(arguments) if isinstance(arguments, dict) else {},
        at=frame.at,
        line=request.raw,
    )


def _answered(call: ReceivedCall, frame: Frame, answer: Message) -> ReceivedCall:
    return replace(
        call,
        answer=answer.raw,
        answered_at=frame.at,
        by=frame.by,
        result=answer.body.get("result"),
        error=answer.body.get("error"),
    )
