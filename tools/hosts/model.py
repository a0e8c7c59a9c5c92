"""A model service on this machine that speaks four interfaces and thinks nothing.

It calls the first tool whose name holds `ask_human`, and once the tool's result is in the
conversation it says that result back. Hosts take it for Anthropic, OpenAI or Google by the address
of their settings. Every request is remembered.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final, Self

TOOL: Final = "ask_human"
QUESTION: Final = "Which way is the sea?"
CALL_ID: Final = "call_1"
MODEL: Final = "fake-model"

Json = Any


@dataclass(frozen=True, slots=True)
class Asked:
    """One request to the model.

    `tools` are the names that it was offered, `result` what a tool call came back with, "" while
    there was none. `at` is in seconds of a monotonic clock.
    """

    path: str
    tools: tuple[str, ...]
    result: str
    at: float


@dataclass(frozen=True, slots=True)
class Turn:
    """What the model says: a call of `tool`, or, where that is "", a text."""

    tool: str
    text: str
    arguments: Mapping[str, Json] = field(default_factory=lambda: {"question": QUESTION})
    """The arguments of the call."""


class Model:
    """The service, and what it was asked."""

    def __init__(self, script: Sequence[tuple[str, Mapping[str, Json]]] = ()) -> None:
        """Listen on a free port of this machine. `script` are the calls to make, one by one."""
        self.script = script
        self.asked: list[Asked] = []
        self._server = _Server(self)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    def __enter__(self) -> Self:
        """Serve."""
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Serve no longer."""
        self._server.shutdown()
        self._server.server_close()

    @property
    def url(self) -> str:
        """The address, without a slash at the end."""
        return f"http://127.0.0.1:{self._server.server_port}"

    @property
    def turns(self) -> tuple[Asked, ...]:
        """The requests of the conversation: titles and summaries are asked for without tools."""
        return tuple(one for one in self.asked if one.tools)

    def turn(self, path: str, tools: Sequence[str], result: str, count: int = 0) -> Turn:
        """Remember a request and say what the model does, after so many results of tools."""
        self.asked.append(Asked(path, tuple(tools), result, time.monotonic()))
        if self.script and tools:
            step = self.script[count] if count < len(self.script) else None
            return Turn(step[0], "", step[1]) if step else Turn("", "It is done.")
        ours = [name for name in tools if TOOL in name]
        if result or count:
            return Turn("", f"The person said: {result}")
        return Turn(ours[0], "") if ours else Turn("", "There is nobody to ask.")


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, model: Model) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.model = model


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its own name
        """Say nothing: the host's words are what is read."""

    def do_GET(self) -> None:
        self._json({"object": "list", "data": [{"id": MODEL, "object": "model"}], "models": []})

    def do_HEAD(self) -> None:
        self._json({})

    def do_POST(self) -> None:
        body = self._body()
        path = self.path.partition("?")[0]
        speak = next((one for part, one in _INTERFACES if part in path.lower()), None)
        if "count" in path.lower():
            self._json({"input_tokens": 1, "totalTokens": 1})
        elif speak is None:
            self._json({})
        else:
            answer = speak(self.server.model, path, body)
            self._answer(answer, stream=bool(body.get("stream")) or "stream" in path)

    def _body(self) -> dict[str, Json]:
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        try:
            body = json.loads(raw)
        except ValueError:
            return {}
        return body if isinstance(body, dict) else {}

    def _answer(self, answer: _Answer, *, stream: bool) -> None:
        if not stream:
            self._json(answer.whole)
            return
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        for name, value in answer.parts:
            event = f"event: {name}\n" if name else ""
            data = value if isinstance(value, str) else json.dumps(value)
            self.wfile.write(f"{event}data: {data}\n\n".encode())
        self.close_connection = True

    def _json(self, value: Json) -> None:
        body = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


@dataclass(frozen=True, slots=True)
class _Answer:
    """One answer in both manners: `whole`, and as (event, data) of a stream."""

    whole: Json
    parts: tuple[tuple[str, Json], ...]


# -- Anthropic Messages -----------------------------------------------------------------------


def _anthropic(model: Model, path: str, body: Mapping[str, Json]) -> _Answer:
    results = [
        _flat(part.get("content"))
        for message in body.get("messages", ())
        for part in _parts(message.get("content"))
        if part.get("type") == "tool_result"
    ]
    tools = [tool.get("name", "") for tool in body.get("tools") or ()]
    turn = model.turn(path, tools, results[-1] if results else "", len(results))
    usage = {"input_tokens": 1, "output_tokens": 1}
    block: dict[str, Json] = (
        {
            "type": "tool_use",
            "id": f"toolu_{len(results) + 1}",
            "name": turn.tool,
            "input": turn.arguments,
        }
        if turn.tool
        else {"type": "text", "text": turn.text}
    )
    reason = "tool_use" if turn.tool else "end_turn"
    whole = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": body.get("model", MODEL),
        "content": [block],
        "stop_reason": reason,
        "stop_sequence": None,
        "usage": usage,
    }
    started = {**whole, "content": [], "stop_reason": None}
    empty = {**block, "input": {}} if turn.tool else {**block, "text": ""}
    delta = (
        {"type": "input_json_delta", "partial_json": json.dumps(turn.arguments)}
        if turn.tool
        else {"type": "text_delta", "text": turn.text}
    )
    events: tuple[dict[str, Json], ...] = (
        {"type": "message_start", "message": started},
        {"type": "content_block_start", "index": 0, "content_block": empty},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {
            "type": "message_delta",
            "delta": {"stop_reason": reason, "stop_sequence": None},
            "usage": usage,
        },
        {"type": "message_stop"},
    )
    return _Answer(whole, tuple((event["type"], event) for event in events))


