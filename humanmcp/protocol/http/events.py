"""A stream of events, read piece by piece as a client does.

https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

_BOM: Final = b"\xef\xbb\xbf"
LONGEST_RETRY: Final = 9
"""Digits of a `retry` that is looked at: more would be longer than eleven days."""


class EventError(Exception):
    """An event is longer than what is kept of one."""


class ServerSentEvent(NamedTuple):
    """One event. `id` is "" where it has none; `retry` is in milliseconds, None for none."""

    data: bytes
    id: str = ""
    event: str = "message"
    retry: int | None = None


class EventReader:
    """Takes a stream piece by piece and gives its events."""

    def __init__(self, longest: int) -> None:
        """Keep at most so many bytes of one event."""
        self.last_id = ""
        """The id to come again with: that of the last event that had one."""
        self.retry: int | None = None
        """Milliseconds that the server asks a client to wait before it comes again."""
        self.count = 0
        """How many events came."""
        self._longest = longest
        self.begin_anew()

    def begin_anew(self) -> None:
        """Begin with another stream, and go on counting."""
        self._rest = bytearray()
        self._is_first = True
        self._after_return = False
        """Whether the last piece ended with a carriage return: a line feed belongs to it."""
        self._begin()

    def _begin(self) -> None:
        self._data: list[bytes] = []
        self._id = ""
        self._event = ""
        self._retry: int | None = None
        self._size = 0
        """Bytes of the event so far."""

    def feed(self, piece: bytes) -> Iterator[ServerSentEvent]:
        """Take the next piece of the stream; yield the events that it completes.

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
            self._begin()

    def _field(self, line: bytes) -> None:
        self._size += len(line)
        name, _, value = line.partition(b":")
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
                pass  # a comment, or what some later version knows

    def _dispatched(self) -> ServerSentEvent:
        event = ServerSentEvent(
            b"\n".join(self._data), self._id, self._event or "message", self._retry
        )
        self.count += 1
        self.last_id = event.id or self.last_id
        self.retry = self.retry if event.retry is None else event.retry
        self._begin()
        return event
