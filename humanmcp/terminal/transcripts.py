"""`humanmcp check` for more than one answer: a request, a notification, a whole conversation.

A transcript, a text log, or messages a line each; what it is can be seen at its first lines.
"""

from __future__ import annotations

import enum
import json
from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from humanmcp.answering.schema import (
    ConversationShape,
    JudgedShape,
    diagnostic_shape,
)
from humanmcp.common.terminal import Painted, json_to_stdout, to_stdout
from humanmcp.locales import say
from humanmcp.locales.stop import REFUSED
from humanmcp.protocol.conversation.transcript import (
    Direction,
    Frame,
    from_json,
    is_log_line,
    read_log_line,
)
from humanmcp.protocol.diagnostics.model import Severity, Verdict, blocking
from humanmcp.protocol.json.jsonrpc import compact, encoded, one_line
from humanmcp.protocol.repair import reading as json_reading
from humanmcp.protocol.validation.whole_conversation import (
    ConversationJudge,
    Judged,
    judge_frames,
    judge_messages,
)
from humanmcp.terminal import cases
from humanmcp.terminal.cases import CaseError, explained, summary

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator, Sequence

    from humanmcp.protocol.diagnostics.model import Diagnostic

ROOM: Final = "check"
_SHOWN: Final = frozenset({Severity.ERROR, Severity.WARNING})
_WIDTH: Final = 80


class TranscriptForm(enum.Enum):
    """What a text turns out to be."""

    ANSWER = "answer"
    MESSAGE = "message"
    """One request or notification."""
    LINES = "lines"
    """Messages, a line each."""
    TRANSCRIPT = "transcript"
    LOG = "log"


def form_of(text: str) -> TranscriptForm:
    """Find out what a text is; what is none of the others is an answer, right or wrong."""
    lines = [line for line in text.split("\n") if line.strip()]
    first = _object(lines[0]) if lines else None
    if lines and is_log_line(lines[0]) and any(read_log_line(one.rstrip("\r")) for one in lines):
        return TranscriptForm.LOG
    if first is not None and {"seq", "way", "raw"} <= first.keys():
        return TranscriptForm.TRANSCRIPT
    if first is not None and len(lines) > 1 and any(map(_object, lines[1:])):
        return TranscriptForm.LINES
    reading = json_reading.read(text)
    value = reading.value if reading.readable and not reading.edits else None
    is_message = isinstance(value, dict) and isinstance(value.get("method"), str)
    return TranscriptForm.MESSAGE if is_message else TranscriptForm.ANSWER


def _object(line: str) -> dict[str, Any] | None:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def judge(text: str, form: TranscriptForm, arguments: argparse.Namespace, name: str) -> int:
    """Print what is wrong. Returns 0 where nothing is, 1 where something is."""
    found = judged(text, form, arguments.protocol_version or "")
    if not found:
        raise CaseError("no messages", name=name)
    diagnostics = [diagnostic for judged in found for diagnostic in judged.diagnostics]
    if arguments.json:
        _print_json(found, name if len(arguments.files) > 1 else "")
    else:
        _print(found, diagnostics, name, alone=form is TranscriptForm.MESSAGE)
    return (
        REFUSED if any(diagnostic.severity is Severity.ERROR for diagnostic in diagnostics) else 0
    )


def verdict_of(text: str, version: str) -> Verdict:
    """Judge one request or notification."""
    found = tuple(each for judged in _alone(encoded(text), version) for each in judged.diagnostics)
    return Verdict(text, None if blocking(found) else compact(text), None, found)


def judged(text: str, form: TranscriptForm, version: str) -> tuple[Judged, ...]:
    """Judge every message of a text."""
    return tuple(_each(text, form, version))


def _each(text: str, form: TranscriptForm, version: str) -> Iterator[Judged]:
    lines = text.split("\n")
    match form:
        case TranscriptForm.TRANSCRIPT:
            yield from judge_frames(_frames(lines), version)
        case TranscriptForm.LOG:
            yield from judge_frames(_logged(lines), version)
        case TranscriptForm.LINES:
            yield from judge_messages((encoded(line) for line in lines), version)
        case TranscriptForm.MESSAGE | TranscriptForm.ANSWER:
            yield from _alone(encoded(text), version)


def _alone(raw: bytes, version: str) -> Iterator[Judged]:
    """Judge a message without the conversation around it: it may be any part of one."""
    overheard = ConversationJudge(version, initialized=True)
    yield from overheard.line(1, overheard.speaker(raw), raw)


def _frames(lines: Iterable[str]) -> Iterator[tuple[int, Frame]]:
    for number, line in enumerate(lines, 1):
        try:
            yield number, from_json(line)
        except (ValueError, RecursionError):  # torn by a crash
            continue


def _logged(lines: Iterable[str]) -> Iterator[tuple[int, Frame]]:
    for number, line in enumerate(lines, 1):
        found = read_log_line(line.rstrip("\r"))
        if found is not None:
            yield number, Frame(number, "", found.direction, encoded(found.text))


# -- printing -------------------------------------------------------------------------------------


def _print(
    judged: Sequence[Judged], diagnostics: Sequence[Diagnostic], name: str, *, alone: bool
) -> None:
    for one in sorted(judged, key=lambda one: one.line):
        noted = [
            diagnostic for diagnostic in one.diagnostics if alone or diagnostic.severity in _SHOWN
        ]
        if noted:
            to_stdout(Painted(_heading(one), "dim"))
        for diagnostic in noted:
            for parts in explained(
                _placed(diagnostic, one), one.text, name=name, shift=one.line - 1
            ):
                to_stdout(*parts)
    bad = [diagnostic for diagnostic in diagnostics if diagnostic.severity in _SHOWN]
    if bad:
        to_stdout(Painted(cases.hint(diagnostic.code for diagnostic in bad), "dim"))
    counted = summary(bad) if bad else say(ROOM, "nothing wrong")
    wrong = any(diagnostic.severity is Severity.ERROR for diagnostic in bad)
    words = say(ROOM, "all checked", count=_count(judged), counted=counted)
    to_stdout(Painted(words, "red" if wrong else "yellow" if bad else "green"))


def _count(judged: Sequence[Judged]) -> int:
    """Count the lines: what was never answered is said of a line that was counted already."""
    return len({one.line for one in judged})


def _heading(judged: Judged) -> str:
    who = say("transcript", "client" if judged.direction is Direction.IN else "server")
    about = f"{judged.method} {judged.id}".strip() or judged.text
    return f"{who}: {one_line(about, _WIDTH)}"


def _placed(diagnostic: Diagnostic, judged: Judged) -> Diagnostic:
    """Give a problem with a whole line that line as its place."""
    if diagnostic.line:
        return diagnostic
    return diagnostic._replace(line=1, column=1, end=len(judged.text))


def _print_json(judged: Sequence[Judged], named: str) -> None:
    levels = Counter(diagnostic.severity for one in judged for diagnostic in one.diagnostics)
    found: ConversationShape = {
        "messages": _count(judged),
        "errors": levels[Severity.ERROR],
        "warnings": levels[Severity.WARNING],
        "problems": [
            _judged_shape(one, diagnostic) for one in judged for diagnostic in one.diagnostics
        ],
    }
    if named:
        found["file"] = named
    json_to_stdout(found)


def _judged_shape(judged: Judged, diagnostic: Diagnostic) -> JudgedShape:
    said = diagnostic_shape(diagnostic)
    line = judged.line + max(0, diagnostic.line - 1)
    return {
        **said,
        "line": line,
        "way": judged.direction,
        "method": judged.method,
        "id": judged.id,
    }
