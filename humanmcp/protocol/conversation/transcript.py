"""One recorded line, and the file of them: JSON Lines, one frame a line.

Shape of a frame: `{"seq": 7, "at": "2026-11-20T18:49:07.123Z", "way": "in", "raw": "{…}"}`, and
`"by"` for who decided it (a person, the book, the server itself), `"number"` where it belongs
to an exchange, `"stream"` where it went out with the answer to another one's request (over HTTP
each has a stream), `"note"` where something is to be said of it. Bytes that are no UTF-8 are kept
as `"base64"` beside a readable `"raw"`.
"""

from __future__ import annotations

import binascii
import enum
import json
import re
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

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

DECIDED: Final = "decided"
"""Note of a NOTE frame: a person answered a call whose client comes for the answer later."""

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
of a response, or an event. `protocol/http/client.py` writes and reads it."""

_quoted: Final = json.encoder.encode_basestring
"""Write a text as JSON does, with every character that JSON allows as it is."""


class Direction(enum.StrEnum):
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
    decision: str = ""
    """The record of a person's decision that was written with it (`Decision`)."""

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
    decision = f',"decision":{_quoted(frame.decision)}' if frame.decision else ""
    at, way = _quoted(frame.at), frame.direction.value
    more = f"{number}{by}{note}{stream}{decision}"
    return f'{{"seq":{frame.seq},"at":{at},"way":"{way}","raw":{raw}{more}}}'


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
            decision=str(record.get("decision", "")),
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


_LABELS: Final = {Direction.IN: "IN", Direction.OUT: "OUT", Direction.ERR: "ERR"}
_WAYS: Final = {label: direction for direction, label in _LABELS.items()}
_TIME: Final = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}"
_DESKTOP_TIME: Final = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"
_DESKTOP_LINE: Final = re.compile(
    rf"({_DESKTOP_TIME}) (?:\[[^\]]*\] )+Message from (client|server): (.*?)"
    r"(?: \{ metadata: undefined \})?",
    re.DOTALL,
)
_DESKTOP_WAYS: Final = {"client": Direction.IN, "server": Direction.OUT}
_FIRST: Final = re.compile(rf"\[|{_DESKTOP_TIME} ")
_LINE: Final = re.compile(rf"\[({_TIME})\] (IN|OUT|ERR): (.*)", re.DOTALL)


class LogLine(NamedTuple):
    """One line of such a log: its time as written, which way the message went, and the message."""

    time: str
    direction: Direction
    text: str


def label(direction: Direction) -> str:
    """Return what a log calls a way; "" for what does not stand in a log."""
    return _LABELS.get(direction, "")


def write_log_line(frame: Frame, time: str) -> str | None:
    """Write a frame as one line, without a line feed; None for what does not stand in a log.

    A carriage return at the end belongs to the line's end, and blank lines say nothing.
    """
    text = frame.text.rstrip("\r")
    if frame.direction not in _LABELS or not text.strip():
        return None
    return f"[{time}] {_LABELS[frame.direction]}: {text}"


def read_log_line(line: str) -> LogLine | None:
    """Read a line of a log; None for one without a message."""
    if found := _LINE.fullmatch(line):
        return LogLine(found[1], _WAYS[found[2]], found[3])
    if found := _DESKTOP_LINE.fullmatch(line):
        return LogLine(found[1], _DESKTOP_WAYS[found[2]], found[3])
    return None


def is_log_line(line: str) -> bool:
    """Tell by its first line a text log from a transcript."""
    return _FIRST.match(line) is not None


def read_log(lines: Iterable[str], time: Callable[[str], str]) -> Iterator[Frame]:
    """Read a log as frames; `time` makes a frame's time of a log's. What is no entry is a note."""
    seq = 0
    for line in lines:
        text = line.rstrip("\r")
        found = read_log_line(text)
        if found is None and not text.strip():
            continue
        seq += 1
        if found is None:
            yield Frame(seq, "", Direction.NOTE, b"", note=text)
        else:
            yield Frame(seq, time(found.time), found.direction, found.text.encode())


def read_recording(lines: Iterable[str], time: Callable[[str], str]) -> Iterator[Frame]:
    """Read a transcript, or a text log. What a crash has torn in a transcript is passed over."""
    lines = iter(lines)
    first = next(filter(str.strip, lines), "")
    if is_log_line(first):
        yield from read_log(chain((first,), lines), time)
        return
    for line in chain((first,), lines):
        try:
            yield from_json(line)
        except (ValueError, RecursionError):
            continue


