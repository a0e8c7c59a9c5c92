"""Judge, save and send what a person writes, the same at every desk.

The check here is the one that the process makes again before it writes: here it helps, there it
decides. A text that passes is submitted, and its result is awaited. It knows the check and the
inbox, but no pages, terminals or files.

Whether an order can be followed is checked before it is submitted: the process only follows.
"""

from __future__ import annotations

import enum
import re
import threading
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias, TypeVar

from humanmcp import extensions
from humanmcp.answering.standing import NOT_PRINTED
from humanmcp.common import apart
from humanmcp.common.timestamps import now
from humanmcp.inbox.contract import (
    WRITES_FOR,
    Action,
    Draft,
    InboxError,
    Key,
    Life,
    Order,
    OutgoingResult,
    Purpose,
    Reply,
    TakenError,
    Writer,
)
from humanmcp.locales import spoken_language
from humanmcp.locales.stop import USAGE_ERROR, StopError, called_on
from humanmcp.protocol.conversation import prompts
from humanmcp.protocol.conversation.approvals import differs
from humanmcp.protocol.conversation.stages import ExchangeState
from humanmcp.protocol.diagnostics import autofix as fixing
from humanmcp.protocol.diagnostics import kinds
from humanmcp.protocol.diagnostics.model import TextForm, Verdict
from humanmcp.protocol.http.http_faults import TAKEN_BACK
from humanmcp.protocol.json.tree import pretty
from humanmcp.protocol.tables.faults import OF_HTTP
from humanmcp.protocol.validation import check, faults
from humanmcp.protocol.validation import held as held_check
from humanmcp.protocol.validation.results import plain_result
from humanmcp.protocol.validation.starting_draft import message

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from humanmcp.answering.open_exchange import OpenExchange
    from humanmcp.inbox.contract import DeskInbox, Item
    from humanmcp.protocol.conversation.exchange import Exchange, NegotiatedState
    from humanmcp.protocol.conversation.prompts import AgentPrompt
    from humanmcp.protocol.diagnostics.autofix import Autofix
    from humanmcp.protocol.diagnostics.model import Diagnostic
    from humanmcp.protocol.tables.faults import Fault
    from humanmcp.protocol.validation.held import HeldMessage

    Wake: TypeAlias = Callable[[float], object]
    """Waits until something may have changed, and no longer than so many seconds."""
    from humanmcp.protocol.answer_book.book_entry import DefinitionChange

T = TypeVar("T")

SETTLES_WITHIN: Final = 2.0
"""Seconds that a front end waits for the result of a reply."""
FIRST_NAP: Final = 0.002
LONGEST_NAP: Final = 0.05
_NAP_GROWTH: Final = 1.5


class Outcome(enum.Enum):
    """The result of a reply or of an outgoing message."""

    SENT = "sent"
    QUEUED = "on its way"
    """Submitted; the client does not have it yet."""
    BLOCKED = "blocked"
    """The check found errors: nothing was submitted, the text was kept."""
    REFUSED = "refused"
    """The process returned it with problems."""
    TAKEN = "taken"
    """Another reply was first; the text was kept."""
    OVER = "over"
    """The exchange or its session ended first; the text was kept."""
    UNCONFIRMED = "not confirmed"
    """The connection ended while it was on its way: the client may have it; the text was kept."""
    STORED = "stored"
    """No process runs that could take it: it waits until the client asks for the answer."""


class SendResult(NamedTuple):
    """The result of a reply. `item` is the exchange as it is now.

    `diagnostics` are the problems that blocked it, or those of what was sent; their
    places count in `text`. `by` names the one who was first.
    """

    outcome: Outcome
    item: Item
    diagnostics: tuple[Diagnostic, ...] = ()
    text: str = ""
    by: str = ""

    @property
    def line(self) -> str:
        """The line that was sent; "" when there is none."""
        sent = self.outcome in (Outcome.SENT, Outcome.TAKEN)
        return self.item.answer.line if sent and self.item.answer is not None else ""


# -- what is written ------------------------------------------------------------------------------


def judge(
    opened: OpenExchange,
    text: str,
    form: TextForm = TextForm.MESSAGE,
    action: Action = Action.FORWARD,
) -> Verdict:
    """Check a text as the process will.

    `action` says whether a text for a held request replaces it or answers it.
    """
    if opened.step is not None:
        return opened.step.judge(opened.item, text)
    return apart.call(len(text), _judge, _asked(opened), text, form, action)


