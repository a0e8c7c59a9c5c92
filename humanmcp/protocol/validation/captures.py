"""Read a capture of a conversation, whoever wrote it: what a file is, all of it decides.

Theory of operation. Each line is held against a table: a log with a direction in each line, an
envelope of JSON around each message, an event stream, or the messages as such. A value may go on
over several lines. What nothing explains is a line of its own in a file of plain messages, because
a server may have written it to stdout; in a log it is a note. A text with one message and nothing
else is no capture.
"""

from __future__ import annotations

import binascii
import json
import re
from contextlib import suppress
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from humanmcp.protocol.conversation.state import ConversationState
from humanmcp.protocol.conversation.transcript import Direction, Frame, from_json
from humanmcp.protocol.json import jsonrpc
from humanmcp.protocol.json.encodings import utf16_of
from humanmcp.protocol.json.jsonrpc import (
    Message,
    carries_answer,
    closed_at,
    item_spans,
    members,
    parts_of,
)
from humanmcp.protocol.json.tree import follow, objects_at, text_at
from humanmcp.protocol.repair.reading import read_json
from humanmcp.protocol.tables import methods

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping


class CapturedLine(NamedTuple):
    """One message, or what was found in its place.

    `number` is the line of the file, from 1; in an HTTP archive, that of the message. `direction`
    is None if the file does not say it, NOTE for a line that is no message. `at` is the time as
    written, `level` that of the words of the host that wrote the file. `frame` is set for a line of
    our own transcript. `is_cut`: the program that wrote the file left out a part of the message.
    """

    number: int
    direction: Direction | None
    text: str
    at: str = ""
    frame: Frame | None = None
    level: str = ""
    is_cut: bool = False

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


