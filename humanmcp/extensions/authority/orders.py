"""What people may order an authority to do."""

from __future__ import annotations

from humanmcp.answering.service import OrderError
from humanmcp.extensions.authority.mistakes import next_of
from humanmcp.extensions.authority.steps import Step

ORDER = "oauth"
ACTS = ("refuse", "expire", "more scope", "forget")
"""Refuse the next token, let all end now, ask for more scope, forget what was ordered before."""


class AuthorityOrderError(OrderError):
    """An order to an authority says nothing."""

    section = "oauth"


def understand(words: str) -> None:
    """Read the words of an order.

    Raises:
        AuthorityOrderError: they are none of `refuse`, `expire`, `more scope`, `forget`,
            `mistake ID`, `hand STEP`, `rule STEP`.
    """
    first, _, rest = words.partition(" ")
    is_mistake = first == "mistake" and next_of(rest) is not None
    is_step = first in ("hand", "rule") and rest in {*Step} - {Step.AUTHORIZE}
    if not (words in ACTS or is_mistake or is_step):
        raise AuthorityOrderError("not understood", text=words[:60])
