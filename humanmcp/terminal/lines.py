"""`humanmcp check --lines`: many answers through one pipe, each judged on a line of its own."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from typing import TYPE_CHECKING, Any, Final

from humanmcp.answering.schema.diagnostics import CheckedShape, checked_shape
from humanmcp.common.terminal import raw_to_stdout, to_stderr
from humanmcp.locales import say
from humanmcp.protocol.diagnostics.model import Diagnostic, Severity
from humanmcp.protocol.diagnostics.verdict import TextForm, Verdict
from humanmcp.protocol.json import jsonrpc
from humanmcp.protocol.spec import versions
from humanmcp.protocol.validation.crash_guard import failed
from humanmcp.terminal import transcripts
from humanmcp.terminal.cases import Asked, CaseError, TypedCase, case_of
from humanmcp.terminal.files import STDIN, unreadable

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

ROOM: Final = "check"
_CHUNK: Final = 1 << 18


def judge_lines(arguments: argparse.Namespace, language: str) -> int:
    """Answer each line of JSON with one, as they come; say on stderr how fast that went."""
    began = time.monotonic()
    count = 0
    if len(arguments.files) > 1:
        raise CaseError("one file")
    with _opened(*arguments.files) as number:
        for lines in _batches(number):
            raw_to_stdout("\n".join(_answered(line, arguments, language) for line in lines))
            count += len(lines)
    took = max(time.monotonic() - began, 1e-9)
    rate = int(count / took)
    to_stderr(say(ROOM, "speed", language, count=count, seconds=f"{took:.1f}", rate=rate))
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


def _answered(line: bytes, arguments: argparse.Namespace, language: str) -> str:
    """Judge one line of `--lines`. Whatever it is, the answer is one line of JSON."""
    record: Any = None
    answer: CheckedShape
    try:
        record = json.loads(line)
        if _is_message(record, arguments):
            revision = record.get("revision") or arguments.revision or ""
            verdict = transcripts.verdict_of(record["text"], revision)
        else:
            verdict = _line_case(record, arguments).verdict()
        answer = checked_shape(verdict, language)
    except (CaseError, ValueError, RecursionError) as error:
        answer = _line_error(error, language)
    except Exception as error:  # noqa: BLE001 - the lines after this one are answered all the same
        answer = checked_shape(failed("", error), language)
    if isinstance(record, dict) and "id" in record:
        return json.dumps({**answer, "id": record["id"]})
    return json.dumps(answer)


def _is_message(record: Any, arguments: argparse.Namespace) -> bool:  # noqa: ANN401 - any JSON value
    """Tell a request or a notification from an answer, where the caller did not say which it is."""
    if not isinstance(record, dict) or record.keys() & {"method", "request", "form", "id"}:
        return False
    text, said = record.get("text"), record.get("revision", "")
    if arguments.method or not isinstance(text, str) or said not in ("", *versions.ALL):
        return False
    return transcripts.form_of(text) is transcripts.TranscriptForm.MESSAGE


def _line_case(record: Any, arguments: argparse.Namespace) -> TypedCase:  # noqa: ANN401 - any JSON value
    if not isinstance(record, dict):
        raise CaseError("line no object", got=jsonrpc.json_type(record))
    for name in ("text", "method", "revision", "form"):
        if not isinstance(record.get(name, ""), str):
            raise CaseError("line member", got=name)
    if "text" not in record:
        raise CaseError("line no text")
    revision = record.get("revision") or arguments.revision
    if revision is not None and revision not in versions.ALL:
        raise CaseError("line revision", got=revision)
    forms = {form.value: form for form in TextForm}
    form = record.get("form") or arguments.form
    if form not in forms:
        raise CaseError("line form", got=form)
    request = record.get("request")
    return case_of(
        record["text"],
        forms[form],
        Asked(
            request=request if isinstance(request, str | None) else json.dumps(request),
            method=record.get("method") or arguments.method,
            revision=revision,
            id=record.get("id"),
        ),
    )


def _line_error(error: Exception, language: str) -> CheckedShape:
    """Describe a line that is no case in the shape of all answers."""
    if isinstance(error, CaseError):
        message = error.sentence(language)
    else:
        message = say(ROOM, "line no json", language, got=error)
    line, column = getattr(error, "lineno", 0), getattr(error, "colno", 0)
    diagnostic = Diagnostic("L01", Severity.ERROR, line=line, column=column)
    said = checked_shape(Verdict("", None, None, (diagnostic,)), language)
    said["problems"][0]["message"] = said["problems"][0]["text"] = message
    return said
