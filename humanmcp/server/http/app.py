"""The endpoint: each request is judged, brought to its session, and answered there.

An ASGI application without a framework: there is one path, and what is said on it is MCP's.
"""

from __future__ import annotations

import asyncio
import logging
import os
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from humanmcp.http.listening import (
    DROP,
    Bodies,
    BodyError,
    BodyTrouble,
    client_address,
    stated_length,
)
from humanmcp.inbox.contract import InboxError, StoreError
from humanmcp.locales import say
from humanmcp.protocol.conversation.transcript import HTTP
from humanmcp.protocol.http import inbound
from humanmcp.protocol.http.http_headers import SESSION, Headers
from humanmcp.protocol.http.inbound import (
    NO_BATCHES,
    NO_EVENT,
    PATH,
    Acknowledged,
    HttpRefusal,
    HttpRequest,
    Posted,
    SessionOver,
    StreamWanted,
    judge,
    refused_body,
    refused_to,
)
from humanmcp.protocol.http.outbound import (
    COMMENT,
    COMMENT_EVERY,
    EVENTS,
    INSTEAD,
    JSON,
    ON_STREAM,
    EventId,
    event,
    priming,
    status_of,
)
from humanmcp.protocol.json.jsonrpc import Batch, Malformed, Message
from humanmcp.protocol.rules.timeouts import STATUS_WITHIN
from humanmcp.protocol.spec.faults import Fault
from humanmcp.protocol.spec.versions import features
from humanmcp.server.http.streams import BEGINNING, OWN, SILENCE, Stream, after

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable, Mapping, MutableMapping

    from starlette.types import Receive, Send

    from humanmcp.protocol.http.inbound import HttpAddress, Inbound
    from humanmcp.protocol.http.outbound import HttpFault
    from humanmcp.protocol.json.jsonrpc import Json
    from humanmcp.server.http.connection import ExchangeNotes
    from humanmcp.server.http.sessions import HttpSession, HttpSessions
    from humanmcp.server.http.streams import OutEvent

    Scope: TypeAlias = MutableMapping[str, Any]

DRIP_EVERY: Final = 0.02
"""Seconds between two bytes of an answer that drips on purpose."""

RETRY: Final = 1_000
"""Milliseconds after which a client that lost its stream is asked to come again."""

POLLED_AFTER: Final = 300.0
"""Seconds after which a stream that only waits ends, and its client asks now and then instead.

SEP-1699: "the server MAY close the connection (without terminating the SSE stream) at any time in
order to avoid holding a long-lived connection. The client SHOULD then "poll" the SSE stream by
attempting to reconnect." Some machines between the two cut what is open for very long.
https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#sending-messages-to-the-server
"""

POLL_AGAIN: Final = 15_000
"""Milliseconds after which it is to ask again."""


