"""The headers of one request, the encoding of their values, and their rules.

It knows the header names of HTTP and MCP, how a value is encoded that HTTP cannot carry, and which
members of the body a header must repeat.
"""

from __future__ import annotations

import binascii
import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from humanmcp.protocol.diagnostics import kinds
from humanmcp.protocol.diagnostics.problem import quoted
from humanmcp.protocol.json.tree import follow
from humanmcp.protocol.tables import methods
from humanmcp.protocol.tables.versions import META_VERSION
from humanmcp.protocol.validation.json_schema.references import mirrored_headers

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from humanmcp.protocol.diagnostics.problem import Path, ProblemKind, RawDiagnostic
    from humanmcp.protocol.json.jsonrpc import Json, JsonObject, Message

VERSION: Final = "mcp-protocol-version"
METHOD: Final = "mcp-method"
NAME: Final = "mcp-name"
PARAM: Final = "mcp-param-"
SESSION: Final = "mcp-session-id"
LAST_EVENT: Final = "last-event-id"
"""Header names in lower case, for comparison: "Header names […] are case-insensitive"."""

ROUTING: Final = (VERSION, METHOD, NAME)
"""A program between client and server may route by these headers."""

SPELLING: Final = {
    VERSION: "MCP-Protocol-Version",
    METHOD: "Mcp-Method",
    NAME: "Mcp-Name",
    SESSION: "Mcp-Session-Id",
    LAST_EVENT: "Last-Event-ID",
}

LONGEST_LENGTH: Final = 12
"""The maximum number of digits of a Content-Length."""

_ENCODED: Final = re.compile(r"=\?base64\?(.*)\?=", re.DOTALL)
_SECRET: Final = re.compile(r"authorization|cookie|key|token|secret|password", re.IGNORECASE)
HIDDEN: Final = "…"
_NOT_TAKEN: Final = re.compile(r";\s*q\s*=\s*0(\.0*)?\s*(;|$)", re.IGNORECASE)
_PLAIN: Final = re.compile(r"[\x20-\x7e]*")


class Headers(NamedTuple):
    """The received headers: names in lower case, values without white space around them.

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
        """Return the value of a header; the last one if there are several."""
        return next((value for key, value in reversed(self.pairs) if key == name), None)

    def repeated(self, names: Collection[str] = ROUTING) -> str:
        """Return the first of these headers that occurs twice, "" for none.

        Two programs that read different ones would disagree about the request. RFC 9110, 5.3: only
        list values may be sent in several lines.
        """
        seen: set[str] = set()
        for name, _value in self.pairs:
            if name in seen and name in names:
                return name
            seen.add(name)
        return ""

    @property
    def charset(self) -> str:
        """The charset of the body, "" if none is stated."""
        parameters = (self.get("content-type") or "").split(";")[1:]
        named = (one.partition("=") for one in parameters)
        found = (value for name, _, value in named if name.strip().lower() == "charset")
        return next(found, "").strip().strip('"').lower()

    def accepts(self, kind: str) -> bool:
        """Return True if the client accepts a body of this type; without `Accept` it accepts any.

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
    """Return headers for display and for the transcript: keys are hidden.

    `also` are the names, in lower case, of more secret headers.
    """
    return tuple(
        (name, HIDDEN if _SECRET.search(name) or name.lower() in also else value)
        for name, value in pairs
    )


def content_length(values: Sequence[str]) -> int | None:
    """Return the Content-Length of a request, 0 without one.

    None if it is not a number, or if there are two: two programs that read different ones would
    disagree about where the next request begins. A number with too many digits is not converted.
    """
    if not values:
        return 0
    length = values[0]
    if len(values) > 1 or not (length.isascii() and length.isdigit()):
        return None
    return int(length) if len(length) <= LONGEST_LENGTH else 10**LONGEST_LENGTH


def encode_value(text: str) -> str:
    """Return a text as the value of a header, in base64 if HTTP cannot carry it.

    "clients MUST use Base64 encoding of the UTF-8 representation", and also for "any plain-ASCII
    value that matches the sentinel pattern".

    https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#value-encoding
    """
    if _PLAIN.fullmatch(text) and text == text.strip() and not _ENCODED.fullmatch(text):
        return text
    encoded = binascii.b2a_base64(text.encode("utf-8", "surrogatepass"), newline=False)
    return f"=?base64?{encoded.decode('ascii')}?="


def decode_value(value: str) -> str | None:
    """Return the text of a header's value; None if its base64 or UTF-8 is invalid."""
    found = _ENCODED.fullmatch(value)
    if found is None:
        return value
    try:
        raw = binascii.a2b_base64(found[1])
        if binascii.b2a_base64(raw, newline=False).decode("ascii") != found[1]:
            return None  # a text has one valid encoding: comparing it and decoding it then agree
        return raw.decode("utf-8")
    except ValueError:  # base64, UTF-8, or a character beyond ASCII in either
        return None


