"""Find the JSON-RPC messages in a text that somebody else wrote, without knowing who it was.

Theory of operation. A message is known by its members: every JSON value in the text is one, or may
hold some, at any depth, in members of any name, in items and in strings. What quotes it is undone
in layers (`quoting.py`); what a layer holds is a text again. What stands around a message is its
context: the words before it, the path of its member, and the small values beside it. `sides.py`
solves from them who sent it.

Each place is tried once, and what is tried in vain is counted, so the work grows with the text.
"""

from __future__ import annotations

import json
import re
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from humanmcp.protocol.json.jsonrpc import compact, item_spans, member_spans, parts_of
from humanmcp.protocol.json.tree import objects_at
from humanmcp.protocol.validation.quoting import LAYERS, MARK, OPENER, as_json
from humanmcp.protocol.validation.sides import Head, marks_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from humanmcp.protocol.json.jsonrpc import Json, JsonObject


class FoundMessage(NamedTuple):
    """A message, or an array of messages as they are sent at once, and its context.

    `start` and `end` are offsets in the whole text. If it was quoted there, `text` is what it says
    without the quoting, and `inner` the offset in the outermost quoted text. `clues` are what is
    around it, with `#` for each number; the first has the words before it, "" for none. `at` is
    the time in its envelope as written. `is_cut`: the program left out a part. `is_torn`: it begins
    as a message and cannot be read.
    """

    start: int
    end: int
    text: str
    clues: tuple[str, ...] = ("",)
    at: str = ""
    head: Head = Head()
    inner: int = 0
    is_cut: bool = False
    is_torn: bool = False

    @property
    def is_wrapped(self) -> bool:
        """Return True if something stands around it that belongs to no message."""
        return any(self.clues)


# -- what a message is ----------------------------------------------------------------------------


_PARTS: Final = frozenset({"id", "method", "params", "result", "error", "_meta"})


def is_message(value: object, *, strict: bool = False) -> bool:
    """Return True for an object that is meant as a JSON-RPC message.

    With `strict`, one without a version has no other members, as many objects have these. What
    describes messages, such as a schema, has an object in the place of a version or an id.
    """
    if not isinstance(value, dict) or isinstance(value.get("jsonrpc"), dict):
        return False
    if "jsonrpc" in value:
        return not _PARTS.isdisjoint(value)
    if strict and (not _PARTS.issuperset(value) or isinstance(value.get("id"), dict)):
        return False
    method = value.get("method")
    is_answer = "id" in value and ("result" in value or value.get("error") is not None)
    return is_answer or (isinstance(method, str) and not method.isupper())


def _is_result(value: JsonObject) -> bool:
    """Return True for a result: what is quoted in it, somebody has answered."""
    return any(known in one for name, known in _ITEMS.items() for one in objects_at(value, name))


_ITEMS: Final = {
    "content": "type",
    "contents": "uri",
    "messages": "content",
    "tools": "inputSchema",
}
"""The lists of results that may quote something, and a member of their items."""


_COMPARED: Final = (str, float)
"""The types of an id that is kept as it is."""


def _head(value: JsonObject) -> Head:
    method, id_ = value.get("method"), value.get("id")
    is_answer = value.get("result") is not None or value.get("error") is not None
    return Head(
        method if isinstance(method, str) else "",
        id_ if id_ is None or isinstance(id_, _COMPARED) else repr(id_),
        is_answer or ("result" in value and not method),
        "jsonrpc" not in value and "id" not in value,
    )


def cut_short(found: FoundMessage) -> FoundMessage:
    """Return what is known of a torn message of which a program left out the end."""
    top, *body = _BODY.split(found.text, 1)
    parts = ['"jsonrpc":"2.0"', *(f'"{name}":{value}' for name, value in _NAMED.findall(top))]
    if body and body[0] != "params":
        parts.append(f'"{body[0]}":{{}}')
    text = f"{{{','.join(parts)}}}"
    value = _DECODER.decode(text)
    if not is_message(value):
        return found
    return found._replace(text=text, head=_head(value), is_cut=True, is_torn=False)


