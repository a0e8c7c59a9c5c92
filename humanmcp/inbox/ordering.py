"""Hand in an order: what a person asks of the process that speaks to the client, for testing it.

Whether it can be followed is looked at here, before it is handed in: the process only follows.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from humanmcp.inbox.contract import Life, Order
from humanmcp.locales.stop import StopError

if TYPE_CHECKING:
    from humanmcp.inbox.contract import DeskInbox, Reply
    from humanmcp.protocol.rules.rule import DefinitionChange

_HIGHEST: Final = 255


class OrderError(StopError):
    """This order cannot be followed."""

    room = "order_error"


def hand_in(inbox: DeskInbox, session: str, reply: Reply) -> str:
    """Submit an outgoing message or an order. Return the ticket.

    Raises:
        OrderError: it cannot be followed; the sentence says why.
        InboxError: there is no such session, or the disk does not take it.
    """
    if reply.order is not Order.SAY:
        facts = inbox.facts(session)
        if not facts.role.traits.serves:
            raise OrderError("role")
        if facts.life is not Life.OPEN:
            raise OrderError("over")
        code = not_understood(reply.order, reply.text)
        if reply.order is Order.HTTP and not facts.http_at:
            code = "no http"
        if code:
            raise OrderError(code, text=reply.text[:60])
    return inbox.submit(session, reply)


def not_understood(order: Order, text: str) -> str:
    """Return the code of why an order with this text cannot be followed; "" when it is clear."""
    code, is_understood = "", True
    match order:
        case Order.RAW:
            code, is_understood = "base64", _is_base64(text)
        case Order.PROGRESS | Order.SILENCE:
            code, is_understood = "switch", text in ("on", "off")
        case Order.DEFINITION:
            code, is_understood = "definition", definition_change(text) is not None
        case Order.HTTP:
            from humanmcp.protocol.http.outbound import TAKEN_BACK, HttpFault  # noqa: PLC0415 - seldom

            code = "http fault"
            is_understood = text == TAKEN_BACK or HttpFault.read(text) is not None
        case Order.PARK:
            code, is_understood = "park", re.fullmatch(r"[0-9]{1,12}", text) is not None
        case Order.STATUS:
            code = "parked status"
            is_understood = re.fullmatch(r"[0-9]{1,12} .*\S.*", text, re.DOTALL) is not None
        case Order.EXIT:
            is_number = text.isascii() and text.isdigit()
            code, is_understood = "status", is_number and int(text) <= _HIGHEST
        case _:
            pass
    return "" if is_understood else code


def definition_change(text: str) -> DefinitionChange | None:
    """Return how an order changes the server definition, or None if its text is no change."""
    import json  # noqa: PLC0415 - seldom wanted

    from humanmcp.protocol.rules.book_format import (  # noqa: PLC0415 - likewise
        BookError,
        read_change,
    )

    try:
        given = json.loads(text)
        return read_change(given, "definition") if isinstance(given, dict) else None
    except (ValueError, BookError):
        return None


def _is_base64(text: str) -> bool:
    import binascii  # noqa: PLC0415 - seldom wanted

    try:
        return bool(binascii.a2b_base64(text, strict_mode=True))
    except ValueError:
        return False
