"""The headers of one request, and the texts that they carry.

Knows HTTP's names and MCP's, and how a value is written that HTTP cannot carry as it is; what a
header must agree with stands in `mirrored.py`.
"""

from __future__ import annotations

import binascii
import re
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

VERSION: Final = "mcp-protocol-version"
METHOD: Final = "mcp-method"
NAME: Final = "mcp-name"
PARAM: Final = "mcp-param-"
SESSION: Final = "mcp-session-id"
LAST_EVENT: Final = "last-event-id"
"""The names, as they are compared: "Header names […] are case-insensitive"."""

ROUTING: Final = (VERSION, METHOD, NAME)
"""What stands between client and server may route by these."""

SPELLING: Final = {
    VERSION: "MCP-Protocol-Version",
    METHOD: "Mcp-Method",
    NAME: "Mcp-Name",
    SESSION: "Mcp-Session-Id",
    LAST_EVENT: "Last-Event-ID",
}

LONGEST_LENGTH: Final = 12
"""Digits of a Content-Length that is looked at."""

_ENCODED: Final = re.compile(r"=\?base64\?(.*)\?=", re.DOTALL)
_SECRET: Final = re.compile(r"authorization|cookie|key|token|secret|password", re.IGNORECASE)
HIDDEN: Final = "…"
_NOT_TAKEN: Final = re.compile(r";\s*q\s*=\s*0(\.0*)?\s*(;|$)", re.IGNORECASE)
_PLAIN: Final = re.compile(r"[\x20-\x7e]*")


class Headers(NamedTuple):
    """The headers as they came: names in lower case, values without white space around them.

    RFC 9110, 5.5: "A field value does not include leading or trailing whitespace".
    """

    pairs: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, pairs: Iterable[tuple[str, str]]) -> Headers:
        """Read the headers of a request."""
        return cls(tuple((name.lower(), value.strip(" \t")) for name, value in pairs))

    def all(self, name: str) -> tuple[str, ...]:
        """Return every value of a header."""
        return tuple(value for key, value in self.pairs if key == name)

    def get(self, name: str) -> str | None:
        """Return the value of a header; the last one where there are several."""
        return next((value for key, value in reversed(self.pairs) if key == name), None)

    def repeated(self, names: Collection[str] = ROUTING) -> str:
        """Return the first of these headers that is there twice, "" for none.

        A reader of the first and a reader of the last would disagree about the request. RFC 9110,
        5.3: only what is a list may be sent in several lines.
        """
        seen: set[str] = set()
        for name, _value in self.pairs:
            if name in seen and name in names:
                return name
            seen.add(name)
        return ""

    @property
    def charset(self) -> str:
        """The encoding that a body is said to have, "" for none."""
        parameters = (self.get("content-type") or "").split(";")[1:]
        named = (one.partition("=") for one in parameters)
        found = (value for name, _, value in named if name.strip().lower() == "charset")
        return next(found, "").strip().strip('"').lower()

    def accepts(self, kind: str) -> bool:
        """Return True if the client takes a body of this type; without `Accept` it takes any.

        RFC 9110, 12.5.1: the most specific range counts, and "a value of 0 means "not acceptable"".
        """
        group = kind.partition("/")[0]
        wanted = ",".join(self.all("accept")).split(",")
        taken = {
            one.partition(";")[0].strip().lower(): _NOT_TAKEN.search(one) is None for one in wanted
        }
        ranges = (kind, f"{group}/*", "*/*", "")
        return next((taken[one] for one in ranges if one in taken), False)


def without_keys(
    pairs: Iterable[tuple[str, str]], also: Collection[str] = ()
) -> tuple[tuple[str, str], ...]:
    """Return headers as a person, and a transcript, may see them: keys are hidden.

    `also` are the names, in lower case, of others that are.
    """
    return tuple(
        (name, HIDDEN if _is_secret(name) or name.lower() in also else value)
        for name, value in pairs
    )


def _is_secret(name: str) -> bool:
    return _SECRET.search(name) is not None


def content_length(values: Sequence[str]) -> int | None:
    """Return the length that the Content-Length headers of a request state, 0 without one.

    None for what is no number, and for two at once: a reader of the first and a reader of the last
    would disagree about where the next request begins. One with more digits than any body has is
    not worked out.
    """
    if not values:
        return 0
    length = values[0]
    if len(values) > 1 or not (length.isascii() and length.isdigit()):
        return None
    return int(length) if len(length) <= LONGEST_LENGTH else 10**LONGEST_LENGTH


def encode_value(text: str) -> str:
    """Return a text as the value of a header: as it is, or in base64 where HTTP cannot carry it.

    "clients MUST use Base64 encoding of the UTF-8 representation", and also for "any plain-ASCII
    value that matches the sentinel pattern".
    https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#value-encoding
    """
    if _PLAIN.fullmatch(text) and text == text.strip() and not _ENCODED.fullmatch(text):
        return text
    encoded = binascii.b2a_base64(text.encode("utf-8", "surrogatepass"), newline=False)
    return f"=?base64?{encoded.decode('ascii')}?="


def decode_value(value: str) -> str | None:
    """Return the text of a header's value; None where its base64, or the UTF-8 in it, is broken."""
    found = _ENCODED.fullmatch(value)
    if found is None:
        return value
    try:
        raw = binascii.a2b_base64(found[1])
        if binascii.b2a_base64(raw, newline=False).decode("ascii") != found[1]:
            return None  # one text has one encoding: who compares texts and who decodes must agree
        return raw.decode("utf-8")
    except ValueError:  # base64, UTF-8, or a character beyond ASCII in either
        return None
