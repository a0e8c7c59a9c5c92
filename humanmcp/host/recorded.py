"""A client's session, line by line, in the transcript of its session in the inbox."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from humanmcp.host.client.callbacks import ClientObserver
from humanmcp.protocol.conversation.exchange import ResponseArrived
from humanmcp.protocol.conversation.transcript import HTTP, Direction
from humanmcp.protocol.http.client import as_json

if TYPE_CHECKING:
    from humanmcp.common.child import EndedError
    from humanmcp.host.at_inbox import AskedSession
    from humanmcp.host.client.callbacks import MisdirectedResponse
    from humanmcp.host.client.client import Client
    from humanmcp.http.transport import HttpPart
    from humanmcp.locales.stop import StopError
    from humanmcp.protocol.conversation.exchange import Event


logger = logging.getLogger(__name__)


class SessionRecorder(ClientObserver):
    """Writes every line of a client's session into the inbox, for the desks to show.

    As in every transcript, `in` is what comes from the client: here, what we say ourselves.
    """

    def __init__(self, session: AskedSession, observer: ClientObserver) -> None:
        self.session = session
        self.observer = observer
        self.client: Client | None = None

    def of(self, client: Client) -> None:
        """Let the desk speak first through this client, and know what the client knows."""
        self.client = client
        self.session.submit = lambda text, anyway: client.submit(text, anyway=anyway)[0]
        self._describe(client)

    def _describe(self, client: Client) -> None:
        session = client.session
        self.session.describe(client.stated or session.version, session.negotiated)

    def line_sent(self, line: str) -> None:
        """Record a line of ours."""
        self.session.record(Direction.IN, line.encode("utf-8", "surrogatepass"))
        self.observer.line_sent(line)

    def line_arrived(self, line: bytes) -> None:
        """Record a line of the server's."""
        self.session.record(Direction.OUT, line)
        self.observer.line_arrived(line)

    def stderr_line(self, line: bytes) -> None:
        """Record a line of the server's stderr."""
        self.session.record(Direction.ERR, line)
        self.observer.stderr_line(line)

    def http_passed(self, number: int, what: HttpPart) -> None:
        """Record what HTTP says beside the lines; it holds no keys."""
        self.session.record(Direction.NOTE, as_json(number, what).encode(), note=HTTP)
        self.observer.http_passed(number, what)

    def not_taken(self, error: StopError) -> None:
        """Pass it on."""
        self.observer.not_taken(error)

    def happened(self, event: Event) -> None:
        """Tell the desks what has been negotiated, and pass it on."""
        if self.client is not None and isinstance(event, ResponseArrived):
            self._describe(self.client)
        self.observer.happened(event)

    def answer_went_astray(self, response: MisdirectedResponse) -> None:
        """Pass it on: the page finds that out by itself."""
        self.observer.answer_went_astray(response)

    def server_ended(self, error: EndedError) -> None:
        """Record that the server is gone."""
        self.session.record(Direction.NOTE, b"", note=error.sentence())
        self.observer.server_ended(error)
