"""Markdown, Mermaid, HTML, HAR: complete, and nothing in them is markup of the wire's."""

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from html.parser import HTMLParser
from typing import Any, Final

import pytest

from humanmcp.export import har
from humanmcp.export.readable import (
    defused,
    markdown_cell,
    write_html,
    write_markdown,
    write_mermaid,
)
from humanmcp.export.recording import ExportOptions, Recording
from humanmcp.inbox.contract import HttpFacts, SessionFacts
from humanmcp.protocol.conversation.transcript import (
    BY_CHECK,
    CHANGED,
    COMMAND,
    HELD,
    HTTP,
    INSTEAD,
    LET_GO,
    Direction,
    Frame,
)
from humanmcp.protocol.http.client import (
    IncomingResponse,
    OutgoingRequest,
    carried,
    cut_part,
    part_as_json,
    request_part,
    response_part,
)
from humanmcp.protocol.http.events import ServerSentEvent
from humanmcp.protocol.http.http_headers import HIDDEN
from humanmcp.protocol.json import jsonrpc
from tests.support.recordings import HANDSHAKE, WEATHER, answer, ask, call, frame, recording, text
from tests.support.speaking import said_in

MANNER = ExportOptions(zone=UTC)

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


def test_what_a_tap_found_wrong_is_written_once() -> None:
    """In the table; the raw JSON of it is for programs. The command of the server is shown."""
    whole = recording(*HANDSHAKE, call(2, "t"))
    frames = (
        *whole.frames,
        frame(90, Direction.NOTE, '["python","-m","x"]', by=BY_CHECK, note=COMMAND),
        frame(91, Direction.NOTE, '{"about":2}', by=BY_CHECK, note="2: N38 never answered"),
    )
    written = write_markdown(replace(whole, frames=frames), MANNER)
    assert written.count("N38 never answered") == 1
    assert '"about"' not in written
    assert '"python"' in written


