"""Find the mistakes in a text that is almost JSON, and mend those that have one meaning.

Reads the way a person does: a full-width colon is a colon, `True` is `true`, a list that is not
closed ends where the text ends. Each mistake becomes a `Wound` with the edits that heal it; a
mistake of the same kind all over the text is one wound with many edits. Where no guess is safe the
examination stops, and says so.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Final

from humanmcp.protocol.findings import shown
from humanmcp.protocol.problems import Edit

_SPACES: Final = " \t\r\n"
_WIDE_SPACE: Final = "\u3000"
_UNSEEN: Final = (
    "\xa0\u200b\u200c\u200d\u2060\ufeff\u2002\u2003\u2009\u202f\u2028\u2029\x85\x0b\x0c"
)
_WIDE: Final = {
    **{chr(0xFF01 + i): chr(0x21 + i) for i in range(94)},  # the full-width twins of ASCII
    "、": ",",
    "，": ",",
    "：": ":",
    "；": ";",
    "【": "[",
    "】": "]",
}
_CURLY: Final = "“”„‟〝〞″"
_CURLY_SINGLE: Final = "‘’‚‛′"
_QUOTES: Final = '"' + "'`" + _CURLY + _CURLY_SINGLE + "＂＇"
_WORD: Final = re.compile(r"[^\W\d][\w$\-]*|\$[\w$\-]*")
_NUMBER: Final = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?", re.ASCII)
_NUMBERLIKE: Final = re.compile(r"[+\-.\w－＋．０-９]+")
_SUSPECT: Final = re.compile(r'[\\"\x00-\x1f\ud800-\udfff]')
_HEXES: Final = re.compile(r"[0-9a-fA-F]{4}")
_VALUE_ENDED: Final = re.compile(r"(?:-?\d[\d.eE+-]*|true|false|null)\s*(?=[,}\]])")
_BARE_TEXT: Final = re.compile(r"[^,\]}\n\r，］｝\"]+")
_PATH: Final = re.compile(r"[A-Za-z]:\\")
_LITERALS: Final = {
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
_NO_NUMBERS: Final = frozenset({"NaN", "Infinity", "-Infinity", "+Infinity", "nan", "inf", "-inf"})
_ALL_IN_ONE: Final = frozenset(
    {"J03", "J04", "J05", "J06", "J08", "J10", "J11", "J14", "J15", "J16", "J18", "J32", "J33"}
)
"""Mistakes that a person makes all over a text: one wound each, with a replace-all fix."""


@dataclass(frozen=True, slots=True)
class Wound:
    """One mistake: its code, its place, what fills its sentence, and the edits that mend it."""

    code: str
    start: int
    end: int
    detail: tuple[tuple[str, str], ...] = ()
    edits: tuple[Edit, ...] = ()
    label: str = "replace"


@dataclass(frozen=True, slots=True)
class Examination:
    """All that was found. `whole` says that the edits make valid JSON of the text."""

    found: tuple[Wound, ...]
    edits: tuple[Edit, ...]
    whole: bool

    def torn(self) -> Examination:
        """Return the same for a text that no edits make whole."""
        return replace(self, whole=False)


def examine(text: str) -> Examination:
    """Examine a text that is no JSON, or that has a name twice in one object."""
    patient = _Patient(text)
    try:
        patient.document()
    except _HopelessError:
        return Examination(patient.wounds(), (), whole=False)
    edits = sorted(patient.edits, key=lambda edit: (edit.start, edit.end))
    return Examination(patient.wounds(), tuple(edits), whole=True)


class _HopelessError(Exception):
    """No guess would be safe from here on."""


@dataclass(slots=True)
class _Patient:
    """The text under examination, and how far it has been read."""

    text: str
    at: int = 0
    edits: list[Edit] = field(default_factory=list)
    _found: dict[str, Wound] = field(default_factory=dict)
    _open: list[tuple[str, int]] = field(default_factory=list)
    """The brackets that are open, with their places."""
    _line: tuple[int, int] = (0, -1)

    # -- notes ----------------------------------------------------------------------------------

    def wounds(self) -> tuple[Wound, ...]:
        return tuple(sorted(self._found.values(), key=lambda wound: wound.start))

    def wound(  # noqa: PLR0913 - a mistake, its place and its mend
        self,
        code: str,
        start: int,
        end: int,
        *detail: tuple[str, str],
        edits: tuple[Edit, ...] = (),
        label: str = "replace",
    ) -> None:
        self.edits += edits
        key = code if code in _ALL_IN_ONE else f"{code} {start}"
        before = self._found.get(key)
        if before is None:
            label = f"{label}_all" if key in _ALL_IN_ONE and label == "replace" else label
            self._found[key] = Wound(code, start, end, detail, edits, label)
        else:
            self._found[key] = replace(before, edits=before.edits + edits)

    def swap(self, code: str, start: int, end: int, new: str, *detail: tuple[str, str]) -> None:
        self.wound(code, start, end, *detail, edits=(Edit(start, end, new),))

    def peek(self) -> str:
        return self.text[self.at : self.at + 1]

    # -- white space ----------------------------------------------------------------------------

    def space(self) -> None:
        """Pass over white space, and over what is meant as such."""
        text = self.text
        while self.at < len(text):
            char = text[self.at]
            if char in _SPACES:
                self.at += 1
            elif char == _WIDE_SPACE:
                self.swap("J11", self.at, self.at + 1, " ")
                self.at += 1
            elif char in _UNSEEN:
                detail = ("char", f"U+{ord(char):04X}")
                self.swap("J18", self.at, self.at + 1, " ", detail)
                self.at += 1
            elif not self._comment(char):
                return

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
        self.wound("J08", start, end, edits=(Edit(start, end, ""),), label="delete")
        self.at = end
        return True

    def mark(self) -> str:
        """Return the next character as the ASCII one that is meant."""
        char = self.peek()
        return _WIDE.get(char, char) if char else ""

    def take_mark(self) -> None:
        """Pass over one punctuation mark, mending a full-width one."""
        char = self.peek()
        if char in _WIDE:
            half = _WIDE[char]
            self.swap("J03", self.at, self.at + 1, half, ("char", char), ("half", half))
        self.at += 1

    # -- the document -----------------------------------------------------------------------------

    def document(self) -> None:
        """Read the one value of the text, and what wrongly follows it."""
        self.space()
        self._shell_quotes()
        char = self.mark()
        if char not in "{[" and not (char and char in _QUOTES):
            self._no_json()
        self.value()
        self.space()
        while self.at < len(self.text):
            self._after_the_end()
            self.space()

    def _shell_quotes(self) -> None:
        """Windows' cmd.exe keeps the quotes of `echo '{…}'`."""
        end = len(self.text.rstrip())
        quote = self.peek()
        inside = self.text[self.at + 1 : end].lstrip()
        if quote in ("'", '"', "`") and inside.startswith(("{", "[")):
            closed = end - 1 > self.at and self.text[end - 1] == quote
            edits = [Edit(self.at, self.at + 1, "")]
            if closed:
                edits.append(Edit(end - 1, end, ""))
                self.text = self.text[: end - 1] + " " + self.text[end:]
            self.wound("J31", self.at, self.at + 1, edits=tuple(edits), label="delete")
            self.at += 1
            self.space()

    def _no_json(self) -> None:
        number = _NUMBERLIKE.match(self.text, self.at)
        literal = number and number[0] in {*_LITERALS, *_NO_NUMBERS}
        rest = self.text[number.end() :].strip() if number else ""
        if literal or (number and not rest and number[0][:1] in "+-.0123456789"):
            return
        self.wound("J20", self.at, len(self.text.rstrip()))
        raise _HopelessError

    def _after_the_end(self) -> None:
        start, char = self.at, self.mark()
        end = len(self.text)
        if char == ";":
            self.wound("J32", start, start + 1, edits=(Edit(start, start + 1, ""),), label="delete")
            self.at += 1
        elif char in "}]":
            self.wound(
                "J26",
                start,
                start + 1,
                ("char", char),
                edits=(Edit(start, start + 1, ""),),
                label="delete",
            )
            self.at += 1
        elif char == ",":
            self.wound("J02", start, start + 1, edits=(Edit(start, start + 1, ""),), label="delete")
            self.at += 1
        else:
            code = "J12" if char in "{[" else "J30"
            cut = (Edit(start, end, ""),)
            if code == "J12":  # which of them is meant, nobody can tell: no fix
                self.wound(code, start, end)
                self.edits += cut
            else:
                self.wound(code, start, len(self.text.rstrip()), edits=cut, label="delete")
            self.at = end

    # -- values -----------------------------------------------------------------------------------

    def value(self) -> None:
        """Read one value."""
        char = self.mark()
        if not char:
            self.wound(
                "J34", self.at, self.at, edits=(Edit(self.at, self.at, "null"),), label="null"
            )
        elif char == "{":
            self._object()
        elif char == "[":
            self._list()
        elif self.peek() in _QUOTES:
            self._string()
        elif char in "+-.0123456789":
            self._number()
        elif _WORD.match(self.text, self.at):
            self._word()
        else:
            self._unexpected()

    def _unexpected(self) -> None:
        self.wound("J29", self.at, self.at + 1, ("typed", shown(self.peek())))
        raise _HopelessError

    def _word(self) -> None:
        found = _WORD.match(self.text, self.at)
        word = found[0] if found else ""
        start, end = self.at, self.at + len(word)
        if word in ("true", "false", "null"):
            self.at = end
        elif word in _LITERALS:
            self.swap(
                "J14", start, end, _LITERALS[word], ("typed", word), ("meant", _LITERALS[word])
            )
            self.at = end
        elif word in _NO_NUMBERS:
            self.swap("J10", start, end, "null", ("value", word))
            self.at = end
        else:
            self._bare_text()

    def _bare_text(self) -> None:
        """Text without quotes where a value belongs: up to the next mark or line end."""
        start = self.at
        found = _BARE_TEXT.match(self.text, start)
        raw = (found[0] if found else self.peek()).rstrip()
        end = start + len(raw)
        edit = Edit(start, end, json.dumps(raw, ensure_ascii=False))
        self.wound("J22", start, end, ("text", shown(raw)), edits=(edit,), label="quote")
        self.at = end

    def _number(self) -> None:
        start = self.at
        plain = _NUMBER.match(self.text, start)
        like = _NUMBERLIKE.match(self.text, start)
        raw = like[0] if like else self.peek()
        if plain and plain[0] == raw:
            self.at = plain.end()
            if raw.lstrip("-").isdigit() and len(raw) > 4300:
                quoted = f'"{raw}"'
                self.wound(
                    "J24", start, self.at, edits=(Edit(start, self.at, quoted),), label="quote"
                )
            elif math.isinf(float(raw)):
                self.swap("J10", start, self.at, "null", ("value", shown(raw)))
            return
        self.at = start + len(raw)
        if raw in _NO_NUMBERS:
            self.swap("J10", start, self.at, "null", ("value", raw))
            return
        half = "".join(_WIDE.get(char, char) for char in raw)
        if half != raw and _NUMBER.fullmatch(half):
            wide = next(char for char in raw if char in _WIDE)
            self.swap("J03", start, self.at, half, ("char", wide), ("half", _WIDE[wide]))
            return
        meant = _usual_number(half)
        if meant is None:
            self.at = start
            self._bare_text()
            return
        self.wound(
            "J21",
            start,
            self.at,
            ("value", shown(raw)),
            ("meant", meant),
            edits=(Edit(start, self.at, meant),),
        )

    # -- strings ------------------------------------------------------------------------------------

    def _string(self) -> str:
        """Read one string; return its text, roughly, for comparing names."""
        start, opener = self.at, self.peek()
        end, closed = self._string_end(opener)
        raw = self.text[start + 1 : end]
        if opener != '"':
            self._straighten(start, opener)
        if closed and self.text[end] != '"':
            self._straighten(end, self.text[end])
        elif not closed:
            edit = Edit(end, end, '"')
            self.wound("J17", start, start + 1, edits=(edit,), label="close")
        self._inside(start + 1, end, opener)
        self.at = end + 1 if closed else end
        if "\\" not in raw:
            return raw
        try:
            return str(json.loads(f'"{raw}"', strict=False))
        except ValueError:
            return raw

    def _straighten(self, at: int, quote: str) -> None:
        if quote in _WIDE and quote in "＂＇":
            self.swap("J03", at, at + 1, '"', ("char", quote), ("half", '"'))
        elif quote in _CURLY or quote in _CURLY_SINGLE:
            self.swap("J04", at, at + 1, '"', ("char", quote))
        else:
            self.swap("J05", at, at + 1, '"', ("char", quote))

    def _string_end(self, opener: str) -> tuple[int, bool]:
        """Return where the string that starts here ends, and whether a quote closes it there."""
        text, start = self.text, self.at
        line_end = self._end_of_line(start)
        for found in _stops(opener).finditer(text, start + 1):
            at = found.start()
            if text[at] != "\\" and self._closes(at + 1, on_line=at < line_end):
                return at, True
        return self._unclosed(start, line_end)

    def _end_of_line(self, at: int) -> int:
        """Return where the line of a place ends. Remembered: one line may hold a million texts."""
        if not self._line[0] <= at <= self._line[1]:
            end = self.text.find("\n", at)
            self._line = (at, len(self.text) if end < 0 else end)
        return self._line[1]

    def _closes(self, after: int, *, on_line: bool) -> bool:
        """Say whether a quote before `after` ends its string, by what follows it."""
        text = self.text
        while after < len(text) and text[after] in _SPACES + _WIDE_SPACE + _UNSEEN:
            after += 1
        follows = text[after : after + 1]
        if not follows or follows in ",:]};#，：］｝；、=" or text.startswith(("//", "/*"), after):
            return True
        if not on_line:
            return False
        # a missing comma or colon: the next string, list or object starts here
        return self._starts_value(after, follows)

    def _starts_value(self, at: int, char: str) -> bool:
        """Say whether a value plausibly starts here, rather than a text going on."""
        if char in "{[":
            return True
        if char in _QUOTES:
            return self.text[at - 1] in _SPACES or self.text[at - 1] == '"'
        return _VALUE_ENDED.match(self.text, at) is not None

    def _unclosed(self, start: int, line_end: int) -> tuple[int, bool]:
        """Return where a string without a closing quote was probably meant to end."""
        line = self.text[start + 1 : line_end]
        body = line.rstrip()
        while body and body[-1] in "}],":
            body = body[:-1].rstrip()
        return start + 1 + len(body), False

    def _inside(self, start: int, end: int, opener: str) -> None:
        """Mend what a JSON string must not hold as it is."""
        text = self.text
        whole_path = _PATH.search(text, start, end) is not None
        found = _SUSPECT.search(text, start, end)
        while found:
            at, char = found.start(), found[0]
            length = 1
            if char == "\\":
                length = self._backslash(at, end, opener, whole_path=whole_path)
            elif char == '"':
                code = "J05" if opener in "'`" else "J33"
                self.swap(code, at, at + 1, '\\"', ("char", char))
            elif char < " ":
                new = json.dumps(char)[1:-1]
                self.swap("J15", at, at + 1, new, ("written", new))
            else:
                self.swap("J23", at, at + 1, "\ufffd", ("value", f"U+{ord(char):04X}"))
            found = _SUSPECT.search(text, at + length, end)
        self._halves(start, end)

    def _backslash(self, at: int, end: int, opener: str, *, whole_path: bool) -> int:
        """Mend one escape; return its length."""
        follows = self.text[at + 1 : at + 2] if at + 1 < end else ""
        if follows == opener and opener != '"':  # \' in a single-quoted text
            self.edits.append(Edit(at, at + 1, ""))
            return 2
        right = follows != "" and follows in '"\\/bfnrt'
        if follows == "u":
            right = _HEXES.fullmatch(self.text, at + 2, min(at + 6, end)) is not None
        if right and not (whole_path and follows not in ('"', "\\")):
            return 2
        self.swap("J16", at, at + 1, "\\\\", ("typed", f"\\{follows}"))
        return 1

    def _halves(self, start: int, end: int) -> None:
        from humanmcp.protocol.jsontext import half_characters  # noqa: PLC0415 - they need each other

        if "\\u" not in self.text[start:end]:
            return
        for first, last in half_characters(self.text[start:end]):
            self.swap(
                "J23",
                start + first,
                start + last,
                "\\ufffd",
                ("value", self.text[start + first : start + last]),
            )

    # -- containers ---------------------------------------------------------------------------------

    def _list(self) -> None:
        self._open.append(("[", self.at))
        self.take_mark()
        self.space()
        comma = -1
        while True:
            char = self.mark()
            if char in ("]", "}", "") and self._close(char, comma):
                return
            if char in (",", ";"):
                self._stray_comma()
                continue
            self.value()
            comma = self._separator()

    def _object(self) -> None:
        self._open.append(("{", self.at))
        self.take_mark()
        self.space()
        names: set[str] = set()
        comma = -1
        while True:
            char = self.mark()
            if char in ("]", "}", "") and self._close(char, comma):
                return
            if char in (",", ";"):
                self._stray_comma()
                continue
            start = self.at
            name = self._name()
            if name in names:
                self.wound("J09", start, self.at, ("key", shown(name)))
            names.add(name)
            if self._colon():
                self.value()
            comma = self._separator()

    def _stray_comma(self) -> None:
        start = self.at
        self.wound("J02", start, start + 1, edits=(Edit(start, start + 1, ""),), label="delete")
        self.at += 1
        self.space()

    def _separator(self) -> int:
        """Read what follows a value in a container; return where its comma is, or -1."""
        last = self.at
        self.space()
        char = self.mark()
        if char in (",", ";"):
            at = self.at
            if char == ";":
                self.swap("J32", at, at + 1, ",")
                self.at += 1
            else:
                self.take_mark()
            self.space()
            return at
        if char not in ("]", "}", ""):
            self.wound("J01", last, self.at, edits=(Edit(last, last, ","),), label="insert")
        return -1

    def _close(self, char: str, comma: int) -> bool:
        """Close the innermost container, by its own mark or in spite of another."""
        opener, opened = self._open[-1]
        own = "]" if opener == "[" else "}"
        if comma >= 0:
            self._drop_comma(comma)
        if not char:
            self._open.pop()
            self._never_closed(opener, opened, own, self.at)
            return True
        if char == own:
            self._open.pop()
            self.take_mark()
            return True
        other = "[" if char == "]" else "{"
        self._open.pop()
        if any(kind == other for kind, _at in self._open):
            self._never_closed(opener, opened, own, self.at)
        else:
            self.swap("J28", self.at, self.at + 1, own, ("typed", char), ("meant", own))
            self.at += 1
        return True

    def _drop_comma(self, comma: int) -> None:
        """Take back a comma that nothing follows."""
        for each in list(self.edits):  # it may have been mended before: ； to ,
            if each.start == comma:
                self.edits.remove(each)
        for key, wound in list(self._found.items()):
            kept = tuple(edit for edit in wound.edits if edit.start != comma)
            if wound.edits and not kept:
                del self._found[key]
            elif kept != wound.edits:
                self._found[key] = replace(wound, edits=kept)
        semicolon = _WIDE.get(self.text[comma], self.text[comma]) == ";"
        code = "J32" if semicolon else "J02"
        self.wound(code, comma, comma + 1, edits=(Edit(comma, comma + 1, ""),), label="delete")

    def _never_closed(self, opener: str, opened: int, own: str, at: int) -> None:
        line = str(self.text.count("\n", 0, opened) + 1)
        place = at
        while place > 0 and self.text[place - 1] in _SPACES:
            place -= 1
        before = self._found.get("J07")
        edit = Edit(place, place, own)
        self.edits.append(edit)
        if before is None:
            self._found["J07"] = Wound(
                "J07", opened, opened + 1, (("char", opener), ("opened", line)), (edit,), "close"
            )
        else:
            self._found["J07"] = replace(before, edits=(*before.edits, edit))

    def _name(self) -> str:
        """Read the name of a member."""
        if self.peek() in _QUOTES:
            return self._string()
        found = _WORD.match(self.text, self.at) or _NUMBERLIKE.match(self.text, self.at)
        if not found:
            self._unexpected()
            return ""
        start, end, name = self.at, found.end(), found[0]
        self.wound(
            "J06",
            start,
            end,
            ("key", shown(name)),
            edits=(Edit(start, end, json.dumps(name, ensure_ascii=False)),),
        )
        self.at = end
        return name

    def _colon(self) -> bool:
        """Read the colon after a name; say whether a value follows that is still to be read."""
        last = self.at
        self.space()
        char = self.mark()
        if char == ":":
            self.take_mark()
        elif char == "=":
            end = self.at + (2 if self.text.startswith("=>", self.at) else 1)
            self.wound("J13", self.at, end, edits=(Edit(self.at, end, ":"),))
            self.at = end
        elif char in (",", "}", "]", ""):
            self.wound("J34", last, last, edits=(Edit(last, last, ": null"),), label="null")
            self.at = last
            return False
        else:
            self.wound("J13", last, self.at, edits=(Edit(last, last, ":"),), label="insert")
        last = self.at
        self.space()
        if self.mark() not in (",", "}", "]", ""):
            return True
        self.wound("J34", last, last, edits=(Edit(last, last, " null"),), label="null")
        self.at = last
        return False