class HttpResponse:
    """One HTTP response."""

    def __init__(self, receive: Receive, send: Send) -> None:
        self.receive: Final = receive
        self.send: Final = send
        self.headers: tuple[tuple[str, str], ...] = ()
        """Go out with it whatever it becomes."""
        self.notes: ExchangeNotes | None = None
        """Where it is written down, once it belongs to a session."""
        self.is_begun = False

    async def whole(
        self,
        status: int,
        body: bytes = b"",
        more: Iterable[tuple[str, str]] = (),
        fault: HttpFault | None = None,
    ) -> None:
        """Send a response at once, with `fault` in its head."""
        headers = [*self.headers, *more, ("content-length", str(len(body)))]
        if body:
            headers.append(("content-type", JSON))
        if fault is not None:
            status, headers = fault.status(status), [*fault.headers(headers)]
        await self._start(status, headers)
        await self.send({"type": "http.response.body", "body": body})

    async def refuse(self, refusal: HttpRefusal, sentence: str) -> None:
        """Send a refusal, and hang up: not all of the request's body may be here."""
        headers = (*refusal.headers, ("connection", "close"))
        self.headers = ()
        await self.whole(refusal.status, refusal.body(sentence), more=headers)

    async def drop(self) -> None:
        """Let the connection end in the middle of a response, or before its first byte."""
        self.is_begun = True
        self._cut("server")
        await self.send({"type": DROP})

    async def begin(self) -> None:
        """Begin a stream."""
        await self._start(
            200,
            [
                *self.headers,
                ("content-type", EVENTS),
                ("cache-control", "no-cache, no-transform"),
                ("x-accel-buffering", "no"),
            ],
        )

    async def event(self, line: bytes, event_id: EventId | None = None) -> None:
        """Send a message on a stream as an event of this name."""
        self.note_event(event_id)
        await self.send_content(event(line, event_id))

    async def prime(self, event_id: EventId, retry: int) -> None:
        """Send an empty event with the id to resume from and the retry delay."""
        self.note_event(event_id, retry)
        await self.send_content(priming(event_id, retry))

    def note_event(self, event_id: EventId | None, retry: int | None = None) -> None:
        """Write down that an event goes out."""
        if self.notes is not None:
            self.notes.event("" if event_id is None else str(event_id), retry)

    def _cut(self, by: str) -> None:
        if self.notes is not None:
            self.notes.cut(by)

    async def send_content(self, content: bytes) -> None:
        """Send more content on a stream."""
        await self.send({"type": "http.response.body", "body": content, "more_body": True})

    async def end(self) -> None:
        """End a stream."""
        await self.send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _start(self, status: int, headers: list[tuple[str, str]]) -> None:
        self.is_begun = True
        if self.notes is not None:
            self.notes.response(status, headers)
        raw = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers]
        await self.send({"type": "http.response.start", "status": status, "headers": raw})

    async def while_there(self, answer: Coroutine[None, None, None]) -> bool:
        """Run `answer` as long as the client is there. Returns whether it was there to the end."""
        gone = asyncio.ensure_future(self._gone())
        answering = asyncio.ensure_future(answer)
        try:
            await asyncio.wait({gone, answering}, return_when=asyncio.FIRST_COMPLETED)
            if answering.done():
                answering.result()  # what went wrong, if anything did
                return True
            self._cut("client")
            return False
        finally:
            for task in (gone, answering):
                task.cancel()
                with suppress(asyncio.CancelledError, Exception):
                    await task

    async def _gone(self) -> None:
        """Return when the client has hung up."""
        while (await self.receive())["type"] != "http.disconnect":
            pass


