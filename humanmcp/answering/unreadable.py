"""Lines of a client that could not be read: why, and the error that a person may send for one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from humanmcp.protocol.diagnostics.model import unreadable
from humanmcp.protocol.json.jsonrpc import Batch, Flaw, Malformed, read

if TYPE_CHECKING:
    from humanmcp.protocol.conversation.transcript import Frame
    from humanmcp.protocol.diagnostics.model import Diagnostic

PARSE_ERROR: Final = """{
  "jsonrpc": "2.0",
  "id": null,
  "error": {
    "code": -32700,
    "message": "Parse error"
  }
}"""


def why_unreadable(frame: Frame, *, batches: bool = False) -> tuple[Diagnostic, ...]:
    """Return why a line is no message, or parts of a batch; () for one that is.

    With `batches` a batch is allowed as such.
    """
    found = read(frame.raw)
    match found:
        case Malformed():
            return (unreadable(found),)
        case Batch(items=items):
            broken = tuple(unreadable(one) for one in items if isinstance(one, Malformed))
            refused = () if batches else (unreadable(Malformed(frame.raw, Flaw.IN_BATCH)),)
            return broken or refused
        case _:
            return ()
