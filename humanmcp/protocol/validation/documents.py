"""The documents in a text of several: where each begins and ends, and whose answer it is."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from humanmcp.protocol.diagnostics.kinds import rpc
from humanmcp.protocol.diagnostics.model import Applicability, Fix, TextEdit
from humanmcp.protocol.diagnostics.raw import shown
from humanmcp.protocol.json.jsonrpc import BRACKETS, RequestId, closed_at, member
from humanmcp.protocol.repair.reading import diagnostic, read
from humanmcp.protocol.spec.versions import features

if TYPE_CHECKING:
    from collections.abc import Sequence

    from humanmcp.protocol.conversation.exchange import Exchange
    from humanmcp.protocol.diagnostics.model import Diagnostic

_TOKEN: Final = re.compile(rf'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|(?P<torn>))|{BRACKETS}', re.DOTALL)
_BEHIND: Final = re.compile(r"(?:[ \t\r\n]*(?:[;,}\])]|//[^\n]*|#[^\n]*|/\*.*?\*/))+", re.DOTALL)
"""What people and programs put behind an answer, and what is no answer by itself."""
_MARK: Final = re.compile(r"[^\s\ufeff\x00]")


class Documents(NamedTuple):
    """The top-level JSON documents of a text.

    `texts` are the offsets of the complete ones, and `ends` where each ends with what stands behind
    it and is no part of it: a semicolon, a bracket too many, a comment. `incomplete` says that the
    last one just ends too early: it may still be being written. `broken` says that something is no
    JSON document at all.
    """

    texts: tuple[tuple[int, int], ...] = ()
    ends: tuple[int, ...] = ()
    incomplete: bool = False
    broken: bool = False


def divide(text: str) -> Documents:
    """Divide a text into its top-level documents: one after another, on one line or on several."""
    texts: list[tuple[int, int]] = []
    ends: list[int] = []
    at = 0
    while True:
        first = _MARK.search(text, at)
        if not first:
            return Documents(tuple(texts), tuple(ends))
        start = first.start()
        if text[start] not in "{[":
            return Documents(tuple(texts), tuple(ends), broken=True)
        end = closed_at(text, start, _TOKEN)
        if end < 0:
            return Documents(tuple(texts), tuple(ends), incomplete=True)
        texts.append((start, end))
        behind = _BEHIND.match(text, end)
        at = behind.end() if behind else end
        ends.append(at)


def id_of(text: str) -> RequestId | None:
    """Return the id that was typed in a whole message; None when there is none to be read."""
    reading = read(text)
    if not reading.readable or not isinstance(reading.value, dict):
        return None
    value = reading.value.get("id")
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        return None
    return RequestId(member(reading.json, "id") or str(value), value)


def unmatched(text: str, pending: Sequence[Exchange]) -> Diagnostic:
    """Return what is wrong with an answer whose id belongs to no request that waits."""
    typed = id_of(text)
    spot = _id_spot(text)
    start, end = spot or (0, 0)
    if not pending:
        if typed is None:
            return diagnostic(rpc.NoRequestWaits(), text, start, end)
        return diagnostic(rpc.NothingWaits(typed=shown(typed.token)), text, start, end)
    tokens = list(dict.fromkeys(each.id.token for each in pending))  # two may have the same id
    ids = ", ".join(shown(token) for token in tokens[:8])
    if typed is None and isinstance(read(text).value, list):
        batches = features(pending[0].revision).batches
        return diagnostic(rpc.BatchOfOne() if batches else rpc.BatchNotAllowed(), text, start, end)
    if typed is None:
        lacking = rpc.IdMissing(id=ids) if len(tokens) == 1 else rpc.IdNeeded(id=ids)
        found = diagnostic(lacking, text, start, end)
    else:
        same = [each for each in pending if str(each.id.value) == str(typed.value)]
        if same:
            wanted = same[0].id.token
            other = rpc.IdOfOtherType(typed=typed.token, id=wanted)
            return _with_fix(diagnostic(other, text, start, end), spot, wanted)
        strange = rpc.NoSuchRequest(pending=ids, typed=shown(typed.token))
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
    """Return where the id stands in the text as typed."""
    from humanmcp.protocol.diagnostics.locate import Placer, Source  # noqa: PLC0415 - here only

    reading = read(text)
    if not reading.readable or not isinstance(reading.value, dict) or "id" not in reading.value:
        return None
    spot = Placer(Source(reading.json, text)).spot(("id",))
    return (reading.as_written(spot.start), reading.as_written(spot.end)) if spot else None
