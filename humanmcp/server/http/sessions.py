"""`humanmcp serve --http`: one process, an address, and as many sessions as clients come.

event loop (main thread)   the sockets, the streams, which session a message belongs to
attendant (one thread)     every session: what comes in, what people and the book answer
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import secrets
import threading
from collections import deque
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from humanmcp import __version__
from humanmcp.http.front import FrontClient, front_server
from humanmcp.http.listening import HttpServeError
from humanmcp.inbox.attendant import Attendant
from humanmcp.inbox.contract import HttpFacts, InboxError, Life, SessionFacts
from humanmcp.locales import say
from humanmcp.protocol.conversation.transcript import HTTP
from humanmcp.protocol.http.client import calls_in
from humanmcp.protocol.http.inbound import UNKNOWN_SESSION, HttpRefusal, HttpRequest, bearer
from humanmcp.protocol.http.session_ends import evictable, silent, visitor_of
from humanmcp.protocol.json.jsonrpc import Kind, Message
from humanmcp.protocol.json.tree import follow
from humanmcp.server.http.connection import WITHIN, ExchangeNotes, HttpConnection, after, said

if TYPE_CHECKING:
    import socket
    from collections.abc import Awaitable, Callable, Iterable, Sequence
    from typing import Self, TypeAlias

    from humanmcp.http.front import Endpoint
    from humanmcp.http.responses import OutEvent, Stream
    from humanmcp.inbox.contract import ServerInbox
    from humanmcp.protocol.http.events import EventId
    from humanmcp.protocol.http.inbound import HttpAddress, Posted
    from humanmcp.protocol.json.jsonrpc import DecodedLine, Json
    from humanmcp.server.session import ServedSession

    MakeSession: TypeAlias = "Callable[[HttpConnection, SessionFacts], ServedSession]"

logger = logging.getLogger(__name__)

MOST_SESSIONS: Final = 2_000
HELD_ELSEWHERE: Final = HttpRefusal(421, "held elsewhere", -32603)
STOPPING: Final = HttpRefusal(503, "stopping", -32603)
TOO_MANY: Final = HttpRefusal(503, "too many", -32603)

ASKS_AGAIN: Final = 0.2
"""Seconds between two looks whether the process that runs a session has died."""
WAITS: Final = 30.0
"""Seconds after which a session is refused that no process owns and this one cannot resume."""

MOST_TELLING: Final = 2.0
"""The most seconds that a session which is over goes on for responses that have not begun."""
LOOKS_AGAIN: Final = 0.1
"""Seconds between two looks whether this process still owns a session."""
_LOOK_EVERY: Final = 60.0


class HttpSession(FrontClient):
    """One session with its connection. The attendant serves it in the place of the session."""

    resumes = True

    def __init__(
        self,
        name: str,
        connection: HttpConnection,
        server: ServedSession,
        over: Callable[[HttpSession], object],
    ) -> None:
        """Tell `over`, from the attendant's thread, when it ends, and when it has ended."""
        super().__init__(name, connection.streams)
        self.connection = connection
        self.server = server
        self.is_lost = False
        """Whether another process runs it now."""
        self.has_left = False
        """Whether it looks at nothing any more."""
        self._over = over
        self._ids: dict[Stream, tuple[str, str | int | float]] = {}
        self._ends_at = self._ends_by = 0.0
        """When it ends, and at the latest: who still waits is told before, and it is recorded."""

    # -- for the attendant ----------------------------------------------------------------------

    def begin_steps(self, wake: Callable[[], object]) -> None:
        self.server.begin_steps(wake)

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
            if self.connection.notes.open and now < self._ends_by:
                self._ends_at = now + WITHIN
            return self._ends_at if now < self._ends_at else None
        following = self.server.step(now)
        if following is None:
            following = self._ends_at = now + WITHIN
            self._ends_by = now + MOST_TELLING
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
        return self.server.session.agreed

    def post(self, posted: Posted, head: str) -> Stream:
        """Queue a message and the head of its POST. Its id is in use until its stream ends."""
        stream = self.connection.post(posted, head)
        if isinstance(posted.message, Message) and posted.message.id is not None:
            self._ids[stream] = posted.message.id.key
        return stream

    def begin_notes(
        self, request: HttpRequest, message: DecodedLine | None = None
    ) -> ExchangeNotes:
        return self.connection.notes.begin(request, message)

    def gone(self, stream: Stream, *, cancels: bool) -> None:
        self.connection.gone(stream, cancels=cancels)

    def why_unanswered(self, stream: Stream) -> HttpRefusal | None:
        if self.is_lost and not stream.taken:
            return HELD_ELSEWHERE
        if stream.numbers or not stream.taken:
            return STOPPING if stream.goes_on else UNKNOWN_SESSION
        return None

    def missed(self, last_event_id: EventId) -> list[OutEvent] | None:
        """Read from the transcript what went out on a stream after an event.

        A note of a wrong GET names a stream, too.
        """
        frames = self.server.journal.frames
        missed = after(frames(), last_event_id, self.connection.receive_receipt)
        had = any(one.number == last_event_id.stream and one.note != HTTP for one in frames())
        return missed if missed or had else None

    def done(self, stream: Stream) -> None:
        """Note that a response is complete: the id of its request is free again."""
        self.seen()
        self._ids.pop(stream, None)
        if not stream.is_gone:
            self.streams.drop_stream(stream)

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


