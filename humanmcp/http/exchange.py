"""A message, and the calls that it takes until its answer is there.

A stream that breaks off before its answer is asked for again where that can be: up to 2025-11-25,
and where an event had an id. Who hung up on purpose is not called again.
"""

from __future__ import annotations

import contextlib
import threading
from typing import TYPE_CHECKING, Final

from humanmcp.common.line_cutter import LONGEST_LINE
from humanmcp.http.call import HttpCall
from humanmcp.http.server_address import CallError, SessionOverError
from humanmcp.protocol.http.client import ResponseKind, error_in, kind_of, metadata_in, trouble_with
from humanmcp.protocol.http.events import EventError, EventReader
from humanmcp.protocol.http.headers import SESSION, Headers
from humanmcp.protocol.http.inbound import on_one_line
from humanmcp.protocol.json import jsonrpc
from humanmcp.protocol.json.jsonrpc import Batch, Kind, Malformed, Message
from humanmcp.protocol.spec import versions

if TYPE_CHECKING:
    from collections.abc import Iterator

    from humanmcp.http.transport import HttpTransport
    from humanmcp.protocol.http.client import IncomingResponse, OutgoingRequest
    from humanmcp.protocol.http.events import ServerSentEvent

COMES_AGAIN_AFTER: Final = 1.0
"""Seconds until a stream is asked for again, where the server does not say."""

MOST_TRIES: Final = 5
"""How often a stream that brings nothing new is asked for again."""

MOST_REDIRECTS: Final = 3
_MISTAKEN: Final = 5.0
"""Seconds that a server of 2024-11-05 gets to show that it is one."""

_SHOWN_OF_BODY: Final = 200
_KEEPS_METHOD: Final = (307, 308)
_PASSING: Final = ("broken off", "no connection")
"""Trouble that may be over when one comes again."""

_ERRORS: Final = 400


