"""The session as an HTTP archive (HAR 1.2), for the viewers that read those: an entry a request.

HTTP is archived as recorded, with headers and statuses, but without keys. Where HTTP was not
recorded, method, address and status are derived from the messages. Over a pipe there is no HTTP:
the addresses are `stdio://server/METHOD`, the bodies are the messages.
"""

from __future__ import annotations

import json
from datetime import datetime
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, NamedTuple

from humanmcp import __version__
from humanmcp.answering.summary import LineKind
from humanmcp.export.recording import build_conversation
from humanmcp.protocol.conversation.timeouts import STATUS_WITHIN
from humanmcp.protocol.conversation.transcript import Direction
from humanmcp.protocol.http.client import carried, headers_of, part_in
from humanmcp.protocol.http.inbound import HttpAddress
from humanmcp.protocol.http.outbound import http_status_of
from humanmcp.protocol.json import jsonrpc

if TYPE_CHECKING:
    from collections.abc import Iterable

    from humanmcp.export.recording import (
        ExportOptions,
        RecordedConversation,
        RecordedEntry,
        Recording,
    )
    from humanmcp.protocol.conversation.transcript import Frame


class HttpRecord(NamedTuple):
    """One HTTP exchange of a transcript: the frame of its request, and the two heads as recorded.

    `response` also tells who ended it early (`cut`), and when its head was recorded (`at`).
    """

    frame: Frame
    request: dict[str, Any]
    response: dict[str, Any]

    @property
    def carries(self) -> str:
        """What identifies the message of the request; "" for none."""
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


def write(recording: Recording, options: ExportOptions) -> str:  # noqa: ARG001 - every format takes it
    conversation = build_conversation(recording)
    records = exchanges_in(recording.frames)
    speakers = f"{conversation.client} and {conversation.server}"
    port = recording.facts.http.port if recording.facts else ""
    address = HttpAddress("127.0.0.1", int(port)).url if port.isdecimal() else ""
    way = "HTTP" if records or address else "stdio"
    log = {
        "version": "1.2",
        "creator": {"name": "humanmcp", "version": __version__},
        "comment": f"MCP {conversation.version} over {way}; {speakers}".strip(),
        "entries": _entries(conversation, records, address),
    }
    return json.dumps({"log": log}, ensure_ascii=False, indent=1) + "\n"


def _entries(
    conversation: RecordedConversation, records: list[HttpRecord], address: str
) -> list[dict[str, Any]]:
    found = [
        (call.request.frame.seq, _entry(call.request, call.answer, address))
        for call in conversation.calls
    ]
    found += [
        (entry.frame.seq, _entry(entry, None, address))
        for entry in conversation.entries
        if entry.kind is LineKind.NOTIFICATION
    ]
    brought = {
        entry.frame.seq: record
        for entry in conversation.entries
        if entry.frame.direction is Direction.IN and (record := _taken(records, entry.frame))
    }
    for seq, entry in found:
        if seq in brought:
            _over_http(entry, brought[seq])
    known = {seq for seq, _ in found}
    found += [
        (entry.frame.seq, _bare(brought[entry.frame.seq], entry.frame.text))
        for entry in conversation.entries
        if entry.frame.seq in brought.keys() - known
    ]
    found += [(record.frame.seq, _bare(record)) for record in records]
    return [entry for _, entry in sorted(found, key=lambda pair: pair[0])]


def _taken(records: list[HttpRecord], line: Frame) -> HttpRecord | None:
    """Take the exchange that brought a line: the first after it that names its message.

    A record without a message belongs to the line right before it.
    """
    name = carried(jsonrpc.read(line.raw))
    for at, record in enumerate(records):
        distance = record.frame.seq - line.seq
        if record.carries == name and (distance > 0 if name else distance == 1):
            return records.pop(at)
    return None


def _bare(record: HttpRecord, body: str = "") -> dict[str, Any]:
    """Write HTTP without a JSON-RPC response: a stream, a client's answer, a session's end."""
    entry = _archived(record.frame.at, 0.0, "", {}, {"content": {"size": 0, "mimeType": ""}})
    if body:
        entry["request"] |= _posted(body)
    _over_http(entry, record)
    return entry


