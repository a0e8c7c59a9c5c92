"""One response, from the moment its request is with the session until its answer is out.

0 s         nothing is sent: as long as nothing is, the status is open, too
10 s        a stream begins, for clients give up after some 300 s without a byte
every 15 s  a comment, which says nothing and keeps the connection
300 s       2025-11-25: the stream ends, and the client asks every 15 s what it has missed
the answer  the line, byte for byte: as the body, or as the last event of the stream
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from humanmcp.http.sockets import DROP
from humanmcp.protocol.http.faults import INSTEAD, ON_STREAM
from humanmcp.protocol.http.guard import PATH
from humanmcp.protocol.http.outbound import (
    COMMENT,
    COMMENT_EVERY,
    EVENTS,
    JSON,
    event,
    priming,
    status_of,
)
from humanmcp.protocol.rules.timeouts import STATUS_WITHIN
from humanmcp.protocol.spec.faults import Fault
from humanmcp.protocol.spec.versions import R2025_11
from humanmcp.server.http.streams import BEGINNING, SILENCE

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Iterable, MutableMapping

    from humanmcp.protocol.http.faults import HttpFault
    from humanmcp.protocol.http.inbound import HttpRefusal
    from humanmcp.protocol.http.outbound import EventId
    from humanmcp.server.http.notes import ExchangeNotes
    from humanmcp.server.http.streams import OutEvent, Stream

    # Any: what ASGI passes around are dictionaries of many shapes
    AsgiMessage: TypeAlias = MutableMapping[str, Any]
    Receive: TypeAlias = Callable[[], Awaitable[AsgiMessage]]
    Send: TypeAlias = Callable[[AsgiMessage], Awaitable[None]]

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

    def __init__(self, response: HttpResponse, stream: Stream, revision: str) -> None:
        """Answer on `response` what is said on `stream`, in one version of MCP."""
        self._response = response
        self._stream = stream
        self._revision = revision
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
            status = status_of(first.content, self._revision)
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
            status = status_of(event.content, self._revision)
            await self._response.whole(status, event.content, fault=fault)

    async def _break_stream(self, one: OutEvent, fault: HttpFault) -> None:
        """Send an answer as the last event of a stream, with a fault in it, and end."""
        event_id = one.event_id if self._revision < "2026" else None
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
        return R2025_11 <= self._revision < "2026"

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
        resumable = self._revision < "2026"
        self._stream.at = event.event_id or self._stream.at
        await self._response.event(event.content, event.event_id if resumable else None)
