"""`humanmcp check`: explain what is wrong with an answer, without any session.

Also with a request, a notification, or a whole conversation: see `transcripts.py`. For a person:
the place, the line with a caret, the sentence, the fix, the page of the specification. For
machines: `--json`, and `--lines` for many answers through one pipe.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from humanmcp.answering.schema.diagnostics import checked_shape
from humanmcp.common.settings import add_flags
from humanmcp.common.terminal import Painted, json_to_stdout, raw_to_stdout, to_stderr, to_stdout
from humanmcp.locales import say
from humanmcp.locales.stop import REFUSED
from humanmcp.protocol.diagnostics.autofix import autofix
from humanmcp.protocol.diagnostics.model import Severity
from humanmcp.protocol.diagnostics.verdict import TextForm, Verdict
from humanmcp.protocol.spec import versions
from humanmcp.terminal import command, mistakes, transcripts
from humanmcp.terminal.cases import (
    Asked,
    CaseError,
    TypedCase,
    case_of,
)
from humanmcp.terminal.explain import explained, summary
from humanmcp.terminal.files import STDIN, read_text
from humanmcp.terminal.lines import judge_lines

if TYPE_CHECKING:
    import argparse

    from humanmcp.common.parsing import Parser
    from humanmcp.common.settings import Settings

ROOM: Final = "check"


def add_arguments(parser: Parser) -> None:
    """Add the arguments of this command."""
    flag = parser.flags(ROOM, "help ")
    flag("files", code="file", nargs="*", metavar="FILE|-")
    flag("--method", metavar="METHOD")
    flag("--revision", choices=versions.ALL, metavar="REVISION")
    flag("--request", metavar="FILE")
    flag("--form", choices=[form.value for form in TextForm], default="message")
    out = parser.add_mutually_exclusive_group()
    flag("--json", to=out, action="store_true")
    flag("--fix", to=out, action="store_true")
    flag("--explain", to=out, nargs="*", metavar="CODE")
    flag("--lines", to=out, action="store_true")
    add_flags(parser, "lang")


@command
def run(arguments: argparse.Namespace, settings: Settings, language: str) -> int:  # noqa: ARG001 - every command takes them
    """Check what is given. Returns 0 when nothing is wrong, 1 for errors, 2 for a wrong command."""
    if arguments.explain is not None:
        mistakes.explain(arguments.explain, language)
        return 0
    return judge_lines(arguments, language) if arguments.lines else _every(arguments, language)


def _every(arguments: argparse.Namespace, language: str) -> int:
    """Check each file. Returns the worst of what was found."""
    if not arguments.files:
        raise CaseError("no file")
    if arguments.fix and len(arguments.files) > 1:
        raise CaseError("one file")
    return max([_one(file, arguments, language) for file in arguments.files])


def _one(file: str, arguments: argparse.Namespace, language: str) -> int:
    """Check one file, and print what is wrong with it."""
    text = read_text(_recording_in(file))
    name = _name(file, language)
    form = _form(text, arguments)
    if form is not transcripts.TranscriptForm.ANSWER:
        return transcripts.judge(text, form, arguments, name, language)
    case = _case(text, arguments)
    if arguments.fix:
        return _fixed(case, language)
    verdict = case.verdict()
    if arguments.json:
        named = {"file": name} if len(arguments.files) > 1 else {}
        json_to_stdout(checked_shape(verdict, language, method=case.exchange.method, **named))
    else:
        guessed = arguments.method is None and arguments.request is None
        _print(case, verdict, name, language, guessed=guessed)
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
    return case_of(
        text, form, Asked(request=request, method=arguments.method, revision=arguments.revision)
    )


def _name(file: str, language: str) -> str:
    return say(ROOM, "stdin", language) if file == STDIN else file


def _recording_in(file: str) -> str:
    """Return the transcript of a session's folder; any other file is meant itself."""
    path = Path(file)
    return str(path / "transcript.jsonl") if file != STDIN and path.is_dir() else file


def _fixed(case: TypedCase, language: str) -> int:
    """Print the mended text, and what is left to say on stderr."""
    fixed = autofix(case.text, case.judge)
    text, verdict = fixed
    raw_to_stdout(text.removesuffix("\n"))
    left = [
        diagnostic
        for diagnostic in verdict.diagnostics
        if diagnostic.severity is not Severity.REPAIRED
    ]
    for diagnostic in left:
        for parts in explained(diagnostic, text, language):
            to_stderr(*parts)
    if fixed.left:
        to_stderr(say(ROOM, "left", language, count=len(fixed.left)))
    return 0 if verdict.sendable else REFUSED


def _print(case: TypedCase, verdict: Verdict, name: str, language: str, *, guessed: bool) -> None:
    exchange = case.exchange
    code = "as guessed" if guessed else "as"
    to_stdout(
        Painted(
            say(ROOM, code, language, method=exchange.method, revision=exchange.revision), "dim"
        )
    )
    for diagnostic in verdict.diagnostics:
        for parts in explained(diagnostic, verdict.text, language, name=name):
            to_stdout(*parts)
    if verdict.line is not None:
        size = len(verdict.line.encode("utf-8", "surrogatepass")) + 1
        to_stdout(Painted(say(ROOM, "sendable", language, size=size), "green"))
        to_stdout(verdict.line)
    else:
        counted = summary(verdict.diagnostics, language)
        codes = (diagnostic.code for diagnostic in verdict.diagnostics if diagnostic.blocks)
        to_stdout(Painted(mistakes.hint(codes, language), "dim"))
        to_stdout(Painted(say(ROOM, "not sendable", language, counted=counted), "red"))
