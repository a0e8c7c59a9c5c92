"""`humanmcp check`: explain what is wrong with an answer, without any session.

For a person: the place, the line with a caret, the sentence, the fix, the page of the
specification. For machines: `--json`, and `--lines` for many answers through one pipe.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from humanmcp.locales import language_of, say
from humanmcp.locales.stop import REFUSED, USAGE_ERROR, StopError
from humanmcp.protocol import drafts, jsontext, messages, revisions
from humanmcp.protocol.exchange import Exchange, Known
from humanmcp.protocol.problems import Level
from humanmcp.protocol.verdict import Form, Verdict
from humanmcp.settings import add_flags
from humanmcp.terminal import Painted, complain, say_json, say_raw
from humanmcp.terminal import say as show
from humanmcp.terminal_desk.explain import as_json, explained, summary
from humanmcp.terminal_desk.files import STDIN, read_text, unreadable

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from humanmcp.settings import Settings

ROOM: Final = "check"
_CHUNK: Final = 1 << 18
_NOTHING_KNOWN: Final = Known()

_METHOD_OF_MEMBER: Final = {
    "content": "tools/call",
    "tools": "tools/list",
    "contents": "resources/read",
    "resources": "resources/list",
    "resourceTemplates": "resources/templates/list",
    "prompts": "prompts/list",
    "messages": "prompts/get",
    "completion": "completion/complete",
    "supportedVersions": "server/discover",
    "protocolVersion": "initialize",
    "serverInfo": "initialize",
}
"""The member of a result that gives away what it answers, where nobody said it."""


@dataclass(frozen=True, slots=True)
class Case:
    """One answer to judge, and the request that it answers."""

    exchange: Exchange
    text: str
    form: Form

    def verdict(self) -> Verdict:
        """Judge it."""
        return drafts.check(self.exchange, self.text, self.form, _NOTHING_KNOWN)


class CaseError(StopError):
    """What was given is no case: a line of `--lines` that is no object, say."""

    room = ROOM


@dataclass(frozen=True, slots=True)
class Asked:
    """What is known of the request that an answer belongs to; each part may be missing."""

    request: str | None = None
    method: str | None = None
    revision: str | None = None
    id: Any = None


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this command."""
    language = language_of()

    def words(code: str) -> str:
        return say(ROOM, f"help {code}", language)

    parser.add_argument("file", nargs="?", metavar="FILE|-", help=words("file"))
    parser.add_argument("--method", metavar="METHOD", help=words("method"))
    parser.add_argument(
        "--revision", choices=revisions.ALL, metavar="REVISION", help=words("revision")
    )
    parser.add_argument("--request", metavar="FILE", help=words("request"))
    parser.add_argument(
        "--form", choices=[form.value for form in Form], default="message", help=words("form")
    )
    out = parser.add_mutually_exclusive_group()
    out.add_argument("--json", action="store_true", help=words("json"))
    out.add_argument("--fix", action="store_true", help=words("fix"))
    out.add_argument("--lines", action="store_true", help=words("lines"))
    add_flags(parser, "lang")


def run(arguments: argparse.Namespace, settings: Settings) -> int:
    """Check an answer. Returns 0 when it may be sent, 1 when not, 2 when asked in a wrong way."""
    language = language_of(settings.lang)
    try:
        if arguments.lines:
            return _lines(arguments, language)
        return _one(arguments, language)
    except StopError as error:
        complain(error.sentence(language))
        return USAGE_ERROR


def _one(arguments: argparse.Namespace, language: str) -> int:
    """Check one answer."""
    if arguments.file is None:
        raise CaseError("no file")
    form = Form(arguments.form)
    text = read_text(arguments.file)
    if form in (Form.TEXT, Form.TOOL_ERROR):
        text = text.removesuffix("\n")  # every editor and `echo` ends a file with one
    case = case_of(
        text,
        form,
        Asked(
            request=None if arguments.request is None else read_text(arguments.request),
            method=arguments.method,
            revision=arguments.revision,
        ),
    )
    verdict = case.verdict()
    if arguments.fix:
        return _fixed(case, verdict, language)
    if arguments.json:
        say_json({**_as_json(verdict, language), "method": case.exchange.method})
    else:
        name = say(ROOM, "stdin", language) if arguments.file == STDIN else arguments.file
        guessed = arguments.method is None and arguments.request is None
        _print(case, verdict, name, language, guessed=guessed)
    return 0 if verdict.sendable else REFUSED


def case_of(text: str, form: Form, asked: Asked) -> Case:
    """Put together what is judged: an answer, and the request that it answers.

    Without a request one is made up: of the method (or the one that the answer looks like), with
    the id of the answer itself.

    Raises:
        CaseError: the request is none.
    """
    if asked.request is None:
        message = _made_up(text, asked)
    else:
        one_line = messages.compact(asked.request).encode("utf-8", "surrogatepass")
        found = messages.read(one_line)
        if not isinstance(found, messages.Message) or found.kind is not messages.Kind.REQUEST:
            raise CaseError("no request")
        message = found
    revision = asked.revision or revisions.stated_in(message) or _asked_for(message)
    return Case(Exchange(1, message, revision), text, form)


def _asked_for(request: messages.Message) -> str:
    """Return the revision of a request that states none: what it asks for, else the newest."""
    wanted = request.params.get("protocolVersion") if request.method == "initialize" else None
    if request.method == "server/discover":
        return revisions.MODERN[-1]
    return wanted if wanted in revisions.HANDSHAKE else revisions.LATEST_HANDSHAKE


