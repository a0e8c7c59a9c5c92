"""The client: opens a session with a server, asks, and answers it by a respondent.

Sits on `McpSession`, which tells what each line means, and on any `Transport`. Knows
neither processes nor terminals. Several threads may ask at once; each gets its own answer.

A transport knows lines and nothing of what they say. The client is its listener: it is told
of every line, of what the peer says beside the wire, and once of the end. Swapping the transport
changes nothing here: the tests of the client run over a process and over memory.
"""

from __future__ import annotations

import contextlib
import threading
import time
from concurrent import futures
from concurrent.futures import Future
from dataclasses import KW_ONLY, InitVar, dataclass, field
from typing import TYPE_CHECKING, Any, Concatenate, Final, ParamSpec, Protocol, TypeAlias

from humanmcp.common.child import ChildCommand, ChildTransport, EndedError
from humanmcp.extensions.host.client.callbacks import ClientObserver, MisdirectedResponse
from humanmcp.extensions.host.client.handshake import (
    Begun,
    Identity,
    Key,
    NoAnswerError,
    NotDeclaredError,
    Response,
    SessionStart,
    as_key,
    enveloped,
    initialize,
    token_of,
    with_progress_token,
)
from humanmcp.http.server_address import SessionOverError
from humanmcp.protocol.conversation.outcomes import (
    NoticeArrived,
    RequestArrived,
    RequestCancelled,
    ResponseArrived,
    Sent,
    UnreadableArrived,
)
from humanmcp.protocol.conversation.state import StrayCause
from humanmcp.protocol.conversation.transcript import Direction
from humanmcp.protocol.diagnostics.model import TextForm
from humanmcp.protocol.http.client import named_after
from humanmcp.protocol.json import jsonrpc, undecoded
from humanmcp.protocol.json.jsonrpc import Kind, Message
from humanmcp.protocol.json.tree import object_at
from humanmcp.protocol.session import McpSession, Party
from humanmcp.protocol.tables import methods, versions
from humanmcp.protocol.tables.methods import PROGRESS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from humanmcp.extensions.host.client.callbacks import Judge, ServerRequestHandler
    from humanmcp.http.server_address import ServerAddress
    from humanmcp.http.transport import CallListener, HttpPart
    from humanmcp.locales.stop import StopError
    from humanmcp.protocol.conversation.exchange import Exchange, NegotiatedState
    from humanmcp.protocol.conversation.outcomes import Event, Outcome
    from humanmcp.protocol.diagnostics.model import Verdict

    Ask: TypeAlias = Callable[[Exchange, NegotiatedState, Judge], None]
    """Puts a question to the one who answers for the client, and waits."""

    Wait: TypeAlias = Callable[[Sequence[Future[Any]], float], object]
    """Waits until one of several futures is done, or this many seconds; or less, for a reason."""


_Facts = ParamSpec("_Facts")


class Transport(Protocol):
    """A way to a peer. `start` it once, then `send`; `close` it once or more."""

    def start(self, listener: CallListener) -> None:
        """Begin to bring lines to the listener."""

    def send(self, line: str) -> None:
        """Queue a line, without its line feed. Never waits for the peer.

        Raises:
            EndedError: the peer is gone, or the transport was closed.
        """

    def close(self) -> None:
        """End the connection in order. Closing again does nothing."""

    def end_reason(self) -> EndedError:
        """Return how the peer ended, as far as it is known."""


ServerTarget: TypeAlias = "ChildCommand | ServerAddress"
"""A server: how it is started, or where it is."""


def connect(target: ServerTarget) -> Transport:
    """Return the way to a server. A process is started by it; an address is called later.

    Raises:
        StartError: it cannot be started.
    """
    if isinstance(target, ChildCommand):
        return ChildTransport(target)
    from humanmcp.http.transport import HttpTransport  # noqa: PLC0415 - most servers are started

    return HttpTransport(target)


def find_out(
    found: Mapping[str, Any], negotiated: NegotiatedState, ask: Ask
) -> dict[str, Any] | None:
    """Return what a repeated request carries beside its own parameters.

    None when a question was not answered, or when there is nothing to repeat for.
    """
    questions = object_at(found, "inputRequests")
    more: dict[str, Any] = {}
    if questions:
        answers = {key: _answer(key, asked, negotiated, ask) for key, asked in questions.items()}
        if None in answers.values():
            return None
        more["inputResponses"] = answers
    if "requestState" in found:
        more["requestState"] = found["requestState"]
    return more or None


