"""Edit a person's TOML: set or remove one table, or add an element; the rest is unchanged.

The text is taken apart at its headers, and only the sections that a change belongs to are edited,
each by itself, with `tomlkit`. In a whole text it loses the comments above a header together with
the table before, and moves tables that an array of tables separates. Each outcome is read with
`tomllib` and compared with what was wanted: otherwise nothing is changed. To distinguish a header
from a line within a text or a list, the standard library's reader is asked whether the lines before
it are valid TOML. Knows no file.
"""

from __future__ import annotations

import re
import tomllib
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence


# -- a text in sections --------------------------------------------------------------------------


Keys = tuple[str, ...]


@dataclass(slots=True)
class TomlSection:
    """A header, its body, and the comments above; the first section has no header."""

    lead: str
    """The blank lines and comments above it."""
    header: str
    keys: Keys | None
    """None within an array of tables, where keys do not identify a place."""
    body: str

    def rest(self, keys: Keys) -> Keys | None:
        """Return the keys below this section, or None if they do not lead through it."""
        if self.keys is None or keys[: len(self.keys)] != self.keys:
            return None
        return keys[len(self.keys) :]

    def holds(self, keys: Keys) -> bool:
        """Return True if the value under these keys, from the top, is in this section."""
        rest = self.rest(keys)
        return rest is not None and (not rest or _found(tomllib.loads(self.body), rest))


def taken_apart(text: str) -> tuple[list[TomlSection], str]:
    """Return the sections of a text, and the blank lines and comments at its end."""
    sections = [TomlSection("", "", (), "")]
    arrays: set[Keys] = set()
    for line in _lines(text):
        keys = keys_of(line)
        if keys is None or not _is_toml(sections[-1].body):
            sections[-1].body += line
            continue
        if line.lstrip().startswith("[["):
            arrays.add(keys)
        within = any(keys[:depth] in arrays for depth in range(1, len(keys) + 1))
        lead = _cut_tail(sections[-1])
        sections.append(TomlSection(lead, line, None if within else keys, ""))
    return sections, _cut_tail(sections[-1])


def span_of(text: str, keys: Keys) -> tuple[int, int] | None:
    """Return where the sections of a table begin and end, if nothing else is between them."""
    start = end = 0
    places: list[tuple[int, int, int]] = []
    for number, each in enumerate(taken_apart(text.removeprefix(_BOM))[0]):
        start = end + len(each.lead)
        end = start + len(each.header) + len(each.body)
        if each.header and each.keys is not None and each.keys[: len(keys)] == keys:
            places.append((number, start, end))
    if not places or places[-1][0] - places[0][0] != len(places) - 1:
        return None
    mark = len(text) - len(text.removeprefix(_BOM))
    return places[0][1] + mark, places[-1][2] + mark


def without(keys: Keys, sections: list[TomlSection], end: str) -> str:
    """Remove the sections of a table, and return the new end of the text.

    A comment above its header stays; those above the headers of its children go with it.
    """
    kept: list[TomlSection] = []
    lines, inside = "", False
    for each in sections:
        gone = each.keys is not None and each.keys[: len(keys)] == keys
        if not gone:
            each.lead, lines = _joined(lines, each.lead), ""
            kept.append(each)
        elif not inside:
            lines = _joined(lines, each.lead)
        inside = gone
    sections[:] = kept
    return _joined(lines, end, last=True)


def line_number_of(text: str, place: str) -> str:
    """Return the number of the line where a value such as `rules[2].notify[0].after` begins.

    "" if it is not known. For a value inside another one, the line where the outer one begins.
    """
    wanted = re.findall(r"\[\d+\]|'[^']*'|[^.\[\]']+", place)
    steps = [int(step[1:-1]) if step.startswith("[") else step.strip("'") for step in wanted]
    counts: dict[Keys, int] = {}
    best, found, line = 0, 0, 1
    sections, _ = taken_apart(text.removeprefix(_BOM))
    for each in sections:
        line += each.lead.count("\n")
        path = _counted(keys_of(each.header) or (), counts, each.header)
        for begun, keys in [(line, path), *_keys_in(each, line, path)]:
            if best < len(keys) and [*keys] == steps[: len(keys)]:
                best, found = len(keys), begun
        line += each.header.count("\n") + each.body.count("\n")
    return str(found) if found else ""


