"""What `check` judges: an answer, and the request that it answers, made up where it is not given.

Knows no file and no session.
"""

from __future__ import annotations

import json
import sys
import unicodedata
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from humanmcp.common import mistakes
from humanmcp.common.terminal import SEVERITY_COLOURS, Painted, to_stdout
from humanmcp.locales import UnknownSentenceError, say, titled
from humanmcp.locales.stop import StopError, stopped
from humanmcp.protocol.conversation.exchange import Exchange
from humanmcp.protocol.diagnostics.model import Severity, blocking
from humanmcp.protocol.json import jsonrpc
from humanmcp.protocol.json.jsonrpc import one_line, visible
from humanmcp.protocol.repair import reading as json_reading
from humanmcp.protocol.repair.reading import decode
from humanmcp.protocol.spec import methods, versions
from humanmcp.protocol.validation import check

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from humanmcp.common.mistakes import Example, Mistake
    from humanmcp.protocol.diagnostics.model import Diagnostic, Fix, TextForm, Verdict


@dataclass(frozen=True, slots=True)
class TypedCase:
    """One answer to judge, and the request that it answers."""

    exchange: Exchange
    text: str
    form: TextForm

    def verdict(self) -> Verdict:
        """Judge it."""
        return self.judge(self.text)

    def judge(self, text: str) -> Verdict:
        """Judge another text in its place."""
        return check.check(self.exchange, text, self.form)


class CaseError(StopError):
    """What was given is no case: a line of `--lines` that is no object, say."""

    room = "check"


@dataclass(frozen=True, slots=True)
class Asked:
    """What is known of the request that an answer belongs to; each part may be missing."""

    request: str | None = None
    method: str | None = None
    version: str | None = None
    id: Any = None


def open_exchange_of(text: str, form: TextForm, asked: Asked) -> TypedCase:
    """Put together what is judged: an answer, and the request that it answers.

    Without a request one is made up: of the method (or the one that the answer looks like), with
    the id of the answer itself.

    Raises:
        CaseError: the request is none.
    """
    if asked.request is None:
        message = _made_up(text, asked)
    else:
        one_line = jsonrpc.encoded(jsonrpc.compact(asked.request))
        found = jsonrpc.read(one_line)
        if not isinstance(found, jsonrpc.Message) or found.kind is not jsonrpc.Kind.REQUEST:
            raise CaseError("no request")
        message = found
    version = asked.version or versions.stated_in(message) or _asked_for(message)
    return TypedCase(Exchange(1, message, version), text, form)


def _asked_for(request: jsonrpc.Message) -> str:
    """Return the version of a request that states none: what it asks for, else the newest."""
    wanted = request.params.get("protocolVersion") if request.method == "initialize" else None
    if request.method == "server/discover":
        return versions.LATEST_STATELESS
    return wanted if wanted in versions.HANDSHAKE else versions.LATEST_HANDSHAKE


def _made_up(text: str, asked: Asked) -> jsonrpc.Message:
    """Make up a request for an answer that comes without its request."""
    reading = json_reading.read(text)  # also of a text that is not quite JSON yet
    value = reading.value if reading.readable else None
    token = _own_id(reading.json, value) if asked.id is None else json.dumps(asked.id)
    name = asked.method or guessed_method(value)
    made = jsonrpc.read(
        f'{{"jsonrpc":"2.0","id":{token},"method":{json.dumps(name)},"params":{{}}}}'.encode()
    )
    if not isinstance(made, jsonrpc.Message) or made.id is None:
        raise CaseError("no id", got=token)
    return made


def _own_id(text: str, value: Any) -> str:  # noqa: ANN401 - any JSON value
    """Return the token of the answer's own id where it can be one, else 1."""
    if not isinstance(value, dict) or isinstance(value.get("id"), (bool, float)):
        return "1"
    if not isinstance(value.get("id"), (str, int)):
        return "1"
    return jsonrpc.member(text, "id") or "1"