# -- OpenAI Responses -------------------------------------------------------------------------


def _responses(model: Model, path: str, body: Mapping[str, Json]) -> _Answer:
    asked = body.get("input")
    results = [
        _flat(item.get("output"))
        for item in (asked if isinstance(asked, list) else ())
        if item.get("type") == "function_call_output"
    ]
    tools, spaces = _response_tools(body.get("tools") or ())
    turn = model.turn(path, tools, results[-1] if results else "", len(results))
    item: dict[str, Json]
    if turn.tool:
        item = {
            "type": "function_call",
            "id": "fc_1",
            "call_id": CALL_ID,
            "name": turn.tool,
            "arguments": json.dumps(turn.arguments),
            "status": "completed",
        }
        if turn.tool in spaces:
            item["namespace"] = spaces[turn.tool]
    else:
        said = {"type": "output_text", "text": turn.text, "annotations": []}
        item = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed"}
        item["content"] = [said]
    usage = {
        "input_tokens": 1,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": 1,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 2,
    }
    whole = {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "model": body.get("model", MODEL),
        "status": "completed",
        "output": [item],
        "usage": usage,
        "parallel_tool_calls": False,
        "tool_choice": "auto",
        "tools": [],
    }
    started = {**whole, "status": "in_progress", "output": [], "usage": None}
    events: list[dict[str, Json]] = [{"type": "response.created", "response": started}]
    events.append({"type": "response.output_item.added", "output_index": 0, "item": item})
    if not turn.tool:
        place = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
        events.append({"type": "response.output_text.delta", **place, "delta": turn.text})
    events.append({"type": "response.output_item.done", "output_index": 0, "item": item})
    events.append({"type": "response.completed", "response": whole})
    numbered = ({**event, "sequence_number": number} for number, event in enumerate(events))
    return _Answer(whole, tuple((event["type"], event) for event in numbered))


def _response_tools(tools: Sequence[Mapping[str, Json]]) -> tuple[list[str], dict[str, str]]:
    """List the names of the tools, and the namespace of those that stand in one."""
    names: list[str] = []
    spaces: dict[str, str] = {}
    for tool in tools:
        if tool.get("type") == "namespace":
            for inner in tool.get("tools", ()):
                names.append(inner.get("name", ""))
                spaces[names[-1]] = tool.get("name", "")
        else:
            names.append(tool.get("name") or tool.get("type", ""))
    return names, spaces


# -- OpenAI Chat Completions ------------------------------------------------------------------


def _chat(model: Model, path: str, body: Mapping[str, Json]) -> _Answer:
    results = [
        _flat(message.get("content"))
        for message in body.get("messages", ())
        if message.get("role") == "tool"
    ]
    tools = [tool.get("function", {}).get("name", "") for tool in body.get("tools") or ()]
    turn = model.turn(path, tools, results[-1] if results else "", len(results))
    called = {"name": turn.tool, "arguments": json.dumps(turn.arguments)}
    call = {"index": 0, "id": CALL_ID, "type": "function", "function": called}
    said: dict[str, Json] = {"role": "assistant", "content": turn.text or None}
    if turn.tool:
        said["tool_calls"] = [call]
    reason = "tool_calls" if turn.tool else "stop"
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    head = {"id": "chatcmpl_1", "created": 1, "model": body.get("model", MODEL)}
    whole = {
        **head,
        "object": "chat.completion",
        "choices": [{"index": 0, "message": said, "finish_reason": reason}],
        "usage": usage,
    }
    chunk = {**head, "object": "chat.completion.chunk"}
    parts = (
        {**chunk, "choices": [{"index": 0, "delta": said, "finish_reason": None}]},
        {**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": reason}], "usage": usage},
        "[DONE]",
    )
    return _Answer(whole, tuple(("", part) for part in parts))


# -- Gemini generateContent -------------------------------------------------------------------


def _gemini(model: Model, path: str, body: Mapping[str, Json]) -> _Answer:
    results = [
        _flat(part["functionResponse"].get("response"))
        for content in body.get("contents", ())
        for part in content.get("parts", ())
        if "functionResponse" in part
    ]
    tools = [
        declared.get("name", "")
        for tool in body.get("tools") or ()
        for declared in tool.get("functionDeclarations", ())
    ]
    turn = model.turn(path, tools, results[-1] if results else "", len(results))
    part: dict[str, Json] = (
        {"functionCall": {"name": turn.tool, "args": turn.arguments}}
        if turn.tool
        else {"text": turn.text}
    )
    whole = {
        "candidates": [
            {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}
        ],
        "usageMetadata": {
            "promptTokenCount": 1,
            "candidatesTokenCount": 1,
            "totalTokenCount": 2,
        },
        "modelVersion": MODEL,
    }
    return _Answer(whole, (("", whole),))


_INTERFACES: Final = (
    ("/messages", _anthropic),
    ("/responses", _responses),
    ("/chat/completions", _chat),
    ("generatecontent", _gemini),
)
"""What a path holds, and who speaks there."""


# -- what stands in a message -----------------------------------------------------------------


def _parts(content: Json) -> Iterator[Mapping[str, Json]]:
    yield from (part for part in (content if isinstance(content, list) else ()) if part)


def _flat(value: Json) -> str:
    """Return every text in a value, one after the other."""
    match value:
        case str():
            return value
        case list():
            return " ".join(filter(None, map(_flat, value)))
        case dict():
            return " ".join(filter(None, (_flat(one) for one in value.values())))
        case _:
            return ""
