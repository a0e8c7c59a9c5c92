"""What stops a command: one sentence for the person, in their language, and an exit status."""

from __future__ import annotations

from typing import ClassVar

from humanmcp.locales import problem, say
from humanmcp.protocol.problems import Problem

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
        told = {name: _told(filling, language) for name, filling in self.fillings.items()}
        return say(self.room, self.code, language, **told)


def _told(filling: object, language: str) -> object:
    """Tell a problem in the same language, and trouble with a file without the name of the file."""
    if isinstance(filling, Problem):
        return problem(filling, language)
    return filling.strerror or filling if isinstance(filling, OSError) else filling
