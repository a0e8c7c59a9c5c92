"""The page that a browser shows while a person decides: who asks, for what, and where it leads.

It is for any browser of this computer, and decides nothing: a client could load it, too. Its form
can only refuse. The page goes on by itself: it loads an address that answers once somebody decided.
"""

from __future__ import annotations

import html
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Final

from humanmcp.extensions.authority.answers import SECTION, host_of
from humanmcp.extensions.authority.steps import WebResponse
from humanmcp.locales import say, spoken_language
from humanmcp.protocol.json.visible import one_line
from humanmcp.protocol.validation.redaction import without_secrets

if TYPE_CHECKING:
    from humanmcp.extensions.authority.session import Ticket

_FRAMES: Final = "base-uri 'none'; frame-ancestors 'none'; form-action 'self'"
_HEADERS: Final = (
    ("content-type", "text/html; charset=utf-8"),
    ("cache-control", "no-store"),
    ("content-security-policy", f"default-src 'none'; style-src 'unsafe-inline'; {_FRAMES}"),
    ("referrer-policy", "same-origin"),
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
)
_PAGE: Final = Template(Path(__file__).with_name("consent.html").read_text("utf-8"))


def _page(title: str, *parts: str, status: int = 200, goes_to: str = "") -> WebResponse:
    to = html.escape(goes_to)
    refresh = f'<meta http-equiv="refresh" content="0;url={to}">' if to else ""
    text = _PAGE.substitute(
        language=spoken_language(),
        refresh=refresh,
        title=html.escape(title),
        content="".join(parts),
    )
    return WebResponse(status, _HEADERS, text)


def waiting_page(ticket: Ticket, path: str) -> WebResponse:
    """Return the page of a consent that waits; `path` is where it is decided."""
    shown = (
        ("client", ticket.client or say(SECTION, "no name")),
        ("host", host_of(ticket.consent.redirect_uri)),
        ("redirect", without_secrets(ticket.consent.redirect_uri)),
        ("scope", without_secrets(ticket.consent.scope)),
        ("resource", ticket.consent.resource),
    )
    rows = "".join(
        f"<dt>{html.escape(say(SECTION, f'shown {name}'))}</dt>"
        f"<dd>{html.escape(one_line(value, 300))}</dd>"
        for name, value in shown
    )
    form = (
        f'<form method="post" action="{path}"><input type="hidden" name="form" '
        f'value="{ticket.form}"><button name="act" value="deny">'
        f"{html.escape(say(SECTION, 'refuse consent'))}</button></form>"
    )
    words = "".join(f"<p>{html.escape(say(SECTION, one))}</p>" for one in ("decides", "allow here"))
    return _page(say(SECTION, "consent title"), words, f"<dl>{rows}</dl>", form, goes_to=path)


def over_page() -> WebResponse:
    """Return the page of a consent that is over, or was never asked for."""
    words = f"<p>{html.escape(say(SECTION, 'over'))}</p>"
    return _page(say(SECTION, "over title"), words, status=410)


def again_page(path: str) -> WebResponse:
    """Return the page that a browser waits at after it refused, or for a long time."""
    return _page(say(SECTION, "consent title"), goes_to=path)
