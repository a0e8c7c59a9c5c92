"""A server at an address as a transport of lines: the same seam as a pipe to a child.

Theory of operation. Each message is a POST in a thread of its own, which waits for its response;
one thread sends, and lets a notification be taken before what follows it. A response brings its
messages to the listener as they come. What the listener cannot see in lines (a status, an event's
id) it is told beside them. In 2026-07-28 hanging up is the cancel, so `notifications/cancelled`
becomes that.
"""

from __future__ import annotations

import contextlib
import html
import re
import threading
from queue import SimpleQueue
from typing import TYPE_CHECKING, ClassVar, Final, Protocol, TypeAlias

from humanmcp import __version__
from humanmcp.common.child import EndedError, OutputListener
from humanmcp.common.line_pipe import LONGEST_LINE
from humanmcp.http.server_address import CallError, HttpCall, SessionOverError
from humanmcp.locales.stop import Phrase
from humanmcp.protocol.diagnostics.problem import quoted
from humanmcp.protocol.http.client import (
    HttpConversation,
    IncomingResponse,
    OutgoingRequest,
    ResponseKind,
    is_error,
    kind_of_response,
    metadata_in,
    trouble_with,
)
from humanmcp.protocol.http.events import (
    EVENTS,
    EventError,
    EventReader,
    ServerSentEvent,
    UnreadBytes,
)
from humanmcp.protocol.http.http_headers import SESSION, Headers
from humanmcp.protocol.http.inbound import on_one_line
from humanmcp.protocol.json import jsonrpc
from humanmcp.protocol.json.jsonrpc import Batch, Kind, Malformed, Message
from humanmcp.protocol.tables import versions
from humanmcp.protocol.tables.versions import features

if TYPE_CHECKING:
    from collections.abc import Iterator

    from humanmcp.http.server_address import ServerAddress
    from humanmcp.locales.stop import StopError

COMES_AGAIN_AFTER: Final = 1.0
"""Seconds until a stream is asked for again, where the server does not say."""

MOST_TRIES: Final = 5
"""How often a stream that brings nothing new is asked for again."""

MOST_REDIRECTS: Final = 3
_MISTAKEN: Final = 5.0
"""Seconds that a server of 2024-11-05 gets to show that it is one."""

_SHOWN_OF_BODY: Final = 200
_KEEPS_METHOD: Final = (307, 308)
_PASSING: Final = ("broken off", "ended early", "no connection")
"""Trouble that may be over when one comes again."""

_ERRORS: Final = 400
_NOT_FOUND: Final = 404
_ACCEPTED: Final = 202
_NO_GET: Final = 405


