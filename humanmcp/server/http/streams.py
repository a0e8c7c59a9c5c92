"""Which response a message goes out on: one stream for each POST, and one for what belongs to none.

A stream has the number of the request that it came with, a batch that of its first one.

Everything here happens in the thread of the event loop. What has no listener is counted and not
kept: the transcript has it, and a client that comes again with `Last-Event-ID` gets it from there.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final, NamedTuple

from humanmcp.inbox.attendant import on_a_beat
from humanmcp.protocol.conversation.transcript import Direction
from humanmcp.protocol.http.outbound import INSTEAD, EventId, HttpFault
from humanmcp.protocol.json import jsonrpc
from humanmcp.protocol.json.jsonrpc import Batch, Kind, Message
from humanmcp.protocol.spec.faults import Fault
from humanmcp.server.journal import DELIBERATE_BYTES, DELIBERATE_UNENDED

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from humanmcp.protocol.conversation.transcript import Frame

OWN: Final = 0
"""The stream of what belongs to no request: a GET listens to it."""

BEGINNING: Final = EventId(OWN, 0)


class OutEvent(NamedTuple):
    """A message on its way out. `last` says that the stream ends with it; `raw`, as bytes.

    `fault` is what is to be wrong with what carries it.
    """

    content: bytes
    event_id: EventId | None = None
    last: bool = False
    raw: bool = False
    fault: HttpFault | None = None


SILENCE: Final = OutEvent(b"")
"""Stands for nothing, where nothing came for a while."""


class Stream:
    """The events that one HTTP response still has to send. `at` is the last one sent."""

    def __init__(self, at: EventId = BEGINNING) -> None:
        """Begin with nothing."""
        self.at = at
        self.numbers: set[int] = set()
        """The requests that it still owes an answer."""
        self.taken = False
        """Whether the session has the message that it came with."""
        self.goes_on = False
        """Whether it ended with the process alone: what it owes will still be answered."""
        self.is_gone = False
        self._begun = asyncio.Event()
        self._events: asyncio.Queue[OutEvent | None] = asyncio.Queue()

    def put(self, event: OutEvent) -> None:
        """Queue an event; the last one also ends the stream."""
        self._events.put_nowait(event)
        if event.last:
            self.end()

    def end(self) -> None:
        """End the stream."""
        self._begun.set()
        self._events.put_nowait(None)

    def begin(self, numbers: Sequence[int]) -> None:
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
        """Begin with none."""
        self._open: dict[int, Stream] = {}
        self._places: dict[int, int] = {}
        """How many messages each stream has had."""
        self._owed: dict[int, int] = {}
        """From each request that has no answer yet to its stream."""
        self._own_until = 0
        """How much of what belongs to no request has gone out."""
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
        stream.begin(numbers)
        self._open[numbers[0]] = stream
        self._owed.update(dict.fromkeys(numbers, numbers[0]))

    def send(self, line: bytes, number: int) -> None:
        """Send a line on the stream of its request."""
        number = self._owed.get(number, number)
        place = self._places[number] = self._places.get(number, 0) + 1
        stream = self._open.get(number)
        last = number != OWN and is_answer(line)
        if last:
            self._over(number)
        if stream is None:
            return
        if number == OWN:
            self._own_until = place
        fault = None
        if last:
            fault, self._fault = self._fault, None
        stream.put(OutEvent(line, EventId(number, place), last, fault=fault))

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
        """Cut every stream in the middle."""
        for stream in set(self._open.values()):
            stream.put(OutEvent(b"", last=True, fault=HttpFault(Fault.CUT_STREAM)))
        self._open.clear()

    def send_raw(self, content: bytes) -> None:
        """Send raw bytes on the stream that began last."""
        if self._open:
            self._open[max(self._open)].put(OutEvent(content, raw=True))

    def unanswered(self, number: int) -> None:
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
            self._own_until = max(self._own_until, self._places.get(OWN, 0))
        self._places.setdefault(number, stream.at.place)
        return True

    def leave(self, stream: Stream) -> None:
        """Drop a stream whose client is gone."""
        for number in [each for each, one in self._open.items() if one is stream]:
            del self._open[number]

    @property
    def is_listened_to(self) -> bool:
        """Return True if a client listens to what belongs to no request."""
        return OWN in self._open

    @property
    def is_idle(self) -> bool:
        """Return True if nothing is open and nothing is owed."""
        return not self._open and not self._owed

    @property
    def own_until(self) -> int:
        """Return how far the general messages reached a client."""
        return self._own_until

    def close(self, *, goes_on: bool = False) -> None:
        """End every stream: the session is over, or goes on in another process."""
        for stream in set(self._open.values()):
            stream.goes_on = goes_on
            stream.end()
        self._open.clear()
        self._owed.clear()

    def _over(self, number: int) -> None:
        """Forget a stream on which nothing more will come."""
        for each in [owed for owed, its in self._owed.items() if its == number]:
            del self._owed[each]
        self._places.pop(number, None)
        stream = self._open.pop(number, None)
        if stream is not None:
            stream.numbers.clear()


def is_answer(line: bytes) -> bool:
    """Return True if a line ends its stream: it is neither a notification nor a request.

    What is wrong on purpose answers, too: no other answer will come.
    """
    if b'"method"' not in line:
        return True
    found = jsonrpc.read(line)
    return isinstance(found, Batch) or not isinstance(found, Message) or not found.method


def said(frames: Iterable[Frame]) -> Iterator[tuple[EventId, bytes]]:
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
            yield EventId(stream, places[stream]), frame.raw


def _numbers_of(frame: Frame) -> range:
    """Return the numbers of the requests in a batch: they follow each other."""
    batch = jsonrpc.read(frame.raw)
    items = batch.items if isinstance(batch, Batch) else ()
    requests = sum(isinstance(one, Message) and one.kind is Kind.REQUEST for one in items)
    return range(frame.number, frame.number + requests)


def after(frames: Iterable[Frame], last_event_id: EventId) -> list[OutEvent]:
    """Return the events of a stream, by the transcript, after the client's last one."""
    return [
        OutEvent(line, event_id, event_id.stream != OWN and is_answer(line))
        for event_id, line in said(frames)
        if event_id.stream == last_event_id.stream and event_id.place > last_event_id.place
    ]
