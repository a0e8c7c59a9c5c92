"""An endpoint of Streamable HTTP: each request is judged, brought to its session, answered there.

An ASGI application without a framework: there is one path, and what is said on it is MCP's. What a
session is, a person as the server or a tap before another server, is behind `FrontClients`.
"""

from __future__ import annotations

import asyncio
import logging
import os
from abc import ABC, abstractmethod
from contextlib import AsyncExitStack
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Final, Generic, Protocol, TypeAlias, TypeVar

from humanmcp.common.terminal import to_stderr
from humanmcp.http.bodies import Bodies, BodyError, BodyTrouble, client_address, stated_length
from humanmcp.http.listening import QuietServer
from humanmcp.http.responses import OWN, HttpAnswer, HttpResponse, ResponseNotes, Stream
from humanmcp.inbox.contract import InboxError, StoreError
from humanmcp.locales import say
from humanmcp.protocol.http import inbound
from humanmcp.protocol.http.events import EVENTS, EventId
from humanmcp.protocol.http.http_faults import INSTEAD
from humanmcp.protocol.http.http_headers import SESSION, Headers
from humanmcp.protocol.http.inbound import (
    NO_BATCHES,
    NO_EVENT,
    Acknowledged,
    EndWanted,
    HttpRefusal,
    HttpRequest,
    Posted,
    StreamWanted,
    judge_request,
    refused_body,
    refused_to,
)
from humanmcp.protocol.http.outbound import JSON, PATH
from humanmcp.protocol.json.jsonrpc import Batch, Malformed, Message
from humanmcp.protocol.json.visible import one_line
from humanmcp.protocol.tables.versions import features
from humanmcp.protocol.validation.crash_guard import without_collection

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, MutableMapping, Sequence

    from starlette.types import ASGIApp, Receive, Send

    from humanmcp.http.responses import OutEvent, Streams
    from humanmcp.inbox.attendant import Attendant
    from humanmcp.protocol.http.inbound import HttpAddress
    from humanmcp.protocol.json.jsonrpc import DecodedLine, Json

    Scope: TypeAlias = MutableMapping[str, Any]


class FrontClient(ABC):
    """One session behind an endpoint. Everything but `missed` is for the event loop."""

    resumes: ClassVar[bool]
    """Whether a client can come back for what it missed: then events have ids."""

    def __init__(self, name: str, streams: Streams) -> None:
        """Begin. The name is that on the wire, "" for none; `streams` are its open responses."""
        self.id, self.streams = name, streams
        self.address, self.last_seen = "", 0.0

    @property
    @abstractmethod
    def version(self) -> str:
        """The version that was agreed on."""

    @property
    def is_idle(self) -> bool:
        return self.streams.is_idle

    def begin_notes(
        self,
        request: HttpRequest,  # noqa: ARG002 - nothing is written down here
        message: DecodedLine | None = None,  # noqa: ARG002 - likewise
    ) -> ResponseNotes:
        """Begin the notes of an exchange, by its request and the message in it."""
        return ResponseNotes()

    @abstractmethod
    def post(self, posted: Posted, head: str) -> Stream:
        """Take a message, and the notes of its head. Return the stream of its response."""

    @abstractmethod
    def why_unanswered(self, stream: Stream) -> HttpRefusal | None:
        """Return why a stream ended without an answer; None if none was owed."""

    @abstractmethod
    def missed(self, last_event_id: EventId) -> Sequence[OutEvent] | None:
        """Return what went out after an event; None for a stream that never was. May block."""

    def seen(self, address: str = "") -> None:
        """Note that its client is there, and where."""
        self.address = address or self.address
        self.last_seen = asyncio.get_running_loop().time()

    def done(self, stream: Stream) -> None:
        """Note that a response is complete."""
        self.seen()
        self.streams.drop_stream(stream)

    @abstractmethod
    def gone(self, stream: Stream, *, cancels: bool) -> None:
        """Note that the client of a stream is gone, and whether that means a cancellation."""


_Session = TypeVar("_Session", bound=FrontClient)


class FrontClients(Protocol[_Session]):
    """All sessions behind an endpoint."""

    def known(self, name: str | None) -> _Session | None:
        """Return the session of an id that this process runs now; None for any other."""

    async def session_of(self, posted: Posted, request: HttpRequest) -> _Session | HttpRefusal:
        """Return the session that a message belongs to, a new one where it begins one."""

    async def find(self, name: str, request: HttpRequest) -> _Session | HttpRefusal:
        """Return the session of an id."""

    def end(self, session: _Session) -> None:
        """End a session and forget its id."""

    def schema_of(self, message: Message, key: str, host: str) -> Json:
        """Return the inputSchema of the tool that a visitor calls, None where it is not known."""

    def close(self) -> None:
        """End every stream: the server is about to end."""


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
"""Bytes of a message which is decoded beside the event loop.

The next one waits until a session has processed it: then other clients have their turn.
"""

