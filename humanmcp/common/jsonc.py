"""Read JSON that has comments and trailing commas in it, and edit one member of it in place.

`plain` replaces what is not JSON by spaces, so that every offset stays the same. So an
edit is made in the person's own text, which keeps its comments, its order and its indentation.
Knows no file.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from humanmcp.protocol.diagnostics.model import Fix, TextEdit, line_and_column
from humanmcp.protocol.json.jsonrpc import item_spans, member_spans, skip_space

if TYPE_CHECKING:
    from collections.abc import Sequence

BOM: Final = "\ufeff"
# also one that does not end: it is not read again from its next quote
_STRING: Final = r'"[^"\\\n]*+(?:\\.[^"\\\n]*+)*+"?+'
_STRING_OR_COMMENT: Final = re.compile(rf"({_STRING})|//[^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)
_STRING_OR_COMMA: Final = re.compile(rf"({_STRING})|,(?=\s*[}}\]])", re.DOTALL)
_NO_LINE_END: Final = re.compile(r"[^\r\n]")
_SPACE: Final = re.compile(r"[ \t]*")


@dataclass(frozen=True, slots=True)
class Oddity:
    """A "comment" or trailing "comma", which JSON does not allow, and its place.

    `after` is the name of the member that a trailing comma follows, "" when it follows an item;
    `closing` is the line of the bracket that comes next.
    """

    kind: str
    line: int
    column: int
    after: str = ""
    closing: int = 0


class _Member(NamedTuple):
    name: str
    start: int
    """Where its name begins."""
    value: int
    end: int


def plain(text: str) -> str:
    """Return `text` with spaces in the place of comments and trailing commas."""
    return _STRING_OR_COMMA.sub(lambda found: found[1] or " ", _without_comments(text))


def oddities(text: str) -> list[Oddity]:
    """List the comments and trailing commas of a text, in order."""
    bare = _without_comments(text)
    ends = _names_by_end(plain(text))
    found = [
        Oddity("comment", *line_and_column(text, match.start()))
        for match in _STRING_OR_COMMENT.finditer(text)
        if match[1] is None
    ]
    for match in _STRING_OR_COMMA.finditer(bare):
        if match[1] is None:
            name = ends.get(len(bare[: match.start()].rstrip()), "")
            closing = line_and_column(text, skip_space(bare, match.end()))[0]
            place = line_and_column(text, match.start())
            found.append(Oddity("comma", *place, after=name, closing=closing))
    return sorted(found, key=lambda oddity: (oddity.line, oddity.column))


def put(text: str, path: Sequence[str], value: Any) -> str:  # noqa: ANN401 - any JSON value
    """Set the member at `path`, and create the objects that lead there.

    `text` must be an object, with or without comments and trailing commas.
    """
    clear = plain(text)
    unit = _unit(clear)
    span = _whole(clear)
    for depth, name in enumerate(path):
        found = _last(_members(clear, span[0]), name)
        if found is None:
            for missing in reversed(path[depth + 1 :]):
                value = {missing: value}
            return _insert(text, span, f"{json.dumps(name, ensure_ascii=False)}: ", value)
        span = found.value, found.end
    dumped = _dumped(value, unit, _indent_of(clear, span[0]), _line_end(text))
    return text[: span[0]] + dumped + text[span[1] :]


def take(text: str, path: Sequence[str]) -> str:
    """Remove the member or the item at `path`, if it is there."""
    span = span_of(text, path[:-1])
    return text if span is None else _remove(text, span, path[-1])


def append(text: str, path: Sequence[str], value: Any) -> str:  # noqa: ANN401 - any JSON value
    """Add an item at the end of the list at `path`; without a list there, there is one then."""
    at = span_of(text, path)
    return _insert(text, at, "", value) if at and text[at[0]] == "[" else put(text, path, [value])


def with_list(text: str, path: Sequence[str], before: Sequence[Any], after: Sequence[Any]) -> str:
    """Change the list at `path`; comments in it stay where only its beginning is another one."""
    if before == after:
        return text
    span, more = span_of(text, path), len(after) - len(before)
    inside = text[slice(*span)] if span else ""
    if not any(one.kind == "comment" for one in oddities(inside)):
        return put(text, path, after)
    if span is not None and before and more > 0 and after[more:] == before:
        first = _parts(plain(text), span[0])[0].start
        items = (f"{json.dumps(one, ensure_ascii=False)}, " for one in after[:more])
        return f"{text[:first]}{''.join(items)}{text[first:]}"
    if after and more < 0 and before[-more:] == after:
        for _ in range(-more):
            text = take(text, (*path, "0"))
        return text
    return put(text, path, after)


def span_of(text: str, path: Sequence[str]) -> tuple[int, int] | None:
    """Return where the value at `path` begins and ends; None if it is not there.

    An item of a list is named by its place.
    """
    clear = plain(text)
    span = _whole(clear)
    for name in path:
        found = _last(_parts(clear, span[0]), name)
        if found is None:
            return None
        span = found.value, found.end
    return span


# -- editing ----------------------------------------------------------------------------------


def _insert(text: str, span: tuple[int, int], name: str, value: Any) -> str:  # noqa: ANN401 - any JSON value
    """Add a member at the end of the object at `span`, on a separate line."""
    clear, bare = plain(text), _without_comments(text)
    unit, line_end = _unit(clear), _line_end(text)
    inside = _parts(clear, span[0])
    close = span[1] - 1
    outer = _indent_of(clear, span[0])
    own = _indent_of(clear, inside[0].start) if _on_own_line(clear, inside) else outer + unit
    added = line_end + own + name + _dumped(value, unit, own, line_end)
    # After the last comment of the object, so that it stays with the member that it follows.
    last = len(text[:close].rstrip())
    comma = ""
    if inside and "," not in bare[inside[-1].end : last]:
        comma = ","
    end = inside[-1].end if inside else last
    return text[:end] + comma + text[end:last] + added + line_end + outer + text[close:]


def _remove(text: str, span: tuple[int, int], name: str) -> str:
    """Remove a member of the object at `span`, with one comma and its empty lines."""
    bare = _without_comments(text)
    inside = _parts(plain(text), span[0])
    gone = _last(inside, name)
    if gone is None:
        return text
    at = inside.index(gone)
    following = inside[at + 1].start if at + 1 < len(inside) else span[1]
    comma = bare.find(",", gone.end, following)
    start, end = gone.start, gone.end if comma < 0 else comma + 1
    edits = []
    if comma < 0 and at:
        before = bare.index(",", inside[at - 1].end)
        edits.append(TextEdit(before, before + 1, ""))
    if len(inside) == 1 and not (text[span[0] + 1 : start] + text[end : span[1] - 1]).strip():
        edits = [TextEdit(span[0] + 1, span[1] - 1, "")]
    else:
        edits.append(TextEdit(*_whole_lines(text, start, end), ""))
    return Fix(tuple(edits)).apply(text)


def _whole_lines(text: str, start: int, end: int) -> tuple[int, int]:
    """Widen a span to whole lines if nothing else is on them, else to the space after it."""
    line_start = text.rfind("\n", 0, start) + 1
    line_end = text.find("\n", end)
    if line_end >= 0 and not (text[line_start:start] + text[end:line_end]).strip():
        return line_start, line_end + 1
    found = _SPACE.match(text, end)
    return start, found.end() if found else end


# -- reading ----------------------------------------------------------------------------------


def _without_comments(text: str) -> str:
    return _STRING_OR_COMMENT.sub(lambda found: found[1] or _NO_LINE_END.sub(" ", found[0]), text)


def _top(clear: str) -> int:
    """Return where the outermost object begins: after a byte order mark."""
    return skip_space(clear, int(clear.startswith(BOM)))


def _whole(clear: str) -> tuple[int, int]:
    return _top(clear), len(clear.rstrip())


def _members(clear: str, start: int) -> list[_Member]:
    if clear[start : start + 1] != "{":
        return []
    spans = member_spans(clear, start)
    return [_Member(name, at, first, last) for name, at, _end, first, last in spans]


def _parts(clear: str, start: int) -> list[_Member]:
    """Return the members of an object, or the items of a list, named by their place in it."""
    if clear[start : start + 1] != "[":
        return _members(clear, start)
    spans = enumerate(item_spans(clear, start))
    return [_Member(str(at), first, first, last) for at, (first, last) in spans]


def _last(inside: Sequence[_Member], name: str) -> _Member | None:
    """Find a member. Of two with the same name, the last one counts, as in every parser."""
    return next((member for member in reversed(inside) if member.name == name), None)


def _names_by_end(clear: str) -> dict[int, str]:
    """Map the end of each member's value, however deep, to the member's name."""
    found: dict[int, str] = {}
    spans = [_top(clear)]
    while spans:
        for member in _members(clear, spans.pop()):
            found[member.end] = member.name
            spans.append(member.value)
    return found


def _on_own_line(clear: str, inside: Sequence[_Member]) -> bool:
    if not inside:
        return False
    return not clear[clear.rfind("\n", 0, inside[0].start) + 1 : inside[0].start].strip()


def _indent_of(clear: str, at: int) -> str:
    """Return the white space at the beginning of the line that holds `at`."""
    found = _SPACE.match(clear, clear.rfind("\n", 0, at) + 1)
    return found[0] if found else ""


def _unit(clear: str) -> str:
    """Return the indentation of one level: that of the outermost members, else two spaces."""
    inside = _members(clear, _top(clear))
    return (_indent_of(clear, inside[0].start) if _on_own_line(clear, inside) else "") or "  "


def _line_end(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _dumped(value: Any, unit: str, base: str, line_end: str) -> str:  # noqa: ANN401 - any JSON value
    lines = json.dumps(value, indent=unit, ensure_ascii=False).split("\n")
    return (line_end + base).join(lines)
