"""Markdown, Mermaid, HTML, HAR: complete, and nothing in them is markup of the wire's."""

import re
from dataclasses import replace
from datetime import UTC
from html.parser import HTMLParser

import pytest

from humanmcp.export.readable import (
    defused,
    markdown_cell,
    write_html,
    write_markdown,
    write_mermaid,
)
from humanmcp.export.recording import ExportOptions, Recording
from humanmcp.protocol.conversation.transcript import (
    BY_CHECK,
    CHANGED,
    COMMAND,
    HELD,
    INSTEAD,
    LET_GO,
    Direction,
)
from tests.support.recordings import (
    HANDSHAKE,
    HOSTILE,
    WEATHER,
    answer,
    call,
    frame,
    recording,
    text,
)
from tests.support.speaking import said_in

MANNER = ExportOptions(zone=UTC)


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
