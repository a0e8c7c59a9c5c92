"""Read a capture of a conversation, whoever wrote it: what a file is, all of it decides.

Theory of operation. `message_finder.py` finds the messages, and `sides.py` solves who sent them.
Most messages have words or an envelope around them: the file is a log, and its other lines are
notes. None has: the file is what went through a pipe, where a line is a message, so that any other
line is wrong, and a message behind words is a broken line. A text with one response and nothing
else is no capture: somebody has typed it. Without JSON-RPC around them, a method and a result are
an exchange.
"""

from __future__ import annotations

import enum
import json
import re
from array import array
from bisect import bisect_left
from contextlib import suppress
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from humanmcp.protocol.conversation.state import ConversationState
from humanmcp.protocol.conversation.transcript import (
    PLACE,
    SPOKEN,
    Direction,
    Frame,
    from_json,
    is_foreign,
)
from humanmcp.protocol.json import jsonrpc
from humanmcp.protocol.json.encodings import utf16_of
from humanmcp.protocol.json.jsonrpc import Message, carries_answer, parts_of
from humanmcp.protocol.validation.bare_exchanges import bare_exchanges
from humanmcp.protocol.validation.crash_guard import without_collection
from humanmcp.protocol.validation.message_finder import (
    FoundMessage,
    MessageFinder,
    clues_beside,
    cut_short,
    is_message,
    is_time,
    shape_of,
)
from humanmcp.protocol.validation.quoting import FILE_LAYERS
from humanmcp.protocol.validation.sides import (
    ABOVE,
    FIRST_ARROW,
    Head,
    marks_of,
    side_of_method,
    solved_sides,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator


class Origin(enum.Enum):
    """What a file has of a message."""

    LINE = "the line as it was sent"
    MEMBER = "an object that the program wrote anew, with its own white space"
    QUOTED = "the message in quotes or in another notation, so that places in it are unknown"
    BARE = "a method or a result without JSON-RPC around it: the version and the id are made up"
    REQUEST = "the whole file, which is one request or notification, perhaps broken"
    ANSWER = "the whole file, which is one response, perhaps broken"


class CapturedLine(NamedTuple):
    """One message, or what was found in its place.

    `number` is the line of the file, `column` the place in it, both from 1. `direction` is None if
    the file does not say it, NOTE for a line that is no message. `at` is the time as written,
    `level` that of the words of the program that wrote the file. `frame` is set for a line of our
    own transcript. `is_cut`: the program that wrote the file left out a part of the message.
    `more`: so many lines could not be read as this one, and are not kept.
    """

    number: int
    direction: Direction | None
    text: str
    at: str = ""
    frame: Frame | None = None
    level: str = ""
    is_cut: bool = False
    column: int = 1
    origin: Origin = Origin.LINE
    more: int = 0

    @property
    def raw(self) -> bytes:
        """The bytes of the line; `decode_lines` kept those that are not UTF-8."""
        try:
            return self.text.encode("utf-8", "surrogateescape")
        except UnicodeEncodeError:  # half of a surrogate pair, which stood in an escape
            return jsonrpc.encoded(self.text)

    @property
    def is_whole(self) -> bool:
        """Return True for a message, and for a line of ours in its place."""
        return self.level == FOREIGN or (not self.is_cut and self.direction in (*SPOKEN, None))


def decode_lines(content: bytes) -> str:
    """Decode a file of which single lines may not be UTF-8: `CapturedLine.raw` has their bytes."""
    wide, bom = utf16_of(content)
    if wide:
        return content[bom:].decode(wide, "replace")
    return content.decode("utf-8", "surrogateescape")


_CONTROL: Final = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\))")
"""Colours of a terminal."""
_SIDE: Final = "│┃║"
_BOXED: Final = re.compile(rf"^[ \t]*[{_SIDE}][ \t]*[\[{{\"}}\]]", re.MULTILINE)
_SIDES: Final = re.compile(
    rf"^[ \t]*[{_SIDE}]|[{_SIDE}][ \t]*$|[\u2500-\u257f]{{3,}}", re.MULTILINE
)
"""What a terminal draws around the JSON that it shows."""
_CODE: Final = (
    re.compile(r"^[ \t]*(```|~~~|\{code\b).*\n(?:.*\n)*?[ \t]*\1.*", re.MULTILINE),
    re.compile(r"^(?: {4}|\t).*", re.MULTILINE),
)
"""Code of a text that people read: in a fence, or indented."""
_TIME: Final = re.compile(
    r"(?P<at>\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?)"
)
_OURS: Final = re.compile(
    r"\[(?P<at>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3})\] (?P<side>IN|OUT|ERR): "
)
"""What `write_log_line` writes before each line."""
_PROMPT: Final = r"(?:PS [^>]*>|[A-Z]:\\[^>]*>|(?:[\w.-]+@[\w.-]+|\([\w.-]+\))[^$%#{]*[$%#]|[$%]) "
_SHELL: Final = re.compile(rf"{_PROMPT}.*|\^[CDZ]", re.DOTALL)
"""A command in a terminal; behind one, stdout and stderr of the server stand mixed."""
_HEAD: Final = re.compile(
    r".{0,200}?(?:HTTP/[\d.]+ (?P<status>\d{3})\b|\b[A-Z]{3,7} \S+ HTTP/\d).*", re.DOTALL
)
_TRACED: Final = re.compile(r"\* .*|[<>] ?|(?:[<>] )?[\w-]+: .*|[{}] \[\d+ bytes data\]")
"""What stands in a file with the first line of an HTTP message: header fields, and `curl -v`."""
_EVENT: Final = re.compile(r"(?:data|event|id|retry): ?(?P<text>.*)|:.*", re.DOTALL)
_FENCE: Final = re.compile(r"\s*(?:```|~~~|\{code\b)")
WEB_PAGE: Final = re.compile(r"\s*<(?:!doctype|html)\b", re.IGNORECASE)
_COMMENT: Final = re.compile(r"\s*(?:#|//)")
_LONGEST_TITLE: Final = 120
_TITLE: Final = re.compile(
    r"\W*(?:\w+\W{1,3}){1,4}(?<=:)\W*"
    r"|\W*(?:#+|//|==|--|\*+)\W*(?:\w+\W*){1,3}"
    r"|\W*\w+\W{0,3}\b(?:to|To|TO)\b\W{0,3}\w+\W*"
    r"|[^{]{0,60}?\w+\W{0,3}(?:-+>|=+>|→)\W{0,3}\w+\W*(?:\s[\w./-]+\s*)?"
    r"|[<>]{1,3} \w[^{]*"
)
"""A line that says what the next one is."""
_REPORT: Final = re.compile(r"\b[Ee]rror(?:: | \w)")
"""Words that quote a message in a sentence about a failure: it is told again, not sent."""
_LEVEL: Final = r"(?:trace|debug|info|notice|warn(?:ing)?|error|fatal|critical)"
_LOGGED: Final = re.compile(
    r"\W*(?:time=\W?)?(?:[\d/-]{8,10}.|[a-z]{3} +\d+ )?\d\d:\d\d:\d\d\S*\s.*"
    rf"|\W*\[{_LEVEL}\].*|{_LEVEL}:[\w.]+:.*|{_LEVEL}: [\w.]+\[\d+\]"
    r"|\W*\[[\w./ -]+\] .*|\s+at \S+ ?\(.*|Traceback \(.*|\s*[→←│├].*"
    r"|(?:GET|POST|DELETE) /.*|data: .*",
    re.DOTALL | re.IGNORECASE,
)
"""A line as logs have it, also those that hold no message: a time, a level, a stack, an arrow."""
_FAILED: Final = re.compile(r"\b(?:\w*(?:error|exception)|fatal|critical|failed)\b")
_LEVELS: Final = {
    **dict.fromkeys(("error", "exception", "fatal", "critical", "failed"), "error"),
    "warn": "warn",
    **dict.fromkeys(("trace", "debug", "info", "notice"), "log"),
}
"""What a line of a log is, by the words in it."""
_STAMP: Final = re.compile(r'"\w*(?:UnixNano|time_?stamp)"\s*:', re.IGNORECASE)
"""A member with the time of a record, which nobody types as an answer."""
_LEFT_OUT: Final = re.compile(r"(?:…|\.\.\.)[^{}…]{0,40}$")
"""The end of a line of which a program left out a part."""
_MOST_ABOVE: Final = 4
_BELOW: Final = 3
_FAR_BELOW: Final = 400
"""So many lines below its first one, a message may go on that can be read without a layer."""
_NEAR: Final = 200
"""So many characters before a message may hold its time."""
_MOST_UNREAD: Final = 1_000
"""The maximum number of messages that cannot be read and are kept."""
PASSED_OVER: Final = "passed"
"""The level of the line from which only the first value of each line was tried."""
FOREIGN: Final = "foreign"
"""The level of a frame that is no message of MCP: a prompt, a step, or an answer to one."""
_LINE_FEED: Final = re.compile("\n")
_BLANK: Final = re.compile(r"[ \t\ufeff]*+")
_HEADER: Final = r"Content-(?:Length: \d++|Type: [\w./=;, -]++)"
"""A header before a message; no line ends between the message before and the first one."""
_HEADER_LINE: Final = re.compile(_HEADER)
_ENDED: Final = re.compile(rf"[^\S\n]*+,?[^\S\n]*+(?:{_HEADER}\r?)?(?:\n|\Z)")
"""What may stand behind a message in its line: nothing, a comma, or that header."""
_FOLLOWED: Final = re.compile(rf"[}}\]](?:,|,?[^\S\n]?{_HEADER})\s*+\Z")
"""The end of a line, as it is written, in which a comma or that header stands."""
_MOST_LINES: Final = 10_000
"""The lines of a file that may tell that it is a log."""
_FIRST: Final = re.compile(r"[^\s\ufeff].*")
_ENVELOPE: Final = re.compile(r'"jsonrpc"\s*:')
_METHOD: Final = re.compile(r"""["']method["']\s*:\s*["']([^"']+)""")
_CALL: Final = re.compile("method|[Pp]arams")
"""What a call has, also without JSON-RPC around it."""
_OWN_ID: Final = re.compile(r"\s(\d+)\s*$")
_WAYS: Final = {"IN": Direction.IN, "OUT": Direction.OUT, "ERR": Direction.ERR}