FAULT: Final = HttpRefusal(500, "fault", -32603)
TWO_LENGTHS: Final = HttpRefusal(400, "length")
BROKEN_OFF: Final = HttpRefusal(400, "broken off")
LISTENED_TO: Final = HttpRefusal(409, "listened to")
NO_INBOX: Final = HttpRefusal(503, "no inbox", -32603, (("retry-after", "1"),))
NO_STORE: Final = NO_INBOX._replace(why="no store")


_MOST_TOLD: Final = 10
"""The maximum number of refused pages that a person is told of."""
_LONGEST_TOLD: Final = 100


class HttpApp(Generic[_Session]):
    """Everything at the address."""

    def __init__(self, sessions: FrontClients[_Session], address: HttpAddress) -> None:
        self._sessions = sessions
        self._address = address
        self._bodies = Bodies(LARGEST_MESSAGE)
        self._one_large = asyncio.Lock()
        self._refused_pages: set[str] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        headers = headers_of(scope)
        page = inbound.for_page(headers, self._address)
        response = HttpResponse(receive, send, page)
        refusal = inbound.refusal_of(scope["path"], headers, self._address) or two_lengths(headers)
        asked = inbound.preflight(scope["method"], headers) if page else ()
        if asked and refusal in (None, inbound.NO_KEY):
            await response.whole(200, more=asked)
            return
        if refusal is inbound.FOREIGN:
            self._tell_refused(headers.get("origin") or "")
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

    def _tell_refused(self, origin: str) -> None:
        """Tell of a page that was refused: once, and of a few."""
        if origin not in self._refused_pages and len(self._refused_pages) < _MOST_TOLD:
            self._refused_pages.add(origin)
            told = say("http", "page refused", origin=one_line(origin, _LONGEST_TOLD))
            logger.warning("%s", told)
            to_stderr(told)

    async def _serve(
        self, scope: Scope, headers: Headers, response: HttpResponse
    ) -> HttpRefusal | None:
        url, address = _shown(scope, headers), client_address(scope)
        request = HttpRequest(scope["method"], headers, url=url, address=address)
        body = await read_body(self._bodies, scope, response.receive)
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
        headers = request.headers
        key, host = inbound.bearer(headers), headers.get("host") or ""
        judging = partial(
            judge_request, request, lambda call: self._sessions.schema_of(call, key, host)
        )
        async with AsyncExitStack() as turn:
            if len(request.body) <= LARGE:
                judged = judging()
            else:
                await turn.enter_async_context(self._one_large)
                judged = await asyncio.to_thread(without_collection()(judging))
            if isinstance(judged, Posted):
                refusal = await self._posted(judged, request, response, turn)
                return refusal and refused_to(refusal, judged.message)
        match judged:
            case HttpRefusal():
                return self._refused(judged, request, response)
            case Acknowledged():
                await response.whole(202)
                return None
            case StreamWanted():
                return await self._listen(judged, request, response)
            case EndWanted():
                return await self._end(judged, request, response)

    # -- a message ------------------------------------------------------------------------------

    async def _posted(
        self, posted: Posted, request: HttpRequest, response: HttpResponse, turn: AsyncExitStack
    ) -> HttpRefusal | None:
        """Answer a message. The `turn` of a large one ends when the session has processed it."""
        sent = request.headers
        session = await self._sessions.session_of(posted, request)
        if isinstance(session, HttpRefusal):
            return session
        response.headers = _named(session)
        fault = session.streams.refusal()
        if fault is not None:
            _noted(session, request, response).no_line()
            status, headers = INSTEAD[fault.fault]
            await response.whole(status, more=headers)
            return None
        notes = _noted(session, request, response, posted.message)
        version = posted.transport_facts.version if posted.transport_facts else session.version
        stream = notes.stream = session.post(posted, notes.head)
        try:
            if len(request.body) > LARGE:
                await stream.processed.wait()
                await turn.aclose()
            answer = HttpAnswer(response, stream, version, resumes=session.resumes)
            stayed = await answer.run(as_json=sent.accepts(JSON), as_events=sent.accepts(EVENTS))
        finally:
            session.done(stream)
        if not stayed:
            session.gone(stream, cancels=posted.transport_facts is not None)
        elif not response.is_begun:
            return await self._nothing_said(posted, session, stream, response)
        return None

    async def _nothing_said(
        self, posted: Posted, session: _Session, stream: Stream, response: HttpResponse
    ) -> HttpRefusal | None:
        """Answer 202 to a message that gets no response."""
        refusal = session.why_unanswered(stream)
        if refusal is not None:
            return refusal
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
        session = await self._sessions.find(wanted.session, request)
        if isinstance(session, HttpRefusal):
            return session
        notes = _noted(session, request, response)
        notes.no_line()
        streams = session.streams
        after = wanted.after if session.resumes else None
        if after is None and streams.is_listened_to:
            return LISTENED_TO
        last_event_id = after or EventId(OWN, streams.own_until)
        stream = notes.stream = Stream(last_event_id)
        goes_on = streams.listen(stream)
        missed = await asyncio.to_thread(session.missed, last_event_id)
        if missed is None and not goes_on:
            return NO_EVENT
        if not goes_on:
            stream.end()
        response.headers = _named(session)
        answer = HttpAnswer(response, stream, session.version, resumes=session.resumes)
        if not await answer.run_on(missed or ()):
            session.gone(stream, cancels=False)
        else:
            streams.drop_stream(stream)
        session.seen()
        return None

    async def _end(
        self, over: EndWanted, request: HttpRequest, response: HttpResponse
    ) -> HttpRefusal | None:
        session = await self._sessions.find(over.session, request)
        if isinstance(session, HttpRefusal):
            return session
        _noted(session, request, response).no_line()
        self._sessions.end(session)
        await response.whole(204)
        return None