class HttpAnswer:
    """Answers one stream with a body or with events."""

    def __init__(self, response: HttpResponse, stream: Stream, version: str) -> None:
        """Answer on `response` what is said on `stream`, in one version of MCP."""
        self._response = response
        self._stream = stream
        self._version = version
        self._skip: dict[int, int] = {}

    async def run(self, *, as_json: bool, as_events: bool) -> bool:
        """Send the answer. Return True if the client stayed to the end.

        `as_json` and `as_events` say what the client takes.
        """
        return await self._response.while_there(self._answer(as_json=as_json, as_events=as_events))

    async def run_on(self, missed: Iterable[OutEvent]) -> bool:
        """Send what a client missed, then the rest. Return True if it stayed to the end."""
        return await self._response.while_there(self._go_on(missed))

    async def _answer(self, *, as_json: bool, as_events: bool) -> None:
        if not as_json:
            await self._stream.has_begun()  # the client learns the name at once
            if self._stream.at != BEGINNING:  # else no request was in the message
                await self._go_on()
            return
        within = STATUS_WITHIN if as_events else None
        try:
            first = await asyncio.wait_for(self._first(as_events), within)
        except TimeoutError:
            await self._go_on()
            return
        if first is None and as_events and self._stream.goes_on and self._is_resumable:
            await self._begin()  # the client learns where to come again
            await self._response.end()
        if first is None:
            return  # nothing was said: whoever asked says what that means
        if first.fault is not None:
            await self._break(first, first.fault)
            return
        if first.last:
            status = status_of(first.content, self._version)
            await self._response.whole(status, first.content)
            return
        await self._begin()
        await self._say(first)
        await self._go_on()

    async def _break(self, event: OutEvent, fault: HttpFault) -> None:
        """Send an answer with a fault in what carries it, while its status is open."""
        if fault.fault in INSTEAD:
            status, headers = fault.instead(PATH)
            await self._response.whole(status, more=headers)
        elif fault.fault in ON_STREAM:
            if event.event_id is not None:
                await self._begin()
            await self._break_stream(event, fault)
        else:
            status = status_of(event.content, self._version)
            await self._response.whole(status, event.content, fault=fault)

    async def _break_stream(self, one: OutEvent, fault: HttpFault) -> None:
        """Send an answer as the last event of a stream, with a fault in it, and end."""
        event_id = None if features(self._version).stateless else one.event_id
        whole = event(one.content, event_id)
        match fault.fault:
            case Fault.CUT_STREAM:
                await self._response.send_content(whole[: fault.number]) if fault.number else None
                await self._response.drop()
                return
            case Fault.EVENT_TWICE:
                await self._response.event(one.content, event_id)
                await self._response.event(one.content, event_id)
            case Fault.EVENT_WITHOUT_ID:
                await self._response.event(one.content)
            case Fault.SLOW_DRIP:
                for place in range(len(whole)):
                    await self._response.send_content(whole[place : place + 1])
                    await asyncio.sleep(DRIP_EVERY)
                self._response.note_event(event_id)
            case Fault.NO_FINAL_EVENT:
                pass
            case _:  # too late for the head of the response: it is out
                await self._response.event(one.content, event_id)
        await self._response.end()

    async def _first(self, as_events: bool) -> OutEvent | None:  # noqa: FBT001 - said by its name
        """Return what decides the form of the response; a body has room for the answer alone."""
        while True:
            first = await self._stream.next()
            if first is None or first.last or as_events:
                return first

    async def _begin(self) -> None:
        """Begin the stream, with a priming event where clients support it."""
        await self._response.begin()
        if self._is_resumable:
            await self._response.prime(self._stream.at, RETRY)
        else:
            await self._response.send_content(COMMENT)

    @property
    def _is_resumable(self) -> bool:
        """Return True if the client can resume streams (SEP-1699)."""
        return bool(self._version) and features(self._version).resumable

    async def _go_on(self, missed: Iterable[OutEvent] = ()) -> None:
        """Send what a client missed, then what follows, until the stream ends."""
        if not self._response.is_begun:
            await self._begin()
        for one in missed:
            await self._say(one)
            if one.event_id is not None:
                self._skip[one.event_id.stream] = one.event_id.place
            if one.last:
                await self._response.end()
                return
        loop = asyncio.get_running_loop()
        until = loop.time() + POLLED_AFTER
        while True:
            following = await self._stream.next(COMMENT_EVERY)
            if following is SILENCE:
                if loop.time() >= until and self._is_resumable and self._stream.numbers:
                    await self._response.prime(self._stream.at, POLL_AGAIN)
                    await self._response.end()
                    return
                await self._response.send_content(COMMENT)
                continue
            if following is None:
                await self._response.end()
                return
            if following.fault is not None:
                await self._break_stream(following, following.fault)
                return
            await self._say(following)

    async def _say(self, event: OutEvent) -> None:
        if event.raw:
            await self._response.send_content(event.content)
            return
        if event.event_id is not None and event.event_id.place <= self._skip.get(
            event.event_id.stream, 0
        ):
            return  # it was said from the transcript
        self._stream.at = event.event_id or self._stream.at
        await self._response.event(
            event.content, None if features(self._version).stateless else event.event_id
        )


logger = logging.getLogger(__name__)

_TROUBLES: Final[Mapping[BodyTrouble, HttpRefusal]] = {
    BodyTrouble.LARGE: HttpRefusal(413, "large"),
    BodyTrouble.MUCH: HttpRefusal(413, "large"),
    BodyTrouble.SLOW: HttpRefusal(408, "slow"),
    BodyTrouble.BUSY: HttpRefusal(503, "busy", -32603),
}

LARGEST_MESSAGE: Final = 4 * 1024 * 1024
"""Bytes of a client's message, as the servers of the official SDKs take."""
LARGE: Final = 64 * 1024
"""Bytes of a message which is decoded beside the event loop, one at a time."""

FAULT: Final = HttpRefusal(500, "fault", -32603)
TWO_LENGTHS: Final = HttpRefusal(400, "length")
BROKEN_OFF: Final = HttpRefusal(400, "broken off")
LISTENED_TO: Final = HttpRefusal(409, "listened to")
ENDED: Final = HttpRefusal(404, "unknown session")
NO_INBOX: Final = HttpRefusal(503, "no inbox", -32603, (("retry-after", "1"),))
NO_STORE: Final = NO_INBOX._replace(why="no store")
STOPPING: Final = HttpRefusal(503, "stopping", -32603)
HELD_ELSEWHERE: Final = HttpRefusal(421, "held elsewhere", -32603)


