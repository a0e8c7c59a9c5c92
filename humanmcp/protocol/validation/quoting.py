"""Undo what programs do to a JSON text when they write it into another text.

`LAYERS` has a row for each way of quoting, whoever uses it: how it begins, how far it reaches, and
how it is undone. `FILE_LAYERS` has what was done to a whole file, and what leaves no bracket to be
seen: it is undone where messages are torn or may be hidden, and believed if more can be read then.
`as_json` reads an object as other languages print it.
"""

from __future__ import annotations

import ast
import base64
import html
import json
import re
import zlib
from collections import Counter
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import unquote_plus

from humanmcp.protocol.json.jsonrpc import as_json as as_text

if TYPE_CHECKING:
    from collections.abc import Callable

_MOST: Final = 1 << 25
"""The maximum number of bytes of all that is packed in a file."""
_DECODER: Final = json.JSONDecoder(parse_int=float)
_UTF8: Final = ("utf-8", "surrogateescape")


class Layer(NamedTuple):
    """A way of quoting: how it begins, all of it, and how it is undone.

    `undone` may raise ValueError or SyntaxError. `is_whole`: its end is certain, so
    what stands behind a message in it was sent, too.
    """

    begins: str
    body: str
    undone: Callable[[str], str]
    is_whole: bool = False


def _unescaped(quoted: str) -> str:
    r"""Undo `\"`. Some programs write the bytes of a letter: `\303\266`, `\xC3\xB6`."""
    if "\\" not in quoted:
        return quoted
    with suppress(ValueError):
        return str(json.loads(f'"{quoted}"', strict=False))
    text = _ESCAPE.sub(_character, quoted)
    with suppress(UnicodeError):
        return text.encode("latin-1").decode() if quoted.isascii() else text
    return text


_ESCAPE: Final = re.compile(
    r"\\(?:x([\da-fA-F]{2})|u([\da-fA-F]{4})|U(00(?:0[\da-fA-F]|10)[\da-fA-F]{4})"
    r"|([0-3]?[0-7]{1,2})|(.))",
    re.DOTALL,
)


def _character(escape: re.Match[str]) -> str:
    *digits, octal, letter = escape.groups()
    if letter:
        return {"n": "\n", "r": "\r", "t": "\t"}.get(letter, letter)
    return chr(int(octal, 8) if octal else int("".join(filter(None, digits)), 16))


def _unquoted(quoted: str) -> str:
    """Undo single quotes, as SQL, a shell, YAML or Python writes them: the way that gives JSON."""
    if quoted[-1] != "'":
        return quoted
    inner = quoted[1:-1]
    single = inner.replace("'\\''", "'").replace("''", "'")
    ways = (str, lambda _: single, lambda _: re.sub(r"\s*\n\s*", " ", single), _unescaped)
    # Where all are doubled, it is mostly JSON as it stands, too, with backslashes in its words.
    is_escaped = "\\" in inner and not _ODD.search(inner)
    for undone in reversed(ways) if is_escaped else ways:
        try:
            text = undone(inner)
            _DECODER.raw_decode(text.lstrip())
        except (ValueError, RecursionError):
            continue
        return single if text == inner and re.fullmatch("(?:[^']|'')*+", inner) else text
    return quoted


_ODD: Final = re.compile(r"(?<!\\)(?:\\\\)*+\\(?!\\)")


def _from_base64(quoted: str, most: int) -> bytes:
    plain = "".join(quoted.split()).translate({ord("-"): "+", ord("_"): "/"}).rstrip("=")
    packed = base64.b64decode(plain + "=" * (-len(plain) % 4))
    if packed.startswith(b"\x1f\x8b"):
        packed = zlib.decompressobj(31).decompress(packed, most)
    return packed