class HttpExchange:
    """A message on its way, by its line; "" for a stream that belongs to none."""

    def __init__(
        self, transport: HttpTransport, line: str = "", *, comes_again: bool = True
    ) -> None:
        self.line = line
        self.message = jsonrpc.read_text(line) if line else None
        is_request = isinstance(self.message, Message) and self.message.kind is Kind.REQUEST
        self.request = self.message if isinstance(self.message, Message) and is_request else None
        self.taken = threading.Event()
        """Set when the server has accepted or refused the message."""
        self._transport = transport
        self._comes_again = comes_again
        self._is_dropped = False
        self._is_answered = False
        self._brought = b""
        """The last response that it brought and that does not answer its request."""
        self._odd_event = ""
        """The name of an event with data that clients do not read as a message."""
        self._unread = b""
        """A line of the response that is no message."""
        self._has_ids = False
        """Whether an event came that can be named when one comes again."""
        self._call: HttpCall | None = None
        self._number = 0
        self._session = ""
        """The session that it was sent in."""

    @property
    def method(self) -> str:
        """The method of its message; "" for none."""
        return self.message.method if isinstance(self.message, Message) else ""

    def has_id(self, value: object) -> bool:
        return self.request is not None and self.request.body.get("id") == value

    def drop(self) -> None:
        """Hang up, and do not come again."""
        self._is_dropped = True
        if self._call is not None:
            self._call.close()

    def run(self, request: OutgoingRequest) -> bool:
        """Send a request, and bring the responses to the listener. Return False if it failed."""
        self._transport.begun(self)
        self._session = Headers.of(request.headers).get(SESSION) or ""
        try:
            self._run(request)
        except CallError as error:
            self._failed(error)
            return False
        finally:
            self._transport.over(self)
            self.taken.set()
        return True

    def _failed(self, error: CallError) -> None:
        # who hung up by hand may ask for the rest by hand
        may_come = self._is_dropped and self._has_ids and self._is_resumable
        is_told = self.line or isinstance(error, SessionOverError)
        if is_told and not (self._is_answered or may_come or self._transport.is_closing):
            self._transport.listener.answer_failed(self.line, error)

    @property
    def _is_resumable(self) -> bool:
        return self._transport.conversation.version in versions.HANDSHAKE

    def _run(self, request: OutgoingRequest) -> None:
        transport, reader, tries = self._transport, EventReader(LONGEST_LINE), 0
        while True:
            before = reader.count
            try:
                self._once(request, reader)
            except CallError as error:
                if not self._may_go_on(reader) or error.code not in _PASSING:
                    raise
            tries = 0 if reader.count > before else tries + 1
            pause = COMES_AGAIN_AFTER if reader.retry is None else reader.retry / 1000
            if not self._may_go_on(reader) or tries > MOST_TRIES or not transport.pause(pause):
                break
            request = transport.conversation.stream_wanted(reader.last_id)
            reader.begin_anew()
        if self.request is not None and not self._is_answered:
            code, said = "answers another" if self._brought else "cut", self._brought
            if not said and reader.unended:
                is_json = reader.unread is not None and reader.unread.text.startswith(("{", "["))
                code, said = "other content" if is_json else "cut event", reader.unended
            if self._odd_event:
                code = "other event"
            if self._unread:
                code, said = "not read", self._unread
            raise self._trouble(code, said=_quoted(said), event=self._odd_event, type=EVENTS)

    def _may_go_on(self, reader: EventReader) -> bool:
        """Return True if the response was a stream that can be resumed."""
        is_over = self._is_answered or self._is_dropped or self._transport.is_closing
        is_wanted = reader.last_id if self.request is not None else not self.line and reader.count
        return bool(is_wanted) and self._comes_again and self._is_resumable and not is_over

    # -- one call --------------------------------------------------------------------------------

    def _once(self, request: OutgoingRequest, reader: EventReader) -> None:
        for _ in range(MOST_REDIRECTS):
            with self._called(request) as (call, response):
                if request.method == "DELETE":
                    return  # the session ends, whatever the server says to that
                if kind_of_response(response) is not ResponseKind.MOVED:
                    self._take(call, response, reader)
                    return
                self._move(response)
        raise self._trouble("moved too often")

    @contextlib.contextmanager
    def _called(self, request: OutgoingRequest) -> Iterator[tuple[HttpCall, IncomingResponse]]:
        """Send a request, and hang up in the end."""
        transport = self._transport
        self._call = call = HttpCall(transport.address, request)
        self._number = number = transport.next_number()
        transport.http_passed(number, request._replace(url=str(transport.address)))
        try:
            if self._is_dropped:
                call.close()
            response = call.response()
            transport.http_passed(number, response)
            yield call, response
        finally:
            call.end()

    def _move(self, response: IncomingResponse) -> None:
        """Go where a server sends us, on the same origin; a key goes to no other.

        RFC 9110, 15.4: a 307 and a 308 keep the method, others make it a GET.
        """
        to = Headers.of(response.headers).get("location") or ""
        address = self._transport.address.moved(to)
        if address is None or response.status not in _KEEPS_METHOD:
            raise self._trouble("moved", to=to[:_SHOWN_OF_BODY], status=response.status)
        self._transport.address = address

    def _take(self, call: HttpCall, response: IncomingResponse, reader: EventReader) -> None:
        self._transport.conversation.response_came(self.request, response)
        session = self._transport.conversation.session
        if self.method == "initialize" and not _VISIBLE.fullmatch(session):
            # "The session ID MUST only contain visible ASCII characters"
            error = self._trouble("odd session", id=quoted(session))
            self._transport.listener.answer_failed("", error)
        if self._ends_session(response):
            self._transport.conversation.is_over(self._session)
            raise SessionOverError("session over", url=self._transport.address)
        kind = kind_of_response(response)
        if kind is not ResponseKind.EVENTS and self._should_be_empty(response):
            body = b"" if kind is ResponseKind.NOTHING else next(call.pieces(), b"")
            error = self._said("not 202", response, body)  # and the message was taken
            self._transport.listener.answer_failed(self.line, error)
            return
        if not self.line and kind is not ResponseKind.EVENTS and response.status != _NO_GET:
            error = self._said("no stream", response, next(call.pieces(), b""))
            self._transport.listener.answer_failed("", error)
            return
        match kind:
            case ResponseKind.EVENTS:
                self.taken.set()
                self._take_events(call, reader)
            case ResponseKind.MESSAGE:
                self._body_came(call, response)
            case ResponseKind.NOTHING if self.request is not None:
                raise self._trouble("no answer", status=response.status)
            case ResponseKind.NOTHING:
                pass
            case _ if self._is_of_2024(response):
                raise self._trouble("old transport")
            case _:
                raise self._said(trouble_with(response), response, next(call.pieces(), b""))

    def _take_events(self, call: HttpCall, reader: EventReader) -> None:
        for event in self._events(call, reader):
            if event.data and event.event == "message":
                self._deliver(on_one_line(event.data))
            elif event.data:
                self._odd_event = event.event

    def _should_be_empty(self, response: IncomingResponse) -> bool:
        """Return True if a message that needs no response got one that is not 202.

        "If the input is a JSON-RPC *response* or *notification*: If the server accepts the input,
        the server MUST return HTTP status code 202 Accepted with no body."
        https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#sending-messages-to-the-server
        """
        is_other = bool(self.line) and self.request is None and not isinstance(self.message, Batch)
        return is_other and response.status < _ERRORS and response.status != _ACCEPTED

    def _events(self, call: HttpCall, reader: EventReader) -> Iterator[ServerSentEvent]:
        try:
            for piece in call.pieces():
                for event in reader.feed(piece):
                    self._has_ids = self._has_ids or bool(event.id)
                    self._transport.http_passed(self._number, event)
                    yield event
                    if self._is_answered:
                        return
        except EventError as error:
            raise self._trouble("too long", mebibytes=LONGEST_LINE >> 20) from error
        finally:
            if (unread := reader.unread) and not self._is_answered:
                self._transport.http_passed(self._number, unread)

    def _body_came(self, call: HttpCall, response: IncomingResponse) -> None:
        """Take a body of JSON: over HTTP it is the response to this request, whatever its id is.

        "If the input is a JSON-RPC *request*, the server MUST either return […] one JSON object";
        with a status of an error, "[it] MAY comprise a JSON-RPC *error response* that has no `id`".
        https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#sending-messages-to-the-server
        """
        body = call.body(LONGEST_LINE)
        line = on_one_line(body)
        if self.request is not None and is_error(line):
            self._is_answered = True
            self._transport.listener.line_arrived(line, self.line)
        elif response.status >= _ERRORS:
            raise self._said(trouble_with(response), response, line)
        elif self.request is not None and line and not line.startswith(_BEGINS):
            raise self._said("other content", response, body)
        elif line:
            self._deliver(line)

    def _deliver(self, line: bytes) -> None:
        message = jsonrpc.read(line)
        reads_arrays = features(self._transport.conversation.version).batches
        for one in message.items if isinstance(message, Batch) else (message,):
            if isinstance(one, Malformed):
                self._unread = line
            if not isinstance(one, Message) or not one.kind.is_answer or self.request is None:
                continue
            is_read = reads_arrays or one is message
            if is_read and one.id and self.request.id and one.id.answers(self.request.id):
                self._is_answered = True
                self._transport.conversation.answer_came(self.request, one)
            else:
                self._brought = line
        self._transport.listener.line_arrived(line)

    # -- what goes wrong -------------------------------------------------------------------------

    def _said(self, code: str, response: IncomingResponse, body: bytes) -> CallError:
        is_entry = self._transport.address.is_entry
        return self._trouble(
            code,
            status=response.status,
            reason=response.reason,
            type=response.type,
            metadata=metadata_in(response),
            encoding=response.encoding,
            said="" if response.encoding else _quoted(body),
            advice=Phrase(CallError.section, "key in entry" if is_entry else "key by flag"),
        )

    def _ends_session(self, response: IncomingResponse) -> bool:
        """Return True if a response means that the session is over.

        Many servers say 404 of every GET, where they should say 405: there is no stream to hear.
        """
        was_heard = self.line or self.taken.is_set()
        return response.status == _NOT_FOUND and bool(self._session and was_heard)

    def _is_of_2024(self, response: IncomingResponse) -> bool:
        """Ask a server that takes no POST of `initialize` whether it is one of 2024-11-05.

        "If it fails with […] "400 Bad Request", "404 Not Found" or "405 Method Not Allowed": Issue
        an HTTP GET request to the server URL, expecting that this will open an SSE stream and
        return an `endpoint` event as the first event."
        https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#backwards-compatibility
        """
        if self.method != "initialize" or response.status not in (400, 404, 405):
            return False
        try:
            with self._called(self._transport.conversation.stream_wanted()) as (call, found):
                hang_up = threading.Timer(_MISTAKEN, call.close)
                hang_up.start()
                try:
                    events = self._events(call, EventReader(LONGEST_LINE))
                    is_stream = kind_of_response(found) is ResponseKind.EVENTS
                    return is_stream and next(events).event == "endpoint"
                finally:
                    hang_up.cancel()
        except (CallError, StopIteration):
            return False

    def _trouble(self, code: str, **fillings: object) -> CallError:
        return CallError(code, url=self._transport.address, method=self.method, **fillings)


