"""The sessions of Streamable HTTP: which are open, and the connection of each."""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections import deque
from contextlib import suppress
from http.client import responses
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Final, NamedTuple

from humanmcp.inbox.contract import InboxError, Life, SessionFacts
from humanmcp.inbox.inbox_session import TransportNote
from humanmcp.protocol.http.client import (
    calls_in,
    carried,
    cut_part,
    event_part,
    request_part,
    response_part,
)
from humanmcp.protocol.http.http_headers import without_keys
from humanmcp.protocol.http.inbound import UNKNOWN_SESSION, HttpRefusal
from humanmcp.protocol.http.outbound import evictable, silent, visitor_of
from humanmcp.protocol.json.jsonrpc import Kind, Message
from humanmcp.protocol.json.tree import follow
from humanmcp.server.connection import Backpressure, EndOfInput, HungUp, as_one_line
from humanmcp.server.http.streams import Stream, Streams, said
from humanmcp.server.process import Clock

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
    from typing import TypeAlias

    from humanmcp.inbox.attendant import Attendant
    from humanmcp.inbox.contract import ServerInbox
    from humanmcp.protocol.conversation.exchange import TransportFacts
    from humanmcp.protocol.http.inbound import HttpRequest, Posted
    from humanmcp.protocol.http.outbound import HttpFault
    from humanmcp.protocol.json.jsonrpc import Batch, DecodedLine, Json, Malformed
    from humanmcp.server.connection import Incoming
    from humanmcp.server.session import ServedSession

    Soon = Callable[..., object]
    MakeSession: TypeAlias = "Callable[[HttpConnection, SessionFacts], ServedSession]"

WITHIN: Final = 0.05
"""Seconds after which a note is written that no line has taken along."""


class HttpNotes:
    """The notes of one session that are not written yet. A `TransportNotes`."""

    def __init__(self) -> None:
        """Begin with none."""
        self.head = ""
        self.are_due = False
        """Whether they are to be written without a line."""
        self.wake: Callable[[], object] | None = None
        """Called when they are due."""
        self._calls = 0
        self._clock = Clock()
        self._waiting: deque[TransportNote] = deque()
        self._is_timed = False

    def go_on(self, calls: int) -> None:
        """Continue the numbering of another process."""
        self._calls = max(self._calls, calls)

    # -- the event loop's side ------------------------------------------------------------------

    def begin(
        self, request: HttpRequest, message: Message | Batch | Malformed | None = None
    ) -> ExchangeNotes:
        """Begin the notes of an exchange, by its request and the message in it."""
        self._calls += 1
        headers = without_keys(request.headers.pairs)
        head = request_part(self._calls, request.method, request.url, headers, carried(message))
        return ExchangeNotes(self, self._calls, head)

    def put(self, text: str, number: int) -> None:
        """Queue a note."""
        self._waiting.append(TransportNote(self._clock.stamp(), text, number))
        if not self._is_timed:
            self._is_timed = True
            asyncio.get_running_loop().call_later(WITHIN, self._time_is_over)

    def _time_is_over(self) -> None:
        self._is_timed = False
        self.are_due = bool(self._waiting)
        if self.are_due and self.wake is not None:
            self.wake()

    # -- the session's side ---------------------------------------------------------------------

    def take(self) -> Iterable[TransportNote]:
        """Return the notes to write."""
        self.are_due = False
        while self._waiting:
            yield self._waiting.popleft()


class ExchangeNotes:
    """The notes of one exchange. `head` is that of its request, to be written with its line."""

    def __init__(self, notes: HttpNotes, call: int, head: str) -> None:
        """Note what becomes of a call of this number."""
        self.head: Final = head
        self.stream: Stream | None = None
        """What its response says, where it is about a request."""
        self._notes = notes
        self._call = call

    def no_line(self) -> None:
        """Store the head alone: the request has no line for the session."""
        self._soon(lambda: self.head)

    def response(self, status: int, headers: Sequence[tuple[str, str]]) -> None:
        """Note the head of the response."""
        reason = responses.get(status, "")
        self._soon(lambda: response_part(self._call, status, reason, without_keys(headers)))

    def event(self, name: str, retry: int | None = None) -> None:
        """Note an event by its id."""
        self._soon(lambda: event_part(self._call, name, retry=retry))

    def cut(self, by: str) -> None:
        """Note that one side hung up before the response was whole."""
        self._soon(lambda: cut_part(self._call, by))

    def _soon(self, part: Callable[[], str]) -> None:
        """Make a note once what is being said is out."""
        asyncio.get_running_loop().call_soon(self._put, part)

    def _put(self, part: Callable[[], str]) -> None:
        self._notes.put(part(), 0 if self.stream is None else self.stream.at.stream)