_DECIMAL: Final = re.compile(r"(-?[0-9]+)(?:\.0+)?")
_LONGEST_NUMBER: Final = 4000
"""The maximum number of digits; Python refuses to read much longer numbers."""


class Mismatch(NamedTuple):
    """A header that does not agree with the body, and its place in the body.

    `got` is the value in the header, `wanted` the value in the body; None if it is missing.
    """

    kind: ProblemKind
    header: str
    at: Path
    got: str | None = None
    wanted: str | None = None

    @property
    def message(self) -> str:
        """The text of the JSON-RPC error, for the developer of the client."""
        where = ".".join(str(step) for step in self.at)
        said = {
            kinds.missing_header: f"is missing, and {where} is there",
            kinds.wrong_header: f"does not match {where}",
            kinds.repeated_header: "appears more than once",
            kinds.undecodable_header: "is not valid base64 of UTF-8",
            kinds.header_without_argument: f"is there, and {where} is not",
        }
        return f"Header mismatch: {self.header} {said[self.kind]}"

    @property
    def found(self) -> RawDiagnostic:
        """The same problem as the check reports it."""
        got, wanted = quoted(self.got), quoted(self.wanted)
        return self.kind(self.at, header=self.header, got=got, wanted=wanted)


def mismatch_in(message: Message, headers: Headers, schema: Json = None) -> Mismatch | None:
    """Return the first header that does not agree with a request; None if all do.

    `schema` is the inputSchema of the called tool, None if it is unknown.
    """
    twice = headers.repeated()
    if twice:
        return Mismatch(kinds.repeated_header, SPELLING[twice], ())
    found = next(_standard(message, headers), None)
    if found is None and isinstance(schema, dict):
        arguments = message.params.get("arguments", {})
        if isinstance(arguments, dict):
            found = param_mismatch(schema, arguments, headers)
    return found


def _standard(message: Message, headers: Headers) -> Iterator[Mismatch]:
    stated = message.meta.get(META_VERSION)
    at: Path = ("params", "_meta", META_VERSION)
    yield from _compared(VERSION, headers.get(VERSION), stated, at)
    yield from _compared(METHOD, headers.get(METHOD), message.method, ("method",))
    # The extension for tasks: "the client MUST set the `Mcp-Name` header […] to the value of
    # `params.taskId`". https://modelcontextprotocol.io/seps/2663-tasks-extension
    member = methods.of(message.method).named_by
    wanted = message.params.get(member) if member else None
    if member and wanted is not None:
        yield from _compared(NAME, headers.get(NAME), wanted, ("params", member), encoded=True)


def _compared(
    name: str, value: str | None, wanted: Json, at: Path, *, encoded: bool = False
) -> Iterator[Mismatch]:
    header, said = SPELLING[name], wanted if isinstance(wanted, str) else None
    if value is None:
        yield Mismatch(kinds.missing_header, header, at, wanted=said)
        return
    read = decode_value(value) if encoded else value
    if read is None:
        yield Mismatch(kinds.undecodable_header, header, at, value, said)
    elif read != wanted:
        yield Mismatch(kinds.wrong_header, header, at, value, said)


def param_mismatch(
    schema: JsonObject, arguments: Mapping[str, Any], headers: Headers
) -> Mismatch | None:
    """Return the first `Mcp-Param-…` header that does not agree with a call's arguments."""
    for path, token, kind in mirrored_headers(schema):
        header, values = f"Mcp-Param-{token}", headers.all(f"{PARAM}{token.lower()}")
        at = ("params", "arguments", *path)
        value = follow(arguments, *path)
        wanted = as_text(value)
        if len(values) > 1:
            return Mismatch(kinds.repeated_header, header, at)
        if not values:
            if wanted is not None:
                return Mismatch(kinds.missing_header, header, at, wanted=wanted)
            continue
        if value is None:
            return Mismatch(kinds.header_without_argument, header, at, values[0])
        read = decode_value(values[0])
        if read is None:
            return Mismatch(kinds.undecodable_header, header, at, values[0], wanted)
        if wanted is None or not _agrees(kind, value, wanted, read):
            return Mismatch(kinds.wrong_header, header, at, values[0], wanted)
    return None


def as_text(value: Json) -> str | None:
    """Return an argument as its header writes it; None if a header cannot contain it.

    "`boolean`: Convert to lowercase", "`integer`: Convert to decimal string representation".
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, (str, int, float)):
        return None
    try:
        return str(value)
    except ValueError:  # more digits than Python writes
        return None


def _agrees(kind: str, value: Json, wanted: str, read: str) -> bool:
    """Return True if a header agrees with its argument; as numbers `42.0` is 42.

    "servers SHOULD compare the header value and the body value numerically rather than as strings"
    """
    is_whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    if kind == "integer" and is_whole and not isinstance(value, bool):
        found = _DECIMAL.fullmatch(read)
        if found is not None:
            return len(found[1]) <= _LONGEST_NUMBER and int(found[1]) == int(value)
        if re.fullmatch(r"-?[0-9]+\.[0-9]+", read):
            return False
    return read == wanted