class HttpApp:
    """Everything at the address."""

    def __init__(self, sessions: HttpSessions, address: HttpAddress) -> None:
        self._sessions = sessions
        self._address = address
        self._bodies = Bodies(LARGEST_MESSAGE)
        self._one_large = asyncio.Lock()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        headers = Headers.of(
            (name.decode("latin-1"), value.decode("latin-1")) for name, value in scope["headers"]
        )
        response = HttpResponse(receive, send)
        refusal = inbound.refused(scope["path"], headers, self._address) or _two_lengths(headers)
        try:
            if refusal is None:
                refusal = await self._serve(scope, headers, response)
        except InboxError as error:
            logger.warning("the inbox: %s", error)
            refusal = NO_INBOX
            if isinstance(error, StoreError) and error.is_of_disk:
                refusal = NO_STORE._replace(fillings=(("why", os.strerror(error.number)),))
        except Exception:
            logger.exception("this should not happen; please report it")
            refusal = FAULT
        if refusal is not None:
            logger.info("refused with %d: %s", refusal.status, refusal.why)
            sentence = say("http", refusal.why, "en", **dict(refusal.fillings))
            await response.refuse(refusal, sentence)

    async def _serve(
        self, scope: Scope, headers: Headers, response: HttpResponse
    ) -> HttpRefusal | None:
        url, address = _shown(scope, headers), client_address(scope)
        request = HttpRequest(scope["method"], headers, url=url, address=address)
        body = await self._body(scope, response.receive)
        if isinstance(body, HttpRefusal):
            return self._refused(body, request, response)
        return await self._answer(request._replace(body=body), response)

    def _refused(
        self, refusal: HttpRefusal, request: HttpRequest, response: HttpResponse
    ) -> HttpRefusal:
        """Record a refused request, if it belongs to a session."""
        session = self._sessions.known(request.headers.get(SESSION))
        if session is not None:
            _noted(session, request, response).no_line()
        return refusal

    async def _judge(self, request: HttpRequest, schema_of: Callable[[Message], Json]) -> Inbound:
        """Decode a body; while a large one is decoded, other clients are answered."""
        if len(request.body) <= LARGE:
            return judge(request, schema_of)
        async with self._one_large:
            return await asyncio.to_thread(judge, request, schema_of)

    async def _answer(self, request: HttpRequest, response: HttpResponse) -> HttpRefusal | None:
        """Answer a request whose body is complete."""
        headers = request.headers
        key, host = inbound.bearer(headers), headers.get("host") or ""
        judged = await self._judge(request, lambda call: self._sessions.schema_of(call, key, host))
        match judged:
            case HttpRefusal():
                return self._refused(judged, request, response)
            case Acknowledged():
                await response.whole(202)
                return None
            case Posted():
                refusal = await self._posted(judged, request, key, response)
                return refusal and refused_to(refusal, judged.message)
            case StreamWanted():
                return await self._listen(judged, request, response)
            case SessionOver():
                return await self._end(judged, request, response)

    async def _body(self, scope: Scope, receive: Receive) -> bytes | HttpRefusal:
        """Read a body within the limits."""
        parts = []
        try:
            coming = self._bodies.coming(receive, client_address(scope), stated_length(scope))
            with coming as body:
                more = True
                while more:
                    message = await body.receive()
                    if message["type"] == "http.disconnect":  # half a request is none
                        return BROKEN_OFF
                    parts.append(message.get("body", b""))
                    more = message.get("more_body", False)
        except BodyError as error:
            return _TROUBLES[error.trouble]
        return b"".join(parts)

    # -- a message ------------------------------------------------------------------------------

    async def _session_of(
        self, posted: Posted, request: HttpRequest, key: str
    ) -> HttpSession | HttpRefusal:
        if posted.transport_facts is not None and isinstance(posted.message, Message):
            host = request.headers.get("host") or ""
            return await self._sessions.visit(posted.message, key, host, request.address)
        if posted.session:
            return await self._sessions.find(posted.session, request.address)
        return await self._sessions.open(request.address)

    async def _posted(
        self, posted: Posted, request: HttpRequest, key: str, response: HttpResponse
    ) -> HttpRefusal | None:
        sent = request.headers
        session = await self._session_of(posted, request, key)
        if isinstance(session, HttpRefusal):
            return session
        response.headers = _named(session)
        fault = session.connection.streams.refusal()
        if fault is not None:
            _noted(session, request, response).no_line()
            status, headers = fault.instead(inbound.PATH)
            await response.whole(status, more=headers)
            return None
        notes = _noted(session, request, response, posted.message)
        version = posted.transport_facts.version if posted.transport_facts else session.version
        stream = notes.stream = session.post(posted, notes.head)
        try:
            stayed = await HttpAnswer(response, stream, version).run(
                as_json=sent.accepts(JSON), as_events=sent.accepts(EVENTS)
            )
        finally:
            session.done(stream)
        if not stayed:
            session.connection.gone(stream, cancels=posted.transport_facts is not None)
        elif not response.is_begun:
            return await self._nothing_said(posted, session, stream, response)
        return None

    async def _nothing_said(
        self, posted: Posted, session: HttpSession, stream: Stream, response: HttpResponse
    ) -> HttpRefusal | None:
        """Answer 202 to a message that gets no response."""
        if session.is_lost and not stream.taken:
            return HELD_ELSEWHERE
        if stream.numbers or not stream.taken:
            return STOPPING if stream.goes_on else ENDED
        if isinstance(posted.message, Malformed):
            return refused_body(posted.message)
        if isinstance(posted.message, Batch):
            if not features(session.version).batches:
                return NO_BATCHES
            malformed = [one for one in posted.message.items if isinstance(one, Malformed)]
            if len(malformed) == len(posted.message.items):
                return refused_body(malformed[0])
        await response.whole(202)
        return None

    # -- a stream of its own, and the end -------------------------------------------------------

    async def _listen(
        self, wanted: StreamWanted, request: HttpRequest, response: HttpResponse
    ) -> HttpRefusal | None:
        """Answer a GET: the general stream, or the rest of a resumed one."""
        session = await self._sessions.find(wanted.session, request.address)
        if isinstance(session, HttpRefusal):
            return session
        notes = _noted(session, request, response)
        notes.no_line()
        streams = session.connection.streams
        if wanted.after is None and streams.is_listened_to:
            return LISTENED_TO
        last_event_id = wanted.after or EventId(OWN, streams.own_until)
        stream = notes.stream = Stream(last_event_id)
        goes_on = streams.listen(stream)
        missed = await asyncio.to_thread(_missed, session, last_event_id)
        if not (goes_on or missed or await asyncio.to_thread(_had, session, last_event_id)):
            return NO_EVENT
        if not goes_on:
            stream.end()
        response.headers = _named(session)
        answering = HttpAnswer(response, stream, session.version)
        if not await answering.run_on(missed):
            session.connection.gone(stream, cancels=False)
        else:
            streams.leave(stream)
        session.seen()
        return None

    async def _end(
        self, over: SessionOver, request: HttpRequest, response: HttpResponse
    ) -> HttpRefusal | None:
        session = await self._sessions.find(over.session, request.address)
        if isinstance(session, HttpRefusal):
            return session
        _noted(session, request, response).no_line()
        self._sessions.end(session)
        await response.whole(204)
        return None