def _quoted(body: bytes) -> Phrase | str:
    """Return the beginning of a body, on one line, as a sentence; "" if there is none."""
    start = body[:_READ_OF_BODY].decode("utf-8-sig", "replace")
    is_html = start.lstrip().startswith("<")
    text = html.unescape(_MARKUP.sub(" ", start)) if is_html else start
    said = " ".join(text.split() or start.split())[:_SHOWN_OF_BODY]
    return Phrase(CallError.section, "server says", {"said": said}) if said else ""


_READ_OF_BODY: Final = 1 << 13
_MARKUP: Final = re.compile(r"(?is)<(script|style)\b.*?(?:</\1>|\Z)|<!--.*?-->|<[^>]*>")
_VISIBLE: Final = re.compile(r"[\x21-\x7e]*")
"""Characters of a session id."""


_BEGINS: Final = (b"{", b"[", b"\xef\xbb\xbf")
"""How JSON of a message begins."""
AGENT: Final = f"humanmcp/{__version__}"
TAKEN_WITHIN: Final = 5.0
"""Seconds to wait until a notification is accepted, before the next line is sent."""

ENDS_WITHIN: Final = 2.0
"""Seconds that the end of the session may take."""

MOST_PAUSE: Final = 600.0
"""Seconds that a server may ask a client to wait before it comes again."""

