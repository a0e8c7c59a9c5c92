"""`humanmcp hold`: say while a tap runs what it is to hold from now on, or see it; which tap."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from humanmcp.common import paths
from humanmcp.common.settings import add_flags
from humanmcp.common.terminal import to_stderr, to_stdout
from humanmcp.inbox.contract import Life, Purpose, Seat
from humanmcp.inbox.opening import open_inbox
from humanmcp.locales import language_of, say
from humanmcp.locales.stop import StopError, sentence_of, stopped
from humanmcp.protocol.rules.hold_patterns import PatternError, parse_all

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence

    from humanmcp.common.parsing import Parser
    from humanmcp.common.settings import Settings
    from humanmcp.inbox.contract import DeskInbox, Item

FAILED: Final = 1


def add_arguments(parser: Parser) -> None:
    """Declare the flags of `hold`."""
    flag = parser.flags("hold")
    add_flags(parser, "home", "lang")
    flag("patterns", nargs="*", metavar="PATTERN")
    flag("--session", default="", metavar="NAME")
    flag("--nothing", action="store_true")


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


def taps(inbox: DeskInbox, wanted: str = "") -> tuple[str, ...]:
    """Return the names of the running taps whose name begins like this, newest first."""
    return tuple(
        facts.name
        for facts in inbox.sessions()
        if facts.seat is Seat.TAP and facts.life is Life.OPEN and facts.name.startswith(wanted)
    )


def no_tap(names: Sequence[str]) -> StopError:
    """Say that no running tap is meant, or more than one."""
    return stopped("hold", "several taps" if names else "no tap", names=", ".join(names))


def one_tap(inbox: DeskInbox, wanted: str = "") -> str:
    """Return the one tap that is meant.

    Raises:
        StopError: none is, or several are.
    """
    found = taps(inbox, wanted)
    if len(found) != 1:
        raise no_tap(found or taps(inbox))
    return found[0]


def held(inbox: DeskInbox, sessions: Sequence[str]) -> Iterator[Item]:
    """Yield what is held in these sessions, oldest first, session by session."""
    for session in sessions:
        for item in inbox.items(session):
            if item.purpose is Purpose.HELD:
                yield item
