"""The session as an HTTP archive (HAR 1.2), for the viewers that read those: an entry a request.

There was no HTTP: the addresses are `stdio://server/METHOD`, the bodies are the messages.
"""

from __future__ import annotations

import json
from datetime import datetime
from typing import TYPE_CHECKING, Any

from humanmcp import __version__
from humanmcp.export.conversation import EntryKind, build_conversation
from humanmcp.protocol.conversation.transcript import Direction

if TYPE_CHECKING:
    from humanmcp.export.conversation import Conversation, Entry
    from humanmcp.export.reading import ExportOptions, Recording


def write(recording: Recording, options: ExportOptions) -> str:  # noqa: ARG001 - every format takes it
    """Write the archive."""
    conversation = build_conversation(recording)
    speakers = f"{conversation.client} and {conversation.server}"
    log = {
        "version": "1.2",
        "creator": {"name": "humanmcp", "version": __version__},
        "comment": f"MCP {conversation.revision} over stdio; {speakers}".strip(),
        "entries": _entries(conversation),
    }
    return json.dumps({"log": log}, ensure_ascii=False, indent=1) + "\n"


def _entries(conversation: Conversation) -> list[dict[str, Any]]:
    found = [
        (call.request.frame.seq, _entry(call.request, call.answer)) for call in conversation.calls
    ]
    found += [
        (entry.frame.seq, _entry(entry, None))
        for entry in conversation.entries
        if entry.kind is EntryKind.NOTIFICATION
    ]
    return [entry for _, entry in sorted(found, key=lambda pair: pair[0])]


def _entry(request: Entry, answer: Entry | None) -> dict[str, Any]:
    waited = _milliseconds(request.frame.at, answer.frame.at) if answer else 0.0
    return {
        "startedDateTime": request.frame.at,
        "time": waited,
        "request": _request(request),
        "response": _response(request, answer),
        "cache": {},
        "timings": {"send": 0, "wait": waited, "receive": 0},
        "comment": request.words,
    }


def _request(entry: Entry) -> dict[str, Any]:
    side = "server" if entry.frame.way is Direction.IN else "client"
    return {
        "method": "POST",
        "url": f"stdio://{side}/{entry.method}",
        "httpVersion": "JSON-RPC/2.0",
        "cookies": [],
        "headers": [],
        "queryString": [],
        "postData": {"mimeType": "application/json", "text": entry.frame.text},
        "headersSize": -1,
        "bodySize": len(entry.frame.raw),
    }


def _response(request: Entry, answer: Entry | None) -> dict[str, Any]:
    """Write an answer. HTTP has no other words: 200, 400 for an error, 202 for a notification."""
    text = answer.frame.text if answer else ""
    if answer is not None:
        status, words = (400, "error") if answer.kind is EntryKind.ERROR else (200, "result")
    else:
        status, words = (
            (202, "notification") if request.kind is EntryKind.NOTIFICATION else (0, "no answer")
        )
    return {
        "status": status,
        "statusText": words,
        "httpVersion": "JSON-RPC/2.0",
        "cookies": [],
        "headers": [],
        "content": {"size": len(text.encode()), "mimeType": "application/json", "text": text},
        "redirectURL": "",
        "headersSize": -1,
        "bodySize": len(answer.frame.raw) if answer else 0,
    }


def _milliseconds(start: str, end: str) -> float:
    try:
        waited = datetime.fromisoformat(end) - datetime.fromisoformat(start)
    except ValueError:
        return 0.0
    return max(0.0, waited.total_seconds() * 1000)