def _archived(
    at: str, waited: float, comment: str, request: dict[str, Any], response: dict[str, Any]
) -> dict[str, Any]:
    """Write an entry. Members that HAR requires and that are unknown here are empty."""
    unknown = {"cookies": [], "headers": [], "headersSize": -1, "bodySize": 0}
    return {
        "startedDateTime": at,
        "time": waited,
        "request": {**unknown, "queryString": [], **request},
        "response": {**unknown, "redirectURL": "", **response},
        "cache": {},
        "timings": {"send": 0, "wait": waited, "receive": 0},
        "comment": comment,
    }


def _over_http(entry: dict[str, Any], record: HttpRecord) -> None:
    asked, found = record.request, record.response
    waited = _milliseconds(record.frame.at, str(found.get("at", "")))
    whole = max(waited, entry["time"])
    entry |= {"time": whole, "timings": {"send": 0, "wait": waited, "receive": whole - waited}}
    if "cut" in found:
        entry["comment"] = f"{entry['comment']} (the {found['cut']} hung up)".strip()
    headers = _headers(found)
    kind = next((one["value"] for one in headers if one["name"].lower() == "content-type"), "")
    entry["request"] |= {
        "method": asked.get("method", ""),
        "url": asked.get("url", ""),
        "httpVersion": "HTTP/1.1",
        "headers": _headers(asked),
    }
    entry["response"] |= {
        "status": found.get("status", 0),
        "statusText": found.get("reason", "" if "status" in found else "no response"),
        "httpVersion": "HTTP/1.1",
        "headers": headers,
    }
    entry["response"]["content"] |= {"mimeType": kind}


def _headers(part: dict[str, Any]) -> list[dict[str, str]]:
    return [{"name": name, "value": value} for name, value in headers_of(part)]


def _entry(request: RecordedEntry, answer: RecordedEntry | None, address: str) -> dict[str, Any]:
    waited = _milliseconds(request.frame.at, answer.frame.at) if answer else 0.0
    entry = _archived(
        request.frame.at, waited, request.words, _request(request), _response(request, answer)
    )
    if address and request.frame.direction is Direction.IN:
        _as_posted(entry, request, answer, address)
    elif address:  # an event of a stream: the client's answer to it was a POST
        entry["request"]["url"] = f"sse://client/{request.method}"
    return entry


def _as_posted(
    entry: dict[str, Any], request: RecordedEntry, answer: RecordedEntry | None, address: str
) -> None:
    """Derive the HTTP of a message to a server at an address."""
    status = 202 if request.kind is LineKind.NOTIFICATION else 0
    if answer is not None:
        streamed = entry["time"] >= STATUS_WITHIN * 1000
        status = 200 if streamed else http_status_of(answer.frame.raw, request.version)
    entry["request"] |= {"url": address, "httpVersion": "HTTP/1.1"}
    phrase = HTTPStatus(status).phrase if status else "no answer"
    entry["response"] |= {"status": status, "statusText": phrase, "httpVersion": "HTTP/1.1"}


def _request(entry: RecordedEntry) -> dict[str, Any]:
    side = "server" if entry.frame.direction is Direction.IN else "client"
    return {
        "method": "POST",
        "url": f"stdio://{side}/{entry.method}",
        "httpVersion": "JSON-RPC/2.0",
        **_posted(entry.frame.text),
    }


def _posted(body: str) -> dict[str, Any]:
    return {
        "postData": {"mimeType": "application/json", "text": body},
        "bodySize": len(body.encode()),
    }


def _response(request: RecordedEntry, answer: RecordedEntry | None) -> dict[str, Any]:
    """Write an answer: 200 for a result, 400 for an error, 202 for a notification."""
    text = answer.frame.text if answer else ""
    if answer is not None:
        status, words = (400, "error") if answer.kind is LineKind.ERROR else (200, "result")
    else:
        status, words = (
            (202, "notification") if request.kind is LineKind.NOTIFICATION else (0, "no answer")
        )
    return {
        "status": status,
        "statusText": words,
        "httpVersion": "JSON-RPC/2.0",
        "content": {"size": len(text.encode()), "mimeType": "application/json", "text": text},
        "bodySize": len(answer.frame.raw) if answer else 0,
    }


def _milliseconds(start: str, end: str) -> float:
    try:
        waited = datetime.fromisoformat(end) - datetime.fromisoformat(start)
    except ValueError:
        return 0.0
    return max(0.0, waited.total_seconds() * 1000)
