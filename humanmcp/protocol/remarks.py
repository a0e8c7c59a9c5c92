"""What the check has to say of what the peer sent: hints and warnings, never in anybody's way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from humanmcp.protocol.exchange import Known

if TYPE_CHECKING:
    from humanmcp.protocol.exchange import Exchange
    from humanmcp.protocol.messages import Message
    from humanmcp.protocol.problems import Problem

_NOBODY: Final = Known()


def remarks(message: Message, revision: str, known: Known = _NOBODY) -> tuple[Problem, ...]:
    """Return what there is to say of an incoming request or notification."""
    return ()


def review(exchange: Exchange, response: Message, known: Known = _NOBODY) -> tuple[Problem, ...]:
    """Return what there is to say of a real server's answer."""
    return ()
