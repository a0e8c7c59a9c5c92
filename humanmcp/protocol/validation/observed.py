"""What the check says of a message that passed between a real client and a real server.

Both directions, for the person who debugs one of them. Nothing is blocked by it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from humanmcp.protocol.conversation.transcript import Direction
from humanmcp.protocol.diagnostics.kinds import rpc
from humanmcp.protocol.diagnostics.model import Severity, unreadable
from humanmcp.protocol.diagnostics.raw import KINDS
from humanmcp.protocol.json.jsonrpc import Batch, Flaw, Kind, Malformed
from humanmcp.protocol.spec import methods, versions
from humanmcp.protocol.spec.versions import features
from humanmcp.protocol.validation import check
from humanmcp.protocol.validation.outgoing import gates

if TYPE_CHECKING:
    from humanmcp.protocol.conversation.exchange import Established
    from humanmcp.protocol.conversation.state import ObservedMessage
    from humanmcp.protocol.diagnostics.model import Diagnostic
    from humanmcp.protocol.json.jsonrpc import Message


DROPPED: Final = frozenset({"R01", "R05", "R12", "N11", Flaw.NOT_JSON, Flaw.NOT_UTF8})
"""What makes the official clients drop an answer, and go on waiting for it."""

_BOM: Final = b"\xef\xbb\xbf"


def line_hints(
    raw: bytes, found: Message | Batch | Malformed, revision: str, *, strict: bool = False
) -> tuple[Diagnostic, ...]:
    """Return what there is to say of a line as a line, whatever its messages say."""
    said = []
    if raw.startswith(_BOM):
        said.append(rpc.MarkBeforeLine().unplaced())
    if isinstance(found, Batch) and not features(revision).batches:
        severity = Severity.ERROR if strict else Severity.WARNING
        said.append(rpc.BatchNotAllowed().without_fix(severity).unplaced())
    return tuple(said)


def hints(
    heard: ObservedMessage | Malformed,
    established: Established,
    revision: str,
    *,
    strict: bool = False,
) -> tuple[Diagnostic, ...]:
    """Return what there is to say of a message, the worst first; nothing when all is well.

    `strict` calls an error one also in what the peer sent.
    """
    if isinstance(heard, Malformed):
        return (unreadable(heard),)
    found = _found(heard, established, revision or versions.LATEST_HANDSHAKE, strict=strict)
    return tuple(sorted(found, key=lambda diagnostic: _ORDER.index(diagnostic.severity)))


def _judged_for(observed: ObservedMessage, established: Established) -> tuple[Diagnostic, ...]:
    """Return what else is wrong with an answer to nothing, as one to the request that waits."""
    if observed.likely is None:
        return ()
    found = check.review(observed.likely.exchange, observed.message, established)
    return tuple(each for each in found if not issubclass(KINDS[each.code], rpc.WrongId))


_ORDER = (Severity.ERROR, Severity.WARNING, Severity.HINT, Severity.REPAIRED)


def _found(
    observed: ObservedMessage, established: Established, revision: str, *, strict: bool
) -> tuple[Diagnostic, ...]:
    message = observed.message
    if message.kind.is_answer:
        if observed.request is None:
            return (rpc.AnswerToNothing(("id",)).unplaced(), *_judged_for(observed, established))
        return check.review(observed.request.exchange, message, established, strict=strict)
    if observed.direction is Direction.IN:
        request = observed.request if message.kind is Kind.REQUEST else None
        stated = request.revision if request else revision
        return check.remarks(message, stated, established, observed.found, strict=strict)
    method = message.method
    record = methods.named(method, is_request=message.kind is Kind.REQUEST)
    if revision not in record.to_client:
        return (rpc.NotOfServers(("method",), method=method, revision=revision).unplaced(),)
    also = (*observed.found, *gates(message, revision, established))
    return check.from_server(message, revision, also, strict=strict)
