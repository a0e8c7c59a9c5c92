"""What the check says of a message that passed between a real client and a real server.

Both directions, for the person who debugs one of them. Nobody is kept from anything by it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from humanmcp.protocol import drafts, revisions
from humanmcp.protocol.messages import Batch, Kind, Malformed
from humanmcp.protocol.problems import Level, Problem
from humanmcp.protocol.sayings import gates
from humanmcp.protocol.transcript import Way

if TYPE_CHECKING:
    from humanmcp.protocol.correlate import Heard
    from humanmcp.protocol.exchange import Known
    from humanmcp.protocol.messages import Message


DROPPED: Final = frozenset({"R01", "R05", "R12", "N11", "N01", "N02"})
"""What makes the official clients drop an answer, and go on waiting for it."""

_BOM: Final = b"\xef\xbb\xbf"


def line_hints(
    raw: bytes, found: Message | Batch | Malformed, revision: str, *, strict: bool = False
) -> tuple[Problem, ...]:
    """Return what there is to say of a line as a line, whatever its messages say."""
    said = []
    if raw.startswith(_BOM):
        said.append(Problem("N11", Level.WARNING))
    if isinstance(found, Batch) and revision != revisions.R2025_03:
        said.append(Problem("R12", Level.ERROR if strict else Level.WARNING))
    return tuple(said)


def hints(
    heard: Heard | Malformed, known: Known, revision: str, *, strict: bool = False
) -> tuple[Problem, ...]:
    """Return what there is to say of a message, the worst first; nothing when all is well.

    `strict` calls an error one also in what somebody else sent.
    """
    if isinstance(heard, Malformed):
        return (Problem(heard.why, Level.ERROR, heard.detail),)
    found = _found(heard, known, revision or revisions.LATEST_HANDSHAKE, strict=strict)
    return tuple(sorted(found, key=lambda problem: _ORDER.index(problem.level)))


_ORDER = (Level.ERROR, Level.WARNING, Level.HINT, Level.REPAIRED)


def _found(heard: Heard, known: Known, revision: str, *, strict: bool) -> tuple[Problem, ...]:
    message = heard.message
    if message.kind in (Kind.RESULT, Kind.ERROR):
        if heard.asked is None:
            return (Problem("N30", Level.WARNING, pointer="/id"),)
        return drafts.review(heard.asked.exchange, message, known, strict=strict)
    if heard.way is Way.IN:
        asked = heard.asked if message.kind is Kind.REQUEST else None
        stated = asked.revision if asked else revision
        return drafts.remarks(message, stated, known, heard.found, strict=strict)
    way, method = revisions.Way.TO_CLIENT, message.method
    has = revisions.has_request if message.kind is Kind.REQUEST else revisions.has_notification
    if not has(method, revision, way):
        return (
            Problem("N31", Level.WARNING, (("method", method), ("revision", revision)), "/method"),
        )
    also = (*heard.found, *gates(message, revision, known))
    return drafts.from_server(message, revision, also, strict=strict)
