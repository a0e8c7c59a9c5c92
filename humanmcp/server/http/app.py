"""The endpoint: each request is judged, brought to its session, and answered there.

An ASGI application without a framework: there is one path, and what is said on it is MCP's.
"""

from __future__ import annotations

import asyncio
import logging
import os
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from humanmcp.http.bodies import Bodies, BodyError, BodyTrouble, client_address, stated_length
from humanmcp.inbox.contract import InboxError, StoreError
from humanmcp.locales import say
from humanmcp.protocol.http import guard
from humanmcp.protocol.http.headers import SESSION, Headers
from humanmcp.protocol.http.inbound import (
    NO_BATCHES,
    NO_EVENT,
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
from humanmcp.protocol.http.outbound import EVENTS, JSON, EventId
from humanmcp.protocol.json.jsonrpc import Batch, Malformed, Message
from humanmcp.protocol.spec.versions import features
from humanmcp.server.http.responding import HttpAnswer, HttpResponse
from humanmcp.server.http.sessions import HELD_ELSEWHERE
from humanmcp.server.http.streams import OWN, Stream, after

if TYPE_CHECKING:
    from collections.abc import Mapping, MutableMapping

    from starlette.types import Receive, Send

    from humanmcp.protocol.http.guard import HttpAddress
    from humanmcp.protocol.http.inbound import Inbound
    from humanmcp.server.http.notes import ExchangeNotes
    from humanmcp.server.http.sessions import HttpSession, HttpSessions
    from humanmcp.server.http.streams import OutEvent

    # Any: what ASGI calls a scope is a dictionary of many shapes
    Scope: TypeAlias = MutableMapping[str, Any]

logger = logging.getLogger(__name__)

_TROUBLES: Final[Mapping[BodyTrouble, HttpRefusal]] = {
    BodyTrouble.LARGE: HttpRefusal(413, "large"),
    BodyTrouble.MUCH: HttpRefusal(413, "large"),
    BodyTrouble.SLOW: HttpRefusal(408, "slow"),
    BodyTrouble.BUSY: HttpRefusal(503, "busy", -32603),
}

LARGEST_MESSAGE: Final = 4 * 1024 * 1024
"""Bytes of a client's message, as the servers of the official SDKs take: all sessions wait while it
is decoded."""

FAULT: Final = HttpRefusal(500, "fault", -32603)
TWO_LENGTHS: Final = HttpRefusal(400, "length")
BROKEN_OFF: Final = HttpRefusal(400, "broken off")
LISTENED_TO: Final = HttpRefusal(409, "listened to")
ENDED: Final = HttpRefusal(404, "unknown session")
NO_INBOX: Final = HttpRefusal(503, "no inbox", -32603, (("retry-after", "1"),))
NO_STORE: Final = NO_INBOX._replace(why="no store")
STOPPING: Final = HttpRefusal(503, "stopping", -32603)


class HttpApp:
    """Everything at the address."""

    def __init__(self, sessions: HttpSessions, address: HttpAddress) -> None:
        self._sessions = sessions
        self._address = address
        self._bodies = Bodies(LARGEST_MESSAGE)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        headers = Headers.of(
            (name.decode("latin-1"), value.decode("latin-1")) for name, value in scope["headers"]
        )
        response = HttpResponse(receive, send)
        refusal = guard.refused(scope["path"], headers, self._address) or _two_lengths(headers)
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

    async def _answer(self, request: HttpRequest, response: HttpResponse) -> HttpRefusal | None:
        """Answer a request whose body is complete."""
        headers = request.headers
        key, host = guard.bearer(headers), headers.get("host") or ""
        inbound: Inbound = judge(request, lambda call: self._sessions.schema_of(call, key, host))
        match inbound:
            case HttpRefusal():
                return self._refused(inbound, request, response)
            case Acknowledged():
                await response.whole(202)
                return None
            case Posted():
                refusal = await self._posted(inbound, request, key, response)
                return refusal and refused_to(refusal, inbound.message)
            case StreamWanted():
                return await self._listen(inbound, request, response)
            case SessionOver():
                return await self._end(inbound, request, response)

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
            status, headers = fault.instead(guard.PATH)
            await response.whole(status, more=headers)
            return None
        notes = _noted(session, request, response, posted.message)
        revision = posted.transport_facts.revision if posted.transport_facts else session.revision
        stream = notes.stream = session.post(posted, notes.head)
        try:
            stayed = await HttpAnswer(response, stream, revision).run(
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
            if not features(session.revision).batches:
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
        answering = HttpAnswer(response, stream, session.revision)
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
    return f"{scope['scheme']}://{headers.get('host')}{guard.PATH}{query}"


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
    """Return True if the session had this stream."""
    frames = session.server.journal.inbox.frames(session.server.journal.name)
    return any(frame.number == last_event_id.stream for frame in frames)


def _missed(session: HttpSession, last_event_id: EventId) -> list[OutEvent]:
    """Read from the transcript what went out on a stream after an event."""
    return after(session.server.journal.inbox.frames(session.server.journal.name), last_event_id)