def _counted(keys: Keys, counts: dict[Keys, int], header: str) -> tuple[str | int, ...]:
    """Return the keys of a header with the number of each table in an array."""
    if header.lstrip().startswith("[["):
        counts[keys] = counts.get(keys, -1) + 1
        for inner in [one for one in counts if one[: len(keys)] == keys and one != keys]:
            del counts[inner]
    path: list[str | int] = []
    for depth, key in enumerate(keys, 1):
        path.append(key)
        if keys[:depth] in counts:
            path.append(counts[keys[:depth]])
    return tuple(path)


def _keys_in(
    section: TomlSection, line: int, path: tuple[str | int, ...]
) -> Iterator[tuple[int, tuple[str | int, ...]]]:
    line += section.header.count("\n")
    for number, text in enumerate(_lines(section.body), line):
        name = re.match(r"""\s*(?:"([^"]+)"|'([^']+)'|([\w-]+))\s*[=.]""", text)
        if name is not None:
            yield number, (*path, next(filter(None, name.groups())))


def _joined(above: str, below: str, *, last: bool = False) -> str:
    """Return the lines above two headers after the first is gone: one blank line, not two."""
    blank = above == "\n" or above.endswith("\n\n")
    return above[: -1 if blank and (last or below.startswith("\n")) else None] + below


def keys_of(line: str) -> Keys | None:
    """Return the keys of a header, or None for another line."""
    if not line.lstrip(" \t").startswith("[") or not _is_toml(line):
        return None
    keys: list[str] = []
    inner: Any = tomllib.loads(line)
    while inner:
        ((key, inner),) = inner.items()
        keys.append(key)
        inner = inner[0] if isinstance(inner, list) else inner
    return tuple(keys)


def _cut_tail(section: TomlSection) -> str:
    """Remove the blank lines and comments at the end of a section, and return them."""
    lines = _lines(section.body)
    at = len(lines)
    while at and (not lines[at - 1].strip() or lines[at - 1].lstrip().startswith("#")):
        at -= 1
    if not _is_toml("".join(lines[:at])):  # a text over several lines can end in such a line
        return ""
    section.body = "".join(lines[:at])
    return "".join(lines[at:])


def _lines(text: str) -> list[str]:
    return re.findall(r"[^\n]*\n|[^\n]+", text)


def _is_toml(text: str) -> bool:
    with suppress(tomllib.TOMLDecodeError):
        tomllib.loads(text)
        return True
    return False


def _found(root: Any, keys: Keys) -> bool:  # noqa: ANN401 - any value of TOML
    for key in keys:
        if not isinstance(root, dict) or key not in root:
            return False
        root = root[key]
    return True


# -- editing -------------------------------------------------------------------------------------


_BOM: Final = "\ufeff"
_MISSING: Final = object()


class NotEditableError(Exception):
    """The text cannot be edited without touching more of it."""


def put(text: str, keys: Sequence[str], entry: Mapping[str, Any]) -> str:
    """Set the table under these keys to this entry, and return the text.

    Members that are already right keep their place, their layout and their comments. A new table
    goes to the end of the text where that is possible.

    Raises:
        NotEditableError: this text cannot be edited so.
        tomllib.TOMLDecodeError: the text is not TOML.
    """
    *parents, name = keys

    def steps(root: dict[str, Any]) -> list[_Step]:
        there: Any = root
        for key in parents:
            there = there.get(key, {})
        return list(_differences(there.get(name, _MISSING), tuple(keys), entry))

    return _edited(text, steps, table_text(keys, entry))


def take(text: str, keys: Sequence[str]) -> str:
    """Remove the value under these keys, which must exist, and return the text.

    Raises:
        NotEditableError: this text cannot be edited so.
        tomllib.TOMLDecodeError: the text is not TOML.
    """
    step = _Step(_Act.TAKE, tuple(keys))
    return _edited(text, lambda _root: [step], "", keys[:-1])


def add(text: str, key: str, element: Mapping[str, Any]) -> str:
    """Add a table to the array under this key of the top level, and return the text.

    Raises:
        NotEditableError: this text cannot be edited so.
        tomllib.TOMLDecodeError: the text is not TOML.
    """
    step = _Step(_Act.ADD, (key,), element)
    return _edited(text, lambda _root: [step], element_text(key, element))


