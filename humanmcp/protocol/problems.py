"""One thing wrong with a message: its code, how bad it is, where it stands, and how to mend it.

A problem holds no sentence. Its sentence stands in `locales/`, by code, in every language, and is
filled with `detail`. The codes: J.. the JSON text, R.. the JSON-RPC envelope, M.. what MCP asks,
N.. an incoming line, F.. the files a person writes.
"""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable


class Level(enum.Enum):
    """How bad a problem is."""

    ERROR = "error"
    """The client would fail, or never see it: blocks sending until it is sent anyway."""
    WARNING = "warning"
    """Some clients would fail or lose a part of it."""
    HINT = "hint"
    """Allowed; there is something to learn."""
    REPAIRED = "repaired"
    """Was wrong in a way that has one meaning only, and is mended in what is sent."""


class Edit(NamedTuple):
    """Replace `text[start:end]` by `new`. Offsets count characters of the text as typed."""

    start: int
    end: int
    new: str


class Fix(NamedTuple):
    """A mechanical mend: edits of the text as typed, and the code of the label on its button."""

    edits: tuple[Edit, ...]
    label: str = "fix"

    def apply(self, text: str) -> str:
        """Return the mended text."""
        # from the end, so that offsets stay right; of several at one place the last one first
        for edit in reversed(sorted(self.edits, key=lambda edit: edit.start)):  # noqa: C413 - `reverse=True` would keep the order of equals
            text = text[: edit.start] + edit.new + text[edit.end :]
        return text


class Problem(NamedTuple):
    """One problem with a text or a message.

    `start` and `end` are offsets into the text as typed; `line` and `column` count from 1 and are 0
    where no place can be named (the text is empty, say). `pointer` is a JSON Pointer (RFC 6901)
    into the message, "" for the whole of it. `detail` fills the sentence.
    """

    code: str
    level: Level
    detail: tuple[tuple[str, str], ...] = ()
    pointer: str = ""
    start: int = 0
    end: int = 0
    line: int = 0
    column: int = 0
    fix: Fix | None = None
    page: str = ""
    """The page of the specification that says so."""

    @property
    def blocks(self) -> bool:
        """Say whether this keeps the text from being sent."""
        return self.level is Level.ERROR


def blocking(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """Return those that keep a text from being sent."""
    return tuple(problem for problem in problems if problem.blocks)


def line_and_column(text: str, at: int) -> tuple[int, int]:
    """Return the line and column, both from 1, of the character at offset `at`.

    Lines end at line feeds, as editors count them.
    """
    before = text[:at]
    return before.count("\n") + 1, at - (before.rfind("\n") + 1) + 1
