"""HTTP responses: the status of a response, and messages as events of a stream.

An event contains the same bytes that stdio sends, because a message has no line break.

https://html.spec.whatwg.org/multipage/server-sent-events.html
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol, TypeVar

from humanmcp.protocol.http.http_headers import SESSION
from humanmcp.protocol.json.jsonrpc import object_in
from humanmcp.protocol.json.tree import follow
from humanmcp.protocol.tables import versions
from humanmcp.protocol.tables.faults import OF_HTTP, Fault
from humanmcp.protocol.tables.versions import features

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from humanmcp.protocol.json.jsonrpc import Message

    Pairs = tuple[tuple[str, str], ...]

JSON: Final = "application/json"
EVENTS: Final = "text/event-stream"

_STATUS: Final[Mapping[int, int]] = {
    -32700: 400,
    -32600: 400,
    -32602: 400,
    -32020: 400,
    -32021: 400,
    -32022: 400,
    -32601: 404,
}
"""2026-07-28: the HTTP status of a JSON-RPC error by its code; 200 for every other response.

"it MUST respond with `404 Not Found` and a JSON-RPC error with code `-32601`"
"""

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


def http_status_of(line: bytes, version: str) -> int:
    """Return the HTTP status of a response that has not begun."""
    if not features(version).stateless or b'"error"' not in line:
        return 200
    code = follow(object_in(line), "error", "code")  # a line may be wrong on purpose
    return _STATUS.get(code, 200) if isinstance(code, int) else 200


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


PATH: Final = "/mcp"
"""The endpoint."""

INSTEAD: Final[Mapping[Fault, tuple[int, Pairs]]] = {
    Fault.UNAUTHORIZED: (401, (("www-authenticate", "Bearer"),)),
    Fault.LOST_SESSION: (404, ()),
    Fault.REDIRECT: (307, (("location", f"{PATH}?once-more"),)),
}
"""The faults that replace a response, and its status and headers.

If a person orders one, it applies to the next POST, once.
"""

TAKEN_BACK: Final = "none"
"""The word that cancels a fault which was not applied yet."""

ON_STREAM: Final = frozenset(
    {
        Fault.CUT_STREAM,
        Fault.NO_FINAL_EVENT,
        Fault.EVENT_TWICE,
        Fault.EVENT_WITHOUT_ID,
        Fault.SLOW_DRIP,
    }
)
"""The faults that need a stream; the server starts one for them."""

_NUMBERS: Final[Mapping[Fault, tuple[int, int, int]]] = {
    Fault.WRONG_STATUS: (500, 200, 599),
    Fault.CUT_STREAM: (20, 0, 1_000_000),
}
"""The number of a fault: its default, its minimum and its maximum."""


class HttpFault(NamedTuple):
    """A fault, and its number: a status, or how many bytes are sent before the end."""

    fault: Fault
    number: int = 0

    @classmethod
    def read(cls, text: str) -> HttpFault | None:
        """Read a fault's name, and a number if it has one; None for other texts."""
        name, _, number = text.partition(" ")
        fault = next((one for one in OF_HTTP if one.value == name), None)
        if fault is None:
            return None
        usual, least, most = _NUMBERS.get(fault, (0, 0, -1))
        if not number:
            return cls(fault, usual)
        known = len(number) < 10 and number.isascii() and number.isdigit()
        return cls(fault, int(number)) if known and least <= int(number) <= most else None

    def status(self, right: int) -> int:
        """Return the HTTP status to send instead of the right one."""
        return self.number if self.fault is Fault.WRONG_STATUS else right

    def headers(self, right: Iterable[tuple[str, str]]) -> Pairs:
        """Return the headers to send instead of the right ones."""
        match self.fault:
            case Fault.WRONG_TYPE:
                return _with(right, "content-type", "text/html")
            case Fault.NO_TYPE:
                return tuple(pair for pair in right if pair[0] != "content-type")
            case Fault.OTHER_SESSION:
                return _with(right, SESSION, "another-session")
            case _:
                return tuple(right)


def _with(right: Iterable[tuple[str, str]], name: str, value: str) -> Pairs:
    return (*(pair for pair in right if pair[0] != name), (name, value))


VISIT_ENDS_AFTER: Final = 30 * 60.0
"""The seconds of silence after which a 2026-07-28 client counts as gone; nothing else tells."""

SESSION_ENDS_AFTER: Final = 24 * 3600.0
"""The same for a session with an id: its client may come back."""

MAKES_ROOM_AFTER: Final = 60.0
"""The same for both if the maximum number of sessions is open and a client starts another.

"The server MAY terminate the session at any time": its client gets 404, and starts a new one.
https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#session-management
"""

_LONGEST_NAME: Final = 1000


class Evictable(Protocol):
    """A session. `id` is "" without a handshake; `last_seen` is in seconds of any clock.

    `address` is the last address of its client, "" if only an earlier process knew it.
    """

    id: str
    address: str
    last_seen: float

    @property
    def is_idle(self) -> bool:
        """True if no client waits or listens."""


AnySession = TypeVar("AnySession", bound=Evictable)


def silent(sessions: Iterable[AnySession], now: float) -> list[AnySession]:
    """Return the sessions that are over because nothing was received for too long."""
    return [
        one
        for one in sessions
        if one.is_idle
        and now - one.last_seen > (SESSION_ENDS_AFTER if one.id else VISIT_ENDS_AFTER)
    ]


def evictable(sessions: Collection[AnySession], now: float, address: str) -> AnySession | None:
    """Return the session to end so that a client at `address` can start one.

    A client cannot end sessions of an address that has fewer sessions than its own. If one address
    has more than half of all sessions, one of those ends for any other address, even if it waits.
    """
    counts = Counter(one.address for one in sessions)
    crowded = [
        one
        for one in sessions
        if one.address not in ("", address) and 2 * counts[one.address] > len(sessions)
    ]
    if crowded:
        return min(crowded, key=lambda one: (not one.is_idle, one.last_seen))
    idle = [
        one
        for one in sessions
        if one.is_idle
        and now - one.last_seen > MAKES_ROOM_AFTER
        and (one.address == address or counts[one.address] > counts[address])
    ]
    return min(idle, key=lambda one: (-counts[one.address], one.last_seen), default=None)


def visitor_of(message: Message, key: str, host: str) -> str:
    """Return a digest that identifies the sender of a request as far as possible, safe to store.

    `host` is the address that the client uses: one proxy may serve several processes.
    """
    client = json.dumps(message.meta.get(versions.META_CLIENT), sort_keys=True)[:_LONGEST_NAME]
    return hashlib.sha256(json.dumps((host, key, client)).encode()).hexdigest()
