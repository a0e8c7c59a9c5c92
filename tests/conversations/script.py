"""The format of the conversations: lines of a text file, and the steps that they stand for.

    # an explanation
    > a line from the client
    @ what the person does; lines that start with two spaces belong to it
    < a line to the client
    ! the codes of the problems that the person is shown for the line before

`docs/reference/conversations.md` explains it to readers.
"""

import enum
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final


class Deed(enum.Enum):
    """What a person can do; the word after `@`."""

    SERVE = "serve"
    """How the server is started, before anything else: the flags. Without it, `--by-hand`."""
    OUT = "out.txt"
    """Save this text in `out.txt`."""
    SEND = "send"
    """Answer what waits with a whole message, at a desk."""
    FIX = "fix"
    """Let every fix be applied to the text that was refused, and submit it again."""
    TEXT = "text"
    """Answer what waits with plain text, at a desk."""
    RESULT = "result"
    """Answer what waits with what belongs after `"result":`, at a desk."""
    ERROR = "error"
    """Answer what waits with what belongs after `"error":`, at a desk."""
    ANYWAY = "anyway"
    """Send the text that was refused all the same, at a desk."""
    BOOK = "book"
    """Nothing: the answer book answers."""


@dataclass(slots=True)
class Step:
    """One `>` or `@` of a file, with the lines out and the problems that must follow it.

    `deed` is None for a line from the client. `at` is the line of the file, from 1.
    """

    at: int
    deed: Deed | None
    text: str
    out: list[str] = field(default_factory=list)
    diagnostics: list[str] = field(default_factory=list)


DEFAULT_FLAGS: Final = ("--by-hand",)


@dataclass(frozen=True, slots=True)
class Conversation:
    """One file. `flags` are those of `humanmcp serve`."""

    flags: tuple[str, ...]
    steps: tuple[Step, ...]


class ScriptError(ValueError):
    """A file does not keep the format."""

    def __init__(self, file: Path, line: int, why: str) -> None:
        """Remember where and why."""
        super().__init__(file, line, why)
        self.file = file
        self.line = line
        self.why = why

    def __str__(self) -> str:
        """Say what to fix."""
        return f"{self.file}:{self.line}: {self.why}"


def read(file: Path) -> Conversation:
    """Read a conversation.

    Raises:
        ScriptError: a line is none of the five kinds, or stands where it means nothing.
    """
    steps: list[Step] = []
    for at, line in enumerate(file.read_text(encoding="utf-8").split("\n"), start=1):
        if line.strip() and not line.startswith("#"):
            why = _add(steps, at, line)
            if why:
                raise ScriptError(file, at, why)
    if steps and steps[0].deed is Deed.SERVE:
        return Conversation(tuple(steps[0].text.split()), tuple(steps[1:]))
    return Conversation(DEFAULT_FLAGS, tuple(steps))


def _add(steps: list[Step], at: int, line: str) -> str:
    """Add what one line says to the steps. Returns why that cannot be, or ""."""
    mark, text = line[:2], line[2:]
    if mark == "> ":
        steps.append(Step(at, None, text))
        return ""
    if mark == "@ ":
        word, _, rest = text.partition(" ")
        if word not in {deed.value for deed in Deed}:
            return f"nobody knows how to {word}"
        steps.append(Step(at, Deed(word), rest))
        return ""
    return _belong(steps[-1], mark, text) if steps else "nothing has happened yet"


def _belong(last: Step, mark: str, text: str) -> str:
    """Add a line to the step that it belongs to. Returns why that cannot be, or ""."""
    match mark:
        case "  " if last.deed is not None:
            last.text += f"\n{text}" if last.text else text
        case "< ":
            last.out.append(text)
        case "! ":
            last.diagnostics += text.split()
        case _:
            return f"a line cannot start with {mark!r}"
    return ""