class _Asked(NamedTuple):
    """What a text is judged by."""

    prompt: AgentPrompt | None
    held: HeldMessage | None
    exchange: Exchange | None
    line: str
    negotiated: NegotiatedState


def _asked(opened: OpenExchange) -> _Asked:
    line, negotiated = opened.item.line, opened.negotiated
    return _Asked(opened.prompt, opened.held, opened.exchange, line, negotiated)


def _judge(asked: _Asked, text: str, form: TextForm, action: Action) -> Verdict:
    if asked.prompt is not None:
        return prompts.judge(asked.prompt, text, form)
    if asked.held is not None and action is Action.FORWARD and text == asked.line:
        return Verdict(text, text, text)
    if asked.held is not None:
        answer = action is Action.ANSWER
        return held_check.judge(asked.held, text, form, asked.negotiated, answer=answer)
    if asked.exchange is None:  # its file was changed by another program: the process will say so
        return Verdict(text, text, text)
    return check.check(asked.exchange, text, form, asked.negotiated)


def autofix(
    opened: OpenExchange,
    text: str,
    form: TextForm = TextForm.MESSAGE,
    action: Action = Action.FORWARD,
) -> Autofix:
    """Apply every safe fix: it removes nothing, invents nothing and is not a guess."""
    return apart.call(len(text), _autofix, _asked(opened), text, form, action)


def _autofix(asked: _Asked, text: str, form: TextForm, action: Action) -> Autofix:
    return fixing.autofix(text, lambda one: _judge(asked, one, form, action))


def starting_draft(opened: OpenExchange) -> Draft:
    """Return the starting draft of an answer, whatever the person has typed since.

    An answer that a tap holds starts as it is; so does what cannot be answered.
    """
    exchange = opened.exchange
    if opened.prompt is not None:
        return Draft("", TextForm.DECISION)
    if opened.step is not None:
        return Draft(next(iter(opened.step.ready(opened.item).values()), ""), TextForm.STEP)
    if exchange is None or opened.item.held.asked:
        return as_it_came(opened)
    return Draft(check.start(exchange, opened.negotiated, spoken_language()))


def as_it_came(opened: OpenExchange) -> Draft:
    """Return a held message, formatted, as its draft; a large one is not formatted."""
    return Draft("" if opened.is_large else pretty(opened.item.line))


def draft_of(opened: OpenExchange) -> Draft:
    """Return the person's draft of an answer, or the starting draft."""
    draft = opened.item.draft
    return draft if draft is not None and draft.touched else starting_draft(opened)


def document(opened: OpenExchange, draft: Draft) -> str:
    """Return the whole message of a draft, as the JSON view shows it.

    A text that is not JSON is kept inside its envelope, for the person to fix.
    """
    exchange = opened.exchange
    if draft.form is TextForm.MESSAGE or exchange is None:
        return draft.text
    if draft.form in (TextForm.TEXT, TextForm.TOOL_ERROR):
        is_error = draft.form is TextForm.TOOL_ERROR
        return message(
            exchange,
            "result",
            plain_result(exchange, draft.text, opened.negotiated, is_error=is_error),
        )
    token, body = exchange.id.token, draft.text or "{}"
    return pretty(f'{{"jsonrpc":"2.0","id":{token},"{draft.form.value}":{body}}}')


def templates(opened: OpenExchange) -> dict[str, str]:
    """Return all starting messages, results and errors, by name; the ready answers to a step."""
    if opened.step is not None:
        return dict(opened.step.ready(opened.item))
    return dict(check.templates(opened.exchange)) if opened.exchange is not None else {}


def possible_faults(opened: OpenExchange) -> tuple[Fault, ...]:
    """List the faults that an answer can carry, if a client reads it."""
    if not opened.facts.role.traits.has_client or opened.exchange is None:
        return ()
    return (*faults.faults(opened.exchange), *(OF_HTTP if opened.facts.http.port else ()))


def with_fault(opened: OpenExchange, draft: Draft, fault: Fault) -> str:
    """Return the whole message of a draft, with a fault in it.

    An HTTP fault does not change the message: the server sends the next one with wrong HTTP.
    """
    whole = document(opened, draft)
    if fault.is_of_http:
        order = Reply(fault.value, by=draft.by, order=Order.HTTP)
        submit_outgoing(opened.inbox, opened.key.session, order, within=0)
        return whole
    if opened.exchange is None:
        return whole
    return faults.with_fault(opened.exchange, whole, fault, spoken_language())


