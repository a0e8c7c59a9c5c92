"""A request whose session another process runs: passed on to it, and its response passed back.

A proxy that knows nothing of sessions gives each request to any process. The one that gets it asks
the database who runs the session (`Peers`), and sends the request on as it came, with that
process's secret. It is passed on once: who gets it with the secret answers it, or says that it
does not run the session (421), and who passed it on asks the database anew. So a request waits
until the lease of a process that died is over, and goes on where the session goes on.

The response goes back as it comes, byte for byte. What breaks off there breaks off here.
"""

from __future__ import annotations

import asyncio
import hmac
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import h11

from humanmcp.listening.sockets import DROP
from humanmcp.protocol.http.guard import PATH
from humanmcp.protocol.http.inbound import HttpRefusal

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

    from humanmcp.inbox.contract import Holder, Peers, SessionFacts
    from humanmcp.protocol.http.headers import Headers
    from humanmcp.protocol.http.inbound import HttpRequest
    from humanmcp.stub.http.responding import AsgiMessage, HttpResponse, Send

RELAY: Final = "humanmcp-relay"
"""The header with the secret, which processes send to one another alone."""

NOT_HERE: Final = HttpRefusal(421, "not here", -32603)
HELD_ELSEWHERE: Final = HttpRefusal(503, "held elsewhere", -32603, (("retry-after", "1"),))

WAITS: Final = 30.0
"""Seconds for which a request waits until a process runs its session."""
ASKS_AGAIN: Final = 0.2
CONNECTS_WITHIN: Final = 3.0
LOOKS_EVERY: Final = 15.0
"""Seconds of silence after which it is looked whether the other process lives."""
LOOKS_FIRST: Final = 0.5
"""The same while it has not said that it wants the request."""