def elements(text: str, key: str) -> list[str]:
    """Return the text of each table of an array of the top level.

    Raises:
        NotEditableError: the array is in brackets, or the text is not TOML.
    """
    try:
        wanted = tomllib.loads(text.removeprefix(_BOM)).get(key, [])
    except tomllib.TOMLDecodeError as error:
        raise NotEditableError from error
    found = [each for each in _in_elements(_sections(text)[0], key) if isinstance(each, str)]
    if not isinstance(wanted, list) or len(found) != len(wanted):
        raise NotEditableError
    return found


def with_elements(text: str, key: str, kept: Sequence[str]) -> str:
    """Replace the tables of an array by these, in this order, and return the text.

    Raises:
        NotEditableError: this text cannot be edited so, or `kept` has something else.
    """
    elements(text, key)
    sections, end = _sections(text)
    mark = _BOM if text.startswith(_BOM) else ""
    blocks = [one if one.endswith("\n") else f"{one}\n" for one in kept]
    parts, placed = [], False
    for each in _in_elements(sections, key):
        if isinstance(each, TomlSection):
            parts.append(each.lead + each.header + each.body)
        elif not placed:
            parts.append("\n".join(one.strip("\n") + "\n" for one in blocks))
            placed = True
    after = "".join(parts) + end
    try:
        wanted = {
            **tomllib.loads(text.removeprefix(_BOM)),
            key: [_element(one, key) for one in kept],
        }
        got = tomllib.loads(after)
    except tomllib.TOMLDecodeError as error:
        raise NotEditableError from error
    if not _same({key: [], **got}, wanted):
        raise NotEditableError
    return mark + after


def _element(text: str, key: str) -> object:
    match tomllib.loads(text):
        case {**only} if (
            list(only) == [key] and isinstance(only[key], list) and len(only[key]) == 1
        ):
            return only[key][0]
        case _:
            raise NotEditableError


def _sections(text: str) -> tuple[list[TomlSection], str]:
    return taken_apart(text.removeprefix(_BOM).replace("\r\n", "\n"))


def _in_elements(sections: Iterable[TomlSection], key: str) -> list[TomlSection | str]:
    """Join the sections of each element of an array to one text."""
    found: list[TomlSection | str] = []
    inside = False
    for each in sections:
        name = keys_of(each.header)
        text = each.lead + each.header + each.body
        if name == (key,) and each.header.lstrip().startswith("[["):
            found.append(text)
            inside = True
        elif inside and name and name[0] == key:
            found[-1] = str(found[-1]) + text
        else:
            found.append(each)
            inside = False
    return found


def table_text(keys: Sequence[str], entry: Mapping[str, Any]) -> str:
    """Write a table with its header; nested values are inline."""
    import tomlkit  # noqa: PLC0415 - 35 ms that only an edit has to pay

    document = tomlkit.document()
    table: Any = document
    for depth, key in enumerate(keys, 1):
        inner = tomlkit.table(is_super_table=depth < len(keys))
        table.append(key, inner)
        table = inner
    for key, value in entry.items():
        table.append(key, _inline(value))
    return document.as_string()


def element_text(key: str, element: Mapping[str, Any]) -> str:
    """Write an element of an array of tables; nested values are inline."""
    header, _, rest = table_text([key], element).partition("\n")
    return f"[{header}]\n{rest}"


def _inline(value: Any) -> Any:  # noqa: ANN401 - any JSON value
    """Return a value of `tomlkit` that is written on one line, in braces or brackets."""
    import tomlkit  # noqa: PLC0415 - as above

    if isinstance(value, dict):
        table = tomlkit.inline_table()
        table.update({key: _inline(part) for key, part in value.items()})
        return table
    if isinstance(value, list):
        array = tomlkit.array()
        array.extend(map(_inline, value))
        return array
    return tomlkit.item(value)


class _Act(Enum):
    SET = auto()
    TAKE = auto()
    ADD = auto()


