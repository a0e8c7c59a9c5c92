"""What a message means, in plain words: one card a method, the same for every desk.

The terminal, the page and the demo show these cards. Their sentences stand in the table `[explain]`
of `en.toml` and `ja.toml`; this module only chooses them.
"""

from __future__ import annotations

from dataclasses import dataclass

from humanmcp.locales import UnknownSentenceError, say
from humanmcp.protocol import revisions
from humanmcp.protocol.revisions import NOTIFICATIONS, REQUESTS, Way

ROOM = "explain"


@dataclass(frozen=True, slots=True)
class Card:
    """One message, explained to somebody who has never seen MCP.

    `title` is a headline, `what` one or two sentences, `sender` who sent it to whom, `silence` what
    happens if nobody answers, `note` what is unusual about it ("" for nothing), and `page` the
    address of the specification's page on it, for the revision that is spoken.
    """

    method: str
    title: str
    what: str
    sender: str
    silence: str
    note: str
    page: str


def explain(method: str, revision: str, language: str = "en", *, asks: bool = True) -> Card:
    """Return the card for a method. `asks` says whether it has an id, and so wants an answer.

    An empty method is an unreadable line. A method that MCP does not know gets a card that says so.
    """
    table = REQUESTS if asks else NOTIFICATIONS
    known = table.get(method)
    room = method if known else _stranger(method, asks=asks)
    way = known[0] if known else Way.TO_SERVER
    absent = known is not None and revision in revisions.ALL and revision not in known[1]
    return Card(
        method=method,
        title=_text(f"{room}.title", language),
        what=_text(f"{room}.what", language, method="" if known else method),
        sender=_text("to client" if way is Way.TO_CLIENT else "to server", language),
        silence=_text(f"{room}.silence", language, otherwise="notification.silence"),
        note=say(ROOM, "not in revision", language, method=method, revision=revision)
        if absent
        else "",
        page=revisions.page(method, revision),
    )


def _stranger(method: str, *, asks: bool) -> str:
    """Name the card of something that MCP does not know."""
    if not method:
        return "unreadable"
    return "unknown request" if asks else "unknown notification"


def _text(code: str, language: str, *, otherwise: str = "", method: str = "") -> str:
    """Return a sentence, or that of the code `otherwise` where there is none."""
    fillings = {"method": method} if method else {}
    try:
        return say(ROOM, code, language, **fillings)
    except UnknownSentenceError:
        if not otherwise:
            raise
        return say(ROOM, otherwise, language)
