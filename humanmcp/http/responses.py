"""The responses of an endpoint: one HTTP response, its stream, and what goes out on which.

A session has one stream for each POST, and one for what belongs to none. A stream has the number of
the request that it came with, a batch that of its first one.

Everything here happens in the thread of the event loop. What has no listener is counted and not
kept: the session has it, for a client that comes again.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from humanmcp.http.listening import DROP, WRITTEN
from humanmcp.inbox.attendant import on_a_beat
from humanmcp.protocol.conversation.timeouts import STATUS_WITHIN
from humanmcp.protocol.http.events import COMMENT, COMMENT_EVERY, EVENTS, EventId, event, priming
from humanmcp.protocol.http.http_faults import INSTEAD, ON_STREAM, HttpFault
from humanmcp.protocol.http.outbound import JSON, http_status_of
from humanmcp.protocol.json import jsonrpc
from humanmcp.protocol.json.jsonrpc import Batch, Message
from humanmcp.protocol.tables.faults import Fault
from humanmcp.protocol.tables.versions import features

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterable, Iterator, Mapping, MutableMapping, Sequence

    from starlette.types import Receive, Send

    from humanmcp.http.listening import Written
    from humanmcp.protocol.http.inbound import HttpRefusal

    Scope: TypeAlias = MutableMapping[str, Any]

DRIP_EVERY: Final = 0.02
"""Seconds between two bytes of an answer that drips on purpose."""

RETRY: Final = 1_000
"""Milliseconds after which a client reconnects that lost its stream."""

POLLED_AFTER: Final = 300.0
"""Seconds after which a stream that only waits ends, and its client asks now and then instead.

