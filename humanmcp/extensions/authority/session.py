"""An authority in the inbox: each step is an exchange, answered by a rule or by a person.

Theory of operation
-------------------
The event loop brings each request (`ask`) and writes each response. One thread, the attendant's,
does all else here, so nothing is decided twice:

    ask ──▶ prepared: the right answer ──▶ by a rule: recorded ─────────────▶ response ──▶ written
                                      └──▶ by hand: in the inbox ──▶ a reply ──▶ recorded ──┘

An authorization request always waits for a person. A code is made in one place, `_decide`: when
a reply of the inbox to a consent, which the check has passed, holds the name of a code. No rule and
no page of a browser leads there. *Sent* is told when the system has taken the response.

Values of secrets are in this process alone. What is kept in the file of the port are digests.
"""

from __future__ import annotations

import json
import logging
import math
import os
import secrets
import time
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias, TypeVar

from humanmcp.answering.steps import note_of_step
from humanmcp.extensions.authority import answers
from humanmcp.extensions.authority.check import SECTION, judge, leads_to
from humanmcp.extensions.authority.grants import CODE_LIVES, Grants
from humanmcp.extensions.authority.mistakes import Mistake, mistakes, next_of, of_step
from humanmcp.extensions.authority.musts import in_use
from humanmcp.extensions.authority.orders import ORDER
from humanmcp.extensions.authority.steps import Step, WebResponse, named, read_response
from humanmcp.inbox.atomic import replace_file
from humanmcp.inbox.attendant import PollSchedule
from humanmcp.inbox.contract import (
    Answer,
    InboxError,
    Item,
    Key,
    Order,
    Purpose,
    Reply,
    Role,
    SessionFacts,
    TakenError,
    Waiting,
)
from humanmcp.inbox.inbox_session import InboxSession, Stamps
from humanmcp.protocol.conversation.decisions import DecisionRecord
from humanmcp.protocol.conversation.exchange import NegotiatedState
from humanmcp.protocol.conversation.stages import ExchangeState
from humanmcp.protocol.conversation.transcript import ON_PURPOSE, Direction
from humanmcp.protocol.diagnostics.model import Diagnostic, Severity, TextForm
from humanmcp.protocol.json.visible import one_line
from humanmcp.protocol.validation.redaction import without_secrets

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from humanmcp.extensions.authority.answers import Asked, Place, Prepared
    from humanmcp.extensions.authority.grants import Grant
    from humanmcp.inbox.contract import Inbox

logger = logging.getLogger(__name__)

KIND: Final = "oauth"
"""The name of this kind of exchanges."""
MOST_WAITING: Final = 50
"""Steps that wait for a person at once; more are told to come again. No other step waits."""
_WRITE: Final = "write"
"""The scope that is asked for by *ask for more scope*."""
_CHANGES: Final = (Step.REGISTER, Step.TOKEN)
"""The steps that change what is kept."""
_MANY: Final = WebResponse(503, (("retry-after", "5"),), "")
_LOST: Final = WebResponse(500, (), "")


class Ticket(NamedTuple):
    """A consent that waits for a person: what its page shows, and a secret name of it."""

    name: str
    form: str
    """What the page's form must send."""
    number: int
    consent: Grant
    client: str


class Outgoing(NamedTuple):
    """A response to write; `number` is that of its exchange, 0 for none."""

    response: WebResponse
    number: int = 0


Changed = TypeVar("Changed")
Told: TypeAlias = "Callable[[Outgoing | Ticket], object]"
"""It gets the response, or the ticket of a consent. It is called once, from another thread."""


@dataclass(eq=False, slots=True)
class _Waiting:
    """A step in the inbox. `out` is what goes out, once somebody decided."""

    prepared: Prepared
    item: Item
    is_shown: bool = False
    ticket: Ticket | None = None
    out: Outgoing | None = None
    ends: float = math.inf
    """When a decision that no browser has fetched is over: its code is."""
    answer: Answer | None = None
    listeners: list[Callable[[Outgoing], object]] = field(default_factory=list)