@without_collection()
def read_capture(text: str) -> tuple[CapturedLine, ...]:
    """Read what was captured; () if the text is no capture, but perhaps one message."""
    if "\r" in text and "\n" not in text.strip():
        text = text.replace("\r\n", "\n").replace("\r", "\n")  # the only line ends there are
    first = _FIRST.search(text)
    if first is not None and is_transcript(first[0]):
        return tuple(_transcript(text.split("\n")))
    return _undone(text).lines()


def _undone(text: str) -> _Capture:
    """Undo what lets more messages be read in a file."""
    capture = _Capture(text)
    for layer in FILE_LAYERS:
        is_all = layer.is_hidden or not (capture.torn or capture.entries)
        doubtful = capture.text if is_all else capture.torn_lines(_BELOW)
        if not (doubtful and layer.mark.search(doubtful)):
            continue
        part = "" if is_all else capture.torn_lines(_FAR_BELOW)
        if 0 < len(part) < len(text) // 4:  # else, all of it costs little more
            before, after = (len(_Capture(one).entries) for one in (part, layer.undone(part)))
            if after <= before:
                continue
        if (plain := layer.undone(capture.text)) != capture.text:
            undone = _Capture(plain, capture.written)
            if len(undone.entries) > len(capture.entries):
                capture = undone
    return capture


