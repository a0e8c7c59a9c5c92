"""`humanmcp inbox`: list what waits for an answer, over all live sessions.

Here too: how an exchange is named on a command line and found again, how long it has waited, and
what will happen to it when.
"""

from __future__ import annotations

import contextlib
import json
import re
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from humanmcp.answering.approvals import SECTION as APPROVAL
from humanmcp.answering.open_exchange import OpenExchange, read_line
from humanmcp.answering.schema import INTERFACE, InboxShape, ListedShape, listed_shape
from humanmcp.answering.standing import Standing, Urgency, note_told, prospects, told_of, twins_of
from humanmcp.answering.summary import (
    answered_at_once,
    answered_by,
    client_of,
    folder_of,
    reason_of,
    row_title,
    sessions_named,
    summary_of_item,
)
from humanmcp.common.settings import add_flags, home_folder
from humanmcp.common.terminal import (
    Painted,
    is_read,
    is_terminal,
    json_to_stdout,
    raw_to_stdout,
    to_stdout,
)
from humanmcp.common.timestamps import clock, read_stamp
from humanmcp.inbox import records
from humanmcp.inbox.atomic import write_private
from humanmcp.inbox.contract import Key, Purpose, UnknownItemError
from humanmcp.locales import find_sentence, say
from humanmcp.locales.stop import StopError, stopped
from humanmcp.protocol.conversation.stages import ExchangeState
from humanmcp.protocol.json.jsonrpc import Message
from humanmcp.protocol.json.visible import one_line
from humanmcp.terminal.problems import columns, cut, pad

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from humanmcp.common.parsing import Parser
    from humanmcp.common.settings import Settings
    from humanmcp.inbox.contract import DeskInbox, Item, SessionFacts, Writer


SECTION: Final = "inbox"
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
        return self.opened.item

    @property
    def waits(self) -> bool:
        return self.opened.standing.urgency is Urgency.NOW


def add_arguments(parser: Parser) -> None:
    flag = parser.flags(SECTION, "help ")
    flag("--all", action="store_true")
    flag("--watch", action="store_true")
    flag("--json", action="store_true")
    add_flags(parser, "home", "inbox", "lang")


def run(arguments: argparse.Namespace, settings: Settings) -> int:
    """List what waits. Returns the exit status."""
    inbox = open_inbox(settings)
    if arguments.watch:
        return _watch(inbox, arguments, home_folder(settings.home))
    found = waiting_rows(inbox, everything=arguments.all)
    note_listed(home_folder(settings.home), {row.name: row.item.key for row in found})
    if arguments.json:
        items = [row_as_json(row, utc_now()) for row in found]
        listed: InboxShape = {"interface": INTERFACE, "items": items}
        json_to_stdout(listed)
    else:
        _list(inbox, _shown(inbox, everything=arguments.all), found)
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
    """Return True for a call whose client fetches the answer later."""
    return row.opened.standing in (Standing.PARKED, Standing.STORED)


def request_in_short(item: Item, longest: int = _WIDEST_REQUEST) -> str:
    """Return a request in one short line: what a person is asked for, or its method and tool."""
    if item.purpose in (Purpose.PROMPT, Purpose.STEP):
        said = summary_of_item(item)
        return cut("  ".join(filter(None, (row_title(said), said.gist))), longest)
    request = read_line(item.line)
    if item.held.unread or not isinstance(request, Message):
        return cut(item.line, longest)
    said = summary_of_item(item)
    method = "" if said.wants else item.method or request.kind.value
    words = (method, row_title(said), said.gist)
    return cut("  ".join(filter(None, words)), longest)


def asker_of(facts: SessionFacts) -> str:
    """Return who sends the requests of a session: the client or the server."""
    if facts.role.traits.calls:
        return say(SECTION, "a server", name=one_line(facts.title, 80)).strip()
    return client_of(facts) or say(SECTION, "no client yet")


def unreadable_in(facts: SessionFacts) -> str:
    """Return how many lines of a session could not be read."""
    return say(SECTION, "unreadable", count=facts.unreadable)


def to_release(key: Key, name: str) -> tuple[str, ...]:
    """Return the words that name a held message to a command; it is listed as `name`."""
    number = str(key.number)
    return (number,) if name == number else (number, "--session", key.session)


def row_as_json(row: TerminalRow, moment: datetime) -> ListedShape:
    """Return a row as an object for machines."""
    return listed_shape(row.opened, row.name, waited(row.item, moment), row.writers)


def _items(inbox: DeskInbox, facts: SessionFacts, states: Sequence[ExchangeState]) -> list[Item]:
    found = [item for state in states for item in inbox.items(facts.name, state)]
    if ExchangeState.ANSWERED in states:
        found += answered_at_once(inbox, facts, {item.key.number for item in found})
    return sorted(found, key=lambda item: item.key.number)


