"""`humanmcp tap --http`: an address in front of any server, and a tap for each client that comes.

Theory of operation. Each session of HTTP is a tap of its own over pipes, in a process of its own:
what is recorded, held, changed and dropped there is what a tap does anyway. Here lines only go
between requests and that pipe; the endpoint is that of `serve --http` (`http/front.py`). A POST
waits for the answer of its request; what belongs to no request goes out on the stream of a GET.
Nothing is resumed: events have no ids. Only a session of a process that was killed is begun again,
with the `initialize` that its record has: the SDKs do not do that when they are told 404.

Before a remote server (`keyed_server.py`), each request goes with the `Authorization` that it came
with, also a GET and a DELETE, and what the server refuses is refused with its status and headers.
Who may use a session is for the server to say, with one exception: only the key with which a client
began it begins a session again. Its id has the digest.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import secrets
from base64 import urlsafe_b64encode
from collections import deque
from hashlib import pbkdf2_hmac
from typing import TYPE_CHECKING, Final, NamedTuple

from humanmcp.common.child import ChildCommand, ChildTransport, EndedError, StartError
from humanmcp.common.terminal import to_stderr
from humanmcp.extensions.tap.keyed_server import Order, OrderLine, Told, refusal_in
from humanmcp.extensions.tap.tapping import KEYED, SESSION_ID, VISITOR
from humanmcp.http.front import LISTENED_TO, FrontClient, front_server
from humanmcp.http.responses import OWN, OutEvent, ResponseNotes, Stream, Streams
from humanmcp.inbox import open_inbox
from humanmcp.protocol.conversation.transcript import Direction
from humanmcp.protocol.http.inbound import UNKNOWN_SESSION, HttpRefusal, HttpRequest, Posted
from humanmcp.protocol.http.session_ends import evictable, silent, visitor_of
from humanmcp.protocol.json import jsonrpc
from humanmcp.protocol.json.jsonrpc import Batch, Flaw, Kind, Malformed, Message, member, with_token
from humanmcp.protocol.json.tree import object_at, text_at
from humanmcp.protocol.session import cancellation

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from humanmcp.extensions.tap.keyed_server import Refusal
    from humanmcp.protocol.http.events import EventId
    from humanmcp.protocol.http.inbound import HttpAddress
    from humanmcp.protocol.json.jsonrpc import DecodedLine, Json

logger = logging.getLogger(__name__)

MOST_KEPT: Final = 100
"""Messages that belong to no request and wait until a client listens."""

MOST_SESSIONS: Final = 100
"""Each is a process, and its server another one."""

MOST_CONNECTIONS: Final = 1_000

ANSWERS_WITHIN: Final = 30.0
"""Seconds that a server has to say whether a client may listen or end its session."""
TAKES_WITHIN: Final = 5.0
"""Seconds that a notification or response waits for what the server says of it; then it is 202."""

_ROUNDS: Final = 200_000
_DIGEST: Final = 12
"""Bytes of the digest of a key in the id of a session. It takes many rounds to guess a weak key."""

AGAIN: Final = '"humanmcp: again"'
"""The id of the `initialize` that a session is begun again with."""
INITIALIZED: Final = '{"jsonrpc":"2.0","method":"notifications/initialized"}'
BEGINS_WITHIN: Final = 30.0
"""Seconds that a server has to answer it; a message that comes meanwhile waits."""

BUSY: Final = HttpRefusal(503, "busy", -32603)
_LATIN: Final = "latin-1"
ENDED: Final = HttpRefusal(502, "ended", -32603)
LINE_BREAK: Final = HttpRefusal(400, "line break", -32700)
"""What is no JSON is passed as it is or not at all, and a pipe takes one line."""


class ServerRefusal(HttpRefusal):
    """A refusal of the server's: its body is sent as it came. `fillings` has it."""

    @classmethod
    def by(cls, refusal: Refusal) -> ServerRefusal:
        body = refusal.content.decode(_LATIN)
        return cls(refusal.status, "server", headers=refusal.headers, fillings=(("body", body),))

    def body(self, sentence: str) -> bytes:  # noqa: ARG002 - the server has its own words
        return dict(self.fillings)["body"].encode(_LATIN)


