"""`humanmcp tap --http`: an address in front of any server, and a tap for each client that comes.

Theory of operation. Each session of HTTP is a tap of its own over pipes, in a process of its own:
what is recorded, held, changed and dropped there is what a tap does anyway. Here lines only go
between requests and that pipe; the endpoint is that of `serve --http` (`http/front.py`). A POST
waits for the answer of its request; what belongs to no request goes out on the stream of a GET.
Nothing is resumed: events have no ids. Only a session of a process that was killed is begun again,
with the `initialize` that its record has: the SDKs do not do that when they are told 404.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import secrets
from collections import deque
from typing import TYPE_CHECKING, Final, NamedTuple

from humanmcp.common.child import ChildCommand, ChildTransport, EndedError, StartError
from humanmcp.common.terminal import to_stderr
from humanmcp.extensions.tap.tapping import SESSION_ID, VISITOR
from humanmcp.http.front import FrontClient, front_server
from humanmcp.http.responses import OWN, OutEvent, Stream, Streams
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
    from collections.abc import Callable
    from pathlib import Path

    from humanmcp.protocol.http.events import EventId
    from humanmcp.protocol.http.inbound import HttpAddress
    from humanmcp.protocol.json.jsonrpc import Json

logger = logging.getLogger(__name__)

MOST_KEPT: Final = 100
"""Messages that belong to no request and wait until a client listens."""

MOST_SESSIONS: Final = 100
"""Each is a process, and its server another one."""

MOST_CONNECTIONS: Final = 1_000

AUTHORIZATION: Final = "HUMANMCP_TAP_AUTHORIZATION"
"""The variable that brings a client's key to the tap of its session: no command line shows it."""

AGAIN: Final = '"humanmcp: again"'
"""The id of the `initialize` that a session is begun again with."""
INITIALIZED: Final = '{"jsonrpc":"2.0","method":"notifications/initialized"}'
BEGINS_WITHIN: Final = 30.0
"""Seconds that a server has to answer it; a message that comes meanwhile waits."""

BUSY: Final = HttpRefusal(503, "busy", -32603)
ENDED: Final = HttpRefusal(502, "ended", -32603)
LINE_BREAK: Final = HttpRefusal(400, "line break", -32700)
"""What is no JSON is passed as it is or not at all, and a pipe takes one line."""


class TappedClient(FrontClient):
    """One session: a tap as a child, and the requests that wait for it.

    The tap speaks in threads of its own; everything else happens in the event loop.
    """

    resumes = False
    version = ""
    """That of a client without a session; that of a handshake is in its answer."""

    def __init__(self, tap: ChildTransport, name: str, visitor: str, version: str) -> None:
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
        self._kept: deque[bytes] = deque(maxlen=MOST_KEPT)
        self._asked: deque[str] = deque(maxlen=MOST_KEPT)
        self._tap = tap
        tap.start(self)

    # -- the client's side -----------------------------------------------------------------------

    def post(self, posted: Posted, head: str = "") -> Stream:  # noqa: ARG002 - as in `FrontClient`
        stream, message, numbers = Stream(), posted.message, []
        for one in message.items if isinstance(message, Batch) else (message,):
            if isinstance(one, Message) and one.kind is Kind.REQUEST:
                self._numbers += 1
                self._waiting[self._numbers] = one
                numbers.append(self._numbers)
        self.streams.posted(stream, numbers)
        stream.processed.set()
        try:
            self._tap.send(posted.line.decode("utf-8", "surrogateescape"))
        except EndedError:
            self._end()
        return stream

    async def begin_again(self, initialize: str) -> None:
        """Say what the client said when it began, in its place. The answer goes nowhere."""
        with contextlib.suppress(EndedError, TimeoutError):
            self._tap.send(with_token(initialize, AGAIN))
            await asyncio.wait_for(self.is_ready.wait(), BEGINS_WITHIN)
            self._tap.send(INITIALIZED)
        self.is_ready.set()

    def uses(self, message: Message) -> bool:
        """Return True if a request of the same id waits."""
        return self._number_of(message) is not None

    def has_asked(self, message: Message) -> bool:
        """Return True if a request brings what this server has asked for (2026-07-28)."""
        brought = _round_of(message.params, "inputResponses")
        return brought is not None and brought in self._asked

    def why_unanswered(self, stream: Stream) -> HttpRefusal | None:
        return ENDED if stream.numbers else None

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
        for number in sorted(stream.numbers):
            request = self._waiting.pop(number, None)
            self.streams.end_unanswered(number)
            if cancels and request is not None and request.id is not None:
                with contextlib.suppress(EndedError):
                    self._tap.send(cancellation(request.id, "the client hung up"))
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
        items = jsonrpc.items_in(line)
        places = [self._place(one) for one in items]
        number = next((one for one in places if one is not None), None)
        for message in items:
            self._answered(message)
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

    def _answered(self, message: Message | Malformed) -> None:
        if not isinstance(message, Message) or not message.kind.is_answer:
            return
        if message.id is not None and message.id.token == AGAIN:
            self.is_ready.set()
        self._waiting.pop(self._number_of(message) or OWN, None)
        result = object_at(message.body, "result")
        if result.get("resultType") == "input_required":
            self._asked.append(_round_of(result, "inputRequests") or "")
        self.version = self.version or text_at(result, "protocolVersion")

    def _end(self) -> None:
        self.is_over = True
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


