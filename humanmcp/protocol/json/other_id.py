"""The same message under another id: only the id changes, every other character stays.

Pure. It is needed between two parties that number their requests independently.
"""

from __future__ import annotations

from humanmcp.protocol.json import jsonrpc


def with_id(text: str, token: str) -> str:
    """Return a message with this id in the place of its own; `token` is as it is written."""
    return _with(text, ("id",), token)


def with_request_id(text: str, token: str) -> str:
    """Return a notification that names this request: `notifications/cancelled`."""
    return _with(text, ("params", "requestId"), token)


def _with(text: str, path: tuple[str, ...], token: str) -> str:
    """Put a token in the place of each member that this path leads to: a name may stand twice."""
    name, *rest = path
    for key, start, end in reversed(jsonrpc.members(text)):
        if key == name:
            value = _with(text[start:end], tuple(rest), token) if rest else token
            text = text[:start] + value + text[end:]
    return text