class Page(HTMLParser):
    """Collects the elements and attributes of a page, and its text."""

    def __init__(self, source: str) -> None:
        """Read it."""
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.text = ""
        self.feed(source)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take note of an element."""
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data: str) -> None:
        """Take note of text."""
        self.text += data


OURS = {
    *(
        "html",
        "head",
        "meta",
        "title",
        "style",
        "body",
        "main",
        "h1",
        "dl",
        "dt",
        "dd",
        "p",
        "b",
        "a",
    ),
    *("details", "summary", "div", "small", "span", "pre", "code"),
    *("ul", "li", "label", "input", "svg", "rect", "text", "g", "line"),
    *("table", "thead", "tbody", "tr", "th", "td"),
}


@pytest.mark.parametrize("language", ["en", "ja"])
@pytest.mark.parametrize("recorded", [WEATHER, HOSTILE], ids=["weather", "hostile"])
def test_the_page_has_no_element_but_ours(recorded: Recording, language: str) -> None:
    """No script, no image, no handler, nothing fetched, whatever was on the wire."""
    told = said_in(language, write_html, recorded, ExportOptions(UTC))
    page = Page(told)
    assert page.tags <= OURS
    assert not [name for name in page.attributes if name.startswith("on") or name == "src"]
    assert "default-src 'none'" in told
    assert "\x1b" not in told
    assert "\u202e" not in told


def test_the_page_shows_every_message_with_its_explanation() -> None:
    """What it is, what it means, what the check says, and which request an answer belongs to."""
    page = Page(write_html(WEATHER, MANNER))
    for wanted in (
        *("test-client 1.0", "weather 2.0", "2025-06-18", "The model calls a tool"),
        *("遠い。自分で調べて", "sunny", "a line of stderr", "Listening on port 80"),
        "This is the answer to tools/call get-forecast",
    ):
        assert wanted in page.text
    assert "N01" in page.text  # the stray print is no message
    assert "最初のメッセージ" in said_in("ja", write_html, WEATHER, ExportOptions(UTC))


def test_the_document_has_a_row_and_a_section_a_message() -> None:
    """In order, with the time; the messages are laid out in fences."""
    told = write_markdown(WEATHER, MANNER)
    rows = [line for line in told.splitlines() if re.match(r"\| \d", line)]
    assert len(rows) == len(WEATHER.frames)
    assert "tools/call get-forecast" in rows[5]
    assert told.count("\n## ") == len(WEATHER.frames)
    assert told.count("```json") == told.count("```\n")


def test_nothing_of_the_wire_is_markup_in_the_document() -> None:
    """A fence is longer than any run of backticks in it; cells have no pipe, tag or line break."""
    told = write_markdown(HOSTILE, MANNER)
    outside = re.sub(r"^(`{3,})json\n.*?\n\1$", "", told, flags=re.MULTILINE | re.DOTALL)
    assert not re.search(r"(?<!\\)<", outside)
    assert "\x1b" not in told
    for row in (line for line in told.splitlines() if re.match(r"\| \d", line)):
        assert len(re.findall(r"(?<!\\)\|", row)) == 5


@pytest.mark.parametrize(
    "start",
    [
        "=",
        "+",
        "-",
        "@",
        "\t",
        "\r",
        ' "=',
        "\uff1d",
        "\uff20",
        "\u200f=",
        "\ufeff+",
        "\u3000\ufe6b",
    ],
)
def test_a_cell_is_no_formula(start: str) -> None:
    """An apostrophe goes before it, also behind quotes and spaces, and in full width."""
    assert defused(f"{start}1+1").startswith("'")
    assert markdown_cell("1+1") == "1+1"
    assert defused("") == ""
    assert defused("\u200f天気") == "\u200f天気"


def test_the_diagram_has_an_arrow_a_message() -> None:
    """Requests, answers, errors, both ways, in order."""
    lines = write_mermaid(WEATHER, MANNER).splitlines()
    assert lines[:3] == [
        "sequenceDiagram",
        "  participant C as test-client 1.0",
        "  participant S as weather",
    ]
    assert any(line.startswith("  C->>S: tools/call get-forecast") for line in lines)
    assert any(line.startswith("  S--xC: -32602") for line in lines)
    assert any(line.startswith("  S->>C: roots/list") for line in lines)
    messages = [frame for frame in WEATHER.frames if frame.direction is not Direction.ERR]
    assert len(lines) == 3 + len(messages)


def test_the_diagram_takes_nothing_of_the_wire_for_its_own_language() -> None:
    """Each line is a statement of its own; in a label nothing ends it or means something.

    The rules of sequence diagrams: `;` and a line break end a statement, `#` begins an entity or a
    comment, `end` closes a block, `%%` is a comment, and angle brackets are HTML.
    """
    heads = re.compile(r"  participant [CPS] as (?P<label>.+)")
    arrows = re.compile(r"  [CPS](?:->>|-\)|-->>|--x|-x)[CPS]: (?P<label>.*)")
    notes = re.compile(r"  Note over C,S: (?P<label>.+)")
    first, *lines = write_mermaid(HOSTILE, MANNER).splitlines()
    assert first == "sequenceDiagram"
    for line in lines:
        found = heads.fullmatch(line) or arrows.fullmatch(line) or notes.fullmatch(line)
        assert found is not None, line
        plain = re.sub(r"#\d+;", "", found["label"])
        assert not re.search(r"[<>\"`|;#%\\]|\bend\b", plain), line


def test_what_a_person_did_stands_between_the_two() -> None:
    """Held at the tap, changed by somebody, answered instead."""
    frames = (
        *recording(*HANDSHAKE).frames,
        frame(4, Direction.IN, call(2, "A")[1], number=1, note=HELD),
        frame(
            5, Direction.OUT, answer(2, result=text("mine"))[1], number=1, by="desk", note=INSTEAD
        ),
        frame(6, Direction.IN, call(3, "B")[1], number=2, note=HELD),
        frame(7, Direction.IN, call(3, "C")[1], number=2, by="desk", note=CHANGED),
        frame(8, Direction.OUT, answer(3, result=text("C"))[1], number=3, note=HELD),
        frame(9, Direction.NOTE, "", number=3, by="desk", note=LET_GO),
    )
    recorded = Recording("tapped", frames)
    arrows = [line.split(":")[0].strip() for line in write_mermaid(recorded, MANNER).splitlines()]
    assert arrows[-6:] == ["C->>P", "P-->>C", "C->>P", "P->>S", "S-->>P", "Note over C,S"]
    for language, wanted in (("en", "held by the tap"), ("ja", "タップが止めました")):
        assert wanted in said_in(language, write_html, recorded, ExportOptions(UTC))
        assert wanted in said_in(language, write_markdown, recorded, ExportOptions(UTC))


def test_the_archive_has_an_entry_a_request() -> None:
    """HAR 1.2: both sides' requests and the notifications, with how long each answer took."""
    log: dict[str, Any] = json.loads(har.write(WEATHER, MANNER))["log"]
    assert log["version"] == "1.2"
    entries = log["entries"]
    assert [entry["request"]["url"] for entry in entries] == [
        "stdio://server/initialize",
        "stdio://server/notifications/initialized",
        "stdio://server/tools/list",
        "stdio://server/tools/call",
        "stdio://server/tools/call",
        "stdio://server/tools/call",
        "stdio://server/resources/read",
        "stdio://client/roots/list",
    ]
    first_call, second_call = entries[3], entries[4]
    assert json.loads(first_call["response"]["content"]["text"])["result"] == text("sunny")
    assert (first_call["time"], second_call["response"]["status"]) == (3000.0, 400)


