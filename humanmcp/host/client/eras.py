"""What differs between the eras for a client: the envelope of a request, and how one is found out.

In a session with a handshake the revision is settled once; in 2026-07-28 every request carries it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from humanmcp.protocol.policy.answer_book import UNSUPPORTED_REVISION
from humanmcp.protocol.spec import versions

if TYPE_CHECKING:
    from collections.abc import Mapping

    from humanmcp.host.client.handshake import Identity, Response


def enveloped(
    params: Mapping[str, Any] | None, stated: str, identity: Identity
) -> Mapping[str, Any] | None:
    """Add what every request of 2026-07-28 carries; nothing where no revision is stated."""
    if not stated:
        return params
    given = (params or {}).get("_meta")
    meta = {
        versions.META_REVISION: stated,
        versions.META_CLIENT: identity.info,
        versions.META_CAPABILITIES: _without_notices(identity.capabilities),
    }
    return {**(params or {}), "_meta": {**meta, **(given if isinstance(given, dict) else {})}}


def _without_notices(capabilities: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out of the capabilities what 2026-07-28 no longer has: a client's notifications."""
    return {name: {} if name == "roots" else value for name, value in capabilities.items()}


def supported(response: Response) -> list[Any]:
    """List the revisions that an answer to `server/discover` names, be it a result or an error."""
    body = response.message.body
    if response.result is not None:
        found = response.result.get("supportedVersions")
    else:
        error = body.get("error")
        error = error if isinstance(error, dict) else {}
        told = error.get("data") if error.get("code") == UNSUPPORTED_REVISION else None
        found = told.get("supported") if isinstance(told, dict) else None
    return found if isinstance(found, list) else []
