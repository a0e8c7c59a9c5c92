"""Parts of an HTTP exchange as they stand in a transcript: one JSON object each, without keys."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from humanmcp.protocol.http.client import IncomingResponse, OutgoingRequest

if TYPE_CHECKING:
    from humanmcp.protocol.http.events import ServerSentEvent


def as_json(number: int, what: OutgoingRequest | IncomingResponse | ServerSentEvent) -> str:
    """Write a part. `number` tells the exchanges of a session apart."""
    said: dict[str, Any] = {"call": number}
    match what:
        case OutgoingRequest(method, headers, _body, url):
            said |= {"method": method, "url": url, "headers": headers}
        case IncomingResponse(status, reason, headers):
            said |= {"status": status, "reason": reason, "headers": headers}
        case _:
            said |= {"event": what.event, "id": what.id}
            if what.retry is not None:
                said["retry"] = what.retry
    return json.dumps(said, ensure_ascii=False, separators=(",", ":"))