def _left_open(server: ServedSession) -> tuple[dict[int, int], dict[int, int]]:
    """Return the stream of each request that waits, and how much went out on each stream."""
    owed = {one.number: one.batch or one.number for one in server.session.pending}
    places = {event_id.stream: event_id.place for event_id, _ in said(server.journal.frames())}
    return owed, places


def _visited(open_ones: Sequence[HttpSession], message: Message) -> HttpSession | None:
    for one in open_ones:
        if one.goes_on_with(message):
            return one
    if message.kind is not Kind.REQUEST:
        return open_ones[0] if open_ones else None
    return next((one for one in open_ones if not one.uses(message)), None)


class _HeldElsewhereError(Exception):
    """Another process runs the session of this name."""


@dataclass(eq=False)
class HttpSessions:
    """All sessions of the process, at `most` so many. Their clients come back to `at`.

    `make` makes a session; it may take as long as a disk does.
    """

    make: MakeSession
    attendant: Attendant
    inbox: ServerInbox
    at: str = ""
    _: KW_ONLY
    most: int = MOST_SESSIONS

    def __post_init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._by_id: dict[str, HttpSession] = {}
        self._visits: dict[str, list[HttpSession]] = {}
        """The sessions of each visitor, by the digest of who it is."""
        self._opening: asyncio.Lock = asyncio.Lock()
        self._ended: deque[str] = deque(maxlen=MOST_SESSIONS)  # the inbox may not know it yet
        self._silence = asyncio.ensure_future(self._end_the_silent())

    async def session_of(self, posted: Posted, request: HttpRequest) -> HttpSession | HttpRefusal:
        if posted.transport_facts is not None and isinstance(posted.message, Message):
            key, host = bearer(request.headers), request.headers.get("host") or ""
            return await self.visit(posted.message, key, host, request.address)
        if posted.session:
            return await self.find(posted.session, request)
        return await self.open(request.address)

    async def find(self, name: str, request: HttpRequest) -> HttpSession | HttpRefusal:
        """Return the session of an id; take over the session of a process that has ended.

        Any other: "it MUST respond […] with HTTP 404 Not Found".
        """
        found = self._by_id.get(name) or await self._once_free(
            lambda: self._come_back(name, request.address)
        )
        if isinstance(found, HttpSession):
            found.seen(request.address)
        return found

    async def _come_back(self, name: str, address: str) -> HttpSession | HttpRefusal:
        async with self._opening:
            facts = await asyncio.to_thread(self.inbox.session_by_http_id, name)
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
                sign = await asyncio.to_thread(self.inbox.sign_of_life, str(error))
            if not sign or sign != (before or sign) or self._loop.time() > until:
                return HELD_ELSEWHERE
            before = sign
            await asyncio.sleep(ASKS_AGAIN)

    async def open(self, address: str) -> HttpSession | HttpRefusal:
        """Begin a session: its id is there before `initialize` is answered."""
        name = secrets.token_urlsafe(24)
        return await self._begin(SessionFacts("", "", http=HttpFacts(name, self.at)), address)

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
            facts = SessionFacts("", "", http=HttpFacts("", self.at, digest))
            return await self._begin(facts, address)

    async def _take_over(self, digest: str, address: str) -> None:
        """Resume all sessions of a visitor: the process that owns the oldest takes the others."""
        for facts in await asyncio.to_thread(self.inbox.of_visitor, digest):
            await self.go_on([facts], address)
            if digest not in self._visits:
                raise _HeldElsewhereError(facts.name)

    async def _begin(self, facts: SessionFacts, address: str) -> HttpSession | HttpRefusal:
        ones = self._all()
        if len(ones) >= self.most:
            ends = evictable(ones, self._loop.time(), address)
            if ends is None:
                return TOO_MANY
            self.end(ends)
        connection = HttpConnection(self._soon)
        server = await asyncio.to_thread(self.make, connection, facts)
        if facts.name:
            frames = server.journal.frames
            connection.notes.go_on(await asyncio.to_thread(lambda: calls_in(frames())))
        if facts.name and facts.http.id:
            connection.streams.go_on(*await asyncio.to_thread(_left_open, server))
        session = HttpSession(facts.http.id, connection, server, self._is_over)
        if facts.http.id:
            self._by_id[facts.http.id] = session
        else:
            self._visits.setdefault(facts.http.visitor, []).append(session)
        session.seen(address)
        await asyncio.to_thread(self.attendant.attend, session)
        return session

    def _all(self) -> list[HttpSession]:
        visiting = (one for ones in self._visits.values() for one in ones)
        return [*self._by_id.values(), *visiting]

    def end(self, session: HttpSession) -> None:
        self.forget(session)
        session.connection.hang_up()

    def _is_over(self, session: HttpSession) -> None:
        """Forget a session that ends; called in the attendant's thread."""
        self._soon(self.forget, session)
        if session.has_left:
            self._soon(session.connection.close)

    def _soon(self, call: Callable[..., object], *arguments: object) -> None:
        """Call something in the event loop's thread, if there is one still."""
        with suppress(RuntimeError):  # the loop has ended with the server
            self._loop.call_soon_threadsafe(call, *arguments)

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
        self._silence.cancel()
        for one in self._all():
            one.connection.streams.close(goes_on=True)

    async def _end_the_silent(self) -> None:
        """End silent sessions, as long as the server runs."""
        while True:
            await asyncio.sleep(_LOOK_EVERY)
            for one in silent(self._all(), self._loop.time()):
                one.connection.hang_up()

    def known(self, name: str | None) -> HttpSession | None:
        return self._by_id.get(name or "")

    def schema_of(self, message: Message, key: str, host: str) -> Json:
        tool = message.params.get("name")
        ones = self._visits.get(visitor_of(message, key, host), [])
        found = (one.schema_of(tool) for one in ones if isinstance(tool, str))
        return next((schema for schema in found if schema is not None), None)