class HttpExchange:
    """A message on its way, by its line; "" for a stream that belongs to none."""

    def __init__(
        self, transport: HttpTransport, line: str = "", *, comes_again: bool = True
    ) -> None:
        """Begin with nothing sent."""
        self.line = line
        self.message = jsonrpc.read_text(line) if line else None
        is_request = isinstance(self.message, Message) and self.message.kind is Kind.REQUEST
        self.request = self.message if isinstance(self.message, Message) and is_request else None
        self.taken = threading.Event()
        """Set when the server has said what it makes of the message."""
        self._transport = transport
        self._comes_again = comes_again
        self._is_dropped = False
        self._is_answered = False
        self._has_ids = False
        """Whether an event came that can be named when one comes again."""
        self._call: HttpCall | None = None
        self._number = 0
        self._session = ""
        """The session that it was said in."""

    @property
    def method(self) -> str:
        """The method of its message; "" for none."""
        return self.message.method if isinstance(self.message, Message) else ""

    def has_id(self, value: object) -> bool:
        """Return True if this is the id of its request."""
        return self.request is not None and self.request.body.get("id") == value

    def drop(self) -> None:
        """Hang up, and do not come again."""
        self._is_dropped = True
        if self._call is not None:
            self._call.close()

    def run(self, request: OutgoingRequest) -> bool:
        """Send a request, and bring what comes of it to the listener. False when it failed."""
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
            self._transport.listener.unanswered(self.line, error)

    @property
    def _is_resumable(self) -> bool:
        return self._transport.conversation.version in versions.HANDSHAKE

    def _run(self, request: OutgoingRequest) -> None:
        reader = EventReader(LONGEST_LINE)
        tries = 0
        while True:
            before = reader.count
            try:
                self._once(request, reader)
            except CallError as error:
                if not self._may_go_on(reader) or error.code not in _PASSING:
                    raise
            tries = 0 if reader.count > before else tries + 1
            if not self._may_go_on(reader) or tries > MOST_TRIES or not self._pause(reader):
                break
            request = self._transport.conversation.stream_wanted(reader.last_id)
            reader.begin_anew()
        if self.request is not None and not self._is_answered:
            raise self._trouble("cut")

    def _may_go_on(self, reader: EventReader) -> bool:
        """Return True if what came was a stream that can be asked for again."""
        is_over = self._is_answered or self._is_dropped or self._transport.is_closing
        is_wanted = reader.last_id if self.request is not None else not self.line and reader.count
        return bool(is_wanted) and self._comes_again and self._is_resumable and not is_over

    def _pause(self, reader: EventReader) -> bool:
        retry = reader.retry
        return self._transport.pause(COMES_AGAIN_AFTER if retry is None else retry / 1000)

    # -- one call --------------------------------------------------------------------------------

    def _once(self, request: OutgoingRequest, reader: EventReader) -> None:
        for _ in range(MOST_REDIRECTS):
            with self._called(request) as (call, response):
                if kind_of(response) is not ResponseKind.MOVED:
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
        match kind_of(response):
            case ResponseKind.EVENTS:
                self.taken.set()
                for event in self._events(call, reader):
                    if event.data and event.event == "message":
                        self._deliver(on_one_line(event.data))
            case ResponseKind.MESSAGE:
                self._body_came(call, response)
            case ResponseKind.NOTHING if self.request is not None:
                raise self._trouble("no answer", status=response.status)
            case ResponseKind.NOTHING:
                pass
            case _:
                raise self._refused(call, response)

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

    def _body_came(self, call: HttpCall, response: IncomingResponse) -> None:
        line = on_one_line(call.body(LONGEST_LINE))
        is_nameless = error_in(line) is not None
        if response.status == 404 and self._may_be_over and is_nameless:
            raise self._session_over()
        if response.status >= _ERRORS and isinstance(jsonrpc.read(line), Malformed):
            code = trouble_with(response, in_session=self._may_be_over)
            raise (
                self._session_over() if code == "session over" else self._said(code, response, line)
            )
        if self.request is not None and is_nameless:
            self._is_answered = True
            self._transport.listener.line_arrived(line, self.line)
        elif line:
            self._deliver(line)
        if response.status >= _ERRORS and self.request is None:
            raise self._trouble("status", status=response.status, reason=response.reason, said="")

    def _deliver(self, line: bytes) -> None:
        message = jsonrpc.read(line)
        for one in message.items if isinstance(message, Batch) else (message,):
            if isinstance(one, Message) and one.kind.is_answer and self.request:
                self._is_answered = True
                self._transport.conversation.answer_came(self.request, one)
        self._transport.listener.line_arrived(line)

    # -- what goes wrong -------------------------------------------------------------------------

    def _refused(self, call: HttpCall, response: IncomingResponse) -> CallError:
        code = trouble_with(response, in_session=self._may_be_over)
        if code == "session over":
            return self._session_over()
        if self._is_of_2024(response):
            return self._trouble("old transport")
        return self._said(code, response, next(call.pieces(), b""))

    def _said(self, code: str, response: IncomingResponse, body: bytes) -> CallError:
        start = body[: 4 * _SHOWN_OF_BODY].decode("utf-8", "replace")
        return self._trouble(
            code,
            status=response.status,
            reason=response.reason,
            type=response.type,
            metadata=metadata_in(response),
            said=" ".join(start.split())[:_SHOWN_OF_BODY],
        )

    @property
    def _may_be_over(self) -> bool:
        """Return True if 404 means that the session is over.

        Many servers say it of every GET, where they should say 405: there is no stream to hear.
        """
        return bool(self._session and (self.line or self.taken.is_set()))

    def _session_over(self) -> CallError:
        self._transport.conversation.is_over(self._session)
        return SessionOverError("session over", url=self._transport.address)

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
                    is_stream = kind_of(found) is ResponseKind.EVENTS
                    return is_stream and next(events).event == "endpoint"
                finally:
                    hang_up.cancel()
        except (CallError, StopIteration):
            return False

    def _trouble(self, code: str, **fillings: object) -> CallError:
        return CallError(code, url=self._transport.address, method=self.method, **fillings)