class TapNotes(ResponseNotes):
    """The key that a request came with, and whether its response has begun."""

    is_begun = False

    def response(self, status: int, headers: Sequence[tuple[str, str]]) -> None:  # noqa: ARG002 - as in `ResponseNotes`
        self.is_begun = True


class TapStream(Stream):
    """A response of a message, and what the server refused instead."""

    def __init__(self, notes: TapNotes) -> None:
        super().__init__()
        self.notes = notes
        self.refusal: HttpRefusal | None = None


class TappedClient(FrontClient):
    """One session: a tap as a child, and the requests that wait for it.

    The tap speaks in threads of its own; everything else happens in the event loop.
    """

    resumes = False
    version = ""
    """That of a client without a session; that of a handshake is in its answer."""

    def __init__(
        self, tap: ChildTransport, name: str, visitor: str, version: str, secret: str = ""
    ) -> None:
        """`secret` begins what the tap says of the orders of the front; "" if it takes none."""
        super().__init__(name, Streams())
        self.visitor, self.version = visitor, version
        self.is_over = False
        self.is_ready = asyncio.Event()
        """Whether it can take messages: one that is begun again has its handshake first."""
        self.is_ready.set()
        self._loop = asyncio.get_running_loop()
        self._numbers = 0
        self._waiting: dict[int, Message] = {}
        """The requests without an answer, by the numbers that they have here."""
        self._answering: dict[int, TapStream] = {}
        """Their responses."""
        self._kept: deque[bytes] = deque(maxlen=MOST_KEPT)
        self._asked: deque[str] = deque(maxlen=MOST_KEPT)
        self._secret = secret
        self._notes = TapNotes()
        """Those that were begun last: what is posted comes right after its notes."""
        self._ordered: dict[int, TapStream | asyncio.Future[HttpRefusal | None]] = {}
        """What waits for what the tap says of an order, by the number of the order."""
        self._listener: TapNotes | None = None
        self._listens = 0
        """The number of the order to listen, 0 for none."""
        self.why_not_again: HttpRefusal | None = None
        """The refusal of the `initialize` that it was begun again with."""
        self._tap = tap
        tap.start(self)

    # -- the client's side -----------------------------------------------------------------------

    @property
    def is_keyed(self) -> bool:
        """Whether the server is a remote one, which has a say in every request."""
        return bool(self._secret)

    def begin_notes(self, request: HttpRequest, message: DecodedLine | None = None) -> TapNotes:  # noqa: ARG002 - as in `FrontClient`
        self._notes = TapNotes()
        self._notes.head = key_of(request)
        if request.method == "GET":
            self._listener = self._notes
        return self._notes

    def post(self, posted: Posted, head: str = "") -> TapStream:
        """Take a message. Its `head` is the key that it came with."""
        stream, message, numbers = TapStream(self._notes), posted.message, []
        for one in message.items if isinstance(message, Batch) else (message,):
            if isinstance(one, Message) and one.kind is Kind.REQUEST:
                self._numbers += 1
                self._waiting[self._numbers] = one
                self._answering[self._numbers] = stream
                numbers.append(self._numbers)
        self._numbers += 1
        order = self._numbers
        if numbers or not self.is_keyed:
            self.streams.posted(stream, numbers)
        else:
            self._loop.call_later(TAKES_WITHIN, self._settle, order, None)
        if self.is_keyed and (isinstance(message, Batch) or not numbers):
            self._ordered[order] = stream
        stream.processed.set()
        try:
            self._send(posted.line.decode("utf-8", "surrogateescape"), head, order)
        except EndedError:
            self._end()
        return stream

    def _send(self, line: str, key: str, number: int = 0) -> None:
        if self.is_keyed:
            line = str(OrderLine(Order.SEND, number, key, line))
        self._tap.send(line)

    async def asks(self, request: HttpRequest) -> HttpRefusal | None:
        """Ask the server if a client may listen, or end its session. Return why not."""
        is_stream = request.method == "GET"
        if is_stream and self._listens:
            return LISTENED_TO
        self._numbers += 1
        order = self._numbers
        answer: asyncio.Future[HttpRefusal | None] = self._loop.create_future()
        self._ordered[order] = answer
        wanted = Order.LISTEN if is_stream else Order.END
        if is_stream:
            self._listens = order
        try:
            self._tap.send(str(OrderLine(wanted, order, key_of(request))))
            refusal = await asyncio.wait_for(answer, ANSWERS_WITHIN)
        except (EndedError, TimeoutError):
            refusal = ENDED
        self._ordered.pop(order, None)
        if is_stream and refusal is not None:
            self._hang_up()
        return refusal

    def _hang_up(self) -> None:
        """End the stream that the server has for the client's."""
        with contextlib.suppress(EndedError):
            self._tap.send(str(OrderLine(Order.HANG_UP, self._listens)))
        self._listens = 0

    async def begin_again(self, initialize: str, key: str) -> None:
        """Say what the client said when it began, in its place. The answer goes nowhere."""
        with contextlib.suppress(EndedError, TimeoutError):
            self._send(with_token(initialize, AGAIN), key)
            await asyncio.wait_for(self.is_ready.wait(), BEGINS_WITHIN)
            if self.why_not_again is None:
                self._send(INITIALIZED, key)
        self.is_ready.set()

    def uses(self, message: Message) -> bool:
        """Return True if a request of the same id waits."""
        return self._number_of(message) is not None

    def has_asked(self, message: Message) -> bool:
        """Return True if a request brings what this server has asked for (2026-07-28)."""
        brought = _round_of(message.params, "inputResponses")
        return brought is not None and brought in self._asked

    def why_unanswered(self, stream: Stream) -> HttpRefusal | None:
        refused = stream.refusal if isinstance(stream, TapStream) else None
        return refused or (ENDED if stream.numbers else None)

    def missed(self, last_event_id: EventId) -> list[OutEvent]:  # noqa: ARG002 - nothing is resumed
        """Take the messages that no client has heard."""
        return [OutEvent(self._kept.popleft()) for _ in range(len(self._kept))]

    def gone(self, stream: Stream, *, cancels: bool) -> None:
        """Note that the client of a response is gone, which cancels in 2026-07-28 alone.

        What a listener has not heard is kept for the next one.
        """
        self.seen()
        if stream.at.stream == OWN:
            self._kept.extend(event.content for event in stream.rest())
            if self._listens:
                self._hang_up()
        for number in sorted(stream.numbers):
            request = self._waiting.pop(number, None)
            self._answering.pop(number, None)
            self.streams.end_unanswered(number)
            if cancels and request is not None and request.id is not None:
                key = stream.notes.head if isinstance(stream, TapStream) else ""
                with contextlib.suppress(EndedError):
                    self._send(cancellation(request.id, "the client hung up"), key)
        self.streams.drop_stream(stream)

    def close(self) -> None:
        """End the tap, and its server with it. May take seconds."""
        self._tap.close()

    # -- what the tap says, in its threads -------------------------------------------------------

    def line_arrived(self, line: bytes) -> None:
        """Bring a line to where it belongs."""
        self._soon(self._said, line)

    def stderr_line(self, line: bytes) -> None:
        """Show a line of stderr of the tap or its server."""
        to_stderr(line.decode("utf-8", "replace"))

    def ended(self) -> None:
        """Let no client wait any longer."""
        self._soon(self._end)

    def _soon(self, call: Callable[..., None], *arguments: bytes) -> None:
        with contextlib.suppress(RuntimeError):  # the loop has ended with the server
            self._loop.call_soon_threadsafe(call, *arguments)

    # -- the same in the event loop --------------------------------------------------------------

    def _said(self, line: bytes) -> None:
        self.last_seen = self._loop.time()
        told = Told.read(line, self._secret)
        if told is not None:
            self._was_told(told)
            return
        items = jsonrpc.items_in(line)
        places = [self._place(one) for one in items]
        number = next((one for one in places if one is not None), None)
        refusal = self._refusal_of(items)
        is_refused = number is not None and refusal is not None and self._refuse(number, refusal)
        for message in items:
            self._answered(message, refusal)
        if is_refused:
            return
        if number is None:  # answers that no client waits for any more
            return
        if number == OWN and not self.streams.is_listened_to:
            self._kept.append(line)
        else:
            self.streams.send(line, number)

    def _place(self, message: Message | Malformed) -> int | None:
        """Return the number of the request that a message belongs to; None for a late answer.

        "The server MUST NOT send a JSON-RPC response on the stream" of a GET.
        https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#listening-for-messages-from-the-server
        """
        if isinstance(message, Message):
            if message.kind.is_answer and message.id is not None:
                return self._number_of(message)
            token = message.params.get("progressToken")
            for number, one in self._waiting.items():
                if token is not None and token == one.meta.get("progressToken"):
                    return number
        return OWN if self.streams.is_listened_to else next(iter(self._waiting), OWN)

    def _number_of(self, message: Message) -> int | None:
        """Return the number of the request that waits under the id of a message."""
        own = message.id
        if own is None:
            return None
        found = ((number, one.id) for number, one in self._waiting.items() if one.id is not None)
        alike = {asked.key == own.key: number for number, asked in found if own.answers(asked)}
        return alike.get(True, alike.get(False))

    def _answered(self, message: Message | Malformed, refusal: HttpRefusal | None) -> None:
        if not isinstance(message, Message) or not message.kind.is_answer:
            return
        if message.id is not None and message.id.token == AGAIN:
            self.why_not_again = refusal
            self.is_ready.set()
        number = self._number_of(message) or OWN
        self._answering.pop(number, None)
        asked = self._waiting.pop(number, None)
        if asked is not None and asked.method == "initialize" and refusal is not None:
            self.is_over = True  # nothing was begun
        result = object_at(message.body, "result")
        if result.get("resultType") == "input_required":
            self._asked.append(_round_of(result, "inputRequests") or "")
        self.version = self.version or text_at(result, "protocolVersion")

    def _refusal_of(self, items: Sequence[Message | Malformed]) -> HttpRefusal | None:
        """Return how the server refused the request that a line answers."""
        message = items[0] if self.is_keyed and len(items) == 1 else None
        refused = refusal_in(message) if isinstance(message, Message) else None
        return None if refused is None else ServerRefusal.by(refused)

    def _refuse(self, number: int, refusal: HttpRefusal) -> bool:
        """Refuse a request, unless its response has begun with another status."""
        stream = self._answering.get(number)
        if stream is None or stream.notes.is_begun:
            return False
        stream.refusal = refusal
        self.streams.end_unanswered(number)
        return True

    def _was_told(self, told: Told) -> None:
        refusal = None if told.refusal is None else ServerRefusal.by(told.refusal)
        if told.number in self._ordered:
            self._settle(told.number, refusal or (ENDED if told.is_over else None))
        elif told.is_over and told.number == self._listens:
            self._listens = 0
            if self._listener is not None and self._listener.stream is not None:
                self._listener.stream.end()

    def _settle(self, number: int, refusal: HttpRefusal | None) -> None:
        """Let a request go on that waited for what the server says of it."""
        waiting = self._ordered.pop(number, None)
        if isinstance(waiting, TapStream):
            waiting.refusal = refusal
            for request in sorted(waiting.numbers) if refusal is not None else ():
                self._waiting.pop(request, None)
                self.streams.end_unanswered(request)
            if refusal is not None or not waiting.numbers:
                waiting.end()
        elif waiting is not None and not waiting.done():
            waiting.set_result(refusal)

    def _end(self) -> None:
        self.is_over = True
        for number in [*self._ordered]:
            self._settle(number, ENDED)
        self.is_ready.set()  # who waits for its handshake waits no longer
        self.streams.close()