MOST_CONNECTIONS: Final = 4_000

BESIDE: Final = 64
"""Open files that are needed besides those of sessions and connections."""

PER_SESSION: Final = 2
"""Open files of a session in a folder: its lock and its bell."""


class HttpLimits(NamedTuple):
    """How many sessions and connections there may be at once."""

    sessions: int = MOST_SESSIONS
    connections: int = MOST_CONNECTIONS

    @classmethod
    def of(cls, files: int) -> Self:
        """Return the limits for a number of open files: two connections for each session."""
        files = max(0, files - BESIDE)
        sessions = max(1, min(MOST_SESSIONS, files // (PER_SESSION + 2)))
        return cls(sessions, max(2, min(MOST_CONNECTIONS, files - PER_SESSION * sessions)))


def read_key(name: str) -> tuple[str, Path | None]:
    """Return the key that stands in a file, and the file where it was made now.

    Raises:
        HttpServeError: it is empty.
        OSError: it can neither be read nor made.
    """
    path = Path(name).expanduser()
    with contextlib.suppress(FileExistsError):
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            key = secrets.token_urlsafe(24)
            file.write(f"{key}\n")
            return key, path
    key = path.read_text(encoding="utf-8").strip()
    if not key or not key.isascii() or " " in key:
        raise HttpServeError("no key", file=path)
    return key, None


LARGEST: Final = HttpLimits()


def serve(  # noqa: PLR0913 - the parts of a server, each made elsewhere
    listening: socket.socket,
    address: HttpAddress,
    make: MakeSession,
    inbox: ServerInbox,
    ready: Callable[[], object],
    *,
    limits: HttpLimits = LARGEST,
    endpoints: Sequence[Endpoint] = (),
) -> None:
    """Serve until told to stop. `make` makes the session of a connection.

    `endpoints` answer what else comes to the address.

    It goes on with what the process before this one left of its sessions at the port in `inbox`.
    """
    attendant = Attendant()
    thread = threading.Thread(target=partial(attendant.run, for_ever=True), name="attendant")
    thread.start()

    async def run() -> None:
        sessions = HttpSessions(make, attendant, inbox, address.at, most=limits.sessions)
        await sessions.go_on(inbox.orphaned_sessions(address.at))
        around = [one.begin(attendant) for one in endpoints]
        server = front_server(sessions, address, ready, most=limits.connections, around=around)
        await server.serve([listening])

    try:
        with contextlib.suppress(KeyboardInterrupt):
            asyncio.run(run())
    finally:
        attendant.stop()
        thread.join()


def told(address: HttpAddress, *, made: Path | None, limits: HttpLimits) -> str:
    """Return the start message: address, access, limits. `made` is the file of a new key."""
    lines = [say("http", "hello", version=__version__, url=address.url)]
    if made is not None:
        lines.append(say("http", "new key", file=made))
    if address.is_open:
        lines.append(say("http", "open with key" if address.key else "open"))
    if limits.sessions < MOST_SESSIONS:
        needed = BESIDE + (PER_SESSION + 2) * MOST_SESSIONS
        lines.append(say("http", "few files", most=limits.sessions, needed=needed))
    return "\n".join(lines) + "\n"
