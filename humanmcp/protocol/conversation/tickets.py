"""How the client of a parked call asks for the answer: its token, and what carries it."""

from __future__ import annotations

import enum
import re
from typing import TYPE_CHECKING, Final, NamedTuple

from humanmcp.protocol.json.tree import follow
from humanmcp.protocol.tables import methods

if TYPE_CHECKING:
    from humanmcp.protocol.conversation.exchange import Exchange

RESULT_TOOL_NAME: Final = "ask_human_result"
"""The tool that a model calls with a ticket."""
_NUMBER: Final = re.compile(r"[1-9][0-9]{0,11}", re.ASCII)


class Ticket(NamedTuple):
    """The token of a parked call, which only its client knows: `SESSION.NUMBER.SECRET`.

    "Task IDs act as bearer tokens": every use compares the secret first.
    """

    session: str
    number: int
    secret: str

    def __str__(self) -> str:
        """Return the token for the client."""
        return f"{self.session}.{self.number}.{self.secret}"

    @classmethod
    def read(cls, token: object) -> Ticket | None:
        """Read a received token; None if it is not one of ours."""
        parts = token.split(".") if isinstance(token, str) else []
        if len(parts) != 3 or _NUMBER.fullmatch(parts[1]) is None:
            return None
        return cls(parts[0], int(parts[1]), parts[2])


def asked_ticket(exchange: Exchange) -> Ticket | None:
    """Return the ticket in a request; None for a request without one."""
    params = exchange.request.params
    if exchange.method in methods.REQUESTS and exchange.method.startswith("tasks/"):
        return Ticket.read(params.get("taskId"))
    if asks_with_ticket(exchange):
        return Ticket.read(follow(params, "arguments", "ticket"))
    if methods.of(exchange.method).asks_back and "requestState" in params:
        return Ticket.read(params["requestState"])
    return None


def asks_with_ticket(exchange: Exchange) -> bool:
    """Return True for a call of `ask_human_result`."""
    return exchange.method == "tools/call" and exchange.tool == RESULT_TOOL_NAME


class ParkedAs(enum.Enum):
    """How the client of a parked call gets its answer."""

    TASK = "task"
    """By `tasks/get`: the client declared tasks (2026-07-28), or asked for one (2025-11-25)."""
    TICKET = "ticket"
    """The model calls `ask_human_result` with the ticket."""
    RETRY = "retry"
    """The client retries the call with this `requestState` (2026-07-28)."""