_TIME: Final = r"(?P<at>\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d\.\d{3,}Z?)"
_VSCODE: Final = rf"(?:{_TIME} )?(?:\[\w+\] )?"
_ROWS: Final = tuple(
    re.compile(row, re.DOTALL)
    for row in (
        # `humanmcp export`
        rf"\[{_TIME}\] (?:(?P<IN>IN)|(?P<OUT>OUT)|(?P<ERR>ERR)): (?P<text>.*)",
        # Claude Desktop: mcp.log, mcp-server-NAME.log
        rf"{_TIME} (?:\[[^\]]*\] )+Message from (?:(?P<IN>client)|(?P<OUT>server)): (?P<text>.*)",
        # VS Code: the output "MCP: NAME"
        rf"{_VSCODE}\[(?:(?P<IN>editor -> server)|(?P<OUT>server -> editor))\] (?P<text>.*)",
        rf"{_VSCODE}\[(?:(?P<IN>Client)|(?P<OUT>Server)) Says\] (?P<text>.*)",
        # supergateway, and others that name both ends
        r"\[[\w-]+\] (?P<IN>\w+ (?:→|->) (?:Child|Server)): (?P<text>.*)",
        r"\[[\w-]+\] (?P<OUT>(?:Child|Server) (?:→|->) \w+): (?P<text>.*)",
        # mcp-remote: the message stands in the lines below, or nothing but its method or its id
        r"(?:\[\d+\] )?\[(?:(?P<IN>Local→Remote)|(?P<OUT>Remote→Local))\] (?P<named>[^{\[]*)",
    )
)
"""Lines of programs that say who wrote the message: `IN` is a client, as in a transcript."""
_PROMPT: Final = r"(?:PS [^>]*>|[A-Z]:\\[^>]*>|(?:[\w.-]+@[\w.-]+|\([\w.-]+\))[^$%#{]*[$%#]|[$%]) "
_BY_HAND: Final = re.compile(
    rf"\s*(?:(?P<IN>>{{1,3}}|--?>|→|{_PROMPT}[^{{]*?)|(?P<OUT><{{1,3}}|<--?|←)) ?"
    r"(?P<text>[\[{].*)",
    re.DOTALL,
)
"""An arrow of a person, of `--wire` or of `curl -v`; or `$ printf '…' | server` in a terminal."""
_SHELL: Final = re.compile(rf"{_PROMPT}.*|\^[CDZ]", re.DOTALL)
"""A command in a terminal; behind one, stdout and stderr of the server stand mixed."""
_DATA: Final = re.compile(
    r"""(?:\s(?:-d|--data(?:-raw|-binary)?|<<<)|^echo|^printf(?: '[^']*')?)[ =]?"""
    r"""(?P<quote>['"])(?P<text>\{.*)"""
)
"""What curl and shells send."""
_LABEL: Final = re.compile(
    r"(?i)(?!.*\berror)[^{]*(?:\b(?:client|server|sen[dt]|sending|recv|receiv(?:ed?|ing)|requests?|responses?|in|out"
    r"|incoming|outgoing|input|output|read|wrote|writing|[cs])\b|[<>→←]).*"
)
"""Words of which a log has one before each message; they do not say whose log it is."""
_HOST: Final = re.compile(rf"{_TIME} (?:\[[^\]]*\] )?\[(?P<level>\w+)\] (?P<words>.*)", re.DOTALL)
"""A line without a message in the log of Claude Desktop or VS Code."""
_ENVELOPE: Final = re.compile(r'"jsonrpc"\s*:')
_LEVEL: Final = r"(?:trace|debug|info|notice|warn(?:ing)?|error|fatal|critical)"
_LOGGED: Final = re.compile(
    r"\W*(?:time=\W?)?(?:[\d/-]{8,10}.|[a-z]{3} +\d+ )?\d\d:\d\d:\d\d\S*\s.*"
    rf"|\W*\[{_LEVEL}\].*|{_LEVEL}:[\w.]+:.*|{_LEVEL}: [\w.]+\[\d+\]"
    r"|\s+at \S+ ?\(.*|Traceback \(.*|\s*[→←│├].*|(?:GET|POST|DELETE) /.*",
    re.DOTALL | re.IGNORECASE,
)
"""A line as logs have it, also those that hold no message: a time, a level, a stack, an arrow."""
_FAILED: Final = re.compile(r"(?i)\b(?:\w*error|\w*exception|fatal|critical|failed)\b")
_EVENT: Final = re.compile(r"(?P<field>data|event|id|retry): ?(?P<text>.*)|:.*", re.DOTALL)
_HEAD: Final = re.compile(r"HTTP/[\d.]+ (?P<status>\d{3}).*", re.DOTALL)
_CURL: Final = re.compile(
    r"\* .*|[<>] ?|[<>] (?:[\w-]+:|HTTP/|[A-Z]+ \S+ HTTP/).*|[{}] \[\d+ bytes data\]"
)
"""What `curl -v` tells beside the body."""
_FENCE: Final = re.compile(r"\s*(?:```|~~~)", re.DOTALL)
_COMMENT: Final = re.compile(r"\s*(?:#|//)")
_REMARK: Final = re.compile(r"#|//|<?--|←")
"""What a person writes behind a message of a terminal or of a report."""
_TITLE: Final = re.compile(
    r"(?i)\W*(?:(?:(?:client|server|request|response|sent|received|input|output)\b ?){1,2}\d*\W*:"
    r"|(?:client|server) *(?:-+>|=+>|→|to) *(?:client|server))\W*"
)
"""A line of a report that says what the next one is."""
_INDENTED: Final = re.compile(r" {4}|\t")
_PID: Final = re.compile(r"\[\d+\] (?=[\[{])")

_DIRECTIONS: Final = {
    **dict.fromkeys(("c2s", "in", "send", "sent", "client", "request"), Direction.IN),
    **dict.fromkeys(("s2c", "out", "recv", "received", "server", "response"), Direction.OUT),
    **dict.fromkeys(("meta", "note", "err"), Direction.NOTE),
}
"""The words for a direction in an envelope: `send` is what the recording client sent."""
_DIRECTION: Final = ("direction", "dir", "way", "from", "side", "type")
_PAYLOAD: Final = ("raw", "message", "msg", "data", "payload")
_OTHER_PAYLOAD: Final = ("body", "content", "json", "text")
"""Names that other objects have, too: they hold a message, or it is no envelope."""
_AT: Final = ("at", "ts", "time", "timestamp")


