# ruff: noqa: RUF001 - full-width and curly characters are what this is about
"""Read almost-JSON: offsets, white space, punctuation, strings and numbers.

A string ends at a quote that is followed by something that may follow a string, else at the end of
its line. `parser.py` reads objects and lists.
"""

from __future__ import annotations

import json
import math
import re
import unicodedata
from bisect import bisect_left
from dataclasses import dataclass, field
from functools import cache
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

from humanmcp.protocol.diagnostics import kinds
from humanmcp.protocol.diagnostics.model import Applicability, TextEdit
from humanmcp.protocol.diagnostics.problem import RawDiagnostic, shown
from humanmcp.protocol.json.encodings import half_characters
from humanmcp.protocol.json.jsonrpc import as_json

if TYPE_CHECKING:
    from humanmcp.protocol.diagnostics.problem import ProblemKind

SPACES: Final = " \t\r\n"
WIDE_SPACE: Final = "\u3000"
UNSEEN: Final = "\xa0\u200b\u200c\u200d\u2060\ufeff\u2002\u2003\u2009\u202f\u2028\u2029\x85\x0b\x0c"
BLANKS: Final = SPACES + WIDE_SPACE + UNSEEN
"""What `RepairScanner.space` skips; `str.strip` takes other characters, too."""
WIDE: Final = {
    **{chr(0xFF01 + i): chr(0x21 + i) for i in range(94)},  # full-width ASCII characters
    "、": ",",
    "，": ",",
    "：": ":",
    "；": ";",
    "【": "[",
    "】": "]",
}
CORNERS: Final = {"「": "[", "」": "]", "『": "{", "』": "}"}
"""What a Japanese input method types for `[` `]` `{` `}`, unless it is a quote."""
_OPENERS: Final = re.compile(
    r"""\s*(?:[{\[｛［【「『"'“”＂＇」]|(?:[\d０-９+\-－ー−]|true|false|null)[^」\n]*[,、，])"""
)
_NAMES: Final = re.compile(r"""\s*(?:["'“”＂＇「』]|[\w$\-]+\s*[:：=])""")
_CORNER_OPENS: Final = {"「": _OPENERS, "『": _NAMES}
_ENOUGH: Final = 10
"""The maximum number of mistakes of any other kind that are reported one by one."""


@dataclass(slots=True)
class JsonMistake:
    """One mistake, or all of a kind: the fillings of its sentence, its place, and its edits."""

    diagnostic: RawDiagnostic
    start: int
    end: int
    label: str
    applicability: Applicability
    edits: list[TextEdit] = field(default_factory=list)
    count: int = 0

    @property
    def times(self) -> int:
        """The number of times it was found, if the sentence says it."""
        kind = self.diagnostic.kind
        return 1 if kind.everywhere or kind is kinds.unclosed_bracket else self.count


def _label(kind: ProblemKind, edits: tuple[TextEdit, ...]) -> str:
    """Return the label of a fix by what its edit does."""
    if edits and not edits[0].new:
        return "delete"
    if edits and edits[0].start == edits[0].end:
        return "insert"
    return "replace_all" if kind.everywhere else "replace"


class UnrepairableError(Exception):
    """No safe fix is possible from here on."""


