"""A recorded model: its turns stand in a file, one JSON object a line.

A line is `{"text": "…"}`, `{"content": […]}` with blocks as LLM services write them, or
`{"error": "overloaded_error"}` to play a service that has no room. `ScriptRecorder` writes such
a file.
"""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING, Any

from humanmcp.common.person_files import write_whole
from humanmcp.extensions.host.conversation import (
    OVERLOADED,
    ModelError,
    OverloadedError,
    Turn,
    TurnRole,
    blocks_of,
    written,
)
from humanmcp.locales.stop import REFUSED, stopped
from humanmcp.protocol.diagnostics.model import blocking
from humanmcp.protocol.repair.reading import read_json

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from humanmcp.extensions.host.conversation import ModelTool
    from humanmcp.extensions.host.models import Heard, Model

logger = logging.getLogger(__name__)


class ScriptModel:
    """Plays the turns of a file, in order. `asked` is what it was shown each time."""

    def __init__(self, turns: Sequence[dict[str, Any]]) -> None:
        self.turns = list(turns)
        self.asked: list[tuple[tuple[Turn, ...], tuple[ModelTool, ...]]] = []

    @classmethod
    def read(cls, path: Path) -> ScriptModel:
        """Read the turns from a file.

        Raises:
            StopError: it cannot be read, or a line is no turn.
        """
        try:
            lines = path.read_text(encoding="utf-8-sig").split("\n")  # JSON may hold other breaks
        except (OSError, UnicodeDecodeError) as error:
            raise stopped("host", "unreadable model", REFUSED, path=path, why=error) from error
        return cls(
            [
                _turn_of(line, path, number)
                for number, line in enumerate(lines, 1)
                if line.strip() and not line.startswith("#")
            ]
        )

    def turn(self, history: Sequence[Turn], tools: Sequence[ModelTool], heard: Heard) -> Turn:
        """Take the next turn of the file."""
        self.asked.append((tuple(history), tuple(tools)))
        if len(self.asked) > len(self.turns):
            raise ModelError("no more turns")
        said = self.turns[len(self.asked) - 1]
        if "error" in said:
            why = str(said["error"])
            raise (OverloadedError if OVERLOADED in why else ModelError).quoting(why)
        blocks = blocks_of(said.get("content", said.get("text")), len(self.asked))
        turn = Turn(TurnRole.ASSISTANT, blocks)
        heard(turn.text)
        return turn

    def close(self) -> None:
        """Do nothing: a file needs no end."""


def _turn_of(line: str, path: Path, number: int) -> dict[str, Any]:
    reading = read_json(line)
    errors = blocking(reading.diagnostics)
    if errors:
        raise stopped("host", "no turn", REFUSED, path=path, line=number, why=errors[0])
    found = reading.value
    if not isinstance(found, dict) or not {"text", "content", "error"} & set(found):
        raise stopped("host", "no such turn", REFUSED, path=path, line=number)
    return found


class ScriptRecorder:
    """Sits behind another model and writes its turns down, for `script:FILE` to play again."""

    def __init__(self, model: Model, path: Path) -> None:
        """Write into this file, from its beginning.

        Raises:
            StopError: it cannot be written.
        """
        self.model = model
        self.path = path
        self._lines = ""
        self._is_stream = path.exists() and not path.is_file()
        try:
            write_whole(path, b"")
        except OSError as error:
            raise stopped("host", "unwritable model", REFUSED, path=path, why=error) from error

    def turn(self, history: Sequence[Turn], tools: Sequence[ModelTool], heard: Heard) -> Turn:
        """Take the other's turn, and keep it."""
        turn = self.model.turn(history, tools, heard)
        line = json.dumps({"content": written(turn)["content"]}, ensure_ascii=False)
        self._lines = ("" if self._is_stream else self._lines) + line + "\n"
        try:  # the whole file: of a line that is added, a kill may leave a part
            write_whole(self.path, self._lines.encode("utf-8", "backslashreplace"))
        except OSError:  # the turn was taken: the conversation goes on without its record
            logger.exception("a turn of the model is not recorded")
        return turn

    def close(self) -> None:
        """Let the other leave."""
        self.model.close()
