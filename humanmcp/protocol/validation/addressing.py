"""Find the answers in the text of `out.txt`, and the exchange that each is meant for.

A file has no address, so the typed id identifies the request. Here the text is only assigned; the
check judges it afterwards.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from humanmcp.protocol.conversation.exchange import NOTHING_ESTABLISHED
from humanmcp.protocol.conversation.stages import ExchangeState
from humanmcp.protocol.diagnostics import kinds
from humanmcp.protocol.diagnostics.locate import Placer, Source
from humanmcp.protocol.diagnostics.model import Applicability, Fix, TextEdit, blocking
from humanmcp.protocol.diagnostics.problem import shown
from humanmcp.protocol.json.jsonrpc import (
    Kind,
    RequestId,
    carries_answer,
    closed_at,
    kind_of_answer,
    member,
    object_in,
)
from humanmcp.protocol.json.visible import visible
from humanmcp.protocol.repair.reading import diagnostic, read_json
from humanmcp.protocol.tables import methods
from humanmcp.protocol.tables.versions import features
from humanmcp.protocol.validation.check import TOO_LATE, check, in_order

if TYPE_CHECKING:
    from collections.abc import Sequence

    from humanmcp.protocol.conversation.exchange import Exchange, NegotiatedState
    from humanmcp.protocol.diagnostics.model import Diagnostic
    from humanmcp.protocol.diagnostics.problem import RawDiagnostic

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600


def kind_typed(text: str) -> Kind | None:
    """Return the intended kind of a text: outgoing messages have a method, answers have none.

    None if it is not a JSON object, or has no member of JSON-RPC.
    """
    body = object_in(text)
    if "method" in body and not carries_answer(body):
        return Kind.REQUEST if "id" in body else Kind.NOTIFICATION
    return kind_of_answer(body)


def addressed(text: str, pending: Sequence[Exchange]) -> Exchange | None:
    """Find the pending exchange that an answer is meant for; None if it is not clear.

    The id decides. `"3"` also finds 3; the check then reports the type. A text without an id, even
    plain text, is meant for the only pending exchange, if there is just one. The check then reports
    how to write it.
    """
    typed = id_of(text)
    if typed is not None:
        exact = (one for one in pending if one.id.key == typed.key)
        alike = (one for one in pending if str(one.id.value) == str(typed.value))
        return next(exact, None) or next(alike, None)
    return pending[0] if len(pending) == 1 else None


def is_report(text: str) -> bool:
    """Return True if a text reports an unreadable line to the peer, so that it answers nothing.

    -32700 is never about a request that was read. -32600 can be: then it has an id, or no envelope.
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
    """Return why an answer fits no pending request: its request is over or unknown.

    `exchanges` are the kept ones of the session, oldest first. `notice` is the method of the last
    message if it is a notification: probably it was meant to be answered. If exactly one request is
    pending, the rest of the text is checked as the answer to it.
    """
    errors = blocking(read_json(text).diagnostics)
    typed = id_of(text)
    if errors and typed is None:
        return errors
    over = [one for one in exchanges if one.state is not ExchangeState.PENDING]
    pending = [one for one in exchanges if one.state is ExchangeState.PENDING]
    for one in reversed(over):  # ids may repeat in 2026-07-28: take the last one
        if typed is not None and one.id.key == typed.key:
            late = _over(one, over, text)  # the rest no longer matters
            if pending:  # what waits is what its person wants to know
                return late, unmatched(text, pending)
            if notice and late.code == kinds.already_answered.code:
                other = kinds.answer_to_notification(
                    method=visible(notice), id=visible(one.id.token)
                )
                late = _instead(late, other)
            return (late,)
    wrong = unmatched(text, pending)
    answerable = [one for one in pending if not methods.of(one.method).stays_open]
    if len(answerable) != 1:
        return (*errors, wrong)
    rest = check(answerable[0], text, negotiated=negotiated).diagnostics
    return in_order((wrong, *(one for one in rest if one.code not in kinds.WRONG_IDS)))


def _over(last: Exchange, over: Sequence[Exchange], text: str) -> Diagnostic:
    """Return the problem of a request that can no longer be answered."""
    codes = {kind.code for kind in TOO_LATE.values()}
    late = next(each for each in check(last, text).diagnostics if each.code in codes)
    answered = (one for one in over if one.state is ExchangeState.ANSWERED)
    if last.state is ExchangeState.ABANDONED and any(one.id.key == last.id.key for one in answered):
        return _instead(late, kinds.id_already_answered(id=visible(last.id.token)))
    return late


