"""One recorded line, and the file of them: JSON Lines, one frame a line.

Shape of a frame: `{"seq": 7, "at": "2026-11-20T18:49:07.123Z", "way": "in", "raw": "{…}"}`,
Optional members: `"by"` for who decided it (a person, the answer book, the server), `"number"` of
the exchange that it belongs to, `"stream"` for the number of the request on whose HTTP stream it
was sent, `"note"`, `"decision"`, and `"ticket"` of the outgoing message. Bytes that are not UTF-8
are kept as `"base64"` beside a readable `"raw"`.
"""

from __future__ import annotations

import binascii
import enum
import json
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

HELD: Final = "held"
"""Note of a line that a tap has held; a later frame says what happened to it."""

LET_GO: Final = "let go"
"""Note of a NOTE frame: the held line with this number was released unchanged."""

CHANGED: Final = "changed"
"""Note of a line that was sent instead of the held line with this number."""

DROPPED: Final = "dropped"
"""Note of a NOTE frame: the held line with this number was dropped."""

INSTEAD: Final = "answered instead"
"""Note of a response to a held request: the request with this number was never forwarded."""

SAID_AGAIN: Final = "said again"
"""Note of a NOTE frame: a line that a tap sent again to restart a session."""

OTHER_ID: Final = "came with another id"
"""Note of a NOTE frame: an HTTP response whose id the tap replaced by that of its request."""

DECIDED: Final = "decided"
"""Note of a NOTE frame: a person answered a parked call."""

FORGOTTEN: Final = "forgotten"
"""Note of a NOTE frame that replaces a forgotten line (`humanmcp forget`)."""

BY_CHECK: Final = "check"
"""The author of a NOTE frame with a problem that a tap found. Its note is the whole sentence."""

COMMAND: Final = "the command of the real server"
"""Note of a NOTE frame with the command of the real server behind a tap, as a JSON array."""

DELIBERATE: Final = "deliberate"
"""The beginning of the note of a line that was sent despite the check's errors."""

ON_PURPOSE: Final = "on purpose: "
"""The beginning of the note of a NOTE frame with an order to the server: `http wrong-type`."""

PLACE: Final = "in the file: "
"""The beginning of the note of a line that a file brought: then its line and column, `7:12`, and
what it is where it is no whole message (`captures.captured_line` reads it)."""

HTTP: Final = "http"
"""Note of a NOTE frame with a part of an HTTP exchange as JSON: the head of a request or of a
response, or an event. `protocol/http/client.py` writes and reads it.
"""

PROMPT: Final = "prompt"
"""The beginning of the note of a line that is no message of MCP: a permission prompt as its agent
wrote it, and the answer as it was printed. The host and the event follow."""


STEP: Final = "step"
"""The beginning of the note of a line that is no message of MCP, but a step of a kind that an
extension brings. The kind and the name of the step follow, and what was wrong on purpose."""


def is_of_step(frame: Frame) -> bool:
    """Return True for a step of an extension's kind, and for the answer to one."""
    return frame.note.startswith(f"{STEP} ")


def is_foreign(frame: Frame) -> bool:
    """Return True for a line that is no message of MCP: a prompt, a step, or an answer to one."""
    return is_of_prompt(frame) or is_of_step(frame)


def is_of_prompt(frame: Frame) -> bool:
    """Return True for a prompt of an agent, and for the answer to one."""
    return frame.note.startswith(f"{PROMPT} ")


_quoted: Final = json.encoder.encode_basestring
"""Write a text as JSON, without escaping characters that JSON allows."""


class Direction(enum.StrEnum):
    """The direction of a recorded line, seen from the process that recorded it."""

    IN = "in"
    """From the client."""
    OUT = "out"
    """To the client."""
    ERR = "err"
    """The stderr of a real server behind a tap."""
    NOTE = "note"
    """Not a message: a note of the recording process."""


BACK: Final[Mapping[Direction, Direction]] = {
    Direction.IN: Direction.OUT,
    Direction.OUT: Direction.IN,
}
"""The direction of a response to a line; of what is no message there is none."""


