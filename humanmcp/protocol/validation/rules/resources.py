"""Resources: what is read is what was asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from humanmcp.protocol.diagnostics.model import Severity
from humanmcp.protocol.diagnostics.raw import RawDiagnostic, replace_with, shown
from humanmcp.protocol.spec.versions import features
from humanmcp.protocol.validation.rules.registry import rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from humanmcp.protocol.json.jsonrpc import Json
    from humanmcp.protocol.validation.rules.registry import JudgedAnswer


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
