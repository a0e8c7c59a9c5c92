"""The session as a Markdown document: a table of the messages, then each of them."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

from humanmcp.answering.summary import LineKind
from humanmcp.common.timestamps import log_time
from humanmcp.export.conversation import ASKING, build_conversation
from humanmcp.locales import describe, say
from humanmcp.protocol.conversation.transcript import (
    BY_CHECK,
    CHANGED,
    COMMAND,
    DROPPED,
    HELD,
    INSTEAD,
    LET_GO,
    SAID_AGAIN,
    Direction,
)
from humanmcp.protocol.diagnostics.kinds import title_of
from humanmcp.protocol.http.client import words_of
from humanmcp.protocol.json.jsonrpc import one_line, visible
from humanmcp.protocol.json.tree import pretty

if TYPE_CHECKING:
    from collections.abc import Iterator

    from humanmcp.export.conversation import Conversation, Entry
    from humanmcp.export.reading import ExportOptions, Recording

ROOM = "transcript"

TAP_NOTES = frozenset({HELD, LET_GO, CHANGED, DROPPED, INSTEAD, SAID_AGAIN})
"""The notes of a tap that have words of their own."""


def write(recording: Recording, options: ExportOptions) -> str:
    """Write the document."""
    return "\n".join(_document(build_conversation(recording), options)) + "\n"


def _document(conversation: Conversation, options: ExportOptions) -> Iterator[str]:
    yield f"# {markdown_cell(say(ROOM, 'title', name=conversation.name))}"
    yield ""
    server = f"{conversation.server} {conversation.server_version}".strip()
    for code, value in (
        ("client", conversation.client),
        ("server", server),
        ("spoken", conversation.version),
    ):
        if value:
            yield f"- {say(ROOM, code)}: {markdown_cell(value)}"
    yield ""
    heads = ("number", "time", "from", "message")
    yield "| " + " | ".join(say(ROOM, head) for head in heads) + " |"
    yield "| ---: | --- | --- | --- |"
    entries = [entry for entry in conversation.entries if entry.kind is not LineKind.BLANK]
    for entry in entries:
        time = log_time(entry.frame.at, options.zone)
        cells = (str(entry.frame.seq), time, sender(entry), words(entry))
        yield "| " + " | ".join(markdown_cell(cell) for cell in cells) + " |"
    for entry in entries:
        if entry.frame.by != BY_CHECK or entry.frame.note == COMMAND:  # else the table has it all
            yield from _section(entry)


def sender(entry: Entry) -> str:
    """Return who a line is from: the client, the server, or a person at the tap."""
    match entry.frame.direction:
        case Direction.IN:
            who = say(ROOM, "client")
        case Direction.OUT:
            who = say(ROOM, "server")
        case Direction.ERR:
            who = "stderr"
        case Direction.NOTE:
            who = say(ROOM, "note")
    return f"{who} ({entry.frame.by})" if entry.frame.by else who


def note(entry: Entry) -> str:
    """Return what happened to a line on its way, in words; "" for nothing."""
    known = entry.frame.note in TAP_NOTES
    if known:
        return say(ROOM, entry.frame.note)
    return words_of(entry.frame) or entry.frame.note


def words(entry: Entry) -> str:
    """Say in a row what a line is and what it holds."""
    return entry.words if entry.frame.direction is not Direction.NOTE else note(entry)


def _section(entry: Entry) -> Iterator[str]:
    yield ""
    yield f"## {entry.frame.seq}. {markdown_cell(entry.method or entry.kind.value)}"
    if entry.kind in ASKING:
        card = entry.card()
        yield ""
        yield f"{markdown_cell(card.what)} ([{say(ROOM, 'page')}]({card.page}))"
    for diagnostic in entry.hints:
        yield ""
        yield f"- **{title_of(diagnostic.code)}** {markdown_cell(describe(diagnostic))}"
    text = entry.frame.text
    if text.strip():
        yield ""
        yield from fenced(pretty(text) if entry.message or entry.kind is LineKind.BATCH else text)
    if entry.frame.note:
        yield ""
        yield f"*{markdown_cell(note(entry))}*"


def fenced(text: str) -> Iterator[str]:
    """Fence a text with more backticks than it holds in a row."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    yield f"{fence}json"
    yield visible(text)
    yield fence


def defused(text: str) -> str:
    """Return a text that no spreadsheet takes for a formula: an apostrophe goes before it.

    OWASP, CSV injection: also after quotes, spaces and invisible marks, and in full width.
    """
    if text[:1] in ("\t", "\r"):
        return f"'{text}"
    seen = (one for one in text if one not in "\"'" and unicodedata.category(one)[0] not in "CZ")
    first = unicodedata.normalize("NFKC", next(seen, ""))
    return f"'{text}" if first[:1] in {*"=+-@"} else text


def markdown_cell(text: str, longest: int = 0) -> str:
    """Return a text as a cell of a Markdown table: nothing in it is markup."""
    shown = defused(one_line(text, longest))
    return re.sub(r"([\\`*_\[\]<>|~&])", r"\\\1", shown)
