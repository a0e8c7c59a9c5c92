"""One conversation, seen from one side: a line in, events out; a draft in, a line out.

A `McpSession` reads no clock, opens nothing and calls no other object. The same class is the server
(it answers a client) and the client (it calls a server). The caller must write every returned line,
in the order in which they were returned.
"""

from __future__ import annotations

import enum
import math
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Final

from humanmcp.protocol.conversation import state
from humanmcp.protocol.conversation.exchange import CUT, Exchange, NegotiatedState
from humanmcp.protocol.conversation.exchanges import Exchanges, related_to
from humanmcp.protocol.conversation.outcomes import (
    AwaitingRetry,
    Event,
    Late,
    LineReady,
    NoticeArrived,
    Outcome,
    Refused,
    RequestArrived,
    RequestCancelled,
    RequestRepeated,
    RequestSuperseded,
    ResponseArrived,
    Sent,
    UnreadableArrived,
)
from humanmcp.protocol.conversation.stages import ExchangeState, Stage, Transition
from humanmcp.protocol.conversation.state import ConversationState, StrayCause
from humanmcp.protocol.conversation.transcript import Direction
from humanmcp.protocol.diagnostics.model import TextForm, Verdict
from humanmcp.protocol.json import jsonrpc
from humanmcp.protocol.json.jsonrpc import (
    Batch,
    Flaw,
    Kind,
    Malformed,
    Message,
    RequestId,
    notice_line,
)
from humanmcp.protocol.json.tree import array_at, object_at
from humanmcp.protocol.tables import methods, versions
from humanmcp.protocol.tables.methods import CANCELLED, DISCOVER, PROGRESS, UPDATED
from humanmcp.protocol.tables.versions import features
from humanmcp.protocol.validation import check

if TYPE_CHECKING:
    from collections.abc import Mapping

    from humanmcp.protocol.conversation.exchange import TransportFacts
    from humanmcp.protocol.json.jsonrpc import DecodedLine


class Party(enum.Enum):
    """The role that a session takes."""

    SERVER = "server"
    CLIENT = "client"


_SIDES: Final[Mapping[Party, tuple[Direction, Direction]]] = {
    Party.SERVER: (Direction.IN, Direction.OUT),
    Party.CLIENT: (Direction.OUT, Direction.IN),
}
"""The directions of each role: the peer's messages, and our own. IN is from the client."""


def judge_reply(
    exchange: Exchange, text: str, form: TextForm, negotiated: NegotiatedState, *, anyway: bool
) -> Sent | Refused:
    """Check a reply without a session: what would be sent has no line to write yet."""
    verdict = check.check(exchange, text, form, negotiated)
    own = verdict.line if verdict.sendable or not anyway else verdict.forced
    if own is None:
        return Refused(exchange, verdict)
    return Sent(exchange, None, own, verdict, deliberate=not verdict.sendable)


class _OpenBatch:
    """A batch that was received: its unanswered requests, and the responses so far."""

    def __init__(self) -> None:
        self.waiting: set[int] = set()
        self.lines: list[str] = []

    def ready(self) -> str | None:
        """Return the batch response once every request is answered; None before, or if empty.

        JSON-RPC 2.0, section 6: "If there are no Response objects contained within the Response
        array as it is to be sent to the client, the server MUST NOT return an empty Array".
        """
        return None if self.waiting or not self.lines else f"[{','.join(self.lines)}]"