def _list(inbox: DeskInbox, sessions: Sequence[SessionFacts], found: Sequence[TerminalRow]) -> None:
    for facts in sessions:
        mine = [row for row in found if row.opened.facts.name == facts.name and not is_parked(row)]
        to_stdout(*_heading(facts))
        if facts.unreadable:
            sentence = unreadable_in(facts)
            look = say(SECTION, "look unreadable", letter=facts.letter)
            to_stdout("  ", Painted(sentence, "yellow"), " ", Painted(look, "dim"))
        if not mine and not facts.is_open:
            to_stdout("  ", Painted(say(SECTION, "nothing kept", name=facts.name), "dim"))
        _table(mine, utc_now())
    if parked := [row for row in found if is_parked(row)]:
        to_stdout(Painted(say(SECTION, "parked"), "bold"))
        _table(parked, utc_now())
    guests = (one for one in listed_sessions(inbox) if one.role.traits.is_guest)
    if not any(facts.is_open for facts in sessions) and not any(guests):
        to_stdout(say(SECTION, "no session"))
    elif not (waiting := [row for row in found if row.waits]):
        to_stdout(say(SECTION, "nothing"))
    else:
        first = waiting[0]
        code = "next held" if first.item.purpose is Purpose.HELD else "next"
        held = to_release(first.item.key, first.name)
        to_stdout(Painted(say(SECTION, code, name=first.name, held=held), "dim"))


def _shown(inbox: DeskInbox, *, everything: bool) -> list[SessionFacts]:
    return [facts for facts in listed_sessions(inbox) if everything or facts.is_open]


def _heading(facts: SessionFacts) -> tuple[str | Painted, ...]:
    words = (facts.title, client_of(facts), folder_of(facts), one_line(facts.protocol_version))
    title = " · ".join(word for word in words if word)
    is_quiet = facts.is_open or facts.role.traits.is_guest  # an agent that asks nothing goes on
    life = "" if is_quiet else f" · {say(SECTION, facts.life.value)}"
    return (
        Painted(f"{facts.letter}  ", "bold"),
        title or say(SECTION, "no client yet"),
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
            Painted(pad(text, widest), "", is_code=True),
            "  ",
            *_when(row, moment),
        )


def _when(row: TerminalRow, moment: datetime) -> Iterator[str | Painted]:
    (standing, _), *others = outlook(row.opened, moment)
    if not row.opened.standing.is_over:
        yield f"{clock(waited(row.item, moment))}  "
    yield Painted(standing, "" if row.waits else "dim")
    for writer in row.writers:
        name = one_line(writer.name, 30)
        yield f" · {say(SECTION, 'named writer' if name else 'writer', name=name)}"
    for sentence, is_soon in others:
        yield Painted(f" · {sentence}", "yellow" if is_soon else "dim")


# -- watching ---------------------------------------------------------------------------------


def _watch(inbox: DeskInbox, arguments: argparse.Namespace, home: Path) -> int:
    """Keep the list up to date until the person stops it (Ctrl-C)."""
    redraw = is_terminal() and not arguments.json
    before: dict[Key, TerminalRow] = {}
    seen: set[Key] = set()
    try:
        while is_read():  # until `head`, say, has seen enough
            found = waiting_rows(inbox, everything=arguments.all)
            waiting = {row.item.key for row in found if row.waits}
            if redraw:
                ring = _BELL if waiting - seen else ""
                seen = waiting
                note_listed(home, {row.name: row.item.key for row in found})
                raw_to_stdout(ring + _CLEAR + say(SECTION, "watching"))
                _list(inbox, _shown(inbox, everything=arguments.all), found)
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
            json_to_stdout(row_as_json(row, utc_now()))
        else:
            to_stdout(*_change(row))
    return now


def _change(row: TerminalRow) -> tuple[str | Painted, ...]:
    pending = row.item.state is ExchangeState.PENDING
    sign = "+" if pending else "-"
    name = f"{row.opened.facts.letter}/{row.item.key.number}"  # never shortened
    what = "" if pending else f"  {standing_sentence(row.opened)}"
    return (f"{sign} {name}  {request_in_short(row.item)}{what}",)


# -- how long an exchange has waited, and what will happen to it when ----------------------------


WAITS: Final = "waits"
SOON: Final = 15.0
"""Seconds before a deadline from which it is shown as urgent."""


def utc_now() -> datetime:
    return datetime.now(UTC)


def waited(item: Item, moment: datetime) -> float:
    """Return the seconds since a request arrived; 0 when its time cannot be read."""
    arrived = read_stamp(item.arrived)
    return 0.0 if arrived is None else max(0.0, (moment - arrived).total_seconds())