_OPEN: Final = r"(?<=[\[{])\s*+"
LAYERS: Final = {
    "escaped": Layer(rf'{_OPEN}(?:\\+n\s*+)*+\\+(?:"|x22|0?42)', r'(?:[^"\\\n]|\\.)*+', _unescaped),
    "doubled": Layer(
        rf'{_OPEN}""\w', r'(?:[^"]|"")*+', lambda text: text.replace('""', '"'), is_whole=True
    ),
    "entity": Layer(
        rf"{_OPEN}&(?:quot|\#34|\#x22);", r"[^<\n]*+(?:\n[\s}\]][^<\n]*+)*+", html.unescape
    ),
    "markup": Layer(
        r"""(?<=[\w"'/]>)\s*+(?=[\[{])""", r">[^<]*+", lambda text: html.unescape(text[1:])
    ),
    "bytes": Layer(
        r"(?<=b')(?=[\[{]|data:|event:)",
        r"'(?:[^'\\\n]|\\.)*+'?",
        lambda text: ast.literal_eval(f"b{text}").decode(*_UTF8),
        is_whole=True,
    ),
    "quoted": Layer(r"(?<=')(?=\s*+[\[{])", r"'(?:[^'\\]|\\.|''|'\\'')*+'?", _unquoted),
}
"""The layers of which a bracket or a quote shows where they begin."""
_VALUE: Final = (
    r"""(?<=\{)(?=[ \t]*+[\r\n]|\s*+(?:["}]|$))"""
    r"""|(?<=\[)(?<!\w\[)(?=[ \t]*+[\[{"\r\n]|\s*+(?:\d+(?:\.\d+)?,|$))"""
)
_LITERAL: Final = (
    r"(?<=[\[{])(?=\s*+(?:['“]|\"\w++\" =>|:?[A-Za-z_]\w*+\s*+[:=]))"
    r"|(?<=\()(?=\w++=|\s*+['\"\w]++ =>)"
)
OPENER: Final = re.compile(
    r"[\[{'>(](?:"
    + "|".join(f"(?P<{name}>{layer.begins})" for name, layer in LAYERS.items())
    + f"|(?P<value>{_VALUE})|(?P<literal>{_LITERAL}))"
)
"""Where a value may begin, quoted or not."""


MARK: Final = re.compile(r"jsonrpc|method\W|result\W|error\W")
"""What is within each message and each quoted one. A set of first characters makes it fast."""


# -- what is done to a whole file ------------------------------------------------------------------


class FileLayer(NamedTuple):
    """What a program did to a whole file: what shows it, and how it is undone.

    `undone` keeps the number of lines: a run of them that belong together becomes the first.
    `is_hidden`: what is read without it shows nothing of it.
    """

    mark: re.Pattern[str]
    undone: Callable[[str], str]
    is_hidden: bool = False


def _each(mark: str, pattern: str, said: str | Callable[[re.Match[str]], str]) -> FileLayer:
    written = re.compile(pattern, re.MULTILINE)
    return FileLayer(re.compile(mark, re.DOTALL), lambda text: written.sub(said, text))


def _packed(mark: str, pattern: str, undone: Callable[[str, int], bytes]) -> FileLayer:
    """Return a way of packing: how `jsonrpc` looks in it. It becomes a text in JSON."""
    marked, packed = re.compile(mark), re.compile(pattern)

    def unpacked(file: str) -> str:
        left = _MOST

        def said(found: re.Match[str]) -> str:
            nonlocal left
            text = found[0].strip("[]")
            if left > 0 and marked.search(text):
                with suppress(ValueError, zlib.error):
                    content = undone(text, left)
                    left -= len(content)
                    plain = as_text(content.decode(*_UTF8))
                    return (plain if text != found[0] else plain[1:-1]) + "\n" * text.count("\n")
            return found[0]

        return packed.sub(said, file)

    return FileLayer(marked, unpacked, is_hidden=True)


def _joined(run: re.Match[str], between: str) -> str:
    text = re.sub(between, "", run[0])
    return text + "\n" * (run[0].count("\n") - text.count("\n"))


