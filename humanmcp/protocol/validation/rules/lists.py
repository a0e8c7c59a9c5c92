"""Lists: their pages, what tells their entries apart, and what is read of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from humanmcp.protocol.diagnostics.model import Severity
from humanmcp.protocol.diagnostics.raw import (
    RawDiagnostic,
    delete,
    replace_with,
    shown,
)
from humanmcp.protocol.spec import methods
from humanmcp.protocol.spec.versions import features
from humanmcp.protocol.validation.rules.registry import rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from humanmcp.protocol.json.jsonrpc import Json
    from humanmcp.protocol.validation.rules.registry import JudgedAnswer


class EmptyCursor(RawDiagnostic, code="M42", severity=Severity.WARNING):
    """A client asks for another page by it, and for the same again."""


class SameCursor(RawDiagnostic, code="M43", severity=Severity.WARNING):
    """The client would ask for this page again, and again."""


class TwiceInList(RawDiagnostic, code="M38", severity=Severity.WARNING):
    """Clients keep one of the two, or refuse the list."""

    key: str
    value: str


@rule()
def next_page(answer: JudgedAnswer) -> Iterator[RawDiagnostic]:
    """The end is told by leaving the cursor out, and each page by a cursor of its own.

    "Clients SHOULD: Treat a missing `nextCursor` as the end of results"
    https://modelcontextprotocol.io/specification/2025-11-25/server/utilities/pagination
    """
    if "nextCursor" not in answer.value:
        return
    cursor, at = answer.value["nextCursor"], answer.at("nextCursor")
    if cursor == "":
        yield EmptyCursor(at, delete(at))
    elif isinstance(cursor, str) and cursor == answer.exchange.request.params.get("cursor"):
        yield SameCursor(at, delete(at))


@rule(*(one.name for one in methods.LISTS))
def entries_apart(answer: JudgedAnswer) -> Iterator[RawDiagnostic]:
    """No two entries have the same name or address: "Unique identifier for the tool".

    https://modelcontextprotocol.io/specification/2025-11-25/server/tools#tool
    """
    listing = methods.of(answer.exchange.method).listing
    items = answer.value.get(listing.member) if listing else None
    if listing is None or not isinstance(items, list):
        return
    seen: set[str] = set()
    for index, item in enumerate(items):
        own = item.get(listing.key) if isinstance(item, dict) else None
        if not isinstance(own, str):
            continue
        if own in seen:
            at = answer.at(listing.member, index, listing.key)
            yield TwiceInList(at, key=listing.key, value=shown(own))
        seen.add(own)


class NothingRead(RawDiagnostic, code="M60", severity=Severity.WARNING):
    """A client cannot tell it from an empty resource."""

    instead: str


class OtherResource(RawDiagnostic, code="M70", severity=Severity.HINT):
    """A client may hold it for what it asked for."""

    asked: str
    answered: str


@rule("resources/read")
def something_read(answer: JudgedAnswer) -> Iterator[RawDiagnostic]:
    """A resource that is not there is an error, and no empty list.

    "Servers SHOULD return standard JSON-RPC errors for common failure cases"
    https://modelcontextprotocol.io/specification/2025-11-25/server/resources#error-handling
    """
    if answer.value.get("contents") == [] and not answer.asks_back:
        code = features(answer.exchange.revision).resource_not_found
        yield NothingRead(answer.at("contents"), instead=str(code))


@rule("resources/read")
def read_what_was_asked(answer: JudgedAnswer) -> Iterator[RawDiagnostic]:
    """One of the addresses is the one that was asked for."""
    contents, wanted = answer.value.get("contents"), answer.exchange.request.params.get("uri")
    if answer.asks_back or not isinstance(contents, list) or not isinstance(wanted, str):
        return
    uris = [each.get("uri") for each in contents if isinstance(each, dict)]
    if uris and not any(_within(uri, wanted) for uri in uris):
        at = answer.at("contents", 0, "uri")
        answered = shown(str(uris[0]))
        yield OtherResource(at, replace_with(at, wanted), asked=shown(wanted), answered=answered)


def _within(uri: Json, wanted: str) -> bool:
    """A folder is read as the files in it: their addresses begin with its own."""
    return not isinstance(uri, str) or uri.startswith(wanted.rstrip("/"))
