"""A person who is asked something by us, at a desk: the one in the model's seat, or at the host."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from humanmcp.locales.stop import Phrase
from humanmcp.protocol.conversation.events import RequestArrived, Sent
from humanmcp.protocol.conversation.transcript import Direction
from humanmcp.protocol.diagnostics.verdict import TextForm
from humanmcp.protocol.session import Session, SessionRole
from humanmcp.protocol.spec import versions

if TYPE_CHECKING:
    from collections.abc import Mapping

    from humanmcp.host.at_inbox import AskedSession
    from humanmcp.protocol.conversation.events import Outcome
    from humanmcp.protocol.conversation.exchange import Established


class PersonAsked:
    """A person who is asked by us, not by a server: the host is the peer of their session.

    What is asked is a request of MCP all the same (`sampling/createMessage` of a model's seat,
    `elicitation/create` of a host's), in a revision that has it. So the ordinary check judges the
    answers, and the ordinary pages show them.
    """

    def __init__(self, session: AskedSession, established: Established) -> None:
        """Ask at this session of the inbox. `established` is what the check may rely on."""
        self.desk = session
        self.session = Session(SessionRole.CLIENT)
        self.session.state.negotiated = versions.R2025_11
        self.session.established = established
        self.asked = 0

    def ask(self, method: str, params: Mapping[str, Any]) -> str | None:
        """Ask, and wait for as long as it takes. Returns the line of the answer, None for none."""
        self.asked += 1
        question = {"jsonrpc": "2.0", "id": self.asked, "method": method, "params": params}
        line = json.dumps(question, ensure_ascii=False).encode("utf-8", "surrogatepass")
        self.desk.record(Direction.IN, line)
        (event,) = self.session.receive(line)
        assert isinstance(event, RequestArrived)  # noqa: S101 - it is the request made above
        exchange = event.exchange
        found: list[str] = []

        def judge(text: str, form: TextForm = TextForm.RESULT, *, anyway: bool = False) -> Outcome:
            outcome = self.session.reply(exchange.number, text, form, anyway=anyway)
            if isinstance(outcome, Sent):
                self.desk.record(Direction.OUT, outcome.own.encode("utf-8", "replace"), by="person")
                found.append(outcome.own)
            return outcome

        try:
            self.desk.answer(exchange, self.session.established, judge)
        except BaseException:
            self.desk.withdraw(exchange, Phrase("host", "was interrupted"))
            raise
        return found[0] if found else None

    def end(self) -> None:
        """Ask no more: the session ends."""
        self.desk.end()