def _answer(key: str, asked: Any, negotiated: NegotiatedState, ask: Ask) -> dict[str, Any] | None:  # noqa: ANN401 - any JSON value
    """Have one question answered, in the shape of the last version in which it was a request."""
    if not isinstance(asked, dict):
        return None
    aside = McpSession(Party.CLIENT)
    aside.negotiated = negotiated
    found: list[Sent] = []

    def judge(text: str, form: TextForm = TextForm.RESULT, *, anyway: bool = False) -> Outcome:
        outcome = aside.reply(1, text, form, anyway=anyway)
        if isinstance(outcome, Sent):
            found.append(outcome)
        return outcome

    line = jsonrpc.as_line({"jsonrpc": "2.0", "id": key, **asked})
    for event in aside.receive(jsonrpc.encoded(line)):
        if isinstance(event, RequestArrived):
            ask(event.exchange, aside.negotiated, judge)
    if not found:
        return None
    result = jsonrpc.object_in(found[0].own).get("result")
    return result if isinstance(result, dict) else None


TIMEOUT: Final = 60.0
"""Seconds that an answer may take, as with the official TypeScript SDK."""

LONGEST: Final = 3600.0
"""Seconds after which an answer is given up although progress comes: "implementations SHOULD always
enforce a maximum timeout, regardless of progress notifications, to limit the impact of a
misbehaving client or server."
https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle#timeouts
"""

FIRST_ID: Final = 101
"""The id of a client's first request. A server that answers to 1, whatever it is asked, must not be
right by chance: with most other clients it would not be."""

MOST_ROUNDS: Final = 10
"""How often one call is repeated for `input_required`, as with both official SDKs."""

MOST_PAGES: Final = 1000
"""Pages of one list: a server whose list never ends must not keep us for ever."""


def first_done(waited: Sequence[Future[Any]], timeout: float, /) -> None:
    """Wait until one of several futures is done, and do nothing else meanwhile."""
    futures.wait(waited, timeout, futures.FIRST_COMPLETED)