_BODY: Final = re.compile(r'"(params|result|error)"\s*:')
_NAMED: Final = re.compile(r'"(id|method)"\s*:\s*("[^"\\\x00-\x1f]*+"|0|[1-9][0-9]{0,15}+)(?=\s*,)')
"""As a person reads them; whatever else is written there is not known."""


def without_member(text: str, name: str) -> str:
    """Return an object without a member; the others stay as they were written."""
    kept = [f"{json.dumps(one)}:{part}" for one, part in parts_of(text).items() if one != name]
    return f"{{{','.join(kept)}}}"


# -- what is around a message ---------------------------------------------------------------------


_NUMBER: Final = re.compile(r"(?!(?<=\b[csCS])2[csCS]\b)\d(?:[\d:.,TZ+/-]*\d)?|\b[0-9a-fA-F]{8,}\b")
_VARIES: Final = re.compile(rf" *+(?:{_NUMBER.pattern}|(?<= )[A-Z](?= ))+")
"""What differs in the words before two parts of one text; a letter says which part it is."""
_TIMES: Final = re.compile(r"(?i)@?(?:time|time_?stamp|ts|at|date|date_?time|started_?date_?time)")
_MOST_BESIDE: Final = 16
_SHORT: Final = 120
"""The maximum length of a value beside a message that may tell something about it."""


@lru_cache(1 << 12)
def shape_of(words: str) -> str:
    """Return words with `#` for each number, time and hexadecimal name."""
    return _NUMBER.sub("#", words).strip()


@lru_cache(1 << 12)
def _clue(name: str, value: str) -> str:
    return shape_of(f"{name}={json.loads(value) if chr(92) in value else value}")


@lru_cache(1 << 12)
def is_time(name: str) -> bool:
    """Return True for the name of a member that has the time of a log."""
    return _TIMES.fullmatch(name) is not None


class _Quoted(NamedTuple):
    """A text that is quoted: where, and what it says.

    `is_whole`: its end is certain, so what stands behind a message in it was sent, too. `is_cut`:
    the program left out a part.
    """

    start: int
    end: int
    text: str
    is_whole: bool = False
    is_cut: bool = False


class _Context(NamedTuple):
    """What stands around the place that is searched."""

    clues: tuple[str, ...]
    at: str = ""

    def below(self, name: str) -> _Context:
        return _Context((*self.clues, name), self.at)

    def beside(self, values: Iterable[tuple[str, str]]) -> _Context:
        """Add the small values of an object or array."""
        at, clues = "", list(self.clues)
        for name, value in values:
            if is_time(name):
                at = at or value.strip('"')
            elif len(clues) < _MOST_BESIDE + len(self.clues):
                clues.append(_clue(name, value))
        return _Context(tuple(clues), at or self.at)


def clues_beside(line: str, but: str) -> tuple[str, ...]:
    """Return what the small members of an object without a message tell, but one of them."""
    parts = parts_of(line).items()
    short = [(name, part) for name, part in parts if len(part) < _SHORT and name != but]
    return _Context(("",)).beside(short).clues


# -- the search -----------------------------------------------------------------------------------


