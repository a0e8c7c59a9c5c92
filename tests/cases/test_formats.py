"""One session in every format that people have: each command reads the same in all of them."""

import base64
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final

import pytest

from humanmcp.cli import commands, main
from humanmcp.export.recording import ANSWERING, build_conversation, find_recording
from humanmcp.locales.stop import StopError
from humanmcp.protocol.answer_book.recorded import recorded
from humanmcp.protocol.conversation.transcript import Direction, Frame, to_json

SAID: Final[tuple[dict[str, Any], ...]] = (
    {
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "c", "version": "1"},
        },
    },
    {
        "id": 1,
        "result": {
            "protocolVersion": "2025-06-18",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "s", "version": "1"},
        },
    },
    {"method": "notifications/initialized"},
    {"id": 2, "method": "tools/list"},
    {"id": 2, "result": {"tools": [{"name": "rain", "inputSchema": {"type": "object"}}]}},
    {"id": 3, "method": "tools/call", "params": {"name": "rain", "arguments": {"town": "Köln"}}},
    {"id": 3, "result": {"content": [{"type": "text", "text": "19 °C"}]}},
)
LINES: Final = tuple(json.dumps({"jsonrpc": "2.0", **one}, ensure_ascii=False) for one in SAID)
FROM_CLIENT: Final = tuple("method" in one for one in SAID)


def each(client: str, server: str, lines: tuple[str, ...] = LINES) -> str:
    """Write a line for each message; `{}` is the message, `%d` its number."""
    marks = (client if is_in else server for is_in in FROM_CLIENT)
    return "".join(
        f"{mark.replace('%d', str(at))}\n".replace("{}", line)
        for at, (mark, line) in enumerate(zip(marks, lines, strict=True), 1)
    )


def pretty(line: str) -> str:
    """Format a message over several lines."""
    return json.dumps(json.loads(line), indent=2, ensure_ascii=False)


def transcript() -> str:
    """Write our own transcript."""
    return "".join(
        to_json(
            Frame(
                at,
                "2026-11-20T10:00:00.000Z",
                Direction.IN if is_in else Direction.OUT,
                line.encode(),
            )
        )
        + "\n"
        for at, (is_in, line) in enumerate(zip(FROM_CLIENT, LINES, strict=True), 1)
    )


def archive(*, encoded: bool) -> str:
    """Write an HTTP archive, with event streams as responses."""
    entries = []
    for at in (0, 2, 3, 5):
        answer = LINES[at + 1] if at != 2 else ""
        body = f"event: message\ndata: {answer}\n\n" if answer else ""
        content: dict[str, Any] = {"mimeType": "text/event-stream", "text": body}
        if encoded:
            content |= {"text": base64.b64encode(body.encode()).decode(), "encoding": "base64"}
        request = {"method": "POST", "url": "http://x/mcp", "postData": {"text": LINES[at]}}
        entries.append({"request": request, "response": {"status": 200, "content": content}})
    return json.dumps({"log": {"version": "1.2", "entries": entries}}, indent=1)


def curl() -> str:
    """Write what a terminal shows: commands, and responses as event streams."""
    parts = []
    for at in (0, 2, 3, 5):
        parts.append(
            f"$ curl -si http://x/mcp -H 'Accept: text/event-stream' \\\n  -d '{LINES[at]}'\n"
        )
        status, body = ("202 Accepted", "") if at == 2 else ("200 OK", LINES[at + 1])
        body = body.replace(', "result"', ',\ndata: "result"')
        parts.append(f"HTTP/1.1 {status}\ncontent-type: text/event-stream\nmcp-session-id: a\n\n")
        parts.append(f"event: message\nid: {at}\ndata: {body}\n\n" if body else "")
    return "".join(parts)


