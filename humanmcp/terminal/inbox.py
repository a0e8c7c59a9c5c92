"""`humanmcp inbox`: list what waits for an answer, over all live sessions."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from humanmcp.answering.open_exchange import OpenExchange, read_line
from humanmcp.answering.schema import InboxShape, ListedShape, listed_shape
from humanmcp.answering.summary import answered_at_once, client_of, summary_of_item
from humanmcp.common.settings import add_flags
from humanmcp.common.terminal import (
    Painted,
    is_read,
    is_terminal,
    json_to_stdout,
    raw_to_stdout,
    to_stdout,
)
from humanmcp.common.timestamps import clock
from humanmcp.inbox.contract import Purpose
from humanmcp.locales import say
from humanmcp.protocol.conversation.exchange import ExchangeState
from humanmcp.protocol.json.jsonrpc import Message, one_line
from humanmcp.terminal import command, waits
from humanmcp.terminal.cases import columns, cut, pad
from humanmcp.terminal.waits import label, listed_sessions, open_inbox

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from humanmcp.common.parsing import Parser
    from humanmcp.common.settings import Settings
    from humanmcp.inbox.contract import DeskInbox, Item, Key, SessionFacts, Writer

ROOM: Final = "inbox"
_LOOK_EVERY: Final = 0.5
_WIDEST_REQUEST: Final = 60
_CLEAR: Final = "\x1b[H\x1b[2J"
"""ECMA-48: the cursor to the top left, then erase the screen."""
_BELL: Final = "\a"


@dataclass(frozen=True, slots=True)
class TerminalRow:
    """One exchange in the list, with the name that a person types for it."""

    name: str
    opened: OpenExchange
    writers: tuple[Writer, ...] = ()

    @property
    def item(self) -> Item:
        """The exchange."""
        return self.opened.item


def add_arguments(parser: Parser) -> None:
    """Add the flags of this command."""
    flag = parser.flags(ROOM, "help ")
    flag("--all", action="store_true")
    flag("--watch", action="store_true")
    flag("--json", action="store_true")
    add_flags(parser, "home", "inbox", "lang")


@command
def run(arguments: argparse.Namespace, settings: Settings) -> int:
    """List what waits. Returns the exit status."""
    inbox = open_inbox(settings)
    if arguments.watch:
        return _watch(inbox, arguments)
    found = waiting_rows(inbox, everything=arguments.all)
    if arguments.json:
        listed: InboxShape = {"items": [row_as_json(row, waits.now()) for row in found]}
        json_to_stdout(listed)
    else:
        _list(_shown(inbox, everything=arguments.all), found)
    return 0


def waiting_rows(inbox: DeskInbox, *, everything: bool = False) -> list[TerminalRow]:
    """Collect what waits in the live sessions; with `everything`, all exchanges of all sessions."""
    everybody, writers = listed_sessions(inbox), inbox.writers()
    states = tuple(ExchangeState) if everything else (ExchangeState.PENDING,)
    return [
        TerminalRow(
            label(facts, item.key.number, everybody),
            OpenExchange(inbox, item, facts),
            writers.get(item.key, ()),
        )
        for facts in everybody
        if facts.is_open or facts.parked or everything
        for item in _items(inbox, facts, states)
        if facts.is_open or item.outlives or everything
    ]


def is_parked(row: TerminalRow) -> bool:
    """Return True for a call whose client comes for the answer later."""
    return row.item.is_parked or (row.item.outlives and not row.opened.facts.is_open)


def request_in_short(item: Item, longest: int = _WIDEST_REQUEST) -> str:
    """Return what is asked for in one short line: the method, the tool, what it is asked with."""
    request = read_line(item.line)
    if not isinstance(request, Message):
        return cut(item.line, longest)
    said = summary_of_item(item)
    words = (item.method or request.kind.value, said.name, said.gist)
    return cut("  ".join(filter(None, words)), longest)


def asker_of(facts: SessionFacts) -> str:
    """Name who asks in a session, and so who gets the answer: the client or the server."""
    if facts.role.traits.parties[0] == "server":
        return say(ROOM, "a server", name=one_line(facts.title, 80)).strip()
    return client_of(facts) or say(ROOM, "no client yet")


def unreadable_in(facts: SessionFacts) -> str:
    """Return how many lines of a session could not be read."""
    return say(ROOM, "unreadable", count=facts.unreadable)


def row_as_json(row: TerminalRow, moment: datetime) -> ListedShape:
    """Return a row as an object for machines."""
    return listed_shape(row.opened, row.name, waits.waited(row.item, moment), row.writers)


def _items(inbox: DeskInbox, facts: SessionFacts, states: Sequence[ExchangeState]) -> list[Item]:
    found = [item for state in states for item in inbox.items(facts.name, state)]
    if ExchangeState.ANSWERED in states:
        found += answered_at_once(inbox, facts, {item.key.number for item in found})
    return sorted(found, key=lambda item: item.key.number)


def _list(sessions: Sequence[SessionFacts], found: Sequence[TerminalRow]) -> None:
    for facts in sessions:
        mine = [row for row in found if row.opened.facts.name == facts.name and not is_parked(row)]
        to_stdout(*_heading(facts))
        if facts.unreadable:
            sentence = unreadable_in(facts)
            look = say(ROOM, "look unreadable", letter=facts.letter)
            to_stdout("  ", Painted(sentence, "yellow"), " ", Painted(look, "dim"))
        if not mine and not facts.is_open:
            to_stdout("  ", Painted(say(ROOM, "nothing kept", name=facts.name), "dim"))
        _table(mine, waits.now())
    if parked := [row for row in found if is_parked(row)]:
        to_stdout(Painted(say(ROOM, "parked"), "bold"))
        _table(parked, waits.now())
    if not any(facts.is_open for facts in sessions):
        to_stdout(say(ROOM, "no session"))
    elif not any(row.item.waits for row in found):
        to_stdout(say(ROOM, "nothing"))
    else:
        first = next(row.name for row in found if row.item.waits)
        to_stdout(Painted(say(ROOM, "next", name=first), "dim"))


def _shown(inbox: DeskInbox, *, everything: bool) -> list[SessionFacts]:
    """Return the sessions that are listed: the live ones, or all."""
    return [facts for facts in listed_sessions(inbox) if everything or facts.is_open]


def _heading(facts: SessionFacts) -> tuple[str | Painted, ...]:
    words = (facts.title, client_of(facts), one_line(facts.protocol_version))
    title = " · ".join(word for word in words if word)
    life = "" if facts.is_open else f" · {say(ROOM, facts.life.value)}"
    return (
        Painted(f"{facts.letter}  ", "bold"),
        title or say(ROOM, "no client yet"),
        Painted(f"{life} · {facts.name}", "dim"),
    )


def _table(found: Sequence[TerminalRow], moment: datetime) -> None:
    short = [request_in_short(row.item) for row in found]
    widest_name = max((columns(row.name) for row in found), default=0)
    widest = max((columns(text) for text in short), default=0)
    for row, text in zip(found, short, strict=True):
        to_stdout(
            "  ",
            Painted(pad(row.name, widest_name), "bold"),
            "  ",
            pad(text, widest),
            "  ",
            *_when(row, moment),
        )


def _when(row: TerminalRow, moment: datetime) -> Iterator[str | Painted]:
    item = row.item
    if item.waits:
        passed = clock(waits.waited(item, moment))
        yield say(ROOM, "waits", time=passed)
    if item.purpose is Purpose.HELD:
        yield f" · {say(ROOM, 'tap')}"
    for writer in row.writers:
        name = one_line(writer.name, 30)
        yield f" · {say(ROOM, 'named writer' if name else 'writer', name=name)}"
    for one in waits.outlook(item, moment):
        dot = "" if item.is_subscription else " · "
        yield Painted(f"{dot}{one.sentence}", "yellow" if one.soon else "dim")


# -- watching ---------------------------------------------------------------------------------


def _watch(inbox: DeskInbox, arguments: argparse.Namespace) -> int:
    """Keep the list up to date until the person stops it (Ctrl-C)."""
    redraw = is_terminal() and not arguments.json
    before: dict[Key, TerminalRow] = {}
    seen: set[Key] = set()
    try:
        while is_read():  # until `head`, say, has seen enough
            found = waiting_rows(inbox, everything=arguments.all)
            waiting = {row.item.key for row in found if row.item.waits}
            if redraw:
                ring = _BELL if waiting - seen else ""
                seen = waiting
                raw_to_stdout(ring + _CLEAR + say(ROOM, "watching"))
                _list(_shown(inbox, everything=arguments.all), found)
            else:
                before = _report_changes(before, found, arguments)
            time.sleep(_LOOK_EVERY)
    except KeyboardInterrupt:
        pass  # the usual way to end it
    return 0


def _report_changes(
    before: dict[Key, TerminalRow], found: Sequence[TerminalRow], arguments: argparse.Namespace
) -> dict[Key, TerminalRow]:
    """Append a line for each exchange that came or changed its state. Returns what is known now."""
    now = {row.item.key: row for row in found}
    gone = [
        TerminalRow(row.name, row.opened.again()) for key, row in before.items() if key not in now
    ]
    changed = [
        row
        for key, row in now.items()
        if key not in before or before[key].item.state is not row.item.state
    ]
    for row in (*gone, *changed):
        if arguments.json:
            json_to_stdout(row_as_json(row, waits.now()))
        else:
            to_stdout(*_change(row))
    return now


def _change(row: TerminalRow) -> tuple[str | Painted, ...]:
    pending = row.item.state is ExchangeState.PENDING
    sign = "+" if pending else "-"
    name = f"{row.opened.facts.letter}/{row.item.key.number}"  # never shortened
    what = "" if pending else f"  {waits.outlook(row.item, waits.now())[0].sentence}"
    return (f"{sign} {name}  {request_in_short(row.item)}{what}",)
