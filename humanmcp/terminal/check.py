"""`humanmcp check`: explain what is wrong with an answer, without any session.

Also with a request, a notification, or a whole conversation: whatever a program or a person has
written down of one (`protocol/validation/captures.py`). For a person: the place, the line with a
caret, the sentence, the fix, the page of the specification. For machines: `--json`, and `--lines`
for many answers through one pipe.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import sys
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from humanmcp.answering import mistakes
from humanmcp.answering.alone import (
    TOLD,
    Asked,
    Remark,
    TypedCase,
    count_problems,
    judge_alone,
    judge_captured,
    open_exchange_of,
    remarks_on,
    told,
)
from humanmcp.answering.files import TYPED, FileKind, ReadFile, read_file
from humanmcp.answering.schema import (
    CheckedShape,
    ConversationShape,
    JudgedShape,
    checked_shape,
    diagnostic_shape,
)
from humanmcp.answering.summary import sessions_named
from humanmcp.common.parsing import closest
from humanmcp.common.person_files import STDIN, decoded, read_bytes, read_text, unreadable_file
from humanmcp.common.settings import add_flags, home_folder
from humanmcp.common.terminal import Painted, json_to_stdout, raw_to_stdout, to_stderr, to_stdout
from humanmcp.locales import say, titled
from humanmcp.locales.stop import REFUSED, StopError, stopped
from humanmcp.protocol.conversation.transcript import Direction, to_json
from humanmcp.protocol.diagnostics import kinds
from humanmcp.protocol.diagnostics.autofix import autofix
from humanmcp.protocol.diagnostics.model import Diagnostic, Severity, TextForm, Verdict, blocking
from humanmcp.protocol.json import jsonrpc
from humanmcp.protocol.json.encodings import utf16_of
from humanmcp.protocol.json.jsonrpc import compact, encoded
from humanmcp.protocol.json.visible import one_line
from humanmcp.protocol.repair.reading import decode_file
from humanmcp.protocol.tables import methods, versions
from humanmcp.protocol.validation.crash_guard import failed
from humanmcp.terminal.gates import GATES, for_others, unchecked
from humanmcp.terminal.inbox import open_inbox
from humanmcp.terminal.problems import explained, print_problems

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from humanmcp.answering.mistakes import Example, Mistake
    from humanmcp.common.parsing import Parser
    from humanmcp.common.settings import Settings
    from humanmcp.protocol.validation.whole_conversation import Judged


SECTION: Final = "check"
_FORMS: Final = tuple(
    one.value for one in TextForm if one not in (TextForm.DECISION, TextForm.STEP)
)
_Checked: TypeAlias = "tuple[int, Mapping[str, Any] | None]"
"""The exit status of one file, and its JSON; None if what is wrong was printed as text."""
_CHUNK: Final = 1 << 18


def judge_lines(arguments: argparse.Namespace) -> int:
    """Answer each line of JSON with a line as it comes; print the speed on stderr."""
    began = time.monotonic()
    count = 0
    if len(arguments.files) > 1:
        raise stopped(SECTION, "one file")
    with _opened(*arguments.files) as number:
        for lines in _batches(number):
            raw_to_stdout("\n".join(_answered(line, arguments) for line in lines))
            count += len(lines)
    took = max(time.monotonic() - began, 1e-9)
    rate = int(count / took)
    to_stderr(say(SECTION, "speed", count=count, seconds=f"{took:.1f}", rate=rate))
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
        if Path(name).is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), name)
        number = os.open(name, os.O_RDONLY)
    except OSError as error:
        raise unreadable_file(name, error) from error
    try:
        yield number
    finally:
        os.close(number)


def _batches(number: int) -> Iterator[list[bytes]]:
    """Yield the lines that have arrived, so that one write answers all of them."""
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


_LINE_MEMBERS: Final = ("text", "method", "protocol_version", "request", "form", "id")


def _answered(line: bytes, arguments: argparse.Namespace) -> str:
    """Judge one line of `--lines`. Whatever it is, the answer is one line of JSON."""
    record: Any = None
    answer: CheckedShape
    try:
        record = json.loads(line)
        if _is_message(record, arguments):
            version = record.get("protocol_version") or arguments.protocol_version or ""
            verdict = verdict_of(record["text"], version)
        else:
            verdict = _line_case(record, arguments).verdict()
        answer = checked_shape(verdict)
    except (StopError, ValueError, RecursionError) as error:
        answer = _line_error(error)
    except Exception as error:  # noqa: BLE001 - the lines after this one are answered anyway
        answer = checked_shape(failed("", error))
    if isinstance(record, dict) and "id" in record:
        return json.dumps({**answer, "id": record["id"]})
    return json.dumps(answer)


def _is_message(record: Any, arguments: argparse.Namespace) -> bool:  # noqa: ANN401 - any JSON value
    """Return True for a request or notification, if the caller did not say what it is."""
    if not isinstance(record, dict) or record.keys() - {"text", "protocol_version"}:
        return False
    text, said = record.get("text"), record.get("protocol_version", "")
    if arguments.method or not isinstance(text, str) or said not in ("", *versions.ALL):
        return False
    return read_file(text).kind is FileKind.REQUEST


def _line_case(record: Any, arguments: argparse.Namespace) -> TypedCase:  # noqa: ANN401 - any JSON value
    if not isinstance(record, dict):
        raise stopped(SECTION, "line no object", got=jsonrpc.json_type(record))
    for name in record.keys() - _LINE_MEMBERS:
        known = ", ".join(_LINE_MEMBERS)
        raise stopped(SECTION, "line unknown", got=one_line(name, _WIDTH), known=known)
    for name in ("text", "method", "protocol_version", "form"):
        if not isinstance(record.get(name, ""), str):
            raise stopped(SECTION, "line member", got=name)
    if "text" not in record:
        raise stopped(SECTION, "line no text")
    version = record.get("protocol_version") or arguments.protocol_version
    if version is not None and version not in versions.ALL:
        raise stopped(SECTION, "line version", got=version)
    forms = {form.value: form for form in TextForm}
    form = record.get("form") or arguments.form
    if form not in forms:
        raise stopped(SECTION, "line form", got=form)
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
    if isinstance(error, StopError):
        message = error.sentence()
    else:
        message = say(SECTION, "line no json", got=error)
    line, column = getattr(error, "lineno", 0), getattr(error, "colno", 0)
    diagnostic = Diagnostic("L01", Severity.ERROR, line=line, column=column)
    said = checked_shape(Verdict("", None, None, (diagnostic,)))
    said["problems"][0]["message"] = message
    return said


def add_arguments(parser: Parser) -> None:
    flag = parser.flags(SECTION, "help ")
    flag("files", code="file", nargs="*", metavar="FILE|-")
    flag("--method", metavar="METHOD")
    flag("--protocol-version", choices=versions.ALL, metavar="VERSION")
    flag("--request", metavar="FILE")
    flag("--no-hosts", action="store_true")
    flag("--form", choices=_FORMS, default="message", metavar="FORM")
    out = parser.add_mutually_exclusive_group()
    flag("--json", to=out, action="store_const", dest="format", const="json", default="text")
    flag("--format", to=out, choices=("text", "json", *GATES), default="text")
    flag("--fix", to=out, action="store_true")
    flag("--explain", to=out, nargs="*", metavar="NAME")
    flag("--lines", to=out, action="store_true")
    flag("--strict", action="store_true")
    add_flags(parser, "home", "inbox", "lang")


def run(arguments: argparse.Namespace, settings: Settings) -> int:
    """Check the files. Returns 0 without errors, 1 with errors, 2 for a wrong command line."""
    if arguments.explain is not None:
        explain(arguments.explain)
        return 0
    got = arguments.method
    if got and got not in methods.REQUESTS and (guess := closest(got, methods.REQUESTS)):
        raise stopped(SECTION, "no such method", got=got, guess=guess)
    return judge_lines(arguments) if arguments.lines else _every(arguments, settings)


def _every(arguments: argparse.Namespace, settings: Settings) -> int:
    """Check each file. Returns the highest exit status."""
    if not arguments.files:
        raise stopped(SECTION, "no file")
    files = list(dict.fromkeys(file for name in arguments.files for file in _files_of(name)))
    if arguments.fix and len(files) > 1:
        raise stopped(SECTION, "one file")
    gate, statuses, shapes = GATES.get(arguments.format), [], []
    for file in files:
        try:
            status, shape = _one(file, arguments, settings)
        except StopError as error:  # one that cannot be checked hides nothing of the others
            if arguments.format == "text" and len(files) == 1:
                raise
            to_stderr("humanmcp: ", error.sentence())
            status, shape = error.status, unchecked(error.sentence()) if gate else None
            if arguments.format == "json":
                remark = {"code": "not checked", "line": 0, "message": error.sentence()}
                shape = {**_conversation_shape(()), "remarks": [remark]}
        statuses.append(status)
        if shape is not None:
            named = {**shape, "file": _name(file)}
            if gate is not None:
                shapes.append(for_others(named))
            else:
                json_to_stdout(named if len(files) > 1 else shape)
    if gate is not None:
        raw_to_stdout(gate(shapes))
    return max(statuses)


_ENDINGS: Final = (".har", ".json", ".jsonl", ".log", ".txt")
"""How files end that are checked in a folder."""


def _files_of(name: str) -> list[str]:
    """Return the files below a folder that can hold messages; for anything else, the name itself.

    Raises:
        StopError: there are none.
    """
    folder = Path(name)
    if name == STDIN or not folder.is_dir() or (folder / "transcript.jsonl").exists():
        return [name]
    found = [
        str(one)
        for one in sorted(folder.rglob("*"))
        if one.suffix in _ENDINGS and (one.is_file() or not one.exists())  # no folder, no pipe
    ]
    if not found:
        raise stopped(SECTION, "no file in", folder=name)
    return found


def _status(found: Iterable[Diagnostic], arguments: argparse.Namespace) -> int:
    """Return the exit status; with `--strict`, a warning is a failure."""
    failing = _BAD if arguments.strict else {Severity.ERROR}
    return REFUSED if any(one.severity in failing for one in found) else 0


def _one(file: str, arguments: argparse.Namespace, settings: Settings) -> _Checked:
    """Check one file, and print what is wrong with it as text, if that is the form."""
    content, goes_on = _content(file, settings)
    name = _name(file)
    kind = None
    if not _is_answer(arguments):
        read = read_file(content)
        kind = read.kind
        if kind not in TYPED:
            if arguments.format == "text" and utf16_of(content)[0]:
                to_stdout(Painted(titled(decode_file(content)[1][0]), "dim"))
            return _print_captured(read, arguments, name, goes_on=goes_on)
        if file.endswith(".log") and read.text.lstrip()[:1] not in ("{", "["):
            raise stopped("other_file", "nothing recorded", name=name)
    text, notes = decoded(content, name), decode_file(content)[1]
    opened = _case(text, arguments)
    if arguments.fix:
        return _fixed(opened), None
    verdict = opened.told_verdict()
    verdict = verdict._replace(diagnostics=(*notes, *verdict.diagnostics))
    if arguments.no_hosts:
        verdict = verdict._replace(diagnostics=_without_hosts(verdict.diagnostics))
    status = _status(verdict.diagnostics, arguments) if verdict.sendable else REFUSED
    is_guessed = arguments.method is None and arguments.request is None
    exchange = opened.exchange
    values = {"method": exchange.method, "version": exchange.version, "name": name}
    about = Remark("as guessed" if is_guessed else "as", values)
    if kind is FileKind.NOTHING:
        nothing = say("other_file", "nothing recorded", name=name)
        about = Remark("as nothing", {**values, "nothing": nothing})
    if arguments.format == "text":
        _print(verdict, about.sentence, name)
        return status, None
    return status, {**checked_shape(verdict, method=exchange.method), "remarks": [about.shape]}


def _is_answer(arguments: argparse.Namespace) -> bool:
    """Return True if the caller says that the file is an answer."""
    chosen = arguments.method or arguments.request or arguments.fix
    return bool(chosen) or TextForm(arguments.form) is not TextForm.MESSAGE


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
    return say(SECTION, "stdin") if file == STDIN else file


def _content(file: str, settings: Settings) -> tuple[bytes, bool]:
    """Return the content of a file, or the transcript of a session's folder or of a session.

    With it, whether that is a session that goes on.
    """
    path = Path(file)
    if file != STDIN and path.is_dir():
        return read_bytes(str(path / "transcript.jsonl")), False
    has_inbox = settings.inbox or home_folder(settings.home).exists()
    if file != STDIN and has_inbox and not path.exists():
        inbox = open_inbox(settings)
        found = sessions_named(inbox.sessions(), file)
        if len(found) == 1:
            lines = "\n".join(map(to_json, inbox.frames(found[0].name)))
            return lines.encode("utf-8", "replace"), found[0].is_open
    return read_bytes(file), False


def _fixed(opened: TypedCase) -> int:
    """Print the fixed text, and the remaining problems on stderr."""
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
        to_stderr(say(SECTION, "left", count=len(fixed.left)))
    return 0 if verdict.sendable else REFUSED


def _print(verdict: Verdict, about: str, name: str) -> None:
    to_stdout(Painted(about, "dim"))
    print_problems(verdict.diagnostics, verdict.text, name=name)
    if verdict.line is not None:
        size = len(verdict.line.encode("utf-8", "surrogatepass")) + 1
        to_stdout(Painted(say(SECTION, "sendable", size=size), "green"))
        to_stdout(verdict.line)
    else:
        counted = count_problems(verdict.diagnostics)
        codes = (diagnostic.code for diagnostic in verdict.diagnostics if diagnostic.blocks)
        to_stdout(Painted(hint(codes), "dim"))
        to_stdout(Painted(say(SECTION, "not sendable", counted=counted), "red"))


def explain(codes: Sequence[str]) -> None:
    """Explain some kinds of mistakes; without a code, list all kinds.

    Raises:
        StopError: one of them does not exist.
    """
    if not codes:
        for code in mistakes.codes():
            mistake = _found(code)
            to_stdout(Painted(mistake.title, "bold"), f": {mistake.sentence}")
        return
    found = [_found(code) for code in codes]
    for mistake in found:
        _explain(mistake)


def _found(code: str) -> Mistake:
    mistake = mistakes.find_mistake(code)
    if mistake is None:
        if guess := closest(code, (one.name for one in kinds.KINDS.values())):
            raise stopped("parsing", "choice guess", value=code, guess=guess)
        raise stopped(SECTION, "no such code", got=code)
    return mistake


def _explain(mistake: Mistake) -> None:
    to_stdout(Painted(mistake.title, "bold"), f": {mistake.sentence}")
    if mistake.why:
        to_stdout(mistake.why)
    if mistake.example is None:
        to_stdout(Painted(say(SECTION, "no example"), "dim"))
    else:
        _show_example(mistake.example)
    if mistake.page:
        to_stdout(Painted(mistake.page, "dim"))
    to_stdout("")


def _show_example(example: Example) -> None:
    if example.request:
        _show_text(say(SECTION, "example request"), "dim", example.request)
    elif example.method:
        to_stdout(Painted(say(SECTION, "example method", method=example.method), "dim"))
    _show_text(say(SECTION, "example wrong"), "red", example.wrong)
    _show_text(say(SECTION, "example right"), "green", example.right)
    for quote in example.quotes:
        to_stdout(f"“{quote.says}”")
        to_stdout("  ", Painted(quote.link, "dim"))
    for page in sorted(set(example.pages.values())):
        to_stdout("  ", Painted(page, "dim"))


def _show_text(title: str, colour: str, text: str) -> None:
    to_stdout(Painted(title, colour))
    for line in text.split("\n"):
        to_stdout("  ", line)


def hint(codes: Iterable[str]) -> str:
    """Return the command that explains what was found; "" where nothing was."""
    first = list(dict.fromkeys(codes))[:5]
    return say(SECTION, "explain these", codes=" ".join(first)) if first else ""


# -- more than one answer: a request, a notification, a whole conversation -----------------------


_BAD: Final = frozenset({Severity.ERROR, Severity.WARNING})
_WIDTH: Final = 80


def _print_captured(
    read: ReadFile, arguments: argparse.Namespace, name: str, *, goes_on: bool
) -> _Checked:
    """Print the problems of a conversation as text, if that is the form.

    Raises:
        StopError: it has no messages.
    """
    captured = read.messages(name)
    found = tuple(judge_captured(captured, arguments.protocol_version or "", goes_on=goes_on))
    remarks = tuple(remarks_on(captured))
    if not (found or remarks):
        raise stopped("other_file", "nothing recorded", name=name)
    if arguments.no_hosts:
        found = tuple(one._replace(diagnostics=_without_hosts(one.diagnostics)) for one in found)
    status = _status((each for one in found for each in one.diagnostics), arguments)
    if arguments.format == "text":
        for one in remarks:
            to_stdout(Painted(one.sentence, "dim"))
        _print_conversation(found, name, alone=read.kind is FileKind.REQUEST)
        return status, None
    unread = next((one.values for one in remarks if one.code == "unread"), None)
    counted = {"unread": unread["count"], "unread_line": unread["line"]} if unread else {}
    said = {**counted, "remarks": [one.shape for one in remarks]}
    return status, {**_conversation_shape(found), **said}


def _without_hosts(diagnostics: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    return tuple(one for one in diagnostics if one.severity is not Severity.HOSTS)


def verdict_of(text: str, version: str) -> Verdict:
    """Judge one request or notification."""
    found = tuple(
        each for judged in judge_alone(encoded(text), version) for each in judged.diagnostics
    )
    return Verdict(text, None if blocking(found) else compact(text), None, found)


# -- printing -------------------------------------------------------------------------------------


def _print_conversation(judged: Sequence[Judged], name: str, *, alone: bool) -> None:
    shown: list[Diagnostic] = []
    for one in judged if alone else told(judged):
        shown += [each for each in one.diagnostics if not alone or each.severity in TOLD]
        if one.diagnostics:
            to_stdout(Painted(_heading(one), "dim"))
        placed = [_placed(diagnostic, one) for diagnostic in one.diagnostics]
        print_problems(placed, one.text, name=name, place_of=one.place)
    bad = [diagnostic for diagnostic in shown if diagnostic.severity in _BAD]
    if shown:
        to_stdout(Painted(hint(diagnostic.code for diagnostic in shown), "dim"))
    counted = count_problems(shown) if shown else say(SECTION, "nothing wrong")
    wrong = any(diagnostic.severity is Severity.ERROR for diagnostic in bad)
    words = say(SECTION, "all checked", count=_count(judged), counted=counted)
    to_stdout(Painted(words, "red" if wrong else "yellow" if bad else "green"))


def _count(judged: Sequence[Judged]) -> int:
    """Count the messages; an unanswered request is a second entry for its place."""
    return len({(one.line, one.column) for one in judged})


def _heading(judged: Judged) -> str:
    who = say("transcript", "client" if judged.direction is Direction.IN else "server")
    about = f"{judged.method} {judged.id}".strip() or judged.text
    return f"{who}: {one_line(about, _WIDTH)}"


def _placed(diagnostic: Diagnostic, judged: Judged) -> Diagnostic:
    """Set the place of a problem that concerns a whole line."""
    if diagnostic.line:
        return diagnostic
    return diagnostic._replace(line=1, column=1, end=len(judged.text))


def _conversation_shape(judged: Sequence[Judged]) -> ConversationShape:
    levels = Counter(diagnostic.severity for one in judged for diagnostic in one.diagnostics)
    return {
        "messages": _count(judged),
        "errors": levels[Severity.ERROR],
        "warnings": levels[Severity.WARNING],
        "problems": [
            _judged_shape(one, diagnostic) for one in judged for diagnostic in one.diagnostics
        ],
    }


def _judged_shape(judged: Judged, diagnostic: Diagnostic) -> JudgedShape:
    said = diagnostic_shape(diagnostic)
    line, column = judged.place(max(1, diagnostic.line), diagnostic.column)
    return {
        **said,
        "line": line,
        "column": column if diagnostic.line else 0,
        "way": judged.direction,
        "method": judged.method,
        "id": judged.id,
    }
