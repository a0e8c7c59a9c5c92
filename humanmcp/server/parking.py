"""Parked calls: a person answers hours later, and the client comes for the answer.

Also the retry keepalive of 2026-07-28: the client of a call that is not parked is asked to come
again before it gives up. What is known of a parked call is in the inbox alone, so another process
of the same client answers as well, after any death. A reply to a call of a session that is over is
judged when its client asks. `protocol/conversation/parking.py` has the texts.
"""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING, Final

from humanmcp.inbox.contract import Answer, Draft, InboxError, Key, Order, Parked, Waiting
from humanmcp.locales import spoken_language
from humanmcp.protocol.answer_book.decide import Mode, when_nobody_answers
from humanmcp.protocol.answer_book.decision import Decision
from humanmcp.protocol.conversation import parking
from humanmcp.protocol.conversation.exchange import APPROVAL, Exchange, kind_of_tool
from humanmcp.protocol.conversation.exchanges import watches
from humanmcp.protocol.conversation.outcomes import Refused, Sent
from humanmcp.protocol.conversation.parking import ParkedCall
from humanmcp.protocol.conversation.stages import ExchangeState
from humanmcp.protocol.conversation.tickets import (
    RESULT_TOOL_NAME,
    ParkedAs,
    Ticket,
    asked_ticket,
    asks_with_ticket,
)
from humanmcp.protocol.conversation.timeouts import REPEAT_WITHIN
from humanmcp.protocol.conversation.transcript import Direction
from humanmcp.protocol.diagnostics.model import TextForm
from humanmcp.protocol.json import jsonrpc
from humanmcp.protocol.json.jsonrpc import Message, parts_of
from humanmcp.protocol.tables import methods
from humanmcp.protocol.tables.methods import undeclared_extension
from humanmcp.protocol.tables.versions import features
from humanmcp.protocol.validation import check
from humanmcp.server.journal import BY_US, QUIET, RETRY
from humanmcp.server.moments import Capability, ParkedRequest

if TYPE_CHECKING:
    from collections.abc import Callable

    from humanmcp.inbox.contract import Item, Reply
    from humanmcp.protocol.conversation.exchange import NegotiatedState
    from humanmcp.server.moments import Way
    from humanmcp.server.waiting import PendingTimers

logger = logging.getLogger(__name__)

_PARK: Final = "park"
_RETRY: Final = "retry"
"""What is planned for a call: to park it, and to ask a 2026-07-28 client to repeat it."""


