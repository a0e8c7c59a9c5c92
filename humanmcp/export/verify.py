"""`humanmcp verify`: find what was changed, left out or moved in a file of decisions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from humanmcp.common.settings import add_flags
from humanmcp.common.terminal import to_stderr, to_stdout
from humanmcp.locales import say
from humanmcp.locales.stop import trouble
from humanmcp.protocol.conversation.transcript import verify_decisions

if TYPE_CHECKING:
    import argparse

    from humanmcp.common.parsing import Parser
    from humanmcp.common.settings import Settings

SECTION: Final = "verify"
FAILED: Final = 1


def add_arguments(parser: Parser) -> None:
    """Declare the arguments of `verify`."""
    flag = parser.flags(SECTION)
    add_flags(parser, "lang")
    flag("file", metavar="FILE")


def run(arguments: argparse.Namespace, _settings: Settings) -> int:
    """Verify a file. Returns the exit status: 1 where something is wrong."""
    try:
        content = Path(arguments.file).read_bytes()
    except OSError as error:
        to_stderr(say(SECTION, "not read", file=arguments.file, why=trouble(error)))
        return FAILED
    flaws = list(verify_decisions(content))
    for flaw in flaws:
        to_stdout(say(SECTION, flaw.code, line=flaw.line, number=flaw.number))
    if flaws:
        return FAILED
    lines = content.splitlines()
    digest = lines[-1][-66:-2].decode() if lines else ""
    to_stdout(say(SECTION, "whole", count=len(lines), digest=digest))
    return 0
