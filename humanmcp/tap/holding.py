"""`humanmcp hold`: say while a tap runs what it is to hold from now on, or see it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from humanmcp.common import paths
from humanmcp.common.settings import add_flags
from humanmcp.common.terminal import to_stderr, to_stdout
from humanmcp.inbox.opening import open_inbox
from humanmcp.locales import language_of, say
from humanmcp.locales.stop import StopError, sentence_of
from humanmcp.protocol.policy.hold_patterns import PatternError, parse_all
from humanmcp.tap.selection import held, one_tap

if TYPE_CHECKING:
    import argparse

    from humanmcp.common.parsing import Parser
    from humanmcp.common.settings import Settings

FAILED: Final = 1


def add_arguments(parser: Parser) -> None:
    """Declare the flags of `hold`."""
    words = parser.words("hold")
    add_flags(parser, "home", "lang")
    parser.add_argument("patterns", nargs="*", metavar="PATTERN", help=words("patterns"))
    parser.add_argument("--session", default="", metavar="NAME", help=words("session"))
    parser.add_argument("--nothing", action="store_true", help=words("nothing"))


def run(arguments: argparse.Namespace, settings: Settings) -> int:
    """Change or show what a tap is to hold. Returns the exit status."""
    language = language_of(settings.lang)
    try:
        parse_all(arguments.patterns)
        inbox = open_inbox(paths.home_folder(settings.home))
        name = one_tap(inbox, arguments.session)
        if arguments.patterns or arguments.nothing:
            inbox.hold(name, () if arguments.nothing else arguments.patterns)
    except (PatternError, StopError) as error:
        to_stderr(sentence_of(error, language))
        return FAILED
    wanted = ", ".join(inbox.holds(name)) or say("hold", "none", language)
    count = sum(1 for _ in held(inbox, (name,)))
    to_stdout(say("hold", "state", language, session=name, patterns=wanted, count=count))
    return 0
