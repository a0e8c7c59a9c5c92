"""Find the JSON-RPC messages in a text that somebody else wrote, without knowing who it was.

Theory of operation. A message is known by its members: every JSON value in the text is one, or may
hold some, at any depth, in members of any name, in items and in strings. What quotes it is undone
in layers, each for all programs: `LAYERS` has how a layer begins, how far it reaches, and how it is
undone; what it holds is a text again. What stands around a message is its context: the words before
it, the title above, the path of its member, and the small values beside it. `sides.py` solves from
them who sent it.

Each place is tried once, and what is tried in vain is counted, so the work grows with the text.
"""

from __future__ import annotations

import ast
import binascii
import html
import json
import re
import zlib
from functools import lru_cache
from itertools import islice
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias
from urllib.parse import unquote_plus

from humanmcp.protocol.json.jsonrpc import closed_at, closed_in, item_spans, member_spans, parts_of
from humanmcp.protocol.repair.reading import read_json
from humanmcp.protocol.tables import methods
from humanmcp.protocol.validation.sides import marks_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

    from humanmcp.protocol.json.jsonrpc import Json, JsonObject


class FoundMessage(NamedTuple):
    """A message, or an array of messages as they are sent at once, and its context.

    `start` and `end` are offsets in the whole text. If it was quoted there, `text` is what it says
    without the quoting, and `inner` the offset in the outermost quoted text. `clues` are what is
    around it, with `#` for each number; the first has the words before it, "" for none. `at` is
    the time in its envelope as written. `is_cut`: the program left out a part. `is_torn`: it begins
    as a message and cannot be read. `head` has its method and its id, and True for each other
    member that is not null; for an array, those of its first message.
    """

    start: int
    end: int
    text: str
    clues: tuple[str, ...] = ("",)
    inner: int = 0
    at: str = ""
    is_cut: bool = False
    is_torn: bool = False
    head: Mapping[str, Json] = MappingProxyType({})

    @property
    def is_wrapped(self) -> bool:
        """Return True if something stands around it that belongs to no message."""
        return any(self.clues)


# -- what a message is ----------------------------------------------------------------------------


_PARTS: Final = frozenset({"id", "method", "params", "result", "error", "_meta"})


def is_message(value: object) -> bool:
    """Return True for an object that is meant as a JSON-RPC message."""
    return isinstance(value, dict) and _has_members(
        value.keys(), value.get("method"), value.get("error")
    )


def _has_members(
    names: Collection[str], method: object, error: object, *, strict: bool = False
) -> bool:
    """Return True if these are the members of a message.

    With `strict`, one without a version has no other members, as many objects have these.
    """
    if "jsonrpc" in names:
        return not _PARTS.isdisjoint(names)
    if strict and not _PARTS.issuperset(names):
        return False
    is_answer = "id" in names and ("result" in names or error is not None)
    return is_answer or (isinstance(method, str) and not method.isupper())


def is_result(names: Collection[str]) -> bool:
    """Return True for the members of a result: what is quoted in it, somebody has answered."""
    return any(not one.isdisjoint(names) for one in _GIVEN) and "jsonrpc" not in names


_GIVEN: Final = tuple(frozenset(one.gives_away) for one in methods.REQUESTS.values())


def without_member(text: str, name: str) -> str:
    """Return an object without a member; the others stay as they were written."""
    kept = [f"{json.dumps(one)}:{part}" for one, part in parts_of(text).items() if one != name]
    return f"{{{','.join(kept)}}}"


# -- what quotes a message ------------------------------------------------------------------------


_MOST: Final = 1 << 24
"""The maximum number of characters of a text that was packed."""


def _unescaped(quoted: str) -> str:
    try:
        return str(json.loads(f'"{quoted}"', strict=False))
    except ValueError:
        return quoted.replace('\\"', '"').replace("\\\\", "\\")


def _literal_text(quoted: str) -> str:
    value = ast.literal_eval(quoted)
    return value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else str(value)