def read_capture(text: str) -> tuple[CapturedLine, ...]:
    """Read what was captured; () if the text is no capture, but perhaps one message."""
    reader = _LineReader(_unboxed(text))
    found = tuple(_one_value(text)) or reader.capture()
    has_words = text.lstrip("\ufeff \t\r\n")[:1] not in {"[", "{"}
    return found or (reader.quoted() if has_words else ())


_SIDES: Final = ("│", "┃", "║")
_BOXED: Final = re.compile(rf"^[ \t]*[{''.join(_SIDES)}][ \t]*[\[{{]", re.MULTILINE)
_BOX: Final = "".join(map(chr, range(0x2500, 0x2580)))


def _unboxed(text: str) -> str:
    """Return a text without the lines that a terminal drew around its JSON."""
    return "\n".join(map(_inside, text.split("\n"))) if _BOXED.search(text) else text


def _inside(line: str) -> str:
    bare = line.strip()
    if not bare.strip(_BOX):
        return ""
    if not bare.startswith(_SIDES):
        return line
    inside = bare[1:].removeprefix(" ")
    if inside.endswith(_SIDES):
        inside = inside[:-1].rstrip()
    return line if any(side in inside for side in _SIDES) else inside


def is_transcript(first: str) -> bool:
    """Return True if this first line of a file is one of our own transcript."""
    return _is_frame(_decoded(first))


def _is_frame(value: object) -> bool:
    return isinstance(value, dict) and {"seq", "way", "raw"} <= value.keys()


def read_recording(lines: Iterable[str], time: Callable[[str], str]) -> Iterator[Frame]:
    """Read a transcript or any other capture as frames; `time` converts a time as written.

    Lines of a transcript that a crash has cut are skipped. It is read line by line, however long.
    """
    lines = iter(lines)
    first = next(filter(str.strip, lines), "").removeprefix("\ufeff")
    if not is_transcript(first):
        text = "\n".join(chain((first,), lines))
        yield from _frames(read_capture(text), time)
        return
    for line in chain((first,), lines):
        with suppress(ValueError, RecursionError):
            yield from_json(line)


def _frames(lines: Iterable[CapturedLine], time: Callable[[str], str]) -> Iterator[Frame]:
    """Return captured lines as frames; who said a line that does not say it follows from before."""
    conversation = ConversationState()
    for seq, line in enumerate(lines, 1):
        direction = line.direction or speaker(conversation, line.raw)
        if direction is Direction.NOTE or line.is_cut:
            yield Frame(seq, "", Direction.NOTE, b"", note=line.text)
            continue
        for message in jsonrpc.items_in(line.raw):
            if isinstance(message, Message) and direction in (Direction.IN, Direction.OUT):
                conversation.observe(direction, message)
        at = ""
        with suppress(ValueError):  # in a notation that nobody knows
            at = time(line.at) if line.at else ""
        yield Frame(seq, at, direction, line.raw)


def speaker(conversation: ConversationState, raw: bytes) -> Direction:
    """Guess the sender of a line without a direction, by what only one side may send.

    A response comes from the side that got the request; otherwise it counts as the server's. If
    both sides wait for this id, the server's wait is within that of the client, and ends first.
    """
    message = jsonrpc.items_in(raw)[0]
    if not isinstance(message, Message):
        # Servers sometimes print other text, clients hardly ever.
        named = _METHOD.search(message.text)
        return Direction.IN if named and not _only_servers_say(named[1]) else Direction.OUT
    if message.kind.is_answer or carries_answer(message.body):
        is_clients = message.id is not None and conversation.answered_by(Direction.OUT, message.id)
        return Direction.IN if is_clients else Direction.OUT
    return Direction.OUT if _only_servers_say(message.method) else Direction.IN