def _transcript(lines: Iterable[str]) -> Iterator[CapturedLine]:
    """Read our own transcript. A crash may have torn a line, and a person may have changed one."""
    for number, written in enumerate(lines, 1):
        line = written.removeprefix("\ufeff")
        with suppress(ValueError, RecursionError):
            frame = from_json(line)
            yield captured_line(frame)._replace(number=number, column=1, frame=frame)
            continue
        value = _decoded(line)
        if _is_frame(value) and value["way"] in tuple(_LABELS):
            way, raw = Direction(value["way"]), value["raw"]
            read = CapturedLine(number, way, raw if isinstance(raw, str) else parts_of(line)["raw"])
            yield read._replace(frame=Frame(number, "", way, read.raw))
        elif line.strip():
            yield CapturedLine(number, None if is_message(value) else Direction.NOTE, line)


def is_transcript(first: str) -> bool:
    """Return True if this first line of a file is one of our own transcript."""
    return _is_frame(_decoded(first.removeprefix("\ufeff")))


def _is_frame(value: object) -> bool:
    return isinstance(value, dict) and {"seq", "way", "raw"} <= value.keys()


def read_recording(lines: Iterable[str], time: Callable[[str], str]) -> Iterator[Frame]:
    """Read a transcript or any other capture as frames; `time` converts a time as written.

    The note of each line of another capture says where it is in the file.

    A transcript is read line by line, however long.
    """
    lines, before, first = iter(lines), list[str](), ""
    for first in lines:
        if first.strip():
            break
        before.append(first)
    lines = chain(before, (first,), lines)
    is_ours = is_transcript(first)
    yield from frames_of(_transcript(lines) if is_ours else read_capture("\n".join(lines)), time)