class McpSession:
    """One conversation over one pair of pipes."""

    def __init__(self, role: Party = Party.SERVER, first_id: int = 1) -> None:
        """Start without any message. `first_id` is the id of our first own request."""
        self.role = role
        self.state = ConversationState(most_open=math.inf)
        self.exchanges = Exchanges()
        self.unreadable = 0
        """The number of unreadable lines; a person may answer each with one -32700."""
        self.book_capabilities: Mapping[str, Any] = {}
        """The capabilities to declare when asked; a 2026-07-28 client need not ask."""
        self.notice = ""
        """The method of the peer's last message if it is a notification, else ""."""
        self._peer, self._own = _SIDES[role]
        self._theirs = self.state.progress[self._peer]
        self._invalid: set[tuple[str, str | int | float]] = set()
        self._batches: dict[int, _OpenBatch] = {}
        self._last_id = first_id - 1

    # -- looking -------------------------------------------------------------------------------

    @property
    def pending(self) -> tuple[Exchange, ...]:
        """The exchanges that wait for a response, oldest first."""
        return self.exchanges.waiting

    @property
    def version(self) -> str:
        """The protocol version: stated last, else negotiated, else the latest one."""
        return self.agreed or versions.LATEST_HANDSHAKE

    @property
    def agreed(self) -> str:
        """The protocol version that both sides know: stated last, else negotiated; else ""."""
        return self.state.version

    @property
    def negotiated(self) -> NegotiatedState:
        return self.state.negotiated

    @negotiated.setter
    def negotiated(self, negotiated: NegotiatedState) -> None:
        self.state.negotiated = negotiated

    def may_report(self, typed: RequestId | None) -> bool:
        """Return True if an error with this id may answer an invalid message.

        The session never sends one automatically: two programs that both do so would never stop.
        """
        return typed is not None and typed.key in self._invalid

    def new_id(self) -> int:
        """Return an unused id for a request of our own."""
        self._last_id += 1
        return self._last_id

    @property
    def awaited(self) -> tuple[Message, ...]:
        """Our own requests that have no answer yet, oldest first."""
        return tuple(one.request for one in self.state.in_flight(self._own))

    # -- a line in -----------------------------------------------------------------------------

    def receive(
        self,
        line: bytes,
        transport_facts: TransportFacts | None = None,
        decoded: DecodedLine | None = None,
    ) -> tuple[Event, ...]:
        """Process one line from the peer, without its line feed, and return the events.

        `transport_facts` is what the transport says about the line, None if it says nothing;
        `decoded` is the line if the caller has decoded it.
        """
        match decoded or jsonrpc.read(line):
            case Message() as message:
                return self._receive_one(message, transport_facts=transport_facts)
            case Batch() as batch:
                return self._receive_batch(batch)
            case Malformed() as malformed:
                return self._cannot_read(malformed)

    def _cannot_read(self, malformed: Malformed) -> tuple[Event, ...]:
        self.unreadable += 1
        if malformed.id is not None:
            self._invalid.add(malformed.id.key)
        return (UnreadableArrived(malformed),)

    def _receive_one(
        self, message: Message, batch: int = 0, transport_facts: TransportFacts | None = None
    ) -> tuple[Event, ...]:
        self.notice = message.method if message.kind is Kind.NOTIFICATION else ""
        match message.kind:
            case Kind.REQUEST:
                overtaken = self._overtaken_by(message)
                return (*overtaken, self._receive_request(message, batch, transport_facts))
            case Kind.NOTIFICATION:
                return self._receive_notice(message)
            case Kind.RESULT | Kind.ERROR:
                return (self._receive_response(message),)

    def _receive_batch(self, batch: Batch) -> tuple[Event, ...]:
        # 2025-03-26: "MCP implementations MAY support sending JSON-RPC batches, but MUST support
        # receiving JSON-RPC batches"; 2025-06-18 removed them. `initialize` is never in one.
        if not features(self.state.negotiated_version).batches:
            return self._cannot_read(Malformed(batch.raw.encode(), Flaw.IN_BATCH))
        number = self.exchanges.last + 1
        open_batch = self._batches[number] = _OpenBatch()
        events: list[Event] = []
        for item in batch.items:
            if isinstance(item, Malformed):
                events += self._cannot_read(item)
                continue
            arrived = self._receive_one(item, batch=number)
            open_batch.waiting |= {
                event.exchange.number for event in arrived if isinstance(event, RequestArrived)
            }
            events += arrived
        return tuple(events)

    def _receive_request(
        self, message: Message, batch: int, transport_facts: TransportFacts | None
    ) -> RequestArrived | RequestRepeated:
        repeated = self.repeated_by(message)
        number = self.exchanges.last + 1 if repeated is None else repeated.number
        stated = transport_facts.version if transport_facts else ""
        request = self.state.observe_request(self._peer, message, number, stated)
        if repeated is not None:
            retried = repeated.after(Transition.CLIENT_RETRIED)
            again = retried._replace(request=message, awaiting_retry="")
            return RequestRepeated(self.exchanges.put(again))
        found = transport_facts.found if transport_facts else ()
        # Once, and when it is first asked for: most requests are answered before.
        known = (message, request.version, self.negotiated, found)
        look = cache(partial(check.remarks, *known, retried=request.retried))
        exchange = request._replace(batch=batch, make_remarks=look, transport_facts=transport_facts)
        if self.exchanges.same_id_pending(exchange):
            twice = check.same_id(message, request.version)
            exchange = exchange._replace(make_remarks=lambda: (*look(), twice))
        return RequestArrived(self.exchanges.put(exchange))

    def _overtaken_by(self, message: Message) -> tuple[RequestSuperseded, ...]:
        """End each pending `server/discover` when the client starts a handshake.

        2026-07-28, versioning: a client without a response falls back to `initialize`. Measured
        clients then drop a late response.
        """
        if message.method != "initialize":
            return ()
        asked = [one for one in self.pending if one.method == DISCOVER]
        over = [self._finish(one, Transition.CLIENT_WENT_ON) for one in asked]
        return tuple(map(RequestSuperseded, over))

    def repeated_by(self, message: Message) -> Exchange | None:
        """Return the exchange that this request retries, or None."""
        waiting = self.exchanges.awaiting_retry
        return next((one for one in waiting if _repeats(message, one)), None)

    def _receive_notice(self, message: Message) -> tuple[Event, ...]:
        negotiated, version = self.negotiated, self.version
        observed = self.state.observe(self._peer, message)
        remarks = check.remarks(message, version, negotiated, observed.found)
        notice = NoticeArrived(message, remarks)
        cancelled = observed.request and self.exchanges.get(observed.request.number)
        if not cancelled:
            return (notice,)  # unknown or finished: MCP: ignore it
        reason = message.params.get("reason", "")
        done = self._finish(cancelled, Transition.CLIENT_CANCELLED)
        event = RequestCancelled(done, reason if isinstance(reason, str) else "")
        line = self._leave_batch(done, None)
        return (notice, event, LineReady(line, done.batch)) if line else (notice, event)

    def _receive_response(self, message: Message) -> ResponseArrived:
        negotiated = self.negotiated
        request = self.state.observe(self._peer, message).request
        if request is None:
            return ResponseArrived(message, None)
        return ResponseArrived(message, request.request, check.review(request, message, negotiated))

    # -- a draft in ----------------------------------------------------------------------------

    def reply(
        self,
        number: int,
        text: str,
        form: TextForm = TextForm.MESSAGE,
        *,
        anyway: bool = False,
        parks: bool = False,
    ) -> Outcome:
        """Check a reply and return the lines to write. Each exchange is answered only once.

        With `parks` it is a task or a ticket, and a person goes on.
        """
        exchange = self._pending_of(number)
        if exchange is None:
            return Late(self.exchanges.get(number))
        if exchange.stage is Stage.AWAITING_RETRY:
            return AwaitingRetry(exchange)
        judged = judge_reply(exchange, text, form, self.negotiated, anyway=anyway)
        if isinstance(judged, Refused):
            return judged
        step = Transition.CALL_PARKED if parks else Transition.REPLY_SENT
        return self._send(exchange, judged.own, judged.verdict, step)

    def reply_with_line(self, number: int, line: str, *, deliberate: bool = True) -> Outcome:
        """Answer with a whole line, unchecked: a recorded or real server sent this line."""
        exchange = self._pending_of(number)
        if exchange is None:
            return Late(self.exchanges.get(number))
        return self._send(exchange, line, Verdict(line, None if deliberate else line, line))

    def _send(
        self,
        exchange: Exchange,
        own: str,
        verdict: Verdict,
        step: Transition = Transition.REPLY_SENT,
    ) -> Sent:
        self.state.answer(self._peer, exchange.number, own)
        done = self._finish(exchange, step)
        others = self._supersede(done)
        line = self._leave_batch(done, own)
        return Sent(done, line, own, verdict, not verdict.sendable, *others)

    def _supersede(self, done: Exchange) -> tuple[tuple[Exchange, ...], tuple[LineReady, ...]]:
        """End the other requests with the id that was just answered.

        MCP: "The request ID MUST NOT have been previously used by the requestor". A client keeps
        one request per id: it would drop a second response.
        """
        alike = self.exchanges.same_id_pending(done)
        others = tuple(self._finish(one, Transition.ID_WAS_TAKEN) for one in alike)
        lines = [(self._leave_batch(one, None), one.batch) for one in others]
        return others, tuple(LineReady(line, batch) for line, batch in lines if line)

    def _finish(self, exchange: Exchange, transition: Transition) -> Exchange:
        self.state.forget(self._peer, exchange.number)
        self._theirs.over(exchange.request)
        return self.exchanges.put(exchange.after(transition))

    def _leave_batch(self, exchange: Exchange, line: str | None) -> str | None:
        """Return the lines to write after an exchange ended with this response."""
        if not exchange.batch:
            return line
        batch = self._batches[exchange.batch]
        batch.waiting.discard(exchange.number)
        if line is not None:
            batch.lines.append(line)
        ready = batch.ready()
        if ready is not None:
            del self._batches[exchange.batch]
        return ready

    def _pending_of(self, number: int) -> Exchange | None:
        exchange = self.exchanges.get(number)
        is_pending = exchange is not None and exchange.state is ExchangeState.PENDING
        return exchange if is_pending else None

    # -- keeping a client waiting ---------------------------------------------------------------

    def progress(self, number: int, step: int, message: str) -> str | None:
        """Return a progress notification for a pending request; None if none is allowed.

        MCP, progress: the notification repeats the token with its type, the value must increase,
        and none follows the response. `step` counts from 1. If a person has sent a higher value,
        the value continues from there.
        """
        exchange = self.exchanges.get(number)
        if exchange is None or exchange.stage is not Stage.PENDING:
            return None
        token = exchange.progress_token
        if token is None:
            return None
        speaks = features(exchange.version).progress_messages
        said = f',"message":{jsonrpc.as_line(message)}' if speaks else ""
        step = max(step, math.floor(self._theirs.last(exchange.request)) + 1)
        line = notice_line(PROGRESS, f'{{"progressToken":{token},"progress":{step}{said}}}')
        self.remember(line)
        return line

    def ask_to_retry(self, number: int, token: str) -> str | None:
        """Return an `input_required` result, so that the client retries later (2026-07-28).

        The result has only a `requestState`. The client repeats the request with a new id, and the
        repeat belongs to the same exchange. `token` must be unguessable. Returns None if the
        protocol does not allow it.
        """
        exchange = self.exchanges.get(number)
        if exchange is None or exchange.stage is not Stage.PENDING:
            return None
        may_ask = features(exchange.version).input_required
        if not may_ask or not methods.of(exchange.method).asks_back:
            return None
        if self.exchanges.same_id_pending(exchange):  # this id can have only one response
            return None
        self._await_retry(exchange, token)
        line = (
            f'{{"jsonrpc":"2.0","id":{exchange.id.token},"result":'
            f'{{"resultType":"input_required","requestState":{jsonrpc.as_line(token)}}}}}'
        )
        self.state.answer(self._peer, number, line)
        return line

    def held(self, number: int, token: str) -> None:
        """Record that the client was asked to retry a request with this `requestState`."""
        exchange = self._pending_of(number)
        if exchange is not None:
            self._await_retry(exchange, token)
            self.state.forget(self._peer, number)

    def _await_retry(self, exchange: Exchange, token: str) -> None:
        attempts = exchange.attempts + (token != CUT)
        after = exchange.after(Transition.RETRY_AWAITED)
        self.exchanges.put(after._replace(awaiting_retry=token, attempts=attempts))

    def went_quiet(self, number: int) -> Exchange | None:
        """Abandon an exchange whose client never sent the retry."""
        exchange = self.exchanges.get(number)
        if exchange is None or exchange.stage is not Stage.AWAITING_RETRY:
            return None
        return self._finish(exchange, Transition.CLIENT_WENT_QUIET)

    def acknowledge(self, number: int) -> str | None:
        """Return the acknowledgement that starts a `subscriptions/listen` (2026-07-28)."""
        exchange = self.exchanges.get(number)
        if exchange is None or not methods.of(exchange.method).stays_open:
            return None
        self.exchanges.put(exchange.after(Transition.ACKNOWLEDGED))
        wanted = object_at(exchange.request.params, "notifications")
        declared = self._server_capabilities
        tasks = methods.declares(exchange.request, methods.TASKS)
        honoured = {
            name: value
            for name, value in wanted.items()
            if value and (_capability(name) in declared or (tasks and name == methods.TASK_IDS))
        }
        return notice_line(
            "notifications/subscriptions/acknowledged",
            f'{{"_meta":{{"{versions.META_SUBSCRIPTION}":{exchange.id.token}}},'
            f'"notifications":{jsonrpc.as_line(honoured)}}}',
        )

    @property
    def _server_capabilities(self) -> Mapping[str, Any]:
        """The server capabilities, as declared or as they would be declared."""
        declared = self.negotiated.server_capabilities
        return self.book_capabilities if declared is None else declared

    def list_changed(self, capability: str) -> tuple[str, ...]:
        """Return the `list_changed` notifications; the client then fetches the list again.

        Returns () if the server declared no such list, or before the handshake is complete.
        """
        if capability not in self._server_capabilities:
            return ()
        method = f"notifications/{capability}/list_changed"
        return self._change_notices(method, {}, capability, wanted=True)

    def resource_updated(self, uri: str) -> tuple[str, ...]:
        """Return the `resources/updated` notifications, if the client subscribed."""
        return self._change_notices(UPDATED, {"uri": uri}, uri, wanted=uri in self.state.watched)

    def _change_notices(
        self, method: str, params: Mapping[str, Any], of: str, *, wanted: bool
    ) -> tuple[str, ...]:
        """Return the notifications of a change, if it is `wanted`.

        In 2026-07-28 each subscription that asked for the change gets one, with its id.
        """
        if not features(self.version).subscriptions:
            said = {"params": params} if params else {}
            notice = jsonrpc.as_line({"jsonrpc": "2.0", "method": method, **said})
            return (notice,) if wanted and self.negotiated.initialized else ()
        inside = jsonrpc.as_line(params)[1:-1]
        more = f",{inside}" if inside else ""
        meta = versions.META_SUBSCRIPTION
        return tuple(
            notice_line(method, f'{{"_meta":{{"{meta}":{one.id.token}}}{more}}}')
            for one in self.pending
            if methods.of(one.method).stays_open and _listens(one, of)
        )

    def cancelled(self, number: int) -> tuple[Event, ...]:
        """Record that the peer cancelled a request, by notification or by closing its stream."""
        exchange = self._pending_of(number)
        if exchange is None:
            return ()
        return (RequestCancelled(self._finish(exchange, Transition.CLIENT_CANCELLED), ""),)

    def related_to(self, line: str) -> int:
        """Return the pending request that an outgoing line belongs to, 0 for none.

        Over HTTP, the line is sent on the stream of that request's response.
        """
        message = jsonrpc.read_text(line)
        if not self.pending or not isinstance(message, Message):
            return 0
        return related_to(message, self.pending)

    # -- speaking first --------------------------------------------------------------------------

    def submit(self, text: str, *, anyway: bool = False) -> Verdict:
        """Check an outgoing notification or request, and record a request as open.

        The caller must write the verdict's `line`, or `forced` if the message is sent anyway.
        """
        verdict = self.judge(text)
        line = verdict.line if verdict.sendable or not anyway else verdict.forced
        if line is not None:
            self.remember(line, by_person=True)
        return verdict

    def reports_progress(self, number: int) -> bool:
        """Return True if a person sends this request's progress notifications."""
        exchange = self.exchanges.get(number)
        return exchange is not None and self._theirs.is_taken_over(exchange.request)

    def judge(self, text: str) -> Verdict:
        """Check an outgoing message without sending it."""
        verdict = check.check_outgoing(
            text,
            self.version,
            self.negotiated,
            unreadable=self.unreadable > 0,
            invalid=frozenset(self._invalid),
            initialized=self.negotiated.initialized,
            progress=self._theirs,
        )
        return self._said_by_client(verdict) if self.role is Party.CLIENT else verdict

    def _said_by_client(self, verdict: Verdict) -> Verdict:
        """Check an outgoing message to a server: the client's methods, and no error blocks it."""
        message = jsonrpc.read_text(verdict.forced or "")
        if not isinstance(message, Message) or not message.method:
            return verdict
        version = state.version_of(message, self.state.negotiated_version)
        found = check.remarks(message, version, self.negotiated)
        return verdict._replace(line=verdict.forced, diagnostics=found)

    def ask(
        self,
        method: str,
        params: Mapping[str, Any] | None = None,
        id: str | int | None = None,  # noqa: A002 - the protocol's own word
    ) -> Message:
        """Return a new request of our own. Without an `id` it gets the next one."""
        if id is None:
            id = self.new_id()  # noqa: A001 - the protocol's own word
        request: dict[str, Any] = {"jsonrpc": "2.0", "id": id, "method": method}
        if params is not None:
            request["params"] = params
        message = jsonrpc.made(request)
        self.state.observe(self._own, message)
        return message

    def give_up(
        self, request: Message, reason: str = "", cause: StrayCause = StrayCause.LATE
    ) -> str | None:
        """Stop waiting for the response to our request; return the cancellation to write, if any.

        Returns None if the response is there already, or for `initialize`, which "MUST NOT be
        cancelled by clients". A response that still comes belongs to no request, for this cause.
        """
        open_ones = () if request.id is None else self.state.with_id(self._own, request.id)
        if request.id is None or not open_ones:
            return None
        self.state.forget(self._own, open_ones[0].number, cause)
        return None if request.method == "initialize" else cancellation(request.id, reason)

    def remember(self, line: str, *, by_person: bool = False) -> None:
        """Record an outgoing line that is not a response to the peer's requests."""
        message = jsonrpc.read(line.encode())
        if not isinstance(message, Message):
            return
        if message.method:  # a response without a request changes nothing
            self.state.observe(self._own, message)
        if by_person:
            self._theirs.mark_manual(message)
        if message.kind is Kind.ERROR:
            self.unreadable = max(0, self.unreadable - 1)  # each unreadable line gets one answer
            if message.id is not None:
                self._invalid.discard(message.id.key)

    # -- the end ---------------------------------------------------------------------------------

    def end(self) -> tuple[Exchange, ...]:
        """End the conversation: abandon the pending exchanges and return them."""
        return tuple(self._finish(one, Transition.SESSION_ENDED) for one in self.pending)


