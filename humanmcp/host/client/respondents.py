"""Who answers a server's questions when no person does."""

from __future__ import annotations

import json
import threading
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from humanmcp.protocol.diagnostics.verdict import TextForm

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from humanmcp.host.at_inbox import AskedSession
    from humanmcp.host.client.callbacks import Judge
    from humanmcp.locales.stop import Reason
    from humanmcp.protocol.conversation.exchange import Established, Exchange

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

    def answer(self, exchange: Exchange, established: Established, judge: Judge) -> None:  # noqa: ARG002 - Respondent
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

    def answer(self, exchange: Exchange, established: Established, judge: Judge) -> None:
        """Answer at the desk."""
        with self._lock:
            self._session = self._session or self._sit_down()
        self._session.answer(exchange, established, judge)

    def withdraw(self, exchange: Exchange, reason: Reason) -> None:
        """Take the question back from the desk."""
        if self._session is not None:
            self._session.withdraw(exchange, reason)

    def end(self) -> None:
        """Leave the desk."""
        if self._session is not None:
            self._session.end()
