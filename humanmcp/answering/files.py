"""Say what a file is: one decision, which every command, page and program asks.

It is a conversation, one message alone, a text that somebody may have typed as an answer, or
something else. Who asks decides only what is done with it.
"""

from __future__ import annotations

import enum
import re
from typing import TYPE_CHECKING, Final, NamedTuple

from humanmcp.locales.stop import stopped
from humanmcp.protocol.diagnostics.model import blocking
from humanmcp.protocol.json import jsonrpc
from humanmcp.protocol.json.jsonrpc import Batch, Message
from humanmcp.protocol.json.tree import object_at
from humanmcp.protocol.json.visible import one_line
from humanmcp.protocol.repair import reading as json_reading
from humanmcp.protocol.repair.reading import decode_file
from humanmcp.protocol.tables import methods
from humanmcp.protocol.validation.captures import (
    WEB_PAGE,
    CapturedLine,
    Origin,
    decode_lines,
    read_capture,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from humanmcp.protocol.diagnostics.model import Diagnostic


class FileKind(enum.Enum):
    """What a file is."""

    CONVERSATION = "the messages of a conversation, whoever wrote them down"
    REQUEST = "one request or notification"
    ANSWER = "one response, whole or broken, or members of a result: somebody may have typed it"
    NOTHING = "nothing of MCP, which somebody may have typed as a result nevertheless"
    OTHER = "something else, which nobody has typed as an answer"


TYPED: Final = (FileKind.ANSWER, FileKind.NOTHING)
"""What is checked as an answer to a request that is not known."""


class ReadFile(NamedTuple):
    """What a file is, and its messages. Without any, `why` says what it is instead.

    `why` is a code of the section `other_file`, `words` what the program says that wrote it, or
    why its text cannot be read.
    """

    kind: FileKind
    text: str
    captured: tuple[CapturedLine, ...] = ()
    why: str = ""
    words: str | Diagnostic = ""

    def messages(self, name: object) -> tuple[CapturedLine, ...]:
        """Return its messages, and the words around them.

        Raises:
            StopError: it has none. The sentence says what it is instead.
        """
        if self.why:
            raise stopped("other_file", self.why, name=name, words=self.words)
        return self.captured


def read_file(content: bytes | str) -> ReadFile:
    """Decide what a file or a text is."""
    written = content if isinstance(content, str) else decode_lines(content)
    text = written.removeprefix("\ufeff")
    if captured := read_capture(written):  # a client gets the mark, too
        if any(one.is_whole for one in captured):
            return ReadFile(FileKind.CONVERSATION, text, captured)
        return ReadFile(FileKind.OTHER, text, captured, *_without_messages(captured))
    words: str | Diagnostic = ""
    if not (other := what_else(text)) and isinstance(content, bytes):
        text, doubts = decode_file(content)
        if wrong := blocking(doubts):
            other, words = "no text", wrong[0]
    if other:
        return ReadFile(FileKind.OTHER, text, why=other, words=words)
    reading = json_reading.read_json(text)
    value = object_at(reading.value) if reading.readable else {}
    names = value if reading.readable else _NAMES.findall(text)
    is_part, alone = not _PARTS.isdisjoint(names), CapturedLine(1, None, text)
    if isinstance(value.get("method"), str) and not (reading.edits and value.keys() & _ANSWERS):
        return ReadFile(FileKind.REQUEST, text, (alone._replace(origin=Origin.REQUEST),))
    found = jsonrpc.read(jsonrpc.encoded(jsonrpc.compact(text)))
    may_be_message = is_part or isinstance(found, Batch)
    if isinstance(found, Message) or (may_be_message and _ENVELOPE.match(text)):
        return ReadFile(FileKind.ANSWER, text, (alone._replace(origin=Origin.ANSWER),))
    kind, why = (FileKind.ANSWER, "an answer") if is_part else (FileKind.NOTHING, _NOTHING)
    return ReadFile(kind, text, why=why)


_ENVELOPE: Final = re.compile(r'\s*[\[{].*"jsonrpc"', re.DOTALL)
_NOTHING: Final = "nothing recorded"


_ANSWERS: Final = frozenset({"result", "error"})
_PARTS: Final = frozenset({"jsonrpc", "method", *_ANSWERS}).union(
    *(one.gives_away for one in methods.REQUESTS.values())
)
_NAMES: Final = re.compile(r"""\b(\w+)["']?\s*[:=]""")


def _without_messages(captured: Sequence[CapturedLine]) -> tuple[str, str]:
    """Return what a file without messages looks like, and what its own errors or warnings say."""
    notes = [one for one in captured if one.frame is None]
    if not notes or any(one.is_cut for one in notes):
        return "left out" if notes else _NOTHING, ""  # in a transcript of ours
    if (other := what_else("\n".join(one.text for one in notes))) in _NOTATIONS:
        return other, ""
    errors = [one for one in notes if one.level == "error"]
    errors = errors or [one for one in notes if one.level.startswith("warn")]
    said = " / ".join(dict.fromkeys(one_line(one.text.strip(), _WORDS) for one in errors))
    is_json = notes[0].text.lstrip("\ufeff \t")[:1] in ("{", "[")
    looks = "json" if is_json else "http" if notes[0].level == "http" else "log"
    return f"{looks}{' but' if said else ''}", one_line(said, _MOST_WORDS)


_WORDS: Final = 240
"""Hosts write time and name before the cause."""
_MOST_WORDS: Final = 1200
_DUMP: Final = re.compile(r"\s*(?:0x)?0{6,16}:? ")
_PROMPT: Final = (
    r'\s*\{\s*(?:"session_?[iI]d"\s*:(?s:.{0,2000}?))?"(?:hook_event_name|hookName|toolName)"\s*:'
)
"""How the input of a hook begins: with its session, or with the name of the event."""
_OTHERS: Final = (
    ("an archive", re.compile(r'\s*\{\s*"log"\s*:\s*\{')),
    ("a page", WEB_PAGE),
    ("packed", re.compile("\x1f\udc8b|PK\x03\x04|BZh|\udcfd7zXZ|\\(\udcb5/\udcfd")),
    ("a document", re.compile(r"\{\\rtf|%PDF-|\udc89PNG|GIF8|\udcff\udcd8\udcff|\udcd0\udccf\x11")),
    ("a prompt", re.compile(_PROMPT)),
    ("a diagram", re.compile(r"\s*sequenceDiagram\b")),
    ("a dump", _DUMP),
    ("a program", re.compile(r'#!|(?:""".*?"""\s*)?(?:from [\w.]+ )?import \w', re.DOTALL)),
    ("a command", re.compile(r"\s*(?:[$>%] )?(?:curl|npx|uvx|docker)\s")),
    (
        "a configuration",
        re.compile(
            r'\s*\{(?:.*"mcpServers"|[^{}]*"(?:servers|context_servers)")\s*:\s*\{'
            r"|(?:.*\n)?\[mcp_servers\.|(?:.*\n)?extensions:\n",
            re.DOTALL,
        ),
    ),
    (
        "maps of Go",
        re.compile(r"(?s).*?\bmap\[(?:error:map\[[^\n]{0,200}?)?(?:id:\S{1,40} )?jsonrpc:2\.0"),
    ),
    (
        "a notation",
        re.compile(r"(?is).*?\bjsonrpc\W{1,9}(?:[a-z]+\W{1,9}){0,2}(?:\d+\W{1,9})?2\.0"),
    ),
)
"""What people take for a recording, and how it begins."""
_NOTATIONS: Final = ("maps of Go", "a notation")
"""What may also be in the lines of a log."""
_READABLE: Final = re.compile(r""""jsonrpc"\s*:|\{\s*'?jsonrpc'?\s*(?::|=>?)\s*['"]""")


def what_else(text: str) -> str:
    """Return what a text without messages is: a code of the section `other_file`, "" if unknown."""
    is_one = text.lstrip()[:1] in ("{", "[") or len(_READABLE.findall(text)) == 1
    is_layout = text.startswith("{\\rtf") or _DUMP.match(text) is not None
    if _READABLE.search(text) and is_one and not is_layout:
        return ""
    return next((code for code, begins in _OTHERS if begins.match(text)), "")