def guessed_method(value: Any) -> str:  # noqa: ANN401 - any JSON value
    """Guess from a result what it answers; `tools/call` where it may be anything."""
    if isinstance(value, dict) and isinstance(value.get("result"), dict):
        value = value["result"]
    if isinstance(value, dict):
        for one in methods.REQUESTS.values():
            if not value.keys().isdisjoint(one.gives_away):
                return one.name
    return "tools/call"


Line = tuple[str | Painted, ...]

_LONGEST_LINE: Final = 100
"""Columns of a text line that are shown around a problem."""
_BEFORE: Final = 40
"""Columns shown before the place when a line is too long."""
_LONGEST_EDIT: Final = 60


def explained(
    diagnostic: Diagnostic, text: str, *, name: str = "", shift: int = 0
) -> Iterator[Line]:
    """Yield the lines that show one problem with `text`.

    `name` is what the text is called (a file), `shift` the lines that stand above it there.
    """
    place = place_of(diagnostic, name=name, shift=shift)
    colour = SEVERITY_COLOURS[diagnostic.severity]
    yield (
        Painted(f"{place}: " if place else "", "bold"),
        Painted(say("check", diagnostic.severity.value), colour),
        f" {one_line(titled(diagnostic))}",
    )
    if diagnostic.line:
        yield from _excerpt(diagnostic, text, colour, shift)
    if diagnostic.fix:
        yield ("    ", Painted("= ", "dim"), fix_in_words(diagnostic.fix, text))
    because = _why(diagnostic)
    if because:
        yield ("    ", Painted(f"= {because}", "dim"))
    if diagnostic.page:
        yield ("    ", Painted(f"= {diagnostic.page}", "dim"))


def _why(diagnostic: Diagnostic) -> str:
    """Return what there is to learn from a problem, "" when nothing was written down."""
    try:
        return say("problem", f"{diagnostic.code}.why")
    except UnknownSentenceError:
        return ""


def place_of(diagnostic: Diagnostic, *, name: str = "", shift: int = 0) -> str:
    """Return where a problem stands: `answer.json:3:12`, or `line 3, column 12` without a name."""
    if not diagnostic.line:
        return name
    line = diagnostic.line + shift
    if name:
        return f"{name}:{line}:{diagnostic.column}"
    return say("check", "place", line=line, column=diagnostic.column)


def fix_in_words(fix: Fix, text: str) -> str:
    """Return what a fix would change, in one line, and how far it may be trusted."""
    words = _changes(fix, text)
    if fix.is_safe:
        return words
    return say("check", f"as {fix.applicability.value}", words=words)


def _changes(fix: Fix, text: str) -> str:
    if len(fix.edits) != 1:
        code = "fix several" if fix.is_safe else "fix places"
        return say("check", code, count=len(fix.edits))
    edit = fix.edits[0]
    old = one_line(text[edit.start : edit.end].strip(), _LONGEST_EDIT)
    new = one_line(edit.new.strip(), _LONGEST_EDIT)
    if old and new:
        return say("check", "fix replace", old=old, new=new)
    return say("check", "fix remove" if old else "fix insert", old=old, new=new)


def summary(diagnostics: Sequence[Diagnostic]) -> str:
    """Count the problems by level: `1 error, 2 warnings`."""
    counts = [
        (
            severity,
            sum(diagnostic.times for diagnostic in diagnostics if diagnostic.severity is severity),
        )
        for severity in (Severity.ERROR, Severity.WARNING, Severity.HINT, Severity.REPAIRED)
    ]
    words = [
        say("check", f"{severity.value} {'one' if count == 1 else 'many'}", count=count)
        for severity, count in counts
        if count
    ]
    return say("check", "and").join(words)


def columns(text: str) -> int:
    """Return how many columns of a terminal a text takes: East Asian characters take two."""
    return sum(_width(letter) for letter in text)


def cut(text: str, longest: int) -> str:
    """Return `text` on one line, cut to a number of columns."""
    shown = one_line(text)
    if columns(shown) <= longest:
        return shown
    taken, used = 0, 0
    for letter in shown:
        used += _width(letter)
        if used > longest - 1:
            break
        taken += 1
    return shown[:taken] + "…"


def pad(text: str, width: int) -> str:
    """Fill a text with spaces up to a number of columns."""
    return text + " " * max(0, width - columns(text))


