"""Links as QR codes: for a page as SVG, for a terminal as letters."""

from __future__ import annotations

import io


def svg(link: str) -> bytes:
    """Draw a link as an SVG picture, black on white whatever the page's colours are."""
    import segno  # noqa: PLC0415 - only needed to show a code

    drawn = io.BytesIO()
    segno.make(link, error="m").save(drawn, kind="svg", border=3, light="#fff", scale=8)
    return drawn.getvalue()


def for_terminal(link: str) -> str:
    """Draw a link with characters."""
    import segno  # noqa: PLC0415 - only needed to show a code

    drawn = io.StringIO()
    segno.make(link, error="l").terminal(drawn, compact=True, border=2)
    return drawn.getvalue()
