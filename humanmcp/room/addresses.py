"""Where a room is found: the names of this computer, and the QR code of an address."""

from __future__ import annotations

import io
import socket

import segno


def own_names() -> tuple[str, ...]:
    """Return the names by which others in this network may know this computer."""
    name = socket.gethostname().lower()
    short = name.partition(".")[0]
    return tuple(dict.fromkeys((name, short, f"{short}.local")))


def spaced(code: str) -> str:
    """Return a code as it is read aloud: in two halves."""
    half = len(code) // 2
    return f"{code[:half]}-{code[half:]}"


def picture(link: str) -> bytes:
    """Draw a link as a QR code, black on white whatever the page's colours are."""
    drawn = io.BytesIO()
    segno.make(link, error="m").save(drawn, kind="svg", border=3, light="#fff", scale=8)
    return drawn.getvalue()


def for_terminal(link: str) -> str:
    """Draw a link as a QR code of letters."""
    drawn = io.StringIO()
    segno.make(link, error="l").terminal(drawn, compact=True, border=2)
    return drawn.getvalue()
