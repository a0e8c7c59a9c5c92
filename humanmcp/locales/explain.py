"""Explain a message in plain words: one card per method, the same for every front end.

The terminal, the page and the demo show these cards. Their sentences are in the section `explain`
(`explain.toml`); this module only chooses them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from humanmcp.locales import UnknownSentenceError, find_sentence
from humanmcp.protocol.json.visible import one_line
from humanmcp.protocol.tables import methods, versions
from humanmcp.protocol.tables.methods import MethodDirection

if TYPE_CHECKING:
    from collections.abc import Mapping

SECTION: Final = "explain"
CLIENT_SIDE: Final = frozenset({"client", "model", "host"})
"""The roles that receive messages of the server."""


@dataclass(frozen=True, slots=True)
class Card:
    """One message, explained to a reader who has never seen MCP.

    `title` is a headline, `what` one or two sentences, `sender` who sent it to whom, `silence` what
    happens without an answer, `note` what is unusual about it ("" for nothing), and `page` the
    address of the specification's page about it, for the protocol version of the session.
    """

    method: str
    title: str
    what: str
    sender: str
    silence: str
    note: str
    page: str


def explain(
    method: str, version: str, *, asks: bool = True, role: str = "server", inwards: bool = True
) -> Card:
    """Return the card of a method. With `asks` it has an id, and needs an answer.

    `role` is the role of MCP that the reader takes ("server", "client", "model", "host"); anyone
    else is an observer. `inwards` is True if the message came to that role, for methods that go
    both ways. An empty method is an unreadable line; an unknown method gets a separate card.
    """
    record = methods.named(method, is_request=asks)
    known = bool(record.name)
    card = method if known else _stranger(method, asks=asks)
    direction = record.direction if known else MethodDirection.BOTH
    if direction is MethodDirection.BOTH:
        to_client = inwards is (role in CLIENT_SIDE)
        direction = MethodDirection.TO_CLIENT if to_client else MethodDirection.TO_SERVER
    absent = known and version in versions.ALL and version not in record.versions

    def text(*codes: str, **fillings: str) -> str:
        return _text(codes, role, fillings)

    others = "request.silence" if asks else "notification.silence"
    return Card(
        method=method,
        title=text(f"{card}.title"),
        what=text(f"{card}.what", **({} if known or not method else {"method": one_line(method)})),
        sender=text(direction.value),
        silence=text(f"{card}.silence", f"{direction.value} {others}", others),
        note=text("not in version", method=method, version=version) if absent else "",
        page=methods.page(method, version),
    )


def _stranger(method: str, *, asks: bool) -> str:
    """Return the card of a line that MCP does not define."""
    if not method:
        return "unreadable"
    return "unknown request" if asks else "unknown notification"


def _text(codes: tuple[str, ...], role: str, fillings: Mapping[str, str]) -> str:
    """Return the sentence of the first code that has one for this role, else the general one.

    A sentence that addresses the server as "you" has another wording for an observer, if it needs
    one, and for each other role that it addresses.
    """
    manners = [""] if role == "server" else [f".{role}", ".seen", ""]
    for manner in manners:
        for code in codes:
            if (sentence := find_sentence(SECTION, code + manner, **fillings)) is not None:
                return sentence
    raise UnknownSentenceError(SECTION, codes[0])