def frames_of(captured: Iterable[CapturedLine], time: Callable[[str], str]) -> Iterator[Frame]:
    """Yield a frame for each captured line, with unique numbers: its own in a transcript."""
    last = 0
    for line, direction in with_senders(captured):
        frame = line.frame or _frame(last + 1, line, direction, time)
        last = max(last + 1, frame.seq)
        yield frame if frame.seq == last else frame._replace(seq=last)


def _frame(seq: int, line: CapturedLine, direction: Direction, time: Callable[[str], str]) -> Frame:
    """Return a captured line as a frame."""
    if direction is Direction.NOTE or line.is_cut:
        return Frame(seq, "", Direction.NOTE, line.raw, note=_place_of(line))
    at = ""
    with suppress(ValueError):  # in a notation that nobody knows
        at = time(line.at) if line.at else ""
    is_spaced = line.origin in (Origin.MEMBER, *ALONE) or "\n" in line.text
    raw = jsonrpc.encoded(jsonrpc.compact(line.text)) if is_spaced else line.raw
    return Frame(seq, at, direction, raw, note=_place_of(line))


_CUT: Final = "cut"
_ORIGINS: Final = {"bare": Origin.BARE, "request": Origin.REQUEST, "answer": Origin.ANSWER}
ALONE: Final = (Origin.REQUEST, Origin.ANSWER)
_PLACED: Final = re.compile(rf"{PLACE}(\d{{1,9}}):(\d{{1,9}}) ?([a-z]*) ?(\d{{0,9}})", re.ASCII)


def _place_of(line: CapturedLine) -> str:
    """Write where a line was in its file, and what it is; `captured_line` reads it."""
    what = next((one for one, origin in _ORIGINS.items() if line.origin is origin), line.level)
    what = _CUT if line.is_cut else what
    more = f" {line.more}" if line.more else ""
    return f"{PLACE}{line.number}:{line.column} {what}{more}".rstrip()


def captured_line(frame: Frame) -> CapturedLine:
    """Return the line of a file that was kept as a frame, with its place there.

    Without a place, a note is no line that could not be read.
    """
    direction = Direction.NOTE if is_foreign(frame) else frame.direction
    is_note, text = direction is Direction.NOTE, frame.raw.decode("utf-8", "surrogateescape")
    found = _PLACED.fullmatch(frame.note)
    kept = FOREIGN if direction is not frame.direction else "log"
    line, column, what, more = found.groups() if found else (frame.seq, 1, kept, 0)
    return CapturedLine(
        int(line),
        None if what == _CUT else direction,
        text,
        frame.at,
        level=what if is_note and what != _CUT else "",
        is_cut=what == _CUT,
        column=int(column),
        origin=_ORIGINS.get(what, Origin.LINE),
        more=int(more or 0),
    )


def with_senders(lines: Iterable[CapturedLine]) -> Iterator[tuple[CapturedLine, Direction]]:
    """Yield each line with its direction, which follows from those before where none is said."""
    conversation = ConversationState()
    for line in lines:
        direction = line.direction or speaker(conversation, line.raw)
        if direction in SPOKEN and not (line.is_cut or line.frame):
            for message in jsonrpc.items_in(line.raw):
                if isinstance(message, Message):
                    conversation.observe(direction, message)
        yield line, direction


def speaker(conversation: ConversationState, raw: bytes) -> Direction:
    """Guess the sender of a line without a direction, by what only one side may send.

    A response comes from the side that got the request; otherwise it counts as the server's. If
    both sides wait for this id, the server's wait is within that of the client, and ends first.
    """
    message = jsonrpc.items_in(raw)[0]
    if not isinstance(message, Message):
        # Servers sometimes print other text, clients hardly ever.
        named = _METHOD.search(message.text)
        return Direction.IN if named and side_of_method(named[1]) >= 0 else Direction.OUT
    if message.kind.is_answer or carries_answer(message.body):
        is_clients = message.id is not None and conversation.answered_by(Direction.OUT, message.id)
        return Direction.IN if is_clients else Direction.OUT
    return Direction.OUT if side_of_method(message.method) < 0 else Direction.IN


class _Entry(NamedTuple):
    """A message that is to be captured: the indexes of its first and last line, and its column."""

    line: int
    last: int
    column: int
    found: FoundMessage
    direction: Direction | None = None
    above: tuple[str, ...] = ()
    """The lines above, as far as they belong to no other message."""
    is_doubtful: bool = False
    """It is no message, and only its context tells that it was sent as one."""


