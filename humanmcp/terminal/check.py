"""`humanmcp check`: explain what is wrong with an answer, without any session.

Also with a request, a notification, or a whole conversation: see `transcripts.py`. For a person:
the place, the line with a caret, the sentence, the fix, the page of the specification. For
machines: `--json`, and `--lines` for many answers through one pipe.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from humanmcp.answering.schema import CheckedShape, checked_shape
from humanmcp.common.settings import add_flags
from humanmcp.common.terminal import Painted, json_to_stdout, raw_to_stdout, to_stderr, to_stdout
from humanmcp.locales import say
from humanmcp.locales.stop import REFUSED
from humanmcp.protocol.diagnostics.autofix import autofix
from humanmcp.protocol.diagnostics.model import Diagnostic, Severity, TextForm, Verdict
from humanmcp.protocol.json import jsonrpc
from humanmcp.protocol.spec import versions
from humanmcp.protocol.validation.envelope import failed
from humanmcp.terminal import cases, command, transcripts
from humanmcp.terminal.cases import (
    STDIN,
    Asked,
    CaseError,
    TypedCase,
    explained,
    open_exchange_of,
    read_text,
    summary,
    unreadable,
)

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from humanmcp.common.parsing import Parser
    from humanmcp.common.settings import Settings

ROOM: Final = "check"
_CHUNK: Final = 1 << 18


def judge_lines(arguments: argparse.Namespace) -> int:
    """Answer each line of JSON with one, as they come; say on stderr how fast that went."""
    began = time.monotonic()
    count = 0
    if len(arguments.files) > 1:
        raise CaseError("one file")
    with _opened(*arguments.files) as number:
        for lines in _batches(number):
            raw_to_stdout("\n".join(_answered(line, arguments) for line in lines))
            count += len(lines)
    took = max(time.monotonic() - began, 1e-9)
    rate = int(count / took)
    to_stderr(say(ROOM, "speed", count=count, seconds=f"{took:.1f}", rate=rate))
    return 0


@contextlib.contextmanager
def _opened(name: str = STDIN) -> Iterator[int]:
    """Open a file, or stdin for `-`, as a descriptor to read from.

    Raises:
        StopError: it cannot be read.
    """
    if name == STDIN:
        yield sys.stdin.fileno()
        return
    try:
        number = os.open(name, os.O_RDONLY)
    except OSError as error:
        raise unreadable(name, error) from error
    try:
        yield number
    finally:
        os.close(number)


def _batches(number: int) -> Iterator[list[bytes]]:
    """Yield the lines that are there: one write an arrival, so that a pipe streams and is fast."""
    parts: list[bytes] = []  # of a line that has not ended: joined once, however long it is
    while chunk := os.read(number, _CHUNK):
        first, *others = chunk.split(b"\n")
        parts.append(first)
        if others:
            yield [b"".join(parts), *others[:-1]]
            parts = [others[-1]]
    rest = b"".join(parts)
    if rest.strip():
        yield [rest]


def _answered(line: bytes, arguments: argparse.Namespace) -> str:
    """Judge one line of `--lines`. Whatever it is, the answer is one line of JSON."""
    record: Any = None
    answer: CheckedShape
    try:
        record = json.loads(line)
        if _is_message(record, arguments):
            version = record.get("protocol_version") or arguments.protocol_version or ""
            verdict = transcripts.verdict_of(record["text"], version)
        else:
            verdict = _line_case(record, arguments).verdict()
        answer = checked_shape(verdict)
    except (CaseError, ValueError, RecursionError) as error:
        answer = _line_error(error)
    except Exception as error:  # noqa: BLE001 - the lines after this one are answered all the same
        answer = checked_shape(failed("", error))
    if isinstance(record, dict) and "id" in record:
        return json.dumps({**answer, "id": record["id"]})
    return json.dumps(answer)


def _is_message(record: Any, arguments: argparse.Namespace) -> bool:  # noqa: ANN401 - any JSON value
    """Tell a request or a notification from an answer, where the caller did not say which it is."""
    if not isinstance(record, dict) or record.keys() & {"method", "request", "form", "id"}:
        return False
    text, said = record.get("text"), record.get("protocol_version", "")
    if arguments.method or not isinstance(text, str) or said not in ("", *versions.ALL):
        return False
    return transcripts.form_of(text) is transcripts.TranscriptForm.MESSAGE


def _line_case(record: Any, arguments: argparse.Namespace) -> TypedCase:  # noqa: ANN401 - any JSON value
    if not isinstance(record, dict):
        raise CaseError("line no object", got=jsonrpc.json_type(record))
    for name in ("text", "method", "protocol_version", "form"):
        if not isinstance(record.get(name, ""), str):
            raise CaseError("line member", got=name)
    if "text" not in record:
        raise CaseError("line no text")
    version = record.get("protocol_version") or arguments.protocol_version
    if version is not None and version not in versions.ALL:
        raise CaseError("line version", got=version)
    forms = {form.value: form for form in TextForm}
    form = record.get("form") or arguments.form
    if form not in forms:
        raise CaseError("line form", got=form)
    request = record.get("request")
    return open_exchange_of(
        record["text"],
        forms[form],
        Asked(
            request=request if isinstance(request, str | None) else json.dumps(request),
            method=record.get("method") or arguments.method,
            version=version,
            id=record.get("id"),
        ),
    )


def _line_error(error: Exception) -> CheckedShape:
    """Describe a line that is no case in the shape of all answers."""
    if isinstance(error, CaseError):
        message = error.sentence()
    else:
        message = say(ROOM, "line no json", got=error)
    line, column = getattr(error, "lineno", 0), getattr(error, "colno", 0)
    diagnostic = Diagnostic("L01", Severity.ERROR, line=line, column=column)
    said = checked_shape(Verdict("", None, None, (diagnostic,)))
    said["problems"][0]["message"] = said["problems"][0]["text"] = message
    return said


def add_arguments(parser: Parser) -> None:
    """Add the arguments of this command."""
    flag = parser.flags(ROOM, "help ")
    flag("files", code="file", nargs="*", metavar="FILE|-")
    flag("--method", metavar="METHOD")
    flag("--protocol-version", choices=versions.ALL, metavar="VERSION")
    flag("--request", metavar="FILE")
    flag("--form", choices=[form.value for form in TextForm], default="message", metavar="FORM")
    out = parser.add_mutually_exclusive_group()
    flag("--json", to=out, action="store_true")
    flag("--fix", to=out, action="store_true")
    flag("--explain", to=out, nargs="*", metavar="NAME")
    flag("--lines", to=out, action="store_true")
    add_flags(parser, "lang")


@command
def run(arguments: argparse.Namespace, settings: Settings) -> int:  # noqa: ARG001 - every command takes them
    """Check what is given. Returns 0 when nothing is wrong, 1 for errors, 2 for a wrong command."""
    if arguments.explain is not None:
        cases.explain(arguments.explain)
        return 0
    return judge_lines(arguments) if arguments.lines else _every(arguments)


def _every(arguments: argparse.Namespace) -> int:
    """Check each file. Returns the worst of what was found."""
    if not arguments.files:
        raise CaseError("no file")
    if arguments.fix and len(arguments.files) > 1:
        raise CaseError("one file")
    return max([_one(file, arguments) for file in arguments.files])


def _one(file: str, arguments: argparse.Namespace) -> int:
    """Check one file, and print what is wrong with it."""
    text = read_text(_recording_in(file))
    name = _name(file)
    form = _form(text, arguments)
    if form is not transcripts.TranscriptForm.ANSWER:
        return transcripts.judge(text, form, arguments, name)
    opened = _case(text, arguments)
    if arguments.fix:
        return _fixed(opened)
    verdict = opened.verdict()
    if arguments.json:
        named = {"file": name} if len(arguments.files) > 1 else {}
        json_to_stdout(checked_shape(verdict, method=opened.exchange.method, **named))
    else:
        guessed = arguments.method is None and arguments.request is None
        _print(opened, verdict, name, guessed=guessed)
    return 0 if verdict.sendable else REFUSED


def _form(text: str, arguments: argparse.Namespace) -> transcripts.TranscriptForm:
    """Find out what a text is; who says what it answers says that it is an answer."""
    chosen = arguments.method or arguments.request or arguments.fix
    if chosen or TextForm(arguments.form) is not TextForm.MESSAGE:
        return transcripts.TranscriptForm.ANSWER
    return transcripts.form_of(text)


def _case(text: str, arguments: argparse.Namespace) -> TypedCase:
    """Return an answer with the request that it answers."""
    form = TextForm(arguments.form)
    if form in (TextForm.TEXT, TextForm.TOOL_ERROR):
        text = text.removesuffix("\n")  # every editor and `echo` ends a file with one
    request = None if arguments.request is None else read_text(arguments.request)
    return open_exchange_of(
        text,
        form,
        Asked(request=request, method=arguments.method, version=arguments.protocol_version),
    )


def _name(file: str) -> str:
    return say(ROOM, "stdin") if file == STDIN else file


def _recording_in(file: str) -> str:
    """Return the transcript of a session's folder; any other file is meant itself."""
    path = Path(file)
    return str(path / "transcript.jsonl") if file != STDIN and path.is_dir() else file


