"""The desk of an inbox: what its pages and its calls share."""

from __future__ import annotations

import json
import logging
import os
import re
import threading
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from markupsafe import Markup

from humanmcp.answering import service
from humanmcp.answering.open_exchange import OpenExchange
from humanmcp.answering.service import Outcome
from humanmcp.common.timestamps import now
from humanmcp.desk.history.problems import SessionProblems
from humanmcp.desk.login import digest
from humanmcp.desk.moments import Press
from humanmcp.desk.rights import Who
from humanmcp.desk.routing import who_asks
from humanmcp.inbox.contract import Key, Order, Reply, UnknownItemError
from humanmcp.inbox.form_drafts import FormDrafts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from starlette.requests import Request
    from starlette.types import Scope

    from humanmcp.answering.service import SayResult, SendResult
    from humanmcp.desk.board import Board
    from humanmcp.desk.guard import Address
    from humanmcp.desk.inbox.saved_answers import Shelf
    from humanmcp.desk.live import Live
    from humanmcp.desk.login import Door
    from humanmcp.desk.moments import Around, Listener, Panel
    from humanmcp.inbox.contract import Inbox, SessionFacts
    from humanmcp.protocol.conversation.transcript import Frame
    from humanmcp.protocol.diagnostics.model import Diagnostic

_log = logging.getLogger(__name__)


MOST_SENT: Final = 200
"""The number of forms that are known as sent."""


BY: Final = "desk"
"""The author of what a desk sends, unless a listener names another one."""


class SentKeys:
    """The tickets of the forms that sent an outgoing message: the same form again sends nothing.

    A form has a `key` of its own; its fields count, too, because they may be changed and sent anew.
    """

    def __init__(self) -> None:
        self._tickets: dict[str, str] = {}
        self._lock = threading.Lock()

    def ticket(self, form: Mapping[str, str], submit: Callable[[], str]) -> str:
        """Return the ticket of a form, which is submitted if it was not before."""
        if not form.get("key"):
            return submit()
        name = digest(repr(sorted(form.items()))).hex()
        with self._lock:
            if name not in self._tickets:
                self._tickets[name] = submit()
            if len(self._tickets) > MOST_SENT:
                del self._tickets[next(iter(self._tickets))]
            return self._tickets[name]


_PLACE: Final = re.compile(r"([^/]*)/(\d{1,11})", re.ASCII)


def place_in(address: str) -> Key:
    """Return the exchange, or the line, that a part of an address names: `SESSION/NUMBER`.

    Raises:
        UnknownItemError: it names none.
    """
    found = _PLACE.fullmatch(address)
    if found is None:
        raise UnknownItemError(address)
    return Key(found[1], int(found[2]))