SEP-1699: "the server MAY close the connection (without terminating the SSE stream) at any time in
order to avoid holding a long-lived connection. The client SHOULD then "poll" the SSE stream by
attempting to reconnect." Some machines between the two cut what is open for very long.
https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#sending-messages-to-the-server
"""

POLL_AGAIN: Final = 15_000
"""Milliseconds after which it polls again."""

OWN: Final = 0
"""The stream of messages that belong to no request: a GET listens to it."""

BEGINNING: Final = EventId(OWN, 0)


class OutEvent(NamedTuple):
    """A message on its way out. `last` says that the stream ends with it; `raw`, as bytes.

    `fault` is what is to be wrong with what carries it. `written` is told whether the system has
    taken it.
    """

    content: bytes
    event_id: EventId | None = None
    last: bool = False
    raw: bool = False
    fault: HttpFault | None = None
    written: Written | None = None

    def tell_written(self, *, written: bool) -> None:
        """Tell whether it was written, where that is wanted."""
        if self.written is not None:
            self.written(written=written)


SILENCE: Final = OutEvent(b"")
"""Stands for nothing, where nothing came for a while."""


class Stream:
    """The events that one HTTP response still has to send. `at` is the last one sent."""

    def __init__(self, at: EventId = BEGINNING) -> None:
        self.at = at
        self.numbers: set[int] = set()
        """The requests that it still owes an answer."""
        self.taken = False
        """Whether the session has the message that it came with."""
        self.processed = asyncio.Event()
        """Set when the session is free for another message."""
        self.goes_on = False
        """Whether only the process ended: another one will answer its requests."""
        self.is_gone = False
        self._begun = asyncio.Event()
        self._events: asyncio.Queue[OutEvent | None] = asyncio.Queue()

    def put(self, event: OutEvent) -> None:
        """Queue an event; the last one also ends the stream."""
        self._events.put_nowait(event)
        if event.last:
            self.end()

    def end(self) -> None:
        self._begun.set()
        self.processed.set()
        self._events.put_nowait(None)

    def rest(self) -> Iterator[OutEvent]:
        """Take the queued messages that were not sent."""
        while not self._events.empty():
            event = self._events.get_nowait()
            if event is not None and event.content:
                yield event

    def begin_requests(self, numbers: Sequence[int]) -> None:
        """Name the stream and the requests whose answers it carries."""
        self.numbers, self.at = set(numbers), EventId(numbers[0], 0)
        self._begun.set()

    async def has_begun(self) -> None:
        """Wait until it has a name, or ends."""
        await self._begun.wait()

    async def next(self, within: float | None = None) -> OutEvent | None:
        """Return what comes next, None at the end, `SILENCE` after so many seconds without any.

        Thousands of streams wait: they wake on a beat that all share, and without an exception.
        """
        if within is None or not self._events.empty():
            return await self._events.get()
        loop = asyncio.get_running_loop()
        timer = loop.call_at(on_a_beat(loop.time() + within), self._events.put_nowait, SILENCE)
        try:
            return await self._events.get()
        finally:
            timer.cancel()


class Streams:
    """The streams of one session."""

    def __init__(self) -> None:
        self._open: dict[int, Stream] = {}
        self._places: dict[int, int] = {}
        """How many messages each stream has had."""
        self._owed: dict[int, int] = {}
        """From each request that has no answer yet to its stream."""
        self.own_until = 0
        """How many of the messages that belong to no request were sent: they reached a client."""
        self._fault: HttpFault | None = None

    def go_on(self, owed: Mapping[int, int], places: Mapping[int, int]) -> None:
        """Take over the streams that another process began.

        What belongs to no request counts as not heard yet: a client that heard any of it comes with
        the id of the last event.
        """
        self._owed.update(owed)
        streams = {OWN, *owed.values()}
        self._places.update({stream: places.get(stream, 0) for stream in streams})

    def posted(self, stream: Stream, numbers: Sequence[int]) -> None:
        """Begin a stream for these requests; without any there is nothing to wait for."""
        stream.taken = True
        if not numbers:
            stream.end()
            return
        stream.begin_requests(numbers)
        self._open[numbers[0]] = stream
        self._owed.update(dict.fromkeys(numbers, numbers[0]))

    def send(self, line: bytes, number: int, written: Written | None = None) -> None:
        """Send a line on the stream of its request. `written` is told what became of it."""
        answered, number = number, self._owed.get(number, number)
        place = self._places[number] = self._places.get(number, 0) + 1
        stream = self._open.get(number)
        last = number != OWN and is_answer(line) and not self._owes_more(answered, line)
        if last:
            self._over(number)
        if stream is None:
            return
        if number == OWN:
            self.own_until = place
        fault = None
        if last:
            fault, self._fault = self._fault, None
        stream.put(OutEvent(line, EventId(number, place), last, fault=fault, written=written))

    def _owes_more(self, answered: int, line: bytes) -> bool:
        """Return True if an answer is one of several that its stream owes, and not all of them.

        2025-03-26: of the responses to a batch on a stream, "these responses MAY be batched".
        """
        number = self._owed.get(answered, answered)
        others = [owed for owed, its in self._owed.items() if its == number and owed != answered]
        if not others or line.startswith(b"["):
            return False
        self._owed.pop(answered, None)
        if number in self._open:
            self._open[number].numbers.discard(answered)
        return True

    def carry_wrongly(self, fault: HttpFault | None) -> None:
        """Put a fault into the next answer's response, or into the next POST's; None removes it."""
        self._fault = fault

    def refusal(self) -> HttpFault | None:
        """Return the deliberate fault for this POST, and use it up."""
        if self._fault is None or self._fault.fault not in INSTEAD:
            return None
        fault, self._fault = self._fault, None
        return fault

    def cut(self) -> None:
        for stream in set(self._open.values()):
            stream.put(OutEvent(b"", last=True, fault=HttpFault(Fault.CUT_STREAM)))
        self._open.clear()

    def send_raw(self, content: bytes) -> None:
        """Send raw bytes on the stream that began last."""
        if self._open:
            self._open[max(self._open)].put(OutEvent(content, raw=True))

    def end_unanswered(self, number: int) -> None:
        """End the stream of a request that gets no answer, unless others wait on it."""
        stream = self._owed.pop(number, OWN)
        if stream in self._open:
            self._open[stream].numbers.discard(number)
        if stream == OWN or stream in self._owed.values():
            return
        before = self._open.get(stream)
        self._over(stream)
        if before is not None:
            before.end()

    def listen(self, stream: Stream) -> bool:
        """Resume a stream. Return False if nothing more can come on it."""
        number = stream.at.stream
        if number != OWN and number not in self._owed.values():
            return False
        before = self._open.get(number)
        if before is not None:
            before.numbers.clear()
            before.end()
        self._open[number] = stream
        stream.taken = True
        stream.numbers = {owed for owed, its in self._owed.items() if its == number}
        if number == OWN:
            self.own_until = max(self.own_until, self._places.get(OWN, 0))
        self._places.setdefault(number, stream.at.place)
        return True

    def drop_stream(self, stream: Stream) -> None:
        """Drop a stream whose client is gone."""
        for number in [each for each, one in self._open.items() if one is stream]:
            del self._open[number]

    @property
    def is_listened_to(self) -> bool:
        """Return True if a client listens to messages that belong to no request."""
        return OWN in self._open

    @property
    def is_idle(self) -> bool:
        """Return True if nothing is open and nothing is owed."""
        return not self._open and not self._owed

    def close(self, *, goes_on: bool = False) -> None:
        """End every stream: the session is over, or continues in another process."""
        for stream in set(self._open.values()):
            stream.goes_on = goes_on
            stream.end()
        self._open.clear()
        self._owed.clear()

    def _over(self, number: int) -> None:
        """Forget a finished stream."""
        for each in [owed for owed, its in self._owed.items() if its == number]:
            del self._owed[each]
        self._places.pop(number, None)
        if stream := self._open.pop(number, None):
            stream.numbers.clear()


def is_answer(line: bytes) -> bool:
    """Return True if a line ends its stream: it is neither a notification nor a request.

    What is wrong on purpose answers, too: no other answer will come.
    """
    if b'"method"' not in line:
        return True
    found = jsonrpc.read(line)
    return isinstance(found, Batch) or not isinstance(found, Message) or not found.method


class ResponseNotes:
    """What is written down of one HTTP exchange; this one writes nothing."""

    head = ""
    """That of its request, to be written with its line."""
    stream: Stream | None = None
    """What its response says, where it is about a request."""

    def no_line(self) -> None:
        """Store the head alone: the request has no line for the session."""

    def response(self, status: int, headers: Sequence[tuple[str, str]]) -> None:
        """Note the head of the response."""

    def event(self, name: str, retry: int | None = None) -> None:
        """Note an event by its id."""

    def cut(self, by: str) -> None:
        """Note that one side hung up before the response was whole."""


class HttpResponse:
    """One HTTP response."""

    def __init__(
        self, receive: Receive, send: Send, always: tuple[tuple[str, str], ...] = ()
    ) -> None:
        """`always` are headers that each response has, also a refusal."""
        self.receive: Final = receive
        self.send: Final = send
        self._always: Final = always
        self.headers: tuple[tuple[str, str], ...] = ()
        """Go out with it whatever it becomes."""
        self.notes = ResponseNotes()
        """Where it is written down, once it belongs to a session."""
        self.is_begun = False

    async def whole(
        self,
        status: int,
        body: bytes = b"",
        more: Iterable[tuple[str, str]] = (),
        fault: HttpFault | None = None,
        written: Written | None = None,
    ) -> None:
        """Send a response at once, with `fault` in its head."""
        headers = [*self.headers, *more, ("content-length", str(len(body)))]
        if body and "content-type" not in dict(headers):
            headers.append(("content-type", JSON))
        if fault is not None:
            status, headers = fault.status(status), [*fault.headers(headers)]
        await self.start(status, headers)
        await self.send({"type": "http.response.body", "body": body, WRITTEN: written})

    async def refuse(self, refusal: HttpRefusal, sentence: str) -> None:
        """Send a refusal, and hang up: not all of the request's body may be here."""
        headers = (*refusal.headers, ("connection", "close"))
        self.headers = ()
        await self.whole(refusal.status, refusal.body(sentence), more=headers)

    async def drop(self) -> None:
        """Let the connection end in the middle of a response, or before its first byte."""
        self.is_begun = True
        self.notes.cut("server")
        await self.send({"type": DROP})

    async def begin(self) -> None:
        await self.start(
            200,
            [
                *self.headers,
                ("content-type", EVENTS),
                ("cache-control", "no-cache, no-transform"),
                ("x-accel-buffering", "no"),
            ],
        )

    async def event(
        self, line: bytes, event_id: EventId | None = None, written: Written | None = None
    ) -> None:
        """Send a message on a stream as an event of this name."""
        self.note_event(event_id)
        await self.send_content(event(line, event_id), written)

    async def prime(self, event_id: EventId, retry: int) -> None:
        """Send an empty event with the id to resume from and the retry delay."""
        self.note_event(event_id, retry)
        await self.send_content(priming(event_id, retry))

    def note_event(self, event_id: EventId | None, retry: int | None = None) -> None:
        """Write down that an event goes out."""
        self.notes.event("" if event_id is None else str(event_id), retry)

    async def send_content(self, content: bytes, written: Written | None = None) -> None:
        await self.send(
            {"type": "http.response.body", "body": content, "more_body": True, WRITTEN: written}
        )

    async def end(self) -> None:
        await self.send({"type": "http.response.body", "body": b"", "more_body": False})

    async def start(
        self, status: int, headers: list[tuple[str, str]], written: Written | None = None
    ) -> None:
        self.is_begun = True
        headers = [*headers, *self._always]
        self.notes.response(status, headers)
        raw = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers]
        head = {"type": "http.response.start", "status": status, "headers": raw}
        await self.send({**head, WRITTEN: written})

    async def while_there(self, answer: Coroutine[None, None, None]) -> bool:
        """Run `answer` as long as the client is there. Returns whether it was there to the end."""
        gone = asyncio.ensure_future(self._gone())
        answering = asyncio.ensure_future(answer)
        try:
            await asyncio.wait({gone, answering}, return_when=asyncio.FIRST_COMPLETED)
            if answering.done():
                answering.result()  # what went wrong, if anything did
                return True
            self.notes.cut("client")
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

    def __init__(
        self, response: HttpResponse, stream: Stream, version: str, *, resumes: bool
    ) -> None:
        """Answer on `response` what is said on `stream`, in one version of MCP.

        `resumes` says that the client can come back: events have ids.
        """
        self._resumes = resumes
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
            first.tell_written(written=True)
            return
        if first.last:
            status = http_status_of(first.content, self._version)
            await self._response.whole(status, first.content, written=first.written)
            return
        await self._begin()
        await self._say(first)
        await self._go_on()

    async def _break(self, event: OutEvent, fault: HttpFault) -> None:
        """Send an answer with a fault in its HTTP response, before the status is sent."""
        if fault.fault in INSTEAD:
            status, headers = INSTEAD[fault.fault]
            await self._response.whole(status, more=headers)
        elif fault.fault in ON_STREAM:
            if event.event_id is not None:
                await self._begin()
            await self._break_stream(event, fault)
        else:
            status = http_status_of(event.content, self._version)
            await self._response.whole(status, event.content, fault=fault)

    async def _break_stream(self, one: OutEvent, fault: HttpFault) -> None:
        """Send an answer as the last event of a stream, with a fault in it, and end."""
        event_id = self._id_of(one)
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
        """Return the message that decides between JSON and events; JSON holds the answer only."""
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
        return self._resumes and bool(self._version) and features(self._version).resumable

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
                following.tell_written(written=True)
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
        await self._response.event(event.content, self._id_of(event), event.written)

    def _id_of(self, event: OutEvent) -> EventId | None:
        """Return the id that an event has on the wire: None where nobody can come back to it."""
        is_named = self._resumes and not features(self._version).stateless
        return event.event_id if is_named else None