def _lines_of(text: str) -> list[str]:
    """Return the lines of a text, without their ends."""
    return [line.removesuffix("\r") for line in text.split("\n")]


class _Capture:
    """Decides what a file is."""

    def __init__(self, text: str, written: list[str] | None = None) -> None:
        self.written = written or _lines_of(text)
        """The lines of the file, before a layer of the whole file was undone."""
        self._is_undone = written is not None
        plain = _CONTROL.sub("", text.replace("\x1e", ""))  # which separates records
        if not plain.isascii() and _BOXED.search(plain):
            plain = _SIDES.sub(lambda drawn: " " * len(drawn[0]), plain)
        self.text = plain
        is_changed = self._is_undone or plain is not text
        self._lines = _lines_of(plain) if is_changed else self.written
        self._ends = array("I", (found.start() for found in _LINE_FEED.finditer(plain)))
        is_ours = any(f"] {side}: " in text for side in _WAYS)
        matches = enumerate(map(_OURS.match, self._lines if is_ours else ()))
        self._ours = {at: match for at, match in matches if match}
        self._finder = MessageFinder(plain)
        self._unread = array("I")
        """The lines of what cannot be read; of the first ones, it is kept."""
        self._covered = bytearray(len(self._lines))
        """Which lines belong to a message, or say what it is."""
        entries = list(self._kept(self._located(self._finder)))
        self.torn = [one for one in entries if one.found.is_torn]
        """The messages that begin and cannot be read."""
        self.entries = [one for one in entries if not one.found.is_torn]
        self._cover(self.entries)
        self._titles: set[int] = set()
        """The lines that say what the message below is."""
        self.entries = list(map(self._with_title, self.entries))
        prose = self._prose()
        for at in chain(self._titles, prose):
            self._covered[at] = True
        is_drawn = all(self.written[one.line] != self._lines[one.line] for one in entries)
        self._is_code = is_drawn or bool(prose)
        self._has_head = "HTTP/" in plain and any(map(_HEAD.fullmatch, self._lines))
        self._has_events = plain.startswith("data:") or "\ndata:" in plain

    def _line_of(self, place: int) -> int:
        """Return the index of the line in which a place is."""
        return bisect_left(self._ends, place)

    def _start_of(self, line: int) -> int:
        return self._ends[line - 1] + 1 if line else 0

    def _located(self, messages: Iterable[FoundMessage]) -> Iterator[_Entry]:
        """Yield messages with their lines."""
        for found in messages:
            line, last = map(self._line_of, (found.start, max(found.start, found.end - 1)))
            ours = self._ours.get(line)  # as it was sent
            if found.is_torn and not ours and _LEFT_OUT.search(self._lines[last][-_NEAR:]):
                found = cut_short(found)  # noqa: PLW2901
            direction = _WAYS[ours["side"]] if ours else None
            if found.clues[0] == "data:":  # an event stream is the server's
                direction = Direction.OUT
            if direction is not Direction.ERR and not _REPORT.search(found.clues[0]):
                column = found.start + found.inner - self._start_of(line) + 1
                yield _Entry(line, last, column, found, direction)

    def _kept(self, entries: Iterable[_Entry]) -> Iterator[_Entry]:
        """Yield entries, of what is no message the first ones; the lines of the others are told."""
        for one in entries:
            if not (one.is_doubtful or one.found.is_torn) or self._keeps(one.line):
                yield one
            else:
                self._cover((one,))

    def _keeps(self, line: int) -> bool:
        """Return True for one of the first lines that cannot be read."""
        self._unread.append(line)
        return len(self._unread) <= _MOST_UNREAD

    def _cover(self, entries: Iterable[_Entry]) -> None:
        for first, last in dict.fromkeys((one.line, one.last) for one in entries):
            self._covered[first : last + 1] = b"\1" * (last + 1 - first)

    def _with_title(self, entry: _Entry) -> _Entry:
        """Add the lines above to the context of a message; one may say what the message is."""
        above, is_fenced = list[str](), False
        for at in range(entry.line - 1, max(-1, entry.line - 1 - _MOST_ABOVE), -1):
            if self._covered[at] or self._finder.is_one_value:
                break
            line, is_next = self._lines[at], at == entry.line - 1
            is_fence = _FENCE.match(line) is not None
            if is_fence and not is_next:
                break
            if is_fence or not line.strip():
                is_fenced |= is_fence
                continue
            if is_fenced and not _is_title(line):
                break
            if is_next and _is_title(line) and marks_of(line):
                self._titles.add(at)
            above.append(f"{ABOVE}{shape_of(line[:_LONGEST_TITLE])}")
        return entry._replace(above=tuple(above)) if above else entry

    def _prose(self) -> set[int]:
        """Return the lines around the code of a text for people, if all messages are in it."""
        bare = {one.line for one in self.entries if not one.found.clues[0]}
        for code in _CODE if bare else ():
            if not code.search(self.text):
                continue
            outside = _lines_of(code.sub(lambda found: "\n" * found[0].count("\n"), self.text))
            if any(line[:1].strip() for line in outside) or "`" in self.text:
                prose = {at for at, line in enumerate(outside) if line.strip()}
                if len(prose) < len(outside) and bare.isdisjoint(prose):
                    return prose
        return set()

    def torn_lines(self, count: int) -> str:
        """Return the lines in which a message is torn, each with those below: so many."""
        if len(self._unread) > _MOST_UNREAD:
            return self.text
        parts, done = list[str](), 0
        for one in self.torn:
            first, done = max(done, one.line), max(done, one.line + count)
            parts += self._lines[first:done]
        return "\n".join(parts)

    def lines(self) -> tuple[CapturedLine, ...]:
        """Return what was captured; () if the text is something else."""
        lines = self._read()
        more = self._left_out() if lines else ()
        return tuple(sorted((*lines, *more), key=lambda one: one.number))

    def _left_out(self) -> Iterator[CapturedLine]:
        """Yield the first line of those that are not kept, and the first that was not tried."""
        others = self._unread[_MOST_UNREAD:]
        more = sum(line != above for above, line in pairwise(others))
        for line in others[:1]:
            yield CapturedLine(line + 1, Direction.NOTE, self.written[line], more=more)
        if (at := self._finder.passed_over) >= 0:
            line = self._line_of(at)
            yield CapturedLine(line + 1, Direction.NOTE, self.written[line], level=PASSED_OVER)

    def _read(self) -> tuple[CapturedLine, ...]:
        if self._ours or (not self.entries and any(map(self._is_logged, self.torn))):
            return tuple(self._log())
        if exchanges := tuple(self._exchanges()):
            return exchanges
        return tuple(self._talk() if self.entries else self._words())

    def _talk(self) -> Iterable[CapturedLine]:
        """Return the messages with what is beside them; () for one that somebody typed."""
        has_method = any(one.found.head.method for one in self.entries)
        is_story = len(self.entries) > 1 or has_method
        if self._finder.is_one_value:
            clues = chain.from_iterable(one.found.clues for one in self.entries)
            is_story = has_method or any(clue and clue[0] != "/" for clue in clues)
            if self._finder.is_result:
                is_story = any("=string" not in one.found.clues for one in self.entries)
            return self._solved([*self.entries, *self.torn]) if is_story else ()
        wrapped = sum(one.found.is_wrapped for one in self.entries)
        bare = len(self.entries) - wrapped
        above = {mark for one in self.entries for line in one.above for mark in marks_of(line)}
        is_titled = len(self._titles) > bare / 2 or (
            any((name, -sign) in above for name, sign in above)
            and all(one.above for one in self.entries)
        )
        has_command = any(_SHELL.fullmatch(line) for _at, line in self._uncovered())
        is_mixed = self._has_head or is_titled or has_command
        is_even = wrapped == bare and self.entries[0].found.is_wrapped
        if not (self._is_code or is_mixed or wrapped > bare or is_even):
            return self._pipe()
        is_log = is_mixed or (not self._is_code and self._is_logged(self.entries[0]))
        return self._log() if is_story or is_log else ()

    def _is_logged(self, entry: _Entry) -> bool:
        """Return True if only a log has a message in this way, and nobody who types an answer."""
        words, *others = entry.found.clues
        if not entry.found.is_wrapped:
            return False
        has_arrow = any(name not in range(FIRST_ARROW) for name, _ in marks_of(words))
        return bool(others) or has_arrow or bool(_LOGGED.match(self._lines[entry.line][:_NEAR]))

    def _uncovered(self) -> Iterator[tuple[int, str]]:
        """Yield the lines that belong to no message."""
        at = -1
        while (at := self._covered.find(0, at + 1)) >= 0:
            yield at, self._lines[at]

    # -- a log

    def _log(self) -> list[CapturedLine]:
        self._cover(self.torn)
        entries = [*self.entries, *self.torn, *self._kept(self._remnants())]
        self._cover(entries)
        return [*self._solved(entries), *self._notes()]

    def _solved(self, entries: list[_Entry]) -> Iterator[CapturedLine]:
        entries = sorted(entries, key=lambda one: (one.line, one.column))
        sides = solved_sides(
            [
                (None if one.is_doubtful else one.found.head, (*one.found.clues, *one.above))
                for one in entries
            ]
        )
        for one, side in zip(entries, sides, strict=True):
            found, line = one.found, self._lines[one.line]
            direction = one.direction or (side if found.is_wrapped or one.above else None)
            if one.is_doubtful and direction is None:
                yield self._note(one.line, line)
                continue
            time = self._ours.get(one.line) or (
                None if found.at else _TIME.search(line, max(0, one.column - _NEAR), one.column)
            )
            is_quoted = not (
                self.written[one.line].startswith(found.text, one.column - 1)
                if self._is_undone
                else self.text.startswith(found.text, found.start)
            )
            origin = Origin.MEMBER if found.clues[-1][:1] == "/" else Origin.LINE
            origin = Origin.QUOTED if is_quoted else origin
            at, place = time["at"] if time else found.at, (found.is_cut, one.column, origin)
            yield CapturedLine(one.line + 1, direction, found.text, at, None, "", *place)

    def _remnants(self) -> Iterator[_Entry]:
        """Yield what is no message, but stands where the others do: it was sent, too."""
        members = {clue for one in self.entries for clue in one.found.clues[1:] if clue[:1] == "/"}
        contexts = {one.found.clues[0] for one in self.entries} - {""}
        waiting = {one.found.head.id: one for one in self.entries if one.found.head.method}
        for at, line in enumerate(self._lines) if self._ours else self._uncovered():
            ours = self._ours.get(at)
            is_error = bool(ours and ours["side"] == "ERR")
            if ours and (is_error or not self._covered[at]):
                found = FoundMessage(0, 0, line[ours.end() :], (ours["side"],))
                way = _WAYS[ours["side"]]
                yield _Entry(at, at, ours.end() + 1, found, way, is_doubtful=not is_error)
            elif self._covered[at]:
                continue
            elif line[:1] == "{" and members and isinstance(value := _decoded(line), dict):
                torn = (one for one, part in value.items() if str(part)[:1] in ("{", "["))
                if name := next(chain((one for one in value if f"/{one}" in members), torn), ""):
                    text = value[name] if isinstance(value[name], str) else parts_of(line)[name]
                    found = FoundMessage(0, 0, text, ("", *clues_beside(line, name)))
                    yield _Entry(at, at, 1, found, is_doubtful=True)
            elif (brace := line.find("{")) > 0 and shape_of(line[:brace]) in contexts:
                found = FoundMessage(0, 0, line[brace:], (shape_of(line[:brace]),))
                yield _Entry(at, at, brace + 1, found, is_doubtful=True)
            elif waiting and _is_title(line) and (own := _OWN_ID.search(line)):
                asked = waiting.get(int(own[1]))
                if asked and asked.line < at:  # of a response, only the id is told
                    answer = f'{{"jsonrpc":"2.0","id":{own[1]},"result":{{}}}}'
                    head = Head("", int(own[1]), is_answer=True)
                    clues = (shape_of(line[: own.start()]),)
                    found = FoundMessage(0, 0, answer, clues, head=head, is_cut=True)
                    yield _Entry(at, at, 1, found)

    def _notes(self) -> Iterator[CapturedLine]:
        """Yield the other lines of a log; those of a web page say nothing about it."""
        is_page = WEB_PAGE.match(self.text) is not None
        for at, line in self._uncovered():
            event = _EVENT.fullmatch(line) if self._has_events else None
            is_told = event and not (event["text"] or "").startswith("/")
            if line.strip() and not (is_told or _FENCE.match(line)):
                yield self._note(at, line, "log" if is_page else "http" if event else "")

    def _note(self, at: int, line: str, level: str = "") -> CapturedLine:
        low = line.lower()
        head = _HEAD.fullmatch(line) if self._has_head else None
        level = level or next((meant for word, meant in _LEVELS.items() if word in low), "")
        if level == "error" and not _FAILED.search(low):
            level = "log"
        if level != "error" and (head or (self._has_head and _TRACED.fullmatch(line))):
            level = "error" if head and (head["status"] or "") >= "400" else "http"
        elif not level and _SHELL.fullmatch(line):
            level = "shell"
        as_written = line if self._lines is self.written else self.written[at]
        return CapturedLine(at + 1, Direction.NOTE, as_written, level=level)

    # -- other files

    def _pipe(self) -> tuple[CapturedLine, ...]:
        """Return the lines of a pipe; () if there is one message only."""
        alone = {one.line: one for one in self.entries if self._is_alone(one)}
        long = sum(one.last > one.line for one in alone.values())
        lines: list[CapturedLine] = []
        self._unread, at, is_framed = array("I"), 0, False
        while at < len(self.written):
            line, entry, number = self.written[at], alone.get(at), at + 1
            if entry and (long == len(alone) or entry.last == at):
                at = entry.last
                if at >= number or _FOLLOWED.search(line):
                    line = entry.found.text
            is_header = _HEADER_LINE.fullmatch(line) is not None
            is_said = line.strip() and not _COMMENT.match(line)
            is_said = is_said and not (is_header and is_framed)  # once for all of them
            is_framed |= is_header
            if is_said and (entry or self._keeps(at)):
                column = entry.column if entry else 1
                lines.append(CapturedLine(number, None, line, column=column))
            at += 1
        for at, (one, below) in enumerate(pairwise(lines)):
            if is_framed and _HEADER_LINE.fullmatch(one.text):  # it is of the message below
                lines[at] = one._replace(direction=speaker(ConversationState(), below.raw))
            elif "-32700" in below.text and not is_message(_decoded(one.text)):
                lines[at] = one._replace(direction=Direction.IN)  # the server could not read it
        is_more = len(self.entries) > 1 or (len(alone) > long and len(lines) > len(alone))
        return tuple(lines) if is_more else ()

    def _is_alone(self, entry: _Entry) -> bool:
        start, end = entry.found.start, entry.found.end
        is_first = _BLANK.fullmatch(self.text, start - entry.column + 1, start)
        return bool(is_first and not entry.found.is_wrapped and _ENDED.match(self.text, end))

    def _words(self) -> Iterator[CapturedLine]:
        """Yield the lines of a log without messages."""
        first = self._lines[:_MOST_LINES]
        is_log = self._has_head or any(_LOGGED.match(line[:_NEAR]) for line in first)
        if not _ENVELOPE.search(self.text) and (is_log or _has_records(self.text)):
            for one in self._notes():
                is_known = one.level in ("error", "warn", "http", "log")
                yield one if is_known else one._replace(level="log")

    def _exchanges(self) -> Iterator[CapturedLine]:
        """Yield requests and results that have no JSON-RPC around them."""
        bare = all(one.found.head.is_bare for one in self.entries)
        if not (bare and _CALL.search(self.text)):
            return
        for one in bare_exchanges(self.text, self._finder.values()):
            line = self._line_of(one.start)
            side = Direction.IN if one.side > 0 else Direction.OUT
            column = one.start - self._start_of(line) + 1
            yield CapturedLine(line + 1, side, one.text, column=column, origin=Origin.BARE)


