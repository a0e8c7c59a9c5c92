"""The state of a conversation, derived from the messages that both sides have sent.

Theory of operation. A `ConversationState` observes every message in order, with the side that sent
it. From these alone it derives

- the version: stated by a 2026-07-28 request, else negotiated by `initialize`;
- who the client is, what it declared, and what the server declared;
- which requests are in flight, and which of them an answer or a cancellation is about;
- which request continues another one that was answered with a question (2026-07-28);
- whether progress of a request may be reported.

A party (`McpSession`), a tap between the two, a replay and an export use the same state, so they
agree. A party knows more than an observer: it numbers the received requests, and names the one that
it answers (`answer`, `forget`). An observer only has the id, which can be ambiguous: both sides
count separately, an id may repeat after its response, and in 2026-07-28 `input_required` ends a
request, which the client then repeats with a new id. The state reports ambiguity and never guesses
silently.

It is pure and can be copied: it keeps the open requests, and the ids of the last finished ones.
"""

from __future__ import annotations

import enum
import math
from collections import OrderedDict
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias, TypeGuard

from humanmcp.protocol.conversation.exchange import Exchange, InputRound, NegotiatedState, name_of
from humanmcp.protocol.conversation.transcript import BACK, Direction
from humanmcp.protocol.diagnostics import kinds
from humanmcp.protocol.diagnostics.problem import RawDiagnostic, quoted
from humanmcp.protocol.json.jsonrpc import (
    Json,
    Kind,
    Message,
    RequestId,
    as_json,
    carries_answer,
    kind_of_answer,
    object_in,
)
from humanmcp.protocol.json.tree import objects_at
from humanmcp.protocol.tables import methods, versions
from humanmcp.protocol.tables.methods import CANCELLED, DISCOVER, INITIALIZED, PROGRESS
from humanmcp.protocol.tables.versions import features

if TYPE_CHECKING:
    from collections.abc import Mapping

    from humanmcp.protocol.json.jsonrpc import JsonObject


def version_of(request: Message, negotiated_version: str) -> str:
    """Return the protocol version of the response to a request."""
    stated = versions.stated_in(request)
    if stated is not None:
        return stated if stated in versions.STATELESS else versions.LATEST_STATELESS
    if request.method == "initialize":
        asked = request.params.get("protocolVersion")
        return asked if asked in versions.HANDSHAKE else versions.LATEST_HANDSHAKE
    if request.method == DISCOVER:
        return versions.LATEST_STATELESS
    return negotiated_version or versions.LATEST_HANDSHAKE


def after_request(negotiated: NegotiatedState, request: Message, version: str) -> NegotiatedState:
    """Add what a client's request states about the client: its name, its capabilities."""
    if features(version).stateless:
        client = request.meta.get(versions.META_CLIENT)
        capabilities = request.meta.get(versions.META_CAPABILITIES)
    elif request.method == "initialize":
        client = request.params.get("clientInfo")
        capabilities = request.params.get("capabilities")
    else:
        return negotiated
    if isinstance(client, dict):
        negotiated = negotiated._replace(
            client_name=str(client.get("name", "")), client_version=str(client.get("version", ""))
        )
    if isinstance(capabilities, dict):
        negotiated = negotiated._replace(client_capabilities=capabilities)
    return negotiated


def declared_by(exchange: Exchange, negotiated: NegotiatedState | None) -> Mapping[str, Any]:
    """Return the client's capabilities; in 2026-07-28 each request declares its own."""
    if features(exchange.version).stateless:
        stated = exchange.request.meta.get(versions.META_CAPABILITIES)
        return stated if isinstance(stated, dict) else {}
    return {} if negotiated is None else negotiated.client_capabilities


def may_teach(request: Message, line: str) -> bool:
    """Return True if a result may contain what `after_result` or `question_in` read.

    It searches the text only, so that long results without such content are not decoded.
    """
    counts = methods.of(request.method).result_counts
    return counts or "input_required" in line or "\\" in line


