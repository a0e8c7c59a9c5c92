"""What the text files need of the core: to decode bytes, and to find the documents in a text."""

from __future__ import annotations

from humanmcp.protocol import drafts, encodings
from humanmcp.stub.reading import Division, Reading, Span


def decode(raw: bytes) -> Reading:
    """Read the bytes of a file as text, whatever editor or shell wrote them."""
    text, repairs = encodings.decode(raw)
    return Reading(text, tuple(repairs))


def divide(text: str) -> Division:
    """Find the complete documents of a text, and what is left behind them."""
    found = drafts.divide(text)
    documents = tuple(Span(start, end) for start, end in found.texts)
    end = documents[-1].end if documents else 0
    left = text[end:]
    if not left.strip():
        return Division(documents)
    start = end + len(left) - len(left.lstrip())
    return Division(documents, Span(start, len(text.rstrip())))
