"""Which exchange a text in `out.txt` is meant for.

A file has no address of its own, so the id that a person typed is one. The check judges the text
afterwards; here it only has to be found what it is about.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from humanmcp.protocol.conversation.exchange import NOTHING_ESTABLISHED, ExchangeState
from humanmcp.protocol.diagnostics import kinds
from humanmcp.protocol.diagnostics.model import blocking
from humanmcp.protocol.json.jsonrpc import Kind, object_in, visible
from humanmcp.protocol.repair.reading import read
from humanmcp.protocol.spec import methods
from humanmcp.protocol.validation.check import TOO_LATE, check, id_of, in_order, unmatched

if TYPE_CHECKING:
    from collections.abc import Sequence

    from humanmcp.protocol.conversation.exchange import Exchange, NegotiatedState
    from humanmcp.protocol.diagnostics.locate import RawDiagnostic
    from humanmcp.protocol.diagnostics.model import Diagnostic


PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600


def kind_of(text: str) -> Kind | None:
    """Return what a text wants to be: something said first has a method, an answer has none.

    None for what is no JSON object, or an object without any member of JSON-RPC.
    """
    body = object_in(text)
    if "method" in body and "result" not in body and "error" not in body:
        return Kind.REQUEST if "id" in body else Kind.NOTIFICATION
    if "error" in body:
        return Kind.ERROR
    return Kind.RESULT if "result" in body else None


def addressed(text: str, pending: Sequence[Exchange]) -> Exchange | None:
    """Find the pending exchange that an answer is meant for; None where it cannot be told.

    The id decides. `"3"` written for 3 is found as well: the check then says what is wrong with it.
    What has no id, be it plain text, is meant for the only exchange that waits, if there is just
    one: the check then says how to write it.
    """
    typed = id_of(text)
    if typed is not None:
        exact = (one for one in pending if one.id.key == typed.key)
        alike = (one for one in pending if str(one.id.value) == str(typed.value))
        return next(exact, None) or next(alike, None)
    return pending[0] if len(pending) == 1 else None


def is_report(text: str) -> bool:
    """Return True if a text tells the peer that a line could not be read, and so answers nothing.

    -32700 cannot be about a request that was read. -32600 can: then it has an id, or no envelope.
    """
    body = object_in(text)
    error = body.get("error")
    if not isinstance(error, dict) or body.get("id") is not None:
        return False
    code = error.get("code")
    return code == PARSE_ERROR or (code == INVALID_REQUEST and ("id" in body or "jsonrpc" in body))


def unaddressed(
    text: str,
    exchanges: Sequence[Exchange],
    notice: str = "",
    negotiated: NegotiatedState = NOTHING_ESTABLISHED,
) -> tuple[Diagnostic, ...]:
    """Return why no answer is awaited: its request is over, or there never was one.

    `exchanges` are those of the session that are remembered, oldest first. `notice` is the method
    of the last message where that is a notification: most likely it was meant to be answered.
    Where one request waits, the rest of the text is judged as the answer to that one.
    """
    broken = blocking(read(text).diagnostics)
    typed = id_of(text)
    if broken and typed is None:
        return broken
    over = [one for one in exchanges if one.state is not ExchangeState.PENDING]
    for one in reversed(over):  # ids may repeat in 2026-07-28: the last one is meant
        if typed is not None and one.id.key == typed.key:
            late = _over(one, over, text)  # the rest no longer matters
            if notice and late.code == kinds.already_answered.code:
                other = kinds.answer_to_notification(
                    method=visible(notice), id=visible(one.id.token)
                )
                late = _instead(late, other)
            return (late,)
    pending = [one for one in exchanges if one.state is ExchangeState.PENDING]
    wrong = unmatched(text, pending)
    answerable = [one for one in pending if not methods.of(one.method).stays_open]
    if len(answerable) != 1:
        return (*broken, wrong)
    rest = check(answerable[0], text, negotiated=negotiated).diagnostics
    return in_order((wrong, *(one for one in rest if one.code not in kinds.WRONG_IDS)))


def _over(last: Exchange, over: Sequence[Exchange], text: str) -> Diagnostic:
    """Say that a request can no longer be answered."""
    codes = {kind.code for kind in TOO_LATE.values()}
    late = next(each for each in check(last, text).diagnostics if each.code in codes)
    answered = (one for one in over if one.state is ExchangeState.ANSWERED)
    if last.state is ExchangeState.ABANDONED and any(one.id.key == last.id.key for one in answered):
        return _instead(late, kinds.id_already_answered(id=visible(last.id.token)))
    return late


def _instead(late: Diagnostic, other: RawDiagnostic) -> Diagnostic:
    return late._replace(code=other.code, detail=other.detail)