@cache
def _stops(opener: str) -> re.Pattern[str]:
    """Return what may end a string: one of its quotes, but no escaped character."""
    return re.compile(rf"\\.|[{re.escape(_closers(opener))}]", re.DOTALL)


def _closers(opener: str) -> str:
    if opener in _CURLY:
        return _CURLY + '"'
    if opener in _CURLY_SINGLE:
        return _CURLY_SINGLE
    if opener == '"':
        return '"”＂'
    return {"＂": '＂"', "＇": "＇'"}.get(opener, opener)


def _usual_number(raw: str) -> str | None:
    """Spell a number the way JSON does, or return None where it is none."""
    sign = "-" if raw.startswith("-") else ""
    digits = raw.lstrip("+-").replace("_", "")
    if re.fullmatch(r"0[xX][0-9a-fA-F]{1,16}", digits):
        return sign + str(int(digits, 16))
    found = re.fullmatch(r"(\d*)(?:\.(\d*))?([eE][+-]?\d+)?", digits, re.ASCII)
    if not found or not (found[1] or found[2]) or raw.count("-") > 1 and not found[3]:
        return None
    whole = found[1].lstrip("0") or "0"
    part = "" if found[2] is None else f".{found[2] or '0'}"
    return f"{sign}{whole}{part}{found[3] or ''}"
