"""What the text files need of the core: the bytes of a file as text."""

from __future__ import annotations

from humanmcp.protocol import encodings
from humanmcp.stub.reading import Reading


def decode(raw: bytes) -> Reading:
    """Read the bytes of a file as text, whatever editor or shell wrote them."""
    return Reading(*encodings.decode(raw))