def _rejoined(mark: str, between: str) -> FileLayer:
    """Return a way of writing a text in parts, with something between them."""
    return _each(mark, f"^(?:.*{between})+.*", lambda run: _joined(run, between))


def _unfolded(text: str) -> str:
    """Join the lines that a terminal broke at its width."""
    wide = re.finditer(rf"(?m)^.{{{_NARROWEST},}}", text)
    sizes = Counter(line.end() - line.start() for line in wide)
    width = max(sizes, default=0)
    if sizes[width] < _MOST_CHANCE:
        return text
    broken = re.compile(rf"(?m)(?:^.{{{width}}}\n{_GOES_ON})+.*")
    return broken.sub(lambda run: _joined(run, _BREAK), text)


def _signed(run: re.Match[str]) -> str:
    """Undo quoted-printable: a line that ends with a sign goes on, and `=22` is a byte."""
    text = _joined(run, "=\r?\n")
    return _SIGNED.sub(lambda one: bytes.fromhex(one[0].replace("=", "")).decode(*_UTF8), text)


def _rich(sign: re.Match[str]) -> str:
    """Return what stands for itself in a formatted document, and nothing of how it looks."""
    byte, code, kept = sign.groups()
    known = bytes.fromhex(byte or "").decode("cp1252", "replace") or kept or ""
    return chr(int(code)) if code else known


def _undumped(run: re.Match[str]) -> str:
    """Return the bytes of a table of digits; its offsets say how many a line has."""
    table = run[0]
    first, *others = islice(_ROW.finditer(table), 2)
    width = int(others[0][1], 16) - int(first[1], 16) if others else len(first[2])
    found = b"".join(bytes.fromhex(row[2])[:width] for row in _ROW.finditer(table))
    text, lines = found.decode(*_UTF8).replace("\r", ""), table.count("\n")
    text = text.replace("\n", " ", max(0, text.count("\n") - lines))
    return text + "\n" * (lines - text.count("\n"))