def _round_of(said: dict[str, Json], member: str) -> str | None:
    """Return what a request with answers and the result that asked for them have in common.

    "If an `InputRequiredResult` contains a `requestState` field, the client MUST echo back the
    exact value"; where there is none, what was asked for has the same names.
    https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr
    """
    if "requestState" in said:
        return json.dumps(said["requestState"])
    named = said.get(member)
    return json.dumps(sorted(named)) if isinstance(named, dict) else None


def key_of(request: HttpRequest) -> str:
    return request.headers.get("authorization") or ""


def bound_id(key: str, start: str = "") -> str:
    """Return an id of a session that the key began; with the `start` of one, what it would be.

    The digest takes a moment: not in the event loop.
    """
    start = start or secrets.token_urlsafe(24)
    digest = pbkdf2_hmac("sha256", key.encode(), start.encode(), _ROUNDS, _DIGEST)
    return f"{start}.{urlsafe_b64encode(digest).decode()}"


class TapCommand(NamedTuple):
    """How the tap of a session is started. `is_keyed` if its server is a remote one."""

    words: tuple[str, ...]
    server: tuple[str, ...]
    is_keyed: bool

    def of(self, name: str, secret: str) -> ChildCommand:
        """Return the command for a client.

        `name` is the id of its session, "" where it has none: others may be in the same one.
        """
        env = {**os.environ, **({SESSION_ID: name} if name else {VISITOR: "tap"})}
        if secret:
            env[KEYED] = secret
        return ChildCommand((*self.words, "--", *self.server), env)