_METHOD: Final = re.compile(r"""["']method["']\s*:\s*["']([^"']+)""")


def _only_servers_say(method: str) -> bool:
    record = methods.of(method)
    return record.from_servers or (bool(record.to_client) and not record.to_server)


def is_message(value: object) -> bool:
    """Return True for an object that is meant as a JSON-RPC message."""
    return isinstance(value, dict) and bool(
        value.keys() & {"jsonrpc", "method"}
        or ("id" in value and value.keys() & {"result", "error"})
    )


# -- a file that is one value --------------------------------------------------------------------


def _one_value(text: str) -> Iterator[CapturedLine]:
    """Yield the messages of an HTTP archive, or of a list that does not have responses only.

    The list is the whole file, or a member of its object.
    """
    if text.lstrip("\ufeff \t\r\n")[:1] not in ("{", "["):
        return
    text = text.lstrip("\ufeff")
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return
    if isinstance(value, list):
        yield from _listed(text, text.index("["), value)
    elif isinstance(value, dict) and not is_message(value):
        for name, start, _end in members(text):
            if isinstance(value[name], list):
                yield from _listed(text, start, value[name])
    yield from (line._replace(number=at) for at, line in enumerate(_archived(value), 1))


def _listed(text: str, start: int, items: list[Any]) -> Iterator[CapturedLine]:
    """Yield the messages of a list that begins at `start`: as such, or in envelopes."""
    spans = [slice(*span) for span in item_spans(text, start)]
    if any(text_at(one, "method") for one in items):
        for part in spans:
            yield CapturedLine(text.count("\n", 0, part.start) + 1, None, text[part])
        return
    for part, one in zip(spans, items, strict=False):
        if isinstance(one, dict) and not is_message(one):
            found = _enveloped(text.count("\n", 0, part.start) + 1, text[part], one)
            if found is not None:
                yield found


def _archived(value: object) -> Iterator[CapturedLine]:
    """Yield the messages of an HTTP archive."""
    for entry in objects_at(value, "log", "entries"):
        at = text_at(entry, "startedDateTime")
        for text in _messages_in(text_at(entry, "request", "postData", "text")):
            yield CapturedLine(0, Direction.IN, text, at)
        body = text_at(entry, "response", "content", "text")
        if text_at(entry, "response", "content", "encoding") == "base64":
            with suppress(ValueError):
                body = binascii.a2b_base64(body).decode("utf-8", "surrogateescape")
        for text in _messages_in(body):
            yield CapturedLine(0, Direction.OUT, text, at)


def _messages_in(body: str) -> list[str]:
    """Return the messages of an HTTP body: one, or the events of a stream."""
    events = [event for event in re.split(r"\r?\n\r?\n|\r\r", body) if event.strip()]
    fields = [[_EVENT.fullmatch(line) for line in event.splitlines()] for event in events]
    if not all(found for event in fields for found in event):
        return [body] if body.strip() else []
    texts = [
        "\n".join(one["text"] for one in event if one and one["field"] == "data")
        for event in fields
    ]
    return [text for text in texts if text.strip()]


# -- a file of lines -----------------------------------------------------------------------------


