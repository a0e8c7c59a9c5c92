"""What somebody has written down of a conversation is read, whoever wrote it."""

import base64
import itertools
import json
from typing import Final, TypeAlias

import pytest

from humanmcp.protocol.conversation.transcript import PLACE, Direction, Frame, to_json
from humanmcp.protocol.validation.captures import (
    PASSED_OVER,
    CapturedLine,
    Origin,
    captured_line,
    decode_lines,
    read_capture,
    read_recording,
)
from humanmcp.protocol.validation.message_finder import without_member

IN, OUT, NOTE = Direction.IN, Direction.OUT, Direction.NOTE
CALL: Final = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"rain"}}'
DONE: Final = '{"jsonrpc":"2.0","id":1,"result":{"content":[]}}'
SHORT: Final = '{"jsonrpc":"2.0","method":"notifications/initialized"}'


Lines: TypeAlias = list[tuple[Direction | None, str]]


def logged(*lines: tuple[str, str]) -> str:
    """Write a log: what stands before each message, and the message."""
    return "\n".join(f"{before}{text}" for before, text in lines)


def pretty(text: str) -> str:
    """Lay a message out over several lines."""
    return json.dumps(json.loads(text), indent=2)


UNDEFINED: Final = " { metadata: undefined }"
BOTH: Final[Lines] = [(IN, CALL), (OUT, DONE)]
UNSAID: Final[Lines] = [(None, CALL), (None, DONE)]


def in_base64(body: bytes) -> str:
    """Write an HTTP archive whose one response has this body."""
    content = {"text": base64.b64encode(body).decode(), "encoding": "base64"}
    entry = {"request": {"postData": {"text": CALL}}, "response": {"content": content}}
    return json.dumps({"log": {"entries": [entry]}})


