"""`humanmcp release`: let held messages go as they came, all of them or some; or drop them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from humanmcp.answering import approvals, service
from humanmcp.answering.approvals import ApprovalError
from humanmcp.answering.open_exchange import open_exchange_of
from humanmcp.answering.service import Outcome
from humanmcp.common.settings import add_flags, home_folder
from humanmcp.common.terminal import Painted, asked_whether, to_stderr, to_stdout
from humanmcp.extensions.tap.hold import held, no_tap, one_tap, taps
from humanmcp.extensions.tap.whole_card import whole_card
from humanmcp.inbox import open_inbox
from humanmcp.inbox.contract import Action, Reply
from humanmcp.locales import say
from humanmcp.locales.stop import StopError
from humanmcp.protocol.conversation.approvals import digest_of
from humanmcp.protocol.json.visible import one_line
from humanmcp.terminal.inbox import label, listed_sessions, must_be_listed, note_listed

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence
    from pathlib import Path

    from humanmcp.answering.open_exchange import OpenExchange
    from humanmcp.common.parsing import Parser
    from humanmcp.common.settings import Settings
    from humanmcp.inbox.contract import DeskInbox

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
        home = home_folder(settings.home)
        inbox = open_inbox(home)
        found = _meant(inbox, arguments.numbers, arguments.session)
        for one in found if arguments.numbers and not arguments.session else ():
            number = one.key.number
            name = label(one.facts, number, listed_sessions(inbox))
            must_be_listed(home, str(number), one, name)
        for number in sorted({*arguments.numbers} - {one.key.number for one in found}):
            to_stderr(say("release", "not held", number=number))
        if not arguments.numbers:
            found = _agreed(found, home, drop=arguments.drop)
        done = sum(_settle(opened, drop=arguments.drop) for opened in found)
    except StopError as error:
        to_stderr(error.sentence())
        return NOTHING
    to_stdout(say("release", "dropped" if arguments.drop else "gone", count=done))
    return 0 if done else NOTHING


def _meant(inbox: DeskInbox, numbers: Sequence[int], session: str) -> list[OpenExchange]:
    """Find the messages: numbers are those of one tap, no number means all messages."""
    sessions = (one_tap(inbox, session),) if numbers else taps(inbox, session)
    if not sessions:
        raise no_tap(taps(inbox))
    keys = [item.key for item in held(inbox, sessions)]
    return [open_exchange_of(inbox, one) for one in keys if not numbers or one.number in numbers]


def _agreed(found: Sequence[OpenExchange], home: Path, *, drop: bool) -> list[OpenExchange]:
    """Show all of each message and ask. Return those to release or drop: what was shown."""
    shown = [opened for opened in found if _show(opened)]
    note_listed(home, {str(one.key.number): one.key for one in shown}, more=True)
    question = say("release", "drop all?" if drop else "all?", count=len(shown))
    answer = asked_whether(question) if shown else False
    if answer is None:
        words = [*(str(one.key.number) for one in shown), *(["--drop"] if drop else [])]
        to_stderr(say("release", "which", words=" ".join(words)))
    return shown if answer else []


def _show(opened: OpenExchange) -> bool:
    """Print all of a held message. Return False where it is too long for that."""
    number, approval, card = opened.key.number, opened.approval, whole_card(opened)
    if card is None:
        to_stdout(Painted(say("release", "too long", number=number), "yellow"))
        return False
    method = one_line(opened.item.method, approvals.LONGEST_TOOL)
    title = approvals.headline(opened, approval, card) if approval else method
    to_stdout(Painted(f"{opened.facts.letter}/{number}  {title}", "bold"))
    for part in card.parts:
        if part.name:
            to_stdout("  ", Painted(part.name, "dim", is_code=True))
        for line in part.lines:
            to_stdout("    ", Painted(f"{line.sign}{line.text}", "", is_code=True))
    return True


def _settle(opened: OpenExchange, *, drop: bool) -> bool:
    number, line = opened.key.number, opened.item.line
    try:
        reply = (
            Reply(line, action=Action.DROP)
            if drop
            else approvals.release(opened, seen=False, shown=digest_of(line))
        )
    except ApprovalError:
        to_stderr(say("release", "too long", number=number))
        return False
    outcome = service.send(opened, reply._replace(by=BY), within=0).outcome
    if outcome in (Outcome.TAKEN, Outcome.OVER):
        to_stderr(say("release", "taken", number=number))
        return False
    return True
