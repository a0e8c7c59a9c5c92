"""Who is with a client: the one who answers a server's questions, and the one who looks on."""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Protocol

from humanmcp.protocol.diagnostics.model import TextForm

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from humanmcp.common.child import EndedError
    from humanmcp.host.at_inbox import AskedSession
    from humanmcp.http.transport import HttpPart
    from humanmcp.locales.stop import Reason, StopError
    from humanmcp.protocol.conversation.exchange import Event, Exchange, NegotiatedState, Outcome
    from humanmcp.protocol.json.jsonrpc import Message


class Judge(Protocol):
    """Hands in an answer to a server's question. It is checked, and sent when it passes."""

    def __call__(
        self, text: str, form: TextForm = TextForm.RESULT, *, anyway: bool = False
    ) -> Outcome:
        """Return what became of it; `Refused` may be tried again."""


class ServerRequestHandler(Protocol):
    """Who answers what a server asks of the client: a person, or a stand-in for none."""

    def answer(self, exchange: Exchange, negotiated: NegotiatedState, judge: Judge) -> None:
        """Answer one question, however long it takes. Runs in a thread of its own."""

    def withdraw(self, exchange: Exchange, reason: Reason) -> None:
        """Learn that the server no longer wants an answer."""


@dataclass(frozen=True, slots=True)
class MisdirectedResponse:
    """An answer whose id belongs to no request that waits.

    `waiting` are those that wait; `late` is the request of this id that was given up before, and
    `taken` the one that it was taken for all the same; None for none.
    """

    message: Message
    waiting: tuple[Message, ...] = ()
    late: Message | None = None
    taken: Message | None = None


class ClientObserver:
    """Sees everything that goes over the wire. This one looks away; others override."""

    def line_sent(self, line: str) -> None:
        """See a line that goes to the server."""

    def line_arrived(self, line: bytes) -> None:
        """See a line from the server."""

    def stderr_line(self, line: bytes) -> None:
        """See a line of the server's stderr."""

    def http_passed(self, number: int, what: HttpPart) -> None:
        """See what HTTP says beside the lines, where it carries them; keys are hidden."""

    def happened(self, event: Event) -> None:
        """See what the line before meant."""

    def answer_went_astray(self, response: MisdirectedResponse) -> None:
        """See an answer whose id belongs to no request that waits."""

    def not_taken(self, error: StopError) -> None:
        """See that a message that awaits no answer did not get to the server."""

    def server_ended(self, error: EndedError) -> None:
        """See that the server is gone, and that it was not us who ended it."""


REFUSED: Final = -1
"""The code that the sampling page of MCP shows for "User rejected sampling request"."""

REFUSAL: Final[Mapping[str, Any]] = MappingProxyType(
    {"code": REFUSED, "message": "User rejected sampling request"}
)


class Nobody:
    """Answers in the place of a person who is not there: shows the roots, refuses the rest."""

    def __init__(self, roots: tuple[Mapping[str, str], ...] = ()) -> None:
        """Remember the roots to show: none that was not named, since a made-up one misleads."""
        self.roots = roots

    def answer(self, exchange: Exchange, negotiated: NegotiatedState, judge: Judge) -> None:  # noqa: ARG002 - Respondent
        """Answer at once."""
        answer, form = self.ready_answer(exchange)
        judge(json.dumps(answer, ensure_ascii=False), form)

    def ready_answer(self, exchange: Exchange) -> tuple[dict[str, Any], TextForm]:
        """Return what is said without a person."""
        match exchange.method:
            case "roots/list":
                return {"roots": list(self.roots)}, TextForm.RESULT
            case "elicitation/create":
                return {"action": "cancel"}, TextForm.RESULT
            case "sampling/createMessage":
                return dict(REFUSAL), TextForm.ERROR
            case _:
                return {"code": -32601, "message": "Method not found"}, TextForm.ERROR

    def withdraw(self, exchange: Exchange, reason: Reason) -> None:
        """Do nothing: what was asked is answered already."""


class WhenAsked:
    """Sits down at a desk when the first question comes: most servers never ask anything."""

    def __init__(self, sit_down: Callable[[], AskedSession]) -> None:
        self._sit_down = sit_down
        self._session: AskedSession | None = None
        self._lock = threading.Lock()

    def answer(self, exchange: Exchange, negotiated: NegotiatedState, judge: Judge) -> None:
        """Answer at the desk."""
        with self._lock:
            self._session = self._session or self._sit_down()
        self._session.answer(exchange, negotiated, judge)

    def withdraw(self, exchange: Exchange, reason: Reason) -> None:
        """Take the question back from the desk."""
        if self._session is not None:
            self._session.withdraw(exchange, reason)

    def end(self) -> None:
        """Leave the desk."""
        if self._session is not None:
            self._session.end()
