"""What people order a server to do, to test what its client does with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from humanmcp.inbox.contract import Order
from humanmcp.server.moments import Capability

if TYPE_CHECKING:
    from humanmcp.inbox.contract import Reply
    from humanmcp.server.moments import Way


class Orders(Capability):
    """Follows the orders that belong to no other capability."""

    def __init__(self, way: Way) -> None:
        self._way = way

    def order(self, reply: Reply) -> None:
        match reply.order:
            case Order.EXIT:
                is_number = reply.text.isascii() and reply.text.isdigit()
                self._way.end(int(reply.text) % 256 if is_number else 0)
            case Order.HTTP:
                self._carry_wrongly(reply.text)
            case _:
                pass

    def _carry_wrongly(self, text: str) -> None:
        from humanmcp.protocol.http.http_faults import TAKEN_BACK, HttpFault  # noqa: PLC0415 - seldom

        fault = HttpFault.read(text)
        if fault is not None or text == TAKEN_BACK:
            self._way.journal.connection.carry_wrongly(fault)
