"""A text of a stranger takes time in proportion to its length, through every reader.

One line of 64 KB once held a server for 16 seconds, and all others with it. So every way in reads
every hostile shape (`tests/support/hostile_shapes.py`) at two lengths.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Final

import pytest

from humanmcp.answering import alone, files, forms, summary
from humanmcp.common import jsonc
from humanmcp.desk import rendering
from humanmcp.desk.history import folding, rows, search
from humanmcp.export import command, recording
from humanmcp.protocol.answer_book.placeholders import fill_text
from humanmcp.protocol.conversation.transcript import Direction, Frame
from humanmcp.protocol.diagnostics.autofix import autofix, suggestion
from humanmcp.protocol.diagnostics.model import TextForm, Verdict, unreadable
from humanmcp.protocol.http import events, inbound
from humanmcp.protocol.http.http_headers import Headers, decode_value
from humanmcp.protocol.json import encodings, jsonrpc, tree, undecoded, visible
from humanmcp.protocol.session import McpSession
from humanmcp.protocol.tables.schemas import Field
from humanmcp.protocol.validation import check, held
from humanmcp.protocol.validation.captures import CapturedLine, read_capture
from tests.support.hostile_shapes import AROUND, UNITS, Hostile, steepness
from tests.support.recordings import said_by_both
from tests.support.verdicts import asked

Reader = Callable[[str], object]

CALL: Final = asked("tools/call", {"name": "t"})
AT: Final = "2026-11-20T18:49:00.123Z"


def _server(text: str) -> None:
    """Receive a line over stdio, as a server and as a tap that holds."""
    line = jsonrpc.encoded(text)
    McpSession().receive(line)
    found = jsonrpc.read(line)
    held.doubts(line, found)
    if isinstance(found, jsonrpc.Malformed):
        unreadable(found)


def _large_line(text: str) -> None:
    """Look at a line that is too large to be decoded."""
    undecoded.is_large(text)
    undecoded.answered_in(text, {"1"})
    line = jsonrpc.encoded(text)
    undecoded.envelope(line)
    undecoded.stand_in(line[:20_000], line[-1_024:], len(line))


def _http(text: str) -> None:
    """Receive a body and the values of headers over HTTP."""
    headers = [("content-type", "application/json"), ("Mcp-Session-Id", "s")]
    body = jsonrpc.encoded(text)
    inbound.judge_request(inbound.HttpRequest("POST", Headers.of(headers), body))
    value = text.encode("ascii", "ignore").decode()
    decode_value(value)
    named = [("authorization", value), ("accept", value), ("mcp-protocol-version", value)]
    inbound.judge_request(inbound.HttpRequest("POST", Headers.of(named), b"{}"))
    list(events.EventReader(1 << 20).feed(body))


def _checked(text: str) -> None:
    for form in (TextForm.MESSAGE, TextForm.RESULT, TextForm.ERROR, TextForm.TEXT):
        check.check(CALL, text, form)


def _fixed(text: str) -> None:
    def judge(typed: str) -> Verdict:
        return check.check(CALL, typed)

    autofix(text, judge)
    suggestion(text, judge)


def _typed(text: str) -> None:
    """Read a line of `key=value`, and each kind of field."""
    for kind in ("string", "integer", "boolean", "array"):
        with suppress(forms.MistypedError):
            forms.value(Field("a", {"type": kind}), text)
    for read in (forms.texts, lambda typed: forms.arguments(typed, None)):
        with suppress(forms.MistypedError):
            read(text)


def _judged(text: str) -> None:
    """Judge a conversation that consists of the lines."""
    lines = [
        CapturedLine(number, direction, line)
        for number, line in enumerate(text.split("\n"), 1)
        for direction in (Direction.IN, Direction.OUT)
    ]
    list(alone.judge_captured(lines))
    list(alone.judge_captured(lines[1::2]))


def _in_history(text: str) -> None:
    """Show a line in the history, on its page, and next to another one."""
    frame = Frame(1, AT, Direction.OUT, jsonrpc.encoded(text))
    rows.step("s", summary.badge(1), frame)
    rows.body_of(text)
    list(rows.difference(tree.pretty(text), tree.pretty(f"{text}a")))
    folding.folded_json(text)
    rendering.media_in(text)
    search.parse(text)


def _on_page(text: str) -> None:
    rendering.blocks(text)
    rendering.sentence(text)
    rendering.ordered(text)
    with suppress(ValueError):
        rendering.written(rendering.decoded(text))
    for show in (visible.visible, visible.visible_code, visible.visible_json, visible.one_line):
        show(text)


def _exported(text: str) -> None:
    redacted, _names = command.redacted(said_by_both(text))
    for form in command.FORMATS.values():
        command.written(form, redacted, OPTIONS)


OPTIONS: Final = recording.ExportOptions()


def _commented(text: str) -> None:
    """Change a settings file with comments."""
    for change in (jsonc.plain, lambda file: jsonc.put(file, ["a", "b"], 1)):
        with suppress(ValueError, LookupError):
            change(text)


READERS: Final[Mapping[str, Reader]] = {
    "a line of a server or a tap": _server,
    "a line too large to decode": _large_line,
    "HTTP": _http,
    "JSON on one line": jsonrpc.compact,
    "JSON on many lines": tree.pretty,
    "an encoding": lambda text: encodings.guessed_encoding(b"\xe9" + jsonrpc.encoded(text)),
    "an answer": _checked,
    "an answer without its request": lambda text: alone.open_exchange_of(
        text, TextForm.MESSAGE, alone.Asked()
    ).verdict(),
    "Fix all": _fixed,
    "a typed form": _typed,
    "a conversation": _judged,
    "the history": _in_history,
    "the page": _on_page,
    "an export": _exported,
    "a settings file": _commented,
    "a file of messages": read_capture,
    "another kind of file": files.what_else,
    "an answer book": lambda text: fill_text(text, {"a": "b"}),
}


CASES: Final = [
    pytest.param(
        *(name, around),
        id=f"{name}-{around}",
    )
    for name in READERS
    for around in AROUND
]


@pytest.mark.parametrize(("name", "around"), CASES)
def test_a_longer_text_takes_as_much_longer(name: str, around: str) -> None:
    """Whatever is repeated in it, and whatever is around that."""
    read = READERS[name]
    steep = [found for unit in UNITS if (found := steepness(read, Hostile(unit, around)))]
    assert steep == []