PLAIN: Final = each("{}", "{}")
PRETTY: Final = tuple(map(pretty, LINES))
INSPECTED: Final = tuple(
    pretty(line).replace('"', "'").replace("'jsonrpc'", "jsonrpc") if "result" in line else line
    for line in LINES
)
FORMATS: Final[dict[str, str | bytes]] = {
    "lines.jsonl": PLAIN,
    "banners.jsonl": f"🖥️ Server\n[INFO] up\n{PLAIN}",
    "transcript.jsonl": transcript(),
    "ours.log": each("[2026-11-20 10:00:0%d.123] IN: {}", "[2026-11-20 10:00:0%d.123] OUT: {}"),
    "ours-pretty.log": each(
        "[2026-11-20 10:00:0%d.123] IN: {}", "[2026-11-20 10:00:0%d.123] OUT: {}", PRETTY
    ),
    "desktop.log": each(
        "2026-11-20T10:00:0%d.123Z [s] [info] Message from client: {} { metadata: undefined }",
        "2026-11-20T10:00:0%d.123Z [s] [info] Message from server: {} { metadata: undefined }",
    ),
    "desktop-old.log": each(
        "2026-11-20T10:00:0%d.123Z [info] [s] Message from client: {}",
        "2026-11-20T10:00:0%d.123Z [info] [s] Message from server: {}",
    ),
    "vscode.log": each(
        "2026-11-20 10:00:0%d.123 [trace] [editor -> server] {}",
        "2026-11-20 10:00:0%d.123 [trace] [server -> editor] {}",
    ),
    "vscode-old.log": each("[trace] [Client Says] {}", "[trace] [Server Says] {}"),
    "supergateway.log": "[supergateway] Starting...\n"
    + each("[supergateway] SSE → Child: {}", "[supergateway] Child → SSE: {}"),
    "supergateway-inspected.log": each(
        "[supergateway] SSE → Child: {}", "[supergateway] Child → SSE: {}", INSPECTED
    ),
    "remote.log": each("[52] [Local→Remote] x\n[52] {}", "[52] [Remote→Local] %d\n[52] {}", PRETTY),
    "mcpsnoop.jsonl": each(
        '{"ts":"t","direction":"c2s","raw":{}}', '{"ts":"t","direction":"s2c","raw":{}}'
    ),
    "envelope.jsonl": each(
        '{"level":"debug","msg":"recv","payload":{}}', '{"level":"debug","msg":"send","payload":{}}'
    ),
    "archive.har": archive(encoded=False),
    "archive-base64.har": archive(encoded=True),
    "curl.txt": curl(),
    "pretty.json": "\n".join(PRETTY),
    "array.json": f"[{','.join(PRETTY)}]",
    "member.json": f'{{"title":"x","messages":[{",".join(PRETTY)}]}}',
    "fences.md": "# A report\n\n"
    + each("I send\n```json\n{}\n```", "and get\n```\n{}\n```", PRETTY),
    "indented.md": each("I send\n\n    {}\n", "and get\n\n    {}\n"),
    "titles.txt": each("Request:\n{}\n", "Response:\n{}\n"),
    "shell.txt": each("me@host:~/s$ echo '{}' | python s.py", "{}"),
    "powershell.txt": each("PS C:\\s> echo '{}' | python s.py", "{}"),
    "started.txt": f"$ python s.py\nServer started\n{PLAIN}^C\n$ \n",
    "arrows.txt": each(">>> {}", "<<< {}"),
    "words.log": each("DEBUG:client:Sending: {}", "DEBUG:client:Received: {}"),
    "sides.txt": each("Client: {}", "Server: {}"),
    "titles-with-arrows.txt": each("Client -> Server\n{}", "Server -> Client\n{}"),
    "typed.jsonl": each('{"type":"request","body":{}}', '{"type":"response","body":{}}'),
    "from.jsonl": each('{"from":"client","content":{}}', '{"from":"server","content":{}}'),
    "echo.txt": each("echo '{}' | python s.py", "{}"),
    "http-and-sse.txt": "event: endpoint\ndata: /messages?session=1\n\n"
    + each("$ echo '{}'", "event: message\ndata: {}\n"),
    "return.jsonl": PLAIN.replace("\n", "\r"),
    "bom.jsonl": PLAIN.encode("utf-8-sig"),
    "utf16.jsonl": PLAIN.encode("utf-16"),
    "utf16-be.jsonl": b"\xfe\xff" + PLAIN.encode("utf-16-be"),
    "utf16-no-bom.jsonl": PLAIN.encode("utf-16-le"),
    "crlf.jsonl": PLAIN.replace("\n", "\r\n"),
}
"""The names are those of the programs or the forms."""
MARKED: Final = {"bom.jsonl": {"N11"}, "banners.jsonl": {"N01"}}
"""What the check says of a format itself."""