@dataclass(slots=True)
class RepairScanner:
    """The text, the offset that was read last, and the mistakes so far."""

    text: str
    at: int = 0
    edits: list[TextEdit] = field(default_factory=list)
    notes: dict[object, list[JsonMistake]] = field(default_factory=dict)
    """The mistakes of each kind, in the order of the text."""
    saturated: dict[object, JsonMistake] = field(default_factory=dict)
    """For each kind that has too many mistakes: the last one, which represents the rest."""

    # -- notes ----------------------------------------------------------------------------------

    def mistakes(self) -> list[JsonMistake]:
        """The mistakes in the order of the text."""
        return sorted(chain.from_iterable(self.notes.values()), key=lambda each: each.start)

    def mistake(
        self, kind: ProblemKind, start: int, end: int, edits: tuple[TextEdit, ...], **fields: str
    ) -> JsonMistake:
        """Report a mistake; mistakes of a kind that is all over a text become one."""
        note = self.saturated.get(kind)
        if note is None:
            detail = tuple((name, shown(text)) for name, text in fields.items())
            diagnostic = RawDiagnostic(kind, detail, severity=kind.severity)
            label = kind.label or _label(kind, edits)
            note = JsonMistake(diagnostic, start, end, label, kind.applicability)
            notes = self.notes.setdefault(kind, [])
            notes.append(note)
            if kind.everywhere or len(notes) == _ENOUGH:
                self.saturated[kind] = note
        self.edits += edits
        note.edits += edits
        note.count += 1
        return note

    def swap(self, kind: ProblemKind, start: int, end: int, new: str, **fields: str) -> JsonMistake:
        """Report a mistake that is fixed by replacing its characters with `new`."""
        return self.mistake(kind, start, end, (TextEdit(start, end, new),), **fields)

    def take_back(self, edit: TextEdit) -> None:
        """Remove a recent edit."""
        at = len(self.edits) - 1
        while self.edits[at] is not edit:  # from the end: there may be thousands before it
            at -= 1
        del self.edits[at]

    def peek(self) -> str:
        """Return the next character, "" at the end."""
        return self.text[self.at : self.at + 1]

    # -- white space ----------------------------------------------------------------------------

    def space(self) -> str:
        """Skip white space, and characters that stand for it; return the next character."""
        while char := self.peek():
            if char in SPACES:
                self.at += 1
            elif char == WIDE_SPACE:
                self.swap(kinds.full_width_space, self.at, self.at + 1, " ")
                self.at += 1
            elif char in UNSEEN:
                shown = f"U+{ord(char):04X}"
                self.swap(kinds.invisible_character, self.at, self.at + 1, " ", char=shown)
                self.at += 1
            elif char not in "/#" or not self._comment(char):
                break
        return self.mark()

    def _comment(self, char: str) -> bool:
        text, start = self.text, self.at
        if text.startswith("/*", start):
            end = text.find("*/", start + 2)
            end = len(text) if end < 0 else end + 2
        elif text.startswith("//", start) or char == "#":
            end = text.find("\n", start)
            end = len(text) if end < 0 else end
        else:
            return False
        self.at = start + len(text[start:end].rstrip(BLANKS))
        self.swap(kinds.comment_in_json, start, self.at, "")
        return True

    def mark(self) -> str:
        """Return the next character as the ASCII character that it stands for."""
        char = self.text[self.at : self.at + 1]
        if char.isascii():
            return char
        opens = _CORNER_OPENS.get(char)
        if char in CORNERS and (opens is None or opens.match(self.text, self.at + 1)):
            return CORNERS[char]
        return WIDE.get(char, char)

    def take_mark(self) -> None:
        """Skip one punctuation character; fix a full-width one."""
        char = self.text[self.at]
        if (half := self.mark()) != char:
            self.swap(kinds.full_width_character, self.at, self.at + 1, half, char=char, half=half)
        self.at += 1