CAPTURES: Final[dict[str, tuple[str, Lines]]] = {
    "messages, a line each": (f"{CALL}\n{DONE}\n", UNSAID),
    "an answer first": (f"{DONE}\n{CALL}\n", [(None, DONE), (None, CALL)]),
    "two answers": (f"{DONE}\n{DONE}", [(None, DONE), (None, DONE)]),
    "empty lines and comments before": (f"\n# my capture\n// of today\n{CALL}\n{DONE}", UNSAID),
    "commas at the ends": (f"{CALL},\n{DONE}", UNSAID),
    "a banner on stdout": (
        f"Server 1.0 is ready\n[INFO] 3 tools\n{DONE}\n",
        [(None, "Server 1.0 is ready"), (None, "[INFO] 3 tools"), (None, DONE)],
    ),
    "a line that the server could not read": (
        f'{CALL}\nnot json\n{{"jsonrpc":"2.0","id":null,"error":{{"code":-32700}}}}\n{DONE}',
        [
            (None, CALL),
            (IN, "not json"),
            (None, '{"jsonrpc":"2.0","id":null,"error":{"code":-32700}}'),
            (None, DONE),
        ],
    ),
    "a comment behind a message, in a terminal": (
        f"$ server\n{CALL}  # sent\n{DONE} // and got\n{SHORT} <-- this",
        [(NOTE, "$ server"), (IN, CALL), (None, DONE), (None, SHORT)],
    ),
    "a line that is not JSON": (f"{CALL}\n{DONE[:-1]}", [(None, CALL), (None, DONE[:-1])]),
    "a list that is no message": (f"[1,2]\n{CALL}\n{DONE}", [(None, "[1,2]"), *UNSAID]),
    "messages over several lines": (
        f"{pretty(CALL)}\n{pretty(DONE)}\n",
        [(None, pretty(CALL)), (None, pretty(DONE))],
    ),
    "on one pipe, one message over several lines": (
        f"{CALL}\n{pretty(SHORT)}",
        [(None, CALL), *((None, line) for line in pretty(SHORT).split("\n"))],
    ),
    "the framing of another protocol": (
        f"Content-Length: 9\n\n{CALL}Content-Length: 8\n\n{DONE}",
        [(IN, "Content-Length: 9"), *UNSAID],
    ),
    "headers on lines of their own, said once": (
        f"Content-Length: 8\nContent-Type: a/b; c=utf-8\n\n{DONE}\nContent-Length: 9\n\n{CALL}",
        [(OUT, "Content-Length: 8"), (None, DONE), (None, CALL)],
    ),
    "a program that prints a line before each message of the server": (
        f"{CALL}\nsending\n{DONE}\n{CALL}\nsending\n{DONE}",
        [(None, CALL), (None, "sending"), (None, DONE)] * 2,
    ),
    "a message, and one behind words": (
        f"{CALL}\nsent: {DONE}",
        [(None, CALL), (None, f"sent: {DONE}")],
    ),
    "a title above one of two": (
        f"Request:\n{CALL}\n{DONE}",
        [(None, "Request:"), (None, CALL), (None, DONE)],
    ),
    "a list of messages": (f"[\n {CALL},\n {DONE}\n]\n", UNSAID),
    "a log of ours": (
        f"[2026-11-20 18:49:07.123] IN: {CALL}\nTraceback\n[2026-11-20 18:49:07.133] OUT: {DONE}",
        [(IN, CALL), (NOTE, "Traceback"), (OUT, DONE)],
    ),
    "a log of ours, laid out": (
        logged(
            ("[2026-11-20 18:49:07.123] IN: ", pretty(CALL)),
            ("[2026-11-20 18:49:07.133] OUT: ", pretty(DONE)),
        ),
        [(IN, pretty(CALL)), (OUT, pretty(DONE))],
    ),
    "the server's stderr": (
        f"[2026-11-20 18:49:07.123] ERR: loading\n[2026-11-20 18:49:07.133] IN: {CALL}",
        [(Direction.ERR, "loading"), (IN, CALL)],
    ),
    "Claude Desktop": (
        logged(
            ("2026-03-31T21:30:55.174Z [t] [info] Message from client: ", f"{CALL}{UNDEFINED}"),
            ("2026-03-31T21:30:55.176Z [t] [info] Message from server: ", f"{DONE}{UNDEFINED}"),
        ),
        BOTH,
    ),
    "Claude Desktop, a server that does not start": (
        "2026-03-31T21:30:55.174Z [t] [error] spawn uv ENOENT",
        [(NOTE, "2026-03-31T21:30:55.174Z [t] [error] spawn uv ENOENT")],
    ),
    "VS Code": (
        logged(
            ("2026-08-02 10:01:02.089 [debug] [editor -> server] ", CALL),
            ("2026-08-02 10:01:02.151 [debug] [server -> editor] ", DONE),
        ),
        BOTH,
    ),
    "VS Code, before": (
        logged(
            ("2025-03-23 16:38:00.970 [info] [Client Says] ", CALL),
            ("2025-03-23 16:38:00.989 [info] [Server Says] ", DONE),
        ),
        BOTH,
    ),
    "supergateway": (
        logged(
            ("[supergateway] ", "Starting..."),
            ("[supergateway] SSE → Child: ", CALL),
            ("[supergateway] Child → SSE: ", "{ jsonrpc: '2.0', id: 1, result: { content: [] } }"),
        ),
        [
            (NOTE, "[supergateway] Starting..."),
            (IN, CALL),
            (OUT, '{ "jsonrpc": "2.0", "id": 1, "result": { "content": [] } }'),
        ],
    ),
    "mcp-remote": (
        f"[52] [Local→Remote] tools/call\n[52] {pretty(CALL)}\n[52] [Remote→Local] 1\n[52] gone",
        [(IN, pretty(CALL)), (OUT, '{"jsonrpc":"2.0","id":1,"result":{}}'), (NOTE, "[52] gone")],
    ),
    "mcpsnoop": (
        f'{{"seq":1,"direction":"c2s","raw":{CALL}}}\n{{"seq":2,"direction":"s2c","raw":{DONE}}}',
        BOTH,
    ),
    "an envelope with a text": (
        f'{{"dir":"send","message":{json.dumps(CALL)}}}\n{{"dir":"recv","message":{json.dumps(DONE)}}}',
        BOTH,
    ),
    "an envelope with something that is no message": (
        f'{{"ts":"t","direction":"c2s","raw":{CALL}}}\n{{"direction":"s2c","data":"{{ torn"}}',
        [(IN, CALL), (OUT, "{ torn")],
    ),
    "the direction in _meta": (
        logged(
            (CALL[:-1], ',"_meta":{"direction":"send","ts":"t"}}'),
            (DONE[:-1], ',"_meta":{"direction":"recv"}}'),
        ),
        BOTH,
    ),
    "events": (f"event: message\nid: 1\ndata: {DONE}\n\n", [(OUT, DONE)]),
    "words before a message in a log": (
        f"$ run\nClient: {CALL}\n{DONE}",
        [(NOTE, "$ run"), (IN, CALL), (None, DONE)],
    ),
    "mcp-remote, to its last line": (
        f"[52] [Local→Remote] tools/call\n[52] {CALL}\n[52] [Remote→Local] 1",
        [(IN, CALL), (OUT, '{"jsonrpc":"2.0","id":1,"result":{}}')],
    ),
    "an event of two lines, and one that is cut": (
        f'data: {DONE[:20]}\ndata: {DONE[20:]}\n\ndata: {{"jsonrpc"\n\ndata: {DONE}\nid: 1\n',
        [(OUT, f"{DONE[:20]}\n{DONE[20:]}"), (OUT, '{"jsonrpc"'), (OUT, DONE)],
    ),
    "curl -i": (
        f"HTTP/1.1 200 OK\ncontent-type: text/event-stream\n\nevent: message\ndata: {DONE}\n\n",
        [(NOTE, "HTTP/1.1 200 OK"), (NOTE, "content-type: text/event-stream"), (OUT, DONE)],
    ),
    "Markdown": (
        f"I send\n\n```json\n{CALL}\n```\n\nand get\n\n```\n{pretty(DONE)}\n```\n",
        [(None, CALL), (None, pretty(DONE))],
    ),
    "a terminal": (f"$ printf '%s' '{CALL}' | server\n{DONE}", [(IN, CALL), (None, DONE)]),
    "curl in a terminal, with double quotes": (
        f"$ curl -d {json.dumps(CALL)} http://127.0.0.1/mcp\n{DONE}",
        [(IN, CALL), (None, DONE)],
    ),
    "arrows": (f"> {CALL}\n< {DONE}", BOTH),
    "an HTTP archive": (
        json.dumps(
            {
                "log": {
                    "entries": [
                        {
                            "request": {"postData": {"text": CALL}},
                            "response": {"content": {"text": f"event: message\ndata: {DONE}\n\n"}},
                        }
                    ]
                }
            }
        ),
        BOTH,
    ),
    "an HTTP archive with a body in base64": (in_base64(DONE.encode()), BOTH),
    "an HTTP archive with a body that is not UTF-8": (
        in_base64(DONE.replace("sunny", "sun").encode() + b"\xff"),
        [(IN, CALL), (OUT, DONE.replace("sunny", "sun") + "\udcff")],
    ),
    "a request within a sentence": (f"I sent {CALL} and got nothing.", UNSAID[:1]),
    "a talk within a sentence": (f"I sent {CALL}, {{and}} got {DONE}. Why?", BOTH),
    "a request in Markdown": (f"I sent:\n```json\n{CALL}\n```\n", UNSAID[:1]),
    "a request in a box": (f"╭───╮\n│ {CALL} │\n╰───╯\n", UNSAID[:1]),
    "a talk in a box": (f"┌─┐\n│ {CALL}   │\n├─┤\n│ {DONE} │\n└─┘", UNSAID),
    "lines that a terminal drew at the left": (f"  ┃ {CALL}\n  ┃ {DONE}\n", UNSAID),
    "a byte order mark": (f"\ufeff{CALL}\n{DONE}", [(None, f"\ufeff{CALL}"), (None, DONE)]),
}