class _LineReader:
    """Reads a file line by line."""

    def __init__(self, text: str) -> None:
        if "\n" not in text.strip():
            text = text.replace("\r", "\n")  # the only line ends that there are
        self._text = text
        self._lines = text.split("\n")
        self._is_indented = _is_indented(self._lines)
        self._is_marked_up = self._is_indented or _is_fenced(self._lines)
        self._next = 0
        """The index of the line that comes next."""
        self._offset = 0
        """Where that line begins in the text."""
        self._tries = 4 * len(text)
        """Characters that may still be read in vain for values of several lines."""
        self._stated: Direction | None = None
        """The direction that mcp-remote wrote above the message."""
        self._is_log = False
        """Whether a line was found that only a log, an envelope or an event stream has."""
        self._in_head = False
        """Whether the head of an HTTP message goes on."""
        self._event_name = "message"
        """The name of the event that goes on; others than this bring no message."""
        self._labelled: dict[int, CapturedLine] = {}
        """The lines that have a message behind other words, as they are; by their numbers."""
        self._long = 0
        """How many messages go on over several lines."""

    def capture(self) -> tuple[CapturedLine, ...]:
        """Return the lines of a capture; () if the text is something else."""
        found = list(self._all())
        messages = sum(map(_has_message, found))
        if not messages and not self._is_log and not _ENVELOPE.search(self._text):
            is_log = any(_LOGGED.fullmatch(one.text) for one in found)
            return tuple(map(_as_note, found)) if is_log else ()
        if self._labelled and not self._is_log:
            if messages > len(self._labelled):  # a program's own words beside its messages
                found = [self._labelled.get(one.number, one) for one in found]
                messages -= len(self._labelled)
            else:
                self._is_log = True
        is_story = messages > 1 or any(text_at(_decoded(one.text), "method") for one in found)
        if self._is_log or (self._is_marked_up and is_story):
            return tuple(
                one
                if one.direction or _has_message(one)
                else one._replace(direction=Direction.NOTE)
                for one in found
            )
        if self._is_marked_up:
            return ()
        if 0 < self._long < messages:  # on a pipe a message is one line: so these lines are wrong
            found = [part for one in found for part in _lines_of(one)]
        lines = _with_readers([one for one in found if not _COMMENT.match(one.text)])
        is_more = messages > 1 or (messages > self._long and len(lines) > messages)
        return tuple(lines) if is_more else ()

    def quoted(self) -> tuple[CapturedLine, ...]:
        """Return the messages within the sentences of a report.

        () for one response with words around it: a chat writes so what is meant as the answer.
        """
        found: list[CapturedLine] = []
        number, end = 1, 0
        for brace in re.finditer(r"\{", self._text):
            start = brace.start()
            if start < end or not (length := self._length(start)):
                continue
            number += self._text.count("\n", end, start)
            end = start + length
            text = self._text[start:end]
            if _ENVELOPE.search(text) and is_message(_decoded(text)):
                found.append(CapturedLine(number, None, text))
            number += text.count("\n")
        is_report = len(found) > 1 or any(text_at(_decoded(one.text), "method") for one in found)
        return tuple(found) if is_report else ()

    def _all(self) -> Iterator[CapturedLine]:
        is_code = not self._is_marked_up
        while self._next < len(self._lines):
            number, line = self._next + 1, self._lines[self._next].removesuffix("\r")
            if not line.strip():
                self._in_head, self._event_name = False, "message"
            if self._is_indented:
                is_code = _INDENTED.match(line) is not None
            if self._is_marked_up and _FENCE.match(line):
                is_code = not is_code
            elif is_code and line.strip():
                yield from self._line(number, line)
            self._go_on(self._next + 1)

    def _go_on(self, index: int) -> None:
        self._offset += sum(len(line) + 1 for line in self._lines[self._next : index])
        self._next = index

    def _line(self, number: int, line: str) -> Iterator[CapturedLine]:
        """Read the next line, and those below that belong to it."""
        for read in (self._object, self._stated_line, self._noted, self._note, self._event):
            if (found := read(number, line)) is not None:
                yield from found
                return
        prefix = _end_of_pid(line)
        text = self._value(prefix or len(line) - len(line.lstrip(" \t\ufeff")))
        if text is not None and is_message(json.loads(text)):
            self._long += "\n" in text
            yield CapturedLine(number, self._stated, text)
        elif (start := line.find("{")) > 0 and _LABEL.fullmatch(line, 0, start):
            text = line[start:].rstrip().removesuffix(",")
            if is_message(_decoded(text)):
                self._labelled[number] = CapturedLine(number, None, line)
            yield CapturedLine(number, None, text if number in self._labelled else line)
        else:
            yield CapturedLine(number, None, line)
        self._stated = None

    def _object(self, number: int, line: str) -> Iterable[CapturedLine] | None:
        """Read an object on one line: a message, or an envelope around one."""
        if not line.lstrip("\ufeff").startswith("{"):
            return None
        text = line.lstrip("\ufeff").rstrip().removesuffix(",")
        value = _decoded(text)
        if not isinstance(value, dict):
            return None
        if is_message(value) and _direction_in(value.get("_meta")) is None:
            return (CapturedLine(number, None, line if line.endswith("}") else text),)
        found = _enveloped(number, text, value)
        self._is_log |= found is not None
        return None if found is None else (found,)

    def _stated_line(self, number: int, line: str) -> Iterable[CapturedLine] | None:
        """Read a line that states its direction."""
        match = next(filter(None, (row.fullmatch(line) for row in _ROWS)), None)
        if match is None:
            return None
        self._is_log = True
        said = match.groupdict()
        direction = next(one for one in Direction if said.get(one.name))
        text = said.get("text")
        if text is None:  # the message is in the lines below, or only its method or its id is told
            below = self._lines[self._next + 1] if self._next + 1 < len(self._lines) else ""
            own = said["named"].strip()
            if not below[_end_of_pid(below) :].startswith("{") and own.isdigit():
                answer = f'{{"jsonrpc":"2.0","id":{own},"result":{{}}}}'
                return (CapturedLine(number, direction, answer, is_cut=True),)
            self._stated = direction
            return ()
        at = said.get("at") or ""
        text = text.removesuffix(" { metadata: undefined }")  # Claude Desktop
        if not text.startswith(("{", "[")):
            return (CapturedLine(number, direction, text, at),)
        if whole := self._value(match.start("text"), is_rest=True):
            return (CapturedLine(number, direction, whole, at),)
        if text == "{" and "}" in self._lines[self._next :]:  # as Node.js prints it
            end = self._lines.index("}", self._next)
            text = "\n".join((text, *self._lines[self._next + 1 : end + 1]))
            self._go_on(end)
        return (CapturedLine(number, direction, *_inspected(text, at)),)

    def _noted(self, number: int, line: str) -> Iterable[CapturedLine] | None:
        """Read a message behind an arrow or a prompt, or in the words of curl."""
        sent = _DATA.search(line)
        match = sent or _BY_HAND.fullmatch(line)
        if match is None:
            return None
        if sent is not None and sent["quote"] == '"':
            text: str | None = sent["text"].rpartition('"')[0].replace('\\"', '"')
        else:
            text = self._value(match.start("text"), is_rest=True)
        if text is None or not is_message(_decoded(text)):
            return None
        self._is_log = True
        is_in = sent is not None or match["IN"]
        return (CapturedLine(number, Direction.IN if is_in else Direction.OUT, text),)

    def _note(self, number: int, line: str) -> Iterable[CapturedLine] | None:
        """Read what a host, a shell or curl writes beside the messages."""
        if match := _HOST.fullmatch(line):
            # VS Code tells errors of HTTP as information: "Connection state: Error 405 …"
            level = "error" if "state: Error" in match["words"] else match["level"]
        elif _SHELL.fullmatch(line):
            level = "shell"
        elif _TITLE.fullmatch(line):
            level = "title"
        elif self._in_head or _CURL.fullmatch(line):
            level = "http"
        elif match := _HEAD.fullmatch(line):
            level, self._in_head = "http" if match["status"] < "400" else "error", True
        else:
            return None
        self._is_log = True
        return (CapturedLine(number, Direction.NOTE, line, level=level),)

    def _event(self, number: int, line: str) -> Iterable[CapturedLine] | None:
        """Read a field of an event; the data of one event may be several lines."""
        match = _EVENT.fullmatch(line)
        if match is None:
            return None
        if match["field"] == "event":
            self._event_name = match["text"]
        if match["field"] != "data" or not match["text"]:
            return ()
        if self._event_name == "endpoint":  # of HTTP+SSE
            return (CapturedLine(number, Direction.NOTE, line, level="http"),)
        parts = [match["text"]]
        self._is_log |= parts[0].startswith("{")
        while _decoded("\n".join(parts)) is None and self._next + 1 < len(self._lines):
            more = _EVENT.fullmatch(self._lines[self._next + 1].removesuffix("\r"))
            if more is None or more["field"] != "data":
                break
            parts.append(more["text"])
            self._go_on(self._next + 1)
        return (CapturedLine(number, Direction.OUT, "\n".join(parts)),)

    def _value(self, column: int, *, is_rest: bool = False) -> str | None:
        """Return the JSON value that begins here, and go on behind it; None if there is none.

        With `is_rest`, other words may stand behind it.
        """
        start = self._offset + column
        length = self._length(start)
        if length == 0:
            return None
        end = start + length
        until = self._text.find("\n", end)
        rest = self._text[end : None if until < 0 else until].strip()
        may_comment = self._is_log or self._is_marked_up
        if rest not in ("", ",") and not is_rest and not (may_comment and _REMARK.match(rest)):
            return None
        text = self._text[start:end]
        self._go_on(self._next + text.count("\n"))
        return text

    def _length(self, start: int) -> int:
        """Return the length of the JSON value that begins here, 0 if there is none."""
        for size in _WINDOWS:
            window = self._text[start : start + size]
            if self._tries <= 0 or not _BEGINS.match(window):
                return 0
            try:
                return _DECODER.raw_decode(window)[1]
            except json.JSONDecodeError as error:
                is_cut = error.msg.startswith("Unterminated") or error.pos > size - _PER_TRY
                self._tries -= (len(window) if is_cut else error.pos) + _PER_TRY
                if len(window) < size or not is_cut:
                    return 0
            except ValueError:  # an integer of more than 4300 digits
                self._tries -= len(window)
                end = closed_at(window, 0)
                if end > 0 or len(window) < size:
                    return max(0, end)
            except RecursionError:
                self._tries -= _DEEP
                return 0
        return 0