def _unpacked(quoted: str) -> str:
    plain = quoted.translate({ord("-"): "+", ord("_"): "/"}).rstrip("=")
    packed = binascii.a2b_base64(plain + "=" * (-len(plain) % 4))
    if packed.startswith(b"\x1f\x8b"):
        packed = zlib.decompressobj(31).decompress(packed, _MOST)
    return packed.decode("utf-8", "surrogateescape")


_SINGLE: Final = r"b?'(?:[^'\\\n]|\\.)*+'"
LAYERS: Final[dict[str, tuple[str, str, Callable[[str], str]]]] = {
    "escaped": (r'[\[{]\s*+(?:\\+n\s*+)*+\\+"', r'(?:[^"\\\n]|\\.)*+', _unescaped),
    "doubled": (r'[\[{]\s*+""\w', r'(?:[^"]|"")*+', lambda quoted: quoted.replace('""', '"')),
    "entity": (
        r"[\[{]\s*+&(?:quot|\#34|\#x22);",
        r"[^<\n]*+(?:\n[\s}\]][^<\n]*+)*+",
        html.unescape,
    ),
    "percent": (r"%(?:7B|5B)(?:%0A|%20|%5B|%7B|\+)*+%22", r"[^\s&\"'<>]*+", unquote_plus),
    "packed": (
        r"\b(?:eyJ|eyAi|ewog|ewoJ|W3si|WwogI|H4sI|ZXZlbnQ6|ZGF0YTo)(?=[\w+/-]{20})",
        r"[\w+/-]++={0,2}",
        _unpacked,
    ),
    "bytes": (r"\bb(?:'(?=\s*+[\[{])|'data:|'event:)", _SINGLE, _literal_text),
}
"""How a quoted text begins, all of it, and how it is undone, which may raise ValueError."""
_ALL_TWICE: Final = re.compile(r"(?:[^']|'')*+")
_WHOLE: Final = frozenset({"string", "packed", "bytes", "doubled"})
"""The layers of which the end is certain: what stands behind a message in it was sent, too."""
_BODIES: Final = {name: re.compile(body, re.DOTALL) for name, (_, body, _) in LAYERS.items()}
_VALUE: Final = r'(?:(?<!\w)\[|\{)(?=[ \t]*+[\r\n]|\s*+(?:[\[{\]}"\d-]|true\b|false\b|null\b|$))'
_LITERAL: Final = r"[\[{]\s*+(?:'|:?[A-Za-z_]\w*+\s*+[:=])|\b[A-Z]\w*+\((?=\w++=)"
_BEGINS: Final = re.compile(
    "|".join(
        f"(?P<{name}>{begin})"
        for name, begin in (
            *((name, begin) for name, (begin, _, _) in LAYERS.items()),
            ("value", _VALUE),
            ("literal", _LITERAL),
        )
    )
)
_VALUES: Final = re.compile(_VALUE)
_MARK: Final = re.compile(
    r"jsonrpc|method\W|result\W|error\W|eyJ|eyAi|ewog|ewoJ|W3si|WwogI|H4sI|ZXZlbnQ6|ZGF0YTo"
)
"""What is within each message and each quoted one."""
_TORN: Final = re.compile(
    r"""(?:\[\s*+)?+\{[ \t]*+["']?(?:jsonrpc\b"""
    r"""|(?:id|method|result|error|params)"[^\n]{0,4000}?"jsonrpc")"""
)
_LINE: Final = re.compile(r"[^\r\n]*+")
_DATA: Final = re.compile(r"\r?\ndata: ?([^\r\n]*+)")
_ENVELOPE: Final = re.compile(r"\bjsonrpc\W")


class _Printed(NamedTuple):
    """A value that is no JSON as it stands: where it ends, and what it says.

    `is_whole`: whatever stands behind a message in it was sent, too.
    """

    end: int
    text: str
    is_cut: bool = False
    is_whole: bool = False