class Frame(NamedTuple):
    """One recorded line.

    `at` is the wall clock in UTC, ISO 8601 with milliseconds; only `seq` gives the order. `raw` is
    the line without its line feed. `number` is the exchange's, 0 for none.
    """

    seq: int
    at: str
    direction: Direction
    raw: bytes
    number: int = 0
    by: str = ""
    note: str = ""
    stream: int = 0
    """The number of the request on whose stream it was sent, if it belongs to no exchange."""
    decision: str = ""
    """The record of a person's decision that belongs to the line (`DecisionRecord`)."""
    ticket: str = ""
    """The outgoing message that it went out by."""

    @property
    def text(self) -> str:
        """The line as readable text, with U+FFFD for bytes that are not UTF-8."""
        return self.raw.decode("utf-8", "replace")

    @property
    def remark(self) -> str:
        """What a NOTE frame says: its note, or the line of a file, which is no message."""
        return self.text if self.note.startswith(PLACE) else self.note


def recorded_command(frames: Iterable[Frame]) -> tuple[str, ...]:
    """Return the command of the real server, if a tap has recorded it, else ()."""
    for frame in frames:
        if frame.direction is Direction.NOTE and frame.note == COMMAND:
            try:
                words = json.loads(frame.raw)
            except ValueError:
                continue
            return tuple(str(word) for word in words) if isinstance(words, list) else ()
    return ()


_PIECE: Final = 1024 * 1024
"""The characters that are quoted at once: nobody continues within one call of C."""


def to_json(frame: Frame) -> str:
    """Write a frame as one line of JSON, without a line feed; `from_json` reads it."""
    # Member by member: each message waits for this, and `json.dumps` takes three times as long.
    try:
        text = frame.raw.decode("utf-8")
        if len(text) <= _PIECE:
            raw = _quoted(text)
        else:
            pieces = (text[at : at + _PIECE] for at in range(0, len(text), _PIECE))
            raw = f'"{"".join([_quoted(one)[1:-1] for one in pieces])}"'
    except UnicodeDecodeError:
        base64 = binascii.b2a_base64(frame.raw, newline=False).decode("ascii")
        raw = f'{_quoted(frame.text)},"base64":"{base64}"'
    number = f',"number":{frame.number}' if frame.number else ""
    by = f',"by":{_quoted(frame.by)}' if frame.by else ""
    note = f',"note":{_quoted(frame.note)}' if frame.note else ""
    stream = f',"stream":{frame.stream}' if frame.stream else ""
    decision = f',"decision":{_quoted(frame.decision)}' if frame.decision else ""
    ticket = f',"ticket":{_quoted(frame.ticket)}' if frame.ticket else ""
    at, way = _quoted(frame.at), frame.direction.value
    more = f"{number}{by}{note}{stream}{decision}{ticket}"
    return f'{{"seq":{frame.seq},"at":{at},"way":"{way}","raw":{raw}{more}}}'


def from_json(line: str) -> Frame:
    """Read a frame that `to_json` wrote.

    Raises:
        ValueError: the line is not a frame (torn by a crash, or written by something else).
    """
    record = json.loads(line)
    try:
        raw = (
            binascii.a2b_base64(record["base64"])
            if "base64" in record
            else record["raw"].encode("utf-8", "surrogatepass")
        )
        get = record.get
        first = int(record["seq"]), str(record["at"]), Direction(record["way"]), raw
        of_whom = int(get("number", 0)), str(get("by", "")), str(get("note", ""))
        more = int(get("stream", 0)), str(get("decision", "")), str(get("ticket", ""))
        return Frame(*first, *of_whom, *more)
    except (KeyError, TypeError, AttributeError, OverflowError) as error:
        message = f"not a frame of a transcript: {line[:80]!r}"
        raise ValueError(message) from error


SPOKEN: Final = frozenset({Direction.IN, Direction.OUT})
"""Messages, not stderr and notes."""


class Perspective:
    """One side's view of a session, frame by frame. `own` is the direction of its lines."""

    def __init__(self, own: Direction) -> None:
        self._own = own
        self._held: dict[int, Frame] = {}

    def feed(self, frame: Frame) -> Iterator[Frame]:
        """Yield what this side saw because of the next frame of the transcript."""
        if frame.direction not in SPOKEN:
            if frame.note in (LET_GO, DROPPED) and frame.number in self._held:
                let_go = self._held.pop(frame.number)
                if frame.note == LET_GO:
                    yield let_go
        elif frame.direction is self._own:
            if frame.note not in (CHANGED, INSTEAD):
                yield frame
        elif frame.note == HELD:
            self._held[frame.number] = frame
        else:
            self._held.pop(frame.number, None)
            yield frame


def seen_by_client(frames: Iterable[Frame]) -> Iterator[Frame]:
    """Yield the lines that the client wrote and those that it received."""
    view = Perspective(Direction.IN)
    for frame in frames:
        yield from view.feed(frame)