_DECODER: Final = json.JSONDecoder(parse_int=float)
"""A number may have more digits than Python reads as an integer."""
_WINDOWS: Final = (1 << 8, 1 << 12, 1 << 16, 1 << 20, 1 << 30)
"""Characters that are tried for one value: where an error stands in the whole file, counts it."""
_ALL: Final = (1 << 30,)
"""The window of a value that is known to be a text of its own."""
_PER_TRY: Final = 200
"""Characters that are charged for each failing start, besides those that were read."""
_PER_TOKEN: Final = 8
"""What a character costs that is read token by token, for one that the parser of JSON reads."""
_CUT: Final = 10
"""Where a window cuts a value, the error is in so many last characters, or in a string."""
_LEAST: Final = 1 << 19
_GREATEST: Final = 1 << 25
_CLOSER: Final = re.compile(r"[}\]]")
_DEEPEST: Final = 24
"""The maximum number of objects and arrays around a message."""
_MOST_QUOTED: Final = 4
"""The maximum number of times that a message is quoted."""
_WORDS: Final = 200
"""Characters of a line before a message that are read."""
_TINY: Final = 20
"""The length up to which a value holds no message, whatever it says."""
_SPACE: Final = " \t\r\n\ufeff"
_MOST_VALUES: Final = 20_000
_LONGEST_LITERAL: Final = 1 << 18
_LONGEST_LINES: Final = 1 << 12
"""The length of a literal over lines that begin with the same words."""
_TORN: Final = re.compile(
    r"""(?:\[\s*+)?+\{[ \t]*+(?:["']jsonrpc\b|jsonrpc\s*+:\s*+["'\n]"""
    r"""|["'](?:id|method|result|error|params)"[^\n]{0,1000}?"jsonrpc")"""
)
_WORD_ENDS: Final = re.compile(r"(?<=\s)(?=\S)")
_VARIED: Final = re.compile(r" *+[\d:.,+/A-Za-f-]{1,40}")
_MOST_WORDS: Final = 8
_EVENT: Final = "data:"
_MOST_EVENT: Final = 1 << 20
_Read: TypeAlias = "tuple[int, Iterable[FoundMessage]]"
"""Where something that was read ends, and its messages."""


class _Effort:
    """How many characters may still be read in vain, in a text and in all that is quoted in it."""

    def __init__(self, size: int) -> None:
        self.left = min(_LEAST + 4 * size, _GREATEST)

    @property
    def is_spent(self) -> bool:
        """Return True if only what is certain is read from now on."""
        return self.left <= 0


def _same_words(words: str, text: str, at: int) -> list[str]:
    """Return what the words before a value and a line of the text begin with, [] for too little.

    It is parted where a number, a time or a letter is: they differ.
    """
    parts = _WORD_ENDS.split(_VARIES.sub("\0", words))
    count = 0
    for part in parts:
        if (at := _after(part.split("\0"), text, at)) < 0:
            break
        count += 1
    return "".join(parts[:count]).split("\0") if count > max(0, len(parts) - _MOST_WORDS) else []


def _after(words: list[str], text: str, at: int) -> int:
    """Return where a line goes on behind the same words; -1 for other words."""
    if not text.startswith(words[0], at):
        return -1
    at += len(words[0])
    for part in words[1:]:
        varied = _VARIED.match(text, at)
        found = text.rfind(part, at + 1, varied.end() + len(part)) if varied else -1
        if found < 0:
            return -1
        at = found + len(part)
    return at