@pytest.mark.parametrize(("text", "lines"), CAPTURES.values(), ids=CAPTURES)
def test_a_capture_is_read_whoever_wrote_it(
    text: str, lines: list[tuple[Direction | None, str]]
) -> None:
    """Its messages as they were written, with the direction where it is said."""
    assert [(one.direction, one.text) for one in read_capture(text)] == lines


@pytest.mark.parametrize(
    ("inner", "is_cut"), [("'sunny'", False), ("[Object]", True), ("{…}", True)]
)
def test_a_message_of_which_node_left_something_out_is_named(inner: str, *, is_cut: bool) -> None:
    """It says what was there, and not all of it."""
    row = f"[supergateway] Child → SSE: {{ jsonrpc: '2.0', id: 1, result: {{ a: {inner} }} }}"
    (line,) = read_capture(row)
    assert line.is_cut is is_cut


@pytest.mark.parametrize(
    "line",
    [
        DONE[:-2],
        f"[{DONE[:-2]}",
        '{"jsonrpc":"2.0","id":1,"result":{"content":[],}}',
        '{"jsonrpc":"2.0","id":1,"result":{"mm":' + "9" * 5000 + "}}",
        '{"jsonrpc":"2.0","id":1,"result":{"mm":' + "9" * 5000,
        '{"jsonrpc":"2.0","id":1,"result":{"mm":[' + "9" * 5000 + ',"' + "x" * 99_000 + '"]}}',
    ],
    ids=["torn", "torn in a batch", "comma", "a long number", "torn behind it", "long behind it"],
)
def test_a_line_with_a_mistake_in_its_json_stays_as_it_was_sent(line: str) -> None:
    """A log shows what was on the wire, and is not corrected."""
    log = f"[2026-04-06 15:09:10.000] IN: {CALL}\n[2026-04-06 15:09:11.000] OUT: {line}\n"
    assert [one.text for one in read_capture(log)] == [CALL, line]


@pytest.mark.parametrize(("text", "lines"), CAPTURES.values(), ids=CAPTURES)
def test_a_capture_with_the_line_ends_of_windows_says_the_same(
    text: str, lines: list[tuple[Direction | None, str]]
) -> None:
    """But for values over several lines, which keep them."""
    found = read_capture(text.replace("\n", "\r\n"))
    assert [(one.direction, one.text.replace("\r", "")) for one in found] == lines


NO_CAPTURES: Final = {
    "nothing": "",
    "one answer": DONE,
    "one request": pretty(CALL),
    "an answer after words": f"Here it is:\n\n{pretty(DONE)}",
    "an answer in Markdown": f"Here it is:\n```json\n{pretty(DONE)}\n```\n",
    "an answer after a comment": f"// the answer\n{DONE}",
    "an answer in a box": f"╭───╮\n│ {DONE} │\n╰───╯\n",
    "a result in a box": '│ {"content":[]} │\n',
    "an answer that has such a line in it": DONE.replace("[]", '["│ {"]'),
    "an answer within a sentence": f"I got {DONE} and nothing else.",
    "a configuration within a sentence": 'I have {"mcpServers":{"a":{"command":"x"}}} there.',
    "a result": '{"content":[]}',
    "a batch of responses": f"[{DONE},{DONE}]",
    "prose": "rain from noon\nand wind: a lot",
    "a broken answer": DONE.replace(":", "", 1),
}


@pytest.mark.parametrize("text", NO_CAPTURES.values(), ids=NO_CAPTURES)
def test_what_may_be_one_answer_is_no_capture(text: str) -> None:
    """It is judged as what somebody has typed."""
    assert read_capture(text) == ()


def test_each_message_has_the_number_of_its_first_line() -> None:
    """Also after values over several lines, and after other text."""
    text = f"words\n```\n{pretty(CALL)}\n```\n\n```\n{DONE}\n```\n"
    assert [one.number for one in read_capture(text)] == [3, 3 + pretty(CALL).count("\n") + 4]


def test_a_line_that_is_not_utf8_keeps_its_bytes() -> None:
    """The others are read as ever."""
    broken = DONE.encode().replace(b"content", b"c\xe9")
    lines = read_capture(decode_lines(CALL.encode() + b"\n" + broken))
    assert [one.raw for one in lines] == [CALL.encode(), broken]


