"""What goes back: the status that an answer has, and a message as an event of a stream.

The line stands in the event as it is, byte for byte what stdio sends: it has no line break.
https://html.spec.whatwg.org/multipage/server-sent-events.html
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from humanmcp.protocol.json.jsonrpc import object_in
from humanmcp.protocol.json.tree import follow
from humanmcp.protocol.spec.versions import features

if TYPE_CHECKING:
    from collections.abc import Mapping

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


def status_of(line: bytes, revision: str) -> int:
    """Return the status that an answer goes out with while none has been sent."""
    if not features(revision).stateless or b'"error"' not in line:
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