def after_result(
    negotiated: NegotiatedState, request: Message, result: JsonObject
) -> NegotiatedState:
    """Add what a server's result states: its capabilities and its tools."""
    capabilities = result.get("capabilities")
    if methods.of(request.method).introduces and isinstance(capabilities, dict):
        negotiated = negotiated._replace(server_capabilities=capabilities)
    scope = result.get("cacheScope")
    if methods.of(request.method).listing and "cursor" not in request.params and scope is not None:
        scopes = {**negotiated.cache_scopes, request.method: scope}
        negotiated = negotiated._replace(cache_scopes=scopes)
    member = _LISTS.get(request.method)
    listed = result.get(member) if member is not None else None
    if member is None or not isinstance(listed, list):
        return negotiated
    # A request with a cursor gets a further page: its tools are added.
    before = getattr(negotiated, member) if "cursor" in request.params else None
    more = result.get("nextCursor") is not None
    partly = {**negotiated.partly_listed, request.method: more}
    known: dict[str, Any] = {member: {**(before or {}), **by_name(listed)}, "partly_listed": partly}
    if member == "tools":
        known["newly_prepared"] = False
    return negotiated._replace(**known)


def by_name(listed: Json) -> dict[str, JsonObject]:
    """Return the objects of a list that have a name, by it."""
    return {one["name"]: one for one in objects_at(listed) if isinstance(one.get("name"), str)}


_LISTS: Final = {"tools/list": "tools", "prompts/list": "prompts"}
"""The lists that later requests are checked against, and the member of the result."""
_CHANGED: Final = {f"notifications/{member}/list_changed": name for name, member in _LISTS.items()}


def question_in(result: JsonObject) -> str:
    """Return the `requestState` of an `input_required` result (2026-07-28), "" for none."""
    state = result.get("requestState")
    asks = result.get("resultType") == "input_required"
    return state if asks and isinstance(state, str) else ""


MOST_OPEN: Final = 4096
"""The maximum number of progress tokens that are kept; the oldest is dropped."""


class Progress:
    """The progress tokens of one side's open requests, and the last value of each."""

    def __init__(self) -> None:
        self._last: OrderedDict[tuple[str, str | int | float], float | None] = OrderedDict()
        self._taken_over: set[tuple[str, str | int | float]] = set()

    def copy(self) -> Progress:
        other = Progress()
        other._last = self._last.copy()
        other._taken_over = self._taken_over.copy()
        return other

    def asked(self, request: Message) -> None:
        """Add an open request."""
        key = _key(request.meta.get("progressToken"))
        if key is not None:
            self._last[key] = None
            if len(self._last) > MOST_OPEN:
                self._last.popitem(last=False)

    def over(self, request: Message) -> None:
        """Remove a finished request: no progress may be reported for it."""
        key = _key(request.meta.get("progressToken"))
        if key is not None:
            self._last.pop(key, None)
            self._taken_over.discard(key)

    def mark_manual(self, notice: Message) -> None:
        """Record that a person now sends the progress of a request."""
        key = _key(notice.params.get("progressToken")) if notice.method == PROGRESS else None
        if key is not None and key in self._last:
            self._taken_over.add(key)

    def is_taken_over(self, request: Message) -> bool:
        """Return True if a person sends the progress of this request."""
        return _key(request.meta.get("progressToken")) in self._taken_over

    def last(self, request: Message) -> float:
        """Return the last progress value of a request; 0 if there was none."""
        key = _key(request.meta.get("progressToken"))
        return (self._last.get(key) if key is not None else None) or 0

    def judge(self, params: Json) -> list[RawDiagnostic]:
        """Check the token and value of a progress notification, not its shape.

        MCP, progress: "Progress notifications MUST only reference tokens that: Were provided in an
        active request"; "The `progress` value MUST increase with each notification".
        """
        if not isinstance(params, dict):
            return []
        token, value = params.get("progressToken"), params.get("progress")
        key = _key(token)
        if key is None:
            return []
        if key not in self._last:
            return [kinds.unknown_progress_token(("params", "progressToken"), token=quoted(token))]
        before = self._last[key]
        if not _is_number(value) or before is None or value > before:
            return []
        written = as_json(before), as_json(value)
        return [
            kinds.progress_not_rising(("params", "progress"), before=written[0], now=written[1])
        ]

    def hear(self, notice: Message) -> tuple[RawDiagnostic, ...]:
        """Check and record a progress notification; return () for other notifications."""
        if notice.method != PROGRESS:
            return ()
        found = tuple(self.judge(notice.params))
        key, value = _key(notice.params.get("progressToken")), notice.params.get("progress")
        if key is not None and key in self._last and _is_number(value):
            before = self._last[key]
            self._last[key] = value if before is None else max(before, value)
        return found


