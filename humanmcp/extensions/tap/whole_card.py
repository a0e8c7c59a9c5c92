"""All of a held message on one card, for the page and the command that release several."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from humanmcp.answering.approvals import ApprovalCard, CardLine, CardPart, card_of
from humanmcp.protocol.json.tree import pretty
from humanmcp.protocol.json.visible import visible_code

if TYPE_CHECKING:
    from humanmcp.answering.open_exchange import OpenExchange

_LONGEST_LISTED: Final = 20_000
"""Characters of a message that is shown in a list: escapes may be six times as long as a text."""


def whole_card(opened: OpenExchange) -> ApprovalCard | None:
    """Return all of a held message, for a list of several; None where it is too long for one."""
    line = opened.item.line
    if len(line) > _LONGEST_LISTED:
        return None
    if opened.approval is not None:
        card = card_of(opened.approval)
    else:
        lines = (line if opened.item.held.unread else pretty(line)).split("\n")
        whole = CardPart("", "code", tuple(CardLine(visible_code(one)) for one in lines))
        card = ApprovalCard("other", (whole,))
    return None if card.is_long else card
