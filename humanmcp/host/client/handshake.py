"""How a client opens a session, who it says it is, what it gets, and what can go wrong."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from humanmcp.locales.stop import StopError
from humanmcp.protocol.json.jsonrpc import Kind, Message
from humanmcp.protocol.json.tree import objects_at

if TYPE_CHECKING:
    from collections.abc import Mapping

    from humanmcp.protocol.diagnostics.model import Diagnostic


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

    request: Message
    message: Message
    diagnostics: tuple[Diagnostic, ...] = ()

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


def entries_of(page: Response, member: str) -> list[dict[str, Any]]:
    """Return the entries of one page of a list, as far as they are objects."""
    return objects_at(page.result, member)


class NoAnswerError(StopError):
    """The server did not answer in time."""

    room = "trouble"

    def __init__(self, method: str, seconds: float, *, is_longest: bool = False) -> None:
        """Remember what was asked and for how long it was waited, at most or since progress."""
        code = "no answer at last" if is_longest else "no answer"
        if method == "initialize":
            # "The initialize request MUST NOT be cancelled by clients": then nobody was told.
            code = "no answer to initialize"
        super().__init__(code, method=method, seconds=f"{seconds:g}")


class NotOfferedError(StopError):
    """The server did not declare what a request needs. Nothing was sent."""

    room = "trouble"

    def __init__(self, method: str, capability: str) -> None:
        super().__init__("not offered", method=method, capability=capability)


class OpeningError(StopError):
    """A session could not be opened."""

    room = "trouble"