class ParkedCalls(Capability):
    """The parked calls of one session, and its client's requests about calls of other sessions."""

    def __init__(self, way: Way) -> None:
        self._way = way
        self._session = way.session
        self._journal = way.journal
        self._inbox = way.journal.inbox
        self._tickets: dict[int, Ticket] = {}
        """Under which `requestState` a client repeats a request."""
        self._own: dict[int, ParkedAs] = {}
        """The parked calls of this session, by number."""
        self._followers: dict[int, Ticket] = {}
        """Which requests wait for the answer to a parked call."""
        self._gives: dict[int, Key] = {}
        """Which requests are about to be answered with the answer to a parked call."""
        self._asking: set[Key] = set()
        """The calls of 2025-11-25 whose client is asked something."""

    def resumed(self, item: Item) -> None:
        self._own[item.key.number] = ParkedAs(item.waiting.parked.way)

    # -- a call is parked -----------------------------------------------------------------------

    def waits(self, exchange: Exchange, timers: PendingTimers) -> None:
        seconds, number = self._way.book_file.book.park, exchange.number
        timers.follows = number in self._followers
        timers.can_park = ""
        timers.plan(_PARK, None)
        retry_at = timers.timeouts.retry_at
        timers.plan(_RETRY, None if retry_at is None else timers.last_arrived + retry_at)
        if seconds is None or timers.subscribed:
            return
        parked_as = self._way_of(exchange)
        if parked_as is not None:
            timers.can_park = "" if timers.follows else parked_as.value
            if timers.decision.after is None or timers.follows or self._limit(exchange).after:
                after = parking.park_after(exchange, parked_as, timers.timeouts, seconds)
                timers.plan(_PARK, None if after is None else timers.last_arrived + after)

    def _limit(self, exchange: Exchange) -> Decision:
        """Return what its client gets once its own limit is over."""
        return when_nobody_answers(exchange, self._way.book_file.book)

    def _outlives(self, exchange: Exchange) -> bool:
        """Return True if a person may answer when its client is not waiting any more.

        Never an approval: what is allowed is done while the person looks on, and an answer that is
        no decision ends the run of a host.
        """
        tools = self._session.negotiated.known_tools
        parks = self._way.book_file.book.park is not None
        return parks and kind_of_tool(exchange.tool, tools) != APPROVAL

    def _way_of(self, exchange: Exchange) -> ParkedAs | None:
        if not self._outlives(exchange):
            return None
        tools = self._session.negotiated.tools
        has_tool = tools is None or RESULT_TOOL_NAME in tools
        if exchange.number in self._followers and exchange.method == "tools/call":
            return ParkedAs.TICKET if has_tool and not asks_with_ticket(exchange) else None
        return parking.way_to_park(exchange, has_tool=has_tool)

    def _ticket(self, number: int) -> Ticket:
        """Return the `requestState` under which a client may come back for a request."""
        new = Ticket(self._journal.name, number, os.urandom(16).hex())
        return self._followers.get(number) or self._tickets.setdefault(number, new)

    def due(self, name: str, exchange: Exchange, timers: PendingTimers, now: float) -> None:
        """Park a call, or ask a 2026-07-28 client to repeat it."""
        if name == _PARK:
            self._park(exchange.number)
        elif name == _RETRY:
            self._ask_to_retry(exchange, timers, now)

    def _ask_to_retry(self, exchange: Exchange, timers: PendingTimers, now: float) -> None:
        """Ask for it, and note before in the inbox under what the client may come back."""
        token = str(self._ticket(exchange.number))
        is_new = not timers.parked.ticket and exchange.number not in self._followers
        if self._outlives(exchange) and is_new:
            timers.parked = Parked(token, ParkedAs.RETRY.value, self._journal.clock.stamp())
            self._has_parked()
            self._journal.update(exchange, timers.waiting())
        line = self._session.ask_to_retry(exchange.number, token)
        if line is None:
            timers.timeouts = timers.timeouts._replace(retry_at=None)
        else:
            timers.retry_until = now + REPEAT_WITHIN
            self._journal.write(line, exchange.number, by=BY_US, note=RETRY)

    def _park(self, number: int) -> None:
        """Answer a waiting call with a task or a ticket, if that can be; the person goes on.

        "A server MUST NOT return `CreateTaskResult` until the task is durably created": the inbox
        has it before the response goes out.
        """
        exchange, timers = self._session.exchanges.get(number), self._way.timers.get(number)
        if exchange is None or timers is None or exchange.awaiting_retry:
            return
        parked_as = self._way_of(exchange)
        if parked_as is None:
            return
        followed = self._followers.get(number)
        now = self._journal.clock.stamp()
        call = ParkedCall(str(self._ticket(number)), parked_as, now, now)
        text = parking.parked_response(exchange, call, self._session.negotiated)
        if followed is None and not self._keep(exchange, call):
            return
        outcome = self._session.reply(number, text, TextForm.RESULT, parks=followed is None)
        if isinstance(outcome, Sent):
            self._way.send(outcome, BY_US)
            return
        logger.warning("%s cannot be parked", exchange.method)
        self._own.pop(number, None)
        self._journal.update(exchange, timers.waiting())

    def _keep(self, exchange: Exchange, call: ParkedCall) -> bool:
        """Note in the inbox that a call is parked, and in the session that it has parked calls."""
        waiting = Waiting(parked=Parked(call.token, call.parked_as.value, call.created))
        self._has_parked()
        key, line, token = self._journal.key(exchange.number), exchange.request.raw, exchange.id
        try:
            self._inbox.update(key, line=line, id=token.token, waiting=waiting)
        except InboxError as error:
            logger.warning("a call cannot be parked: %s", error)
            return False
        self._own[exchange.number] = call.parked_as
        return True

    def _has_parked(self) -> None:
        """Note in the session that people may answer calls of it when it is over."""
        if not self._journal.facts.parked:
            self._journal.facts = self._journal.facts._replace(parked=True)
            self._journal.describe(self._session)

    def order(self, reply: Reply) -> None:
        """Park a call for a person, or tell the client of a parked one how it stands."""
        if reply.order not in (Order.PARK, Order.STATUS):
            return
        number, _, words = reply.text.partition(" ")
        if reply.order is Order.PARK:
            self._park(int(number))
        elif int(number) in self._own:
            item = self._inbox.item(self._journal.key(int(number)))
            status = words.strip()[: parking.LONGEST_STATUS]
            self._told(item, item.waiting.parked._replace(status=status))

    # -- a client asks for it ---------------------------------------------------------------------

    def decide(self, exchange: Exchange, rest: Callable[[Exchange], Decision]) -> Decision:
        """Answer a request for a parked call."""
        return self._decision_about(exchange) or rest(exchange)

    def _decision_about(self, exchange: Exchange) -> Decision | None:
        if self._way.options.mode is Mode.BY_HAND:
            return None
        if undeclared_extension(exchange.request, exchange.version):
            return None  # the answer book tells its client so
        ticket = asked_ticket(exchange)
        if ticket is None:
            return self._list(exchange)
        found = self._find(ticket)
        if found is not None:
            return self._answer(exchange, ticket, *found)
        repeats = "requestState" in exchange.request.params
        # A `requestState` of nobody: a person sees the request.
        return None if repeats else _decision(*parking.refuse_unknown(exchange))

    def _answer(self, exchange: Exchange, ticket: Ticket, item: Item, call: ParkedCall) -> Decision:
        reply = parking.reply_to(exchange, call)
        if exchange.method == "tasks/cancel" and not call.is_over:
            self._inbox.close(item.key, ExchangeState.CANCELLED, reason="tasks/cancel")
            self._journal.changes += 1
            self._changed(item.key)
        if exchange.method == "tasks/update" and not call.is_over:
            self._hear(item, exchange)
        if reply is None:
            self._followers[exchange.number] = ticket
            if asks_with_ticket(exchange):
                return _decision(
                    TextForm.RESULT, parking.still_waiting(exchange, call), parking.ASK_AGAIN_AFTER
                )
            return Decision()
        if call.line:
            self._gives[exchange.number] = item.key
        return _decision(*reply)

    def _list(self, exchange: Exchange) -> Decision | None:
        """Answer `tasks/list` with the tasks of this session: nobody else's are shown."""
        if exchange.method != "tasks/list" or self._way.book_file.book.park is None:
            return None
        tasks = [number for number, one in self._own.items() if one is ParkedAs.TASK]
        items = [self._inbox.item(self._journal.key(number)) for number in tasks]
        return _decision(
            TextForm.RESULT, parking.task_list(exchange.version, map(self._call, items))
        )

    def _find(self, ticket: Ticket) -> tuple[Item, ParkedCall] | None:
        """Return the call that a ticket names, if this client may know of it."""
        from hmac import compare_digest  # noqa: PLC0415 - seldom wanted

        key = Key(ticket.session, ticket.number)
        try:
            item, theirs = self._inbox.item(key), self._inbox.facts(key.session)
            token = str(ticket).encode("utf-8", "replace")
            if not compare_digest(item.waiting.parked.ticket.encode(), token):
                return None
            is_left = item.outlives and not theirs.is_open
            if is_left:
                item = self._settle_left(item)
            if is_left or theirs.name == self._journal.name:
                item = self._settle_unanswered(item)
        except InboxError:
            return None
        ours = self._journal.facts._replace(client=self._session.negotiated.client_name)
        is_other = (theirs.http.visitor, theirs.client) != (ours.http.visitor, ours.client)
        if is_other and theirs.name != ours.name:
            return None
        since = self._journal.clock.since(item.waiting.parked.since)
        return (item, self._call(item)) if since < parking.KEPT_FOR else None

    def _hear(self, item: Item, exchange: Exchange) -> None:
        """Show the person what the client of a task answers to their questions."""
        parked = item.waiting.parked
        answered = parking.answered_in(exchange, parked.asks)
        if answered:
            asks = parts_of(parked.asks)
            left = {name: one for name, one in asks.items() if name not in answered}
            heard = {**parts_of(parked.heard), **answered}
            still, told = parking.as_object(left), parking.as_object(heard)
            self._told(item, parked._replace(asks=still, heard=told))

    def _told(self, item: Item, parked: Parked) -> None:
        """Note what person and client tell each other about a parked call."""
        parked = parked._replace(told_at=self._journal.clock.stamp())
        waiting = item.waiting._replace(parked=parked)
        self._inbox.update(item.key, line=item.line, id=item.id, waiting=waiting)
        self._journal.changes += 1
        self._changed(item.key)

    def acted(self, exchange: Exchange, decision: Decision) -> None:  # noqa: ARG002 - each that was to be given
        """Note that a client has come for an answer."""
        key = self._gives.pop(exchange.number, None)
        if key is not None:
            self._fetched(key)

    def over(self, exchange: Exchange, timers: PendingTimers | None, reason: str) -> None:
        """Keep a call whose client did not repeat it in time, if it can still come back."""
        number = exchange.number
        if timers is not None and timers.parked.ticket and reason == QUIET:
            self._own[number] = ParkedAs.RETRY
        self._followers.pop(number, None)
        if number not in self._own:
            self._tickets.pop(number, None)

    def _fetched(self, key: Key) -> None:
        at = self._journal.clock.stamp()
        self._journal.keep(f"that {key.number} was fetched", lambda: self._inbox.fetched(key, at))

    # -- a person answers it ----------------------------------------------------------------------

    def reply_to(self, number: int, reply: Reply) -> bool:
        if number not in self._own:
            return False
        key = self._journal.key(number)
        self._settle(self._inbox.item(key), reply, self._session.negotiated)
        self._changed(key)
        return True

    def _settle_left(self, item: Item) -> Item:
        """Judge the reply to a call of a session that is over, if there is one."""
        reply = self._inbox.take_parked(item.key)
        if reply is None:
            return item
        self._settle(item, reply, self._inbox.negotiated(item.key.session))
        return self._inbox.item(item.key)

    def _settle_unanswered(self, item: Item) -> Item:
        """Close a call that nobody answered within the limit of its client."""
        request = jsonrpc.read_text(item.line)
        if item.state is not ExchangeState.PENDING or not isinstance(request, Message):
            return item
        exchange = _exchange_of(item, request)
        limit = self._limit(exchange)
        if limit.after is None or self._journal.clock.since(item.arrived) < limit.after:
            return item
        negotiated = self._inbox.negotiated(item.key.session)
        line = check.check(exchange, limit.text, limit.form, negotiated).line
        if line is not None:
            answer = Answer(line, limit.by, self._journal.clock.stamp())
            self._inbox.close(item.key, ExchangeState.ANSWERED, answer)
            self._journal.changes += 1
        return self._inbox.item(item.key)

    def _settle(self, item: Item, reply: Reply, negotiated: NegotiatedState) -> None:
        request = jsonrpc.read_text(item.line)
        if not isinstance(request, Message):  # its file was changed by another program
            return
        exchange = _exchange_of(item, request)
        parked = ParkedRequest(item.key, exchange, negotiated)
        outcome = self._way.answer(item.key.number, reply, parked)
        if isinstance(outcome, Refused):
            self._inbox.refuse(item.key, outcome.verdict.diagnostics)
        if not isinstance(outcome, Sent):
            return
        self._journal.describe(self._session)
        line, at = outcome.own, self._journal.clock.stamp()
        asked = parking.asked_in(line, (item.waiting.parked.asks, item.waiting.parked.heard))
        if asked:
            # The client gets it with the task; the person writes on.
            asks = parking.as_object({**parts_of(item.waiting.parked.asks), **asked})
            self._told(item, item.waiting.parked._replace(asks=asks))
            self._inbox.refuse(item.key, ())
            start = check.start(exchange, negotiated, spoken_language())
            self._inbox.save(item.key, Draft(start, by=BY_US, at=at), reply.at)
            return
        answer = Answer(line, reply.by, at, outcome.deliberate)
        self._inbox.close(item.key, ExchangeState.ANSWERED, answer)
        self._journal.changes += 1

    # -- whoever waits for it ---------------------------------------------------------------------

    def look_at_rest(self, now: float) -> None:  # noqa: ARG002 - others wait for a moment
        """Answer the requests that wait for a parked call, if it is over.

        Tell the client which of its tasks ask it something, and which do no more.
        """
        keys = map(self._journal.key, self._own)
        asking = {key for key in keys if self._is_asking(key)}
        changed, self._asking = asking ^ self._asking, asking
        for key in changed:
            self._changed(key)
        for number, ticket in list(self._followers.items()):
            found = self._find(ticket)
            if found is None or found[1].is_over:
                self._way.decide_again(number)

    def _changed(self, key: Key) -> None:
        """Tell whoever waits for a call of this session that it is another one now."""
        item = self._inbox.item(key)
        call = self._call(item)
        for exchange in self._session.pending:
            if methods.of(exchange.method).stays_open and watches(exchange, call.token):
                line = parking.changed_task(exchange.version, call, exchange.id.token)
                self._journal.write(line, exchange.number, by=BY_US)
                if call.line:
                    self._fetched(key)
        if call.parked_as is ParkedAs.TASK and features(item.protocol_version).asked_for_tasks:
            self._journal.write(parking.status_notice(item.protocol_version, call), by=BY_US)
        for number, ticket in list(self._followers.items()):
            if call.is_over and (ticket.session, ticket.number) == key:
                self._way.decide_again(number)

    def _call(self, item: Item) -> ParkedCall:
        """Return what the inbox knows of a parked call, and what its client is asked."""
        parked, answer = item.waiting.parked, item.answer
        return ParkedCall(
            parked.ticket,
            ParkedAs(parked.way),
            parked.since,
            answer.at if answer else parked.told_at or parked.since,
            parked.status,
            answer.line if answer else "",
            item.state in (ExchangeState.CANCELLED, ExchangeState.ABANDONED),
            parked.asks or ("{}" if self._is_asking(item.key) else ""),
        )

    def _is_asking(self, key: Key) -> bool:
        """Return True if a question of a person is open that belongs to a call of 2025-11-25."""
        from humanmcp.protocol.validation import input_requests  # noqa: PLC0415 - seldom wanted

        prefix = input_requests.prefix(key.number)
        open_ids = (one.id.value for one in self._session.state.in_flight(Direction.OUT))
        is_open = any(isinstance(one, str) and one.startswith(prefix) for one in open_ids)
        return is_open and key.session == self._journal.name


def _decision(form: TextForm, text: str, after: float = 0.0) -> Decision:
    return Decision(after, text, form, BY_US)


def _exchange_of(item: Item, request: Message) -> Exchange:
    return Exchange(item.key.number, request, item.protocol_version, parked=item.waiting.parked.way)