logger = logging.getLogger(__name__)


class _Posted(NamedTuple):
    """What a POST brought, the stream of its response, and its head as a note."""

    posted: Posted
    stream: Stream
    head: str


class HttpConnection:
    """One client's POSTs and streams. `soon` calls a function in the event loop's thread."""

    def __init__(self, soon: Soon) -> None:
        self.closed = False
        self.transport_facts: TransportFacts | None = None
        self.decoded: DecodedLine | None = None
        self.streams = Streams()
        self.notes: Final = HttpNotes()
        self.backpressure: Final = Backpressure()
        """Nothing waits here: what a client does not take waits in its own response."""
        self._soon = soon
        self._coming: SimpleQueue[_Posted | HungUp | EndOfInput] = SimpleQueue()
        self._arrived: Callable[[], object] | None = None
        self._taken: Stream | None = None

    # -- the event loop's side ------------------------------------------------------------------

    def post(self, posted: Posted, head: str = "") -> Stream:
        """Queue a message for the session. Return the stream of its response."""
        stream = Stream()
        if self.closed:
            stream.end()
        else:
            self._come(_Posted(posted, stream, head))
        return stream

    def gone(self, stream: Stream, *, cancels: bool) -> None:
        """Note that the client of a stream is gone, and whether that means a cancellation."""
        stream.is_gone = True
        numbers = sorted(stream.numbers)
        self.streams.leave(stream)
        if cancels:
            for number in numbers:
                self._come(HungUp(number))

    def hang_up(self) -> None:
        """Queue the end of input."""
        self.closed = True
        self._come(EndOfInput())

    def close(self) -> None:
        """End the streams of lines that came after the session's end."""
        self.closed = True
        for _line in self.drain():
            logger.info("a message came when its session was over")

    def _come(self, what: _Posted | HungUp | EndOfInput) -> None:
        self._coming.put(what)
        if self._arrived is not None:
            self._arrived()

    def _began(self, stream: Stream, numbers: tuple[int, ...], cancels: bool) -> None:  # noqa: FBT001 - for a queue of calls
        self.streams.posted(stream, numbers)
        if stream.is_gone:  # while the session had not looked yet
            self.gone(stream, cancels=cancels)

    # -- the session's side ---------------------------------------------------------------------

    def listen(self, arrived: Callable[[], object]) -> None:
        """Call `arrived` in the event loop's thread, whenever a POST comes."""
        self._arrived = self.notes.wake = arrived
        arrived()

    def get(self, timeout: float | None = 0) -> Incoming | None:
        """Return the next input."""
        try:
            found = self._coming.get(timeout=timeout)
        except Empty:
            return None
        if not isinstance(found, _Posted):
            return found
        posted, self._taken, self.notes.head = found
        self.transport_facts, self.decoded = posted.transport_facts, posted.message
        return posted.line

    def accept_requests(self, numbers: Sequence[int]) -> None:
        """Begin the stream of the line that was taken last."""
        stream, self._taken = self._taken, None
        if stream is not None:
            self._soon(self._began, stream, tuple(numbers), self.transport_facts is not None)

    def unanswered(self, number: int) -> None:
        """End the stream of a request that gets no answer."""
        self._soon(self.streams.unanswered, number)

    def send(self, line: bytes, *, related_to: int = 0, deliberate: bool = False) -> None:
        """Send a line on the stream of its request."""
        self._soon(self.streams.send, as_one_line(line, deliberate=deliberate)[:-1], related_to)

    def send_raw(self, content: bytes) -> None:
        """Send bytes unchanged."""
        self._soon(self.streams.send_raw, content)

    def carry_wrongly(self, fault: HttpFault | None) -> None:
        """Put a fault into the HTTP response of the next answer."""
        self._soon(self.streams.carry_wrongly, fault)

    def crash(self) -> None:
        """Cut every stream and end the session. The process goes on for the others."""
        self._soon(self.streams.cut)
        self.hang_up()

    def flush(self, timeout: float) -> None:
        """Do nothing: what was sent is in the event loop's queue."""

    def drain(self) -> Iterator[bytes]:
        """Yield the unread lines."""
        with suppress(Empty):
            while True:
                found = self._coming.get_nowait()
                if isinstance(found, _Posted):
                    self._soon(found.stream.end)
                    self.notes.head = found.head
                    yield found.posted.line