CURLY: Final = "“”„‟〝〞″"
CURLY_SINGLE: Final = "‘’‚‛′"
QUOTES: Final = '"' + "'`" + CURLY + CURLY_SINGLE + "＂＇「『«»"
MINUS: Final = "ー−－–—‐"
"""What input methods and word processors write instead of the minus sign of a number."""
WORD: Final = re.compile(r"[^\W\d][\w$\-]*|\$[\w$\-]*")
NUMBER: Final = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?", re.ASCII)
NUMBERLIKE: Final = re.compile(rf"[+\-.\w＋．０-９{MINUS}]+")
_SUSPECT: Final = re.compile(r'[\\"\x00-\x1f\ud800-\udfff]')
_HEXES: Final = re.compile(r"[0-9a-fA-F]{4}")
_VALUE_ENDED: Final = re.compile(r"(?:-?\d[\d.eE+-]*|true|false|null)\s*(?=[,}\]])")
_BARE_TEXT: Final = re.compile(r"[^,\]}\n\r，］｝\"]+")
_LOST_QUOTE: Final = re.compile(r"""(\w[\w$/\-]*)\s*[:：](?=\s*["'{\[\-\dtfnTFN“｛［])""")
_JOINT: Final = re.compile(r"[ \t\r\n\u3000]*(?:\+[ \t\r\n]*)?")
_AFTER_A_VALUE: Final = ",]}"
"""Characters that may follow a value, like the end of the text."""
_ANY_BLANKS: Final = re.compile(rf"[{BLANKS}]*+")
_COLON: Final = re.compile(r"[ \t\r\n]{0,19}+[:：]")
_PLUS: Final = re.compile(r"""\+[ \t\r\n]*["'`]""")
_LEADING_ZERO: Final = re.compile(r"[+-]?0\d")
_TEXT: Final = r'"([^"”＂\\\x00-\x1f\ud800-\udfff]*+)"'
_BEGINS: Final = r'(?=["{\[\dtfn-])'
PLAIN_NAME: Final = re.compile(rf"{_TEXT}[ \t\r\n]{{0,19}}+:[ \t\r\n]*+{_BEGINS}", re.ASCII)
PLAIN_VALUE: Final = re.compile(
    rf"(?:{_TEXT}|-?(?:0|[1-9]\d{{0,99}})(?:\.\d{{1,99}})?|true|false|null)(?=[ \t\r\n]*+[,\]}}])",
    re.ASCII,
)
PLAIN_COMMA: Final = re.compile(rf"[ \t\r\n]*+(?:,[ \t\r\n]*+{_BEGINS}|(?=[\]}}]))", re.ASCII)
"""What is certainly right is skipped in one step: a mistake may be among a million characters."""
_MOST_TRIES: Final = 5000
"""The maximum number of quotes per document that are tried as the end of a multi-line string."""
_WRITTEN: Final = {chr(code): as_json(chr(code))[1:-1] for code in range(32)}
"""The JSON escapes of the control characters."""
_PATH: Final = re.compile(r"[A-Za-z]:\\")
LITERALS: Final = {
    "True": "true",
    "TRUE": "true",
    "False": "false",
    "FALSE": "false",
    "None": "null",
    "NULL": "null",
    "Null": "null",
    "nil": "null",
    "undefined": "null",
}
NO_NUMBERS: Final = frozenset({"NaN", "Infinity", "-Infinity", "+Infinity", "nan", "inf", "-inf"})


class Piece(NamedTuple):
    """A string: the offset of its first quote, its content, and the offset after its last quote."""

    start: int
    inner: int
    last: int
    end: int
    closed: bool = True


