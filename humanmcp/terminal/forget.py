"""`humanmcp forget`: delete messages and drafts for good.

An exchange, a session, or everything that is older than some days. It lists first what it will
delete, and asks. A request that a client still waits for is kept, and named.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from humanmcp.answering.summary import client_of
from humanmcp.common.settings import add_flags, home_folder
from humanmcp.common.terminal import Painted, asked_whether, json_to_stdout, to_stdout
from humanmcp.common.timestamps import read_stamp
from humanmcp.locales import say
from humanmcp.locales.stop import REFUSED, stopped
from humanmcp.protocol.conversation.stages import ExchangeState
from humanmcp.terminal.inbox import (
    choose,
    choose_session,
    label,
    listed_sessions,
    must_be_listed,
    open_inbox,
    request_in_short,
)

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator
    from pathlib import Path

    from humanmcp.answering.schema import ForgottenShape
    from humanmcp.common.parsing import Parser
    from humanmcp.common.settings import Settings
    from humanmcp.inbox.contract import DeskInbox, Item, Key, SessionFacts

SECTION: Final = "forget"


@dataclass(frozen=True, slots=True)
class Target:
    """One thing to forget: an exchange, or a whole session (`key` is None)."""

    name: str
    words: str
    session: str
    key: Key | None = None
    waits: bool = False
    """Its client waits for an answer: it is kept."""


def add_arguments(parser: Parser) -> None:
    flag = parser.flags(SECTION, "help ")
    flag("what", nargs="?", default="", metavar="WHAT")
    flag("--older-than", type=float, metavar="DAYS")
    flag("--yes", action="store_true")
    flag("--json", action="store_true")
    add_flags(parser, "home", "inbox", "lang")


def run(arguments: argparse.Namespace, settings: Settings) -> int:
    """Forget. Returns the exit status: 0 forgotten, 1 not, 2 asked in a wrong way."""
    inbox = open_inbox(settings)
    home = home_folder(settings.home)
    return _forget(inbox, _targets(inbox, arguments, home), arguments)


def _targets(inbox: DeskInbox, arguments: argparse.Namespace, home: Path) -> list[Target]:
    wanted, days = arguments.what, arguments.older_than
    if bool(wanted) is (days is not None):
        raise stopped(SECTION, "one of both")
    if days is not None:
        if not 0 <= days < 36500:  # a hundred years; nan fails, too
            raise stopped(SECTION, "days", days=days)
        return list(_older(inbox, datetime.now(UTC) - timedelta(days=days)))
    if "/" in wanted or wanted.isdigit():
        case = choose(inbox, wanted)
        name = label(case.facts, case.key.number, listed_sessions(inbox))
        must_be_listed(home, wanted, case, name)
        return [_exchange(case.facts, case.item)]
    return list(_of_session(inbox, choose_session(inbox, wanted)))


def _exchange(facts: SessionFacts, item: Item) -> Target:
    name = f"{facts.letter}/{item.key.number}"
    waits = item.state is ExchangeState.PENDING and facts.is_open
    return Target(name, request_in_short(item), item.key.session, item.key, waits)


def _of_session(inbox: DeskInbox, facts: SessionFacts) -> Iterator[Target]:
    """List the targets of a session: all of it, or the closed exchanges while it still runs."""
    if not facts.is_open:
        words = say(SECTION, "session", who=client_of(facts) or facts.name)
        yield Target(facts.letter, words, facts.name)
        return
    for state in ExchangeState:
        yield from (_exchange(facts, one) for one in inbox.items(facts.name, state))


def _older(inbox: DeskInbox, than: datetime) -> Iterator[Target]:
    for facts in listed_sessions(inbox):
        if facts.is_open:
            every = _of_session(inbox, facts)
            yield from (
                one for one in every if one.key and _is_before(_ended(inbox, one.key), than)
            )
        elif _is_before(_last(inbox, facts), than):
            yield from _of_session(inbox, facts)


def _is_before(at: str, than: datetime) -> bool:
    """Return True if a stamp is old enough; an invalid stamp never is."""
    moment = read_stamp(at)
    return moment is not None and moment < than


def _ended(inbox: DeskInbox, key: Key) -> str:
    item = inbox.item(key)
    return item.answer.at if item.answer else item.arrived


def _last(inbox: DeskInbox, facts: SessionFacts) -> str:
    """Return when the last line of a session was recorded."""
    frames = inbox.last_frames_before(facts.name, 0, 1)
    return frames[-1].at if frames else facts.started


def _forget(inbox: DeskInbox, targets: list[Target], arguments: argparse.Namespace) -> int:
    gone, waiting = ([one for one in targets if one.waits is waits] for waits in (False, True))
    if not arguments.json:
        _announce(gone, waiting)
    if gone and not arguments.yes and not _agreed():
        to_stdout(say(SECTION, "kept"))
        return REFUSED
    for one in gone:
        if one.key is None:
            inbox.forget_session(one.session)
        else:
            inbox.forget(one.key)
    if arguments.json:
        names: ForgottenShape = {
            "forgotten": [one.name for one in gone],
            "waiting": [one.name for one in waiting],
        }
        json_to_stdout(names)
    elif gone:
        to_stdout(Painted(say(SECTION, "done", count=len(gone)), "green"))
    return REFUSED if waiting and not gone else 0


def _announce(gone: list[Target], waiting: list[Target]) -> None:
    to_stdout(say(SECTION, "will" if gone else "nothing"))
    for one in gone:
        to_stdout("  ", Painted(one.name, "bold"), f"  {one.words}")
    if gone:
        to_stdout(Painted(say(SECTION, "means"), "dim"))
    for one in waiting:
        to_stdout(Painted(say(SECTION, "waits", name=one.name), "yellow"))


def _agreed() -> bool:
    """Ask for confirmation.

    Raises:
        StopError: stdin is not a terminal.
    """
    answer = asked_whether(say(SECTION, "sure"))
    if answer is None:
        raise stopped(SECTION, "nobody to ask")
    return answer