@dataclass(frozen=True, slots=True)
class Desk:
    """A desk: its inbox and everything that its pages need."""

    home: Path
    board: Board
    live: Live
    door: Door
    address: Address
    shelf: Shelf
    book: Path
    language: str = ""
    server_settings: Mapping[str, Any] = field(default_factory=dict)
    """The settings that a server needs to use this desk's inbox."""
    url: str = ""
    """The HTTP address of this desk's server, "" for none."""
    listeners: Sequence[Listener] = ()
    """Who hears the moments of this desk."""
    sent_keys: SentKeys = field(default_factory=SentKeys)
    problems: SessionProblems = field(default_factory=SessionProblems)

    @property
    def inbox(self) -> Inbox:
        return self.board.inbox

    @property
    def is_hosted(self) -> bool:
        """Whether it is the desk of somebody who does not own this computer."""
        return any(one.IS_HOSTED for one in self.listeners)

    @property
    def author(self) -> str:
        """The author of what this desk sends."""
        return next((one.author for one in self.listeners if one.author), BY)

    @contextmanager
    def heard(self) -> Iterator[None]:
        """Tell the listeners that the desk is served, and in the end that it is not."""
        with ExitStack() as stack:
            for one in self.listeners:
                one.begin(self)
                stack.callback(one.end)
            yield

    def judged(self, key: Key, diagnostics: Sequence[Diagnostic], press: Press) -> None:
        """Tell the problems of an answer, and what the press of Send did."""
        for one in self.listeners:
            one.judged(key, diagnostics, press)

    def draft_name(self, key: Key) -> str:
        """Name the draft of an exchange in a browser: those of one name ask for the same answer."""
        names = (one.draft_name(key) for one in self.listeners)
        return next(filter(None, names), f"{key.session}/{key.number}")

    def around(self, request: Request) -> Around | None:
        """Return what each page shows of where this desk is; None for a person's own desk."""
        found = (one.around(request) for one in self.listeners)
        return next((one for one in found if one is not None), None)

    def panel(self, request: Request, facts: SessionFacts) -> Panel | None:
        """Return what a listener shows about a session, None for nothing."""
        found = (one.panel(self.inbox, request, facts) for one in self.listeners)
        return next((one for one in found if one is not None), None)

    def shown_at(self, place: str) -> Markup:
        """Return what the listeners show at a place of a page."""
        return Markup().join(one.shown(place) for one in self.listeners)

    @property
    def drafts(self) -> FormDrafts:
        """What people typed into forms and have not sent."""
        return FormDrafts(self.home)

    def drafted(self, place: str, form: str) -> Markup:
        """Return the attributes of a form whose draft is kept, with the draft that there is."""
        key = f"{place} {form}"
        found = self.drafts.find(key)
        kept = "" if found is None else json.dumps({"fields": found.fields, "at": found.at})
        return Markup('data-draft="{}" data-kept="{}"').format(key, kept)

    def check_draft(self, scope: Scope, key: str) -> None:
        """Let a device, and a login of one session, touch the drafts of sessions that it sees only.

        Raises:
            UnknownItemError: the key names another place.
        """
        if who_asks(scope) & (Who.DEVICE | Who.ONE_SESSION):
            self.board.session(re.split("[/ ]", key)[0])

    def shown(self, text: object) -> str:
        """Return a path or a sentence for a page; a hosted desk shows no folders."""
        return str(text).replace(f"{self.home}{os.sep}", "") if self.is_hosted else str(text)

    def device_link(self, name: str) -> str:
        """Return a link that logs in one device, once, within 15 minutes."""
        return f"{self.address.elsewhere}/login#k={self.door.new_key(device=name)}"

    def open_exchange(self, key: Key) -> OpenExchange:
        """Return an exchange as it is now.

        Raises:
            UnknownItemError: there is none.
        """
        return OpenExchange(self.inbox, self.inbox.item(key), self.board.session(key.session).facts)

    def line_at(self, place: Key) -> Frame:
        """Return a recorded line.

        Raises:
            UnknownItemError: there is none.
        """
        session, seq = place
        self.board.session(session)
        frames = self.inbox.last_frames_before(session, seq + 1, 1)
        if not frames or frames[0].seq != seq:
            raise UnknownItemError(session, line=seq)
        return frames[0]

    def send(self, key: Key, reply: Reply) -> SendResult:
        """Send a reply, and read its exchange again at once."""
        reply = reply._replace(by=self.author)
        result = service.send(self.open_exchange(key), reply, wake=self.board.wait)
        self.board.refresh(*key)
        if result.outcome not in {Outcome.OVER, Outcome.TAKEN}:
            is_stopped = result.outcome in {Outcome.BLOCKED, Outcome.REFUSED}
            self.judged(key, result.diagnostics, Press.STOPPED if is_stopped else Press.SENT)
        return result

    def order(self, session: str, verb: str, form: Mapping[str, str]) -> str:
        """Order what the button `act` of a form says, for an extension.

        Returns why it is not done, "" if it is.
        """
        reply = Reply(f"{verb} {form.get('act', '')}", order=Order.EXTENSION)
        try:
            self.submit_outgoing(session, reply, form)
        except service.OrderError as error:
            return error.sentence()
        return ""

    def submit_outgoing(
        self, session: str, reply: Reply, form: Mapping[str, str] | None = None
    ) -> SayResult:
        """Submit an outgoing message or an order, once for a form, and wait for the result.

        Raises:
            OrderError: the order cannot be followed.
        """
        reply = reply._replace(by=BY, at=now())
        submitted = {**(form or {}), "anyway": f"{reply.anyway}"}
        ticket = self.sent_keys.ticket(
            submitted, lambda: service.queue_outgoing(self.inbox, session, reply)
        )
        result = service.await_result(
            lambda: self.inbox.outgoing_result(session, ticket),
            service.SETTLES_WITHIN,
            self.board.wait,
        )
        return service.became_of(result)
