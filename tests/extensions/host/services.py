"""A local HTTP server that speaks as LLM services do: streaming, errors, and no room."""

import contextlib
import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Say:
    """One answer: a status with a JSON body, or a stream of events. `cut` ends it too early."""

    events: list[tuple[str, Any]] = field(default_factory=list)
    status: int = 200
    body: Any = None
    cut: bool = False


@dataclass
class Service:
    """A running service: what it will say, and what it was asked."""

    address: str
    answers: list[Say]
    asked: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)


@contextlib.contextmanager
def service(*answers: Say) -> Iterator[Service]:
    """Serve these answers, one after the other."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = int(self.headers["Content-Length"])
            found.asked.append(json.loads(self.rfile.read(length)))
            found.headers.append({name.lower(): text for name, text in self.headers.items()})
            found.paths.append(self.path)
            say = found.answers.pop(0)
            self.send_response(say.status)
            if say.body is not None:
                raw = json.dumps(say.body).encode()
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(raw)))
                self.end_headers()
                self.wfile.write(raw)
                return
            self.send_header("Content-Type", "text/event-stream")
            if say.cut:
                self.send_header("Content-Length", "1000000")
            self.send_header("Connection", "close")
            self.end_headers()
            for name, value in say.events:
                if name:
                    self.wfile.write(f"event: {name}\n".encode())
                text = value if isinstance(value, str) else json.dumps(value)
                self.wfile.write(f"data: {text}\n\n".encode())
                self.wfile.flush()

        def log_message(self, *_arguments: object) -> None:
            """Stay quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    found = Service(f"http://127.0.0.1:{server.server_port}", list(answers))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield found
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


# -- as OpenAI speaks --------------------------------------------------------------------------


def chunk(**delta: Any) -> tuple[str, Any]:  # noqa: ANN401 - any JSON value
    """Write one piece of a chat completion."""
    choice = {"index": 0, "delta": delta, "finish_reason": None}
    shared = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    return "", {**shared, "choices": [choice]}


def piece(index: int, name: str = "", arguments: str = "", call: str = "") -> dict[str, Any]:
    """Write one piece of a tool call."""
    function = {"arguments": arguments, **({"name": name} if name else {})}
    return {
        "index": index,
        "function": function,
        **({"id": call, "type": "function"} if call else {}),
    }


DONE = ("", "[DONE]")


# -- as Anthropic speaks -----------------------------------------------------------------------


def message(*blocks: dict[str, Any], pieces: int = 2) -> list[tuple[str, Any]]:
    """Write a whole streamed message; each block comes in several pieces."""
    usage = {"input_tokens": 1, "output_tokens": 1}
    start: dict[str, Any] = {
        "id": "m",
        "type": "message",
        "role": "assistant",
        "model": "claude",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": usage,
    }
    events: list[tuple[str, Any]] = [
        ("message_start", {"type": "message_start", "message": start}),
        ("ping", {"type": "ping"}),
    ]
    for index, block in enumerate(blocks):
        events += _block(index, block, pieces)
    ending = {"stop_reason": "end_turn", "stop_sequence": None}
    events.append(("message_delta", {"type": "message_delta", "delta": ending, "usage": usage}))
    events.append(("message_stop", {"type": "message_stop"}))
    return events


def _block(index: int, block: dict[str, Any], pieces: int) -> list[tuple[str, Any]]:
    if block["type"] == "text":
        empty, whole, kind, key = block | {"text": ""}, block["text"], "text_delta", "text"
    else:
        empty, whole = block | {"input": {}}, json.dumps(block["input"])
        kind, key = "input_json_delta", "partial_json"
    start: dict[str, Any] = {
        "type": "content_block_start",
        "index": index,
        "content_block": empty,
    }
    events: list[tuple[str, Any]] = [("content_block_start", start)]
    size = max(1, -(-len(whole) // pieces))
    for at in range(0, len(whole), size):
        delta = {"type": kind, key: whole[at : at + size]}
        body = {"type": "content_block_delta", "index": index, "delta": delta}
        events.append(("content_block_delta", body))
    events.append(("content_block_stop", {"type": "content_block_stop", "index": index}))
    return events


def error(kind: str, text: str) -> dict[str, Any]:
    """Write an error as Anthropic does."""
    return {"type": "error", "error": {"type": kind, "message": text}}