def _fitting(asked: Asked, prepared: Prepared) -> list[Mistake]:
    """Return the mistakes that the answer to a step can have: one that refuses it has none.

    What a row changes is not in that, and the record would name a mistake that nobody made.
    """
    is_refused = bool(prepared.why) and asked.step is not Step.CHALLENGE
    return [] if is_refused else [one for one in of_step(asked.step) if one.is_about(asked.request)]


class AuthoritySession:
    """The session of an authority: an `Attended`. `kept` is the file with the grants.

    Its thread changes a copy of the grants, which then takes their place: so the event loop reads
    them as they are, and what the disk refuses is undone by the ones before.
    """

    def __init__(
        self,
        inbox: Inbox,
        kept: Path,
        title: str,
        notify: Callable[[str, int, str], object] | None = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        """Begin. `notify` is told of what waits for a person; `now` is the clock of tokens.

        Raises:
            InboxError: the inbox cannot be used.
        """
        self._inbox = inbox
        self._kept = kept
        self._tell = notify
        self._now = now
        self.is_lost = False
        """What was kept cannot be read: clients must sign in again."""
        self._grants = self._read()
        self._stamps = Stamps()
        facts = SessionFacts("", self._stamp(), Role.ENDPOINT, pid=os.getpid(), title=title)
        self._session = InboxSession.begin(inbox, facts, self._stamp)
        self._session.keep_facts(NegotiatedState())
        self._schedule = PollSchedule(self._session.bell)
        self._events: SimpleQueue[Callable[[], object]] = SimpleQueue()
        self._wake: Callable[[], object] = lambda: None
        self._waiting: dict[int, _Waiting] = {}
        self._numbers = 0
        self._armed: dict[Step, Mistake] = {}
        self._by_hand: set[Step] = set()
        self._again: list[Callable[[], object]] = []
        """What the disk refused: it is tried again at the next look."""
        self._refuses = False
        self._wants = ""
        self._has_left = False

    @property
    def name(self) -> str:
        return self._session.name

    def _stamp(self) -> str:
        return self._stamps.at(time.time_ns() // 1_000_000)

    # -- what is kept -----------------------------------------------------------------------------

    def _read(self) -> Grants:
        try:
            return Grants.read(json.loads(self._kept.read_text(encoding="utf-8")))
        except FileNotFoundError:
            return Grants()
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            logger.warning("the sign-ins cannot be read: %s", error)
            self.is_lost = True
            return Grants()

    def _keep(self) -> None:
        """Write the file.

        Raises:
            OSError: the disk is full, say.
        """
        content = json.dumps(self._grants.as_record()).encode()
        self._kept.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        replace_file(self._kept.parent, self._kept, content, durable=os.name != "nt")

    def _keep_if_possible(self) -> None:
        """Write the file, unless the disk refuses: the next change writes it."""
        try:
            self._keep()
        except OSError as error:
            logger.warning("the sign-ins are not kept: %s", error)

    def _change(self, change: Callable[[Grants], Changed]) -> Changed:
        """Change a copy of the grants, which then takes their place."""
        grants = self._grants.copied()
        result = change(grants)
        self._grants = grants
        return result

    # -- from the event loop ----------------------------------------------------------------------

    def grant_of(self, token: str, place: Place) -> tuple[Grant | None, str, str]:
        """Return the grant by which a request of MCP is let in; else why not, and what scope.

        The reasons are the errors of RFC 6750: "" for no token, "invalid_token" and
        "insufficient_scope".
        """
        if not token:
            return None, "", ""
        found = self._grants.grant_of(token, place.issuer, place.resource, self._now())
        if found is None or self._refuses:
            self._refuses = self._refuses and found is None
            return None, "invalid_token", ""
        if self._wants and self._wants not in found.scope.split():
            return None, "insufficient_scope", f"{found.scope} {self._wants}".strip()
        return found, "", ""

    def may_use(self, grant: Grant, session: str) -> bool:
        """Return True if a session of MCP was begun by the client of a grant."""
        return self._grants.owns(grant.client, session)

    def began(self, grant: Grant, session: str) -> None:
        """Note that a client has begun a session of MCP."""
        if self._grants.own(grant.client, session):
            self._do(self._keep_if_possible)

    def ask(self, asked: Asked, told: Told) -> None:
        """Bring a request."""
        self._do(partial(self._arrived, asked, told))

    def await_decision(self, ticket: str, told: Callable[[Outgoing | None], object]) -> None:
        """Call `told`, from another thread, with what goes out for a consent; None if unknown."""
        self._do(partial(self._listened, ticket, told))

    def deny(self, ticket: str, form: str) -> None:
        """Refuse a consent from its page, which proves itself by what its form sends."""
        self._do(partial(self._denied, ticket, form))

    def was_written(self, number: int, *, written: bool) -> None:
        """Note whether the system has taken a response, or never will."""
        self._do(partial(self._went_out, number, written))

    def order(self, words: str) -> None:
        """Follow an order of the process itself, which is in no transcript."""
        self._do(partial(self._follow, words))

    def _do(self, event: Callable[[], object]) -> None:
        self._events.put(event)
        self._wake()

    # -- for the attendant ------------------------------------------------------------------------

    def begin_steps(self, wake: Callable[[], object]) -> None:
        self._wake = wake
        self._schedule.listen(wake)

    def step(self, now: float) -> float | None:
        """Answer what has come, and take what people decided."""
        with suppress(Empty):
            while True:
                self._events.get_nowait()()
        if self._schedule.desks_are_due(now):
            self._session.catch_up()
            again, self._again = self._again, []
            for event in again:
                event()
            with suppress(InboxError):  # a full disk, say: what was typed stays there
                self._take_replies()
            self._forget_unfetched()
            self._schedule.desks_were_seen(now, time.monotonic(), waiting=bool(self._waiting))
        return self._schedule.next_desks

    def leave(self) -> None:
        """End the session: what waits is abandoned."""
        self._has_left = True
        for one in (*self._waiting.values(),):
            for listener in one.listeners:
                listener(Outgoing(WebResponse(503)))
        self._session.end()

    # -- a request --------------------------------------------------------------------------------

    def _arrived(self, asked: Asked, told: Told) -> None:
        waits = sum(one.is_shown and one.out is None for one in self._waiting.values())
        if waits >= MOST_WAITING and asked.step in {*self._by_hand, Step.AUTHORIZE}:
            told(Outgoing(_MANY))
            return
        before = self._grants
        try:
            self._answer(asked, told)
        except (InboxError, OSError) as error:  # what is not kept or recorded has not happened
            logger.warning("a step of signing in cannot be kept: %s", error)
            self._waiting.pop(self._numbers, None)
            if self._grants is not before:
                self._grants = before.without_ended(self._grants)
                self._keep_if_possible()
            told(Outgoing(_MANY))
        except Exception:
            self._waiting.pop(self._numbers, None)
            told(Outgoing(_LOST))
            raise

    def _answer(self, asked: Asked, told: Told) -> None:
        self._numbers += 1
        prepared = self._prepared(asked)
        number, text = self._numbers, asked.request.text()
        rows = _fitting(asked, prepared)
        mistake = self._mistake(asked, rows)
        facts = self._facts(asked, prepared, rows)
        note = note_of_step(KIND, asked.step)
        self._session.record(Direction.IN, text.encode(), number, note=note)
        item = Item(
            Key(self._session.name, number),
            text,
            asked.step.value,
            "",
            facts["version"],
            self._stamp(),
            purpose=Purpose.STEP,
            waiting=Waiting(),
            host=KIND,
            context=json.dumps(facts, ensure_ascii=False),
        )
        waiting = self._waiting[number] = _Waiting(prepared, item)
        consent = prepared.consent
        if consent is not None or asked.step in self._by_hand:
            self._inbox.deliver(item)
            waiting.is_shown = True
            if self._tell is not None:
                self._tell(self._session.name, number, asked.step.value)
            self._schedule.arrived(time.monotonic())
            if consent is None:
                waiting.listeners.append(told)
            else:
                name, form = secrets.token_urlsafe(24), secrets.token_urlsafe(24)
                waiting.ticket = Ticket(name, form, number, consent, prepared.client)
                told(waiting.ticket)
            return
        waiting.listeners.append(told)
        right, name = prepared.right, "" if mistake is None else mistake.id
        response = right if mistake is None else mistake.put_into(right, asked.place)
        self._decide(number, response, f"{KIND}: rule {name or 'right'}", mistake=name)

    def _prepared(self, asked: Asked) -> Prepared:
        prepare = partial(answers.prepare, asked, now=self._now())
        if asked.step in _CHANGES:
            found = self._change(prepare)
            self._keep()
        else:
            found = prepare(self._grants)
        if found.client:
            self._session.keep_facts(NegotiatedState(), client=one_line(found.client, 60))
        return found

    def _mistake(self, asked: Asked, rows: Sequence[Mistake]) -> Mistake | None:
        """Take the mistake that a person has chosen for the next step of this kind."""
        is_by_rule = asked.step not in {*self._by_hand, Step.AUTHORIZE}
        is_made = is_by_rule and self._armed.get(asked.step) in rows
        return self._armed.pop(asked.step) if is_made else None

    def _facts(self, asked: Asked, prepared: Prepared, rows: Sequence[Mistake]) -> dict[str, Any]:
        """Return what the kind reads beside the request: no secret is in it."""
        consent = prepared.consent
        ready = dict(prepared.ready) or {"right": prepared.right.text}
        ready |= {one.id: one.put_into(prepared.right, asked.place).text for one in rows}
        return {
            "step": asked.step.value,
            "right": prepared.right.text,
            "ready": ready,
            "why": prepared.why,
            "client": prepared.client or without_secrets(asked.request.header("user-agent"))[:60],
            "host": "" if consent is None else answers.host_of(consent.redirect_uri),
            "redirect": "" if consent is None else without_secrets(consent.redirect_uri),
            "scope": "" if consent is None else without_secrets(consent.scope),
            "resource": asked.place.resource,
            "consent": consent is not None,
            "version": in_use(asked.request.header("mcp-protocol-version")),
        }

    # -- a decision -------------------------------------------------------------------------------

    def _take_replies(self) -> None:
        for mark, reply in self._session.submissions():
            if isinstance(mark, str):
                with suppress(InboxError):  # a full disk, say: it is still there at the next look
                    self._ordered(mark, reply)
            elif mark.number in self._waiting:
                self._replied(mark.number, reply)

    def _replied(self, number: int, reply: Reply) -> None:
        """Check what a person wrote, and let it go out."""
        waiting = self._waiting.get(number)
        if waiting is None or waiting.out is not None:
            return
        facts = json.loads(waiting.item.context)
        verdict = judge(facts, reply.text)
        line = verdict.line if verdict.line is not None else reply.anyway and verdict.forced
        answer, _ = read_response(line or "")
        if answer is None or reply.form is not TextForm.STEP:
            self._session.refuse(number, verdict.diagnostics)
            return
        ready = facts["ready"].items()
        name = next((name for name, text in ready if text == answer.text), "")
        mistake = name if name in mistakes() else ""
        try:
            self._decide(number, answer, reply, mistake=mistake, deliberate=verdict.line is None)
        except InboxError as error:  # a full disk, say: nothing went out
            logger.warning("a decision cannot be recorded: %s", error)
            self._again.append(partial(self._replied, number, reply))

    def _decide(
        self,
        number: int,
        answer: WebResponse,
        author: Reply | str,
        *,
        mistake: str = "",
        deliberate: bool = False,
    ) -> None:
        """Record what goes out, and hand it to whoever waits."""
        waiting = self._waiting[number]
        item, consent = waiting.item, waiting.prepared.consent
        reply = author if isinstance(author, Reply) else None
        by = author if isinstance(author, str) else author.by
        location, decision = answer.header("location"), ""
        uri = "" if consent is None else without_secrets(consent.redirect_uri)
        if consent is not None and (reply is None or not leads_to(location, uri)):
            raise AssertionError(by)  # no rule consents, and nothing leads elsewhere
        gives = consent is not None and named("code") in location
        if reply is not None:
            action = "allow" if gives else "deny" if consent is not None else "answer"
            record = DecisionRecord(
                self.name, number, item.method, item.line, answer.text, action=action
            )
            decision = self._session.decided(record, reply)
        note = note_of_step(KIND, item.method, mistake)
        try:
            self._session.record(
                Direction.OUT, answer.text.encode(), number, by=by, note=note, decision=decision
            )
        except InboxError:
            if decision:
                self._session.take_back(decision)
            raise
        values = dict(waiting.prepared.values)
        if consent is not None and gives:
            values["code"] = self._change(lambda it: it.issue_code(consent, self._now()))
        scope = answer.members.get("scope")
        if reply is not None and "access_token" in values and isinstance(scope, str):
            self._change(lambda it: it.narrow(values["access_token"], scope))
            self._keep_if_possible()
        self._session.keep_facts(NegotiatedState())
        waiting.answer = Answer(answer.text, by, self._stamp(), deliberate or bool(mistake))
        waiting.out = Outgoing(answer.filled(values), number)
        waiting.ends = self._now() + CODE_LIVES
        listeners, waiting.listeners = waiting.listeners, []
        for listener in listeners:
            listener(waiting.out)

    def _went_out(self, number: int, written: bool) -> None:  # noqa: FBT001 - for a queue of calls
        """Close an exchange whose response is written, or whose client has gone."""
        waiting = self._waiting.get(number)
        if waiting is None or (not written and waiting.ticket is not None):
            return  # the browser may ask again
        self._over(number, written=written)

    def _forget_unfetched(self) -> None:
        """Close the consents that were decided, and whose browser never came again."""
        now = self._now()
        for number in [one for one, it in self._waiting.items() if it.ticket and now >= it.ends]:
            self._over(number, written=False)

    def _over(self, number: int, *, written: bool) -> None:
        waiting = self._waiting.pop(number)
        is_sent = written and waiting.out is not None
        state = ExchangeState.ANSWERED if is_sent else ExchangeState.CANCELLED
        answer = waiting.answer if is_sent else None
        if waiting.is_shown:
            self._session.close(number, state, answer)
        else:
            over = waiting.item._replace(state=state, answer=answer)
            self._session.keep("an answered step", partial(self._inbox.deliver, over))

    # -- the page of a consent --------------------------------------------------------------------

    def _with_ticket(self, name: str) -> _Waiting | None:
        every = self._waiting.values()
        return next((one for one in every if one.ticket and one.ticket.name == name), None)

    def _listened(self, ticket: str, told: Callable[[Outgoing | None], object]) -> None:
        waiting = self._with_ticket(ticket)
        if waiting is None or self._has_left:
            told(None)
        elif waiting.out is not None:
            told(waiting.out)
        else:
            waiting.listeners.append(told)

    def _denied(self, ticket: str, form: str) -> None:
        waiting = self._with_ticket(ticket)
        if waiting is None or waiting.ticket is None or waiting.out is not None:
            return
        if not secrets.compare_digest(waiting.ticket.form.encode(), form.encode()):
            return
        text = waiting.prepared.ready["deny"]
        reply = Reply(text, TextForm.STEP, by=f"{KIND}: rule browser", at=self._stamp())
        with suppress(TakenError):
            self._inbox.send(Key(self._session.name, waiting.ticket.number), reply)
            self._take_replies()

    # -- orders -----------------------------------------------------------------------------------

    def _ordered(self, mark: str, reply: Reply) -> None:
        first, _, words = reply.text.partition(" ")
        is_ours = reply.order is Order.EXTENSION and first == ORDER
        problems = () if is_ours else (Diagnostic(f"{SECTION}.not ours", Severity.ERROR),)
        if is_ours:
            note = f"{ON_PURPOSE}{reply.text[:200]}"
            self._session.record(Direction.NOTE, b"", by=reply.by, note=note)
            self._follow(words)
        self._session.settle_outgoing(mark, problems)

    def _follow(self, words: str) -> None:
        first, _, rest = words.partition(" ")
        match first:
            case "refuse":
                self._refuses = True
            case "expire":
                self._change(Grants.expire)
                self._keep_if_possible()
            case "more":
                self._wants = _WRITE
            case "forget":
                self._refuses, self._wants = False, ""
                self._armed.clear()
                self._by_hand.clear()
            case "mistake" if (mistake := next_of(rest)) is not None:
                self._armed[mistake.step] = mistake
            case "hand" | "rule" if rest in {*Step}:
                (self._by_hand.add if first == "hand" else self._by_hand.discard)(Step(rest))
            case _:
                pass