def _two_lengths(headers: Headers) -> HttpRefusal | None:
    """Refuse a body with two lengths: a proxy may use the other one (RFC 9112, 6.1)."""
    both = headers.get("transfer-encoding") and headers.get("content-length")
    return TWO_LENGTHS if both else None


def _shown(scope: Scope, headers: Headers) -> str:
    """Return the path of a request without its query, which may hold a key."""
    query = "?…" if scope["query_string"] else ""
    return f"{scope['scheme']}://{headers.get('host')}{inbound.PATH}{query}"


def _named(session: HttpSession) -> tuple[tuple[str, str], ...]:
    """Return the header that names a session, where it has a name."""
    return ((SESSION, session.id),) if session.id else ()


def _noted(
    session: HttpSession,
    request: HttpRequest,
    response: HttpResponse,
    message: Message | Batch | Malformed | None = None,
) -> ExchangeNotes:
    """Start the notes of an HTTP exchange of this session."""
    response.notes = session.connection.notes.begin(request, message)
    return response.notes


def _had(session: HttpSession, last_event_id: EventId) -> bool:
    """Return True if the session had this stream: a note of a wrong GET names one, too."""
    frames = session.server.journal.frames()
    return any(frame.number == last_event_id.stream and frame.note != HTTP for frame in frames)


def _missed(session: HttpSession, last_event_id: EventId) -> list[OutEvent]:
    """Read from the transcript what went out on a stream after an event."""
    return after(session.server.journal.frames(), last_event_id)
