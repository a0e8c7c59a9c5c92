"""Which response a message goes out on: one stream for each POST, and one for what belongs to none.

Everything here happens in the thread of the event loop. What nobody listens to is counted and not
kept: the transcript has it, and a client that comes again with `Last-Event-ID` gets it from there.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final, NamedTuple

from humanmcp.protocol.http.outbound import EventId
from humanmcp.protocol.json import jsonrpc
from humanmcp.protocol.json.jsonrpc import Batch, Message

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

OWN: Final = 0
"""The stream of what belongs to no request: a GET listens to it."""


class OutEvent(NamedTuple):
    """A message on its way out. `last` says that the stream ends with it; `raw`, as bytes."""

    content: bytes
    name: EventId | None = None
    last: bool = False
    raw: bool = False


class Stream:
    """What one HTTP response still has to say."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self.numbers: set[int] = set()
        """The requests that it still owes an answer."""
        self.taken = False
        """Whether the session has the message that it came with."""
        self.is_gone = False
        self._events: asyncio.Queue[OutEvent | None] = asyncio.Queue()

    def put(self, event: OutEvent) -> None:
        """Say something; the last event also ends it."""
        self._events.put_nowait(event)
        if event.last:
            self.end()

    def end(self) -> None:
        """Say nothing more."""
        self._events.put_nowait(None)

    async def next(self) -> OutEvent | None:
        """Return what comes next, None at the end."""
        return await self._events.get()


class Streams:
    """The streams of one session."""

    def __init__(self) -> None:
        """Begin with none."""
        self._open: dict[int, Stream] = {}
        self._places: dict[int, int] = {}
        self._owed: set[int] = set()
        self._own_until = 0
        """How much of what belongs to no request has gone out."""

    def posted(self, stream: Stream, numbers: Sequence[int]) -> None:
        """Begin a stream for these requests; without any there is nothing to wait for."""
        stream.taken = True
        stream.numbers = set(numbers)
        for number in numbers:
            self._open[number] = stream
            self._owed.add(number)
        if not numbers:
            stream.end()

    def send(self, line: bytes, number: int) -> None:
        """Let a line go out where it belongs."""
        number = number or self._stream_of_batch(line)
        place = self._places[number] = self._places.get(number, 0) + 1
        stream = self._open.get(number)
        answers = number != OWN and is_answer(line)
        if answers:
            self._answered(number, stream, line)
        if stream is None:
            return
        if number == OWN:
            self._own_until = place
        last = answers and not stream.numbers
        stream.put(OutEvent(line, EventId(number, place), last))

    def send_raw(self, content: bytes) -> None:
        """Let bytes go out that somebody means, on the stream that began last."""
        if self._open:
            self._open[max(self._open)].put(OutEvent(content, raw=True))

    def unanswered(self, number: int) -> None:
        """End the stream of a request that gets no answer."""
        stream = self._open.get(number)
        self._forget(number)
        if stream is not None and not stream.numbers:
            stream.end()

    def listen(self, stream: Stream, number: int, sent: int) -> bool:
        """Let a stream go on from after place `sent`. False where nothing more can come on it."""
        if number != OWN and number not in self._owed:
            return False
        before = self._open.get(number)
        if before is not None:
            before.numbers.discard(number)
            if not before.numbers:
                before.end()
        self._open[number] = stream
        if number == OWN:
            self._own_until = max(self._own_until, self._places.get(OWN, 0))
        else:
            stream.numbers = {number}
        self._places.setdefault(number, sent)
        return True

    def leave(self, stream: Stream) -> None:
        """Let nothing more go out on a stream: its client is gone."""
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
        """Return how much of what belongs to no request was listened to."""
        return self._own_until

    def close(self) -> None:
        """End every stream: the session is over."""
        for stream in set(self._open.values()):
            stream.end()
        self._open.clear()
        self._owed.clear()

    def _answered(self, number: int, stream: Stream | None, line: bytes) -> None:
        numbers = [number]
        if stream is not None and line.startswith(b"["):
            numbers = sorted(stream.numbers)
        for each in numbers:
            self._forget(each)

    def _forget(self, number: int) -> None:
        self._owed.discard(number)
        self._places.pop(number, None)
        stream = self._open.pop(number, None)
        if stream is not None:
            stream.numbers.discard(number)

    def _stream_of_batch(self, line: bytes) -> int:
        """Return a request of the batch that a line answers: it was freed by the end of another."""
        if not line.startswith(b"["):
            return OWN
        waiting = [number for number, one in self._open.items() if len(one.numbers) > 0 and number]
        return max(waiting, default=OWN)


def is_answer(line: bytes) -> bool:
    """Return True if nothing follows a line on its stream: it is no notification and no request.

    What is wrong on purpose answers, too: no other answer will come.
    """
    if b'"method"' not in line:
        return True
    found = jsonrpc.read(line)
    return isinstance(found, Batch) or not isinstance(found, Message) or not found.method


def after(lines: Iterable[bytes], stream: int, place: int) -> list[OutEvent]:
    """Return what a client missed of a stream: the lines of the transcript after a place."""
    return [
        OutEvent(line, EventId(stream, at), stream != OWN and is_answer(line))
        for at, line in enumerate(lines, start=1)
        if at > place
    ]
