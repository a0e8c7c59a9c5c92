"""What stops a command: one sentence for the person, in their language, and an exit status."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Protocol

from humanmcp.locales import problem, say
from humanmcp.protocol.problems import Problem

if TYPE_CHECKING:
    from collections.abc import Mapping

REFUSED = 1
"""Exit status: it was understood, and not done."""
USAGE_ERROR = 2
"""Exit status: it was asked in a way that cannot be done."""


class StopError(Exception):
    """A command cannot go on. `room` is the table of its sentences in `locales/`."""

    room: ClassVar[str]

    def __init__(self, code: str, **fillings: object) -> None:
        """Remember which sentence says so and what it is filled with."""
        super().__init__(code, fillings)
        self.code = code
        self.fillings = fillings

    def __str__(self) -> str:
        """Say it in English; `sentence` says it in any language."""
        return self.sentence("en")

    def sentence(self, language: str) -> str:
        """Say what stops the command and what to do."""
        fillings = {name: told(filling, language) for name, filling in self.fillings.items()}
        return say(self.room, self.code, language, **fillings)


class Sayable(Protocol):
    """An exception of a room that knows no sentences: it carries what finds and fills one."""

    room: ClassVar[str]
    code: str
    fillings: Mapping[str, object]


def sentence_of(error: Exception | Sayable, language: str) -> str:
    """Say in this language what went wrong; what has no sentence of ours says it by itself."""
    if isinstance(error, StopError):
        return error.sentence(language)
    room, code = getattr(error, "room", ""), getattr(error, "code", "")
    if room and code:
        fillings: Mapping[str, object] = getattr(error, "fillings", {})
        return say(room, code, language, **fillings)
    return str(error)


def told(filling: object, language: str) -> object:
    """Tell what fills a sentence in its language, and trouble with a file without its name."""
    if isinstance(filling, Problem):
        return problem(filling, language)
    if isinstance(filling, StopError):
        return filling.sentence(language)
    return filling.strerror or filling if isinstance(filling, OSError) else filling
