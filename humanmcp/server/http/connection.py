"""The connection of one session over Streamable HTTP: its POSTs, its streams, and their notes."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from contextlib import suppress
from functools import partial
from http.client import responses
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Final, NamedTuple

from humanmcp.http.responses import OWN, OutEvent, ResponseNotes, Stream, Streams, is_answer
from humanmcp.inbox.inbox_session import TransportNote
from humanmcp.protocol.conversation.transcript import Direction, Frame
from humanmcp.protocol.http.client import carried, cut_part, event_part, request_part, response_part
from humanmcp.protocol.http.events import EventId
from humanmcp.protocol.http.http_headers import without_keys
from humanmcp.protocol.json import jsonrpc
from humanmcp.protocol.json.jsonrpc import Batch, Kind, Message
from humanmcp.server.connection import Backpressure, EndOfInput, HungUp, as_one_line
from humanmcp.server.journal import DELIBERATE_BYTES, DELIBERATE_UNENDED, Clock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from humanmcp.protocol.conversation.exchange import TransportFacts
    from humanmcp.protocol.http.http_faults import HttpFault
    from humanmcp.protocol.http.inbound import HttpRequest, Posted
    from humanmcp.protocol.json.jsonrpc import DecodedLine
    from humanmcp.server.connection import Incoming

    Soon = Callable[..., object]

logger = logging.getLogger(__name__)

WITHIN: Final = 0.05
"""Seconds after which a note is written without a line."""


class HttpNotes:
    """The notes of one session that are not written yet. A `TransportNotes`."""

    def __init__(self) -> None:
        self.head = ""
        self.are_due = False
        """Whether they are to be written without a line."""
        self.open: set[int] = set()
        """The calls whose response is not noted yet."""
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

    def begin(self, request: HttpRequest, message: DecodedLine | None = None) -> ExchangeNotes:
        self._calls += 1
        self.open.add(self._calls)
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
        self.are_due = False
        while self._waiting:
            yield self._waiting.popleft()


class ExchangeNotes(ResponseNotes):
    """The notes of one exchange. `head` is that of its request, to be written with its line."""

    def __init__(self, notes: HttpNotes, call: int, head: str) -> None:
        """Note what becomes of a call of this number."""
        self.head = head
        self._notes = notes
        self._call = call

    def no_line(self) -> None:
        self._soon(lambda: self.head)

    def response(self, status: int, headers: Sequence[tuple[str, str]]) -> None:
        reason = responses.get(status, "")
        self._soon(lambda: response_part(self._call, status, reason, without_keys(headers)))
        self._is_over()

    def event(self, name: str, retry: int | None = None) -> None:
        self._soon(lambda: event_part(self._call, name, retry=retry))

    def cut(self, by: str) -> None:
        self._soon(lambda: cut_part(self._call, by))
        self._is_over()

    def _is_over(self) -> None:
        """Say so after its note."""
        asyncio.get_running_loop().call_soon(self._notes.open.discard, self._call)

    def _soon(self, part: Callable[[], str]) -> None:
        """Make a note after the current message is sent."""
        asyncio.get_running_loop().call_soon(self._put, part)

    def _put(self, part: Callable[[], str]) -> None:
        self._notes.put(part(), 0 if self.stream is None else self.stream.at.stream)


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
        self._receipts: SimpleQueue[tuple[int, bool]] = SimpleQueue()
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
        stream.is_gone = True
        numbers = sorted(stream.numbers)
        self.streams.drop_stream(stream)
        for event in stream.rest():
            event.tell_written(written=False)
        if cancels:
            for number in numbers:
                self._come(HungUp(number))

    def receive_receipt(self, receipt: int, *, written: bool) -> None:
        """Note whether the system has taken a line, or never will."""
        self._receipts.put((receipt, written))
        if self._arrived is not None:
            self._arrived()

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
        stream, self._taken = self._taken, None
        if stream is not None:
            self._soon(stream.processed.set)
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
        if self._taken is not None:
            cancels = self.transport_facts is not None
            self._soon(self._began, self._taken, tuple(numbers), cancels)

    def end_unanswered(self, number: int) -> None:
        self._soon(self.streams.end_unanswered, number)

    def send(
        self, line: bytes, *, related_to: int = 0, deliberate: bool = False, receipt: int = 0
    ) -> None:
        written = partial(self.receive_receipt, receipt) if receipt else None
        content = as_one_line(line, deliberate=deliberate)[:-1]
        self._soon(self.streams.send, content, related_to, written)

    def send_raw(self, content: bytes) -> None:
        self._soon(self.streams.send_raw, content)

    def carry_wrongly(self, fault: HttpFault | None) -> None:
        self._soon(self.streams.carry_wrongly, fault)

    def crash(self) -> None:
        """Cut every stream and end the session. The process goes on for the others."""
        self._soon(self.streams.cut)
        self.hang_up()

    def flush(self, timeout: float) -> None:
        """Do nothing: what was sent is in the event loop's queue."""

    def receipts(self) -> Iterator[tuple[int, bool]]:
        """Yield each receipt once.

        There is none yet for a response that nobody listens to: its client may come again for it.
        """
        while not self._receipts.empty():
            yield self._receipts.get()

    def drain(self) -> Iterator[bytes]:
        with suppress(Empty):
            while True:
                found = self._coming.get_nowait()
                if isinstance(found, _Posted):
                    self._soon(found.stream.end)
                    self.notes.head = found.head
                    yield found.posted.line


def said(frames: Iterable[Frame]) -> Iterator[tuple[EventId, Frame]]:
    """Yield the frames sent, by the transcript, each with its event id.

    Bytes that were typed as such are no message: they have no id, and are not said again.
    """
    streams: dict[int, int] = {}
    places: dict[int, int] = {}
    for frame in frames:
        if frame.direction is Direction.IN and frame.raw.startswith(b"["):
            streams.update(dict.fromkeys(_numbers_of(frame), frame.number))
        if frame.direction is Direction.OUT and frame.note not in (
            DELIBERATE_BYTES,
            DELIBERATE_UNENDED,
        ):
            number = frame.number or frame.stream
            stream = streams.get(number, number)
            places[stream] = places.get(stream, 0) + 1
            yield EventId(stream, places[stream]), frame


def _numbers_of(frame: Frame) -> range:
    """Return the numbers of the requests in a batch: they follow each other."""
    batch = jsonrpc.read(frame.raw)
    items = batch.items if isinstance(batch, Batch) else ()
    requests = sum(isinstance(one, Message) and one.kind is Kind.REQUEST for one in items)
    return range(frame.number, frame.number + requests)


def after(
    frames: Iterable[Frame], last_event_id: EventId, receive: Callable[..., object]
) -> list[OutEvent]:
    """Return the events of a stream, by the transcript, after the client's last one.

    `receive` gets the receipts of responses.
    """
    events = [
        (event_id, frame.raw, event_id.stream != OWN and is_answer(frame.raw), frame.number)
        for event_id, frame in said(frames)
        if event_id.stream == last_event_id.stream and event_id.place > last_event_id.place
    ]
    return [
        OutEvent(line, event_id, last, written=partial(receive, number) if last else None)
        for event_id, line, last, number in events
    ]