def _is_title(line: str) -> bool:
    """Return True for a line that says what the next one is."""
    return len(line) <= _LONGEST_TITLE and _TITLE.fullmatch(line) is not None


def _has_records(text: str) -> bool:
    """Return True for JSON in which each object has a time, as logs have it."""
    values = [_decoded(line) for line in text.split("\n", 8)[:8] if line.strip()]
    is_trace = _STAMP.search(text) is not None  # the times are further below
    if not all(isinstance(one, dict) for one in values):
        whole = _decoded(text)
        values = whole[:8] if isinstance(whole, list) else [whole] if is_trace else []
    return bool(values) and all(
        isinstance(one, dict) and (is_trace or any(map(is_time, one))) for one in values
    )


def _decoded(text: str) -> Any:  # noqa: ANN401 - any JSON value
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


_LABELS: Final = {Direction.IN: "IN", Direction.OUT: "OUT", Direction.ERR: "ERR"}


def write_log_line(frame: Frame, time: str) -> str | None:
    """Write a frame as one line, without a line feed; None if a log does not contain it.

    A carriage return at the end is removed, and blank lines are omitted.
    """
    text = frame.text.rstrip("\r")
    if frame.direction not in _LABELS or not text.strip():
        return None
    return f"[{time}] {_LABELS[frame.direction]}: {text}"
