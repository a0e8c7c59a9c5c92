"""Server-sent events: messages as events of a stream, and events from the pieces of one.

An event contains the same bytes that stdio sends, because a message has no line break.

https://html.spec.whatwg.org/multipage/server-sent-events.html
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

EVENTS: Final = "text/event-stream"

COMMENT: Final = b":\n\n"
"""A comment without content, so that proxies and clients do not close a quiet stream."""

COMMENT_EVERY: Final = 15.0
"""The seconds between two comments on a quiet stream."""

_LINE_END: Final = re.compile(rb"\r\n|\r|\n")


class EventId(NamedTuple):
    """The id of an event: the number of the stream's exchange, and its place in it, from 1.

    Stream 0 is for messages without a request. Place 0 is before the first event: every stream
    begins with it, so a client that loses the stream can ask for all events.
    """

    stream: int
    place: int

    def __str__(self) -> str:
        """Return the id as the client gets it and sends it back."""
        return f"{self.stream}-{self.place}"

    @classmethod
    def read(cls, text: str) -> EventId | None:
        """Read the id that a client sent; None if it is not one of ours."""
        found = re.fullmatch(r"(0|[1-9][0-9]{0,15})-(0|[1-9][0-9]{0,15})", text, re.ASCII)
        return cls(int(found[1]), int(found[2])) if found else None


def event(line: bytes, event_id: EventId | None = None) -> bytes:
    """Return a message as an event; a client cannot ask for it again without an id."""
    data = b"".join(b"data: " + part + b"\n" for part in _LINE_END.split(line))
    named = b"" if event_id is None else f"id: {event_id}\n".encode("ascii")
    return b"event: message\n" + named + data + b"\n"


def priming(event_id: EventId, retry: int | None = None) -> bytes:
    """Return the event at the start of a 2025-11-25 stream: an id and no message.

    "The server SHOULD immediately send an SSE event consisting of an event ID and an empty `data`
    field". `retry` asks the client to wait so many milliseconds before it reconnects.
    https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#sending-messages-to-the-server
    """
    pause = b"" if retry is None else f"retry: {retry}\n".encode("ascii")
    return f"id: {event_id}\n".encode("ascii") + pause + b"data: \n\n"


_BOM: Final = b"\xef\xbb\xbf"
LONGEST_RETRY: Final = 9
"""The maximum number of digits of a `retry`: more would be longer than eleven days."""


class EventError(Exception):
    """An event is longer than the limit."""


class ServerSentEvent(NamedTuple):
    """One event. `id` is "" if it has none; `retry` is in milliseconds, None for none."""

    data: bytes
    id: str = ""
    event: str = "message"
    retry: int | None = None


class UnreadBytes(NamedTuple):
    """What of a stream made no event: unknown fields, or an event without its blank line."""

    text: str


_MOST_UNREAD: Final = 64
"""The most lines that are kept of those that made no event."""


class EventReader:
    """Reads events from the pieces of a stream."""

    def __init__(self, longest: int) -> None:
        """Keep at most `longest` bytes of one event."""
        self.last_id = ""
        """The id to reconnect with: that of the last event with an id."""
        self.retry: int | None = None
        """The milliseconds that a client should wait before it reconnects."""
        self.count = 0
        """The number of events."""
        self._longest = longest
        self.begin_anew()

    def begin_anew(self) -> None:
        """Read another stream, and continue the count."""
        self._rest = bytearray()
        self._is_first = True
        self._unread: list[bytes] = []
        self._after_return = False
        """True if the last piece ended with a carriage return; a line feed may follow it."""
        self._begin()

    def _begin(self) -> None:
        self._data: list[bytes] = []
        self._lines: list[bytes] = []
        self._id = ""
        self._event = ""
        self._retry: int | None = None
        self._size = 0
        """The number of bytes of the event so far."""

    @property
    def unended(self) -> bytes:
        """The data of an event that has begun, and whose blank line has not come."""
        return b"\n".join((*self._data, bytes(self._rest))).strip()

    @property
    def unread(self) -> UnreadBytes | None:
        """What made no event so far, beside comments; None for nothing."""
        lines = (*self._unread, *self._lines[:_MOST_UNREAD], bytes(self._rest))
        text = b"\n".join(lines).strip().decode("utf-8", "replace")
        return UnreadBytes(text) if text else None

    def feed(self, piece: bytes) -> Iterator[ServerSentEvent]:
        """Yield the events that the next piece of the stream completes.

        Raises:
            EventError: one is too long.
        """
        if self._after_return:
            piece = piece.removeprefix(b"\n")
        self._after_return = piece.endswith(b"\r")
        *ends, rest = piece.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        for end in ends:
            self._rest += end
            line, self._rest = bytes(self._rest), bytearray()
            yield from self._line(line)
        self._rest += rest
        if len(self._rest) + self._size > self._longest:
            raise EventError

    def _line(self, line: bytes) -> Iterator[ServerSentEvent]:
        if self._is_first:
            self._is_first, line = False, line.removeprefix(_BOM)
        if line:
            self._field(line)
        elif self._data or self._id or self._retry is not None:
            yield self._dispatched()
        else:
            self._unread = (self._unread + self._lines)[:_MOST_UNREAD]
            self._begin()

    def _field(self, line: bytes) -> None:
        self._size += len(line)
        name, _, value = line.partition(b":")
        if name and len(self._lines) < _MOST_UNREAD:
            self._lines.append(line)
        value = value.removeprefix(b" ")
        match name:
            case b"data":
                self._data.append(value)
            case b"event":
                self._event = value.decode("utf-8", "replace")
            case b"id" if b"\0" not in value:
                self._id = value.decode("utf-8", "replace")
            case b"retry" if value.isdigit() and len(value) <= LONGEST_RETRY:
                self._retry = int(value)
            case _:
                pass  # a comment, or a field of a later version

    def _dispatched(self) -> ServerSentEvent:
        event = ServerSentEvent(
            b"\n".join(self._data), self._id, self._event or "message", self._retry
        )
        self.count += 1
        self.last_id = event.id or self.last_id
        self.retry = self.retry if event.retry is None else event.retry
        self._begin()
        return event
