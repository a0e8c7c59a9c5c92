"""Which exchange a text in `out.txt` is meant for.

A file has no address of its own, so the id that a person typed is one. The check judges the text
afterwards; here it only has to be found what it is about.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from humanmcp.protocol.drafts import check, id_of, unmatched
from humanmcp.protocol.exchange import State
from humanmcp.protocol.messages import Kind
from humanmcp.protocol.problems import blocking

if TYPE_CHECKING:
    from collections.abc import Sequence

    from humanmcp.protocol.exchange import Exchange
    from humanmcp.protocol.problems import Problem


def kind_of(text: str) -> Kind | None:
    """Say what a text wants to be: something said first has a method, an answer has none.

    None for what is no JSON object, or an object without any member of JSON-RPC.
    """
    body = _object(text)
    if body is None:
        return None
    if "method" in body and "result" not in body and "error" not in body:
        return Kind.REQUEST if "id" in body else Kind.NOTIFICATION
    if "error" in body:
        return Kind.ERROR
    return Kind.RESULT if "result" in body else None


def addressed(text: str, pending: Sequence[Exchange]) -> Exchange | None:
    """Find the pending exchange that an answer is meant for; None where it cannot be told.

    The id decides. `"3"` written for 3 is found as well: the check then says what is wrong with it.
    An answer without an id is meant for the only exchange that waits, if there is just one.
    """
    typed = id_of(text)
    if typed is not None:
        exact = (one for one in pending if one.id.key == typed.key)
        alike = (one for one in pending if str(one.id.value) == str(typed.value))
        return next(exact, None) or next(alike, None)
    body = _object(text)
    if body is not None and body.get("id") is None and len(pending) == 1:
        return pending[0]
    return None


def unaddressed(text: str, exchanges: Sequence[Exchange]) -> tuple[Problem, ...]:
    """Say why nobody waits for an answer: its request is over, or there never was one.

    `exchanges` are all of the session, oldest first.
    """
    typed = id_of(text)
    over = [one for one in exchanges if one.state is not State.PENDING]
    for one in reversed(over):  # ids may repeat in 2026-07-28: the last one is meant
        if typed is not None and one.id.key == typed.key:
            return blocking(check(one, text).problems)[:1]  # the rest no longer matters
    return (unmatched(text, [one for one in exchanges if one.state is State.PENDING]),)


def _object(text: str) -> dict[str, Any] | None:
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return body if isinstance(body, dict) else None