def cancellation(asked: RequestId, reason: str = "") -> str:
    """Return a `notifications/cancelled` line for a request of our own."""
    said = f',"reason":{jsonrpc.as_line(reason)}' if reason else ""
    return notice_line(CANCELLED, f'{{"requestId":{asked.token}{said}}}')


def _repeats(message: Message, exchange: Exchange) -> bool:
    """Return True if this request is the retry that an exchange awaits.

    2026-07-28 cannot resume a stream that was cut: the client may repeat the request under another
    id.
    """
    if exchange.awaiting_retry != CUT:
        state = message.params.get("requestState")
        is_asked = bool(exchange.awaiting_retry) and state == exchange.awaiting_retry
        return is_asked and exchange.method == message.method
    return exchange.method == message.method and _asked(exchange.request) == _asked(message)


def _asked(request: Message) -> Mapping[str, Any]:
    return {name: value for name, value in request.params.items() if name != "_meta"}


def _listens(exchange: Exchange, of: str) -> bool:
    """Return True if a subscription covers this kind of list, or this resource."""
    wanted = object_at(exchange.request.params, "notifications")
    resources = array_at(wanted, "resourceSubscriptions")
    return wanted.get(f"{of}ListChanged") is True or of in resources


def _capability(change: str) -> str:
    """Return the capability that a change notification belongs to, "" for none."""
    record = methods.FILTERED.get(change)
    return record.capability if record else ""
