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
from bisect import bisect_right
from contextlib import suppress
from itertools import accumulate, chain, pairwise
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from humanmcp.protocol.conversation.state import ConversationState
from humanmcp.protocol.conversation.transcript import PLACE, Direction, Frame, from_json
from humanmcp.protocol.json import jsonrpc
from humanmcp.protocol.json.encodings import utf16_of
from humanmcp.protocol.json.jsonrpc import Message, carries_answer, parts_of
from humanmcp.protocol.json.tree import follow
from humanmcp.protocol.validation.bare_exchanges import bare_exchanges
from humanmcp.protocol.validation.message_finder import (
    FoundMessage,
    MessageFinder,
    clues_beside,
    has_time,
    is_message,
    shape_of,
)
from humanmcp.protocol.validation.sides import (
    ABOVE,
    FIRST_ARROW,
    SideSolver,
    marks_of,
    side_of_method,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence


class Origin(enum.Enum):
    """What a file has of a message."""

    LINE = "the line as it was sent"
    MEMBER = "an object that the program wrote anew, with its own white space"
    QUOTED = "the message in quotes or in another notation, so that places in it are unknown"
    BARE = "a method or a result without JSON-RPC around it: the version and the id are made up"


class CapturedLine(NamedTuple):
    """One message, or what was found in its place.

    `number` is the line of the file, `column` the place in it, both from 1. `direction` is None if
    the file does not say it, NOTE for a line that is no message. `at` is the time as written,
    `level` that of the words of the program that wrote the file. `frame` is set for a line of our
    own transcript. `is_cut`: the program that wrote the file left out a part of the message.
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

    @property
    def raw(self) -> bytes:
        """The bytes of the line; `decode_lines` kept those that are not UTF-8."""
        try:
            return self.text.encode("utf-8", "surrogateescape")
        except UnicodeEncodeError:  # half of a surrogate pair, which stood in an escape
            return jsonrpc.encoded(self.text)


def decode_lines(content: bytes) -> str:
    """Decode a file of which single lines may not be UTF-8: `CapturedLine.raw` has their bytes."""
    wide, bom = utf16_of(content)
    if wide:
        return content[bom:].decode(wide, "replace")
    return content.decode("utf-8", "surrogateescape")


_COLOUR: Final = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\))")
_SIDE: Final = "│┃║"
_BOXED: Final = re.compile(rf"^[ \t]*[{_SIDE}][ \t]*[\[{{\"}}\]]", re.MULTILINE)
_SIDES: Final = re.compile(
    rf"^[ \t]*[{_SIDE}]|[{_SIDE}][ \t]*$|[\u2500-\u257f]{{3,}}", re.MULTILINE
)
"""What a terminal draws around the JSON that it shows."""
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
_TRACED: Final = re.compile(r"\* .*|[<>] ?|[<>] [\w-]+:.*|[{}] \[\d+ bytes data\]")
"""What a client of HTTP tells beside the heads and the body."""
_EVENT: Final = re.compile(r"(?P<field>data|event|id|retry): ?(?P<text>.*)|:.*", re.DOTALL)
_FENCE: Final = re.compile(r"\s*(?:```|~~~)", re.DOTALL)
_COMMENT: Final = re.compile(r"\s*(?:#|//)")
_INDENTED: Final = re.compile(r" {4}|\t")
_LONGEST_TITLE: Final = 120
_TITLE: Final = re.compile(
    r"\W*(?:\w+\W{1,3}){1,4}(?<=:)\W*"
    r"|\W*(?:#+|//|==|--|\*+)\W*(?:\w+\W*){1,3}"
    r"|\W*\w+\W{0,3}\b(?:to|To|TO)\b\W{0,3}\w+\W*"
    r"|[^{]{0,60}?\w+\W{0,3}(?:-+>|=+>|→)\W{0,3}\w+\W*(?:\s[\w./-]+\s*)?"
)
"""A line that says what the next one is."""
_REPORT: Final = re.compile(r"\b[Ee]rror(?:: | \w)")
"""Words that quote a message in a sentence about a failure: it is told again, not sent."""
_LEVEL: Final = r"(?:trace|debug|info|notice|warn(?:ing)?|error|fatal|critical)"
_STATED: Final = re.compile(
    rf"(?:\[|(?i:level)\W{{1,4}})(?P<level>(?i:{_LEVEL}))\b"
    r"|\b(?P<shouted>TRACE|DEBUG|INFO|WARN(?:ING)?|ERROR|FATAL|CRITICAL)\b"
)
_LOGGED: Final = re.compile(
    r"\W*(?:time=\W?)?(?:[\d/-]{8,10}.|[a-z]{3} +\d+ )?\d\d:\d\d:\d\d\S*\s.*"
    rf"|\W*\[{_LEVEL}\].*|{_LEVEL}:[\w.]+:.*|{_LEVEL}: [\w.]+\[\d+\]"
    r"|\W*\[[\w./ -]+\] .*|\s+at \S+ ?\(.*|Traceback \(.*|\s*[→←│├].*"
    r"|(?:GET|POST|DELETE) /.*|data: .*",
    re.DOTALL | re.IGNORECASE,
)
"""A line as logs have it, also those that hold no message: a time, a level, a stack, an arrow."""
_FAILED: Final = re.compile(r"(?i)\b(?:\w*error|\w*exception|fatal|critical|failed)\b")
_MOST_ABOVE: Final = 4
_NEAR: Final = 200
"""So many characters before a message may hold its time."""
_NARROWEST: Final = 40
"""The least width of a terminal whose lines are joined."""
_MOST_CHANCE: Final = 3
"""So many lines have the full width of a terminal, and not by chance."""
_ENVELOPE: Final = re.compile(r'"jsonrpc"\s*:')


def read_capture(text: str) -> tuple[CapturedLine, ...]:
    """Read what was captured; () if the text is no capture, but perhaps one message."""
    if "\n" not in text.strip():
        text = text.replace("\r", "\n")  # the only line ends that there are
    first = next(filter(str.strip, text.split("\n", 8)), "").removeprefix("\ufeff")
    if is_transcript(first):
        return tuple(_transcript(text.split("\n")))
    capture = _Capture(text)
    width = _width_of(text.split("\n")) if capture.has_torn else 0
    if width:
        begins, whole = _unwrapped(text.split("\n"), width)
        if (better := _Capture(whole)).count > capture.count:
            return tuple(
                one._replace(
                    number=begins[one.number - 1] + 1 + (one.column - 1) // width,
                    column=(one.column - 1) % width + 1,
                )
                for one in better.lines()
            )
    return capture.lines()


def _width_of(lines: Sequence[str]) -> int:
    """Return the width of the terminal from which a text was copied; 0 if its lines end freely."""
    width = max(map(len, lines))
    is_full = sum(len(line) == width for line in lines) >= _MOST_CHANCE
    return width if is_full and width >= _NARROWEST else 0


def _unwrapped(lines: Sequence[str], width: int) -> tuple[list[int], str]:
    """Join the lines that a terminal broke. Return the indexes of the first lines, and the text."""
    begins = [at for at in range(len(lines)) if not at or len(lines[at - 1]) < width]
    ends = [*begins[1:], len(lines)]
    return begins, "\n".join(
        "".join(lines[first:last]) for first, last in zip(begins, ends, strict=True)
    )


def _transcript(lines: Iterable[str]) -> Iterator[CapturedLine]:
    """Read our own transcript, of which a crash may have torn a line."""
    for number, line in enumerate(lines, 1):
        value = _decoded(line)
        if _is_frame(value):
            with suppress(ValueError):
                frame = from_json(line)
                yield CapturedLine(number, frame.direction, frame.text, frame.at, frame)
                continue
            way = {"in": Direction.IN, "out": Direction.OUT}.get(value["way"], Direction.NOTE)
            yield CapturedLine(number, way, parts_of(line)["raw"])
        elif line.strip():
            yield CapturedLine(number, Direction.NOTE, line)


def is_transcript(first: str) -> bool:
    """Return True if this first line of a file is one of our own transcript."""
    return _is_frame(_decoded(first))


def _is_frame(value: object) -> bool:
    return isinstance(value, dict) and {"seq", "way", "raw"} <= value.keys()


def read_recording(
    lines: Iterable[str], time: Callable[[str], str], *, placed: bool = False
) -> Iterator[Frame]:
    """Read a transcript or any other capture as frames; `time` converts a time as written.

    With `placed`, the note of each message of another capture says where it is in the file.

    Lines of a transcript that a crash has cut are skipped. It is read line by line, however long.
    """
    lines = iter(lines)
    first = next(filter(str.strip, lines), "").removeprefix("\ufeff")
    if not is_transcript(first):
        text = "\n".join(chain((first,), lines))
        yield from _frames(read_capture(text), time, placed=placed)
        return
    for line in chain((first,), lines):
        with suppress(ValueError, RecursionError):
            yield from_json(line)


def _frames(
    lines: Iterable[CapturedLine], time: Callable[[str], str], *, placed: bool
) -> Iterator[Frame]:
    """Return captured lines as frames."""
    for seq, (line, direction) in enumerate(with_senders(lines), 1):
        if direction is Direction.NOTE or line.is_cut:
            yield Frame(seq, "", Direction.NOTE, b"", note=line.text)
            continue
        at = ""
        with suppress(ValueError):  # in a notation that nobody knows
            at = time(line.at) if line.at else ""
        is_member = line.origin is Origin.MEMBER
        raw = jsonrpc.encoded(jsonrpc.compact(line.text)) if is_member else line.raw
        place = f"{PLACE}{line.number}:{line.column}" if placed else ""
        yield Frame(seq, at, direction, raw, note=place)


def with_senders(lines: Iterable[CapturedLine]) -> Iterator[tuple[CapturedLine, Direction]]:
    """Yield each line with its direction, which follows from those before where none is said."""
    conversation = ConversationState()
    for line in lines:
        direction = line.direction or speaker(conversation, line.raw)
        if direction in (Direction.IN, Direction.OUT) and not line.is_cut:
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


_METHOD: Final = re.compile(r"""["']method["']\s*:\s*["']([^"']+)""")


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


class _Capture:
    """Decides what a file is."""

    def __init__(self, text: str) -> None:
        plain = _COLOUR.sub("", text)
        is_drawn = _BOXED.search(plain) is not None
        if is_drawn:
            plain = _SIDES.sub(lambda drawn: " " * len(drawn[0]), plain)
        self._text = plain
        self._written = [line.removesuffix("\r") for line in text.split("\n")]
        parts = plain.split("\n")
        self._lines = [line.removesuffix("\r") for line in parts]
        self._starts = [0, *accumulate(len(line) + 1 for line in parts)]
        self._ours = {
            at: match for at, line in enumerate(self._lines) if (match := _OURS.match(line))
        }
        self._finder = MessageFinder(plain)
        found = [one for one in map(self._entry, self._finder) if not self._is_told(one)]
        self._entries = [one for one in found if not one.found.is_torn]
        self._torn = [one for one in found if one.found.is_torn]
        self._covered = {at for one in self._entries for at in range(one.line, one.last + 1)}
        self._is_code = [True] * len(self._lines) if is_drawn else self._code()
        self._titles: set[int] = set()
        """The lines that say what the message below is."""
        self._entries = list(map(self._with_title, self._entries))
        self._covered |= self._titles
        self._has_head = any(map(_head, self._lines))
        self._has_events = any(line.startswith("data:") for line in self._lines)

    @property
    def has_torn(self) -> bool:
        """Whether a message begins that cannot be read."""
        return bool(self._torn)

    @property
    def count(self) -> int:
        """The number of messages."""
        return len(self._entries)

    def _entry(self, found: FoundMessage) -> _Entry:
        line = bisect_right(self._starts, found.start) - 1
        last = bisect_right(self._starts, max(found.start, found.end - 1)) - 1
        ours = self._ours.get(line)
        direction = _WAYS[ours["side"]] if ours else None
        if found.clues[0] == "data:":  # an event stream is the server's
            direction = Direction.OUT
        return _Entry(
            line, last, found.start + found.inner - self._starts[line] + 1, found, direction
        )

    def _is_told(self, entry: _Entry) -> bool:
        """Return True for a message that a program only tells again, in a sentence of its own."""
        return entry.direction is Direction.ERR or bool(_REPORT.search(entry.found.clues[0]))

    def _with_title(self, entry: _Entry) -> _Entry:
        """Add the line above to the context of a message if it says what the message is."""
        above = list[str]()
        for at in range(entry.line - 1, max(-1, entry.line - 1 - _MOST_ABOVE), -1):
            line = self._lines[at]
            if at in self._covered or _FENCE.match(line) or self._finder.is_one_value:
                break
            if not line.strip():
                continue
            if at == entry.line - 1 and _is_title(line) and marks_of(line):
                self._titles.add(at)
            above.append(line[:_LONGEST_TITLE])
        return entry._replace(above=tuple(f"{ABOVE}{shape_of(line)}" for line in above))

    def _code(self) -> list[bool] | None:
        """Return which lines are code, if all messages are in code of Markdown, else None."""
        is_code, fenced = False, list[bool]()
        for line in self._lines:
            is_fence = _FENCE.match(line) is not None
            is_code ^= is_fence
            fenced.append(is_code and not is_fence)
        starts = [one.line for one in self._entries if not one.found.clues[0]]
        if any(map(_FENCE.match, self._lines)) and all(fenced[at] for at in starts):
            return fenced
        has_prose = any(line and not line[0].isspace() for line in self._lines)
        if starts and has_prose and all(_INDENTED.match(self._lines[at]) for at in starts):
            return [_INDENTED.match(line) is not None for line in self._lines]
        return None

    def lines(self) -> tuple[CapturedLine, ...]:
        """Return what was captured; () if the text is something else."""
        if self._ours or (not self._entries and any(map(self._is_logged, self._torn))):
            return tuple(self._log())
        if exchanges := tuple(self._exchanges()):
            return exchanges
        return tuple(self._talk() if self._entries else self._words())

    def _talk(self) -> Iterable[CapturedLine]:
        """Return the messages with what is beside them; () for one that somebody typed."""
        has_method = any("method" in one.found.head for one in self._entries)
        is_story = len(self._entries) > 1 or has_method
        if self._finder.is_one_value:
            clues = chain.from_iterable(one.found.clues for one in self._entries)
            is_story = has_method or any(clue and clue[0] != "/" for clue in clues)
            return self._solved([*self._entries, *self._torn]) if is_story else ()
        if self._is_code is not None:
            return self._log() if is_story else ()
        wrapped = sum(one.found.is_wrapped for one in self._entries)
        bare = len(self._entries) - wrapped
        is_mixed = self._has_head or any(self._other(_SHELL)) or len(self._titles) > bare / 2
        if is_mixed or wrapped > bare or (wrapped == bare and self._entries[0].found.is_wrapped):
            return self._log() if is_story or is_mixed or self._is_logged(self._entries[0]) else ()
        return self._pipe()

    def _is_logged(self, entry: _Entry) -> bool:
        """Return True if only a log has a message in this way, and nobody who types an answer."""
        words, *others = entry.found.clues
        if not entry.found.is_wrapped:
            return False
        has_arrow = any(name not in range(FIRST_ARROW) for name, _ in marks_of(words))
        return bool(others) or has_arrow or _LOGGED.fullmatch(self._lines[entry.line]) is not None

    def _other(self, form: re.Pattern[str]) -> Iterator[re.Match[str] | None]:
        """Match the lines that belong to no message."""
        return (
            form.fullmatch(line) for at, line in enumerate(self._lines) if at not in self._covered
        )

    # -- a log

    def _log(self) -> list[CapturedLine]:
        self._covered.update(at for one in self._torn for at in range(one.line, one.last + 1))
        entries = [*self._entries, *self._torn, *self._remnants()]
        self._covered.update(one.line for one in entries)
        return sorted((*self._solved(entries), *self._notes()), key=lambda one: one.number)

    def _solved(self, entries: Sequence[_Entry]) -> Iterator[CapturedLine]:
        entries = sorted(entries, key=lambda one: (one.line, one.column))
        heads = ({} if one.is_doubtful else one.found.head for one in entries)
        clues = ((*one.found.clues, *one.above) for one in entries)
        solver = SideSolver(list(zip(heads, clues, strict=True)))
        for one, side in zip(entries, solver.solved(), strict=True):
            found = one.found
            direction = one.direction or (side if found.is_wrapped or one.above else None)
            if one.is_doubtful and direction is None:
                yield self._note(one.line)
                continue
            ours = self._ours.get(one.line)
            time = ours or _TIME.search(
                self._lines[one.line], max(0, one.column - _NEAR), max(0, one.column - 1)
            )
            at = found.at or (time["at"] if time else "")
            is_quoted = self._text[found.start : found.start + len(found.text)] != found.text
            is_member = found.clues[-1][:1] == "/" and not is_quoted
            yield CapturedLine(
                *(one.line + 1, direction, found.text, at),
                is_cut=found.is_cut,
                column=one.column,
                origin=_ORIGINS[is_quoted, is_member],
            )

    def _remnants(self) -> Iterator[_Entry]:
        """Yield what is no message, but stands where the others do: it was sent, too."""
        members = {clue for one in self._entries for clue in one.found.clues[1:] if clue[:1] == "/"}
        contexts = {one.found.clues[0] for one in self._entries} - {""}
        waiting = {one.found.head.get("id"): one for one in self._entries}
        for at, line in enumerate(self._lines):
            ours = self._ours.get(at)
            if ours and (at not in self._covered or ours["side"] == "ERR"):
                found = FoundMessage(0, 0, line[ours.end() :], (ours["side"],))
                yield _Entry(at, at, ours.end() + 1, found, _WAYS[ours["side"]])
            elif at in self._covered or (self._is_code is not None and not self._is_code[at]):
                continue
            elif line[:1] == "{" and members and isinstance(value := _decoded(line), dict):
                named = (name for name in value if f"/{name}" in members)
                torn = (name for name, one in value.items() if str(one)[:1] in ("{", "["))
                if name := next(chain(named, torn), ""):
                    text = value[name] if isinstance(value[name], str) else parts_of(line)[name]
                    found = FoundMessage(0, 0, text, ("", *clues_beside(line, name)))
                    yield _Entry(at, at, 1, found, is_doubtful=True)
            elif (brace := line.find("{")) > 0 and shape_of(line[:brace]) in contexts:
                found = FoundMessage(0, 0, line[brace:], (shape_of(line[:brace]),))
                yield _Entry(at, at, brace + 1, found, is_doubtful=True)
            elif _is_title(line) and (own := _OWN_ID.search(line)):
                asked = waiting.get(_decoded(own[1]))
                if asked and asked.line < at and "method" in asked.found.head:
                    answer = f'{{"jsonrpc":"2.0","id":{own[1]},"result":{{}}}}'
                    clues = (shape_of(line[: own.start()]),)
                    head = {"id": _decoded(own[1]), "result": True}
                    yield _Entry(
                        at, at, 1, FoundMessage(0, 0, answer, clues, is_cut=True, head=head)
                    )

    def _notes(self) -> Iterator[CapturedLine]:
        """Yield the other lines of a log."""
        in_head = False
        for at, line in enumerate(self._lines):
            is_head = _head(line) is not None
            in_head = is_head or (in_head and bool(line.strip()) and at not in self._covered)
            is_read = at in self._covered or (self._is_code is not None and not self._is_code[at])
            event = _EVENT.fullmatch(line) if self._has_events else None
            if is_read or not line.strip() or (event and not (event["text"] or "").startswith("/")):
                continue
            note = self._note(at)
            if (in_head or event) and note.level != "error":
                note = note._replace(level="http")
            yield note

    def _note(self, at: int) -> CapturedLine:
        line = self._lines[at]
        head = _head(line)
        if head or (self._has_head and _TRACED.fullmatch(line)):
            level = "error" if head and (head["status"] or "") >= "400" else "http"
        elif _SHELL.fullmatch(line):
            level = "shell"
        else:
            stated = _STATED.search(line)
            level = (stated["level"] or stated["shouted"]).lower() if stated else ""
            level = "error" if level in _BAD or " state: Error" in line else level
        return CapturedLine(at + 1, Direction.NOTE, self._written[at], level=level)

    # -- other files

    def _pipe(self) -> tuple[CapturedLine, ...]:
        """Return the lines of a pipe; () if there is one message only."""
        alone = {one.line: one for one in self._entries if self._is_alone(one)}
        long = sum(one.last > one.line for one in alone.values())
        found: list[CapturedLine] = []
        at = 0
        while at < len(self._written):
            line, entry, next_ = self._written[at], alone.get(at), at + 1
            column = entry.column if entry else 1
            if entry and (long == len(alone) or entry.last == at):
                next_ = entry.last + 1
                if entry.last > at or line.rstrip().endswith("},"):
                    line = entry.found.text
            if line.strip() and not _COMMENT.match(line):
                found.append(CapturedLine(at + 1, None, line, column=column))
            at = next_
        lines = _with_readers(found)
        is_more = len(alone) > 1 or (len(alone) > long and len(lines) > len(alone))
        return tuple(lines) if is_more else ()

    def _is_alone(self, entry: _Entry) -> bool:
        line, end = self._lines[entry.line], entry.found.end - self._starts[entry.last]
        return (
            not entry.found.is_wrapped
            and len(line) - len(line.lstrip(" \t\ufeff")) == entry.column - 1
            and self._lines[entry.last][end:].strip() in ("", ",")
        )

    def _words(self) -> Iterator[CapturedLine]:
        """Yield the lines of a log without messages."""
        if _ENVELOPE.search(self._text):
            return
        is_log = self._has_head or any(self._other(_LOGGED))
        for one in self._notes() if is_log or _has_records(self._text) else ():
            is_bad = one.level == "error" or _FAILED.search(one.text)
            kept = one.level if one.level in ("http", "warn", "warning") else "log"
            yield one._replace(level="error" if is_bad else kept)

    def _exchanges(self) -> Iterator[CapturedLine]:
        """Yield requests and results that have no JSON-RPC around them."""
        if any(not one.found.head.keys().isdisjoint(_ENVELOPES) for one in self._entries):
            return
        for one in bare_exchanges(self._text, self._finder.values):
            line = bisect_right(self._starts, one.start) - 1
            side = Direction.IN if one.side > 0 else Direction.OUT
            column = one.start - self._starts[line] + 1
            yield CapturedLine(line + 1, side, one.text, column=column, origin=Origin.BARE)


_ORIGINS: Final = {
    (False, False): Origin.LINE,
    (False, True): Origin.MEMBER,
    (True, False): Origin.QUOTED,
}
_ENVELOPES: Final = frozenset({"jsonrpc", "id"})
_OWN_ID: Final = re.compile(r"\s(\d+)\s*$")
_BAD: Final = ("error", "fatal", "critical")
_WAYS: Final = {"IN": Direction.IN, "OUT": Direction.OUT, "ERR": Direction.ERR}


def _is_title(line: str) -> bool:
    """Return True for a line that says what the next one is."""
    return len(line) <= _LONGEST_TITLE and _TITLE.fullmatch(line) is not None


def _head(line: str) -> re.Match[str] | None:
    """Match the first line of a request or response of HTTP."""
    return _HEAD.fullmatch(line) if "HTTP/" in line else None


def _has_records(text: str) -> bool:
    """Return True for JSON in which each object has a time, as logs have it."""
    lines = [line for line in text.split("\n", 8)[:8] if line.strip()]
    values = list(map(_decoded, lines))
    if not all(isinstance(one, dict) for one in values):
        whole = _decoded(text)
        values = whole[:8] if isinstance(whole, list) else []
    return bool(values) and all(isinstance(one, dict) and has_time(one) for one in values)


def _decoded(text: str) -> Any:  # noqa: ANN401 - any JSON value
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _with_readers(lines: list[CapturedLine]) -> list[CapturedLine]:
    """Give a line that the server answers with a parse error to the client."""
    for at, (line, answer) in enumerate(pairwise(lines)):
        code = follow(_decoded(answer.text), "error", "code")
        if code == -32700 and not is_message(_decoded(line.text)):
            lines[at] = line._replace(direction=Direction.IN)
    return lines


_LABELS: Final = {Direction.IN: "IN", Direction.OUT: "OUT", Direction.ERR: "ERR"}


def write_log_line(frame: Frame, time: str) -> str | None:
    """Write a frame as one line, without a line feed; None if a log does not contain it.

    A carriage return at the end is removed, and blank lines are omitted.
    """
    text = frame.text.rstrip("\r")
    if frame.direction not in _LABELS or not text.strip():
        return None
    return f"[{time}] {_LABELS[frame.direction]}: {text}"
