"""Pictures and sounds in a message: found, told by their first bytes, and decoded.

Pure. Raster pictures and sounds only: what else calls itself a picture (SVG, say) can hold scripts
and stays text. The type is that of the bytes, whatever the message says.
"""

from __future__ import annotations

import base64
import binascii
import json
from typing import Final, NamedTuple

from humanmcp.protocol.json.jsonrpc import has_many_values
from humanmcp.protocol.json.tree import leaves
from humanmcp.protocol.validation.rules.tools import mime_of

MOST: Final = 20
"""Pictures and sounds of one message that are shown."""
LARGEST: Final = 16 * 1024 * 1024
"""Characters of a message in which they are looked for."""
_HEAD: Final = 24
_BYTES: Final = (("data",), ("blob",))
"""The members that may hold bytes."""


class Medium(NamedTuple):
    """A picture or a sound: its type, and its bytes in base64."""

    mime: str
    data: str

    @property
    def is_picture(self) -> bool:
        """Return True if it is to be looked at."""
        return self.mime.startswith("image/")

    @property
    def size(self) -> int:
        """How many bytes it has: four characters are three of them."""
        return len(self.data.rstrip("=")) * 3 // 4

    def decoded(self) -> bytes:
        """Return the bytes; b"" where the text is no base64 after all."""
        try:
            return base64.b64decode(self.data, validate=True)
        except (binascii.Error, ValueError):
            return b""


def media_in(line: str) -> tuple[Medium, ...]:
    """List the pictures and sounds of a message, in its order."""
    if len(line) > LARGEST or has_many_values(line) or not ('"data"' in line or '"blob"' in line):
        return ()
    try:
        every = leaves(json.loads(line, parse_int=str))  # a long number costs much
        found = [text for path, text in every if path[-1:] in _BYTES and isinstance(text, str)]
    except (ValueError, RecursionError):
        return ()
    typed = ((_mime_of(data), data) for data in found)
    return tuple(Medium(mime, data) for mime, data in typed if mime)[:MOST]


def _mime_of(data: str) -> str:
    """Return the type that bytes in base64 begin as; "" for one that is not shown."""
    try:
        return mime_of(binascii.a2b_base64(data[:_HEAD], strict_mode=True))
    except (binascii.Error, ValueError):
        return ""
