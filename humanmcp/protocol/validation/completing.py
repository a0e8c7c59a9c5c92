"""How an argument of a prompt or a resource template may go on: `completion/complete`.

https://modelcontextprotocol.io/specification/2025-11-25/server/utilities/completion
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from humanmcp.protocol.spec.objects import SHAPES
from humanmcp.protocol.spec.versions import features

if TYPE_CHECKING:
    from collections.abc import Mapping


def is_offered(offered: Mapping[str, Any] | None, revision: str) -> bool:
    """Return True if a server may be asked; 2024-11-05 has no capability that says so."""
    return not features(revision).completions or "completions" in (offered or ())


def asked(
    ref: Mapping[str, Any], name: str, value: str, given: Mapping[str, str], revision: str
) -> dict[str, Any]:
    """Return the parameters of the request.

    `given` are the other arguments, which the server is told of where the revision has a place.
    """
    params: dict[str, Any] = {"ref": dict(ref), "argument": {"name": name, "value": value}}
    context = SHAPES["CompleteParams"].members["context"]
    others = {one: text for one, text in given.items() if text and one != name}
    if others and context.exists(revision):
        params["context"] = {"arguments": others}
    return params


def values_of(result: object) -> list[str]:
    """Return the values that an answer offers; none where it is another answer."""
    match result:
        case {"completion": {"values": list(values)}}:
            return [one for one in values if isinstance(one, str)]
        case _:
            return []
