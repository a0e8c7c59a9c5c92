"""What the headers of a 2026-07-28 request must say: the same as its body.

"Servers that process the request body MUST reject requests where the values specified in the
headers do not match the corresponding values in the request body."
https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#server-validation
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from humanmcp.protocol.diagnostics.model import Severity
from humanmcp.protocol.diagnostics.raw import RawDiagnostic, quoted
from humanmcp.protocol.http.headers import METHOD, NAME, PARAM, SPELLING, VERSION, decode_value
from humanmcp.protocol.json.tree import follow
from humanmcp.protocol.spec import methods
from humanmcp.protocol.spec.versions import META_REVISION
from humanmcp.protocol.validation.header_arguments import mirrored

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from humanmcp.protocol.diagnostics.raw import Path
    from humanmcp.protocol.http.headers import Headers
    from humanmcp.protocol.json.jsonrpc import Json, JsonObject, Message

_PAGE: Final = (
    "https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http"
)


class HeaderMismatch(RawDiagnostic, page=f"{_PAGE}#server-validation"):
    """What stands between client and server goes by the headers, the server by the body."""

    header: str
    got: str
    wanted: str


class HeaderMissing(HeaderMismatch, code="N12", severity=Severity.WARNING):
    """Who goes by the headers does not see what the body says."""


class HeaderDiffers(HeaderMismatch, code="N13", severity=Severity.WARNING):
    """Headers and body must say the same."""


class HeaderTwice(HeaderMismatch, code="N14", severity=Severity.WARNING):
    """One reader takes the first, another one the last."""


class HeaderBroken(HeaderMismatch, code="N15", severity=Severity.WARNING):
    """What HTTP cannot carry in a header is written as `=?base64?…?=`."""


class HeaderStray(HeaderMismatch, code="N16", severity=Severity.WARNING):
    """A decision would be made by something that the body never said."""


_DECIMAL: Final = re.compile(r"(-?[0-9]+)(?:\.0+)?")
_LONGEST_NUMBER: Final = 4000
"""Digits; Python refuses to read numbers much longer than that."""


class Mismatch(NamedTuple):
    """A header that does not agree with the body: what is wrong, where in the body it belongs.

    `got` is what the header says, `wanted` what the body says; None where it says nothing.
    """

    kind: type[HeaderMismatch]
    header: str
    at: Path
    got: str | None = None
    wanted: str | None = None

    @property
    def message(self) -> str:
        """Say it to the client's developer, in the words of an error."""
        where = ".".join(str(step) for step in self.at) or "the body"
        said = {
            HeaderMissing: f"is missing, and {where} is there",
            HeaderDiffers: f"does not match {where}",
            HeaderTwice: "appears more than once",
            HeaderBroken: "is not valid base64 of UTF-8",
            HeaderStray: f"is there, and {where} is not",
        }
        return f"Header mismatch: {self.header} {said[self.kind]}"

    @property
    def found(self) -> HeaderMismatch:
        """The same as the check says it."""
        got, wanted = quoted(self.got), quoted(self.wanted)
        return self.kind(self.at, header=self.header, got=got, wanted=wanted)


def mismatch_in(message: Message, headers: Headers, schema: Json = None) -> Mismatch | None:
    """Return the first header that does not agree with a request; None when all do.

    `schema` is the inputSchema of the tool that is called, None where it is not known.
    """
    found = _twice(headers) or next(_standard(message, headers), None)
    if found is None and isinstance(schema, dict):
        arguments = message.params.get("arguments", {})
        if isinstance(arguments, dict):
            found = param_mismatch(schema, arguments, headers)
    return found


def _twice(headers: Headers) -> Mismatch | None:
    name = headers.repeated()
    return Mismatch(HeaderTwice, SPELLING[name], ()) if name else None


def _standard(message: Message, headers: Headers) -> Iterator[Mismatch]:
    stated = message.meta.get(META_REVISION)
    at: Path = ("params", "_meta", META_REVISION)
    yield from _compared(VERSION, headers.get(VERSION), stated, at)
    yield from _compared(METHOD, headers.get(METHOD), message.method, ("method",))
    # The extension for tasks: "the client MUST set the `Mcp-Name` header […] to the value of
    # `params.taskId`". https://modelcontextprotocol.io/seps/2663-tasks-extension
    member = methods.of(message.method).named_by
    wanted = message.params.get(member) if member else None
    if member and wanted is not None:
        yield from _compared(NAME, headers.get(NAME), wanted, ("params", member), encoded=True)


def _compared(
    name: str,
    value: str | None,
    wanted: Json,
    at: Path,
    *,
    encoded: bool = False,
) -> Iterator[Mismatch]:
    header, said = SPELLING[name], wanted if isinstance(wanted, str) else None
    if value is None:
        yield Mismatch(HeaderMissing, header, at, wanted=said)
        return
    read = decode_value(value) if encoded else value
    if read is None:
        yield Mismatch(HeaderBroken, header, at, value, said)
    elif read != wanted:
        yield Mismatch(HeaderDiffers, header, at, value, said)


def param_mismatch(
    schema: JsonObject, arguments: Mapping[str, Any], headers: Headers
) -> Mismatch | None:
    """Return the first `Mcp-Param-…` header that does not agree with a call's arguments."""
    for path, token, kind in mirrored(schema):
        header, values = f"Mcp-Param-{token}", headers.all(f"{PARAM}{token.lower()}")
        at = ("params", "arguments", *path)
        value = follow(arguments, *path)
        wanted = as_text(value)
        if len(values) > 1:
            return Mismatch(HeaderTwice, header, at)
        if not values:
            if wanted is not None:
                return Mismatch(HeaderMissing, header, at, wanted=wanted)
            continue
        if value is None:
            return Mismatch(HeaderStray, header, at, values[0])
        read = decode_value(values[0])
        if read is None:
            return Mismatch(HeaderBroken, header, at, values[0], wanted)
        if wanted is None or not _agrees(kind, value, wanted, read):
            return Mismatch(HeaderDiffers, header, at, values[0], wanted)
    return None


def as_text(value: Json) -> str | None:
    """Return an argument as its header says it; None for what no header can say.

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
    """Compare a header with its argument; whole numbers as numbers: `42.0` is 42.

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