def test_a_message_in_a_text_may_hold_half_of_a_surrogate_pair() -> None:
    """An escape of the file becomes what is no UTF-8, as it is told of any such line."""
    half = CALL.replace("rain", "\ud800")
    first, second = read_capture(f"{json.dumps({'message': half})}\n{DONE}")
    assert (first.raw, second.raw) == (half.encode("utf-8", "surrogatepass"), DONE.encode())


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig"])
def test_a_file_in_another_encoding_is_read(encoding: str) -> None:
    """With its mark."""
    lines = read_capture(decode_lines(f"{CALL}\n{DONE}".encode(encoding)))
    assert [one.text.removeprefix("\ufeff") for one in lines] == [CALL, DONE]


def test_of_two_requests_with_one_id_the_servers_is_answered_first() -> None:
    """The server asks while it works at the call of the client, and goes on with the answer."""
    asks = '{"jsonrpc":"2.0","id":1,"method":"roots/list"}'
    lines = [CALL, asks, '{"jsonrpc":"2.0","id":1,"result":{"roots":[]}}', DONE]
    frames = read_recording(lines, str)
    assert [one.direction for one in frames] == [IN, OUT, IN, OUT]


def test_who_said_a_line_follows_from_the_lines_before() -> None:
    """In the frames of a recording each line has a direction."""
    asked = '{"jsonrpc":"2.0","id":7,"method":"roots/list"}'
    said = '{"jsonrpc":"2.0","id":7,"result":{"roots":[]}}'
    frames = read_recording([CALL, asked, said, DONE, "hello"], str)
    assert [frame.direction for frame in frames] == [IN, OUT, IN, OUT, OUT]


def test_a_transcript_is_read_line_by_line() -> None:
    """It may be longer than the memory: the first frame is there before the last line."""
    frame = Frame(1, "t", IN, b"{}")
    assert next(read_recording(itertools.repeat(to_json(frame)), str)) == frame


@pytest.mark.parametrize(
    "line",
    [
        "",
        '{"seq":2,"at":"t","way":"in","ra',
        '{"seq":2,"at":"t","way":[],"raw":"{}"}',
        '{"seq":2,"at":"t","way":{},"raw":"{}"}',
        '{"seq":2,"at":"t","way":"up","raw":"{}"}',
        "[" * 100_000,
        "hello",
    ],
)
def test_a_line_that_is_no_frame_is_none_for_every_reader(line: str) -> None:
    """Also as the first line: whoever reads a file knows the same frames of it."""
    frames = [Frame(one, "t", IN, b"{}") for one in (1, 3)]
    before, after = map(to_json, frames)
    for lines, whole in (([before, line, after], frames), ([line, after], frames[1:])):
        told = [one.frame for one in read_capture("\n".join(lines)) if one.frame]
        assert told in (whole, [])
        read = [one._replace(seq=0) for one in read_recording(lines, str) if one.at == "t"]
        assert read == [one._replace(seq=0) for one in told]


@pytest.mark.parametrize(
    "line",
    [
        '{"seq":[],"at":"t","way":"in","raw":"{}"}',
        '{"seq":2,"way":"in","raw":"{}"}',
        '{"seq":2,"way":"in","raw":{}}',
        '{"seq":2,"at":"t","way":"in","raw":"{}","base64":"/"}',
    ],
)
def test_a_frame_that_lacks_something_keeps_its_message(line: str) -> None:
    """A person or a program changed the file: the message is there, whatever else is wrong."""
    before, after = (to_json(Frame(one, "t", OUT, b"[]")) for one in (1, 3))
    for lines in ([before, line, after], [line, after]):
        assert Frame(len(lines) - 1, "", IN, b"{}") in read_recording(lines, str)


@pytest.mark.parametrize("text", ["[\n", '{"a":\n', "{\n", "> {\n", '{"jsonrpc":"x\n'])
def test_a_file_in_which_values_begin_and_never_end_is_read_all_the_same(text: str) -> None:
    """To try each of them to the end of the file would take minutes."""
    assert [one.text for one in read_capture(text * 20_000 + DONE)][-1:] == [DONE]


def test_a_member_is_left_out_and_the_others_stay_as_written() -> None:
    """Numbers and escapes, too."""
    assert without_member(r'{"a":1.0, "_meta": {"x":1}, "b":"é"}', "_meta") == r'{"a":1.0,"b":"é"}'


def test_the_time_of_a_line_is_kept_as_it_is_written() -> None:
    """A log's time stands before the message, an envelope's is a member."""
    log = f"2026-11-20T10:00:01.123Z [s] [info] Message from client: {CALL}\n"
    enveloped = f'{{"ts":"then","direction":"s2c","raw":{DONE}}}'
    assert [one.at for one in read_capture(log + enveloped)] == ["2026-11-20T10:00:01.123Z", "then"]


def enveloped(direction: str, message: str) -> str:
    """Write a message as a recorder does."""
    return f'{{"ts":"then","dir":"{direction}","message":{message}}}'


