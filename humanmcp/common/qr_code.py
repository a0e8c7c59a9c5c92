"""Links as QR codes: for a page as SVG, for a terminal as letters."""

from __future__ import annotations

import io


def svg(link: str) -> str:
    """Draw a link as an SVG element, black on white whatever the page's colours are."""
    import segno  # noqa: PLC0415 - only needed to show a code

    return segno.make(link, error="m").svg_inline(border=3, light="#fff", scale=8)


def for_terminal(link: str) -> str:
    """Draw a link with characters."""
    import segno  # noqa: PLC0415 - only needed to show a code

    drawn = io.StringIO()
    segno.make(link, error="l").terminal(drawn, compact=True, border=2)
    return drawn.getvalue()
