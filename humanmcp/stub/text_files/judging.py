"""What the text files need of the core: the bytes of a file as text."""

from __future__ import annotations

from humanmcp.protocol.repair import decoding
from humanmcp.stub.text_files.documents import TextReading


def decode(raw: bytes) -> TextReading:
    """Read the bytes of a file as text, whatever editor or shell wrote them."""
    return TextReading(*decoding.decode(raw))