def _key(token: Json) -> tuple[str, str | int | float] | None:
    """Return a key for a token, None if it is invalid. `7` and `"7"` are two tokens."""
    if isinstance(token, bool) or not isinstance(token, (str, int)):
        return None
    return RequestId("", token).key


def _is_number(value: Json) -> TypeGuard[int | float]:
    """Return True for a finite number; not for `true`, nor for 1e999, which overflows."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    return isinstance(value, int) or math.isfinite(value)


_Key: TypeAlias = tuple[Direction, tuple[str, str | int | float]]
_Number: TypeAlias = tuple[Direction, int]
_Question: TypeAlias = tuple[str, str, frozenset[str]]


_UNDETECTED: Final = (-32700, -32600)
"""The errors of a receiver that could not read the id."""

MOST_OVER: Final = 256
"""The maximum number of finished ids that are kept: a response to one may be late."""


class StrayCause(enum.Enum):
    """Why a response answers no open request."""

    REPEATED = "repeated"
    """The request already has a response."""
    LATE = "late"
    """The request was cancelled, or its sender gave up on it."""
    ANSWERED_NOTIFICATION = "answered notification"
    """It has no id, or that of no request, and the other side has sent a notification."""
    ELSEWHERE = "elsewhere"
    """The HTTP response to the request ended without it. Only a client knows this."""
    OTHER_TYPE = "other type"
    """A request has this id in another type: one is a string, the other a number."""
    HTTP_ERROR = "HTTP error"
    """It has the id that the Python SDK 1.x gives to an HTTP error, whatever the request was."""
    WITHOUT_ID = "without id"
    NEVER_ASKED = "never asked"
    """No request had its id."""


class ObservedMessage(NamedTuple):
    """A message, and the request that it is about.

    `request` is the request itself, or the one that is answered or cancelled; None if there is
    none. With `ambiguous`, several open requests have the id of this message. `found` are the
    problems that only the history of the conversation shows. `likely` is the only pending
    request, if a response has an id that was never used: it was probably meant for this
    request. `stray` is why a response answers no open request; None if it answers one.
    """

    direction: Direction
    message: Message
    request: Exchange | None
    ambiguous: bool = False
    found: tuple[RawDiagnostic, ...] = ()
    likely: Exchange | None = None
    stray: StrayCause | None = None

    @property
    def method(self) -> str:
        """The method of the message, or of the request that it answers."""
        return self.message.method or (self.request.method if self.request else "")

    @property
    def name(self) -> str:
        """The tool, prompt or resource address that it is about; "" for none."""
        return self.request.name if self.request else name_of(self.message)


class ConversationState:
    """The state after the messages so far. The head of this module has the theory of operation."""

    def __init__(self, most_open: float = MOST_OPEN) -> None:
        """Start without any message. Of more than `most_open` open requests, the oldest is dropped.

        An observer needs this limit, because a response may take a way that it does not observe.
        """
        self.negotiated = NegotiatedState()
        self.negotiated_version = ""
        self.log_level = ""
        """The log level that the client set; "" if it set none."""
        self.watched: set[str] = set()
        """The resources that the client subscribed to."""
        self.count = 0
        self._stated = ""
        self._most_open = most_open
        self._open: OrderedDict[_Number, Exchange] = OrderedDict()
        self._by_id: dict[_Key, list[int]] = {}
        self._over: OrderedDict[_Key, StrayCause] = OrderedDict()
        self._notified: set[Direction] = set()
        """The sides that sent a notification since an error without an id came back."""
        self._states: OrderedDict[str, int] = OrderedDict()
        self._questions: OrderedDict[int, _Question] = OrderedDict()
        self._rounds: OrderedDict[int, InputRound] = OrderedDict()
        """The requests for input that no retry has answered yet."""
        self.progress = {Direction.IN: Progress(), Direction.OUT: Progress()}
        """The progress of each side's requests."""

    @property
    def version(self) -> str:
        """The protocol version: stated last, else negotiated, "" before both."""
        return self._stated or self.negotiated_version

    @property
    def open(self) -> tuple[Exchange, ...]:
        """The requests without a response, oldest first."""
        return tuple(self._open.values())

    def in_flight(self, direction: Direction) -> tuple[Exchange, ...]:
        """Return the requests of one side that have no response, oldest first."""
        return tuple(one for one in self._open.values() if one.direction is direction)

    def with_id(self, direction: Direction, request_id: RequestId) -> tuple[Exchange, ...]:
        """Return the open requests of one side with this id, oldest first; normally one."""
        numbers = self._by_id.get((direction, request_id.key), ())
        return tuple(self._open[direction, number] for number in numbers)

    def answered_by(self, direction: Direction, response_id: RequestId) -> tuple[Exchange, ...]:
        """Return the open requests of one side that a response with this id answers."""
        exact = self.with_id(direction, response_id)
        if exact or not isinstance(response_id.value, str):
            return exact
        asked = self.in_flight(direction)
        return tuple(one for one in asked if one.request.id and response_id.answers(one.request.id))

    def observe(self, direction: Direction, message: Message) -> ObservedMessage:
        """Observe one message of this side and return what it is about."""
        if message.kind is Kind.REQUEST and carries_answer(message.body):
            # With a method beside its result, it is a response if somebody waits for it.
            kind = kind_of_answer(message.body)
            if kind and message.id is not None and self.answered_by(BACK[direction], message.id):
                message = message._replace(kind=kind)
        match message.kind:
            case Kind.REQUEST:
                in_use = message.id is not None and bool(self.with_id(direction, message.id))
                request = self.observe_request(direction, message)
                return ObservedMessage(direction, message, request, ambiguous=in_use)
            case Kind.NOTIFICATION:
                asked = self._observe_notice(direction, message)
                return ObservedMessage(
                    direction, message, asked, found=self.progress[BACK[direction]].hear(message)
                )
            case Kind.RESULT | Kind.ERROR:
                return self._observe_answer(direction, message)

    def answer(self, direction: Direction, number: int, line: str) -> None:
        """Record the response to a request of this side, whatever its id is."""
        request = self._open.get((direction, number))
        if request is None:
            return
        self._close(request)
        if direction is Direction.IN and may_teach(request.request, line):
            self._learn(request, object_in(line).get("result"))

    def forget(
        self, direction: Direction, number: int, cause: StrayCause = StrayCause.LATE
    ) -> None:
        """Remove an open request: no response to it will be observed here."""
        request = self._open.get((direction, number))
        if request is not None:
            self._forget(request, cause)

    def copy(self) -> ConversationState:
        other = ConversationState()
        for name, value in vars(self).items():
            setattr(other, name, value.copy() if hasattr(value, "copy") else value)
        other._by_id = {key: numbers.copy() for key, numbers in self._by_id.items()}
        other.progress = {side: progress.copy() for side, progress in self.progress.items()}
        return other

    def asked_with(self, state: str) -> bool:
        """Return True if an `input_required` with this `requestState` was sent."""
        return state in self._states

    # -- requests ------------------------------------------------------------------------------

    def observe_request(
        self, direction: Direction, message: Message, number: int = 0, stated: str = ""
    ) -> Exchange:
        """Add a request of this side; `observe` handles all other messages.

        `number` is the receiving side's number for it; by default, the requests of both sides count
        from 1. `stated` is the version that the transport states, "" for none.
        """
        version = stated or version_of(message, self.negotiated_version)
        if direction is Direction.IN:
            # `server/discover` asks for the supported versions: it sets none.
            # https://modelcontextprotocol.io/specification/2026-07-28/server/discover
            if features(version).stateless and message.method != DISCOVER:
                self._stated = version
            self.negotiated = after_request(self.negotiated, message, version)
        self.count += 1
        number = number or self.count
        continues = self._continued_by(message)
        request = Exchange(
            number,
            message,
            version,
            continues=continues,
            retried=self._retried_by(message, continues),
            direction=direction,
        )
        self._open[direction, number] = request
        if message.id is not None:
            self._by_id.setdefault((direction, message.id.key), []).append(request.number)
        self.progress[direction].asked(message)
        if len(self._open) > self._most_open:
            self._forget(next(iter(self._open.values())))
        return request

    def _continued_by(self, message: Message) -> int:
        """Return the number of the request that this one repeats with the user's input, 0 for none.

        2026-07-28: the retry carries the `requestState` and the keys of the `input_required`.
        Without a state, method, name and keys must identify exactly one request.
        """
        state = message.params.get("requestState")
        if isinstance(state, str) and state:
            return self._states.get(state, 0)
        responses = message.params.get("inputResponses")
        if not isinstance(responses, dict):
            return 0
        wanted = (message.method, name_of(message), frozenset(responses))
        alike = [number for number, question in self._questions.items() if question == wanted]
        if len(alike) != 1:
            return 0
        del self._questions[alike[0]]
        return alike[0]

    def _retried_by(self, message: Message, continues: int) -> InputRound | None:
        """Return what a request with the user's input answers: the only question about its subject.

        So a retry with another `requestState` or other keys is still compared with its question.
        """
        if {"requestState", "inputResponses"}.isdisjoint(message.params):
            return None
        subject = (message.method, name_of(message))
        alike = [
            number
            for number, one in self._rounds.items()
            if (one.request.method, name_of(one.request)) == subject
        ]
        return self._rounds.pop(continues or (alike[0] if len(alike) == 1 else 0), None)

    def _forget(self, request: Exchange, cause: StrayCause = StrayCause.LATE) -> None:
        del self._open[request.direction, request.number]
        if request.request.id is None:
            return
        key = (request.direction, request.request.id.key)
        self._over[key] = cause
        self._over.move_to_end(key)
        if len(self._over) > MOST_OVER:
            self._over.popitem(last=False)
        self._by_id[key].remove(request.number)
        if not self._by_id[key]:
            del self._by_id[key]

    # -- notifications and answers -------------------------------------------------------------

    def _observe_notice(self, direction: Direction, message: Message) -> Exchange | None:
        self._notified.add(direction)
        if message.method in _CHANGED:
            partly = {**self.negotiated.partly_listed, _CHANGED[message.method]: True}
            self.negotiated = self.negotiated._replace(partly_listed=partly)
        if message.method == INITIALIZED:
            self.negotiated = self.negotiated._replace(initialized=True)
        if message.method != CANCELLED:
            return None
        wanted = message.params.get("requestId")
        if isinstance(wanted, bool) or not isinstance(wanted, (str, int, float)):
            return None
        found = reversed(self.with_id(direction, RequestId("", wanted)))
        # "The `initialize` request MUST NOT be cancelled by clients": it stays open.
        request = next((one for one in found if one.method != "initialize"), None)
        if request is not None:
            self._forget(request)
        return request

    def _observe_answer(self, direction: Direction, message: Message) -> ObservedMessage:
        alike = () if message.id is None else self.answered_by(BACK[direction], message.id)
        if not alike:
            likely = self._meant_for(direction, message)
            stray = self.why_stray(direction, message)
            self._notified.discard(BACK[direction])
            return ObservedMessage(direction, message, None, likely=likely, stray=stray)
        self._close(alike[0])
        if message.kind is Kind.RESULT and direction is Direction.OUT:
            self._learn(alike[0], message.body["result"])
        return ObservedMessage(direction, message, alike[0], ambiguous=len(alike) > 1)

    def why_stray(self, direction: Direction, answer: Message) -> StrayCause:
        """Return why a response of this side answers no open request."""
        if answer.id is not None:
            over = self._over.get((BACK[direction], answer.id.key))
            return over or self._why_unknown(direction, answer, answer.id)
        error = answer.body.get("error")
        code = error.get("code") if isinstance(error, dict) else None
        # "If there was an error in detecting the id in the Request object (e.g. Parse error/Invalid
        # Request), it MUST be Null." https://www.jsonrpc.org/specification#response_object
        if self.may_answer_notification(direction) and code not in _UNDETECTED:
            return StrayCause.ANSWERED_NOTIFICATION
        return StrayCause.WITHOUT_ID

    def may_answer_notification(self, direction: Direction) -> bool:
        """Return True if the other side sent a notification that nothing has answered yet."""
        return BACK[direction] in self._notified

    def _why_unknown(self, direction: Direction, answer: Message, own: RequestId) -> StrayCause:
        """Return why no request had the id of a response."""
        asked = self.in_flight(BACK[direction])
        if self._is_over(direction, own) or any(str(own.value) == one.id.value for one in asked):
            return StrayCause.OTHER_TYPE
        if answer.kind is Kind.ERROR and own.value == "server-error":
            return StrayCause.HTTP_ERROR
        if answer.kind is Kind.ERROR and not asked and self.may_answer_notification(direction):
            return StrayCause.ANSWERED_NOTIFICATION
        return StrayCause.NEVER_ASKED

    def _meant_for(self, direction: Direction, answer: Message) -> Exchange | None:
        """Return the only pending request, if a response has an id that was never used.

        A finished id means that the response is late or repeated, so it answers no other request.
        """
        if answer.id is None or self._is_over(direction, answer.id):
            return None
        asked = self.in_flight(BACK[direction])
        waiting = [one for one in asked if not methods.of(one.method).stays_open]
        return waiting[0] if len(waiting) == 1 else None

    def _is_over(self, direction: Direction, own: RequestId) -> bool:
        """Return True if a finished request of the other side had this id, in any type."""
        return any(
            side is BACK[direction] and (value == own.value or str(value) == str(own.value))
            for side, (_type, value) in self._over
        )

    def _close(self, request: Exchange) -> None:
        self._forget(request, StrayCause.REPEATED)
        # Not at the cancellation: messages that crossed it are not wrong.
        self.progress[request.direction].over(request.request)

    def _follow_wishes(self, method: str, request: Message) -> None:
        """Record the client's log level and subscriptions, once the server has accepted them."""
        level, uri = request.params.get("level"), request.params.get("uri")
        if method == "logging/setLevel" and isinstance(level, str):
            self.log_level = level
        elif method == "resources/subscribe" and isinstance(uri, str):
            self.watched.add(uri)
        elif method == "resources/unsubscribe" and isinstance(uri, str):
            self.watched.discard(uri)

    def _learn(self, request: Exchange, result: Json) -> None:
        if not isinstance(result, dict):
            return
        if request.method == "initialize":
            # After a version that `initialize` cannot negotiate, the requested one counts.
            chosen = result.get("protocolVersion")
            self.negotiated_version = str(
                chosen if chosen in versions.HANDSHAKE else request.version
            )
        self._follow_wishes(request.method, request.request)
        self.negotiated = after_result(self.negotiated, request.request, result)
        if result.get("resultType") != "input_required":
            return
        self._rounds[request.number] = InputRound(request.request, result)
        state = question_in(result)
        wanted = result.get("inputRequests")
        if state:
            self._states[state] = request.number
        elif isinstance(wanted, dict):
            self._questions[request.number] = (request.method, request.name, frozenset(wanted))
        for memory in (self._states, self._questions, self._rounds):
            if len(memory) > MOST_OPEN:
                memory.popitem(last=False)
