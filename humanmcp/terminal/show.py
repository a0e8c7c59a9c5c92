"""`humanmcp show N`: one message, what it means, how long it waits, and the draft of its answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from humanmcp.answering import service
from humanmcp.answering.approvals import told_of
from humanmcp.answering.open_exchange import why_unreadable
from humanmcp.answering.schema import shown_shape, unreadable_shape
from humanmcp.answering.standing import Standing
from humanmcp.answering.steps import ALLOW
from humanmcp.common.settings import add_flags, home_folder
from humanmcp.common.terminal import (
    Painted,
    is_terminal,
    json_to_stdout,
    quoted_to_stdout,
    raw_to_stdout,
    to_stdout,
)
from humanmcp.common.timestamps import clock
from humanmcp.inbox.contract import Purpose
from humanmcp.locales import describe, say
from humanmcp.locales.stop import stopped
from humanmcp.protocol.conversation.stages import ExchangeState
from humanmcp.protocol.json.jsonrpc import Malformed
from humanmcp.protocol.json.tree import pretty
from humanmcp.protocol.json.visible import one_line
from humanmcp.protocol.tables import methods
from humanmcp.terminal.inbox import (
    asker_of,
    choose,
    choose_session,
    kept_waiting,
    label,
    listed_sessions,
    note_listed,
    open_inbox,
    outlook,
    request_in_short,
    to_release,
    unreadable_in,
    utc_now,
    waited,
)
from humanmcp.terminal.problems import print_problems
from humanmcp.terminal.replying import next_commands, print_card, print_options

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from humanmcp.answering.open_exchange import OpenExchange
    from humanmcp.common.parsing import Parser
    from humanmcp.common.settings import Settings
    from humanmcp.inbox.contract import DeskInbox, SessionFacts
    from humanmcp.locales.explain import Card
    from humanmcp.protocol.conversation.questions import AskedQuestion
    from humanmcp.protocol.conversation.transcript import Frame
    from humanmcp.protocol.diagnostics.model import Diagnostic

SECTION: Final = "show"


def show_unreadable(inbox: DeskInbox, arguments: argparse.Namespace) -> None:
    """Show the last line of a session that could not be read, and why.

    Raises:
        StopError: there is no such session, or there are several.
        StopError: there is no such line.
    """
    facts = choose_session(inbox, arguments.number)
    frame = _last(inbox, facts)
    if arguments.json:
        json_to_stdout(unreadable_shape(facts, frame, why_unreadable(frame)))
    elif arguments.raw:
        (to_stdout if is_terminal() else raw_to_stdout)(frame.text)
    else:
        _print_unreadable(facts, frame)


def _last(inbox: DeskInbox, facts: SessionFacts) -> Frame:
    found = (
        inbox.last_frames_before(facts.name, facts.unreadable_at + 1, 1) if facts.unreadable else ()
    )
    if not found:
        raise stopped(SECTION, "all readable", letter=facts.letter)
    return found[0]


def _print_unreadable(facts: SessionFacts, frame: Frame) -> None:
    who = asker_of(facts)
    to_stdout(Painted(unreadable_in(facts), "bold"))
    to_stdout(Painted(say(SECTION, "last unreadable", who=who, at=frame.at), "dim"))
    for line in [frame.note] if frame.note else map(describe, why_unreadable(frame)):
        to_stdout("  " + line)
    to_stdout("", "\n", Painted(say(SECTION, "message"), "bold"))
    to_stdout("  " + frame.text)
    to_stdout("", "\n", Painted(say(SECTION, "next unreadable"), "dim"))


def add_arguments(parser: Parser) -> None:
    flag = parser.flags(SECTION, "help ")
    parser.flags("choose", "help ")("number", nargs="?", default="", metavar="N")
    flag("--unreadable", code="bad", action="store_true")
    flag("--raw", action="store_true")
    flag("--json", action="store_true")
    add_flags(parser, "home", "inbox", "lang")


def run(arguments: argparse.Namespace, settings: Settings) -> int:
    """Show one message. Returns the exit status."""
    if arguments.unreadable:
        show_unreadable(open_inbox(settings), arguments)
        return 0
    inbox = open_inbox(settings)
    opened = choose(inbox, arguments.number)
    shown = label(opened.facts, opened.key.number, listed_sessions(inbox))
    note_listed(home_folder(settings.home), {shown: opened.key}, more=True)
    item, name = opened.item, shown
    if arguments.json:
        passed = waited(item, utc_now())
        json_to_stdout(shown_shape(opened, name, passed, draft=_draft(opened)))
    elif arguments.raw and is_terminal():
        to_stdout(item.line)  # made visible: no message may act on the screen it is shown on
    elif arguments.raw:
        raw_to_stdout(item.line)
    else:
        _print(opened, name)
    return 0


def _draft(opened: OpenExchange) -> str:
    """Return the draft of an answer, or the starting draft."""
    item = opened.item
    is_ours = opened.exchange is not None or opened.step is not None
    if is_ours and item.draft is None and item.state is ExchangeState.PENDING:
        return service.starting_draft(opened).text
    return item.draft.text if item.draft else ""


def _print(opened: OpenExchange, name: str) -> None:
    item, card, draft = opened.item, opened.card(), _draft(opened)
    version = one_line(item.protocol_version) or say(SECTION, "no version")
    to_stdout(
        Painted(f"{name}  {request_in_short(item)}", "bold"),
        Painted("" if opened.prompt or opened.step else f"  · id {item.id} · {version}", "dim"),
    )
    _show_sender(opened)
    for sentence, is_soon in outlook(opened, utc_now()):
        to_stdout(Painted(sentence, "yellow" if is_soon else "dim"))
    is_mcp = opened.prompt is None and opened.step is None  # nothing makes others wait longer
    if item.state is ExchangeState.PENDING and is_mcp and kept_waiting(item):
        to_stdout(Painted(kept_waiting(item), "dim"))
    to_stdout("")
    _explain(opened, card)
    if item.state is ExchangeState.PENDING:
        to_stdout("  ", Painted(say(SECTION, "silence"), "bold"), " ", card.silence)
    text = item.line if isinstance(opened.message, Malformed) else pretty(item.line)
    _section(say(SECTION, "message"), text)
    parked = item.waiting.parked
    for told, text in (("asks", parked.asks), ("heard", parked.heard)):
        if text:
            _section(say(SECTION, told), pretty(text))
    _diagnostics(say(SECTION, "remarks"), opened.remarks, item.line)
    _diagnostics(say(SECTION, "refused"), item.diagnostics, draft)
    if item.answer is not None and item.answer.line:
        kind = "answer" if opened.standing is Standing.UNFETCHED else "sent"
        kind = "forwarded" if opened.standing.is_forwarded else kind
        _section(say(SECTION, kind), item.answer.line)
    elif draft:
        touched = item.draft is not None and item.draft.touched
        _section(say(SECTION, "draft" if touched else "start"), draft)
    for kept in item.kept:
        _section(say(SECTION, "kept", by=kept.by), kept.text)
    if item.state is ExchangeState.PENDING:
        to_stdout("")
        to_stdout(Painted(_what_next(opened, name), "dim"))


def _explain(opened: OpenExchange, card: Card) -> None:
    """Explain the message; a question to the person comes first."""
    if opened.approval is not None:
        print_card(opened)
        to_stdout("")
    if opened.inquiry is not None:
        _ask(opened.inquiry)
    for told in told_of(opened.asked):
        to_stdout("  ", Painted(one_line(told), "yellow"))
    to_stdout(Painted(card.title, "bold" if opened.inquiry is None else "dim"))
    for sentence in filter(None, (card.what, card.note, card.sender)):
        to_stdout("  " + sentence)
    if card.page:
        to_stdout("  ", Painted(card.page, "dim"))


def _ask(inquiry: AskedQuestion) -> None:
    """Put the question first, with what to know and what to choose from."""
    quoted_to_stdout(inquiry.text, "bold")
    if inquiry.context:
        quoted_to_stdout(inquiry.context)
    to_stdout("")
    print_options(inquiry)
    if inquiry.options:
        to_stdout("")


def _what_next(opened: OpenExchange, name: str) -> str:
    """Return the commands that answer it."""
    if opened.approval is not None and opened.item.purpose is not Purpose.HELD:
        return next_commands(opened, name)
    if opened.step is not None:
        ready = opened.step.ready(opened.item)
        decides = say(SECTION, "next decides", name=name) + "\n" if ALLOW in ready else ""
        return decides + say(SECTION, "next step", name=name, ready=", ".join(ready))
    if opened.inquiry is not None and opened.inquiry.options:
        code = "next choice" if opened.inquiry.free_text else "next choice only"
        return say(SECTION, code, name=name) + _declining(opened, name)
    if opened.item.purpose is Purpose.ANSWER:
        code = "next words" if methods.of(opened.item.method).plain_text else "next"
        return say(SECTION, code, name=name) + _declining(opened, name)
    held = to_release(opened.item.key, name)
    code = "next unread" if opened.item.held.unread else "next held"
    words = say(SECTION, code, name=name, held=held)
    if opened.approval is None:
        return words
    return f"{words}\n{next_commands(opened, name)}"


def _declining(opened: OpenExchange, name: str) -> str:
    asks = opened.asked is not None and opened.held is None
    return "\n" + say(SECTION, "next decline", name=name) if asks else ""


def _show_sender(opened: OpenExchange) -> None:
    who = asker_of(opened.facts)
    passed = clock(waited(opened.item, utc_now()))
    to_stdout(Painted(say(SECTION, "from", who=who, time=passed), "dim"))
    if opened.facts.stuck:
        to_stdout(Painted(say(SECTION, "stuck"), "yellow"))


def _section(title: str, text: str) -> None:
    to_stdout("")
    to_stdout(Painted(title, "bold"))
    for line in text.rstrip("\n").split("\n"):
        to_stdout("  " + line)


def _diagnostics(title: str, diagnostics: Sequence[Diagnostic], text: str) -> None:
    if not diagnostics:
        return
    to_stdout("")
    to_stdout(Painted(title, "bold"))
    print_problems(diagnostics, text, indent="  ")
