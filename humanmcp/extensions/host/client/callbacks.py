"""What a client calls: who answers the server's requests, and who observes every line."""

from __future__ import annotations

import json
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Protocol

from humanmcp.protocol.diagnostics.model import TextForm

if TYPE_CHECKING:
    from collections.abc import Mapping

    from humanmcp.common.child import EndedError
    from humanmcp.http.transport import HttpPart
    from humanmcp.locales.stop import Reason, StopError
    from humanmcp.protocol.conversation.exchange import Exchange, NegotiatedState
    from humanmcp.protocol.conversation.outcomes import Event, Outcome
    from humanmcp.protocol.conversation.state import StrayCause
    from humanmcp.protocol.json.jsonrpc import Message


class Judge(Protocol):
    """Submits an answer to a server's question. It is checked, and sent when it passes."""

    def __call__(
        self, text: str, form: TextForm = TextForm.RESULT, *, anyway: bool = False
    ) -> Outcome:
        """Return what became of it; `Refused` may be tried again."""


class ServerRequestHandler(Protocol):
    """Who answers the requests of a server: a person, or `Nobody`."""

    def answer(self, exchange: Exchange, negotiated: NegotiatedState, judge: Judge) -> None:
        """Answer one request, however long it takes. Runs in a separate thread."""

    def withdraw(self, exchange: Exchange, reason: Reason) -> None:
        """Learn that the server cancelled the request."""


@dataclass(frozen=True, slots=True)
class MisdirectedResponse:
    """An answer whose id belongs to no request that waits, and why.

    `waiting` are the open requests; `taken` is the request that it is treated as the response to,
    None for none.
    """

    message: Message
    cause: StrayCause
    waiting: tuple[Message, ...] = ()
    taken: Message | None = None


class ClientObserver:
    """Sees everything that goes over the wire. This one ignores it; subclasses override."""

    def line_sent(self, line: str) -> None:
        """See a line that goes to the server."""

    def line_arrived(self, line: bytes) -> None:
        """See a line from the server."""

    def stderr_line(self, line: bytes) -> None:
        """See a line of the server's stderr."""

    def http_passed(self, number: int, what: HttpPart) -> None:
        """See what HTTP says beside the lines, where it carries them; keys are hidden."""

    def happened(self, event: Event) -> None:
        """See an event of the previous line."""

    def answer_went_astray(self, response: MisdirectedResponse) -> None:
        """See an answer whose id belongs to no request that waits."""

    def not_taken(self, error: StopError) -> None:
        """See that a message that awaits no answer did not get to the server."""

    def server_ended(self, error: EndedError) -> None:
        """See that the server ended although it was not asked to."""


REFUSED: Final = -1
"""The code that the sampling page of MCP shows for "User rejected sampling request"."""

REFUSAL: Final[Mapping[str, Any]] = MappingProxyType(
    {"code": REFUSED, "message": "User rejected sampling request"}
)


class Nobody:
    """Answers without a person: returns the roots, refuses everything else."""

    def __init__(self, roots: tuple[Mapping[str, str], ...] = ()) -> None:
        """Return these roots when asked."""
        self.roots = roots

    def answer(self, exchange: Exchange, negotiated: NegotiatedState, judge: Judge) -> None:  # noqa: ARG002 - Respondent
        answer, form = self.ready_answer(exchange)
        judge(json.dumps(answer, ensure_ascii=False), form)

    def ready_answer(self, exchange: Exchange) -> tuple[dict[str, Any], TextForm]:
        """Return the answer that is given without a person."""
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
        """Do nothing: the request is answered already."""
