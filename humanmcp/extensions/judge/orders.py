"""What people may order a server to do with its faults."""

from __future__ import annotations

import re

from humanmcp.answering.service import OrderError


class FaultsOrderError(OrderError):
    """An order about faults says nothing."""

    section = "faults"


def understand(words: str) -> None:
    """Read the words of an order.

    Raises:
        FaultsOrderError: they are none of `on`, `off`, `shown NAME LETTER`.
    """
    if not re.fullmatch("on|off|shown [a-z0-9_]{1,60} [rwen]", words):
        raise FaultsOrderError("not understood", text=words[:60])