FRAMES: Final = (
    Frame(1, "2026-11-20T00:00:00.000Z", IN, CALL.encode()),
    Frame(2, "2026-11-20T00:00:01.000Z", OUT, DONE.encode()),
)
BY_NODE: Final = "{\n  jsonrpc: '2.0',\n  id: 1,\n  result: { content: [Array] }\n}"
WHOLE_LINES: Final[dict[str, tuple[str, list[CapturedLine]]]] = {
    "a list of envelopes, and of what is none": (
        f'[{enveloped("send", CALL)},\n {enveloped("recv", DONE)}, 7, {{"x":1}}]',
        [CapturedLine(1, IN, CALL, "then"), CapturedLine(2, OUT, DONE, "then")],
    ),
    "a list of envelopes in an object": (
        f'\ufeff{{"name":"x",\n"calls":[{enveloped("s2c", DONE)},\n{enveloped("in", CALL)}]}}',
        [CapturedLine(2, OUT, DONE, "then"), CapturedLine(3, IN, CALL, "then")],
    ),
    "a list in an object whose names hold a byte order mark": (
        f'{{"na\ufeffme":"x",\n"ca\ufefflls":[{DONE},\n{CALL}]}}',
        [CapturedLine(2, None, DONE), CapturedLine(3, None, CALL)],
    ),
    "a list of messages in an object": (
        f'{{"name":"x",\n"calls":[{DONE},\n{CALL}]}}',
        [CapturedLine(2, None, DONE), CapturedLine(3, None, CALL)],
    ),
    "the words of a program beside its messages": (
        f"{CALL}\nsent: {SHORT},\n{DONE}",
        [
            CapturedLine(1, None, CALL),
            CapturedLine(2, None, f"sent: {SHORT},"),
            CapturedLine(3, None, DONE),
        ],
    ),
    "words before each message": (
        f"client: {CALL}\nserver: {DONE},\nready\n",
        [CapturedLine(1, IN, CALL), CapturedLine(2, OUT, DONE), CapturedLine(3, NOTE, "ready")],
    ),
    "words before what is no message": (
        f"{CALL}\nsent: {{1}}\nfailed: {SHORT}\n{DONE}",
        [
            CapturedLine(1, None, CALL),
            CapturedLine(2, None, "sent: {1}"),
            CapturedLine(3, None, f"failed: {SHORT}"),
            CapturedLine(4, None, DONE),
        ],
    ),
    "indented as code": (
        f"I send\n\n    {CALL}\n\nand get\n\n\t{DONE}\n    x\n",
        [CapturedLine(3, IN, CALL), CapturedLine(7, OUT, DONE), CapturedLine(8, NOTE, "    x")],
    ),
    "a fence of tildes": (
        f"~~~\n{CALL}\n~~~\nand then\n~~~~\n{DONE}\nready\n~~~",
        [CapturedLine(2, None, CALL), CapturedLine(6, None, DONE), CapturedLine(7, NOTE, "ready")],
    ),
    "an object over several lines, as Node.js prints it": (
        f"[gateway] SSE -> Child: {CALL}\n[gateway] Child -> SSE: {BY_NODE}\nready",
        [
            CapturedLine(1, IN, CALL),
            CapturedLine(
                2,
                OUT,
                '{\n  "jsonrpc": "2.0",\n  "id": 1,\n  "result": { "content": [] }\n}',
                is_cut=True,
            ),
            CapturedLine(7, NOTE, "ready"),
        ],
    ),
    "titles": (
        f"Request:\n{CALL}\n== Server to client\n{DONE}",
        [CapturedLine(2, IN, CALL), CapturedLine(4, OUT, DONE)],
    ),
    "the address that the server of an event stream names first": (
        (
            f"event: endpoint\ndata: /m?id=1\n\ndata: {DONE}\n\n"
            f"event: endpoint\nid: 1\ndata: /m\nevent: message\ndata: {SHORT}\n"
        ),
        [
            CapturedLine(2, NOTE, "data: /m?id=1", level="http"),
            CapturedLine(4, OUT, DONE),
            CapturedLine(8, NOTE, "data: /m", level="http"),
            CapturedLine(10, OUT, SHORT),
        ],
    ),
    "a transcript, and a line of it that a crash tore": (
        "\n".join((*map(to_json, FRAMES), '{"seq":3,"way":"out","raw":7}')),
        [
            CapturedLine(1, IN, CALL, FRAMES[0].at, FRAMES[0]),
            CapturedLine(2, OUT, DONE, FRAMES[1].at, FRAMES[1]),
            CapturedLine(3, OUT, "7", frame=Frame(3, "", OUT, b"7")),
        ],
    ),
    "a transcript, and other lines in it": (
        f'{to_json(FRAMES[0])}\n{DONE}\n{{"seq":9,"way":"up","raw":"x"}}',
        [
            CapturedLine(1, IN, CALL, FRAMES[0].at, FRAMES[0]),
            CapturedLine(2, None, DONE),
            CapturedLine(3, NOTE, '{"seq":9,"way":"up","raw":"x"}'),
        ],
    ),
    "the direction in _meta, in other words": (
        f'{CALL[:-1]},"_meta":{{"way":"C2S","time":7}}}}\n{DONE[:-1]},"_meta":{{"from":"server"}}}}',
        [CapturedLine(1, IN, CALL, "7"), CapturedLine(2, OUT, DONE)],
    ),
    "envelopes that do not say the direction": (
        f'{{"body":{CALL}}}\n{{"data":"x"}}\n{{"json":{json.dumps(DONE)}}}',
        [
            CapturedLine(1, IN, CALL),
            CapturedLine(2, NOTE, '{"data":"x"}'),
            CapturedLine(3, OUT, DONE),
        ],
    ),
    "objects that are no envelopes": (
        f'{{"dir":"send","n":1}}\n{CALL}\n{DONE}',
        [
            CapturedLine(1, None, '{"dir":"send","n":1}'),
            CapturedLine(2, None, CALL),
            CapturedLine(3, None, DONE),
        ],
    ),
    "mcp-remote, of which the ids are told alone": (
        f"[5] [Local→Remote] 5\n[5] {CALL}\n[Remote→Local] 1 \nready\n",
        [
            CapturedLine(2, IN, CALL),
            CapturedLine(3, OUT, '{"jsonrpc":"2.0","id":1,"result":{}}', is_cut=True),
            CapturedLine(4, NOTE, "ready"),
        ],
    ),
    "curl -v": (
        (
            f"* Connected\n> POST /mcp HTTP/1.1\n> host: x\n>\n{{ [20 bytes data]\n"
            f"< HTTP/1.1 200 OK\n< \n{DONE}"
        ),
        [
            *(
                CapturedLine(number, NOTE, line, level="http")
                for number, line in enumerate(
                    (
                        *("* Connected", "> POST /mcp HTTP/1.1", "> host: x", ">"),
                        *("{ [20 bytes data]", "< HTTP/1.1 200 OK", "< "),
                    ),
                    1,
                )
            ),
            CapturedLine(8, None, DONE),
        ],
    ),
    "the words of a host": (
        "2026-03-31T21:30:55.174Z [t] [info] hello\n2026-03-31T21:30:55.174Z [warn] x\nready",
        [
            CapturedLine(1, NOTE, "2026-03-31T21:30:55.174Z [t] [info] hello", level="log"),
            CapturedLine(2, NOTE, "2026-03-31T21:30:55.174Z [warn] x", level="warn"),
            CapturedLine(3, NOTE, "ready", level="log"),
        ],
    ),
    "arrows of every kind": (
        f"--> {CALL}\n<- {DONE}\n→ {SHORT}\n<<< {SHORT} and more\n> hello {{}}",
        [
            CapturedLine(1, IN, CALL),
            CapturedLine(2, OUT, DONE),
            CapturedLine(3, IN, SHORT),
            CapturedLine(4, OUT, SHORT),
            CapturedLine(5, NOTE, "> hello {}"),
        ],
    ),
    "an HTTP archive of events, and of other bodies": (
        json.dumps(
            {
                "log": {
                    "entries": [
                        {
                            "startedDateTime": "T",
                            "request": {"postData": {"text": CALL}},
                            "response": {
                                "content": {
                                    "text": f"id: 1\ndata: {DONE[:15]}\ndata: {DONE[15:]}\n\n: ping"
                                    f"\n\ndata: {SHORT}\r\n\r\ndata: \r\rid: 2"
                                }
                            },
                        },
                        {"response": {"content": {"text": "abc", "encoding": "base64"}}},
                        {
                            "request": {"postData": {"text": " "}},
                            "response": {"content": {"text": "<html>\n\ndata: 1"}},
                        },
                    ]
                }
            }
        ),
        [
            CapturedLine(1, IN, CALL, "T"),
            CapturedLine(1, OUT, f"{DONE[:15]}\n{DONE[15:]}", "T"),
            CapturedLine(1, OUT, SHORT, "T"),
        ],
    ),
    "a message and a comment": (
        f"{CALL}\n# to do\nready",
        [CapturedLine(1, None, CALL), CapturedLine(3, None, "ready")],
    ),
    "two messages over several lines, and a word": (
        f"{pretty(DONE)}\nready\n{pretty(DONE)}",
        [
            CapturedLine(1, None, pretty(DONE)),
            CapturedLine(8, None, "ready"),
            CapturedLine(9, None, pretty(DONE)),
        ],
    ),
    "one line, and the ends of Windows around it": (
        f"\r\n\r\n> {CALL}\r\n",
        [CapturedLine(3, None, CALL)],
    ),
    "the line ends of an old Mac": (
        f"{CALL}\r{DONE}",
        [CapturedLine(1, None, CALL), CapturedLine(2, None, DONE)],
    ),
}


