"""One recorded line, and the file of them: JSON Lines, one frame a line.

Shape of a frame: `{"seq": 7, "at": "2026-11-20T18:49:07.123Z", "way": "in", "raw": "{…}"}`, and
`"by"` for who decided it (a person, the book, the server itself), `"number"` where it belongs
to an exchange, `"stream"` where it went out with the answer to another one's request (over HTTP
each has a stream), `"note"` where something is to be said of it. Bytes that are no UTF-8 are kept
as `"base64"` beside a readable `"raw"`.
"""

from __future__ import annotations

import binascii  # what `base64` calls, without the weight of `base64` at every start
import enum
import json
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

HELD: Final = "held"
"""Note of a line that a tap did not let go on when it came; what became of it follows."""

LET_GO: Final = "let go"
"""Note of a NOTE frame: the held line of this number went on as it was."""

CHANGED: Final = "changed"
"""Note of the line that went on in the place of the held one of the same number."""

DROPPED: Final = "dropped"
"""Note of a NOTE frame: the held line of this number never went on."""

INSTEAD: Final = "answered instead"
"""Note of an answer to a held request: the request of this number never went on."""

SAID_AGAIN: Final = "said again"
"""Note of a NOTE frame: a line that a tap said itself, in a session that it has begun anew."""

FORGOTTEN: Final = "forgotten"
"""Note of a NOTE frame in the place of a line that was forgotten (`humanmcp forget`)."""

BY_CHECK: Final = "check"
"""Who wrote a NOTE frame that says what a tap found wrong. Its note is the whole sentence."""

COMMAND: Final = "the command of the real server"
"""Note of a NOTE frame whose line is that command as a JSON array: what a tap stands before."""

DELIBERATE: Final = "deliberate"
"""How the note of a line begins that was sent although the check found errors in it."""

ON_PURPOSE: Final = "on purpose: "
"""How the note of a NOTE frame begins that names an order to the server: `http wrong-type`."""

HTTP: Final = "http"
"""Note of a NOTE frame whose line is a part of an HTTP exchange as JSON: the head of a request or
of a response, or an event. `protocol/http/recorded.py` writes and reads it."""

_quoted: Final = json.encoder.encode_basestring
"""Write a text as JSON does, with every character that JSON allows as it is."""


class Direction(enum.Enum):
    """Which way a recorded line went, seen from the process that recorded it."""

    IN = "in"
    """From the client."""
    OUT = "out"
    """To the client."""
    ERR = "err"
    """What a real server behind a tap wrote to stderr."""
    NOTE = "note"
    """No line of the wire: what the recording process has to say."""


class Frame(NamedTuple):
    """One recorded line.

    `at` is the wall clock in UTC, ISO 8601 with milliseconds: decoration, the order is `seq`.
    `raw` is the line without its line feed. `number` is the exchange's, 0 for none.
    """

    seq: int
    at: str
    direction: Direction
    raw: bytes
    number: int = 0
    by: str = ""
    note: str = ""
    stream: int = 0
    """The number of the request on whose stream it went out, where it belongs to no exchange."""

    @property
    def text(self) -> str:
        """The line as readable text; what is no UTF-8 becomes U+FFFD."""
        return self.raw.decode("utf-8", "replace")


def to_json(frame: Frame) -> str:
    """Write a frame as one line of JSON, without a line feed. `from_json` reads it back."""
    # Member by member: a message waits for this, and `json.dumps` takes three times as long.
    try:
        raw = _quoted(frame.raw.decode("utf-8"))
    except UnicodeDecodeError:
        base64 = binascii.b2a_base64(frame.raw, newline=False).decode("ascii")
        raw = f'{_quoted(frame.text)},"base64":"{base64}"'
    number = f',"number":{frame.number}' if frame.number else ""
    by = f',"by":{_quoted(frame.by)}' if frame.by else ""
    note = f',"note":{_quoted(frame.note)}' if frame.note else ""
    stream = f',"stream":{frame.stream}' if frame.stream else ""
    at, way = _quoted(frame.at), frame.direction.value
    return f'{{"seq":{frame.seq},"at":{at},"way":"{way}","raw":{raw}{number}{by}{note}{stream}}}'


def from_json(line: str) -> Frame:
    """Read a frame back.

    Raises:
        ValueError: the line is no frame (torn by a crash, or written by something else).
    """
    record = json.loads(line)
    try:
        raw = (
            binascii.a2b_base64(record["base64"])
            if "base64" in record
            else record["raw"].encode("utf-8", "surrogatepass")
        )
        return Frame(
            seq=int(record["seq"]),
            at=str(record["at"]),
            direction=Direction(record["way"]),
            raw=raw,
            number=int(record.get("number", 0)),
            by=str(record.get("by", "")),
            note=str(record.get("note", "")),
            stream=int(record.get("stream", 0)),
        )
    except (KeyError, TypeError, AttributeError) as error:
        message = f"not a frame of a transcript: {line[:80]!r}"
        raise ValueError(message) from error


def command_in(frames: Iterable[Frame]) -> tuple[str, ...]:
    """Return the command of the real server, where a tap has recorded it; else nothing."""
    for frame in frames:
        if frame.direction is Direction.NOTE and frame.note == COMMAND:
            try:
                words = json.loads(frame.raw)
            except ValueError:
                continue
            return tuple(str(word) for word in words) if isinstance(words, list) else ()
    return ()
