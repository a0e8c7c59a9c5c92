"""What ties answers to a client's requests: the id, and the token by which it hears of progress."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

from humanmcp.protocol.json import jsonrpc
from humanmcp.protocol.json.jsonrpc import Message, RequestId, members
from humanmcp.protocol.spec import methods

if TYPE_CHECKING:
    from collections.abc import Mapping

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


def named_after(line: bytes, asked: str) -> bytes:
    """Return an error that names no request as one that names this request.

    Over HTTP a response belongs to its request; "[it] MAY comprise a JSON-RPC error response that
    has no id". https://modelcontextprotocol.io/specification/2025-11-25/basic/transports
    """
    answer, request = jsonrpc.read(line), jsonrpc.read(asked.encode("utf-8", "surrogatepass"))
    if not isinstance(answer, Message) or not isinstance(request, Message) or not request.id:
        return line
    if "id" in answer.body:
        return with_id(answer.raw, request)
    start = answer.raw.index("{") + 1
    named = f'{answer.raw[:start]}"id":{request.id.token},{answer.raw[start:]}'
    return named.encode("utf-8", "surrogatepass")


def with_id(answer: str, asked: Message) -> bytes:
    """Return the text of an answer with the id of this request, and otherwise as it is."""
    assert asked.id is not None  # noqa: S101 - it waits for an answer
    for name, start, end in members(answer):
        if name == "id":
            answer = answer[:start] + asked.id.token + answer[end:]
            break
    return answer.encode("utf-8", "surrogatepass")