class MessageFinder:
    """Finds the messages of one text, in their order."""

    def __init__(self, text: str, depth: int = 0, effort: _Effort | None = None) -> None:
        self.is_one_value = False
        """Whether the text is a value that holds messages, and nothing else."""
        self.is_result = False
        """Whether that value is a result, so that what it quotes in strings was answered."""
        self.passed_over = -1
        """The first place that was not tried, because too much was tried in vain; -1 for none."""
        self._text = text
        self._depth = depth
        self._effort = effort or _Effort(len(text))
        self._whole = (
            () if depth else (len(text) - len(text.lstrip(_SPACE)), len(text.rstrip(_SPACE)))
        )
        self._mark = MARK.search(text)
        self._line, self._line_end = 0, -1
        """Where the line begins and ends that is searched."""
        self._after = 0
        """Where the last message ends."""
        self._wrong_at = 0
        """So far the last value was read, if it is none."""

    def __iter__(self) -> Iterator[FoundMessage]:
        text, at = self._text, 0
        while self._next_mark(at) and (opened := OPENER.search(text, at)):
            start = opened.start()
            if start > self._line_end:
                self._line = text.rfind("\n", at, start) + 1 or self._line
                self._line_end = text.find("\n", start) % (len(text) + 1)
            left, found = self._effort.left, self._read(opened)
            at = start + 1
            if found is not None:
                at, messages = found
                for one in messages:
                    self._after = at
                    if not one.is_torn:  # it was not in vain
                        self._effort.left = max(left, self._effort.left)
                    yield one
            elif self._effort.is_spent:  # only the first value of each line that has an end
                closer = _CLOSER.search(text, self._line_end)
                if self.passed_over < 0:
                    self.passed_over = at
                if closer is None:
                    return
                at = text.rfind("\n", at, closer.start())

    def values(self) -> Iterator[tuple[int, int]]:
        """Yield where the JSON values are, the first ones."""
        at, self._effort = 0, _Effort(len(self._text))
        for _ in range(_MOST_VALUES):
            opened = OPENER.search(self._text, at)
            if opened is None or self._effort.is_spent:
                return
            at = opened.end()
            if (decoded := self._decoded(self._window(opened.start()))) is not None:
                at = opened.start() + decoded[1]
                yield opened.start(), at

    def _next_mark(self, at: int) -> re.Match[str] | None:
        """Return the next mark; no part of the text is searched twice."""
        if self._mark is not None and self._mark.start() < at:
            self._mark = MARK.search(self._text, at)
        return self._mark

    def _context(self, start: int) -> _Context:
        least = max(self._after, start - _WORDS)
        words = self._text[max(self._line, least) : start].strip(_SPACE)
        if self._depth and not words:  # the lines above, which nobody else reads
            words = self._text[least:start].strip(_SPACE)
        return _Context((shape_of(words),))

    def _read(self, opened: re.Match[str]) -> _Read | None:
        """Read what begins here, in the first way in which there is a message in it."""
        start, name = opened.start(), opened.lastgroup or ""
        if name in LAYERS:
            return self._layer(name, start)
        decoded = None if name == "literal" else self._decoded(self._window(start))
        if decoded is None:
            return None if self._effort.is_spent else self._printed(start)
        end = start + decoded[1]
        if self._mark is None or self._mark.start() >= end or end - start < _TINY:
            return end, ()
        return end, self._walk(decoded[0], (start, end), self._context(start))

    def _layer(self, name: str, start: int) -> _Read | None:
        layer = LAYERS[name]
        pattern = re.compile(layer.body, re.DOTALL)
        body = None if self._effort.is_spent else pattern.match(self._text, start)
        if body is None:
            return None
        end, quoted = body.end(), body[0]
        try:
            plain = layer.undone(quoted)
        except (ValueError, SyntaxError):
            plain = quoted
        if plain in (quoted, quoted[1:-1], quoted[1:]):
            self._effort.left -= len(quoted)
            return None
        start += quoted[0] in "'>"
        context = self._context(start).below(f"={name}")
        found = self._nested(_Quoted(start, end, plain, layer.is_whole), context)
        if all(one.is_torn for one in found):
            self._effort.left -= len(quoted) + 4 * _PER_TRY
        return (end, found) if found else None

    def _printed(self, start: int) -> _Read | None:
        """Read what is no JSON value as it stands, but was made of one."""
        lines, text = self._lines(start), self._text
        if lines is not None:
            return lines.end, self._nested(lines, self._context(start))
        mark = self._next_mark(start)
        if mark is not None and mark.start() < start + _LONGEST_LITERAL:
            end, plain, is_cut = as_json(text, start, _LONGEST_LITERAL)
            if plain and "jsonrpc" not in plain:
                return end, ()
            if plain and self._decoded(lambda _: plain, _ALL):
                quoted = _Quoted(start, end, plain, is_cut=is_cut)
                return end, self._nested(quoted, self._context(start).below("=literal"))
            self._effort.left -= _PER_TOKEN * (end - start)
        if _TORN.match(text, start):
            self._effort.left -= _PER_TRY
            prefix = text[self._line : min(start, self._line + _WORDS)]
            most = _MOST_EVENT if prefix.startswith(_EVENT) else 0
            parts, end = self._same_lines(start, _VARIES.split(prefix), most)
            clues = self._context(start).clues
            return end, (FoundMessage(start, end, "\n".join(parts), clues, is_torn=True),)
        return None

    # -- within a value

    def _walk(
        self, value: Json, span: tuple[int, int], context: _Context, level: int = 0
    ) -> Iterator[FoundMessage]:
        """Yield the messages of a JSON value."""
        is_whole = level == 0 and span == self._whole
        self.is_one_value |= is_whole
        if isinstance(value, str):
            yield from self._nested(_Quoted(*span, value, is_whole=True), context.below("=string"))
        elif is_message(value, strict=bool(level or self._depth or context.clues[0])):
            self.is_one_value &= not is_whole
            yield self._found(value, span, context)
        elif isinstance(value, dict):
            self.is_result |= is_whole and _is_result(value)
            yield from self._members(value, span, context, level)
        elif isinstance(value, list):
            joined = "".join(value) if {str}.issuperset(map(type, value)) else ""
            whole = self._decoded(lambda _: joined, _ALL) if joined[:1] == "{" else None
            if whole and whole[1] == len(joined):  # one text, in pieces
                yield from self._nested(_Quoted(*span, joined), context.below("=string"))
            else:
                yield from self._items(value, span, context, level)

    def _items(
        self, value: list[Json], span: tuple[int, int], context: _Context, level: int
    ) -> Iterator[FoundMessage]:
        """Yield the messages of an array, or the array, if its messages were sent at once."""
        text = self._text[slice(*span)]
        is_file = span == self._whole and self._depth == 0
        if level == 0 and not is_file and all(map(is_message, value)):
            head = _head(value[0]) if value else Head()
            yield FoundMessage(*span, text, context.clues, context.at, head)
        else:
            yield from self._members(dict(enumerate(value)), span, context, level)

    def _members(
        self, value: dict[Any, Json], span: tuple[int, int], context: _Context, level: int
    ) -> Iterator[FoundMessage]:
        """Yield the messages in the members of an object or the items of an array."""
        text, start = self._text, span[0]
        is_object = text[start] == "{"
        spans = (
            [(name, s, e) for name, _, _, s, e in member_spans(text, start)]
            if is_object
            else [(at, s, e) for at, (s, e) in enumerate(item_spans(text, start))]
        )
        marked = {s for _, s, e in spans if e - s > _TINY and MARK.search(text, s, e)}
        if is_object or len(spans) <= _MOST_BESIDE:
            context = context.beside(
                (str(n), text[s:e]) for n, s, e in spans if s not in marked and e - s < _SHORT
            )
        found = [
            self._walk(
                value[name], (s, e), context.below(f"/{name}" if is_object else "/*"), level + 1
            )
            for name, s, e in (spans if level < _DEEPEST else ())
            if s in marked
        ]
        said = list(chain.from_iterable(found)) if is_object and len(found) > 1 else []
        if 1 < len(said) == len(found) and len({compact(one.text) for one in said}) == 1:
            said = [max(said, key=lambda one: len(one.clues))]  # alone, and in a line with its time
        yield from said or chain.from_iterable(found)

    def _found(self, value: JsonObject, span: tuple[int, int], context: _Context) -> FoundMessage:
        """Return a message, without the `_meta` into which a recorder wrote what it knows."""
        start, end = span
        text = self._text[start:end]
        if isinstance(value.get("_meta"), dict):
            about = context.beside(parts_of(parts_of(text)["_meta"]).items())
            if any(map(marks_of, about.clues)):
                text, context = without_member(text, "_meta"), about
        return FoundMessage(start, end, text, context.clues, context.at, _head(value))

    def _nested(self, quoted: _Quoted, context: _Context) -> list[FoundMessage]:
        """Return the messages of a quoted text."""
        plain = quoted.text
        if self._depth >= _MOST_QUOTED:
            return []
        found = list(MessageFinder(plain, self._depth + 1, self._effort))
        if quoted.is_whole and len(found) == 1 and not plain[: found[0].start].strip():
            rest = plain[found[0].end :]
            is_torn = found[0].is_torn and not found[0].clues[0]
            if rest.strip() and (is_torn or not rest[0].isspace()):  # it was sent, and is wrong
                found = [found[0]._replace(text=plain.strip())]
        first, *others = context.clues
        return [
            FoundMessage(
                quoted.start,
                quoted.end,
                one.text,
                (first or one.clues[0], *others, *one.clues),
                one.at or context.at,
                one.head,
                one.start,
                quoted.is_cut or one.is_cut,
                one.is_torn,
            )
            for one in found
        ]

    # -- where a value ends

    def _window(self, start: int) -> Callable[[int], str]:
        """Return a function that returns the first characters of what begins here."""
        text = self._text
        until = self._line_end if self._effort.is_spent else len(text)
        return lambda size: text[start : min(start + size, until)]

    def _decoded(
        self, window_of: Callable[[int], str], sizes: Iterable[int] = _WINDOWS
    ) -> tuple[Json, int] | None:
        """Return the JSON value at the start of a text and its length; None if there is none."""
        for size in sizes:
            window, self._wrong_at = window_of(size), 0
            try:
                return _DECODER.raw_decode(window)
            except json.JSONDecodeError as error:
                is_cut = error.msg.startswith("Unterminated") or error.pos > size - _CUT
                self._wrong_at = len(window) if is_cut else error.pos
                self._effort.left -= self._wrong_at + _PER_TRY
                if len(window) < size or not is_cut or self._effort.is_spent:
                    return None
            except RecursionError:
                self._effort.left -= len(window) // 4
                return None
        return None

    def _lines(self, start: int) -> _Quoted | None:
        """Read a value whose further lines begin with the same words as its first.

        Where the words are an offset, the program has cut the value at a width.
        """
        first = self._line_end
        if start - self._line > _WORDS or start + self._wrong_at < first - _CUT:
            return None  # whatever the next lines say
        prefix = self._text[self._line : start]
        same = _same_words(prefix, self._text, first + 1) if prefix.strip() else []
        if not same:
            return None
        two = self._text.find("\n", first + 1) % (len(self._text) + 1) - start
        sizes = two, *(size for size in _WINDOWS if size > two)
        for between in ("\n",) if prefix.startswith(_EVENT) else ("\n", ""):

            def joined(size: int, between: str = between) -> str:
                return between.join(self._same_lines(start, same, size, len(between))[0])[:size]

            if (decoded := self._decoded(joined, sizes)) is not None:
                length = decoded[1]
                end = self._same_lines(start, same, length, len(between))[1]
                return _Quoted(start, end, joined(length))
        rest = self._text[start:first]
        is_open = rest[1:2] != '"' and rest.count("{") > rest.count("}")
        most = _LONGEST_LINES if is_open else 0
        length, plain, is_cut = as_json(joined(most, "\n"), 0, most)
        self._effort.left -= _PER_TOKEN * length
        end = self._same_lines(start, same, length)[1]
        return _Quoted(start, end, plain, is_cut=is_cut) if plain else None

    def _same_lines(
        self, start: int, same: list[str], most: int, between: int = 1
    ) -> tuple[list[str], int]:
        """Return the rest of a line, and of those below that begin with the same words.

        With them, where the last one ends; they have at least `most` characters, if there are more.
        """
        text, at, parts, size = self._text, start, list[str](), -between
        while True:
            end = text.find("\n", at) % (len(text) + 1)
            parts.append(text[at:end].removesuffix("\r"))
            size += len(parts[-1]) + between
            at = _after(same, text, end + 1) if size < most else -1
            if at < 0:
                return parts, end
            self._effort.left -= at - end
