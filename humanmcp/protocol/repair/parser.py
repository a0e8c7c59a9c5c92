# ruff: noqa: RUF001 - full-width characters are what this is about
"""Find the mistakes in almost-JSON, and fix those that have only one meaning.

It reads as a person does: a full-width colon is a colon, `True` is `true`, an unclosed list ends at
the end of the text. Each mistake becomes a `JsonMistake` with the edits that fix it; a mistake of
the same kind all over the text is one diagnostic with many edits. Where no fix is safe, the parser
stops and reports it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Final, NoReturn

from humanmcp.protocol.diagnostics import kinds
from humanmcp.protocol.diagnostics.model import Applicability, TextEdit, least
from humanmcp.protocol.repair.scanner import (
    BLANKS,
    LITERALS,
    NO_NUMBERS,
    NUMBERLIKE,
    PLAIN_COMMA,
    PLAIN_NAME,
    PLAIN_VALUE,
    QUOTES,
    SPACES,
    WIDE,
    WORD,
    JsonMistake,
    ScalarReader,
    UnrepairableError,
)

_STRUCTURE: Final = re.compile(r"""\s*[:：]\s*[{\[｛［"'“\d-]""")
_ENDS: Final = "]}"
_NO_ITEM: Final = f"{_ENDS},;"
"""Characters in a container that do not begin an item; "" (the end of the text) matches both."""
_ENVELOPE: Final = frozenset({"jsonrpc", "id", "result", "error", "content"})
"""Names that identify an answer without quotes and without a brace."""


def examine(text: str, deepest: int) -> tuple[list[JsonMistake], tuple[TextEdit, ...]]:
    """Return all mistakes of a text that is not JSON, or that has a name twice in one object.

    The edits make it valid JSON; () if nobody knows what was meant. More than `deepest` levels of
    brackets, also of full-width ones, are not read.
    """
    parser = _RepairParser(text, deepest=deepest)
    try:
        parser.document()
    except UnrepairableError:
        return parser.mistakes(), ()
    mistakes = parser.mistakes()
    _grade(mistakes)
    return mistakes, tuple(sorted(parser.edits, key=itemgetter(0, 1)))


_SHAKY: Final = (kinds.unclosed_quote, kinds.missing_value, kinds.unopened_quote)
"""Mistakes after which the end of a text or a value is uncertain."""
_LEANING: Final = (
    *(kinds.missing_comma, kinds.unclosed_bracket, kinds.missing_colon, kinds.unquoted_string),
    *(kinds.extra_bracket, kinds.wrong_bracket, kinds.adjacent_strings, kinds.missing_brace),
)
"""Fixes of the structure of a text, which depend on other guesses."""


def _grade(mistakes: list[JsonMistake]) -> None:
    """Grade fixes as guesses that depend on a guess: after a lost quote, brackets are guesses."""
    if any(each.diagnostic.kind in _SHAKY for each in mistakes):
        for each in mistakes:
            if each.diagnostic.kind in _LEANING:
                each.applicability = least(each.applicability, Applicability.GUESS)


@dataclass(slots=True)
class _RepairParser(ScalarReader):
    """The parser of the whole document: containers, and the text around them."""

    _open: list[tuple[str, int]] = field(default_factory=list)
    """The open brackets with their places."""
    deepest: int = 0

    # -- the document ----------------------------------------------------------------------------

    def document(self) -> None:
        """Read the one value of the text, and any text after it."""
        self.space()
        self._shell_quotes()
        char = self.mark()
        if self._lost_brace():
            self._container("{", lost=True)
        else:
            if char not in "{[" and not (char and char in QUOTES):
                self._no_json()
            self.value(char)
        self.space()
        while self.at < len(self.text):
            self._after_the_end()
            self.space()

    def _shell_quotes(self) -> None:
        """Remove the quotes that cmd.exe of Windows keeps in `echo '{…}'`."""
        end = len(self.text.rstrip(BLANKS))
        quote = self.peek()
        inside = self.text[self.at + 1 : end].lstrip()
        if quote in ("'", '"', "`") and inside.startswith(("{", "[")):
            closed = end - 1 > self.at and self.text[end - 1] == quote
            edits = [TextEdit(self.at, self.at + 1, "")]
            if closed:
                edits.append(TextEdit(end - 1, end, ""))
                self.text = self.text[: end - 1] + " " + self.text[end:]
            self.mistake(kinds.shell_quotes, self.at, self.at + 1, tuple(edits))
            self.at += 1
            self.space()

    def _lost_brace(self) -> bool:
        """Return True if the text begins with a member, so that its first brace is missing."""
        if self.peek() in QUOTES and self.mark() not in "{[":
            piece = self.piece(self.at)
            name, end = self.text[piece.inner : piece.last], piece.end
        else:
            word = WORD.match(self.text, self.at)
            name, end = (word[0], word.end()) if word else ("", self.at)
        if not self.is_name(end):
            return False
        return self.peek() in QUOTES or (
            name in _ENVELOPE and _STRUCTURE.match(self.text, end) is not None
        )

    def _no_json(self) -> None:
        number = NUMBERLIKE.match(self.text, self.at)
        literal = number and number[0] in {*LITERALS, *NO_NUMBERS}
        rest = self.text[number.end() :].strip() if number else ""
        if literal or (number and not rest and number[0][:1] in "+-.0123456789"):
            return
        self.mistake(kinds.plain_text, self.at, len(self.text.rstrip(BLANKS)), ())
        raise UnrepairableError

    def _after_the_end(self) -> None:
        start, char = self.at, self.mark()
        if char in "}]":
            self.swap(kinds.extra_bracket, start, start + 1, "", char=char)
            self.at += 1
        elif char in ",;":
            extra = kinds.semicolon_in_json if char == ";" else kinds.extra_comma
            self.swap(extra, start, start + 1, "")
            self.at += 1
        else:
            end = len(self.text.rstrip(BLANKS))
            cut = (TextEdit(start, end, ""),)
            if char in "{[":  # either bracket may be right: no fix
                self.mistake(kinds.second_document, start, end, ())
                self.edits += cut
            else:
                self.mistake(kinds.text_after_answer, start, end, cut)
            self.at = end

    # -- values ----------------------------------------------------------------------------------

    def value(self, char: str) -> None:
        """Read one value that begins with this character."""
        plain = PLAIN_VALUE.match(self.text, self.at)
        if plain:
            self.at = plain.end()
        elif not char:
            self.swap(kinds.missing_value, self.at, self.at, "null")
        elif char in "{[":
            self._container(char)
        elif self.text[self.at] in QUOTES:
            self.text_value()
        elif char in "+-.0123456789" or self.is_minus():
            self.number()
        elif WORD.match(self.text, self.at):
            self.word()
        else:
            self._unexpected()

    def _unexpected(self) -> NoReturn:
        self.mistake(kinds.unexpected_character, self.at, self.at + 1, (), typed=self.peek())
        raise UnrepairableError

    # -- containers ------------------------------------------------------------------------------

    def _container(self, opener: str, *, lost: bool = False) -> None:
        """Read a list or an object; `lost`: its first brace is missing."""
        if len(self._open) == self.deepest:
            self.mistake(kinds.nested_too_deep, self.at, self.at + 1, (), limit=str(self.deepest))
            raise UnrepairableError
        self._open.append((opener, self.at))
        if lost:
            at = self.at
            self.mistake(kinds.missing_brace, at, at + 1, (TextEdit(at, at, "{"),), char="{")
        else:
            self.take_mark()
        self.space()
        names: set[str] = set()
        comma = -1
        while True:
            char = self.mark()
            if char in _NO_ITEM:
                if char in _ENDS:
                    self._close(char, comma)
                    return
                self._stray_comma()
                continue
            if opener == "{":
                char = self._member(names)
            if char:
                self.value(char)
            comma = self._separator()

    def _member(self, names: set[str]) -> str:
        """Read a name and its colon; return the first character of the value, "" for none."""
        start = self.at
        plain = PLAIN_NAME.match(self.text, start)
        name, end = (plain[1], plain.end(1) + 1) if plain else (self._name(), self.at)
        if name in names:
            self.mistake(kinds.duplicate_name, start, end, (), key=name)
        names.add(name)
        if plain is None:
            return self._colon()
        self.at = plain.end()
        return self.peek()

    def _stray_comma(self) -> None:
        start = self.at
        self.swap(kinds.extra_comma, start, start + 1, "")
        self.at += 1
        self.space()

    def _separator(self) -> int:
        """Read the text after a value in a container; return the place of its comma, or -1."""
        last = self.at
        plain = PLAIN_COMMA.match(self.text, last)
        if plain:
            self.at = plain.end()
            return -1
        char = self.space()
        if char in (",", ";"):
            at = self.at
            if char == ";":
                self.swap(kinds.semicolon_in_json, at, at + 1, ",")
                self.at += 1
            else:
                self.take_mark()
            self.space()
            return at
        if char not in ("]", "}", ""):
            self.mistake(kinds.missing_comma, last, self.at, (TextEdit(last, last, ","),))
        return -1

    def _close(self, char: str, comma: int) -> None:
        """Close the innermost container, with its own bracket or with a wrong one."""
        opener, opened = self._open.pop()
        own = "]" if opener == "[" else "}"
        if comma >= 0:
            self._drop_comma(comma)
        other = "[" if char == "]" else "{"
        if char == own:
            self.take_mark()
        elif not char or any(kind == other for kind, _at in self._open):
            self._never_closed(opener, opened, own, self.at)
        else:
            self.swap(kinds.wrong_bracket, self.at, self.at + 1, own, typed=char, meant=own)
            self.at += 1

    def _drop_comma(self, comma: int) -> None:
        """Remove a comma that nothing follows."""
        for kind in (
            kinds.full_width_character,
            kinds.semicolon_in_json,
        ):  # already fixed, from full-width
            note = self.saturated.get(kind)
            if note is not None and note.edits[-1].start == comma:
                self.take_back(note.edits.pop())
                if not note.edits:
                    del self.notes[kind], self.saturated[kind]
        semicolon = WIDE.get(self.text[comma], self.text[comma]) == ";"
        extra = kinds.semicolon_in_json if semicolon else kinds.extra_comma
        self.swap(extra, comma, comma + 1, "")

    def _never_closed(self, opener: str, opened: int, own: str, at: int) -> None:
        place = at
        while place > 0 and self.text[place - 1] in SPACES:
            place -= 1
        before = next(iter(self.notes.get(kinds.unclosed_bracket, ())), None)
        edit = TextEdit(place, place, own)
        if before is None:
            line = str(self.text.count("\n", 0, opened) + 1)
            self.mistake(
                kinds.unclosed_bracket, opened, opened + 1, (edit,), char=opener, opened=line
            )
            return
        if before.edits[-1].start == place:  # one edit per place: `]}` in this order
            edit = TextEdit(place, place, before.edits[-1].new + own)
            self.take_back(before.edits.pop())
        before.edits.append(edit)
        self.edits.append(edit)

    def _name(self) -> str:
        """Read the name of a member."""
        char = self.peek()
        if char in QUOTES:
            return self.name()
        found = WORD.match(self.text, self.at) or NUMBERLIKE.match(self.text, self.at)
        if not found:
            self._unexpected()
        start, end, name = self.at, found.end(), found[0]
        if self.text[end : end + 1] in ('"', "”") and self.is_name(end + 1):
            edit = TextEdit(start, start, '"')
            self.mistake(kinds.unopened_quote, start, end, (edit,))
            self.close_with(end)
            return name
        self.swap(kinds.unquoted_name, start, end, f'"{name}"', key=name)
        self.at = end
        return name

    def _colon(self) -> str:
        """Read the colon after a name; return the first character of the value, "" for none."""
        last = self.at
        char = self.space()
        if char == ":":
            self.take_mark()
        elif char == "=":
            end = self.at + (2 if self.text.startswith("=>", self.at) else 1)
            self.swap(kinds.missing_colon, self.at, end, ":")
            self.at = end
        elif char in (",", "}", "]", ""):
            self.swap(kinds.missing_value, last, last, ": null")
            return ""
        else:
            self.mistake(kinds.missing_colon, last, self.at, (TextEdit(last, last, ":"),))
            return char
        last = self.at
        char = self.space()
        if char not in (",", "}", "]", ""):
            return char
        self.swap(kinds.missing_value, last, last, " null")
        return ""