def _width(letter: str) -> int:
    if unicodedata.combining(letter):
        return 0
    return 2 if unicodedata.east_asian_width(letter) in "WF" else 1


def _excerpt(diagnostic: Diagnostic, text: str, colour: str, shift: int) -> Iterator[Line]:
    """Yield the line of the text and a caret line below it."""
    whole = _line_of(text, diagnostic)
    column = diagnostic.column - 1
    first = max(0, column - _BEFORE) if len(whole) > _LONGEST_LINE else 0
    before = _printable(whole[first:column])
    after = whole[column : first + _LONGEST_LINE]
    marked = _marked(diagnostic, text, after)
    start = "…" if first else ""
    end = "…" if first + _LONGEST_LINE < len(whole) else ""
    number = str(diagnostic.line + shift)
    yield (Painted(f"  {number} | ", "dim"), start + before + _printable(after) + end)
    gap = " " * columns(start + before)
    carets = "^" * max(1, columns(_printable(marked)))
    yield (Painted(f"  {' ' * len(number)} | ", "dim"), gap, Painted(carets, colour))


def _line_of(text: str, diagnostic: Diagnostic) -> str:
    """Return the line that a problem stands on, without splitting a text of megabytes."""
    begin = text.rfind("\n", 0, diagnostic.start) + 1
    end = text.find("\n", diagnostic.start)
    return text[begin : end if end >= 0 else len(text)].removesuffix("\r")


def _marked(diagnostic: Diagnostic, text: str, after: str) -> str:
    """Return what the carets stand below: the problem's part of this line."""
    length = text[diagnostic.start : diagnostic.end].find("\n")
    wanted = diagnostic.end - diagnostic.start if length < 0 else length
    return after[: max(1, wanted)]


def _printable(text: str) -> str:
    return visible(text.replace("\t", " "))


ROOM: Final = "check"


def explain(codes: Sequence[str]) -> None:
    """Print what there is to know of some kinds of mistakes; without a code, list them all.

    Raises:
        CaseError: one of them does not exist.
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
    mistake = mistakes.find(code)
    if mistake is None:
        raise CaseError("no such code", got=code)
    return mistake


def _explain(mistake: Mistake) -> None:
    to_stdout(Painted(mistake.title, "bold"), f": {mistake.sentence}")
    if mistake.why:
        to_stdout(mistake.why)
    if mistake.example is None:
        to_stdout(Painted(say(ROOM, "no example"), "dim"))
    else:
        _show_example(mistake.example)
    if mistake.page:
        to_stdout(Painted(mistake.page, "dim"))
    to_stdout("")


def _show_example(example: Example) -> None:
    if example.request:
        _show_text(say(ROOM, "example request"), "dim", example.request)
    elif example.method:
        to_stdout(Painted(say(ROOM, "example method", method=example.method), "dim"))
    _show_text(say(ROOM, "example wrong"), "red", example.wrong)
    _show_text(say(ROOM, "example right"), "green", example.right)
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
    return say(ROOM, "explain these", codes=" ".join(first)) if first else ""


STDIN: Final = "-"


def unreadable(name: str, error: OSError) -> StopError:
    """Return why a file cannot be read."""
    return stopped("check", "unreadable file", name=name, why=error)


def read_bytes(name: str) -> bytes:
    """Return the bytes of a file, or of stdin for `-`.

    Raises:
        StopError: it cannot be read.
    """
    try:
        return sys.stdin.buffer.read() if name == STDIN else Path(name).read_bytes()
    except OSError as error:
        raise unreadable(name, error) from error


def read_text(name: str) -> str:
    """Return the text of a file, or of stdin for `-`.

    Raises:
        StopError: it cannot be read, or is no text.
    """
    return decoded(read_bytes(name), name)


def decoded(content: bytes, name: str) -> str:
    """Decode a file in the way in which `out.txt` is decoded.

    Raises:
        StopError: it is no text in any encoding that can be told for sure.
    """
    text, diagnostics = decode(content)
    wrong = blocking(diagnostics)
    if wrong:
        raise stopped("check", "no text", name=name, why=wrong[0])
    return text
