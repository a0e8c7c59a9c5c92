"""HTTP responses: the endpoint, and the status of a response."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from humanmcp.protocol.json.jsonrpc import object_in
from humanmcp.protocol.json.tree import follow
from humanmcp.protocol.tables.versions import features

if TYPE_CHECKING:
    from collections.abc import Mapping

JSON: Final = "application/json"

_STATUS: Final[Mapping[int, int]] = {
    -32700: 400,
    -32600: 400,
    -32602: 400,
    -32020: 400,
    -32021: 400,
    -32022: 400,
    -32601: 404,
}
"""2026-07-28: the HTTP status of a JSON-RPC error by its code; 200 for every other response.

"it MUST respond with `404 Not Found` and a JSON-RPC error with code `-32601`"
"""


def http_status_of(line: bytes, version: str) -> int:
    """Return the HTTP status of a response that has not begun."""
    if not features(version).stateless or b'"error"' not in line:
        return 200
    code = follow(object_in(line), "error", "code")  # a line may be wrong on purpose
    return _STATUS.get(code, 200) if isinstance(code, int) else 200


PATH: Final = "/mcp"
"""The endpoint."""