@pytest.mark.parametrize(("text", "lines"), WHOLE_LINES.values(), ids=WHOLE_LINES)
def test_all_that_a_file_says_of_a_line_is_kept(text: str, lines: list[CapturedLine]) -> None:
    """Its number, direction, time and level; whether it is a frame, or only a part of a message."""
    assert [one._replace(column=1, origin=Origin.LINE) for one in read_capture(text)] == lines


@pytest.mark.parametrize(
    "long",
    [{"x": "y" * 5_000}, {"x": [1] * 3_000}, {"x": ["y" * 2_000, [1] * 700]}, {"x": [1] * 30_000}],
    ids=["in a text", "between items", "in the last of several", "of 200 kB"],
)
def test_a_value_is_read_over_several_lines_however_long_it_is(long: dict[str, object]) -> None:
    """It is tried in windows: where one ends, the value goes on."""
    text = pretty(json.dumps(json.loads(DONE) | long))
    first, second = read_capture(f"{text}\n{pretty(CALL)}\n")
    assert first == CapturedLine(1, None, text)
    assert second == CapturedLine(2 + text.count("\n"), None, pretty(CALL))


LOGS_WITHOUT_MESSAGES: Final = {
    "Zed": (
        "2026-04-25T08:29:14+02:00 ERROR [rpc] failed to parse incoming message. Raw: Welcome",
        "error",
    ),
    "LM Studio": ("2026-07-13 12:11:56 [DEBUG]\n [Plugin(mcp/x)] stdout: Register", "log"),
    "Python's logging": (
        "DEBUG:mcp.client.sse:Sending client message: root=JSONRPCRequest()",
        "log",
    ),
    "Rich": ("[09/29/25 17:22:27] WARNING  Failed to validate request", "error"),
    "syslog": ("Nov 20 10:11:12 host app[1]: ready", "log"),
    "Go's slog": ("time=2025-01-01T10:00:00Z level=INFO msg=ready", "log"),
    ".NET": ("info: Microsoft.Hosting.Lifetime[14]\n      Now listening", "log"),
    "Claude Code": ('[DEBUG] MCP server "x": [\n {"path": ["jsonrpc"]}\n]', "log"),
    "Inspector": ("SyntaxError: Unexpected token\n    at JSON.parse (<anonymous>)", "error"),
    "HTTP that failed": ("HTTP/2 401\nwww-authenticate: Bearer", "error"),
    "HTTP that did not": ("HTTP/1.1 200 OK\ncontent-type: text/html", "http"),
    "VS Code": ("2025-08-01 10:51:20.884 [info] Connection state: Error 405 status", "error"),
    "a server's log of requests": ("POST /mcp - initialize\nPOST /mcp - tools/list", "log"),
    "an object that a program did not print to its end": (
        "[gateway] Child -> SSE: {\n  jsonrpc: '2.0',",
        "log",
    ),
    "an object of which a program left out a part, and no message": (
        "[gateway] Child -> SSE: [ [Object], {x: [Object] @} ]",
        "log",
    ),
    "arrows without messages": ("→ tools/list (id: 1)\n← tools/list (id: 1) [23ms]", "log"),
}


