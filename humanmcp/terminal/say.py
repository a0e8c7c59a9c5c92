"""`humanmcp say`: send an outgoing message in a session, right or wrong on purpose.

The process that owns the session sends it; this command submits it and waits for the outcome.
"""

from __future__ import annotations

import base64
import time
from typing import TYPE_CHECKING, Any, Final

from humanmcp.answering import service
from humanmcp.answering.reactions import ClientReaction, reactions
from humanmcp.answering.schema import said_shape
from humanmcp.answering.service import Outcome, SayResult
from humanmcp.common.person_files import read_bytes, read_text
from humanmcp.common.settings import add_flags
from humanmcp.common.terminal import json_to_stdout, to_stderr, to_stdout
from humanmcp.inbox.contract import Order, Reply
from humanmcp.locales import say as sentence
from humanmcp.locales.stop import REFUSED, stopped
from humanmcp.protocol.tables import methods
from humanmcp.protocol.validation import whole_conversation
from humanmcp.terminal.inbox import choose, choose_session, open_inbox
from humanmcp.terminal.problems import print_problems
from humanmcp.terminal.replying import BY, LONGEST_WAIT

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from humanmcp.common.parsing import Parser
    from humanmcp.common.settings import Settings
    from humanmcp.inbox.contract import DeskInbox

SECTION: Final = "say"
_SWITCH: Final = ("on", "off")
LOOK_EVERY: Final = 0.2
"""Seconds between two looks at the client's reactions."""


def add_arguments(parser: Parser) -> None:
    flag = parser.flags(SECTION, "help ")
    ways = parser.add_mutually_exclusive_group()
    flag("message", to=ways, nargs="?", metavar="MESSAGE")
    flag("--file", to=ways, metavar="FILE")
    flag("--list-changed", to=ways, code="changed", choices=tuple(methods.CHANGED))
    flag("--log", to=ways, nargs=2, metavar=("LEVEL", "TEXT"))
    flag("--progress", to=ways, nargs=2, metavar=("N", "VALUE"))
    flag("--ask", to=ways, metavar="METHOD")
    flag("--bytes", to=ways, metavar="TEXT")
    flag("--bytes-of", to=ways, metavar="FILE")
    flag("--silence", to=ways, choices=_SWITCH)
    flag("--own-progress", to=ways, choices=_SWITCH)
    flag("--park", to=ways, metavar="N")
    flag("--status", to=ways, nargs=2, metavar=("N", "TEXT"))
    flag("--http", to=ways, metavar="FAULT")
    flag("--exit", to=ways, metavar="STATUS")
    flag("--crash", to=ways, action="store_true")
    flag("--session", default="", metavar="LETTER")
    flag("--send-anyway", action="store_true")
    flag("--times", type=int, default=1, metavar="COUNT")
    flag("--watch", type=float, metavar="SECONDS")
    flag("--json", action="store_true")
    add_flags(parser, "home", "inbox", "lang")


def run(arguments: argparse.Namespace, settings: Settings) -> int:
    """Say it. Returns the exit status: 0 sent, 1 not sent, 2 asked in a wrong way."""
    inbox = open_inbox(settings)
    session, order, text = _meant(inbox, arguments)
    reply = Reply(text, anyway=arguments.send_anyway, by=BY, order=order)
    last = inbox.last_frames_before(session, 0, 1)
    for _ in range(max(1, arguments.times)):
        result = service.submit_outgoing(inbox, session, reply, within=LONGEST_WAIT)
        if result.outcome is not Outcome.SENT:
            return _not_said(result, text, json=arguments.json)
    if arguments.json:
        json_to_stdout(said_shape(SayResult(Outcome.SENT)))
    else:
        to_stdout(sentence(SECTION, f"done {order.value}"))
    if arguments.watch is not None and not arguments.json:
        for reaction in _watched(inbox, session, last[0].seq if last else 0, arguments.watch):
            to_stdout(reaction.sentence())
    return 0


def _watched(inbox: DeskInbox, session: str, after: int, seconds: float) -> list[ClientReaction]:
    """Return the client's reactions after a line, as soon as they are known."""
    end = time.monotonic() + seconds
    while True:
        found = [reaction for reaction in reactions(inbox.frames(session)) if reaction.seq > after]
        if (found and not any(reaction.is_open for reaction in found)) or time.monotonic() > end:
            return found
        time.sleep(LOOK_EVERY)


def _meant(inbox: DeskInbox, arguments: argparse.Namespace) -> tuple[str, Order, str]:
    """Return the session, the order, and its text."""
    if arguments.progress is not None:
        return _progress(inbox, *arguments.progress)
    if arguments.park is not None:
        key = choose(inbox, arguments.park).key
        return key.session, Order.PARK, str(key.number)
    if arguments.status is not None:
        number, words = arguments.status
        key = choose(inbox, number).key
        return key.session, Order.STATUS, f"{key.number} {words}"
    session = choose_session(inbox, arguments.session).name
    for name, order, text in _ORDERS:
        value = getattr(arguments, name)
        if value is not None and value is not False:
            return session, order, text(value)
    raise stopped(SECTION, "nothing")


def _progress(inbox: DeskInbox, number: str, value: str) -> tuple[str, Order, str]:
    case = choose(inbox, number)
    exchange = case.exchange
    try:
        amount = float(value)
    except ValueError as error:
        raise stopped(SECTION, "no number", value=value) from error
    if exchange is None:
        raise stopped(SECTION, "no request", number=number)
    whole = int(amount) if amount.is_integer() else amount
    return case.key.session, Order.SAY, whole_conversation.progress(exchange, whole)


def _packed(content: bytes) -> str:
    return base64.b64encode(content).decode("ascii")


_ORDERS: Final[tuple[tuple[str, Order, Callable[[Any], str]], ...]] = (
    ("message", Order.SAY, str),
    ("file", Order.SAY, read_text),
    ("list_changed", Order.SAY, lambda kind: whole_conversation.message(methods.CHANGED[kind])),
    ("log", Order.SAY, lambda value: whole_conversation.log(*value)),
    (
        "ask",
        Order.SAY,
        lambda method: whole_conversation.request(method, f"h-{time.time_ns() % 10**9}"),
    ),
    ("bytes", Order.RAW, lambda text: _packed(whole_conversation.typed_bytes(text))),
    ("bytes_of", Order.RAW, lambda name: _packed(read_bytes(name))),
    ("silence", Order.SILENCE, str),
    ("own_progress", Order.PROGRESS, str),
    ("http", Order.HTTP, str),
    ("exit", Order.EXIT, str),
    ("crash", Order.CRASH, lambda _value: ""),
)
"""What each argument asks for, and how its value becomes the order's text."""


def _not_said(result: SayResult, text: str, *, json: bool) -> int:
    waits = result.outcome is Outcome.QUEUED
    if json:
        json_to_stdout(said_shape(result))
        return REFUSED
    to_stderr(sentence(SECTION, "waits" if waits else "refused"))
    print_problems(result.diagnostics, text)
    return REFUSED