_DECODER: Final = json.JSONDecoder()
_BEGINS: Final = re.compile(r"[\[{]\s*(?:[\[{\]}\"\d-]|true|false|null|$)")
_WINDOWS: Final = (1 << 12, 1 << 16, 1 << 20, 1 << 30)
"""Characters that are tried for one value: where an error stands in the whole file, counts it."""
_PER_TRY: Final = 64
_DEEP: Final = 1000
"""Characters that are charged for a value that is nested too deep to read."""


def _enveloped(number: int, text: str, value: Mapping[str, Any]) -> CapturedLine | None:
    """Read a message with what a recorder wrote around it, or into its `_meta`."""
    if is_message(value):
        direction, at = _direction_in(value["_meta"]), _first(value["_meta"], _AT)
        return CapturedLine(number, direction, without_member(text, "_meta"), at)
    if _is_frame(value):
        with suppress(ValueError):  # torn by a crash
            frame = from_json(text)
            return CapturedLine(number, frame.direction, frame.text, frame.at, frame)
    direction = _direction_in(value)
    named = (*_PAYLOAD, *_OTHER_PAYLOAD)
    name = next((name for name in named if _holds_message(value.get(name))), "")
    name = name or next((name for name in _PAYLOAD if name in value), "")
    payload = _first(value, (name,))
    if not payload or (direction is None and not _holds_message(value[name])):
        return None
    if not isinstance(value[name], str):
        payload = parts_of(text)[name]
    return CapturedLine(number, direction, payload, _first(value, _AT))