_NARROWEST: Final = 40
"""The least width of a terminal whose lines are joined."""
_BREAK: Final = "\n(?: {4,})?"
"""A table of names and values indents where it goes on."""
_GOES_ON: Final = r"""(?!(?<=[}\]]\n)[^,}\]\s"'\\])"""
"""What stands behind a bracket in JSON, also on the next line of a terminal."""
_MOST_CHANCE: Final = 3
"""So many lines have the full width of a terminal, and not by chance."""
_SIGNED: Final = re.compile("(?:=[0-9A-F]{2})+")
_INLINE: Final = "(?:span|font|mark|em|b|i)"
"""The tags with which a page colours a text."""
_CHUNK: Final = r"\r?\n[0-9a-fA-F]{1,6}\r?\n"
_GAP: Final = r"(?::[ \t]++|[ \t]{2,4})"
_ROW: Final = re.compile(
    rf"^[ \t]*+(?:0x)?([0-9a-fA-F]{{4,16}}){_GAP}"
    r"((?:[0-9a-fA-F]{2}){1,2}\b(?:[ ]{1,2}(?:[0-9a-fA-F]{2}){1,2}\b)*+).*",
    re.MULTILINE,
)
FILE_LAYERS: Final = (
    _each(f"6[aA] ?73 ?6[fF] ?6[eE]|0000{_GAP}[0-9a-fA-F]", rf"(?:{_ROW.pattern}\n?)++", _undumped),
    _packed(
        "anNvbnJwY|pzb25ycG|qc29ucnB|H4sI",
        r"""(?:(?:[\w+/-]{60,}+[ \t\r]*+\n\s*+(?=[\w+/-]{2,}+={0,2}[ \t\r]*+(?:[\n\]<"']|$)))++"""
        r"[\w+/-]{2,}+|[\w+/-]{8,}+)={0,2}",
        _from_base64,
    ),
    _packed(
        r"106\W{1,2}115\W{1,2}111\W{1,2}110\W{1,2}114\W",
        r"\[[\d, \n]++\]",
        lambda text, _: bytes(map(int, re.findall(r"\d+", text))),
    ),
    _packed(
        r"6[aA](?:\W{0,2}(?:0x)?(?:73|6[eEfF]|72|70)){5}\W{0,2}(?:0x)?63",
        r"(?:(?:0x)?[0-9a-fA-F]{2}(?:,\s|[: -])?){8,}+",
        lambda text, _: bytes.fromhex(re.sub(r"0x|\W", "", text)),
    ),
    _rejoined(r"\n[0-9a-fA-F]{1,6}\r?\n", _CHUNK),
    _rejoined(r'"\n', r'"[ \t]*\n[ \t]*"'),
    _each("[{[]#01[12]", "#01[12]", " ")._replace(is_hidden=True),
    _each(r"=22|=\r?\n", r"(?:^.*=\r?\n)*.*", _signed),
    *(_each(between, between, "") for between in ("', b'", """'"(?=')""")),
    _each(f"</{_INLINE}>", rf"</?{_INLINE}\b[^<>]*>", ""),
    FileLayer(re.compile(r"\{"), _unfolded),
    *(_each(f'{sign}"', f"{sign}(.)", r"\1") for sign in (r"\^", "`")),
    _each(r'\\\\["n]', r"\\\\", r"\\"),
    _each(r"\\\|", r"\\\|", "|"),
    _each(r"\\\{", r"\\(?:'([0-9a-f]{2})|u(\d{1,5})\b ?\??|([{}\\])|[a-z]+\d* ?|$)", _rich),
    _each('<<"', r'<<(?=")|(?<=")(?:/utf8)?>>', ""),
    _each(r"\{:\w+ ", r"(?<=[{ ]):([A-Za-z]+)(?= )", r"\1:"),
    FileLayer(
        re.compile("%(?:25)*22"),
        lambda text: unquote_plus(re.sub("%(?:25)*(0[ADad])?", _percent, text), *_UTF8),
    ),
)
"""What is undone if then more messages can be read in the file."""


def _percent(sign: re.Match[str]) -> str:
    return " " if sign[1] else "%"


# -- notations of other languages -----------------------------------------------------------------


_WORDS: Final = {
    **dict.fromkeys(("None", "nil", "null", "undef", "undefined", "NULL", "Null"), "null"),
    **{word: word.lower() for word in ("True", "true", "TRUE", "False", "false", "FALSE")},
}
_TEXT: Final = r""""(?:[^"\\]|\\.)*+"|'(?:[^'\\]|\\.)*+'|“[^”]*+”"""
_QUOTES: Final = ('"', "'", "“")
_SPECIAL: Final = re.compile(r"""["'\\]""")
_PAIR: Final = r"""\s*+(?:'\w++'|"\w++")(?: =>|\s*+:)"""
_TOKEN: Final = re.compile(
    rf"(?P<text>(?:\b[bu])?(?:{_TEXT})(?:\s++(?:{_TEXT}))*+)"
    r"|(?P<left_out>\[(?:Object|Array|Circular|Function)\b[^\]\n]{0,80}+\]|\{…\}|\[…\]|…"
    r"|\.\.\.(?: ?\d+ more items?)?)"
    rf"|(?P<list>(?:\b[^\W\d]\w*+\s*+)?\((?=\s*+\d+ =>)"
    rf"|(?:\bArray )?\[(?!{_PAIR}|:\])|\{{(?=\s*+\{{))"
    r"|(?P<object>(?:%|#|\b[^\W\d]\w*+\s*+)?\{"
    rf"|\[(?={_PAIR})|\[:(?=\])|(?:\b[^\W\d]\w*+\s*+)?\((?=\s*+(?:\w++\s*+=|\))|{_PAIR}))"
    r"|(?P<call>\b\w++\()|(?P<close>[)}\]])"
    r"|(?P<colon>=>|[:=](?![A-Za-z_]\w*+ ?=>))"
    r"|(?P<dropped>,(?=\s*+(?:\.\.\.|[…)}\]]))|\b\d++\s*+=>)"
    r"|(?P<name>:?\b[A-Za-z_$][\w$]*+(?=\s*+(?:=>|[:=])))|(?P<word>\b[A-Za-z]\w*+)"
    r"|(?P<number>[-+.\deE]++)|(?P<comma>,)|\s++",
    re.DOTALL,
)
_VALUES: Final = frozenset({"text", "left_out", "list", "object", "call", "word", "number"})
_ENDS: Final = frozenset({"text", "left_out", "close", "word", "number"})
"""What ends a value: where another one begins behind it, the value was never closed."""
_CLOSERS: Final = {"list": "]", "object": "}", "call": ""}
_AS_JSON: Final = re.compile(
    r"""(?!\[\s*+"\w++"\s*+:)[\[{\s]*+"(?:[^"\\]|\\.)*+"\s*+(?!=>|:\s*+[A-Z]\w*+[({ ])""", re.DOTALL
)
"""JSON, whatever mistake it has."""