def _made_up(text: str, asked: Asked) -> messages.Message:
    """Make up a request for an answer whose request nobody has."""
    reading = jsontext.read(text)  # also of a text that is not quite JSON yet
    value = reading.value if reading.readable else None
    token = _own_id(reading.json, value) if asked.id is None else json.dumps(asked.id)
    name = asked.method or guessed_method(value)
    made = messages.read(
        f'{{"jsonrpc":"2.0","id":{token},"method":{json.dumps(name)},"params":{{}}}}'.encode()
    )
    if not isinstance(made, messages.Message) or made.id is None:
        raise CaseError("no id", got=token)
    return made


def _own_id(text: str, value: Any) -> str:  # noqa: ANN401 - any JSON value
    """Return the token of the answer's own id where it can be one, else 1."""
    if not isinstance(value, dict) or isinstance(value.get("id"), (bool, float)):
        return "1"
    if not isinstance(value.get("id"), (str, int)):
        return "1"
    return messages.member(text, "id") or "1"


def guessed_method(value: Any) -> str:  # noqa: ANN401 - any JSON value
    """Guess from a result what it answers; `tools/call` where it may be anything."""
    if isinstance(value, dict) and isinstance(value.get("result"), dict):
        value = value["result"]
    if isinstance(value, dict):
        for member, method in _METHOD_OF_MEMBER.items():
            if member in value:
                return method
    return "tools/call"


def fixed_text(case: Case, verdict: Verdict) -> tuple[str, Verdict]:
    """Apply every fix, one after the other, as long as that leaves fewer problems.

    A fix may uncover the next mistake (a text that is no JSON hides all others), so the check runs
    again after each.
    """
    text = verdict.text
    seen = {text}
    while True:
        better = next(
            (
                mended
                for problem in verdict.problems
                if problem.fix is not None and (mended := problem.fix.apply(text)) not in seen
            ),
            None,
        )
        if better is None:
            return text, verdict
        seen.add(better)
        text = better
        verdict = Case(case.exchange, text, case.form).verdict()
        text = verdict.text


def _fixed(case: Case, verdict: Verdict, language: str) -> int:
    """Print the mended text, and what is left to say on stderr."""
    text, verdict = fixed_text(case, verdict)
    say_raw(text.removesuffix("\n"))
    left = [problem for problem in verdict.problems if problem.level is not Level.REPAIRED]
    for problem in left:
        for parts in explained(problem, text, language):
            complain(*parts)
    return 0 if verdict.sendable else REFUSED


def _print(case: Case, verdict: Verdict, name: str, language: str, *, guessed: bool) -> None:
    exchange = case.exchange
    code = "as guessed" if guessed else "as"
    show(
        Painted(
            say(ROOM, code, language, method=exchange.method, revision=exchange.revision), "dim"
        )
    )
    for problem in verdict.problems:
        for parts in explained(problem, verdict.text, language, name=name):
            show(*parts)
    if verdict.line is not None:
        size = len(verdict.line.encode("utf-8", "surrogatepass")) + 1
        show(Painted(say(ROOM, "sendable", language, size=size), "green"))
        show(verdict.line)
    else:
        counted = summary(verdict.problems, language)
        show(Painted(say(ROOM, "not sendable", language, counted=counted), "red"))


def _as_json(verdict: Verdict, language: str) -> dict[str, Any]:
    return {
        "sendable": verdict.sendable,
        "line": verdict.line,
        "problems": [as_json(problem, language) for problem in verdict.problems],
    }


# -- many at once -----------------------------------------------------------------------------


def _lines(arguments: argparse.Namespace, language: str) -> int:
    """Answer each line of JSON with one, as they come; say on stderr how fast that went."""
    began = time.monotonic()
    count = 0
    with _opened(arguments.file) as number:
        for lines in _batches(number):
            say_raw("\n".join(_answered(line, arguments, language) for line in lines))
            count += len(lines)
    took = max(time.monotonic() - began, 1e-9)
    rate = int(count / took)
    complain(say(ROOM, "speed", language, count=count, seconds=f"{took:.1f}", rate=rate))
    return 0


@contextlib.contextmanager
def _opened(name: str | None) -> Iterator[int]:
    """Open a file, or stdin for `-` and for no name, as a descriptor to read from.

    Raises:
        FileError: it cannot be read.
    """
    if name in (None, STDIN):
        yield sys.stdin.fileno()
        return
    try:
        number = os.open(str(name), os.O_RDONLY)
    except OSError as error:
        raise unreadable(str(name), error) from error
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
    try:
        record = json.loads(line)
        answer = _as_json(_line_case(record, arguments).verdict(), language)
    except (CaseError, ValueError, RecursionError) as error:
        answer = _line_error(error, language)
    if isinstance(record, dict) and "id" in record:
        answer["id"] = record["id"]
    return json.dumps(answer)


def _line_case(record: Any, arguments: argparse.Namespace) -> Case:  # noqa: ANN401 - any JSON value
    if not isinstance(record, dict):
        raise CaseError("line no object", got=messages.json_type(record))
    for name in ("text", "method", "revision", "form"):
        if not isinstance(record.get(name, ""), str):
            raise CaseError("line member", got=name)
    if "text" not in record:
        raise CaseError("line no text")
    revision = record.get("revision") or arguments.revision
    if revision is not None and revision not in revisions.ALL:
        raise CaseError("line revision", got=revision)
    forms = {form.value: form for form in Form}
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


def _line_error(error: Exception, language: str) -> dict[str, Any]:
    """Describe a line that is no case in the shape of all answers."""
    if isinstance(error, CaseError):
        message = error.sentence(language)
    else:
        message = say(ROOM, "line no json", language, got=error)
    found = {
        "code": "L01",
        "level": "error",
        "line": getattr(error, "lineno", 0),
        "column": getattr(error, "colno", 0),
        "pointer": "",
        "message": message,
        "fix": None,
        "page": "",
    }
    return {"sendable": False, "line": None, "problems": [found]}