def outlook(opened: OpenExchange, moment: datetime) -> list[tuple[str, bool]]:
    """Return what is so of an exchange, and what happens to it if nobody answers.

    Each is a sentence, and whether it is about something that happens soon.
    """
    passed = waited(opened.item, moment)
    found = [(standing_sentence(opened), False)]
    agent = opened.prompt
    for code, at in prospects(opened.item, passed, agent):
        left = 0.0 if at is None else at - passed
        soon = at is not None and code != "status open" and left < SOON
        found.append((say(WAITS, code, left=clock(max(0.0, left))), soon))
    if agent is not None and agent.event.locks and opened.standing.urgency is Urgency.NOW:
        found.append((say(WAITS, "agent locks"), False))
    if twins := twins_of(opened.item):
        found.append((say(WAITS, "twins", count=twins), True))
    if reason := reason_of(opened.item):
        found.append((f"“{reason}”", False))
    note, told = note_told(opened.item)
    if note:
        found.append((f"{say(APPROVAL, told)} {one_line(note)}", False))
    return found


def standing_sentence(opened: OpenExchange) -> str:
    return told_of(opened.item, opened.standing, answered_by(opened.item))


def kept_waiting(item: Item) -> str:
    """Return how the client is kept waiting, or why that is not possible; else ""."""
    waiting = item.waiting
    if waiting.keepalive:
        code = f"keepalive {waiting.keepalive}"
        return find_sentence(WAITS, code) or code
    reason = "no-limit" if waiting.source == "no-limit" else waiting.why_not
    return find_sentence("waiting", reason) or reason if reason else ""


def open_inbox(settings: Settings) -> DeskInbox:
    # The import is here, so that `--help` and `check` do not pay for it.
    from humanmcp.inbox import open_inbox  # noqa: PLC0415 - see above

    return open_inbox(home_folder(settings.home), settings.inbox)


def listed_sessions(inbox: DeskInbox) -> tuple[SessionFacts, ...]:
    """List every session, oldest first."""
    return tuple(reversed(inbox.sessions()))


_PROMPT: Final = re.compile(r"(?P<letter>[A-Za-z]+)(?P<number>[0-9]{1,12})(?:/2)?", re.ASCII)


def label(facts: SessionFacts, number: int, everybody: Iterable[SessionFacts]) -> str:
    """Return the shortest clear name of an exchange: `3`, or `b/3` beside other sessions.

    A prompt of an agent is always `b3/2`: its line 1 is the agent's, line 2 is what is decided.
    """
    if facts.role.traits.is_guest:  # one without a letter: `letters/` could not be written
        return f"{facts.letter}{number}/2" if facts.letter else f"{facts.name}/{number}"
    alone = facts.is_open and sum(one.is_open for one in everybody) == 1
    return str(number) if alone else f"{facts.letter}/{number}"


def note_listed(home: Path, named: Mapping[str, Key], *, more: bool = False) -> None:
    """Note which messages these names were shown for; with `more`, beside those of before."""
    file = home / records.LISTED
    before = _listed(file) if more else {}
    names = before | {name: f"{key.session}/{key.number}" for name, key in named.items()}
    with contextlib.suppress(OSError):  # nothing is sent by a name that nobody was shown
        write_private(file, json.dumps(names))


def _listed(file: Path) -> dict[str, str]:
    try:
        return {str(name): str(one) for name, one in json.loads(file.read_text("utf-8")).items()}
    except (OSError, ValueError, AttributeError):
        return {}


def must_be_listed(home: Path, wanted: str, opened: OpenExchange, name: str) -> None:
    """Refuse a number that was shown for another message: a number alone may come again.

    `name` is that of this one (`label`).

    Raises:
        StopError: it was.
    """
    listed = _listed(home / records.LISTED)
    if "/" in wanted or not wanted.isdigit() or not listed:
        return
    if listed.get(wanted) != f"{opened.key.session}/{opened.key.number}":
        raise stopped("choose", "other listed", wanted=wanted, name=name)