@pytest.mark.parametrize("name", LOGS_WITHOUT_MESSAGES)
def test_a_log_without_messages_is_no_answer(name: str) -> None:
    text, level = LOGS_WITHOUT_MESSAGES[name]
    read = read_capture(text)
    assert [line.text for line in read] == text.split("\n")
    assert {line.direction for line in read} == {NOTE}
    assert read[0].level == level


@pytest.mark.parametrize(
    "text",
    [
        "It rains in Ulm.\nBring an umbrella.",
        "Error: no such city",
        "I met them at 12:30:11 and they said yes.",
        '[INFO] my answer:\n{"jsonrpc": "2.0", "id": 1, "result": {]',
    ],
)
def test_prose_and_a_broken_answer_are_no_log(text: str) -> None:
    assert read_capture(text) == ()


AS_FRAMES: Final[dict[str, tuple[str, list[tuple[Direction, str, str]]]]] = {
    "lines of a pipe": (
        f"\n{CALL}\n\n{DONE}",
        [(IN, CALL, "2:1"), (OUT, DONE, "4:1")],
    ),
    "words before each message": (
        f"client: {CALL}\nserver: {DONE}\nready\nerror: no\n",
        [
            (IN, CALL, "1:9"),
            (OUT, DONE, "2:9"),
            (NOTE, "ready", "3:1"),
            (NOTE, "error: no", "4:1 error"),
        ],
    ),
    "members with white space of their own": (
        f'{{"dir":"send","m":{CALL.replace(",", ", ")}}}\n{{"dir":"recv","m":{DONE}}}',
        [(IN, CALL, "1:19"), (OUT, DONE, "2:19")],
    ),
    "a message of which a part was left out": (
        f"[gateway] SSE -> Child: {CALL}\n[gateway] Child -> SSE: {BY_NODE}\nready",
        [
            (IN, CALL, "1:25"),
            (
                NOTE,
                '{\n  "jsonrpc": "2.0",\n  "id": 1,\n  "result": { "content": [] }\n}',
                "2:25 cut",
            ),
            (NOTE, "ready", "7:1"),
        ],
    ),
    "without JSON-RPC around them": (
        '{"method":"ping","result":{}}',
        [
            (IN, '{"jsonrpc":"2.0","id":1,"method":"ping"}', "1:1 bare"),
            (OUT, '{"jsonrpc":"2.0","id":1,"result":{}}', "1:7 bare"),
        ],
    ),
}


@pytest.mark.parametrize("name", AS_FRAMES)
def test_a_frame_of_a_capture_says_where_its_line_was(name: str) -> None:
    """And what it is, so that the line can be told from the frame."""
    text, wanted = AS_FRAMES[name]
    frames = list(read_recording(text.split("\n"), str))
    assert [(one.direction, one.raw.decode(), one.note) for one in frames] == [
        (direction, raw, f"{PLACE}{place}") for direction, raw, place in wanted
    ]
    assert [one.seq for one in frames] == list(range(1, len(frames) + 1))
    lines = [captured_line(one) for one in frames]
    read = read_capture(text)
    assert [(one.number, one.column, one.is_cut) for one in lines] == [
        (one.number, one.column, one.is_cut) for one in read
    ]
    assert [one.level for one in lines] == [one.level for one in read]
    assert [one.origin is Origin.BARE for one in lines] == [
        one.origin is Origin.BARE for one in read
    ]
    assert [one.direction for one in lines] == [
        None if one.is_cut else frame.direction for one, frame in zip(read, frames, strict=True)
    ]