def remove_http_fault(opened: OpenExchange, by: str) -> None:
    if opened.facts.http.port:
        order = Reply(TAKEN_BACK, by=by, order=Order.HTTP)
        submit_outgoing(opened.inbox, opened.key.session, order, within=0)


def keep(opened: OpenExchange, draft: Draft, since: str | None = None) -> str:
    """Save a draft and return when. `since` is the `at` of the one that its writer began from.

    None says that it is the one in `opened`.
    """
    at, seen = now(), opened.item.draft or draft
    opened.inbox.save(opened.key, draft._replace(at=at), seen.at if since is None else since)
    return at


def pause(opened: OpenExchange, by: str) -> None:
    """Pause the countdown of the answer book."""
    first = starting_draft(opened)
    opened.inbox.change_draft(
        opened.key, lambda draft: (draft or first)._replace(paused=True, by=by)
    )


@contextmanager
def writing(opened: OpenExchange, page: str) -> Iterator[None]:
    """Show at all desks that somebody writes an answer, until the block ends."""
    inbox, ended = opened.inbox, threading.Event()

    def sign() -> None:
        while not ended.is_set():
            with suppress(InboxError):
                inbox.note_writer(opened.key, Writer(page))
            ended.wait(WRITES_FOR / 3)

    thread = threading.Thread(target=sign, name="writing", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
        with suppress(InboxError):
            inbox.clear_writer(page)


# -- a message that a tap holds -------------------------------------------------------------------


class Task(enum.StrEnum):
    """The task of a person on the page of an exchange."""

    NOTHING = ""
    """Nothing yet: a held message can be released or dropped, or another task is chosen."""
    CHANGE = "change"
    ANSWER = "answer"


def task_of(opened: OpenExchange, wanted: str) -> Task:
    """Choose the task: the requested one, else the one of the draft."""
    held, draft = opened.held, opened.item.draft
    if held is None:
        return Task.ANSWER
    if held.unread:
        return Task.NOTHING
    answerable = held.question is not None
    if (wanted == Task.CHANGE and not opened.is_large) or (wanted == Task.ANSWER and answerable):
        return Task(wanted)
    if draft is None or not draft.touched:
        return Task.NOTHING
    return _task_of(held, draft)


def _task_of(held: HeldMessage, draft: Draft) -> Task:
    meant = draft.action is Action.ANSWER
    answers = held_check.answers(held, draft.text, draft.form, answer=meant)
    return Task.ANSWER if answers and held.question is not None else Task.CHANGE


def action_of(opened: OpenExchange, task: Task) -> Action:
    """Return what happens to a held message when the text of a task is sent."""
    held = opened.held is not None
    return Action.ANSWER if held and task is Task.ANSWER else Action.FORWARD


def goes_on(opened: OpenExchange, task: Task) -> bool:
    """Return True if the draft replaces a held request or notification."""
    return task is Task.CHANGE and not opened.item.held.asked


def draft_for(opened: OpenExchange, task: Task) -> Draft:
    """Return the person's draft for a task, or the starting draft.

    The draft is the newest text; a text for the other task is kept separately.
    """
    held, item = opened.held, opened.item
    if held is None:
        return draft_of(opened)
    if item.draft is not None and item.draft.touched:
        for one in (item.draft, *reversed(item.kept)):
            if _task_of(held, one) is task:
                return one
    return starting_draft(opened) if task is Task.ANSWER else as_it_came(opened)


# -- what is sent ---------------------------------------------------------------------------------


def await_result(look: Callable[[], T | None], within: float, wake: Wake = time.sleep) -> T | None:
    """Return the result of `look`; None after the timeout.

    The page's board wakes it. Other front ends look again after short, growing pauses, so
    that an answer is seen within milliseconds and a slow process costs little.
    """
    end = time.monotonic() + within
    pause = FIRST_NAP
    while (found := look()) is None and (left := end - time.monotonic()) > 0:
        wake(min(pause, left))
        pause = min(pause * _NAP_GROWTH, LONGEST_NAP)
    return found


def send(
    opened: OpenExchange, reply: Reply, *, within: float = SETTLES_WITHIN, wake: Wake = time.sleep
) -> SendResult:
    """Send a reply, and wait for its result.

    A text that the check blocks, or that nothing waits for, is not submitted: it is
    kept as the draft, and the answer book waits for the person. What a tap holds is forwarded,
    also changed, only with the digest of what the person saw.
    """
    opened, reply = opened.again(), reply._replace(at=now())
    forwards = opened.item.purpose is Purpose.HELD and reply.action is Action.FORWARD
    if (forwards and not reply.shown) or differs(reply.shown, opened.item.line):
        if forwards and reply.text != opened.item.line:
            _keep(opened, reply)
        problems = (kinds.other_request_shown().unplaced(),)
        return SendResult(Outcome.BLOCKED, opened.item, problems, reply.text)
    is_pending = opened.item.state is ExchangeState.PENDING
    is_second = is_pending and opened.item.reply is not None and opened.facts.may_go_on
    if opened.item.state is ExchangeState.ANSWERED or is_second:
        # The inbox keeps the text beside what was sent.
        return _submit_reply(opened, reply, Verdict(reply.text, None, None), within, wake)
    if opened.standing.is_over:
        # Two people may be too late at the same moment: the draft holds the text of one of them.
        opened.inbox.put_aside(opened.key, reply.as_draft)
        if opened.item.draft is None or not opened.item.draft.touched:
            _keep(opened, reply)
        return SendResult(_not_sent(opened.item, reply), opened.item)
    dropped = reply.action is Action.DROP
    verdict = Verdict("", "", "")
    if not dropped:
        verdict = judge(opened, reply.text, reply.form, reply.action)
    if not verdict.sendable and not (reply.anyway and verdict.forced is not None):
        _keep(opened, reply)
        item = opened.inbox.item(opened.key)
        return SendResult(Outcome.BLOCKED, item, verdict.diagnostics, verdict.text)
    return _submit_reply(opened, reply, verdict, within, wake)


def _keep(opened: OpenExchange, reply: Reply) -> None:
    keep(opened, reply.as_draft._replace(paused=True), "")


def _submit_reply(
    opened: OpenExchange, reply: Reply, verdict: Verdict, within: float, wake: Wake
) -> SendResult:
    try:
        opened.inbox.send(opened.key, reply)
    except TakenError as error:
        first = error.state in (ExchangeState.PENDING, ExchangeState.ANSWERED)
        item = opened.inbox.item(opened.key)
        outcome = Outcome.TAKEN if first else _not_sent(item, reply)
        winner = item.reply.author if item.reply is not None else ""
        return SendResult(outcome, item, by=winner or error.by)
    found = await_result(lambda: result_of(opened, reply), within, wake)
    if found is None:
        return SendResult(Outcome.QUEUED, opened.inbox.item(opened.key))
    if found.outcome is Outcome.SENT:
        return found._replace(diagnostics=verdict.diagnostics, text=verdict.text)
    return found


def result_of(opened: OpenExchange, reply: Reply) -> SendResult | None:
    """Return the result of a reply; None while it waits."""
    # First: what is read below may be the last thing that the process did.
    facts = opened.inbox.facts(opened.key.session)
    may_go_on = facts.may_go_on
    item = opened.inbox.item(opened.key)
    match item.state:
        case ExchangeState.PENDING if item.reply is None:
            # Sent as a question to the client of a task; else it came back, or could not be read.
            parked = item.waiting.parked
            is_asked = (parked.asks or parked.heard) and not item.diagnostics
            outcome = Outcome.SENT if is_asked else Outcome.REFUSED
            return SendResult(outcome, item, item.diagnostics, reply.text)
        case ExchangeState.PENDING if item.outlives and not facts.is_open:
            return SendResult(Outcome.STORED, item)
        case ExchangeState.PENDING:
            return None if may_go_on else SendResult(_not_sent(item, reply), item)
        case ExchangeState.ANSWERED:
            by = "" if item.answer is None else item.answer.by
            is_ours = by == reply.by and item.reply in (reply, None)
            return SendResult(Outcome.SENT if is_ours else Outcome.TAKEN, item, by=by)
        case ExchangeState.CANCELLED if reply.action is Action.DROP:
            return SendResult(Outcome.SENT, item)
        case ExchangeState.CANCELLED | ExchangeState.ABANDONED:
            return SendResult(_not_sent(item, reply), item)


def _not_sent(item: Item, reply: Reply) -> Outcome:
    """Return the outcome where nothing says that a reply was sent, now or a first time."""
    before = None if item.reason in NOT_PRINTED else item.reply
    is_ours = before is not None and before._replace(at=reply.at, shown_at=reply.shown_at) == reply
    return Outcome.UNCONFIRMED if is_ours else Outcome.OVER


def ended_twins(inbox: DeskInbox, item: Item) -> list[Item]:
    """Return the requests that ended because this one, with the same id, was answered."""
    ended = inbox.items(item.key.session, ExchangeState.ABANDONED)
    return [one for one in ended if one.reason == "twin" and one.id == item.id]


class SayResult(NamedTuple):
    """The result of an outgoing message: SENT, QUEUED, or REFUSED with its problems."""

    outcome: Outcome
    diagnostics: tuple[Diagnostic, ...] = ()


def submit_outgoing(
    inbox: DeskInbox,
    session: str,
    reply: Reply,
    *,
    within: float = SETTLES_WITHIN,
    wake: Wake = time.sleep,
) -> SayResult:
    """Submit an outgoing message or an order, and wait for the result.

    Raises:
        OrderError: the order cannot be followed.
    """
    ticket = queue_outgoing(inbox, session, reply._replace(at=now()))
    return became_of(await_result(lambda: inbox.outgoing_result(session, ticket), within, wake))


def became_of(result: OutgoingResult | None) -> SayResult:
    """Return the result of an outgoing message, by the inbox."""
    if result is None:
        return SayResult(Outcome.QUEUED)
    return SayResult(Outcome.SENT if result.sent else Outcome.REFUSED, result.problems)


_HIGHEST: Final = 255


class OrderError(StopError):
    """This order cannot be followed."""

    section = "order_error"
    status = USAGE_ERROR


def queue_outgoing(inbox: DeskInbox, session: str, reply: Reply) -> str:
    """Submit an outgoing message or an order. Return the ticket.

    Raises:
        OrderError: it cannot be followed; the sentence says why.
        InboxError: there is no such session, or the disk does not take it.
    """
    if reply.order is not Order.SAY:
        facts = inbox.facts(session)
        traits = facts.role.traits
        if not (traits.serves or (traits.is_ordered and reply.order is Order.EXTENSION)):
            raise OrderError("role")
        if facts.life is not Life.OPEN:
            raise OrderError("over")
        code = not_understood(reply.order, reply.text)
        if reply.order is Order.HTTP and not facts.http.port:
            code = "no http"
        if reply.order is Order.PARK and not code:
            item = inbox.item(Key(session, int(reply.text)))
            code = "" if item.waiting.can_park else "no park"
        if code:
            raise OrderError(code, text=reply.text[:60])
    return inbox.submit(session, reply)


def not_understood(order: Order, text: str) -> str:
    """Return the code of why an order with this text cannot be followed; "" when it is clear.

    Raises:
        OrderError: the extension whose order it is says why.
    """
    code, is_understood = "", True
    match order:
        case Order.RAW:
            code, is_understood = "base64", _is_base64(text)
        case Order.PROGRESS | Order.SILENCE:
            code, is_understood = "switch", text in ("on", "off")
        case Order.DEFINITION:
            code, is_understood = "definition", definition_change(text) is not None
        case Order.HTTP:
            from humanmcp.protocol.http.http_faults import TAKEN_BACK, HttpFault  # noqa: PLC0415 - seldom

            code = "http fault"
            is_understood = text == TAKEN_BACK or HttpFault.read(text) is not None
        case Order.EXTENSION:
            name, _, words = text.partition(" ")
            code, brought = "extension", next(extensions.brought_by("orders", name), None)
            is_understood = brought is not None
            if brought is not None:
                called_on(brought[0], f"order {name}", brought[1], words)
        case Order.PARK:
            code, is_understood = "park", re.fullmatch(r"[0-9]{1,12}", text) is not None
        case Order.STATUS:
            code = "parked status"
            is_understood = re.fullmatch(r"[0-9]{1,12} .*\S.*", text, re.DOTALL) is not None
        case Order.EXIT:
            is_number = text.isascii() and text.isdigit()
            code, is_understood = "status", is_number and int(text) <= _HIGHEST
        case _:
            pass
    return "" if is_understood else code


def definition_change(text: str) -> DefinitionChange | None:
    """Return how an order changes the server definition, or None if its text is no change."""
    import json  # noqa: PLC0415 - seldom wanted

    from humanmcp.protocol.answer_book.book_format import (  # noqa: PLC0415 - likewise
        BookError,
        read_change,
    )

    try:
        given = json.loads(text)
        return read_change(given, "definition") if isinstance(given, dict) else None
    except (ValueError, BookError):
        return None


def _is_base64(text: str) -> bool:
    import binascii  # noqa: PLC0415 - seldom wanted

    try:
        return bool(binascii.a2b_base64(text, strict_mode=True))
    except ValueError:
        return False