def choose(inbox: DeskInbox, wanted: str) -> OpenExchange:
    """Find an exchange by its name on the command line; without a name, the only one that waits.

    The name of a session means the only one that waits there. A bare number names a pending
    exchange of a live session, else any exchange of a live session, else one of the newest closed
    session. It never names a prompt of an agent: the next prompt would have the next number.

    Raises:
        StopError: no match, or several.
    """
    everybody = listed_sessions(inbox)
    name, slash, number = wanted.rpartition("/")
    if not wanted:
        return _the_only_one(inbox, everybody, everybody)
    if (guest := _guest_of(everybody, wanted)) is not None:
        number = _PROMPT.sub(r"\g<number>", wanted)
        return _in_session(inbox, guest, int(number), wanted)
    if not (number.isascii() and number.isdigit()):
        named = sessions_named(everybody, wanted)
        if len(named) == 1:
            return _the_only_one(inbox, named, everybody)
        raise stopped("choose", "no number", wanted=wanted)
    if slash:
        return _in_session(inbox, _session(everybody, name, wanted), int(number), wanted)
    anywhere = list(_of_number(inbox, everybody, int(number)))
    live = [one for one in anywhere if one.facts.is_open]
    found = [one for one in live if one.item.state is ExchangeState.PENDING] or live
    if not found and anywhere:
        found = anywhere[-1:]
    if not found:
        raise _unknown(inbox, wanted)
    if len(found) > 1:
        raise _several(wanted, number, [one.facts for one in found])
    return found[0]


def names_only(wanted: str, opened: OpenExchange) -> bool:
    """Return True if a name means this exchange, and can never mean another one.

    The name of a session, or the beginning of one, means another exchange once this one has ended.
    """
    (session, number), letter = opened.key, opened.facts.letter
    names = {str(number), f"{session}/{number}", f"{letter}/{number}"}
    names |= {f"{letter}{number}{line}" for line in ("", "/2") if opened.facts.role.traits.is_guest}
    return not names.isdisjoint((wanted, wanted.lower()))


def _guest_of(everybody: Iterable[SessionFacts], wanted: str) -> SessionFacts | None:
    """Return the agent whose prompt has this name: `b3/2`, or `b3`."""
    if (named := _PROMPT.fullmatch(wanted)) is None:
        return None
    letter = named["letter"].lower()
    return next(
        (one for one in everybody if one.letter == letter and one.role.traits.is_guest), None
    )


def _of_number(
    inbox: DeskInbox, everybody: Iterable[SessionFacts], number: int
) -> Iterator[OpenExchange]:
    for one in everybody:
        if not one.role.traits.is_guest:
            with contextlib.suppress(UnknownItemError):
                yield OpenExchange(inbox, inbox.item(Key(one.name, number)), one)


def _unknown(inbox: DeskInbox, wanted: str) -> StopError:
    rows = (one for one in waiting_rows(inbox) if one.opened.facts.role.traits.is_guest)
    choices = ", ".join(one.name for one in rows)
    return stopped("choose", "prompt" if choices else "unknown", wanted=wanted, choices=choices)


def choose_session(inbox: DeskInbox, wanted: str) -> SessionFacts:
    """Find a session by its name on the command line; without a name, the only live one.

    Raises:
        StopError: no match, or several.
    """
    everybody = listed_sessions(inbox)
    if wanted:
        return _session(everybody, wanted, wanted)
    live = [one for one in everybody if one.is_open]
    if len(live) == 1:
        return live[0]
    choices = ", ".join(one.letter for one in live)
    raise stopped("choose", "which session" if live else "nobody", choices=choices)


def _the_only_one(
    inbox: DeskInbox, sessions: Sequence[SessionFacts], everybody: Sequence[SessionFacts]
) -> OpenExchange:
    open_ones = [
        OpenExchange(inbox, item, one)
        for one in sessions
        if one.is_open
        for item in inbox.items(one.name)
    ]
    waiting = [one for one in open_ones if one.standing.urgency is Urgency.NOW] or open_ones
    if not waiting:
        raise stopped("choose", "nothing waits")
    if len(waiting) > 1:
        names = [label(one.facts, one.key.number, everybody) for one in waiting]
        raise stopped("choose", "which", choices=", ".join(names))
    return waiting[0]


def _session(everybody: Sequence[SessionFacts], name: str, wanted: str) -> SessionFacts:
    found = sessions_named(everybody, name)
    if len(found) == 1:
        return found[0]
    if found:
        raise _several(wanted, wanted.rpartition("/")[2], found)
    live = ", ".join(one.letter for one in everybody if one.is_open)
    raise stopped("choose", "no session" if live else "no live session", wanted=name, choices=live)


def _several(wanted: str, number: str, found: Iterable[SessionFacts]) -> StopError:
    choices = ", ".join(f"{one.letter}/{number}" for one in found)
    return stopped("choose", "several", wanted=wanted, choices=choices)


def _in_session(inbox: DeskInbox, facts: SessionFacts, number: int, wanted: str) -> OpenExchange:
    try:
        return OpenExchange(inbox, inbox.item(Key(facts.name, number)), facts)
    except UnknownItemError as error:
        for item in answered_at_once(inbox, facts, ()):
            if item.key.number == number:
                return OpenExchange(inbox, item, facts)
        raise stopped("choose", "unknown", wanted=wanted) from error
