"""What goes into a check and what comes out of it: the form of a text, and the verdict on it."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, NamedTuple

from humanmcp.protocol.diagnostics.model import blocking

if TYPE_CHECKING:
    from humanmcp.protocol.diagnostics.model import Diagnostic
    from humanmcp.protocol.json.jsonrpc import Kind


class TextForm(enum.Enum):
    """What a person's text stands for. Everything but MESSAGE gets its envelope from us."""

    MESSAGE = "message"
    """A whole JSON-RPC response, or just `{"result": …}` or `{"error": …}`."""
    RESULT = "result"
    """What belongs after `"result":`."""
    ERROR = "error"
    """What belongs after `"error":`."""
    TEXT = "text"
    """Plain text for a tool call: becomes one text item in `content`."""
    TOOL_ERROR = "tool error"
    """The same with `"isError": true`: the model reads why the tool failed."""


class Verdict(NamedTuple):
    """What the check says of a text.

    `line` is the one line to send, without its line feed; None when an error blocks it.
    `forced` is the one line that **Send anyway** writes; None only when there is nothing to write.
    `kind` says whether `line` (or `forced`) is a result or an error, or something of the person's
    own; None where the text is too broken to tell.
    `text` is the text the offsets of the problems and fixes count in: the text as typed, decoded.
    """

    text: str
    line: str | None
    forced: str | None
    diagnostics: tuple[Diagnostic, ...] = ()
    kind: Kind | None = None

    @property
    def sendable(self) -> bool:
        """Return True if nothing blocks sending."""
        return self.line is not None

    @property
    def errors(self) -> tuple[Diagnostic, ...]:
        """Return the problems that block sending."""
        return blocking(self.diagnostics)
