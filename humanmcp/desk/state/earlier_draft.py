"""Find what a person had written to the same request before its host or its server ended.

A host that is started again asks the same again, in a new session: the text must not be lost.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, Final

from humanmcp.answering import service
from humanmcp.answering.case import Case
from humanmcp.protocol.conversation.exchange import ExchangeState
from humanmcp.protocol.json import jsonrpc
from humanmcp.protocol.json.jsonrpc import Message

if TYPE_CHECKING:
    from collections.abc import Iterator

    from humanmcp.desk.state.board import Board
    from humanmcp.inbox.contract import Item

MOST_SESSIONS: Final = 20
"""Ended sessions that are looked through, the newest first."""


def earlier_draft(board: Board, case: Case) -> str:
    """Return the newest unsent draft for the same request, with this request's id; "" for none."""
    asked, item = _asked(case), case.item
    if asked is None or item.state is not ExchangeState.PENDING:
        return ""
    for one in _left_unanswered(board, item):
        draft = one.item.draft
        if draft is not None and draft.touched and _asked(one) == asked:
            return jsonrpc.with_token(service.document(one, draft), item.id)
    return ""


def _left_unanswered(board: Board, item: Item) -> Iterator[Case]:
    seat = board.session(item.key.session).facts.seat
    ended = (
        one.facts
        for one in board.sessions()
        if not one.facts.is_open and one.facts.seat is seat and one.facts.name != item.key.session
    )
    for facts in itertools.islice(ended, MOST_SESSIONS):
        for state in (ExchangeState.PENDING, ExchangeState.ABANDONED):
            for one in reversed(board.inbox.items(facts.name, state)):
                yield Case(board.inbox, one, facts)


def _asked(case: Case) -> tuple[str, dict[str, Any]] | None:
    """Return what tells a request from others: its method and parameters, without `_meta`."""
    found = case.message
    if not isinstance(found, Message) or case.item.asked:
        return None
    return found.method, {key: one for key, one in found.params.items() if key != "_meta"}
