"""What a client's requests carry beside their parameters: tokens of progress, and the envelope.

In a session with a handshake the revision is settled once; in 2026-07-28 every request carries it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

from humanmcp.protocol.json.jsonrpc import RequestId
from humanmcp.protocol.json.tree import array_at, object_at
from humanmcp.protocol.rules.answer_book import UNSUPPORTED_REVISION
from humanmcp.protocol.spec import methods, versions

if TYPE_CHECKING:
    from collections.abc import Mapping

    from humanmcp.host.client.handshake import Identity, Response
    from humanmcp.protocol.json.jsonrpc import Message

Key: TypeAlias = tuple[str, str | int | float]
"""What tells ids, and tokens, apart: `7` and `"7"` are two."""

NO_KEY: Final = ("", "")
"""What stands for a token that is none; no request has it."""


def with_progress_token(
    method: str, params: Mapping[str, Any] | None, number: int
) -> Mapping[str, Any] | None:
    """Ask for progress where a request may take long, unless the caller has a token of their own.

    MCP, progress: the token "MUST be unique across all active requests"; the id is, and the
    official TypeScript SDK takes it too.
    """
    # what may ask its user back is what may take a server long
    if not methods.of(method).asks_back:
        return params
    meta = {"progressToken": number, **object_at((params or {}).get("_meta"))}
    return {**(params or {}), "_meta": meta}


def token_of(request: Message) -> Key:
    """Return what tells the progress token of a request from others; `NO_KEY` without one."""
    return as_key(request.meta.get("progressToken"))


def as_key(token: Any) -> Key:  # noqa: ANN401 - any JSON value
    """Return what tells a token from others; `NO_KEY` for what is none."""
    if isinstance(token, bool) or not isinstance(token, (str, int)):
        return NO_KEY
    return RequestId("", token).key


def enveloped(
    params: Mapping[str, Any] | None, stated: str, identity: Identity
) -> Mapping[str, Any] | None:
    """Add what every request of 2026-07-28 carries; nothing where no revision is stated."""
    if not stated:
        return params
    meta = {
        versions.META_REVISION: stated,
        versions.META_CLIENT: identity.info,
        versions.META_CAPABILITIES: _without_notices(identity.capabilities),
    }
    return {**(params or {}), "_meta": meta | object_at((params or {}).get("_meta"))}


def _without_notices(capabilities: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out of the capabilities what 2026-07-28 no longer has: a client's notifications."""
    return {name: {} if name == "roots" else value for name, value in capabilities.items()}


def supported(response: Response) -> list[Any]:
    """List the revisions that an answer to `server/discover` names, be it a result or an error."""
    if response.result is not None:
        return array_at(response.result, "supportedVersions")
    error = object_at(response.message.body, "error")
    is_told = error.get("code") == UNSUPPORTED_REVISION
    return array_at(error, "data", "supported") if is_told else []
