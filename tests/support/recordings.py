"""Recorded sessions for the tests of the exports."""

import json
from pathlib import Path
from typing import Any, Final

from humanmcp.export.recording import Recording
from humanmcp.protocol.conversation.transcript import Direction, Frame, to_json
from humanmcp.protocol.json.jsonrpc import encoded

SEED: Final = Path(__file__).parent / "seed"
AT: Final = "2026-11-20T18:49:00.123Z"


def frame(seq: int, direction: Direction, message: Any, **more: Any) -> Frame:  # noqa: ANN401 - any JSON value; any field
    """Make a frame; text and bytes stand as they are."""
    raw = (
        message
        if isinstance(message, bytes)
        else (message if isinstance(message, str) else json.dumps(message)).encode()
    )
    return Frame(seq, f"2026-11-20T18:49:{seq:02d}.123Z", direction, raw, **more)


def recording(*messages: tuple[Direction, Any]) -> Recording:
    """Make a recording of messages in order."""
    frames = tuple(frame(seq, direction, text) for seq, (direction, text) in enumerate(messages, 1))
    return Recording("20261120T184900Z-4f2a", frames)


def ask(id: Any, method: str, **params: Any) -> tuple[Direction, Any]:  # noqa: A002, ANN401 - the protocol's own word; any JSON value
    """Make a request of the client's."""
    return Direction.IN, {"jsonrpc": "2.0", "id": id, "method": method, "params": params}


def answer(id: Any, **body: Any) -> tuple[Direction, Any]:  # noqa: A002, ANN401 - the protocol's own word; any JSON value
    """Make an answer of the server's."""
    return Direction.OUT, {"jsonrpc": "2.0", "id": id, **body}


HANDSHAKE: Final = (
    ask(
        0,
        "initialize",
        protocolVersion="2025-06-18",
        capabilities={},
        clientInfo={"name": "test-client", "version": "1.0"},
    ),
    answer(
        0,
        result={
            "protocolVersion": "2025-06-18",
            "capabilities": {"tools": {}, "resources": {}},
            "serverInfo": {"name": "weather", "version": "2.0"},
            "instructions": "Ask for the weather.",
        },
    ),
    (Direction.IN, {"jsonrpc": "2.0", "method": "notifications/initialized"}),
)

TOOL: Final = {
    "name": "get-forecast",
    "description": 'Tell the weather """ \\',
    "inputSchema": {"type": "object", "properties": {"city": {"type": "string"}}},
}


def text(words: str) -> dict[str, Any]:
    """Make the result of a tool."""
    return {"content": [{"type": "text", "text": words}]}


def call(id: Any, city: str) -> tuple[Direction, Any]:  # noqa: A002, ANN401 - the protocol's own word; any JSON value
    """Make a call of the tool."""
    return ask(id, "tools/call", name="get-forecast", arguments={"city": city})


WEATHER: Final = recording(
    *HANDSHAKE,
    ask(1, "tools/list"),
    answer(1, result={"tools": [TOOL]}),
    call(2, "東京"),
    call(3, "Nowhere"),
    answer(3, error={"code": -32602, "message": "遠い。自分で調べて", "data": {"km": 400}}),
    answer(2, result=text("sunny")),
    call(4, "東京"),
    answer(4, result=text("rain")),
    ask(5, "resources/read", uri="file:///a"),
    answer(5, result={"contents": [{"uri": "file:///a", "text": "A"}]}),
    (Direction.OUT, {"jsonrpc": "2.0", "id": 1, "method": "roots/list"}),
    (Direction.IN, {"jsonrpc": "2.0", "id": 1, "result": {"roots": []}}),
    (Direction.ERR, "a line of stderr"),
    (Direction.OUT, "Listening on port 80"),
)
"""A session with calls that overlap, an error, a question of the server's, and a stray print."""


def write(path: Path, recorded: Recording) -> Path:
    """Write a transcript."""
    path.write_text("".join(to_json(one) + "\n" for one in recorded.frames), encoding="utf-8")
    return path


def said_by_both(text: str) -> Recording:
    """Make a recording with the text as a line of each side."""
    line = encoded(text)
    frames = (Frame(1, AT, Direction.IN, line), Frame(2, AT, Direction.OUT, line))
    return Recording("20261120T184900Z-4f2a", frames)


EVIL = "<img src=x onerror=alert(1)></pre><script>alert(2)</script>\"'`|#;--\n\x1b[2J\u202e"
HOSTILE = recording(
    *HANDSHAKE,
    ask(1, f"tools/{EVIL}", name=EVIL),
    ask(2, "tools/call", name=EVIL, arguments={EVIL: EVIL}),
    answer(2, result=text(EVIL)),
    answer(1, error={"code": 1, "message": EVIL}),
    (Direction.OUT, EVIL),
    (Direction.ERR, EVIL),
)


def recorded_at(folder: Path, *lines: tuple[Direction, str | bytes]) -> str:
    """Write a transcript of lines in order, as a tap records them."""
    folder.mkdir(exist_ok=True)
    path = folder / "transcript.jsonl"
    frames = (
        Frame(seq, "2026-11-20T00:00:00.000Z", direction, _raw(line))
        for seq, (direction, line) in enumerate(lines, 1)
    )
    path.write_text("".join(to_json(frame) + "\n" for frame in frames), encoding="utf-8")
    return str(path)


def _raw(line: str | bytes) -> bytes:
    return line if isinstance(line, bytes) else line.encode()