HttpPart: TypeAlias = OutgoingRequest | IncomingResponse | ServerSentEvent | UnreadBytes


class CallListener(OutputListener, Protocol):
    """Receives the results of the calls, from several threads."""

    def line_arrived(self, line: bytes, asked: str = "") -> None:
        """Take a line. `asked` is the request whose response brought it, where it names none."""

    def answer_failed(self, line: str, error: StopError) -> None:
        """Learn that no answer to a message that was sent will come.

        The line is "" where the stream that belongs to none is over with its session.
        """

    def http_passed(self, number: int, what: HttpPart) -> None:
        """See a part of an HTTP exchange, without keys. `number` tells the exchanges apart."""


class HttpTransport:
    """A server at an address. A `Transport`."""

    exchange_type: ClassVar = HttpExchange

    def __init__(self, address: ServerAddress) -> None:
        """Prepare to call it. Nothing is sent yet.

        Raises:
            AddressError: it is no address that can be called.
        """
        address.check()
        self.address = address
        self.conversation = HttpConversation(AGENT, address.changes)
        self._leaving: SimpleQueue[str | None] = SimpleQueue()
        self._closing = threading.Event()
        self._lock = threading.RLock()
        self._settled = threading.Condition(self._lock)
        self._unfinished = 0
        """The number of queued lines whose exchange has not ended."""
        self._exchanges: set[HttpExchange] = set()
        self._numbers = 0
        self._last_id = ""
        self._listener: CallListener | None = None

    @property
    def listener(self) -> CallListener:
        """The receiver of lines and errors."""
        assert self._listener is not None  # noqa: S101 - `start` comes first
        return self._listener

    def start(self, listener: CallListener) -> None:
        self._listener = listener
        threading.Thread(target=self._send_all, daemon=True).start()

    def send(self, line: str) -> None:
        """Queue a line; a thread posts it."""
        if self._closing.is_set():
            raise self.end_reason()
        with self._lock:
            self._unfinished += 1
        self._leaving.put(line)

    def end_reason(self) -> EndedError:
        """Return an error without a reason: an address does not end."""
        return EndedError()

    @property
    def is_closing(self) -> bool:
        """Return True if nothing more is wanted."""
        return self._closing.is_set()

    def close(self) -> None:
        """End the session in order, as far as the server takes part, and hang up."""
        with self._lock:
            if self._closing.is_set():
                return
            self._closing.set()
            self._settled.notify_all()
        self._leaving.put(None)
        self.drop()
        request = self.conversation.end()
        if request is not None:  # it may answer 405: it ends its sessions itself
            ending = threading.Thread(target=HttpExchange(self).run, args=(request,), daemon=True)
            ending.start()
            ending.join(ENDS_WITHIN)
            self.drop()
        if self._listener is not None:
            self._listener.ended()

    def wait_for_answers(self) -> None:
        """Wait until every queued request has its answer, or will have none."""
        with self._settled:
            self._settled.wait_for(lambda: self.is_closing or not self._unfinished)

    def send_now(self, line: str, exchange_type: type[HttpExchange] = HttpExchange) -> bool:
        """Post a line in this thread, before the queued ones. Return False if it failed."""
        return self._run(exchange_type(self, line))

    # -- by hand -------------------------------------------------------------------------------

    def drop(self) -> int:
        """Hang up on every response that is awaited, without a word. Returns how many."""
        with self._lock:
            exchanges = list(self._exchanges)
        for exchange in exchanges:
            exchange.drop()
        return len(exchanges)

    def resume(self, after: str = "") -> str:
        """Resume the stream after an event, by default the last one. Return its id."""
        after = after or self._last_id
        if after:
            wanted = self.conversation.stream_wanted(after)
            exchange = HttpExchange(self, comes_again=False)
            threading.Thread(target=exchange.run, args=(wanted,), daemon=True).start()
        return after

    # -- the threads ---------------------------------------------------------------------------

    def _send_all(self) -> None:
        while (line := self._leaving.get()) is not None:
            exchange = self.exchange_type(self, line)
            if self._hangs_up(exchange):
                self._done()
                continue
            threading.Thread(target=self._post, args=(exchange,), daemon=True).start()
            if exchange.request is None:
                exchange.taken.wait(TAKEN_WITHIN)

    def _hangs_up(self, exchange: HttpExchange) -> bool:
        """Return True if a message is said by hanging up, and was.

        2026-07-28: "the client cancels a request by closing its response stream".
        """
        message = exchange.message
        if not isinstance(message, Message) or message.method != "notifications/cancelled":
            return False
        if self.conversation.version not in versions.STATELESS:
            return False
        with self._lock:
            named = [one for one in self._exchanges if one.has_id(message.params.get("requestId"))]
        for one in named:
            one.drop()
        return True

    def _post(self, exchange: HttpExchange) -> None:
        try:
            self._run(exchange)
        finally:
            self._done()

    def _run(self, exchange: HttpExchange) -> bool:
        is_taken = exchange.run(self.conversation.posted(exchange.line.encode("utf-8", "replace")))
        begins = is_taken and exchange.method == "notifications/initialized"
        if begins and self.conversation.version in versions.HANDSHAKE and not self.is_closing:
            wanted = self.conversation.stream_wanted()
            threading.Thread(target=HttpExchange(self).run, args=(wanted,), daemon=True).start()
        return is_taken

    def _done(self) -> None:
        with self._settled:
            self._unfinished -= 1
            self._settled.notify_all()

    # -- for the exchanges -----------------------------------------------------------------------

    def begun(self, exchange: HttpExchange) -> None:
        """Add a running exchange."""
        with self._lock:
            self._exchanges.add(exchange)

    def over(self, exchange: HttpExchange) -> None:
        """Remove a finished exchange."""
        with self._lock:
            self._exchanges.discard(exchange)

    def next_number(self) -> int:
        """Count a call."""
        with self._lock:
            self._numbers += 1
            return self._numbers

    def http_passed(self, number: int, what: HttpPart) -> None:
        """Show a part of an exchange without its keys, and remember the last event."""
        if isinstance(what, UnreadBytes):
            pass
        elif isinstance(what, ServerSentEvent):
            self._last_id = what.id or self._last_id
        else:
            what = what._replace(headers=self.conversation.changes.shown(what.headers))
        self.listener.http_passed(number, what)

    def pause(self, seconds: float) -> bool:
        """Wait. False when nothing more is wanted."""
        return not self._closing.wait(min(seconds, MOST_PAUSE))