@dataclass(frozen=True, slots=True)
class _Step:
    """One change of a document."""

    act: _Act
    keys: Keys
    value: Any = None

    def apply(self, root: Any, keys: Sequence[str], made: Callable[[Any], Any]) -> None:  # noqa: ANN401 - dict or document
        """Change the value under these keys; `made` converts the new value."""
        *parents, name = keys
        for key in parents:
            root = root[key] if key in root else root.setdefault(key, {})
        match self.act:
            case _Act.TAKE:
                del root[name]
            case _Act.ADD:
                root.setdefault(name, []).append(made(self.value))
            case _Act.SET:
                there, wanted = root.get(name), self.value
                more = len(wanted) - len(there) if _are_lists(there, wanted) else 0
                # Only the beginning is another one: the comments in the rest of the list stay.
                if more > 0 and list(there) == wanted[more:]:
                    for at, value in enumerate(wanted[:more]):
                        there.insert(at, made(value))
                elif more < 0 and list(there[-more:]) == wanted:
                    for _ in range(-more):
                        del there[0]
                else:
                    root[name] = made(wanted)


def _are_lists(one: object, other: object) -> bool:
    return isinstance(one, list) and isinstance(other, list)


def _differences(there: Any, keys: Keys, wanted: Any) -> Iterator[_Step]:  # noqa: ANN401 - any value of TOML
    """Yield the steps that turn a table into the wanted one; equal members are not touched."""
    if not isinstance(there, dict) or not isinstance(wanted, dict):
        if not _same(there, wanted):
            yield _Step(_Act.SET, keys, wanted)
        return
    for key, value in wanted.items():
        yield from _differences(there.get(key, _MISSING), (*keys, key), value)
    for key in there:
        if key not in wanted:
            yield _Step(_Act.TAKE, (*keys, key))


def _edited(
    text: str,
    steps_from: Callable[[dict[str, Any]], list[_Step]],
    block: str,
    emptied: Sequence[str] = (),
) -> str:
    """Return the changed text: with the block added at its end, or else edited step by step.

    The tables under the keys `emptied` may be removed if they are empty.
    """
    bare = text.removeprefix(_BOM)
    mark = text[: len(text) - len(bare)]
    line_end = "\r\n" if bare.count("\r\n") == bare.count("\n") > 0 else "\n"
    bare = bare.replace("\r\n", "\n") if line_end == "\r\n" else bare
    wanted = tomllib.loads(bare)
    try:
        steps = steps_from(wanted)
        for step in steps:
            step.apply(wanted, step.keys, deepcopy)
    except (AttributeError, LookupError, TypeError) as error:  # something else than a table
        raise NotEditableError from error
    ways: list[Callable[[], str]] = [lambda: _appended(bare, block), lambda: _changed(bare, steps)]
    for edited in ways:
        # On some valid texts tomlkit fails, with errors of any kind, or writes something else.
        with suppress(Exception):
            after = edited()
            if _same(_pruned(tomllib.loads(after), emptied), _pruned(wanted, emptied)):
                return mark + after.replace("\n", line_end)
    raise NotEditableError


def _appended(text: str, block: str) -> str:
    if not text.strip():
        return text + block
    return text + "\n" * (1 if text.endswith("\n") else 2) + block


def _changed(text: str, steps: Iterable[_Step]) -> str:
    """Return the text after the steps, each applied to its section."""
    sections, end = taken_apart(text)
    for step in steps:
        end = _done(step, sections, end)
    return "".join(each.lead + each.header + each.body for each in sections) + end


def _done(step: _Step, sections: list[TomlSection], end: str) -> str:
    if step.act is not _Act.ADD:
        end = without(step.keys, sections, end)
    place = next(
        (each for each in sections if each.rest(step.keys) and each.holds(step.keys)), None
    )
    if place is None and step.act is not _Act.TAKE:
        place = next((each for each in sections if each.holds(step.keys[:-1])), None)
        if place is None:
            raise NotEditableError
    if place is not None:
        _edit(place, step)
    return end


def _edit(section: TomlSection, step: _Step) -> None:
    import tomlkit  # noqa: PLC0415 - as above

    document = tomlkit.parse(section.body)
    step.apply(document, section.rest(step.keys) or (), _inline)
    section.body = document.as_string()


def _same(one: Any, other: Any) -> bool:  # noqa: ANN401 - any value of TOML
    """Return True if two values are equal in TOML: `true` is not 1, and nan equals nan."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    return type(one) is type(other) and repr(one) == repr(other)


def _pruned(root: dict[str, Any], keys: Sequence[str]) -> dict[str, Any]:
    """Return a decoded text without the empty tables under these keys."""
    if not keys or keys[0] not in root:
        return root
    inner = _pruned(root[keys[0]], keys[1:])
    rest = {key: value for key, value in root.items() if key != keys[0]}
    return {**rest, keys[0]: inner} if inner else rest