@dataclass(eq=False)
class Client:
    """One session with one server. `strict` never asks for what the server did not declare.

    `lenient` takes an answer with a wrong id for that of the only request that waits.
    `progress` asks for progress notifications where a request may take long; they extend the
    timeout, but not beyond `longest`, if that is more.
    `wait_for_any` waits for the first of several answers; a person can be asked something
    meanwhile.
    """

    transport: Transport
    handler: ServerRequestHandler
    _: KW_ONLY
    identity: Identity = field(default_factory=Identity)
    observers: Sequence[ClientObserver] = ()
    timeout: float = TIMEOUT
    longest: float = LONGEST
    strict: bool = False
    lenient: bool = False
    progress: bool = True
    first_id: InitVar[int] = FIRST_ID
    wait_for_any: Wait = first_done

    def __post_init__(self, first_id: int) -> None:
        self.session = McpSession(Party.CLIENT, first_id)
        self.stated = ""
        """The version that every request carries; "" in a session with a handshake."""
        self.server: Mapping[str, Any] = {}
        """What the server said of itself: the result of `initialize` or `server/discover`."""
        self._opened_by = (SessionStart.HANDSHAKE, versions.LATEST_HANDSHAKE)
        self._lock = threading.RLock()
        self._waiting: dict[Key, Future[Response]] = {}
        self._misread: dict[Key, str] = {}
        """Lines that could not be read, by the request that waits and that each seems to answer."""
        self._heard: dict[Key, float] = {}
        """When progress of a request was last heard, by its token and the clock of the timeout."""
        self._questions = 0
        self._asked_at = 0.0
        """Since when the server has waited for us, by the monotonic clock."""
        self._stood_still = 0.0
        """Seconds in which it has waited for us so far."""
        self._ended: EndedError | None = None
        self._closing = False
        self.has_lost_its_server = False
        """Whether the server ended before it was asked to."""
        self.transport.start(self)

    def _tell(
        self,
        see: Callable[Concatenate[ClientObserver, _Facts], object],
        *facts: _Facts.args,
        **named: _Facts.kwargs,
    ) -> None:
        """Call the method of this name of each observer."""
        for one in self.observers:
            getattr(one, see.__name__)(*facts, **named)

    # -- opening and closing -------------------------------------------------------------------

    def open(self, session_start: SessionStart, version: str = versions.LATEST_HANDSHAKE) -> None:
        """Open the session. `version` is the one that a handshake asks for.

        Raises:
            HandshakeError: the server speaks nothing that we do, or refuses.
            NoAnswerError: it says nothing.
            EndedError: it ended.
        """
        self._opened_by = (session_start, version)
        initialize(self, session_start, version)

    def close(self) -> None:
        self._closing = True
        self.transport.close()

    @property
    def server_capabilities(self) -> Mapping[str, Any]:
        return self.session.negotiated.server_capabilities or {}

    # -- asking --------------------------------------------------------------------------------

    def call(self, method: str, params: Mapping[str, Any] | None = None) -> Response:
        """Ask, and answer the questions that come back, until there is a final answer.

        In 2026-07-28 a server asks by answering `input_required`; the request is then repeated
        with the answers and the server's `requestState`.
        """
        response = self.request(method, params)
        for _ in range(MOST_ROUNDS):
            found = response.result or {}
            if found.get("resultType") != "input_required":
                return response
            more = find_out(found, self.session.negotiated, self._ask)
            if more is None:
                return response
            response = self.request(method, {**(params or {}), **more})
        return response

    def pages(self, method: str) -> Iterator[Response]:
        """Ask for a list, page by page, until there is no further one or an error comes."""
        params: dict[str, Any] | None = None
        seen: set[str] = set()
        while len(seen) < MOST_PAGES:
            page = self.call(method, params)
            yield page
            cursor = (page.result or {}).get("nextCursor")
            if not isinstance(cursor, str) or cursor in seen:
                return
            seen.add(cursor)
            params = {"cursor": cursor}

    def request(self, method: str, params: Mapping[str, Any] | None = None) -> Response:
        """Ask once and wait for the answer.

        Raises:
            NoAnswerError: none came in time. The server was told so.
            NotDeclaredError: strict, and the server did not declare the capability.
            EndedError: the server is gone.
        """
        try:
            return self._request(method, params)
        except SessionOverError as over:
            self._tell(ClientObserver.not_taken, over)
            # "it MUST start a new session by sending a new `InitializeRequest`"
            self.open(*self._opened_by)
            return self._request(method, params)

    def _request(self, method: str, params: Mapping[str, Any] | None) -> Response:
        begun = self._made(method, params)
        with self.given_up_if_interrupted(begun):
            self._send(begun, begun.request.raw)
            return self.wait(begun)

    def begin(self, method: str, params: Mapping[str, Any] | None = None) -> Begun:
        begun = self._made(method, params)
        self._send(begun, begun.request.raw)
        return begun

    def _made(self, method: str, params: Mapping[str, Any] | None) -> Begun:
        """Return a request that is not sent yet."""
        record = methods.of(method)
        needed = record.capability if record.to_server else ""
        if self.strict and needed and needed not in self.server_capabilities:
            raise NotDeclaredError(method, needed)
        with self._lock:
            number = self.session.new_id()
            if self.progress:
                params = with_progress_token(method, params, number)
            params = enveloped(params, self.stated, self.identity)
            return Begun(self.session.ask(method, params, number), Future())

    def wait(self, begun: Begun) -> Response:
        """Wait for the response to a request that was begun.

        While the server waits for us, no time passes; progress begins it anew, up to `longest`.

        Raises:
            NoAnswerError: none came in time. The server was told so.
            EndedError: the server is gone.
        """
        began = self._timeout_clock()
        if not self.wait_for_first(begun):
            waited, seconds = self._timeout_clock() - began, self.timeout
            is_longest = seconds < self.longest <= waited
            transport = self.transport
            unended = transport.unended if isinstance(transport, ChildTransport) else b""
            late = NoAnswerError(
                begun.request.method,
                self.longest if is_longest else seconds,
                is_longest=is_longest,
                unread=self._misread.get(begun.request.id.key, "") if begun.request.id else "",
                unended=unended.decode("utf-8", "replace").strip(),
            )
            self.give_up(begun.request, f"no answer within {late.fillings['seconds']} s")
            raise late
        return begun.response

    def wait_for_first(self, *begun: Begun, timeout: float = 0) -> bool:
        """Wait until one of several requests is answered. False when none was in time.

        The server is not told then: an answer may still come. The caller gives up on the rest.
        """
        seconds = timeout or self.timeout
        began = self._timeout_clock()
        end = began + max(seconds, self.longest)
        with self.given_up_if_interrupted(*begun):
            while not any(one.is_answered for one in begun):
                heard = (self._heard.get(token_of(one.request), began) for one in begun)
                left = min(end, max(began, *heard) + seconds) - self._timeout_clock()
                if left <= 0 and not self._questions:
                    return False
                self.wait_for_any([one.future for one in begun], left if left > 0 else seconds)
        return True

    @contextlib.contextmanager
    def given_up_if_interrupted(self, *begun: Begun) -> Iterator[None]:
        """Give up on requests if a person or a signal interrupts what stands inside."""
        try:
            yield
        except (KeyboardInterrupt, SystemExit):
            for one in begun:
                self.give_up(one.request, "the client was interrupted")
            raise

    def _timeout_clock(self) -> float:
        """Return a time in seconds that stands still while the server waits for us.

        Standing still, and not beginning anew: a server that asks without end is given up too.
        """
        with self._lock:
            now = self._asked_at if self._questions else time.monotonic()
            return now - self._stood_still

    def give_up(self, request: Message, reason: str = "") -> None:
        with self._lock:
            line = self.session.give_up(request, reason)
            if request.id is not None:
                self._waiting.pop(request.id.key, None)
            if line is not None:
                with contextlib.suppress(EndedError):  # nobody is left to be told
                    self._write(line)

    def notify(self, method: str, params: Mapping[str, Any] | None = None) -> None:
        """Say something that wants no answer."""
        said: dict[str, Any] = {"jsonrpc": "2.0", "method": method}
        if params is not None:
            said["params"] = params
        self.submit(jsonrpc.as_line(said))

    def submit(self, text: str, *, anyway: bool = True) -> tuple[Verdict, Begun | None]:
        """Send a line exactly as typed, unless it is no message and `anyway` is not wanted.

        A text of several lines is made one, as only one line can be a message. Returns what the
        check says and, when the line is a request, what to wait for.
        """
        with self._lock:
            verdict = self.session.submit(text, anyway=anyway)
            if not verdict.sendable and not anyway:
                return verdict, None
            line = text if "\n" not in text else verdict.forced or " ".join(text.split())
            message = jsonrpc.read_text(line)
            if isinstance(message, Message) and message.kind is Kind.REQUEST:
                begun = Begun(message, Future())
                self._send(begun, line)
                return verdict, begun
            self._write(line)
            return verdict, None

    def _send(self, begun: Begun, line: str) -> None:
        with self._lock, self.given_up_if_interrupted(begun):
            if begun.request.id is not None:
                self._waiting[begun.request.id.key] = begun.future
            self._write(line)

    def _write(self, line: str) -> None:
        if self._ended is not None:
            raise self._ended
        self._tell(ClientObserver.line_sent, line)
        self.transport.send(line)

    # -- what comes in ---------------------------------------------------------------------------

    def line_arrived(self, line: bytes, asked: str = "") -> None:
        """Take a line from the server. `asked` is the request that it answers and does not name."""
        with self._lock:
            self._tell(ClientObserver.line_arrived, line)
            meant, response = (named_after(line, asked), None) if asked else self._meant(line)
            events = self.session.receive(meant)
        if response is not None and not self._closing:
            self._tell(ClientObserver.answer_went_astray, response)
        for event in events:
            self._tell(ClientObserver.happened, event)
            self._react(event)

    def _meant(self, line: bytes) -> tuple[bytes, MisdirectedResponse | None]:
        """Look at the id of an answer. Returns the line, with the right id where we are lenient."""
        message = jsonrpc.read(line)
        if not isinstance(message, Message) or not message.kind.is_answer:
            return line, None
        waiting = self.session.awaited
        own = message.id
        if own is not None and any(own.answers(one.id) for one in waiting if one.id is not None):
            return line, None
        cause = self.session.state.why_stray(Direction.OUT, message)
        is_due = self.lenient and cause not in (StrayCause.LATE, StrayCause.ELSEWHERE)
        if not is_due or len(waiting) != 1 or waiting[0].id is None:
            return line, MisdirectedResponse(message, cause, waiting)
        meant = jsonrpc.with_token(message.raw, waiting[0].id.token)
        taken = waiting[0]
        return jsonrpc.encoded(meant), MisdirectedResponse(message, cause, waiting, taken)

    def answer_failed(self, line: str, error: StopError) -> None:
        """Learn that no response will come, and why."""
        message = jsonrpc.read_text(line)
        request = message if isinstance(message, Message) and message.kind is Kind.REQUEST else None
        with self._lock:
            future = self._waiting.pop(request.id.key, None) if request and request.id else None
            if request is not None:
                self.session.give_up(request, cause=StrayCause.ELSEWHERE)
        if future is not None:
            future.set_exception(error)
        elif request is None:
            self._tell(ClientObserver.not_taken, error)

    def http_passed(self, number: int, what: HttpPart) -> None:
        self._tell(ClientObserver.http_passed, number, what)

    def stderr_line(self, line: bytes) -> None:
        self._tell(ClientObserver.stderr_line, line)

    def ended(self) -> None:
        """Learn that the server is gone: no answer is awaited any more."""
        with self._lock:
            self._ended = error = self.transport.end_reason()
            waiting = list(self._waiting.values())
            self._waiting.clear()
            abandoned = self.session.end()
        for future in waiting:
            future.set_exception(error)
        for exchange in abandoned:
            self.handler.withdraw(exchange, error)
        self.has_lost_its_server = not self._closing
        if self.has_lost_its_server:
            self._tell(ClientObserver.server_ended, error)

    def _react(self, event: Event) -> None:
        match event:
            case ResponseArrived(message, request, diagnostics) if request is not None:
                key = request.id.key if request.id is not None else None
                with self._lock:
                    future = self._waiting.pop(key, None) if key is not None else None
                    self._misread.clear()
                    self._heard.pop(token_of(request), None)
                if future is not None:
                    future.set_result(Response(request, message, diagnostics))
            case UnreadableArrived(malformed):
                waiting = {one.id.token: one.id.key for one in self.session.awaited if one.id}
                for token in undecoded.answered_in(malformed.text, waiting):
                    self._misread[waiting[token]] = malformed.text
            case NoticeArrived(message) if message.method == PROGRESS:
                self._hear_progress(message)
            case RequestArrived(exchange) if exchange.method == "ping":
                with contextlib.suppress(EndedError):  # it asked, and left
                    self._judge(exchange.number, "{}")
            case RequestArrived(exchange):
                threading.Thread(target=self._let_answer, args=(exchange,), daemon=True).start()
            case RequestCancelled(exchange, reason):
                self.handler.withdraw(exchange, reason)
            case _:
                pass  # the onlooker has seen it

    def _hear_progress(self, notice: Message) -> None:
        """Extend the wait for a request that made progress."""
        token = as_key(notice.params.get("progressToken"))
        with self._lock:
            if token in {token_of(one) for one in self.session.awaited}:
                self._heard[token] = self._timeout_clock()

    # -- the server's questions ------------------------------------------------------------------

    def _let_answer(self, exchange: Exchange) -> None:
        def judge(text: str, form: TextForm = TextForm.RESULT, *, anyway: bool = False) -> Outcome:
            return self._judge(exchange.number, text, form, anyway=anyway)

        with contextlib.suppress(EndedError):  # the server ended while somebody was answering
            self._ask(exchange, self.session.negotiated, judge)

    def _judge(
        self, number: int, text: str, form: TextForm = TextForm.RESULT, *, anyway: bool = False
    ) -> Outcome:
        with self._lock:
            outcome = self.session.reply(number, text, form, anyway=anyway)
            if isinstance(outcome, Sent) and outcome.line is not None:
                self._write(outcome.line)
        return outcome

    def _ask(self, exchange: Exchange, negotiated: NegotiatedState, judge: Judge) -> None:
        with self._lock:
            if not self._questions:
                self._asked_at = time.monotonic()
            self._questions += 1
        try:
            self.handler.answer(exchange, negotiated, judge)
        finally:
            with self._lock:
                self._questions -= 1
                if not self._questions:
                    self._stood_still += time.monotonic() - self._asked_at


@dataclass(slots=True)
class LiveServer:
    """One server, with the client that speaks to it now. `make` starts the server."""

    make: Callable[[], Client]
    session_start: SessionStart = SessionStart.HANDSHAKE
    version: str = versions.LATEST_HANDSHAKE
    _client: Client | None = None

    @property
    def client(self) -> Client:
        """The client that speaks to the server now; the server is started when it is first asked.

        Raises:
            StartError: the server cannot be started.
        """
        if self._client is None:
            self._client = self.make()
        return self._client

    def open(self, session_start: SessionStart | None = None) -> None:
        """Open the session, in the way that was chosen before where none is named.

        Raises:
            StopError: the server cannot be started, or no session comes of it.
        """
        self.session_start = session_start or self.session_start
        self.client.open(self.session_start, self.version)

    def reconnect(self, session_start: SessionStart | None = None) -> None:
        """End the server, start it again, and open a new session.

        Raises:
            StopError: as `open`.
        """
        self.close()
        self._client = None
        self.open(session_start)

    def close(self) -> None:
        if self._client is not None:
            self._client.close()
