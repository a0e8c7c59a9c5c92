"""Parts of an HTTP exchange as they stand in a transcript: one JSON object each, without keys.

`call` tells the exchanges of a session apart, whichever side writes them down.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from humanmcp.protocol.conversation.transcript import HTTP
from humanmcp.protocol.http.client import IncomingResponse, OutgoingRequest
from humanmcp.protocol.json import jsonrpc
from humanmcp.protocol.json.jsonrpc import Batch, Message

if TYPE_CHECKING:
    from collections.abc import Iterable

    from humanmcp.protocol.conversation.transcript import Frame
    from humanmcp.protocol.http.client import Pairs
    from humanmcp.protocol.http.events import ServerSentEvent
    from humanmcp.protocol.json.jsonrpc import Malformed

_as_json: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def as_json(number: int, what: OutgoingRequest | IncomingResponse | ServerSentEvent) -> str:
    """Write a part as a client knows it."""
    match what:
        case OutgoingRequest(method, headers, body, url):
            message = jsonrpc.read(body) if body else None
            return request_part(number, method, url, headers, carried(message))
        case IncomingResponse(status, reason, headers):
            return response_part(number, status, reason, headers)
        case _:
            return event_part(number, what.id, what.event, what.retry)


def request_part(call: int, method: str, url: str, headers: Pairs, carries: str) -> str:
    """Write the head of a request. `carries` names the message that it brings (`carried`)."""
    said = {"call": call, "method": method, "url": url, "headers": headers, "carries": carries}
    return _as_json(said)


def response_part(call: int, status: int, reason: str, headers: Pairs) -> str:
    """Write the head of a response."""
    return _as_json({"call": call, "status": status, "reason": reason, "headers": headers})


def event_part(call: int, name: str, event: str = "message", retry: int | None = None) -> str:
    """Write what an event says beside its message. `name` is its id, "" for none."""
    pause = {} if retry is None else {"retry": retry}
    return _as_json({"call": call, "event": event, "id": name, **pause})


def cut_part(call: int, by: str) -> str:
    """Write that an exchange ended before its response was whole. `by` is `client` or `server`."""
    return _as_json({"call": call, "cut": by})


def carried(message: Message | Batch | Malformed | None) -> str:
    """Return what tells a message of a client from others: its id as it was written, its method.

    Of a batch those of all its messages; "" for what is no message.
    """
    if isinstance(message, Batch):
        return ", ".join(carried(one) for one in message.items if isinstance(one, Message))
    if not isinstance(message, Message):
        return ""
    return f"{message.id.token if message.id else ''} {message.method}".strip()


class HttpRecord(NamedTuple):
    """One exchange of a transcript: the frame of its request, and its two heads as they stand.

    `response` also holds who hung up (`cut`), and when its head was written down (`at`).
    """

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
        elif asked := open_ones.get(part.get("call")):
            if "status" in part:
                asked.response.update(part, at=frame.at)
            elif "cut" in part:
                asked.response["cut"] = part["cut"]
    return found


def calls_in(frames: Iterable[Frame]) -> int:
    """Return the highest number of an exchange of a transcript, 0 for none."""
    calls = (part_in(frame).get("call") for frame in frames)
    return max((call for call in calls if isinstance(call, int)), default=0)


def part_in(frame: Frame) -> dict[str, Any]:
    """Return the part of an exchange that a frame holds; {} for none."""
    return jsonrpc.object_in(frame.raw) if frame.note == HTTP else {}


def is_beside(part: dict[str, Any]) -> bool:
    """Return True if a part says more of a line or a request that a list shows by itself.

    The head of a request that brought no line stands alone, and so does who hung up.
    """
    return bool(part.get("carries") if "method" in part else part) and "cut" not in part


def head_of(part: dict[str, Any]) -> str:
    """Return a part as HTTP writes it: its first line, and one line for each header."""
    return "\n".join([_words(part), *(f"{name}: {value}" for name, value in headers_of(part))])


def headers_of(part: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the headers of a part: what is none, in an edited transcript, is left out."""
    pairs = part.get("headers")
    return [
        (str(pair[0]), str(pair[1]))
        for pair in (pairs if isinstance(pairs, list) else [])
        if isinstance(pair, list) and len(pair) == 2
    ]


def words_of(frame: Frame) -> str:
    """Return a part as HTTP writes its first line; "" for a frame that holds none."""
    return _words(part_in(frame))


def _words(part: dict[str, Any]) -> str:
    if "method" in part:
        return f"HTTP {part.get('call')} -> {part['method']} {part.get('url', '')}"
    if "status" in part:
        return f"HTTP {part.get('call')} <- {part['status']} {part.get('reason', '')}".rstrip()
    if "cut" in part:
        return f"HTTP {part.get('call')} -- hung up by the {part['cut']}"
    return f"HTTP {part.get('call')} <- event {part.get('id', '')}".rstrip() if part else ""
