"""Who is with a client: the one who answers a server's questions, and the one who looks on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from humanmcp.protocol.diagnostics.verdict import TextForm

if TYPE_CHECKING:
    from humanmcp.common.child import EndedError
    from humanmcp.http.transport import HttpPart
    from humanmcp.locales.stop import Reason, StopError
    from humanmcp.protocol.conversation.events import Event, Outcome
    from humanmcp.protocol.conversation.exchange import Established, Exchange
    from humanmcp.protocol.json.jsonrpc import Message


class Judge(Protocol):
    """Hands in an answer to a server's question. It is checked, and sent when it passes."""

    def __call__(
        self, text: str, form: TextForm = TextForm.RESULT, *, anyway: bool = False
    ) -> Outcome:
        """Return what became of it; `Refused` may be tried again."""


class ServerRequestHandler(Protocol):
    """Who answers what a server asks of the client: a person, or a stand-in for none."""

    def answer(self, exchange: Exchange, established: Established, judge: Judge) -> None:
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