async def read_body(bodies: Bodies, scope: Scope, receive: Receive) -> bytes | HttpRefusal:
    """Read a body within the limits."""
    parts = []
    try:
        with bodies.coming(receive, client_address(scope), stated_length(scope)) as body:
            more = True
            while more:
                message = await body.receive()
                if message["type"] == "http.disconnect":  # half a request is none
                    return BROKEN_OFF
                parts.append(message.get("body", b""))
                more = message.get("more_body", False)
    except BodyError as error:
        parts.clear()  # nobody counts them any more
        await body.drain(scope)
        return _TROUBLES[error.trouble]
    return b"".join(parts)


def headers_of(scope: Scope) -> Headers:
    return Headers.of(
        (name.decode("latin-1"), value.decode("latin-1")) for name, value in scope["headers"]
    )


def two_lengths(headers: Headers) -> HttpRefusal | None:
    """Refuse a body with two lengths: a proxy may use the other one (RFC 9112, 6.1)."""
    both = headers.get("transfer-encoding") and headers.get("content-length")
    return TWO_LENGTHS if both else None


def _shown(scope: Scope, headers: Headers) -> str:
    """Return the path of a request without its query, which may hold a key."""
    query = "?…" if scope["query_string"] else ""
    return f"{scope['scheme']}://{headers.get('host')}{PATH}{query}"


def _named(session: FrontClient) -> tuple[tuple[str, str], ...]:
    """Return the header that names a session, where it has a name."""
    return ((SESSION, session.id),) if session.id else ()


def _noted(
    session: FrontClient,
    request: HttpRequest,
    response: HttpResponse,
    message: DecodedLine | None = None,
) -> ResponseNotes:
    response.notes = session.begin_notes(request, message)
    return response.notes


class Endpoint(Protocol):
    """Answers requests to the address of a server that are no messages of MCP.

    An extension brings a class (`Extension.endpoints`) with `SETTINGS` and with `of`, which returns
    None if the person asked for nothing.
    """

    def begin(self, attendant: Attendant) -> Callable[[ASGIApp], ASGIApp]:
        """Begin, in the thread of the event loop. Return the layer around the application."""


def front_server(
    sessions: FrontClients[_Session],
    address: HttpAddress,
    ready: Callable[[], object],
    *,
    most: int,
    around: Sequence[Callable[[ASGIApp], ASGIApp]] = (),
) -> QuietServer:
    """Return the server of an endpoint, over `most` connections.

    Each of `around` may answer a request itself, or hand it to the application that it is given.
    """
    app: ASGIApp = HttpApp(sessions, address)
    for layer in around:
        app = layer(app)
    behind_proxy = bool(address.outside)
    return QuietServer(app, ready, most=most, ending=sessions.close, behind_proxy=behind_proxy)
