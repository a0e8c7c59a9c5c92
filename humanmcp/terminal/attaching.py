"""Pictures and files in an answer to a tool call: what is given by name becomes content of MCP."""

from __future__ import annotations

import base64
import mimetypes
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from humanmcp.locales.stop import stopped
from humanmcp.protocol.validation.results import tool_text
from humanmcp.protocol.validation.rules.tools import mime_of
from humanmcp.terminal.files import STDIN, read_bytes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from humanmcp.protocol.conversation.exchange import Established, Exchange

LARGEST: Final = 20 * 1024 * 1024
"""Bytes of all that is attached to one answer: as base64 it still fits into a line of 64 MiB."""
_BINARY: Final = "application/octet-stream"


def result_with(
    exchange: Exchange,
    established: Established,
    text: str | None,
    images: Sequence[str],
    files: Sequence[str],
) -> dict[str, Any]:
    """Make the result of a tool call: the text first, then the pictures, then the files.

    Raises:
        StopError: a picture is none, or it is too much.
        StopError: a file cannot be read.
    """
    left = LARGEST
    content = [] if text is None else [{"type": "text", "text": text}]
    for make, names in ((_image, images), (_file, files)):
        for name in names:
            raw = read_bytes(name)
            left -= len(raw)
            if left < 0:
                raise stopped("attach", "large", name=name, most=LARGEST // 1024 // 1024)
            content.append(make(name, raw))
    return {**tool_text(exchange.revision, "", established), "content": content}


def _image(name: str, raw: bytes) -> dict[str, Any]:
    kind = mime_of(raw)
    if not kind.startswith("image/"):
        raise stopped("attach", "no image", name=name)
    return {"type": "image", "data": base64.b64encode(raw).decode("ascii"), "mimeType": kind}


def _file(name: str, raw: bytes) -> dict[str, Any]:
    """Embed a file under its bare name: the folder it lies in stays private."""
    bare = "stdin" if name == STDIN else PurePath(name).name
    kind = mimetypes.guess_type(bare)[0]
    resource: dict[str, Any] = {"uri": f"file:///{quote(bare)}"}
    try:
        resource |= {"mimeType": kind or "text/plain", "text": raw.decode("utf-8-sig")}
    except UnicodeDecodeError:
        blob = base64.b64encode(raw).decode("ascii")
        resource |= {"mimeType": kind or _BINARY, "blob": blob}
    return {"type": "resource", "resource": resource}