class _Context(NamedTuple):
    """What stands around the place that is searched."""

    clues: tuple[str, ...]
    at: str = ""

    def below(self, name: str, mark: str = "/") -> _Context:
        return self._replace(clues=(*self.clues, _shared(mark + name)))

    def beside(self, values: Iterable[tuple[str, str]]) -> _Context:
        """Add the small values of an object or array."""
        short = list(islice(values, _MOST_BESIDE))
        at = next((value for name, value in short if _TIMES.fullmatch(name)), "")
        clues = (shape_of(f"{name}={_plain(value)}") for name, value in short)
        return _Context((*self.clues, *clues), at.strip('"') or self.at)

    def found(self, start: int, end: int, text: str) -> FoundMessage:
        return FoundMessage(start, end, text, self.clues, 0, self.at)


def clues_beside(line: str, but: str) -> tuple[str, ...]:
    """Return what the small members of an object without a message tell, but one of them."""
    members = ((name, line[s:e]) for name, _, _, s, e in member_spans(line, line.index("{")))
    short = (one for one in members if len(one[1]) < _SHORT and one[0] != but)
    return _Context(()).beside(short).clues


def has_time(names: Iterable[str]) -> bool:
    """Return True if one of these members of an object has the time of a log."""
    return any(map(_TIMES.fullmatch, names))


def _plain(value: str) -> str:
    """Return a JSON value without its escapes."""
    return str(json.loads(value)) if "\\" in value else value


_ANY_QUOTES: Final = re.compile(
    r""""(?:[^"\\]|\\.)*+"|'(?:[^'\\]|\\.)*+'|(?P<opens>[\[{(])|(?P<closes>[\]})])|["'].*""",
    re.DOTALL,
)
_CALL: Final = re.compile(
    r"""("(?:[^"\\]|\\.)*+"|'(?:[^'\\]|\\.)*+')|(?:\b[A-Za-z]\w*+)?+\(|\)""", re.DOTALL
)
_LEFT_OUT: Final = re.compile(r"(?<=[:=] )\[(?:Object|Array)\]|\.\.\.(?=\s*[,})\]])")
_LONGEST_LITERAL: Final = 1 << 18
_AS_JSON: Final = re.compile(r'[\[{\s]*+"(?:[^"\\]|\\.)*+"\s*+(?!=>)', re.DOTALL)


# -- the search -----------------------------------------------------------------------------------


_DECODER: Final = json.JSONDecoder()
_WINDOWS: Final = (1 << 12, 1 << 16, 1 << 20, 1 << 30)
"""Characters that are tried for one value: where an error stands in the whole file, counts it."""
_PER_TRY: Final = 64
_DEEP: Final = 1000
"""Characters that are charged for a value that is nested too deep to read."""
_DEEPEST: Final = 24
"""The maximum number of objects and arrays around a message."""
_MOST_QUOTED: Final = 4
"""The maximum number of times that a message is quoted."""
_WORDS: Final = 200
"""Characters of a line before a message that are read."""
_SHORT: Final = 120
"""The maximum length of a value beside a message that may tell something about it."""
_TINY: Final = 20
"""The length up to which a value holds no message, whatever it says."""
_MOST_BESIDE: Final = 16
_SPACE: Final = " \t\r\n\ufeff"
_MOST_VALUES: Final = 20_000
_NUMBER: Final = re.compile(r"(?!(?<=\b[csCS])2[csCS]\b)\d(?:[\d:.,TZ+/-]*\d)?|\b[0-9a-fA-F]{8,}\b")
_TIMES: Final = re.compile(r"(?i)@?(?:time|time_?stamp|ts|at|date|date_?time|started_?date_?time)")


@lru_cache(1 << 12)
def _shared(clue: str) -> str:
    """Return one of equal texts: a log has the same ones in each line."""
    return clue


def shape_of(words: str) -> str:
    """Return words with `#` for each number, time and hexadecimal name."""
    return _shared(_NUMBER.sub("#", words).strip())


_Read: TypeAlias = "tuple[int, Iterable[FoundMessage]]"
"""Where something that was read ends, and its messages."""