def test_the_archive_of_a_session_over_http_has_its_true_requests() -> None:
    """Method, address, headers and status as they were; what brought no message is there, too."""
    ping = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
    url, kind = "https://example.com/mcp", (("content-type", "application/json"),)
    post = OutgoingRequest("POST", (("Authorization", HIDDEN),), ping, url)
    parts = [
        part_as_json(1, OutgoingRequest("GET", (), url=url)),
        part_as_json(2, post),
        part_as_json(1, IncomingResponse(405, "Method Not Allowed")),
        part_as_json(2, IncomingResponse(200, "OK", kind)),
        part_as_json(2, ServerSentEvent(b"", "1-1")),
    ]
    recorded = Recording(
        "web",
        (
            frame(1, Direction.IN, ping),
            *(frame(seq, Direction.NOTE, part, note=HTTP) for seq, part in enumerate(parts, 2)),
            frame(7, Direction.OUT, {"jsonrpc": "2.0", "id": 1, "result": {}}),
        ),
    )
    log = json.loads(har.write(recorded, MANNER))["log"]
    assert "over HTTP" in log["comment"]
    said, listened = log["entries"]
    assert (said["request"]["method"], said["request"]["url"]) == ("POST", url)
    assert said["request"]["headers"] == [{"name": "Authorization", "value": HIDDEN}]
    assert said["request"]["postData"]["text"] == ping.decode()
    assert (said["response"]["status"], said["response"]["statusText"]) == (200, "OK")
    assert json.loads(said["response"]["content"]["text"])["result"] == {}
    assert (listened["request"]["method"], listened["response"]["status"]) == ("GET", 405)
    told = write_markdown(recorded, MANNER)
    assert "HTTP 2 -\\> POST" in told or "HTTP 2 -> POST" in told