_LINES: Final = frozenset({Direction.IN, Direction.OUT})


class Perspective:
    """One side's view of a session, frame by frame. `own` is the way of the lines it writes."""

    def __init__(self, own: Direction) -> None:
        self._own = own
        self._held: dict[int, Frame] = {}

    def feed(self, frame: Frame) -> Iterator[Frame]:
        """Take the next frame of the transcript; yield what this side saw because of it."""
        if frame.direction not in _LINES:
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
    """Yield the lines that the client wrote and those that reached it."""
    view = Perspective(Direction.IN)
    for frame in frames:
        yield from view.feed(frame)


# -- the record of decisions ---------------------------------------------------------------------
#
# One line of JSON for each answer of a person, chained by digests. `digest`, always the last
# member, is the SHA-256 of the line before `,"digest":`; `previous` is the digest of the record
# before, and 64 zeros in the first one of a session. Asked and answered are the exact bytes of the
# two messages: the transcript has them, and a record shows no word of them.

NO_DIGEST: Final = "0" * 64
_END: Final = re.compile(rb',"digest":"([0-9a-f]{64})"}')
_BEGINNING: Final = re.compile(rb'{"number":([1-9][0-9]*),"previous":"([0-9a-f]{64})",')


class Decision(NamedTuple):
    """What is known of an answer. `shown` is the digest that the person's page sent with it.

    `action` is `answer`; or, of what a tap held, `allow`, `change`, `deny` (answered in the
    server's place) or `drop`. `device` is the device that it came from, "" for the computer of the
    desk. `shown_at` is when the desk first showed the request to somebody, `sent_at` when the
    person sent the answer, `taken_at` when the server or tap wrote it.
    """

    session: str
    exchange: int
    method: str
    asked: str
    answered: str
    by: str = ""
    who: str = ""
    device: str = ""
    action: str = "answer"
    shown: str = ""
    shown_at: str = ""
    sent_at: str = ""
    taken_at: str = ""
    anyway: bool = False


def sha256(content: str | bytes) -> str:
    """Return the SHA-256 of a text as UTF-8, in hexadecimal."""
    import hashlib  # noqa: PLC0415 - brings OpenSSL, which no start of a server waits for

    raw = content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass")
    return hashlib.sha256(raw).hexdigest()


class DecisionChain:
    """The records of one session, one after the other."""

    def __init__(self) -> None:
        """Begin with none."""
        self.number = 0
        self.last = NO_DIGEST

    def go_on(self, record: str) -> None:
        """Continue after a record of another process."""
        found: dict[str, Any] = json.loads(record)
        self.number, self.last = int(found["number"]), str(found["digest"])

    def add(self, decision: Decision) -> str:
        """Return the record of a decision."""
        self.number += 1
        digests = {"asked": sha256(decision.asked), "answered": sha256(decision.answered)}
        whole = {"number": self.number, "previous": self.last, **decision._asdict(), **digests}
        text = json.dumps(whole, separators=(",", ":"))[:-1]
        self.last = sha256(text)
        return f'{text},"digest":"{self.last}"}}'


class DecisionFlaw(NamedTuple):
    """What is wrong in a file of records: a code of `locales/`, and the line that it was found in.

    `number` is the number of the record that it is about.
    """

    code: str
    line: int
    number: int = 0


def verify_decisions(content: bytes) -> Iterator[DecisionFlaw]:
    """Yield what was changed, left out or moved in the records of one or more sessions.

    A file that was cut off after a record is not noticed: compare its last digest with a copy.
    """
    if not content.endswith(b"\n"):
        yield DecisionFlaw("unended", content.count(b"\n") + 1)
    previous, number = NO_DIGEST.encode(), 0
    for at, line in enumerate(content.removesuffix(b"\n").split(b"\n"), 1):
        begins, ends = _BEGINNING.match(line), _END.search(line)
        if begins is None or ends is None or ends.end() != len(line):
            yield DecisionFlaw("unreadable", at, number + 1)
            previous, number = b"", number + 1
            continue
        found, digest = int(begins[1]), ends[1]
        if sha256(line[: ends.start()]).encode() != digest:
            yield DecisionFlaw("changed", at, found)
        begins_anew = found == 1 and begins[2] == NO_DIGEST.encode()
        if not begins_anew and previous and begins[2] != previous:
            is_gap = found > number + 1
            yield DecisionFlaw(
                "left out" if is_gap else "moved", at, number + 1 if is_gap else found
            )
        previous, number = digest, found
