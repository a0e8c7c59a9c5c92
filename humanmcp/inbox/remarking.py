"""What the check says of a request that waits: beside it, never in the way."""

from __future__ import annotations

from typing import TYPE_CHECKING

from humanmcp.inbox.decoded import read_line
from humanmcp.protocol.conversation.exchange import ExchangeState
from humanmcp.protocol.json.jsonrpc import Message
from humanmcp.protocol.validation import check

if TYPE_CHECKING:
    from humanmcp.inbox.contract import DeskInbox, Item
    from humanmcp.protocol.diagnostics.model import Diagnostic


def remarks_on(inbox: DeskInbox, item: Item) -> tuple[Diagnostic, ...]:
    """Return the hints and warnings about a request; none for a line that is no message."""
    request = read_line(item.line)
    if not isinstance(request, Message):
        return ()
    remarks = check.remarks(request, item.revision, inbox.known(item.key.session))
    if has_twin(inbox, item):
        return (*remarks, check.same_id(request, item.revision))
    return remarks


def has_twin(inbox: DeskInbox, item: Item) -> bool:
    """Say whether another request waits under the same id: only one can be answered."""
    return item.state is ExchangeState.PENDING and any(
        other.id == item.id and other.key != item.key for other in inbox.items(item.key.session)
    )
