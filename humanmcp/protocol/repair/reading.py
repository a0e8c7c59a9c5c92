"""Read what a person typed as JSON: the value, or the problems with their places.

A valid text costs one pass of the standard library's parser. A doubtful text (it does not parse, a
name occurs twice, half a surrogate pair) goes to `parser.py`, which finds its mistakes and fixes
those with only one meaning. The check then continues with the fixed text; places refer to the text
as typed.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from typing import TYPE_CHECKING, Final, NamedTuple

from humanmcp.protocol.diagnostics import kinds
from humanmcp.protocol.diagnostics.locate import Placer, Source
from humanmcp.protocol.diagnostics.model import (
    Applicability,
    Fix,
    LineIndex,
    TextEdit,
    applied,
    line_and_column,
)
from humanmcp.protocol.json.encodings import as_cp932, half_characters, utf16_of
from humanmcp.protocol.json.jsonrpc import AmbiguousError, decode_once, deeper_than, size_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from humanmcp.protocol.diagnostics.model import Diagnostic
    from humanmcp.protocol.diagnostics.problem import Path, RawDiagnostic
    from humanmcp.protocol.json.jsonrpc import Json
    from humanmcp.protocol.repair.scanner import JsonMistake

DEEPEST: Final = 100
"""The maximum depth of brackets in a sent message; common parsers stop at about 200."""
LONGEST: Final = 10 * 1024 * 1024
"""The maximum size of a sent message in bytes: the TypeScript SDK disconnects above 10 MiB."""
LONG: Final = 1_000_000
"""The size in bytes from which the check warns."""

_BEGINS: Final = re.compile(r"""\s*[{\[｛［【「『"'`“”‘’＂＇«»]""")  # noqa: RUF001 - what JSON may begin with when it is typed
_OTHERWISE: Final = re.compile(
    r"""\s*(?:["']?[\[{]\s*(?:\\+"|&(?:quot|#34);)|\[[^\]\n"{]*\]\s*\S)"""
)
"""JSON that was escaped for another text, or a line of a log with other brackets."""
_BOM: Final = "\ufeff"
_FENCE: Final = re.compile(r"\s*```[A-Za-z0-9]*[ \t]*\r?\n(.*?)\r?\n?[ \t]*```\s*", re.DOTALL)
_SURROGATE_ESCAPE: Final = re.compile(r"\\u[dD][89a-fA-F]")


class Reading(NamedTuple):
    """The result of reading a text. `value` and `json` are only valid if `readable`.

    `edits` turn `text` into `json`, which is valid JSON; () if `text` is valid. `size` is the size
    on the wire, in bytes.
    """

    text: str
    json: str
    value: Json = None
    readable: bool = True
    diagnostics: tuple[Diagnostic, ...] = ()
    edits: tuple[TextEdit, ...] = ()
    size: int = 0

    def as_written(self, at: int) -> int:
        """Return the offset in the text as typed of an offset in the fixed text."""
        return as_typed(self.edits)(at)

    def placed(
        self, found: Iterable[RawDiagnostic], page: str, root: Path = ()
    ) -> list[Diagnostic]:
        """Return problems with their places in the text, which is the value at `root`."""
        typed = as_typed(self.edits) if self.edits else None
        return Placer(Source(self.json, self.text, root, typed, page)).diagnostics(found)


def as_typed(edits: tuple[TextEdit, ...]) -> Callable[[int], int]:
    """Return a function that converts offsets of a fixed text into those of the text as typed."""
    starts: list[int] = []
    grown = 0
    for start, end, new in edits:
        starts.append(start + grown)
        grown += len(new) - (end - start)

    def as_written(at: int) -> int:
        place = bisect_right(starts, at) - 1
        if place < 0:
            return at
        begin, end, new = edits[place]
        inside = at - starts[place]
        return end + inside - len(new) if inside >= len(new) else min(begin + inside, end)

    return as_written


def strict(text: str) -> Json:
    """Decode a text that is valid JSON without a name that appears twice.

    Raises:
        ValueError: it is not.
        RecursionError: it nests too deeply; check `deeper_than` before.
    """
    if _SURROGATE_ESCAPE.search(text) and half_characters(text):
        raise AmbiguousError("half")
    return decode_once(text)


_DOUBTS: Final = frozenset(
    one.code
    for one in (
        kinds.duplicate_name,
        kinds.unsupported_number,
        kinds.number_out_of_range,
        kinds.lone_surrogate,
    )
)


def json_doubts(text: str) -> tuple[Diagnostic, ...]:
    """Return what parsers disagree on in a text that some of them read; () for plain JSON."""
    try:
        strict(text)
    except (ValueError, RecursionError):
        found = read_json(text).diagnostics
        return tuple(one for one in found if one.code in _DOUBTS) or found
    return ()


def read_json(text: str) -> Reading:
    size = size_of(text)
    if size > LONGEST:
        found = diagnostic(kinds.answer_too_large(size=f"{size / 1048576:.1f}"), text)
        return _unreadable(text, size, found)
    deep = deeper_than(text, DEEPEST)
    if size >= 0 and not deep:
        try:
            value = strict(text)
        except ValueError:
            pass
        else:
            notes = _notes(text, size)
            return Reading(text, text, value, diagnostics=notes, size=size)
    return _read_doubtful(text, size, deep=deep)


def _notes(text: str, size: int) -> tuple[Diagnostic, ...]:
    """Return notes on automatic changes, and on sizes that some clients do not accept."""
    notes: tuple[Diagnostic, ...] = ()
    if "\n" in text.strip():
        notes = (diagnostic(kinds.several_lines(), text),)
    if size > LONG:
        notes = (*notes, diagnostic(kinds.large_answer(size=f"{size / 1_000_000:.1f}"), text))
    return notes


def _read_doubtful(text: str, size: int, *, deep: bool) -> Reading:
    from humanmcp.protocol.repair import parser  # noqa: PLC0415 - a valid text never needs it

    first, last, repaired = _repairs(text)
    if not text[first:last].strip():
        return _unreadable(text, size, diagnostic(kinds.empty_answer(), text))
    if _OTHERWISE.match(text, first) or _BEGINS.match(text, first) is None:
        rewritten = _rewritten(text, first, last, repaired, size)
        if rewritten is not None:
            return rewritten
        first, last, repaired = _embedded(text, first, last, repaired)
    body = text[first:last]
    if body != text:
        deep = deeper_than(body, DEEPEST)
    too_much = _too_much(text, first, last, deep=deep)
    if too_much is not None:
        return _unreadable(text, size, too_much)
    mistakes, repairs = parser.examine(body, DEEPEST)
    lines = LineIndex(text)
    diagnostics = [*repaired, *(_placed(mistake, lines, first) for mistake in mistakes)]
    edits = [
        *([TextEdit(0, first, "")] if first else []),
        *_moved(repairs, first),
        *([TextEdit(last, len(text), "")] if last < len(text) else []),
    ]
    fixed = applied(text, edits)
    diagnostics.extend(_notes(text, size))
    diagnostics.sort(key=lambda each: (each.start, each.code))
    value, whole = None, True
    try:
        value = json.loads(fixed)
        if not any(each.blocks for each in diagnostics):
            strict(fixed)
    except ValueError as error:  # the rest is not JSON either: report the place
        whole = False
        at = min(first + getattr(error, "pos", 0), len(text))
        if not any(each.blocks for each in diagnostics):
            diagnostics.append(_unexpected(text, at))
    return Reading(
        text, fixed if whole else "", value, whole, tuple(diagnostics), tuple(edits), size
    )


def _too_much(text: str, first: int, last: int, *, deep: bool) -> Diagnostic | None:
    """Return why a text cannot be examined: its depth or its length; None if it can."""
    if deep:
        return diagnostic(kinds.nested_too_deep(limit=str(DEEPEST)), text)
    return _first_only(text, first, last) if last - first > LONG else None


def _rewritten(
    text: str, first: int, last: int, repaired: list[Diagnostic], size: int
) -> Reading | None:
    """Read JSON that is encoded as a whole: escaped, or quoted line by line."""
    from humanmcp.protocol.repair import embedded  # noqa: PLC0415 - a valid text never needs it

    body = text[first:last]
    if len(body) > LONG:
        return None
    plain, marks = embedded.unescaped(body), embedded.quote_marks(body)
    edits: tuple[TextEdit, ...]
    if plain is not None:
        found = diagnostic(kinds.escaped_json(), text, first, last)
        edits = (TextEdit(first, last, plain),)
        label, applicability = "replace", Applicability.SAFE
    elif marks and _is_json(applied(body, marks)):
        found = diagnostic(kinds.line_prefixes(), text, first, last)
        edits = _moved(marks, first)
        label, applicability = "delete", Applicability.REMOVES
    else:
        return None
    found = found._replace(fix=Fix(edits, label, applicability))
    outer = (TextEdit(0, first, ""), *edits, TextEdit(last, len(text), ""))
    inner = applied(text, outer)
    found_all = (*repaired, found)
    return Reading(text, inner, json.loads(inner), diagnostics=found_all, edits=outer, size=size)


REWRITTEN: Final = frozenset({"J39", "J41"})
"""Problems after which places in the message have no place in the text as typed."""


def _is_json(text: str) -> bool:
    try:
        strict(text)
    except (ValueError, RecursionError):
        return False
    return True


def _embedded(
    text: str, first: int, last: int, repaired: list[Diagnostic]
) -> tuple[int, int, list[Diagnostic]]:
    """Find the one answer in another text: a chat, a command, a log."""
    from humanmcp.protocol.repair import embedded  # noqa: PLC0415 - a valid text never needs it

    around = embedded.find_answer(text[first:last]) if last - first <= LONG else None
    if around is None:
        return first, last, repaired
    start, end = first + around.start, first + around.end
    rest = (TextEdit(0, start, ""), TextEdit(end, len(text), ""))
    if around.code == "J35":  # the rest is the end of the surrounding line
        found = diagnostic(kinds.text_before_answer(), text, first, start)
    else:
        found = diagnostic(kinds.text_around_answer(), text, first, last)
    fix = Fix(rest, "only", Applicability.REMOVES)
    return start, end, [*repaired, found._replace(fix=fix)]


def _first_only(text: str, first: int, last: int) -> Diagnostic | None:
    """Find only the first mistake of a very long text: a full examination would take seconds."""
    try:
        json.loads(text[first:last])
    except json.JSONDecodeError as error:
        at = first + error.pos
        if at < len(text.rstrip()):
            return _unexpected(text, at)
        return diagnostic(
            kinds.unclosed_bracket(char=text[first], opened="1"), text, first, first + 1
        )
    except ValueError:  # an integer of more than 4300 digits
        return None
    return None


def _unreadable(text: str, size: int, diagnostic: Diagnostic) -> Reading:
    return Reading(text, "", None, readable=False, diagnostics=(diagnostic,), size=size)


def _repairs(text: str) -> tuple[int, int, list[Diagnostic]]:
    """Return the part of the text that is JSON, and what was removed around it."""
    first, last = 0, len(text)
    repaired: list[Diagnostic] = []
    if text.startswith(_BOM):
        first = 1
        repaired.append(diagnostic(kinds.byte_order_mark(), text, 0, 1))
    fence = _FENCE.fullmatch(text, first)
    if fence:
        first, last = fence.span(1)
        repaired.append(diagnostic(kinds.code_fence(), text, 0, len(text)))
    return first, last, repaired


def diagnostic(diagnostic: RawDiagnostic, text: str, start: int = 0, end: int = 0) -> Diagnostic:
    """Return a problem of a text at these offsets."""
    line, column = line_and_column(text, start) if text else (0, 0)
    return diagnostic.unplaced()._replace(start=start, end=end, line=line, column=column)


def _unexpected(text: str, at: int) -> Diagnostic:
    return diagnostic(kinds.unexpected_character(typed=text[at : at + 1]), text, at, at + 1)


def _moved(edits: tuple[TextEdit, ...], by: int) -> tuple[TextEdit, ...]:
    return tuple(TextEdit(e.start + by, e.end + by, e.new) for e in edits) if by else edits


def _placed(mistake: JsonMistake, lines: LineIndex, first: int) -> Diagnostic:
    line, column = lines.place(mistake.start + first)
    edits = _moved(tuple(mistake.edits), first)
    return mistake.diagnostic.unplaced()._replace(
        start=mistake.start + first,
        end=mistake.end + first,
        line=line,
        column=column,
        fix=Fix(edits, mistake.label, mistake.applicability) if edits else None,
        times=mistake.times,
    )


_UTF8_BOM: Final = b"\xef\xbb\xbf"


def decode_file(raw: bytes) -> tuple[str, tuple[Diagnostic, ...]]:
    """Decode the bytes of a file: the text, and its repairs and problems.

    After a blocking problem, the text can only be displayed.
    """
    encoding, mark = utf16_of(raw)
    bom = raw.startswith(_UTF8_BOM)
    body = raw[mark:] if encoding else raw.removeprefix(_UTF8_BOM)
    try:
        text = body.decode(encoding or "utf-8")
    except UnicodeDecodeError:
        if not encoding:
            return _neither(body)
        text = body.decode(encoding, "replace")
        return text, (diagnostic(kinds.bytes_not_text(), text),)
    if "\0" in text:  # also UTF-32, which begins as UTF-16 does
        at = text.index("\0")
        return text, (diagnostic(kinds.bytes_not_text(), text, at, at + 1),)
    if encoding:
        return text, (diagnostic(kinds.other_encoding(encoding=encoding.upper()), text),)
    return text, (diagnostic(kinds.byte_order_mark(), text),) if bom else ()


def _neither(raw: bytes) -> tuple[str, tuple[Diagnostic, ...]]:
    """Decode bytes that are not UTF-8: as Japanese if they surely are, else only for display."""
    if b"\0" in raw:
        text = raw.decode("utf-8", "replace")
        return text, (diagnostic(kinds.bytes_not_text(), text),)
    japanese = as_cp932(raw)
    if japanese is not None:
        return japanese, (diagnostic(kinds.read_as_cp932(), japanese),)
    text = raw.decode("cp1252", "replace")
    at = next((at for at, char in enumerate(text) if char > "\x7f"), 0)
    return text, (diagnostic(kinds.file_not_utf8(char=text[at : at + 1]), text, at, at + 1),)