@pytest.fixture(params=FORMATS)
def file(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Write the session in a format."""
    content = FORMATS[request.param]
    found = tmp_path / str(request.param)
    found.write_bytes(content if isinstance(content, bytes) else content.encode())
    return found


def values(frames: Iterable[Frame]) -> list[tuple[bool, Any]]:
    """Return who said what; a line that is no message is left out."""
    found = []
    for frame in frames:
        try:
            found.append((frame.direction is Direction.IN, json.loads(frame.raw)))
        except ValueError:
            continue
    return found


WHOLE: Final = [(is_in, json.loads(line)) for is_in, line in zip(FROM_CLIENT, LINES, strict=True)]


def test_the_check_reads_all_of_it(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every message, and nothing wrong with any."""
    main(["check", "--json", str(file)])
    found = json.loads(capsys.readouterr().out)
    codes = {one["code"] for one in found["problems"] if one["level"] != "hint"}
    assert codes == MARKED.get(file.name, set())
    assert found["messages"] == len(LINES) + (2 if file.name == "banners.jsonl" else 0)


def line_by_line(file: Path) -> Iterable[Frame]:
    """Read it as a replay does."""
    from humanmcp.extensions.recordings.recording import read_frames  # noqa: PLC0415 - it may be taken out

    return read_frames(file)


REPLAY: Final = pytest.mark.extension("recordings")


@pytest.mark.parametrize(
    "reader",
    [
        pytest.param(line_by_line, marks=REPLAY),
        lambda file: find_recording(str(file), file.parent).frames,
    ],
)
def test_both_readers_of_recordings_read_all_of_it(
    reader: Callable[[Path], Iterable[Frame]], file: Path
) -> None:
    """`serve --replay` line by line; `export`, `diff` and `book --from` as a whole."""
    assert values(reader(file)) == WHOLE


@REPLAY
def test_a_replay_answers_from_it(file: Path) -> None:
    """With the recorded results."""
    answers = {one.method: one.text for one in recorded(line_by_line(file)) if one.text}
    assert json.loads(answers["tools/call"] or "") == SAID[-1]["result"]


def test_it_is_exported_as_what_it_is(file: Path, tmp_path: Path) -> None:
    """The export has the messages."""
    out = tmp_path / "out.jsonl"
    assert main(["export", str(file), "--format", "jsonl", "-o", str(out)]) == 0
    assert values(find_recording(str(out), tmp_path).frames) == WHOLE


@pytest.mark.extension("testing")
def test_it_is_compared_as_what_it_is(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Compared with the plain lines, only banners differ."""
    plain = tmp_path / "plain.jsonl"
    plain.write_text(PLAIN, "utf-8")
    compared = main(["diff", str(plain), str(file)])
    differences = capsys.readouterr().out.splitlines()
    banners = 2 if file.name == "banners.jsonl" else 0
    assert compared == bool(banners), differences
    assert sum(line.startswith("+ not a message: ") for line in differences) == banners


@pytest.mark.extension("books")
def test_a_book_is_made_of_it(file: Path, tmp_path: Path) -> None:
    """With the tool, and the answer to its call."""
    book = tmp_path / "book.toml"
    assert main(["book", "--from", str(file), "-o", str(book)]) == 0
    written = book.read_text("utf-8")
    assert "rain" in written
    assert "19 °C" in written


@REPLAY
@pytest.mark.parametrize("is_client", [True, False])
def test_one_side_alone_is_no_conversation_but_read(
    *, is_client: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What the other side said is unknown, and not wrong."""
    file = tmp_path / "half.jsonl"
    said = [line for line, is_in in zip(LINES, FROM_CLIENT, strict=True) if is_in is is_client]
    file.write_text("\n".join(said), "utf-8")
    assert values(line_by_line(file)) == [one for one in WHOLE if one[0] is is_client]
    assert main(["check", str(file)]) == 0
    whole = build_conversation(find_recording(str(file), tmp_path))
    assert len(whole.seen) == len(said)
    assert [one for one in whole.seen if one.kind in ANSWERING] == (
        [] if is_client else list(whole.seen)
    )
    for words in (["export", str(file)], ["diff", str(file), str(file)]):
        assert words[0] not in commands() or main(words) == 0
    capsys.readouterr()
    from humanmcp.extensions.recordings.recording import RecordingPlace, read_replay  # noqa: PLC0415 - as above

    with pytest.raises(StopError):
        read_replay(RecordingPlace.find(str(file), tmp_path), "exact")
