"""What ties answers to a client's requests: the id, and the token by which it hears of progress."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

from humanmcp.protocol.json.jsonrpc import RequestId
from humanmcp.protocol.spec import methods

if TYPE_CHECKING:
    from collections.abc import Mapping

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
    given = (params or {}).get("_meta")
    meta = given if isinstance(given, dict) else {}
    return {**(params or {}), "_meta": {"progressToken": number, **meta}}


def token_of(request: Message) -> Key:
    """Return what tells the progress token of a request from others; `NO_KEY` without one."""
    return as_key(request.meta.get("progressToken"))


def as_key(token: Any) -> Key:  # noqa: ANN401 - any JSON value
    """Return what tells a token from others; `NO_KEY` for what is none."""
    if isinstance(token, bool) or not isinstance(token, (str, int)):
        return NO_KEY
    return RequestId("", token).key