@dataclass(slots=True)
class ScalarReader(RepairScanner):
    """Reads values other than objects and lists."""

    line_seen: tuple[int, int] = (0, -1)
    """The start and end of the last examined line."""
    tries: int = _MOST_TRIES
    halves: list[tuple[int, int]] | None = None
    """Every half of a surrogate pair in the text, once it was searched."""

    def word(self) -> None:
        """Read `true`, `false`, `null`, their names in other languages, or unquoted text."""
        found = WORD.match(self.text, self.at)
        word = found[0] if found else ""
        start, end = self.at, self.at + len(word)
        if word in ("true", "false", "null"):
            self.at = end
        elif (half := unicodedata.normalize("NFKC", word)) in ("true", "false", "null"):
            self.swap(kinds.full_width_character, start, end, half, char=word[0], half=half[0])
            self.at = end
        elif word in LITERALS:
            meant = LITERALS[word]
            self.swap(kinds.misspelt_literal, start, end, meant, typed=word, meant=meant)
            self.at = end
        elif word in NO_NUMBERS:
            self.swap(kinds.unsupported_number, start, end, "null", value=word)
            self.at = end
        else:
            self.bare_text()

    def bare_text(self) -> None:
        """Read unquoted text where a value is expected: up to the next punctuation or line end."""
        start = self.at
        found = _BARE_TEXT.match(self.text, start)
        raw = (found[0] if found else self.peek()).rstrip()
        end = start + len(raw)
        if self.text[end : end + 1] == '"' and self._closes(end + 1, on_line=False):
            edit = TextEdit(start, start, '"')  # the first quote is missing
            self.mistake(kinds.unopened_quote, start, end, (edit,))
            self._inside(start, end, '"')
            self.close_with(end)
            return
        self.swap(kinds.unquoted_string, start, end, as_json(raw), text=raw)
        self.at = end

    def number(self) -> None:
        """Read one number, or something similar."""
        start = self.at
        plain = NUMBER.match(self.text, start)
        like = NUMBERLIKE.match(self.text, start)
        raw = like[0] if like else self.peek()
        if plain and plain[0] == raw:
            self.at = plain.end()
            if (digits := raw.removeprefix("-")).isdigit():
                if len(digits) > 4300:
                    self.swap(kinds.number_too_long, start, self.at, f'"{raw}"')
            elif math.isinf(float(raw)):
                self.swap(kinds.number_out_of_range, start, self.at, "null", value=raw)
            return
        self.at = start + len(raw)
        if raw in NO_NUMBERS:
            self.swap(kinds.unsupported_number, start, self.at, "null", value=raw)
            return
        half = "".join("-" if char in MINUS else WIDE.get(char, char) for char in raw)
        if half != raw and NUMBER.fullmatch(half):
            wide = next(char for char in raw if char not in half)
            plain_char = WIDE.get(wide, "-")
            self.swap(kinds.full_width_character, start, self.at, half, char=wide, half=plain_char)
            return
        meant = _usual_number(half)
        if meant is None:
            self.at = start
            self.bare_text()
            return
        note = self.swap(kinds.invalid_number, start, self.at, meant, value=raw, meant=meant)
        if _LEADING_ZERO.match(half):
            note.applicability = Applicability.GUESS

    # -- strings ---------------------------------------------------------------------------------

    def name(self) -> str:
        """Read the quoted name of a member; return its text, roughly, to compare names."""
        start = self.at
        piece = self.piece(start)
        if not self.is_name(piece.end) or '"' in self.text[piece.inner : piece.last]:
            lost = _LOST_QUOTE.match(self.text, piece.inner)
            if lost:  # `"error: {`: the string would include the next name
                piece = Piece(piece.start, piece.inner, lost.end(1), lost.end(1), closed=False)
        self._write([piece])
        return self._decoded(piece)

    def text_value(self) -> None:
        """Read a string and the strings that are joined to it, as Python joins adjacent strings."""
        pieces = [self.piece(self.at)]
        while (following := self._joined(pieces[-1])) is not None:
            pieces.append(following)
        self._write(pieces)

    def piece(self, start: int) -> Piece:
        """Find the end of the string that starts here, without fixing anything."""
        text = self.text
        quotes = text[start] * 3
        if quotes in ('"""', "'''") and text.startswith(quotes, start):
            end = text.find(quotes, start + 3)
            if end >= 0:
                return Piece(start, start + 3, end, end + 3)
        last, closed = self._string_end(start, text[start])
        return Piece(start, start + 1, last, last + closed, closed=closed)

    def _joined(self, before: Piece) -> Piece | None:
        """Return the string that is joined to the previous one, by nothing or by a plus sign."""
        text, end = self.text, before.end
        if not before.closed or text[end : end + 1] in _AFTER_A_VALUE:
            return None
        found = _JOINT.match(text, end)
        start = found.end() if found else end
        char = text[start : start + 1]
        if char != '"' and (not char or char not in QUOTES or char in CORNERS):
            return None
        piece = self.piece(start)
        is_value = text[piece.end : piece.end + 1] in _AFTER_A_VALUE
        return piece if is_value or not self.is_name(piece.end) else None

    def _write(self, pieces: list[Piece]) -> None:
        """Fix the quotes and the content of one string."""
        first, last = pieces[0], pieces[-1]
        self._straighten(first.start, first.inner)
        for piece, following in pairwise(pieces):
            self.swap(kinds.adjacent_strings, piece.last, following.inner, "")
        if last.closed:
            self._straighten(last.last, last.end)
        else:
            edit = TextEdit(last.last, last.last, '"')
            self.mistake(kinds.unclosed_quote, last.start, last.inner, (edit,))
        for piece in pieces:
            self._inside(piece.inner, piece.last, self.text[piece.start : piece.inner])
        self.at = last.end

    def close_with(self, at: int) -> None:
        """End a string whose first quote is missing at the quote at `at`."""
        self._straighten(at, at + 1)
        self.at = at + 1

    def _decoded(self, piece: Piece) -> str:
        raw = self.text[piece.inner : piece.last]
        if "\\" not in raw:
            return raw
        try:
            return str(json.loads(f'"{raw}"', strict=False))
        except ValueError:
            return raw

    def _straighten(self, start: int, end: int) -> None:
        quote = self.text[start:end]
        if quote == '"':
            return
        if quote in ("＂", "＇"):
            self.swap(kinds.full_width_character, start, end, '"', char=quote, half='"')
        else:
            self.swap(_kind_of_quote(quote), start, end, '"', char=quote)

    def is_minus(self) -> bool:
        """Return True if a number follows a character that stands for a minus."""
        follows = self.text[self.at + 1 : self.at + 2]
        return self.peek() in MINUS and WIDE.get(follows, follows).isdecimal()

    def _string_end(self, start: int, opener: str) -> tuple[int, bool]:
        """Return the end of the string that starts here, and whether a quote closes it there."""
        text = self.text
        line_end = self._end_of_line(start)
        for found in _stops(opener).finditer(text, start + 1):
            at = found.start()
            if text[at] == "\\":
                continue
            if self._closes(at + 1, on_line=at < line_end):
                if at > line_end and self.is_name(at + 1):
                    break  # the name of the next line: the closing quote is missing
                return at, True
            if at > line_end:
                self.tries -= 1
                if self.tries < 0:
                    break  # every unclosed string would be read to the end of the text
        return self._unclosed(start, line_end)

    def _end_of_line(self, at: int) -> int:
        """Return the end of the line at an offset; cached: a line may hold a million strings."""
        if not self.line_seen[0] <= at <= self.line_seen[1]:
            end = self.text.find("\n", at)
            self.line_seen = (at, len(self.text) if end < 0 else end)
        return self.line_seen[1]

    def _closes(self, after: int, *, on_line: bool) -> bool:
        """Return True if a quote before `after` ends its string, judged by the next characters."""
        text = self.text
        blanks = _ANY_BLANKS.match(text, after)
        after = blanks.end() if blanks else after
        follows = text[after : after + 1]
        if (
            not follows
            or follows in ",:]};#，：］｝；、=」』】"
            or text.startswith(("//", "/*"), after)
        ):
            return True
        if follows == "+" and _PLUS.match(text, after):
            return True
        if not on_line:
            return False
        # a missing comma or colon: the next string, list or object starts here
        return self._starts_value(after, follows)

    def is_name(self, after: int) -> bool:
        """Return True if a string that ends before `after` is a name: a colon follows."""
        return _COLON.match(self.text, after) is not None

    def _starts_value(self, at: int, char: str) -> bool:
        """Return True if a value plausibly starts here, rather than the text continues."""
        if char in "{[":
            return True
        if char in QUOTES:
            return self.text[at - 1] in SPACES or self.text[at - 1] == '"'
        return _VALUE_ENDED.match(self.text, at) is not None

    def _unclosed(self, start: int, line_end: int) -> tuple[int, bool]:
        """Return the probable end of a string without a closing quote."""
        line = self.text[start + 1 : line_end]
        body = line.rstrip()
        while body and body[-1] in "}],":
            body = body[:-1].rstrip()
        return start + 1 + len(body), False

    def _inside(self, start: int, end: int, opener: str) -> None:
        """Fix what JSON forbids inside a string."""
        text = self.text
        found = _SUSPECT.search(text, start, end)
        if found is None:
            return
        escapes = text.find("\\", start, end) >= 0
        whole_path = escapes and _PATH.search(text, start, end) is not None
        while found is not None:
            at, char = found.start(), found[0]
            length = 1
            if char == "\\":
                length = self._backslash(at, end, opener, whole_path=whole_path)
            elif char == '"':
                if opener in "'`":
                    self.swap(kinds.wrong_quotes, at, at + 1, '\\"', char=char)
                else:
                    self.swap(kinds.unescaped_quote, at, at + 1, '\\"')
            elif char < " ":
                new = _WRITTEN[char]
                self.swap(kinds.control_character, at, at + 1, new, written=new)
            else:
                self.swap(kinds.lone_surrogate, at, at + 1, "\ufffd", value=f"U+{ord(char):04X}")
            found = _SUSPECT.search(text, at + length, end)
        if escapes and not whole_path:  # in a path, each backslash is doubled
            self._halves(start, end)

    def _backslash(self, at: int, end: int, opener: str, *, whole_path: bool) -> int:
        """Fix one escape; return its length."""
        follows = self.text[at + 1 : at + 2] if at + 1 < end else ""
        if follows == opener and opener != '"':  # \' in a single-quoted text
            self.swap(kinds.wrong_quotes, at, at + 1, "", char=opener)
            return 2
        right = follows != "" and follows in '"\\/bfnrt'
        if follows == "u":
            right = _HEXES.fullmatch(self.text, at + 2, min(at + 6, end)) is not None
        if right and not (whole_path and follows not in ('"', "\\")):
            return 2
        self.swap(kinds.unknown_escape, at, at + 1, "\\\\", typed=f"\\{follows}")
        return 1

    def _halves(self, start: int, end: int) -> None:
        if self.text.find("\\u", start, end) < 0:
            return
        if self.halves is None:
            self.halves = half_characters(self.text)
        for at in range(bisect_left(self.halves, (start, 0)), len(self.halves)):
            first, last = self.halves[at]
            if last > end:
                break
            half = self.text[first:last]
            self.swap(kinds.lone_surrogate, first, last, "\\ufffd", value=half)


