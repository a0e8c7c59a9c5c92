"""What goes back: the status that an answer has, and a message as an event of a stream.

The line stands in the event as it is, byte for byte what stdio sends: it has no line break.
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
from humanmcp.protocol.spec import versions
from humanmcp.protocol.spec.faults import OF_HTTP, Fault
from humanmcp.protocol.spec.versions import features

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
"""2026-07-28: the status of an answer that is an error, by its code; 200 for every other one.

"it MUST respond with `404 Not Found` and a JSON-RPC error with code `-32601`"
"""

COMMENT: Final = b":\n\n"
"""Says nothing, and keeps proxies and clients from taking the stream for a dead one."""

COMMENT_EVERY: Final = 15.0
"""Seconds between two comments on a stream on which nothing else is said."""

_LINE_END: Final = re.compile(rb"\r\n|\r|\n")


class EventId(NamedTuple):
    """Names an event: the stream, by the number of its exchange, and its place in it, from 1.

    Stream 0 is what belongs to no request. Place 0 is before the first event: a stream that begins
    says so, and a client that loses it asks for all that follows.
    """

    stream: int
    place: int

    def __str__(self) -> str:
        """Return it as the client gets it and gives it back."""
        return f"{self.stream}-{self.place}"

    @classmethod
    def read(cls, text: str) -> EventId | None:
        """Read what a client gave back; None for what we never gave."""
        found = re.fullmatch(r"(0|[1-9][0-9]{0,15})-(0|[1-9][0-9]{0,15})", text, re.ASCII)
        return cls(int(found[1]), int(found[2])) if found else None


def status_of(line: bytes, version: str) -> int:
    """Return the status that an answer goes out with while none has been sent."""
    if not features(version).stateless or b'"error"' not in line:
        return 200
    code = follow(object_in(line), "error", "code")  # a line may be wrong on purpose
    return _STATUS.get(code, 200) if isinstance(code, int) else 200


def event(line: bytes, event_id: EventId | None = None) -> bytes:
    """Return a message as an event; without a name it cannot be asked for again."""
    data = b"".join(b"data: " + part + b"\n" for part in _LINE_END.split(line))
    named = b"" if event_id is None else f"id: {event_id}\n".encode("ascii")
    return b"event: message\n" + named + data + b"\n"


def priming(event_id: EventId, retry: int | None = None) -> bytes:
    """Return the event that a stream of 2025-11-25 begins with: a name and no message.

    "The server SHOULD immediately send an SSE event consisting of an event ID and an empty `data`
    field". `retry` asks the client to wait so many milliseconds before it comes again.
    https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#sending-messages-to-the-server
    """
    pause = b"" if retry is None else f"retry: {retry}\n".encode("ascii")
    return f"id: {event_id}\n".encode("ascii") + pause + b"data: \n\n"


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


INSTEAD: Final = frozenset({Fault.UNAUTHORIZED, Fault.LOST_SESSION, Fault.REDIRECT})
"""What stands in the place of an answer. Asked for by a person it meets the next POST, once."""

TAKEN_BACK: Final = "none"
"""What is asked for to take back a fault that no answer has met yet."""

ON_STREAM: Final = frozenset(
    {
        Fault.CUT_STREAM,
        Fault.NO_FINAL_EVENT,
        Fault.EVENT_TWICE,
        Fault.EVENT_WITHOUT_ID,
        Fault.SLOW_DRIP,
    }
)
"""What needs a stream: one begins for it."""

_NUMBERS: Final[Mapping[Fault, tuple[int, int, int]]] = {
    Fault.WRONG_STATUS: (500, 200, 599),
    Fault.CUT_STREAM: (20, 0, 1_000_000),
}
"""The number that a fault can be given: what it is without one, its least and its greatest."""


class HttpFault(NamedTuple):
    """A fault, and its number: a status, or how many bytes come before the end."""

    fault: Fault
    number: int = 0

    @classmethod
    def read(cls, text: str) -> HttpFault | None:
        """Read a name, and a number where the fault has one; None for anything else."""
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
        """Return the status that goes out in the place of the right one."""
        return self.number if self.fault is Fault.WRONG_STATUS else right

    def headers(self, right: Iterable[tuple[str, str]]) -> Pairs:
        """Return the headers that go out in the place of the right ones."""
        match self.fault:
            case Fault.WRONG_TYPE:
                return _with(right, "content-type", "text/html")
            case Fault.NO_TYPE:
                return tuple(pair for pair in right if pair[0] != "content-type")
            case Fault.OTHER_SESSION:
                return _with(right, SESSION, "another-session")
            case _:
                return tuple(right)

    def instead(self, path: str) -> tuple[int, Pairs]:
        """Return the status and the headers in the place of an answer. `path` is the endpoint's."""
        match self.fault:
            case Fault.UNAUTHORIZED:
                return 401, (("www-authenticate", "Bearer"),)
            case Fault.REDIRECT:
                return 307, (("location", f"{path}?once-more"),)
            case _:
                return 404, ()


def _with(right: Iterable[tuple[str, str]], name: str, value: str) -> Pairs:
    return (*(pair for pair in right if pair[0] != name), (name, value))


VISIT_ENDS_AFTER: Final = 30 * 60.0
"""Seconds of silence after which a visitor of 2026-07-28 has gone: nothing else says so."""

SESSION_ENDS_AFTER: Final = 24 * 3600.0
"""The same of a session that has an id: its client may come back to it."""

MAKES_ROOM_AFTER: Final = 60.0
"""The same of either where there are as many sessions as there may be, and another one begins.

"The server MAY terminate the session at any time": its client is told 404, and begins anew.
https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#session-management
"""

_LONGEST_NAME: Final = 1000


class SessionLike(Protocol):
    """A session. `id` is "" for that of a visitor, `last_seen` in seconds of any clock.

    `address` is where its client was seen last, "" where only the process before this one saw it.
    """

    id: str
    address: str
    last_seen: float

    @property
    def is_idle(self) -> bool:
        """Return True if no client waits or listens."""


AnySession = TypeVar("AnySession", bound=SessionLike)


def silent(sessions: Iterable[AnySession], now: float) -> list[AnySession]:
    """Return those of which nothing was heard for so long that they are over."""
    return [one for one in sessions if one.is_idle and now - one.last_seen > _ends_after(one)]


def _ends_after(session: SessionLike) -> float:
    return SESSION_ENDS_AFTER if session.id else VISIT_ENDS_AFTER


def evictable(sessions: Collection[AnySession], now: float, address: str) -> AnySession | None:
    """Return the session that ends so that a client at `address` can begin another.

    No client can end those of an address that has fewer than its own has. Of an address that has
    more than half of all, one ends at once for any other address, whatever it waits for.
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
    """Return a digest of who sends a request, as far as one can tell: it may be written down.

    `host` is the address that the visitor knows: a proxy may stand before several processes.
    """
    client = json.dumps(message.meta.get(versions.META_CLIENT), sort_keys=True)[:_LONGEST_NAME]
    return hashlib.sha256(json.dumps((host, key, client)).encode()).hexdigest()