def test_the_archive_of_our_own_server_holds_what_it_recorded() -> None:
    """Nothing is derived where it is known: a status of a person's, a batch, who hung up.

    A request may bring no request: the client's answer, or what is no message.
    """
    url, head = "http://127.0.0.1:8766/mcp", (("content-type", "application/json"),)
    asked = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"}}'
    told, broken = b'{"jsonrpc":"2.0","id":"ours","result":{}}', b"{no json"
    batch = b"[" + asked.replace(b"1", b"2") + b"," + asked.replace(b"1", b"3") + b"]"
    lines = [asked, told, broken, batch]
    names = [carried(jsonrpc.read(line)) for line in lines]
    assert names == ["1 tools/call", '"ours"', "", "2 tools/call, 3 tools/call"]
    frames: list[Frame] = []

    def put(direction: Direction, raw: bytes | str | dict[str, Any], at: str = "00") -> None:
        note = HTTP if direction is Direction.NOTE else ""
        made = frame(len(frames) + 1, direction, raw, note=note)
        frames.append(made._replace(at=f"2026-11-22T10:00:{at}.000Z"))

    for number, line in enumerate(lines, 1):
        put(Direction.IN, line)
        put(Direction.NOTE, request_part(number, "POST", url, head, names[number - 1]))
    put(Direction.OUT, {"jsonrpc": "2.0", "id": 1, "result": {"content": []}}, "03")
    for number, status in enumerate((418, 202, 400, 200), 1):
        put(Direction.NOTE, response_part(number, status, "", head), "02" if number == 1 else "00")
    put(Direction.NOTE, cut_part(1, "client"), "03")
    facts = SessionFacts("s", "", http=HttpFacts("x", "8766"))
    log = json.loads(har.write(Recording("s", tuple(frames), facts), MANNER))["log"]
    entries = log["entries"]
    found = [(one["request"]["postData"]["text"], one["response"]["status"]) for one in entries]
    said = [line.decode() for line in lines]
    assert found == [(said[0], 418), (said[1], 202), (said[2], 400), *[(said[3], 200)] * 2]
    assert entries[0]["timings"] == {"send": 0, "wait": 2000.0, "receive": 1000.0}
    assert entries[0]["time"] == 3000.0
    assert entries[0]["comment"].endswith("(the client hung up)")


def test_the_archive_of_our_own_server_at_an_address_names_it() -> None:
    """Method, address and status follow from what was said, where no more is recorded."""
    facts = SessionFacts("s", "", http=HttpFacts("x", "8766"))
    log = json.loads(har.write(replace(WEATHER, facts=facts), MANNER))["log"]
    assert "over HTTP" in log["comment"]
    *asked, by_server = log["entries"]
    url = "http://127.0.0.1:8766/mcp"
    assert {(one["request"]["method"], one["request"]["url"]) for one in asked} == {("POST", url)}
    assert [one["response"]["status"] for one in asked[:3]] == [200, 202, 200]
    assert by_server["request"]["url"] == "sse://client/roots/list"


# The members that HAR 1.2 does not call optional, each with its type.
HAR: Final[Mapping[str, Mapping[str, Any]]] = {
    "log": {"version": str, "creator": dict, "entries": list},
    "creator": {"name": str, "version": str},
    "entry": {
        "startedDateTime": str,
        "time": (int, float),
        "request": dict,
        "response": dict,
        "cache": dict,
        "timings": dict,
    },
    "request": {
        "method": str,
        "url": str,
        "httpVersion": str,
        "cookies": list,
        "headers": list,
        "queryString": list,
        "headersSize": int,
        "bodySize": int,
    },
    "postData": {"mimeType": str, "text": str},
    "response": {
        "status": int,
        "statusText": str,
        "httpVersion": str,
        "cookies": list,
        "headers": list,
        "content": dict,
        "redirectURL": str,
        "headersSize": int,
        "bodySize": int,
    },
    "content": {"size": int, "mimeType": str},
    "timings": {"send": (int, float), "wait": (int, float), "receive": (int, float)},
}


@pytest.mark.parametrize("recorded", [WEATHER, HOSTILE], ids=["weather", "hostile"])
def test_the_archive_has_what_every_reader_of_archives_needs(recorded: Recording) -> None:
    """HAR 1.2: every member that is not optional, with its type; times are ISO 8601."""
    log = json.loads(har.write(recorded, MANNER))["log"]
    found: list[tuple[str, Any]] = [("log", log), ("creator", log["creator"])]
    for entry in log["entries"]:
        request, response = entry["request"], entry["response"]
        found += [("entry", entry), ("request", request), ("response", response)]
        found += [("postData", request["postData"]), ("content", response["content"])]
        found += [("timings", entry["timings"])]
        assert datetime.fromisoformat(entry["startedDateTime"]).tzinfo is not None
        assert entry["time"] == sum(entry["timings"].values()) >= 0
    for kind, value in found:
        for name, wanted in HAR[kind].items():
            assert isinstance(value[name], wanted), (kind, name)