def as_json(text: str, start: int, most: int) -> tuple[int, str, bool]:
    """Write an object in the notation of another language as JSON, with its white space.

    Returns up to where it was read, its JSON, "" if it cannot be read, and whether the program left
    out a part. `most` is the maximum number of characters to read.
    """
    parts, closers, at, is_cut = list[str](), list[str](), start, False
    until = min(len(text), start + most)
    if found := _AS_JSON.match(text, start, until):
        return found.end(), "", False
    with suppress(ValueError, RecursionError):
        plain = _with_double_quotes(text[start : start + _LINE].partition("\n")[0])
        length = _DECODER.raw_decode(plain)[1]
        return start + length, plain[:length], False
    before = ""
    while token := _TOKEN.match(text, at, until):
        kind, part = token.lastgroup or "", token[0]
        if before in _ENDS and kind in _VALUES:
            break
        at, before = token.end(), kind or before
        if kind in _CLOSERS:
            closers.append(_CLOSERS[kind])
            part = {"]": "[", "}": "{"}.get(closers[-1], "")
        elif kind == "close":
            part = closers.pop()
        else:
            is_cut |= kind == "left_out"
            part = _token_as_json(kind, part)
        parts.append(part)
        if not closers:
            return at, "".join(parts), is_cut
    return until if text[at : at + 1] in _QUOTES else at, "", False


def _token_as_json(kind: str, part: str) -> str:
    if kind == "text":
        return _text_as_json(part)
    if kind == "name":
        return as_text(part.lstrip(":"))
    if kind == "word":
        return _WORDS.get(part, part)
    if kind == "left_out":
        return "" if part[0] in ".…" else "[]" if part in ("[Array]", "[…]") else "{}"
    return {"colon": ":", "dropped": ""}.get(kind, part)


_LINE: Final = 1 << 12
"""The maximum length of a line that is tried as a whole."""


def _with_double_quotes(line: str) -> str:
    """Return what Python printed as JSON: most texts need no more than other quotes."""
    if '"' in line or "\\" in line:
        return ""
    pieces = line.split("'")
    words = "\0".join(pieces[::2]).replace("None", "null")
    pieces[::2] = words.replace("True", "true").replace("False", "false").split("\0")
    return '"'.join(pieces)


def _text_as_json(text: str) -> str:
    r"""Write a text as JSON; Python writes a long one in pieces, others escapes such as `\x1b`."""
    if text[0] == '"':
        with suppress(ValueError):
            _DECODER.decode(text)
            return text
    if text[0] == "'" and text.isprintable() and not _SPECIAL.search(text, 1, len(text) - 1):
        return f'"{text[1:-1]}"'
    return as_text("".join(_unescaped(piece[1:-1]) for piece in re.findall(_TEXT, text, re.DOTALL)))
