"""Answers each call with another fault, to see what the client does with all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from humanmcp.inbox.contract import Order
from humanmcp.protocol.answer_book.decision import Decision
from humanmcp.protocol.conversation.exchange import kind_of_tool
from humanmcp.protocol.conversation.outcomes import Sent
from humanmcp.protocol.conversation.transcript import DELIBERATE
from humanmcp.server.moments import LEFT_TO_A_PERSON, Acted, Capability

if TYPE_CHECKING:
    from collections.abc import Callable

    from humanmcp.extensions.judge.server_faults import ServerFault
    from humanmcp.inbox.contract import Reply
    from humanmcp.protocol.conversation.exchange import Exchange
    from humanmcp.server.moments import Way

_NEXT_FAULT = Decision(0.0, by="faults", counts=False)


class TriedFaults(Capability):
    """Plays the faults of `humanmcp judge` while a person wishes it; permission prompts wait."""

    def __init__(self, way: Way) -> None:
        self._way = way
        self._left: list[ServerFault] = []

    def order(self, reply: Reply) -> None:
        if reply.order is not Order.EXTENSION or reply.text not in ("faults on", "faults off"):
            return
        from humanmcp.extensions.judge.trying import to_try  # noqa: PLC0415 - seldom

        found = to_try(self._way.journal.facts, self._way.session.negotiated)
        self._left = found if reply.text == "faults on" else []
        self._way.look_again()

    def decide(self, exchange: Exchange, rest: Callable[[Exchange], Decision]) -> Decision:
        if self._left and exchange.method == "tools/call" and not exchange.batch:
            tools = self._way.session.negotiated.known_tools
            if not exchange.parked and not kind_of_tool(exchange.tool, tools):
                return _NEXT_FAULT
        return rest(exchange)

    def act(self, exchange: Exchange, decision: Decision, waited: float) -> Acted | None:  # noqa: ARG002 - a fault waits for nothing
        if decision is not _NEXT_FAULT:
            return None
        if not self._left:
            return LEFT_TO_A_PERSON
        from humanmcp.extensions.judge.playing import Player  # noqa: PLC0415 - seldom
        from humanmcp.extensions.judge.trying import by  # noqa: PLC0415 - seldom

        row = self._left.pop(0)
        player = Player(row, [exchange.tool])
        *before, last = (line for _, line in player.acts(exchange.request.body, row.steps))
        for line in before:
            self._way.journal.write(player.encoded(line), by=by(row), note=DELIBERATE)
        outcome = self._way.session.reply_with_line(exchange.number, last)
        if not isinstance(outcome, Sent):
            return LEFT_TO_A_PERSON
        return Acted(decision._replace(by=by(row)), outcome, player.encoded(last))