MOST_SESSIONS: Final = 2_000
TOO_MANY: Final = HttpRefusal(503, "too many", -32603)
HELD_ELSEWHERE: Final = HttpRefusal(421, "held elsewhere", -32603)

ASKS_AGAIN: Final = 0.2
"""Seconds between two looks whether the process that runs a session has died."""
WAITS: Final = 30.0
"""Seconds after which a session is refused that no process runs and this one cannot go on with."""

LOOKS_AGAIN: Final = 0.1
"""Seconds after which it is asked again whether a session is still this process's."""
_LOOK_EVERY: Final = 60.0


class HttpSession:
    """One session with its connection. The attendant serves it in the place of the session."""

    def __init__(
        self,
        name: str,
        connection: HttpConnection,
        server: ServedSession,
        over: Callable[[HttpSession], object],
    ) -> None:
        """Tell `over`, from the attendant's thread, when it ends, and when it has ended."""
        self.id = name
        self.connection = connection
        self.server = server
        self.address = ""
        self.last_seen = 0.0
        self.is_lost = False
        """Whether another process runs it now."""
        self.has_left = False
        """Whether it looks at nothing any more."""
        self._over = over
        self._ids: dict[Stream, tuple[str, str | int | float]] = {}
        self._ends_at = 0.0
        """When it ends: those that still wait are told before, and that is written down."""

    # -- for the attendant ----------------------------------------------------------------------

    def begin(self, wake: Callable[[], object]) -> None:
        """Begin the session."""
        self.server.begin(wake)

    def step(self, now: float) -> float | None:
        """Step the session, while this process owns it."""
        journal = self.server.journal
        is_held = not self.id or journal.inbox.is_held(journal.name)
        if is_held:
            if self.connection.notes.are_due:
                journal.keep_notes()
            return self._following(now)
        self.is_lost = is_held is False
        return None if self.is_lost else now + LOOKS_AGAIN

    def _following(self, now: float) -> float | None:
        if self._ends_at:
            return self._ends_at if now < self._ends_at else None
        following = self.server.step(now)
        if following is None:
            following = self._ends_at = now + WITHIN
            self._over(self)
        return following

    def leave(self) -> None:
        """End the session, and its streams.

        Its client can come again: where it was not ended, it is left to the next process.
        """
        try:
            if not self.is_lost:
                self.server.journal.keep_notes()
            self.server.leave(to_others=not self.server.is_over)
        finally:
            self.has_left = True
            self._over(self)

    # -- for the event loop ---------------------------------------------------------------------

    @property
    def version(self) -> str:
        """The version that was agreed on."""
        return self.server.session.agreed

    def post(self, posted: Posted, head: str) -> Stream:
        """Queue a message and the head of its POST. Its id is in use until its stream ends."""
        stream = self.connection.post(posted, head)
        if isinstance(posted.message, Message) and posted.message.id is not None:
            self._ids[stream] = posted.message.id.key
        return stream

    def seen(self, address: str = "") -> None:
        """Note the client's address and the time."""
        self.address = address or self.address
        self.last_seen = asyncio.get_running_loop().time()

    def done(self, stream: Stream) -> None:
        """Note that a response is complete: the id of its request is free again."""
        self.seen()
        self._ids.pop(stream, None)
        if not stream.is_gone:
            self.connection.streams.leave(stream)

    def uses(self, message: Message) -> bool:
        """Return True if a request under the same id is open."""
        return message.id is not None and message.id.key in self._ids.values()

    def goes_on_with(self, message: Message) -> bool:
        """Return True if a request answers a question of this session, or repeats one here."""
        state, session = message.params.get("requestState"), self.server.session
        is_told = isinstance(state, str) and session.state.asked_with(state)
        return is_told or session.repeated_by(message) is not None

    def schema_of(self, tool: str) -> Json:
        """Return the inputSchema of a tool, as it was listed last or as the book has it."""
        negotiated = self.server.session.negotiated
        listed = (negotiated.tools or {}).get(tool)
        of_book = negotiated.prepared.get("tools/list", {}).get("tools", ())
        found = listed or next((one for one in of_book if one.get("name") == tool), None)
        return follow(found, "inputSchema")

    @property
    def is_idle(self) -> bool:
        """Return True if no client waits or listens."""
        return self.connection.streams.is_idle