def _holds_message(value: object) -> bool:
    return is_message(_decoded(value) if isinstance(value, str) else value)


def _decoded(text: str) -> Any:  # noqa: ANN401 - any JSON value
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _has_message(line: CapturedLine) -> bool:
    return line.frame is not None or is_message(_decoded(line.text))


def _as_note(line: CapturedLine) -> CapturedLine:
    level = "error" if _FAILED.search(line.text) else "log"
    return line._replace(direction=Direction.NOTE, level=level)


def _with_readers(lines: list[CapturedLine]) -> list[CapturedLine]:
    """Give a line that the server answers with a parse error to the client."""
    for at, (line, answer) in enumerate(pairwise(lines)):
        code = follow(_decoded(answer.text), "error", "code")
        if code == -32700 and line.direction is None and not _has_message(line):
            lines[at] = line._replace(direction=Direction.IN)
    return lines


def _lines_of(line: CapturedLine) -> Iterator[CapturedLine]:
    for at, text in enumerate(line.text.split("\n")):
        yield line._replace(number=line.number + at, text=text)


def _direction_in(value: object) -> Direction | None:
    """Return the direction that an envelope states."""
    said = next((word for name in _DIRECTION if (word := text_at(value, name))), "")
    return _DIRECTIONS.get(said.lower())