class TapCommand(NamedTuple):
    """How the tap of a session is started. `passes_key` if a client's key goes to the server."""

    words: tuple[str, ...]
    server: tuple[str, ...]
    passes_key: bool

    def of(self, authorization: str, name: str) -> ChildCommand:
        """Return the command for a client that brings this key, "" for none.

        `name` is the id of its session, "" where it has none: others may be in the same one.
        """
        env = {**os.environ, **({SESSION_ID: name} if name else {VISITOR: "tap"})}
        words = self.words
        if authorization and self.passes_key:
            env[AUTHORIZATION] = authorization
            words += ("--header", f"Authorization: ${{{AUTHORIZATION}}}")
        return ChildCommand((*words, "--", *self.server), env)


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
        key = request.headers.get("authorization") or ""
        if posted.session:
            if posted.session not in self._begun:
                await self._begin_again(key, address, posted.session)
            return await self.find(posted.session, address)
        async with self._opening:
            self._end_those_that_are_over()
            if facts is None or not isinstance(message, Message):
                return await self._open(key, address, secrets.token_urlsafe(24), "", "")
            who = visitor_of(message, key, request.headers.get("host") or "")
            able = [one for one in self._sessions if one.visitor == who and not one.uses(message)]
            if able:
                chosen = next((one for one in able if one.has_asked(message)), able[0])
                chosen.seen(address)
                return chosen
            return await self._open(key, address, "", who, facts.version)

    async def _open(
        self, key: str, address: str, name: str, visitor: str, version: str
    ) -> TappedClient | HttpRefusal:
        if len(self._sessions) >= MOST_SESSIONS:
            ends = evictable(self._sessions, asyncio.get_running_loop().time(), address)
            if ends is None:
                return BUSY
            self.end(ends)
        try:
            tap = await asyncio.to_thread(ChildTransport, self._command.of(key, name))
        except StartError as error:
            logger.warning("no tap for one more session: %s", error)
            return BUSY
        client = TappedClient(tap, name, visitor, version)
        client.seen(address)
        self._sessions.append(client)
        self._begun.add(name)
        return client

    async def _begin_again(self, key: str, address: str, name: str) -> None:
        """Begin a session again that another process had, if its record tells how."""
        initialize = await asyncio.to_thread(self._initialize_of, name)
        async with self._opening:
            if not initialize or name in self._begun:
                return
            client = await self._open(key, address, name, "", "")
            if isinstance(client, TappedClient):
                client.is_ready.clear()  # before another message finds it
        if isinstance(client, TappedClient):
            await client.begin_again(initialize)

    def _initialize_of(self, name: str) -> str:
        """Return the first line of a session's client, "" where it is not known."""
        inbox = open_inbox(self._home)
        facts = inbox.session_by_http_id(name)
        if facts is None or not facts.role.traits.holds:
            return ""
        said = (one.text for one in inbox.frames(facts.name) if one.direction is Direction.IN)
        first = next(said, "")
        return first if member(first, "method") == '"initialize"' else ""

    async def find(self, name: str, address: str) -> TappedClient | HttpRefusal:
        found = self.known(name)
        if found is None or found.is_over:
            return UNKNOWN_SESSION
        await found.is_ready.wait()
        found.seen(address)
        return found

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