class MessageFinder:
    """Finds the messages of one text, in their order."""

    def __init__(self, text: str, depth: int = 0) -> None:
        self.values: list[tuple[int, int]] = []
        """Where the values are, the first ones."""
        self.is_one_value = False
        """Whether the text is a value that holds messages, and nothing else."""
        self._text = text
        self._depth = depth
        self._tries = 4 * len(text) + _DEEP
        """Characters that may still be read in vain."""
        bare = text.strip(_SPACE)
        first = len(text) - len(text.lstrip(_SPACE))
        self._whole = first, first + len(bare)
        self._mark = -1
        """Where the mark is that was found last."""
        self._line = 0
        """Where the line begins that is searched."""
        self._tried = -1
        """The line in which something was tried when nothing was left to be read in vain."""

    def __iter__(self) -> Iterator[FoundMessage]:
        at = after = 0 if _MARK.search(self._text) else len(self._text)
        while (match := _BEGINS.search(self._text, at)) is not None:
            start = match.start()
            self._line = self._text.rfind("\n", at, start) + 1 or self._line
            words = self._text[max(self._line, after, start - _WORDS) : start].strip(_SPACE)
            context = _Context((shape_of(words),))
            found = self._layer(match, context) or self._value(start, context)
            found = found or self._printed(start, context)
            at = match.end()
            if found is not None:
                at, messages = found
                for one in messages:
                    after = at
                    yield one

    def _layer(self, match: re.Match[str], context: _Context) -> _Read | None:
        """Read a quoted text that begins here."""
        name, start = match.lastgroup or "", match.start()
        if name not in LAYERS:
            return None
        body = _BODIES[name].match(self._text, start)
        end = max(match.end(), body.end() if body is not None else 0)
        return end, self._quoted(start, end, name, context)

    def _value(self, start: int, context: _Context) -> _Read | None:
        """Read a JSON value that begins here."""
        end = self._end(start) if _VALUES.match(self._text, start) else None
        if end is None:
            return None
        if len(self.values) < _MOST_VALUES:
            self.values.append((start, end))
        if (plain := self._between(start, end)) is not None:
            return end, self._nested(_Printed(end, plain), start, context)
        return end, self._walk(start, end, context) if self._has_mark(start, end) else ()

    def _printed(self, start: int, context: _Context) -> _Read | None:
        """Read what is no JSON value as it stands, but was made of one."""
        if (lines := self._prefixed(start)) is not None:
            return lines.end, self._nested(lines, start, context)
        if (literal := self._literal(start)) is not None:
            return literal.end, self._nested(literal, start, context.below("literal", "="))
        body = _BODIES["bytes"].match(self._text, start - 1) if start else None
        if body is not None and "\\" in body[0]:
            return body.end(), self._quoted(start - 1, body.end(), "bytes", context)
        if _TORN.match(self._text, start):
            end, text = self._torn(start)
            return end, (FoundMessage(start, end, text, context.clues, is_torn=True),)
        return None

    def _between(self, start: int, end: int) -> str | None:
        """Return a value without the escapes of what stands directly around it; None for none."""
        around = self._text[max(0, start - 1) : start] + self._text[end : end + 1]
        if around not in ("''", "><") or not self._has_mark(start, end):
            return None
        text = self._text[start:end]
        if around == "''":
            return text.replace("''", "'") if "''" in text and _ALL_TWICE.fullmatch(text) else None
        return html.unescape(text) if "&" in text and "<" not in text else None

    def _torn(self, start: int) -> tuple[int, str]:
        """Return where a message that cannot be read ends, and its text: the rest of its line.

        That of an event goes on in the next lines.
        """
        end = _LINE.match(self._text, start)
        parts, at = [end[0]] if end else [], end.end() if end else start
        while self._text.startswith("data:", self._line) and (more := _DATA.match(self._text, at)):
            parts.append(more[1])
            at = more.end()
        return at, "\n".join(parts)

    def _next_mark(self, start: int) -> int:
        """Return where the next mark is; no part of the text is searched twice."""
        if self._mark < start:
            match = _MARK.search(self._text, start)
            self._mark = match.start() if match is not None else len(self._text) + _LONGEST_LITERAL
        return self._mark

    def _has_mark(self, start: int, end: int) -> bool:
        return _MARK.search(self._text, start, end) is not None

    # -- within a value

    def _walk(
        self, start: int, end: int, context: _Context, level: int = 0
    ) -> Iterator[FoundMessage]:
        """Yield the messages of a valid JSON value."""
        text = self._text
        if text[start] == '"':
            yield from self._quoted(start, end, "string", context)
        if text[start] not in "[{" or level > _DEEPEST:
            return
        is_object, is_whole = text[start] == "{", level == 0 and (start, end) == self._whole
        spans = (
            [(name, s, e) for name, _, _, s, e in member_spans(text, start)]
            if is_object
            else [("*", s, e) for s, e in item_spans(text, start)]
        )
        is_inside = bool(level or self._depth or context.clues[0])
        if is_object and self._is_message(spans, strict=is_inside):
            found = self._with_meta(spans, context, start, end)
            yield found._replace(head=self._head(spans))
            return
        self.is_one_value |= is_whole
        if is_object and is_whole and is_result({name for name, s, _ in spans if text[s] != "{"}):
            return
        is_sent = not is_object and level == 0 and not (is_whole and self._depth == 0)
        if is_sent and all(self._is_message(self._members(s)) for _, s, _ in spans):
            head = self._head(self._members(spans[0][1])) if spans else {}
            yield context.found(start, end, text[start:end])._replace(head=head)
            return
        marked = {s for _, s, e in spans if e - s > _TINY and self._has_mark(s, e)}
        if is_object or len(spans) <= _MOST_BESIDE:
            context = context.beside(
                (name, text[s:e]) for name, s, e in spans if s not in marked and e - s < _SHORT
            )
        for name, s, e in spans:
            if s in marked:
                yield from self._walk(s, e, context.below(name), level + 1)

    def _with_meta(
        self, spans: list[tuple[str, int, int]], context: _Context, start: int, end: int
    ) -> FoundMessage:
        """Return a message, without the `_meta` into which a recorder wrote what it knows."""
        text = self._text[start:end]
        meta = next((s for name, s, _ in spans if name == "_meta"), None)
        if meta is not None and self._text[meta] == "{":
            about = context.beside((name, self._text[s:e]) for name, s, e in self._members(meta))
            if any(map(marks_of, about.clues)):
                return about.found(start, end, without_member(text, "_meta"))
        return context.found(start, end, text)

    def _members(self, start: int) -> list[tuple[str, int, int]]:
        if self._text[start] != "{":
            return []
        return [(name, s, e) for name, _, _, s, e in member_spans(self._text, start)]

    def _head(self, spans: list[tuple[str, int, int]]) -> JsonObject:
        return {
            name: json.loads(self._text[s:e])
            if name in ("id", "method")
            else None
            if self._text[s:e] == "null"
            else True
            for name, s, e in spans
        }

    def _is_message(self, spans: list[tuple[str, int, int]], *, strict: bool = True) -> bool:
        values = {name: slice(s, e) for name, s, e in spans}
        method = self._text[values.get("method", slice(0))]
        error = self._text[values.get("error", slice(0))]
        return _has_members(
            values.keys(),
            method if method[:1] == '"' else None,
            error if error != "null" else None,
            strict=strict,
        )

    # -- within what is quoted

    def _quoted(self, start: int, end: int, name: str, context: _Context) -> Iterator[FoundMessage]:
        if self._depth >= _MOST_QUOTED:
            return
        quoted = self._text[start:end]
        try:
            inner = json.loads(quoted) if name == "string" else LAYERS[name][2](quoted)
        except (ValueError, SyntaxError, zlib.error):
            return
        printed = _Printed(end, inner, is_whole=name in _WHOLE)
        yield from self._nested(printed, start, context.below(name, "="))

    def _nested(self, printed: _Printed, start: int, context: _Context) -> Iterator[FoundMessage]:
        """Yield the messages of a text that is quoted at `start`."""
        inner = printed.text
        found = list(MessageFinder(inner, self._depth + 1))
        if printed.is_whole and len(found) == 1 and not inner[: found[0].start].strip():
            rest = inner[found[0].end :]
            is_torn = found[0].is_torn and not found[0].clues[0]
            if rest.strip() and (is_torn or not rest[0].isspace()):  # it was sent, and is wrong
                found = [found[0]._replace(text=inner.strip())]
        for one in found:
            yield one._replace(
                start=start,
                end=printed.end,
                clues=(context.clues[0] or one.clues[0], *context.clues[1:], *one.clues),
                inner=one.start,
                at=one.at or context.at,
                is_cut=printed.is_cut or one.is_cut,
            )

    # -- where a value ends

    def _end(self, start: int) -> int | None:
        """Return where the JSON value ends that begins here; None if there is none."""
        until = len(self._text)
        if self._tries <= 0:  # only a value on one line, and only the first one of each line
            if self._tried == self._line:
                return None
            self._tried = self._line
            until = self._text.find("\n", start) % (until + 1)
        length = self._length(lambda size: self._text[start : min(start + size, until)])
        return start + length if length else None

    def _length(self, window_of: Callable[[int], str]) -> int:
        """Return the length of the JSON value at the start of a text, 0 if there is none.

        `window_of` returns the first characters of that text.
        """
        for size in _WINDOWS:
            window = window_of(size)
            try:
                return _DECODER.raw_decode(window)[1]
            except json.JSONDecodeError as error:
                is_cut = error.msg.startswith("Unterminated") or error.pos > size - _PER_TRY
                self._tries -= (len(window) if is_cut else error.pos) + _PER_TRY
                if len(window) < size or not is_cut:
                    return 0
            except ValueError:  # an integer of more than 4300 digits
                self._tries -= len(window)
                end = closed_at(window, 0)
                if end > 0 or len(window) < size:
                    return max(0, end)
            except RecursionError:
                self._tries -= _DEEP
                return 0
            if self._tries <= 0:
                return 0
        return 0

    def _prefixed(self, start: int) -> _Printed | None:
        """Read a value whose further lines begin with the same words as its first."""
        prefix = self._text[self._line : start]
        first = self._text.find("\n", start)
        if not prefix.strip() or len(prefix) > _WORDS or first < 0 or self._tries <= 0:
            return None
        same = re.compile(r"[\d:.,TZ+/a-fA-F-]{1,40}".join(map(re.escape, _NUMBER.split(prefix))))
        if not same.match(self._text, first + 1):
            return None
        ends: list[int] = []

        def joined(size: int) -> str:
            parts, at = [self._text[start:first]], first
            ends[:] = [first]
            while at - start < size and (match := same.match(self._text, at + 1)) is not None:
                at = self._text.find("\n", match.end())
                at = len(self._text) if at < 0 else at
                parts.append(self._text[match.end() : at])
                ends.append(at)
            return "\n".join(parts)

        length = self._length(joined)
        if not length:
            return None
        whole = joined(1 << 30 if length > _WINDOWS[0] else _WINDOWS[0])[:length]
        return _Printed(ends[whole.count("\n")], whole)

    def _literal(self, start: int) -> _Printed | None:
        """Read an object as a program prints it; JSON with a mistake stays as it is."""
        if self._tries <= 0 or self._next_mark(start) >= start + _LONGEST_LITERAL:
            return None
        window = self._text[start : start + _LONGEST_LITERAL]
        opens = window.index("(") if window[0] not in "[{" else 0
        end = closed_in(_ANY_QUOTES.finditer(window, opens))
        self._tries -= end if end > 0 else len(window)
        whole = window[: max(end, 0)]
        if not _ENVELOPE.search(whole) or _AS_JSON.match(whole):
            return None
        plain = _CALL.sub(lambda one: one[1] or ("}" if one[0] == ")" else "{"), whole)
        plain = re.sub(r"(?<=[{,])(\s*+):(?=\w++ ?=>)", r"\1", plain)
        kept = _LEFT_OUT.sub(lambda one: "[]" if "Array" in one[0] else "{}", plain)
        reading = read_json(kept)
        if not reading.readable or not isinstance(reading.value, dict | list):
            return None
        return _Printed(start + end, reading.json, kept != plain)
