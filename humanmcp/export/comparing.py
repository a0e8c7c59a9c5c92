"""`humanmcp diff`: what the client or the server does differently now."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from humanmcp.common import paths
from humanmcp.common.settings import add_flags
from humanmcp.common.terminal import Painted, complain
from humanmcp.common.terminal import say as show
from humanmcp.export.conversation import tell
from humanmcp.export.diff import Difference, MessageChange, differences
from humanmcp.export.reading import LAST, find
from humanmcp.export.redact import redact_frames
from humanmcp.locales import language_of, say
from humanmcp.locales.stop import StopError
from humanmcp.protocol.conversation.transcript import Direction

if TYPE_CHECKING:
    import argparse
    from pathlib import Path

    from humanmcp.common.parsing import Parser
    from humanmcp.common.settings import Settings
    from humanmcp.export.conversation import Conversation

SAME: Final = 0
DIFFERENT: Final = 1
FAILED: Final = 2
"""The statuses of diff(1)."""

_COLOURS: Final = {"+": "green", "-": "red", "@": "cyan"}
_SIGNS: Final = {MessageChange.ONLY_BEFORE: "-", MessageChange.ONLY_NOW: "+"}


def add_arguments(parser: Parser) -> None:
    """Declare the flags of `diff`."""
    words = parser.words("diff")
    add_flags(parser, "home", "lang")
    parser.add_argument("before", metavar="BEFORE", help=words("before"))
    parser.add_argument("now", nargs="?", default=LAST, metavar="NOW", help=words("now"))
    parser.add_argument(
        "--no-redact",
        dest="redact",
        action="store_false",
        help=say("export", "no-redact", parser.language),
    )


def run(arguments: argparse.Namespace, settings: Settings) -> int:
    """Compare two sessions. Returns 0 when nothing is different, 1 when something is."""
    language = language_of(settings.lang)
    home = paths.home_folder(settings.home)
    try:
        before = _story(arguments.before, home, redact=arguments.redact)
        now = _story(arguments.now, home, redact=arguments.redact)
    except StopError as error:
        complain(error.sentence(language))
        return FAILED
    found = tuple(differences(before, now))
    for difference in found:
        _show(difference, language)
    if not found:
        show(say("diff", "same", language))
    return DIFFERENT if found else SAME


def _story(wanted: str, home: Path, *, redact: bool) -> Conversation:
    recording = find(wanted, home)
    if redact:
        recording = replace(recording, frames=redact_frames(recording.frames))
    return tell(recording)


def _show(difference: Difference, language: str) -> None:
    who = say("story", "client" if difference.way is Direction.IN else "server", language)
    sign = _SIGNS.get(difference.change, "!")
    what = say("diff", difference.change.value, language)
    show(Painted(f"{sign} {difference.what}", "bold"), f" ({who}): {what}")
    for line in difference.lines:
        colour = _COLOURS.get(line[:1])
        show("    ", Painted(line, colour) if colour else line)