_HOP: Final = frozenset(
    {"connection", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade", "expect"}
)
"""What two neighbours say to each other, and is not passed on (RFC 9110, 7.6.1)."""
_NOT_BACK: Final = _HOP | {"date"}
"""Our own server says the date."""
_PIECE: Final = 64 * 1024


class HeldElsewhereError(Exception):
    """Another process runs the session."""

    def __init__(self, holder: Holder | None = None) -> None:
        """Remember which one, None where that has to be asked."""
        super().__init__(holder)
        self.holder = holder


class HttpPeers:
    """The other processes behind the same proxy."""

    def __init__(self, peers: Peers) -> None:
        """Ask the database for them."""
        self._peers = peers

    def sent(self, headers: Headers) -> bool:
        """Return True if one of them has passed a request on."""
        said = (headers.get(RELAY) or "").encode("utf-8", "replace")
        return hmac.compare_digest(said, self._peers.secret.encode())

    async def look_for_client(self, http_id: str) -> None:
        """Look who runs the session of an id.

        Raises:
            HeldElsewhereError: one of them does.
        """
        _held(await asyncio.to_thread(self._peers.of_client, http_id))

    async def left_by(self, who: tuple[str, ...]) -> Sequence[SessionFacts]:
        """List the sessions of a visitor that no process runs, oldest first.

        They are read first: of those that one of them has begun to take, the oldest is missing.

        Raises:
            HeldElsewhereError: one of them has sessions of the visitor.
        """
        left = await asyncio.to_thread(self._peers.left_by, who)
        _held(await asyncio.to_thread(self._peers.of_visitor, who))
        return left

    async def visited(self, session: str, who: tuple[str, ...]) -> None:
        """Tell them that a session is a visitor's."""
        await asyncio.to_thread(self._peers.visited, session, who)

    async def answer(
        self,
        request: HttpRequest,
        response: HttpResponse,
        here: Callable[[], Awaitable[HttpRefusal | None]],
    ) -> HttpRefusal | None:
        """Answer a request by calling `here`, or let the process answer that runs its session."""
        is_relayed = request.headers.get(RELAY) is not None
        if is_relayed and not self.sent(request.headers):
            return NOT_HERE
        loop = asyncio.get_running_loop()
        until = loop.time() + WAITS
        while True:
            try:
                return await here()
            except HeldElsewhereError as error:
                holder = error.holder
            if is_relayed:
                return NOT_HERE
            if holder is not None and await self._pass_on(holder, request, response):
                return None
            if loop.time() > until:
                return HELD_ELSEWHERE
            await asyncio.sleep(ASKS_AGAIN)

    async def _pass_on(self, holder: Holder, request: HttpRequest, response: HttpResponse) -> bool:
        """Let another process answer. False where it is not there, or does not run the session."""
        host, _, port = holder.address.rpartition(":")
        try:
            reader, writer = await asyncio.wait_for(
                asyncio.open_connection(host.strip("[]"), int(port)), CONNECTS_WITHIN
            )
        except (OSError, TimeoutError):
            return False
        relay = _Relay(reader, writer, lambda: asyncio.to_thread(self._peers.lives, holder))
        try:
            relay.ask(request, holder.secret)
            await response.while_there(relay.pass_back(response.send))
        finally:
            writer.transport.abort()
        return relay.is_taken


def _held(holder: Holder | None) -> None:
    if holder is not None:
        raise HeldElsewhereError(holder)


class _Relay:
    """One request to another process, and its response."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        lives: Callable[[], Awaitable[bool]],
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._lives = lives
        self._http = h11.Connection(h11.CLIENT)
        self._body = b""
        self.is_taken = False
        """Whether the other process may have looked at the request: then no third one gets it."""

    def ask(self, request: HttpRequest, secret: str) -> None:
        """Send the head. The body follows when the other process wants it: it may stand still."""
        dropped = _HOP | {"content-length", RELAY}
        kept = [(name, value) for name, value in request.headers.pairs if name not in dropped]
        kept += [(RELAY, secret), ("content-length", str(len(request.body)))]
        if request.body:
            kept.append(("expect", "100-continue"))
        headers = [(name.encode(), value.encode("latin-1")) for name, value in kept]
        self._send(h11.Request(method=request.method, target=PATH, headers=headers))
        self._body = request.body
        if not self._body:
            self._send(h11.EndOfMessage())

    def _send(self, *events: h11.Event) -> None:
        for event in events:
            self._writer.write(self._http.send(event) or b"")

    async def pass_back(self, send: Send) -> None:
        """Say what the other process says, until its response is whole or breaks off."""
        try:
            async for message in self._messages():
                await send(message)
        except (OSError, h11.RemoteProtocolError):
            if self.is_taken:
                await send({"type": DROP})

    async def _messages(self) -> AsyncIterator[AsgiMessage]:
        while True:
            match await self._event():
                case h11.InformationalResponse(status_code=100):
                    self.is_taken = True
                    self._send(h11.Data(data=self._body), h11.EndOfMessage())
                case h11.Response(status_code=NOT_HERE.status):
                    self.is_taken = False
                    return
                case h11.Response() as head:
                    self.is_taken = True
                    kept = [one for one in head.headers if one[0].decode() not in _NOT_BACK]
                    status = head.status_code
                    yield {"type": "http.response.start", "status": status, "headers": kept}
                case h11.Data() as data:
                    piece = bytes(data.data)
                    yield {"type": "http.response.body", "body": piece, "more_body": True}
                case h11.EndOfMessage():
                    yield {"type": "http.response.body", "body": b"", "more_body": False}
                    return
                case h11.ConnectionClosed():
                    raise ConnectionResetError
                case _:  # another 1xx
                    pass

    async def _event(self) -> object:
        while (event := self._http.next_event()) is h11.NEED_DATA:
            with suppress(TimeoutError):
                within = LOOKS_EVERY if self.is_taken else LOOKS_FIRST
                self._http.receive_data(await asyncio.wait_for(self._reader.read(_PIECE), within))
                continue
            if not await self._lives():
                raise ConnectionResetError
        return event