class TapFront:
    """All sessions at the address. A `FrontClients`."""

    def __init__(self, command: TapCommand, home: Path) -> None:
        """Serve sessions, which are recorded in the inbox at `home`."""
        self._command = command
        self._home = home
        self._begun: set[str] = set()
        """The ids of all sessions of this process: one that has ended is not begun again."""
        self._opening = asyncio.Lock()
        self._ending: set[asyncio.Task[None]] = set()
        self._sessions: list[TappedClient] = []

    def known(self, name: str | None) -> TappedClient | None:
        return next((one for one in self._sessions if name and one.id == name), None)

    async def session_of(self, posted: Posted, request: HttpRequest) -> TappedClient | HttpRefusal:
        facts, message, address = posted.transport_facts, posted.message, request.address
        if facts is not None and facts.error is not None:
            why = (("why", text_at(facts.error, "message").rstrip(".")),)
            return HttpRefusal(400, "mismatch", int(facts.error["code"]), fillings=why)
        is_broken = isinstance(message, Malformed) and message.why in (Flaw.NOT_JSON, Flaw.NOT_UTF8)
        if is_broken and posted.line != request.body.strip(b" \t\r\n"):
            return LINE_BREAK
        if posted.session:
            return await self._within(posted, request)
        key = key_of(request)
        name = secrets.token_urlsafe(24)
        if self._command.is_keyed and facts is None:
            name = await asyncio.to_thread(bound_id, key)
        async with self._opening:
            self._end_those_that_are_over()
            if facts is None or not isinstance(message, Message):
                return await self._open(address, name, "", "")
            who = visitor_of(message, key, request.headers.get("host") or "")
            able = [one for one in self._sessions if one.visitor == who and not one.uses(message)]
            if able:
                chosen = next((one for one in able if one.has_asked(message)), able[0])
                chosen.seen(address)
                return chosen
            return await self._open(address, "", who, facts.version)

    async def _within(self, posted: Posted, request: HttpRequest) -> TappedClient | HttpRefusal:
        """Return the session that a message names."""
        name, message = posted.session, posted.message
        refusal = None
        if name not in self._begun:
            refusal = await self._begin_again(key_of(request), request.address, name)
        elif self._command.is_keyed and isinstance(message, Message):
            # it would be another session of the server under the id of this one
            refusal = UNKNOWN_SESSION if message.method == "initialize" else None
        return refusal or await self.find(name, request)

    async def _open(
        self, address: str, name: str, visitor: str, version: str
    ) -> TappedClient | HttpRefusal:
        if len(self._sessions) >= MOST_SESSIONS:
            ends = evictable(self._sessions, asyncio.get_running_loop().time(), address)
            if ends is None:
                return BUSY
            self.end(ends)
        secret = secrets.token_urlsafe(24) if self._command.is_keyed else ""
        try:
            tap = await asyncio.to_thread(ChildTransport, self._command.of(name, secret))
        except StartError as error:
            logger.warning("no tap for one more session: %s", error)
            return BUSY
        client = TappedClient(tap, name, visitor, version, secret)
        client.seen(address)
        self._sessions.append(client)
        self._begun.add(name)
        return client

    async def _begin_again(self, key: str, address: str, name: str) -> HttpRefusal | None:
        """Begin a session again that another process had, if its record tells how.

        Return the server's refusal.
        """
        initialize = await asyncio.to_thread(self._initialize_of, name, key)
        async with self._opening:
            if not initialize or name in self._begun:
                return None
            client = await self._open(address, name, "", "")
            if isinstance(client, TappedClient):
                client.is_ready.clear()  # before another message finds it
        if isinstance(client, HttpRefusal):
            return client
        await client.begin_again(initialize, key)
        if client.why_not_again is not None:
            self.end(client)
            self._begun.discard(name)
        return client.why_not_again

    def _initialize_of(self, name: str, key: str) -> str:
        """Return the first line of a session's client, "" where it is not known or not its."""
        inbox = open_inbox(self._home)
        facts = inbox.session_by_http_id(name)
        if facts is None or not facts.role.traits.holds:
            return ""
        if self._command.is_keyed and bound_id(key, name.rpartition(".")[0]) != name:
            return ""
        said = (one.text for one in inbox.frames(facts.name) if one.direction is Direction.IN)
        first = next(said, "")
        return first if member(first, "method") == '"initialize"' else ""

    async def find(self, name: str, request: HttpRequest) -> TappedClient | HttpRefusal:
        found = self.known(name)
        if found is None or found.is_over:
            return UNKNOWN_SESSION
        await found.is_ready.wait()
        refusal = None
        if found.is_keyed and request.method != "POST":
            refusal = await found.asks(request)
        found.seen(request.address)
        return refusal or found

    def schema_of(self, message: Message, key: str, host: str) -> Json:  # noqa: ARG002 - as in `FrontClients`
        """Return None: the server behind the tap knows its tools."""
        return None

    def _end_those_that_are_over(self) -> None:
        over = [one for one in self._sessions if one.is_over]
        for one in (*over, *silent(self._sessions, asyncio.get_running_loop().time())):
            self.end(one)

    def end(self, session: TappedClient) -> None:
        """Forget a session. Its tap may take seconds to end: no client waits for that."""
        self._sessions = [one for one in self._sessions if one is not session]
        session.streams.close()
        ending = asyncio.ensure_future(asyncio.to_thread(session.close))
        self._ending.add(ending)
        ending.add_done_callback(self._ending.discard)

    def close(self) -> None:
        """End every session."""
        for one in list(self._sessions):
            self.end(one)

    async def ended(self) -> None:
        """Wait until every tap has ended."""
        self.close()
        await asyncio.gather(*self._ending)


def serve(
    listening: socket.socket,
    address: HttpAddress,
    make: Callable[[], TapFront],
    ready: Callable[[], object],
) -> None:
    """Serve until told to stop."""

    async def run() -> None:
        front = make()
        try:
            server = front_server(front, address, ready, most=MOST_CONNECTIONS)
            await server.serve([listening])
        finally:
            await front.ended()

    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(run())