@pytest.mark.parametrize(
    ("direction", "note", "line"),
    [
        (NOTE, "", CapturedLine(7, NOTE, "x", "t", level="log")),
        (NOTE, "of a server", CapturedLine(7, NOTE, "x", "t", level="log")),
        (NOTE, f"{PLACE}3:2", CapturedLine(3, NOTE, "x", "t", column=2)),
        (NOTE, f"{PLACE}3:2 warn", CapturedLine(3, NOTE, "x", "t", level="warn", column=2)),
        (NOTE, f"{PLACE}3:2 cut", CapturedLine(3, None, "x", "t", is_cut=True, column=2)),
        (NOTE, f"{PLACE}3:1  99", CapturedLine(3, NOTE, "x", "t", more=99)),
        (
            NOTE,
            f"{PLACE}3:1 {PASSED_OVER}",
            CapturedLine(3, NOTE, "x", "t", level=PASSED_OVER),
        ),
        (IN, "", CapturedLine(7, IN, "x", "t")),
        (IN, f"{PLACE}3:2", CapturedLine(3, IN, "x", "t", column=2)),
        (IN, f"{PLACE}3:2 bare", CapturedLine(3, IN, "x", "t", column=2, origin=Origin.BARE)),
    ],
)
def test_a_frame_is_the_line_of_its_file(
    direction: Direction, note: str, line: CapturedLine
) -> None:
    """One that no file brought has its own number, and is a note of whoever wrote it."""
    assert captured_line(Frame(7, "t", direction, b"x", note=note)) == line


def test_the_time_of_a_frame_is_converted_where_it_is_known() -> None:
    """In another notation, or where none is written, a frame has none."""

    def converted(time: str) -> str:
        if not time.startswith("2026"):
            raise ValueError(time)
        return f"<{time}>"

    lines = [
        f'{{"ts":"2026-11-20","dir":"send","m":{CALL}}}',
        f'{{"ts":"yesterday","dir":"recv","m":{DONE}}}',
        f'{{"dir":"send","m":{SHORT}}}',
    ]
    assert [one.at for one in read_recording(lines, converted)] == ["<2026-11-20>", "", ""]


def test_a_transcript_may_begin_with_a_byte_order_mark() -> None:
    """Behind blank lines, too."""
    first, *others = map(to_json, FRAMES)
    for before in ([], ["", " "]):
        lines = [*before, f"\ufeff{first}", *others]
        assert tuple(read_recording(lines, str)) == FRAMES


TORN: Final = '{"jsonrpc":"2.0","id":1,"params":[\n'


def test_the_first_place_that_was_not_tried_is_told() -> None:
    """Too much was read in vain: of each line, only the first value is read from there on."""
    read = read_capture(f"{CALL}\n" + TORN * 30_000 + DONE)
    (told,) = [one for one in read if one.level == PASSED_OVER]
    assert (told.direction, told.text) == (NOTE, TORN.strip())
    assert 2 < told.number < 30_000
    assert (read[0].text, read[-1].text) == (CALL, DONE)


LEVELS: Final = {
    "ready": "",
    "Error: no such tool": "error",
    "ValueError: 7": "error",
    "failed to read": "error",
    "fatal: gone": "error",
    "warning: error": "error",
    "0 errors": "log",
    "Warning: slow": "warn",
    "[info] warned": "warn",
    "[INFO] ready": "log",
    "debug: x": "log",
    "notice: x": "log",
    "$ ls": "shell",
    "me@box:~$ ls": "shell",
    r"PS C:\> dir": "shell",
    r"C:\x> dir": "shell",
    "^C": "shell",
    "$ls": "",
    "content-type: text/html": "",
}
HTTP_LEVELS: Final = {
    "ready": "",
    "POST /mcp HTTP/1.1": "http",
    "HTTP/1.1 399 x": "http",
    "HTTP/1.1 400 x": "error",
    "HTTP/2 503": "error",
    "> content-type: text/html": "http",
    "x-info: debug": "http",
    "x-last: fatal": "error",
    "* Connected": "http",
    "{ [20 bytes data]": "http",
    ">": "http",
    "$ curl": "shell",
}


def test_each_line_of_a_log_has_a_level() -> None:
    """By the words in it; in a file with HTTP also by what stands around a body."""
    for levels in (LEVELS, HTTP_LEVELS):
        read = read_capture("\n".join([f"recv {CALL}", f"send {DONE}", *levels]))
        assert {one.text: one.level for one in read if one.direction is NOTE} == levels


@pytest.mark.parametrize(
    ("text", "is_log"),
    [
        ('{"ts":1,"msg":"x"}\n\n{"time":2,"msg":"y"}', True),
        ('{"ts":1,"msg":"x"}\n{"msg":"y"}', False),
        ('{"ts":1,"msg":"x"}\n7', False),
        ('[{"ts":1},{"at":2}]', True),
        ('[{"ts":1},{"x":2}]', False),
        ('[{"ts":1},7]', False),
        ("[]", False),
        ('{"a":{"timestamp":1}}', True),
        ('{"a":{"startUnixNano" : "1"}}', True),
        ('{"a":{"stamp":1}}', False),
        ('{\n "timestamp": 1,\n "a": 2\n}', True),
        ('{\n "ts": 1\n}', False),
        ('{"ts":1,"body":{"jsonrpc":"2.0"}}', False),
        ('"ts"', False),
    ],
)
def test_records_without_messages_are_a_log(text: str, *, is_log: bool) -> None:
    """If each of them has a time: nobody types that as an answer."""
    read = read_capture(text)
    assert [one.text for one in read] == (
        [line for line in text.split("\n") if line] if is_log else []
    )
    assert {one.level for one in read} <= {"log"}
