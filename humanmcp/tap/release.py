"""`humanmcp release`: let held messages go as they came, all of them or some; or drop them."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from humanmcp.common.settings import add_flags, home_folder
from humanmcp.common.terminal import to_stderr, to_stdout
from humanmcp.common.timestamps import stamp
from humanmcp.inbox import open_inbox
from humanmcp.inbox.contract import Action, Reply, TakenError
from humanmcp.locales import say
from humanmcp.locales.stop import StopError
from humanmcp.tap.hold import held, no_tap, one_tap, taps

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from humanmcp.common.parsing import Parser
    from humanmcp.common.settings import Settings
    from humanmcp.inbox.contract import DeskInbox, Item

BY: Final = "terminal"
NOTHING: Final = 1


def add_arguments(parser: Parser) -> None:
    flag = parser.flags("release")
    add_flags(parser, "home", "lang")
    flag("numbers", nargs="*", type=int, metavar="NUMBER")
    flag("--session", default="", metavar="NAME")
    flag("--drop", action="store_true")


def run(arguments: argparse.Namespace, settings: Settings) -> int:
    """Release or drop held messages. Return the exit status."""
    try:
        inbox = open_inbox(home_folder(settings.home))
        found = _meant(inbox, arguments.numbers, arguments.session)
        for number in sorted({*arguments.numbers} - {item.key.number for item in found}):
            to_stderr(say("release", "not held", number=number))
        done = sum(_settle(inbox, item, drop=arguments.drop) for item in found)
    except StopError as error:
        to_stderr(error.sentence())
        return NOTHING
    to_stdout(say("release", "dropped" if arguments.drop else "gone", count=done))
    return 0 if done else NOTHING


def _meant(inbox: DeskInbox, numbers: Sequence[int], session: str) -> list[Item]:
    """Find the messages: numbers are those of one tap, no number means all messages."""
    sessions = (one_tap(inbox, session),) if numbers else taps(inbox, session)
    if not sessions:
        raise no_tap(taps(inbox))
    found = held(inbox, sessions)
    return [item for item in found if not numbers or item.key.number in numbers]


def _settle(inbox: DeskInbox, item: Item, *, drop: bool) -> bool:
    action = Action.DROP if drop else Action.FORWARD
    reply = Reply(item.line, action=action, by=BY, at=stamp(time.time()))
    try:
        inbox.send(item.key, reply)
    except TakenError:
        to_stderr(say("release", "taken", number=item.key.number))
        return False
    return True