def _instead(late: Diagnostic, other: RawDiagnostic) -> Diagnostic:
    return late._replace(code=other.code, detail=other.detail)


# -- the documents of a text, and their ids ------------------------------------------------------

_BEHIND: Final = re.compile(r"(?:[ \t\r\n]*(?:[;,}\])]|//[^\n]*|#[^\n]*|/\*.*?\*/))+", re.DOTALL)
"""What people and programs write after an answer, and what is not itself an answer."""
_MARK: Final = re.compile(r"[^\s\ufeff\x00]")


class Documents(NamedTuple):
    """The top-level JSON documents of a text.

    `texts` are the offsets of the complete ones, and `ends` the offsets after the characters that
    follow each and do not count: a semicolon, an extra bracket, a comment. `incomplete`: the last
    one just ends too early, so a person may still be writing it. `malformed`: some of the text is
    not a JSON document.
    """

    texts: tuple[tuple[int, int], ...] = ()
    ends: tuple[int, ...] = ()
    incomplete: bool = False
    malformed: bool = False


def divide(text: str) -> Documents:
    """Divide a text into its top-level documents, on one line or on several."""
    texts: list[tuple[int, int]] = []
    ends: list[int] = []
    at = 0
    while True:
        first = _MARK.search(text, at)
        if not first:
            return Documents(tuple(texts), tuple(ends))
        start = first.start()
        if text[start] not in "{[":
            return Documents(tuple(texts), tuple(ends), malformed=True)
        end = closed_at(text, start)
        if end < 0:
            return Documents(tuple(texts), tuple(ends), incomplete=True)
        texts.append((start, end))
        behind = _BEHIND.match(text, end)
        at = behind.end() if behind else end
        ends.append(at)


def id_of(text: str) -> RequestId | None:
    """Return the id in a whole message; None if there is no readable id."""
    reading = read_json(text)
    if not reading.readable or not isinstance(reading.value, dict):
        return None
    value = reading.value.get("id")
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        return None
    return RequestId(member(reading.json, "id") or str(value), value)


def unmatched(text: str, pending: Sequence[Exchange]) -> Diagnostic:
    """Return the problem of an answer whose id belongs to no pending request."""
    typed = id_of(text)
    spot = _id_spot(text)
    start, end = spot or (0, 0)
    if not pending:
        if typed is None:
            return diagnostic(kinds.no_request_waits(), text, start, end)
        return diagnostic(kinds.nothing_waits_for_id(typed=shown(typed.token)), text, start, end)
    tokens = list(dict.fromkeys(each.id.token for each in pending))  # two may have the same id
    ids = ", ".join(shown(token) for token in tokens[:8])
    if typed is None and isinstance(read_json(text).value, list):
        batches = features(pending[0].version).batches
        return diagnostic(
            kinds.batch_of_one() if batches else kinds.batch_not_allowed(), text, start, end
        )
    if typed is None:
        lacking = (
            kinds.missing_id(id=ids) if len(tokens) == 1 else kinds.several_requests_wait(id=ids)
        )
        found = diagnostic(lacking, text, start, end)
    else:
        same = [each for each in pending if str(each.id.value) == str(typed.value)]
        if same:
            wanted = same[0].id.token
            other = kinds.wrong_id_type(typed=typed.token, id=wanted)
            return _with_fix(diagnostic(other, text, start, end), spot, wanted)
        strange = kinds.unknown_request_id(pending=ids, typed=shown(typed.token))
        found = diagnostic(strange, text, start, end)
    return _with_fix(found, spot, tokens[0]) if len(tokens) == 1 else found


def _with_fix(diagnostic: Diagnostic, spot: tuple[int, int] | None, token: str) -> Diagnostic:
    if spot is None:
        return diagnostic
    applicability = Applicability.SAFE if diagnostic.code == "R04" else Applicability.GUESS
    return diagnostic._replace(
        fix=Fix((TextEdit(spot[0], spot[1], token),), "replace", applicability)
    )


def _id_spot(text: str) -> tuple[int, int] | None:
    reading = read_json(text)
    if not reading.readable or not isinstance(reading.value, dict) or "id" not in reading.value:
        return None
    spot = Placer(Source(reading.json, text)).spot(("id",))
    return (reading.as_written(spot.start), reading.as_written(spot.end)) if spot else None