def _fixed(opened: TypedCase) -> int:
    """Print the mended text, and what is left to say on stderr."""
    fixed = autofix(opened.text, opened.judge)
    text, verdict = fixed
    raw_to_stdout(text.removesuffix("\n"))
    left = [
        diagnostic
        for diagnostic in verdict.diagnostics
        if diagnostic.severity is not Severity.REPAIRED
    ]
    for diagnostic in left:
        for parts in explained(diagnostic, text):
            to_stderr(*parts)
    if fixed.left:
        to_stderr(say(ROOM, "left", count=len(fixed.left)))
    return 0 if verdict.sendable else REFUSED


def _print(opened: TypedCase, verdict: Verdict, name: str, *, guessed: bool) -> None:
    exchange = opened.exchange
    code = "as guessed" if guessed else "as"
    to_stdout(Painted(say(ROOM, code, method=exchange.method, version=exchange.version), "dim"))
    for diagnostic in verdict.diagnostics:
        for parts in explained(diagnostic, verdict.text, name=name):
            to_stdout(*parts)
    if verdict.line is not None:
        size = len(verdict.line.encode("utf-8", "surrogatepass")) + 1
        to_stdout(Painted(say(ROOM, "sendable", size=size), "green"))
        to_stdout(verdict.line)
    else:
        counted = summary(verdict.diagnostics)
        codes = (diagnostic.code for diagnostic in verdict.diagnostics if diagnostic.blocks)
        to_stdout(Painted(cases.hint(codes), "dim"))
        to_stdout(Painted(say(ROOM, "not sendable", counted=counted), "red"))
