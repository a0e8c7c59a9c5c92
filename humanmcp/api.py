"""humanmcp for Python programs: check messages of MCP, and read them out of any recording.

    from humanmcp import api

    checked = api.check_answer('{"content": [{"type": "txt"}]}', method="tools/call")
    checked.line                                # None: it would not be sent
    [one.message for one in checked.problems]
    api.check_text(open("server.log", "rb").read())

These names stay. Every other module of humanmcp is private, and may change with each version.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from humanmcp.answering.alone import Asked, open_exchange_of, told_of
from humanmcp.answering.files import read_file
from humanmcp.locales import describe_or_code, say, speaking
from humanmcp.protocol.conversation.transcript import Direction
from humanmcp.protocol.diagnostics.kinds import name_of_kind
from humanmcp.protocol.diagnostics.model import TextForm
from humanmcp.protocol.tables import versions
from humanmcp.protocol.validation.captures import with_senders

if TYPE_CHECKING:
    from collections.abc import Sequence

    from humanmcp.protocol.diagnostics.model import Diagnostic

__all__ = (
    "PROTOCOL_VERSIONS",
    "Checked",
    "Message",
    "Problem",
    "check_answer",
    "check_text",
    "read_messages",
)

PROTOCOL_VERSIONS: Final[Sequence[str]] = versions.ALL
"""The protocol versions that the check knows, the oldest first."""
_SENDERS: Final = {Direction.IN: "client", Direction.OUT: "server"}


class Problem(NamedTuple):
    """One problem. `line` and `column` count from 1; they are 0 for a problem of the whole text.

    In a recording, `line` is that of the file, and `column` the place in the message.

    `level` is "error", "warning", "hint", "hosts" (some hosts or clients fail) or "repaired" (a
    mistake that has one meaning). `pointer` is a JSON Pointer into the message. `page` is where the
    specification says so. `sender` and `method` are of the message, "" where they are not known.
    """

    code: str
    name: str
    level: str
    message: str
    line: int
    column: int
    pointer: str
    page: str
    sender: str = ""
    method: str = ""


class Checked(NamedTuple):
    """An answer that was checked. `line` is what would be sent, None if an error blocks it."""

    line: str | None
    problems: tuple[Problem, ...]


class Message(NamedTuple):
    """A message of a recording, as it was written there, and its place in the file, from 1.

    `sender` is "client" or "server". `at` is the time as written there. `is_cut`: the program that
    wrote the file left out a part.
    """

    text: str
    sender: str
    line: int
    column: int
    at: str = ""
    is_cut: bool = False


def check_answer(  # noqa: PLR0913 - what is known of the request, each with a default
    text: str,
    *,
    method: str | None = None,
    request: str | None = None,
    protocol_version: str | None = None,
    form: str = "message",
    language: str = "en",
) -> Checked:
    """Check an answer to a request: the request as JSON, or only its method; else it is guessed.

    `form` is "message" (a result, an error, or a whole response), "result", "error", "text" or
    "tool_error".

    Raises:
        ValueError: `form` or `protocol_version` is none of these.
        humanmcp.locales.stop.StopError: `request` is not a request.
    """
    if protocol_version not in (None, *versions.ALL):
        raise ValueError(protocol_version)
    with speaking(language):
        asked = Asked(request=request, method=method, version=protocol_version)
        verdict = open_exchange_of(text, TextForm(form), asked).verdict()
        return Checked(verdict.line, tuple(map(_problem, verdict.diagnostics)))


def check_text(content: str | bytes, *, language: str = "en") -> tuple[Problem, ...]:
    """Check a text of any form: a message, a transcript, a log or a capture of any program.

    Bytes may hold lines that are not UTF-8; in a text they are surrogates.

    Raises:
        humanmcp.locales.stop.StopError: it has no message, and nobody typed it as an answer.
    """
    with speaking(language):
        read = read_file(content)
        return tuple(
            _problem(each, one.line, _SENDERS.get(one.direction, ""), one.method)
            for one in told_of(read, say("desk", "open.pasted"))
            for each in one.diagnostics
        )


def read_messages(content: str | bytes) -> tuple[Message, ...]:
    """Return the messages of a transcript, a log or a capture of any program, in their order.

    Raises:
        humanmcp.locales.stop.StopError: it has no message. The sentence says what it is instead.
    """
    with speaking("en"):
        captured = read_file(content).messages(say("desk", "open.pasted"))
    return tuple(
        Message(one.text, _SENDERS[direction], one.number, one.column, one.at, one.is_cut)
        for one, direction in with_senders(captured)
        if direction in _SENDERS
    )


def _problem(found: Diagnostic, line: int = 1, sender: str = "", method: str = "") -> Problem:
    return Problem(
        found.code,
        name_of_kind(found.code),
        found.severity.value,
        describe_or_code(found),
        max(found.line, 1) + line - 1 if sender else found.line,
        found.column,
        found.pointer,
        found.page,
        sender,
        method,
    )
