"""Lists: their pages, and what tells their entries apart."""

from __future__ import annotations

from typing import TYPE_CHECKING

from humanmcp.protocol.diagnostics.model import Severity
from humanmcp.protocol.diagnostics.raw import RawDiagnostic, delete, shown
from humanmcp.protocol.spec import methods
from humanmcp.protocol.validation.rules.registry import rule

if TYPE_CHECKING:
    from collections.abc import Iterator

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

    "Clients SHOULD treat a missing `nextCursor` as the end of results"
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
