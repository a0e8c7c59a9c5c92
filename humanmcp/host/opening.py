"""How a client opens a session, who it says it is, what it gets, and what can go wrong."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from humanmcp.protocol.messages import Kind, Message

if TYPE_CHECKING:
    from collections.abc import Mapping

    from humanmcp.protocol.problems import Problem


class Opening(enum.Enum):
    """How a session is opened."""

    HANDSHAKE = "handshake"
    """`initialize`, then `notifications/initialized` (2024-11-05 to 2025-11-25)."""
    MODERN = "modern"
    """`server/discover`; every request carries its revision (2026-07-28)."""
    PROBE = "probe"
    """Ask `server/discover` first and fall back to the handshake, as today's SDKs do."""


def _all_that_a_person_can_do() -> Mapping[str, Any]:
    return {"roots": {"listChanged": True}, "sampling": {}, "elicitation": {}}


@dataclass(frozen=True, slots=True)
class Identity:
    """Who the client says it is, and what a server may ask of it."""

    name: str = "example-client"
    version: str = "1.0.0"
    capabilities: Mapping[str, Any] = field(default_factory=_all_that_a_person_can_do)

    @property
    def info(self) -> dict[str, str]:
        """The `clientInfo` of the wire."""
        return {"name": self.name, "version": self.version}


@dataclass(frozen=True, slots=True)
class Response:
    """The answer to one request, and what the check says of it."""

    asked: Message
    message: Message
    problems: tuple[Problem, ...] = ()

    @property
    def result(self) -> dict[str, Any] | None:
        """The result; None when the answer is an error, or no object."""
        result = self.message.body.get("result")
        return result if self.message.kind is Kind.RESULT and isinstance(result, dict) else None

    @property
    def error(self) -> tuple[int | None, str] | None:
        """The error's code and message, as far as they can be read; None for a result."""
        if self.message.kind is not Kind.ERROR:
            return None
        error = self.message.body["error"]
        if not isinstance(error, dict):
            return None, str(error)
        code = error.get("code")
        return code if isinstance(code, int) else None, str(error.get("message", ""))


class NoAnswerError(Exception):
    """The server did not answer in time."""

    def __init__(self, method: str, seconds: float) -> None:
        """Remember what was asked and for how long it was waited."""
        super().__init__(method, seconds)
        self.method = method
        self.seconds = seconds

    def __str__(self) -> str:
        """Say what happened and what was done about it."""
        return f"no answer to {self.method} within {self.seconds:g} s; the server was told so"


class NotOfferedError(Exception):
    """The server did not declare what a request needs. Nothing was sent."""

    def __init__(self, method: str, capability: str) -> None:
        """Remember what was asked and what it needs."""
        super().__init__(method, capability)
        self.method = method
        self.capability = capability

    def __str__(self) -> str:
        """Name the capability."""
        return (
            f"{self.method} was not sent: the server did not declare "
            f'"{self.capability}" in its capabilities'
        )


class OpeningError(Exception):
    """A session could not be opened."""

    def __init__(self, why: str) -> None:
        """Remember why."""
        super().__init__(why)
        self.why = why

    def __str__(self) -> str:
        """Say why."""
        return f"the session could not be opened: {self.why}"