def _kind_of_quote(quote: str) -> ProblemKind:
    """Return the kind of mistake of a quote that is not a JSON quote."""
    curly = quote in CURLY or quote in CURLY_SINGLE
    return kinds.smart_quotes if curly else kinds.wrong_quotes


@cache
def _stops(opener: str) -> re.Pattern[str]:
    """Return a pattern for what may end a string: one of its quotes, but no escaped character."""
    return re.compile(rf"\\.|[{re.escape(_closers(opener))}]", re.DOTALL)


def _closers(opener: str) -> str:
    if opener in CURLY:
        return CURLY + '"'
    if opener in CURLY_SINGLE:
        return CURLY_SINGLE
    if opener == '"':
        return '"”＂'
    return {"＂": '＂"', "＇": "＇'", "「": "」", "『": "』", "«": "»", "»": "«"}.get(
        opener, opener
    )


def _usual_number(raw: str) -> str | None:
    """Write a number as JSON does; return None if it is not a number."""
    sign = "-" if raw.startswith("-") else ""
    digits = raw.lstrip("+-").replace("_", "")
    if re.fullmatch(r"0[xX][0-9a-fA-F]{1,16}", digits):
        return sign + str(int(digits, 16))
    found = re.fullmatch(r"(\d*)(?:\.(\d*))?([eE][+-]?\d+)?", digits, re.ASCII)
    if not found or not (found[1] or found[2]):
        return None
    whole = found[1].lstrip("0") or "0"
    part = "" if found[2] is None else f".{found[2] or '0'}"
    return f"{sign}{whole}{part}{found[3] or ''}"