def _left_open(server: ServedSession) -> tuple[dict[int, int], dict[int, int]]:
    """Return the stream of each request that waits, and how much went out on each stream."""
    owed = {one.number: one.batch or one.number for one in server.session.pending}
    places = {event_id.stream: event_id.place for event_id, _ in said(server.journal.frames())}
    return owed, places


def _visited(open_ones: Sequence[HttpSession], message: Message) -> HttpSession | None:
    """Return the visitor's session that a message is for, None for a new one."""
    for one in open_ones:
        if one.goes_on_with(message):
            return one
    if message.kind is not Kind.REQUEST:
        return open_ones[0] if open_ones else None
    return next((one for one in open_ones if not one.uses(message)), None)


class _HeldElsewhereError(Exception):
    """Another process runs a session."""

    def __init__(self, session: str) -> None:
        super().__init__(session)
        self.session = session


class HttpSessions:
    """All sessions of the process. `port` is where their clients come back to."""

    def __init__(
        self,
        make: MakeSession,
        attendant: Attendant,
        inbox: ServerInbox,
        port: int = 0,
        *,
        most: int = MOST_SESSIONS,
    ) -> None:
        """Begin with none. `make` makes a session; it may take as long as a disk does.

        There are at `most` so many.
        """
        self._most = most
        self._make = make
        self._inbox = inbox
        self._port = port
        self._attendant = attendant
        self._loop = asyncio.get_running_loop()
        self._by_id: dict[str, HttpSession] = {}
        self._visits: dict[str, list[HttpSession]] = {}
        """The sessions of each visitor, by the digest of who it is."""
        self._opening: asyncio.Lock = asyncio.Lock()
        self._ended: deque[str] = deque(maxlen=MOST_SESSIONS)  # the inbox may not know it yet

    async def find(self, name: str, address: str) -> HttpSession | HttpRefusal:
        """Return the session of an id; take over the session of a process that has ended.

        Any other: "it MUST respond […] with HTTP 404 Not Found".
        """
        found = self._by_id.get(name) or await self._once_free(
            lambda: self._come_back(name, address)
        )
        if isinstance(found, HttpSession):
            found.seen(address)
        return found

    async def _come_back(self, name: str, address: str) -> HttpSession | HttpRefusal:
        async with self._opening:
            facts = await asyncio.to_thread(self._inbox.session_by_http_id, name)
            if facts is None or facts.life is Life.CLOSED or name in self._ended:
                return UNKNOWN_SESSION
            if name not in self._by_id:
                await self.go_on([facts], address)
            if name not in self._by_id:
                raise _HeldElsewhereError(facts.name)
            return self._by_id[name]

    async def _once_free(
        self, look: Callable[[], Awaitable[HttpSession | HttpRefusal]]
    ) -> HttpSession | HttpRefusal:
        """Return what `look` finds; a refusal where another process runs the session and lives.

        A process may have died a moment ago: its sessions are free when its lease is over.
        """
        before, until = "", self._loop.time() + WAITS
        while True:
            try:
                return await look()
            except _HeldElsewhereError as error:
                sign = await asyncio.to_thread(self._inbox.sign_of_life, error.session)
            if not sign or sign != (before or sign) or self._loop.time() > until:
                return HELD_ELSEWHERE
            before = sign
            await asyncio.sleep(ASKS_AGAIN)

    async def open(self, address: str) -> HttpSession | HttpRefusal:
        """Begin a session: its id is there before `initialize` is answered."""
        name = secrets.token_urlsafe(24)
        return await self._begin(SessionFacts("", "", http_id=name, http_port=self._port), address)

    async def go_on(self, left: Iterable[SessionFacts], address: str = "") -> None:
        """Take over the open sessions of a process that has ended.

        One that a third process was faster to take is that one's.
        """
        for facts in left:
            try:
                await self._begin(facts, address)
            except InboxError as error:
                logger.info("not gone on with %s: %s", facts.name, error)

    async def visit(
        self, message: Message, key: str, host: str, address: str
    ) -> HttpSession | HttpRefusal:
        """Return the session of a visitor, a new one where there is none for it.

        Those of a process that is gone are this one's from now on. `host` is the address that the
        visitor knows, `address` is the visitor's own.
        """
        digest = visitor_of(message, key, host)
        return await self._once_free(lambda: self._visit(message, digest, address))

    async def _visit(
        self, message: Message, digest: str, address: str
    ) -> HttpSession | HttpRefusal:
        async with self._opening:
            if digest not in self._visits:
                await self._take_over(digest, address)
            found = _visited(self._visits.get(digest, []), message)
            if found is not None:
                found.seen(address)
                return found
            facts = SessionFacts("", "", http_port=self._port, http_visitor=digest)
            return await self._begin(facts, address)

    async def _take_over(self, digest: str, address: str) -> None:
        """Go on with all sessions of a visitor: who has the oldest one takes the others, too."""
        for facts in await asyncio.to_thread(self._inbox.of_visitor, digest):
            await self.go_on([facts], address)
            if digest not in self._visits:
                raise _HeldElsewhereError(facts.name)

    async def _begin(self, facts: SessionFacts, address: str) -> HttpSession | HttpRefusal:
        ones = self._all()
        if len(ones) >= self._most:
            ends = evictable(ones, self._loop.time(), address)
            if ends is None:
                return TOO_MANY
            self.end(ends)
        connection = HttpConnection(self._loop.call_soon_threadsafe)
        server = await asyncio.to_thread(self._make, connection, facts)
        if facts.name:
            frames = server.journal.frames
            connection.notes.go_on(await asyncio.to_thread(lambda: calls_in(frames())))
        if facts.name and facts.http_id:
            connection.streams.go_on(*await asyncio.to_thread(_left_open, server))
        session = HttpSession(facts.http_id, connection, server, self._is_over)
        if facts.http_id:
            self._by_id[facts.http_id] = session
        else:
            self._visits.setdefault(facts.http_visitor, []).append(session)
        session.seen(address)
        await asyncio.to_thread(self._attendant.attend, session)
        return session

    def _all(self) -> list[HttpSession]:
        visiting = (one for ones in self._visits.values() for one in ones)
        return [*self._by_id.values(), *visiting]

    def end(self, session: HttpSession) -> None:
        """End a session and forget its id."""
        self.forget(session)
        session.connection.hang_up()

    def _is_over(self, session: HttpSession) -> None:
        """Forget a session that ends; called in the attendant's thread."""
        with suppress(RuntimeError):  # the loop has ended with the server
            self._loop.call_soon_threadsafe(self.forget, session)
            if session.has_left:
                self._loop.call_soon_threadsafe(session.connection.close)

    def forget(self, session: HttpSession) -> None:
        """Forget a session that is over."""
        self._by_id.pop(session.id, None)
        if not session.is_lost and session.id not in self._ended:
            self._ended.append(session.id)
        for who in [who for who, ones in self._visits.items() if session in ones]:
            self._visits[who].remove(session)
            if not self._visits[who]:
                del self._visits[who]
        session.connection.streams.close(goes_on=session.is_lost)

    def close(self) -> None:
        """End every stream: the server is about to end."""
        for one in self._all():
            one.connection.streams.close(goes_on=True)

    async def end_the_silent(self) -> None:
        """End silent sessions, as long as the server runs."""
        while True:
            await asyncio.sleep(_LOOK_EVERY)
            for one in silent(self._all(), self._loop.time()):
                one.connection.hang_up()

    def known(self, name: str | None) -> HttpSession | None:
        """Return the session of an id that this process runs now; None for any other."""
        return self._by_id.get(name or "")

    def schema_of(self, message: Message, key: str, host: str) -> Json:
        """Return the inputSchema of the tool that a visitor calls, None where it is not known."""
        tool = message.params.get("name")
        ones = self._visits.get(visitor_of(message, key, host), [])
        found = (one.schema_of(tool) for one in ones if isinstance(tool, str))
        return next((schema for schema in found if schema is not None), None)