def _first(value: Mapping[str, Any], names: tuple[str, ...]) -> str:
    """Return the first of these members, as text."""
    found = next((value[name] for name in names if name in value), "")
    return found if isinstance(found, str) else json.dumps(found)


def without_member(text: str, name: str) -> str:
    """Return an object without a member; the others stay as they were written."""
    kept = [f"{json.dumps(one)}:{part}" for one, part in parts_of(text).items() if one != name]
    return f"{{{','.join(kept)}}}"


_LEFT_OUT: Final = {"[Object]": "{}", "[Array]": "[]"}
"""What Node.js prints in the place of what is nested deeply."""

_QUOTED_NAME: Final = re.compile(r'[\[{\s]*"')


def _inspected(text: str, at: str) -> tuple[str, str, None, str, bool]:
    """Return an object as Node.js prints it as JSON; as it is where that cannot be.

    With what `CapturedLine` has behind the text: the last member tells if something is left out.
    JSON with a mistake stays as it is, too: Node.js puts no name into double quotes.
    """
    if _QUOTED_NAME.match(text):
        return text, at, None, "", False
    whole = text
    for name, empty in _LEFT_OUT.items():
        whole = whole.replace(f": {name}", f": {empty}")
    reading = read_json(whole)
    is_read = reading.readable and isinstance(reading.value, dict)
    return (reading.json if is_read else text), at, None, "", is_read and whole != text


def _end_of_pid(line: str) -> int:
    found = _PID.match(line)
    return found.end() if found else 0


def _is_fenced(lines: list[str]) -> bool:
    """Return True for Markdown with code blocks: no message stands outside of them."""
    is_code = has_fence = False
    for line in lines:
        if _FENCE.match(line):
            is_code, has_fence = not is_code, True
        elif not is_code and line.startswith("{") and is_message(_decoded(line)):
            return False
    return has_fence


def _is_indented(lines: list[str]) -> bool:
    """Return True if all messages stand in indented blocks between other lines, as in Markdown."""
    starts = [line for line in lines if line.lstrip().startswith("{")]
    return (
        bool(starts)
        and all(map(_INDENTED.match, starts))
        and any(line.strip() and not line[0].isspace() and line[0].isalpha() for line in lines)
    )


_LABELS: Final = {Direction.IN: "IN", Direction.OUT: "OUT", Direction.ERR: "ERR"}


def write_log_line(frame: Frame, time: str) -> str | None:
    """Write a frame as one line, without a line feed; None if a log does not contain it.

    A carriage return at the end is removed, and blank lines are omitted.
    """
    text = frame.text.rstrip("\r")
    if frame.direction not in _LABELS or not text.strip():
        return None
    return f"[{time}] {_LABELS[frame.direction]}: {text}"
