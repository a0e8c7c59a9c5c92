"""`humanmcp doctor`: say in plain words what is wrong with an installation, and what to do."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING, Final

from humanmcp.answering.schema import filled
from humanmcp.answering.schema.commands import FindingShape
from humanmcp.common.settings import add_flags
from humanmcp.common.terminal import Painted, json_to_stdout, to_stdout
from humanmcp.locales import language_of, say
from humanmcp.locales.stop import REFUSED, in_language
from humanmcp.protocol.json.escaping import one_line
from humanmcp.setup import checks, host_checks, trial
from humanmcp.setup.checks import Finding, Level, ok, problem, warning

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from humanmcp.answering.schema.commands import DoctorShape
    from humanmcp.common.parsing import Parser
    from humanmcp.common.settings import Settings

ROOM: Final = "doctor"
SLOW_START: Final = 1.5
"""Seconds: the shortest time that a host is known to wait for a server's first answer."""
SLOW_END: Final = 2.0
"""Seconds after which hosts begin to kill."""
MOST_STDERR: Final = 2048

_MARK: Final = {Level.OK: "✓", Level.WARNING: "!", Level.PROBLEM: "✗"}
_COLOUR: Final = {Level.OK: "green", Level.WARNING: "yellow", Level.PROBLEM: "red"}


def add_arguments(parser: Parser) -> None:
    """Add the flags of this command."""
    parser.flags(ROOM, "help ")("--json", action="store_true")
    add_flags(parser, "home", "files", "book", "lang")


def run(arguments: argparse.Namespace, settings: Settings) -> int:
    """Look at everything. Returns 1 when there is a problem, else 0."""
    language = language_of(settings.lang)
    found = []
    for finding in findings(settings, language):
        found.append(finding)
        if not arguments.json:
            _print(finding, language)
    problems = sum(finding.level is Level.PROBLEM for finding in found)
    warnings = sum(finding.level is Level.WARNING for finding in found)
    if arguments.json:
        told: DoctorShape = {
            "ok": not problems,
            "findings": [filled(FindingShape, one, message=_said(one, language)) for one in found],
        }
        json_to_stdout(told)
    else:
        code = "problems" if problems else "warnings" if warnings else "well"
        to_stdout(say(ROOM, code, language, count=problems or warnings))
    return REFUSED if problems else 0


def findings(settings: Settings, language: str) -> Iterator[Finding]:
    """Yield what every check finds, one after the other."""
    yield from checks.check_python()
    yield from checks.check_home(settings)
    yield from checks.check_disk(settings)
    yield from check_server()
    yield from checks.check_watching()
    yield from checks.check_book(settings)
    yield from checks.check_files(settings)
    yield from checks.check_desk(settings)
    yield from check_editor()
    yield from host_checks.check_hosts(language)


def check_server() -> Iterator[Finding]:
    """Start the server as a host would, and judge what it does."""
    seen = trial.run()
    if seen.failure or seen.first_answer is None:
        why = seen.failure or one_line(seen.stderr.strip(), 300) or "-"
        yield problem("server silent", why=why)
        return
    if seen.stray:
        yield problem("stdout dirty", line=one_line(seen.stray[0], 100), count=len(seen.stray))
    else:
        yield ok("stdout clean")
    took = f"{seen.first_answer:.2f}"
    yield (
        warning("start slow", took=took)
        if seen.first_answer > SLOW_START
        else ok("start", took=took)
    )
    if seen.exit_time is None or seen.exit_time > SLOW_END:
        yield warning("end slow")
    if len(seen.stderr.encode()) > MOST_STDERR:
        yield warning("stderr long", size=len(seen.stderr.encode()))


def check_editor() -> Iterator[Finding]:
    """Look which editor `humanmcp answer` would open."""
    for name in ("VISUAL", "EDITOR"):
        wanted = os.environ.get(name, "").split()
        if wanted:
            there = shutil.which(wanted[0])
            yield (ok if there else warning)(
                "editor" if there else "editor missing", name=name, command=wanted[0]
            )
            return
    there = next(filter(None, map(shutil.which, ("editor", "vi", "nano", "notepad"))), None)
    yield ok("editor default", command=there) if there else warning("editor none")


def _print(finding: Finding, language: str) -> None:
    mark = Painted(_MARK[finding.level], _COLOUR[finding.level])
    to_stdout(mark, f" {one_line(_said(finding, language))}")


def _said(finding: Finding, language: str) -> str:
    told = {name: in_language(filling, language) for name, filling in finding.fillings}
    sentence = say(ROOM, finding.code, language, **told)
    return f"{sentence} {one_line(finding.note)}" if finding.note else sentence
