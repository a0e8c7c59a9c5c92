"""Parts of an HTTP exchange as they stand in a transcript: one JSON object each, without keys."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from humanmcp.protocol.conversation.transcript import HTTP
from humanmcp.protocol.http.client import IncomingResponse, OutgoingRequest
from humanmcp.protocol.json import jsonrpc
from humanmcp.protocol.json.jsonrpc import Message

if TYPE_CHECKING:
    from collections.abc import Iterable

    from humanmcp.protocol.conversation.transcript import Frame
    from humanmcp.protocol.http.events import ServerSentEvent


def as_json(number: int, what: OutgoingRequest | IncomingResponse | ServerSentEvent) -> str:
    """Write a part. `number` tells the exchanges of a session apart."""
    said: dict[str, Any] = {"call": number}
    match what:
        case OutgoingRequest(method, headers, body, url):
            said |= {"method": method, "url": url, "headers": headers, "carries": _carried(body)}
        case IncomingResponse(status, reason, headers):
            said |= {"status": status, "reason": reason, "headers": headers}
        case _:
            said |= {"event": what.event, "id": what.id}
            if what.retry is not None:
                said["retry"] = what.retry
    return json.dumps(said, ensure_ascii=False, separators=(",", ":"))


def _carried(body: bytes) -> str:
    """Name the message that a request brings, so that its line is found; "" for none."""
    message = jsonrpc.read(body) if body else None
    return carried(message) if isinstance(message, Message) else ""


def carried(message: Message) -> str:
    """Return what tells a message of a client from others: its id as it was written, its method."""
    return f"{message.id.token if message.id else ''} {message.method}".strip()


class HttpRecord(NamedTuple):
    """One exchange of a transcript: the frame of its request, and its two heads as they stand."""

    frame: Frame
    request: dict[str, Any]
    response: dict[str, Any]

    @property
    def carries(self) -> str:
        """What tells the message that it brought from others; "" for none."""
        return str(self.request.get("carries", ""))


def exchanges_in(frames: Iterable[Frame]) -> list[HttpRecord]:
    """Return the exchanges of a transcript in the order of their requests."""
    found: list[HttpRecord] = []
    open_ones: dict[object, HttpRecord] = {}
    for frame in frames:
        part = part_in(frame)
        if "method" in part:
            record = open_ones[part.get("call")] = HttpRecord(frame, part, {})
            found.append(record)
        elif "status" in part and (asked := open_ones.get(part.get("call"))):
            asked.response.update(part)
    return found


def part_in(frame: Frame) -> dict[str, Any]:
    """Return the part of an exchange that a frame holds; {} for none."""
    if frame.note != HTTP:
        return {}
    try:
        part = json.loads(frame.raw)
    except ValueError:
        return {}
    return part if isinstance(part, dict) else {}


def words_of(frame: Frame) -> str:
    """Return a part as HTTP writes its first line; "" for a frame that holds none."""
    part = part_in(frame)
    if "method" in part:
        return f"HTTP {part.get('call')} -> {part['method']} {part.get('url', '')}"
    if "status" in part:
        return f"HTTP {part.get('call')} <- {part['status']} {part.get('reason', '')}".rstrip()
    return f"HTTP {part.get('call')} <- event {part.get('id', '')}".rstrip() if part else ""
