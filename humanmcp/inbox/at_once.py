"""The exchanges that no person saw waiting: answered by the book or by humanmcp as they came.

They are in no folder of the inbox, since nothing waited. The transcript has them, and who looks at
everything that happened in a session reads them from there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from humanmcp.inbox.contract import Answer, Item, Key, Seat
from humanmcp.protocol.conversation.exchange import ExchangeState
from humanmcp.protocol.conversation.transcript import Direction
from humanmcp.protocol.json.jsonrpc import Kind, Message, read

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from humanmcp.inbox.contract import DeskInbox, SessionFacts
    from humanmcp.protocol.conversation.transcript import Frame


def answered_at_once(
    inbox: DeskInbox, facts: SessionFacts, waited: Collection[int]
) -> Iterator[Item]:
    """List the answered requests of a session whose numbers are not among those that waited."""
    if facts.seat is not Seat.SERVER:
        return
    asked: dict[int, Item] = {}
    for frame in inbox.frames(facts.name):
        if not frame.number or frame.number in waited:
            continue
        if frame.way is Direction.IN and frame.number not in asked:
            item = _asked(frame, facts)
            if item is not None:
                asked[frame.number] = item
        elif frame.way is Direction.OUT and frame.number in asked and _is_answer(frame):
            answer = Answer(frame.text, frame.by, frame.at)
            yield asked.pop(frame.number)._replace(state=ExchangeState.ANSWERED, answer=answer)


def _asked(frame: Frame, facts: SessionFacts) -> Item | None:
    message = read(frame.raw)
    if not isinstance(message, Message) or message.kind is not Kind.REQUEST or message.id is None:
        return None
    key = Key(facts.name, frame.number)
    return Item(key, message.raw, message.method, message.id.token, facts.revision, frame.at)


def _is_answer(frame: Frame) -> bool:
    message = read(frame.raw)
    return isinstance(message, Message) and message.kind in (Kind.RESULT, Kind.ERROR)
