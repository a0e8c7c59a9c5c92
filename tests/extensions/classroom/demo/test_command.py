"""`humanmcp demo` in a terminal: the first thing that a newcomer runs."""

import contextlib
import os
import pty
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from humanmcp import launch
from humanmcp.cli import main
from humanmcp.extensions.classroom.demo.lesson import find_lesson, lesson_of
from humanmcp.inbox.contract import Item, Reply
from humanmcp.inbox.folder import FolderInbox
from humanmcp.locales.stop import REFUSED
from humanmcp.protocol.diagnostics.model import TextForm
from tests.support.desktop import Desktop
from tests.support.serve_process import bare_environment
from tests.support.waiting import PATIENCE, until

TYPED = re.compile(r"^ +(\{\"jsonrpc\": .+)$")
TYPED_AT_TERMINAL = re.compile(r"^ +(\{\"jsonrpc\": .+)$", re.MULTILINE)
EXAMPLE = re.compile(r"^ +echo '(.+)' > (.+)$")


@pytest.fixture(params=["demo", "demo --handshake"])
def by_hand(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[subprocess.Popen[str]]:
    """Start the demo with a person in the server's seat, who answers the handshake, too, or not."""
    with started(tmp_path, *request.param.split(), "--by-hand") as child:
        try:
            yield child
        finally:
            child.kill()


def started(
    home: Path, *words: str, language: str = "en", stdin: int = subprocess.DEVNULL
) -> subprocess.Popen[str]:
    """Start a command of humanmcp, by default without a terminal."""
    return subprocess.Popen(
        [sys.executable, "-m", "humanmcp", *words, "--lang", language],
        stdin=stdin,
        stdout=subprocess.PIPE,
        env=bare_environment(home),
        text=True,
        encoding="utf-8",
    )


def played(home: Path, *words: str, language: str = "en") -> str:
    """Run a command of humanmcp to its good end, and return what it shows."""
    with started(home, *words, language=language) as child:
        said, _ = child.communicate(timeout=PATIENCE)
    assert child.returncode == 0
    return said


def test_a_book_plays_it_to_the_end(tmp_path: Path) -> None:
    """Without a terminal nobody is there to answer: five requests, each understood."""
    said = played(tmp_path, "demo")
    assert re.findall(r"^(\d)/5  (\S+):", said, re.MULTILINE) == [
        ("1", "initialize"),
        ("2", "tools/list"),
        *((number, "tools/call") for number in "345"),
    ]
    assert re.search(r"^notifications/initialized: ", said, re.MULTILINE)
    session = said.partition("transcript.jsonl in ")[2].partition(" has every line")[0]
    assert "Hokkaido" in (Path(session) / "transcript.jsonl").read_text(encoding="utf-8")
    assert said.count("The host understood") == 5
    assert "your tools are get-japan-forecast (1 in total)" in said


def test_a_book_that_is_not_there_is_told_before_the_host_begins(
    capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """The first request would otherwise meet a server that has ended."""
    missing = str(tmp_path / "missing.toml")
    assert main(["demo", "--lang", "en", "--home", str(tmp_path), "--book", missing]) == REFUSED
    said = capfd.readouterr()
    assert not said.out
    assert said.err == (
        f"humanmcp: {missing}: this file does not exist; "
        "leave --book out, or write the answer book first\n"
    )


def test_every_example_can_be_pasted_and_moves_it_on(by_hand: subprocess.Popen[str]) -> None:
    """Three requests, or five; each example is sent as it stands, and the demo ends well."""
    assert by_hand.stdout is not None
    pasted, given = 0, 0
    for line in by_hand.stdout:
        given += "This one is answered for you" in line
        if example := EXAMPLE.match(line):
            text, file = example.groups()
            # Not before the server has put the files there: a shell is slower than this test.
            until(Path(file).with_name("in.txt").exists, "the files of the demo")
            Path(file).write_text(text + "\n", encoding="utf-8")
            pasted += 1
    assert (pasted, given) == ((5, 0) if "--handshake" in str(by_hand.args) else (3, 2))
    assert by_hand.wait(PATIENCE) == 0


def test_every_example_can_be_pasted_into_the_terminal_of_the_demo(tmp_path: Path) -> None:
    """One terminal is enough; an answer may have several lines, and a wrong one can be replaced."""
    keyboard, terminal = pty.openpty()
    with started(tmp_path, "demo", stdin=terminal) as child:
        os.close(terminal)
        assert child.stdout is not None
        pasted = 0
        for line in child.stdout:
            if example := TYPED.match(line):
                wrong = '{"jsonrpc": "2.0", "id": 99, "result": {}}\n' if pasted == 0 else ""
                text = example[1].replace(', "result"', ',\n"result"', pasted % 2)
                os.write(keyboard, (wrong + text + "\n").encode())
                pasted += 1
        assert pasted == 3
        assert child.wait(PATIENCE) == 0
    os.close(keyboard)


class AtTerminal:
    """A command at a terminal, in a home of its own."""

    def __init__(self, environment: dict[str, str], *words: str) -> None:
        """Start it as the leader of the terminal's session."""
        self.keyboard, terminal = pty.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "humanmcp", *words, "--lang", "en"],
            stdin=terminal,
            stdout=terminal,
            stderr=terminal,
            env=environment,
            start_new_session=True,
        )
        os.close(terminal)
        self._said = b""
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        with contextlib.suppress(OSError):  # Linux says so of a terminal that nobody has open
            while part := os.read(self.keyboard, 65536):
                self._said += part

    @property
    def said(self) -> str:
        """Return what the terminal shows."""
        return self._said.decode().replace("\r\n", "\n")

    def example(self, number: int) -> str:
        """Return the answer that is shown for a request, counted from 1; "" before that."""
        found = TYPED_AT_TERMINAL.findall(self.said)
        return found[number - 1] if len(found) >= number else ""

    def end(self, number: signal.Signals) -> int:
        """Send it a signal; return its exit status."""
        self.process.send_signal(number)
        return self.process.wait(PATIENCE)


@pytest.mark.parametrize("sees", [True, False], ids=["a desktop", "no screen"])
def test_the_page_opens_from_the_demo_and_its_address_is_there(
    tmp_path: Path, *, sees: bool
) -> None:
    """The server of the demo gets few variables, so the demo itself opens it."""
    desktop = Desktop(tmp_path)
    home = tmp_path / ".humanmcp"
    demo = AtTerminal(desktop.environment if sees else desktop.without_screen, "demo", "--open")
    until(lambda: "Your turn." in demo.said, "the first request")
    assert re.search(r"^     http://127\.0\.0\.1:\d+/login#k=\S+$", demo.said, re.MULTILINE)
    assert ("Your browser opens the page." in demo.said) is sees
    assert ("humanmcp cannot open a browser here." in demo.said) is not sees
    page = (home / launch.OPEN_NAME).as_uri()
    assert [line.split()[-1] for line in desktop.lines()] == ([page] if sees else [])
    assert launch.find(home) is not None
    demo.end(signal.SIGINT)
    assert launch.find(home) is None


def test_the_page_stays_after_the_last_answer_and_the_terminal_says_so(tmp_path: Path) -> None:
    """A person reads on there. The line that stops it can be pasted."""
    desktop, home = Desktop(tmp_path), tmp_path / "it's home"
    demo = AtTerminal(desktop.without_screen, "demo", "--open", "--home", str(home))
    for number in range(1, 4):
        found = until(partial(demo.example, number), "an example")
        os.write(demo.keyboard, f"{found}\n".encode())
    assert demo.process.wait(PATIENCE) == 0
    stop = until(lambda: re.search(r"To stop it: `(.+)`", demo.said), "how to stop it")[1]
    assert launch.find(home) is not None
    done = subprocess.run(
        ["sh", "-c", stop], env=desktop.without_screen, check=False, capture_output=True, text=True
    )
    assert done.stdout == "The desk was stopped. Waiting requests stay in the inbox.\n", done
    assert launch.find(home) is None


def book(folder: Path, text: str) -> str:
    """Write an answer book."""
    file = folder / "a-book.toml"
    file.write_text(text, encoding="utf-8")
    return str(file)


def test_it_calls_what_was_offered(tmp_path: Path) -> None:
    """Another tool than the lesson's: its arguments are filled in from the schema."""
    offered = book(
        tmp_path,
        """
        [[tools]]
        name = "add"
        [tools.inputSchema]
        type = "object"
        required = ["a"]
        properties = { a = { type = "number" }, unit = { type = "string" } }
        [[rules]]
        tool = "add"
        text = "done"
        """,
    )
    said = played(tmp_path, "demo", "--book", offered)
    assert '"name":"add","arguments":{"a":0,"unit":"Tokyo"}' in said
    assert "The model chose your tool and filled in its arguments" in said
    assert "get-japan-forecast" not in said


def test_without_a_tool_the_model_answers_by_itself(tmp_path: Path) -> None:
    """Nothing is called, and the three steps say why."""
    said = played(tmp_path, "demo", "--book", book(tmp_path, "tools = []"))
    assert said.count("You have no tool, so the model answers alone") == 3
    assert "tools/call" not in said.split("The whole session:")[1].split("transcript.jsonl")[0]


@pytest.mark.parametrize(("language", "place"), [("en", "Tokyo"), ("ja", "東京")])
def test_the_host_speaks_the_language_of_its_reader(
    tmp_path: Path, language: str, place: str
) -> None:
    """Places, answers and the picture at the end; and it does not pretend to be another program."""
    said = played(tmp_path, "demo", language=language)
    assert f'"location":"{place}"' in said
    assert "Visual Studio Code" not in said
    assert ("host  ──▶  you" in said) == (language == "en")
    assert any("぀" < letter < "龥" for letter in said) == (language == "ja")


def test_a_second_demo_names_its_own_files(tmp_path: Path, by_hand: subprocess.Popen[str]) -> None:
    """The folder of the first one is taken: what is pasted must not answer that one."""
    assert by_hand.stdout is not None
    first = next(filter(None, map(EXAMPLE.match, by_hand.stdout)))
    with started(tmp_path, "demo", "--by-hand") as second:
        try:
            assert second.stdout is not None
            example = next(filter(None, map(EXAMPLE.match, second.stdout)))
        finally:
            second.kill()
    assert example.group(2) != first.group(2)
    assert Path(example.group(2)).parent.is_dir()


FORECAST = """
[[tools]]
name = "forecast"
description = "weather 天気"
[tools.inputSchema]
type = "object"
required = ["place"]
properties.place = { type = "string", x-mcp-header = "Place" }
[[rules]]
tool = "forecast"
text = "sunny"
"""


@pytest.mark.parametrize(("language", "place"), [("en", "Tokyo"), ("ja", "=?base64?5p2x5Lqs?=")])
def test_a_lesson_is_played_over_http_with_the_headers_of_its_version(
    tmp_path: Path, language: str, place: str
) -> None:
    """Each message is a POST to the server at its address; the headers repeat the body."""
    words = ("lesson", "over-http", "--book", book(tmp_path, FORECAST))
    said = played(tmp_path, *words, language=language)
    assert re.findall(r"^     (M[\w-]+): (.+)$", said, re.MULTILINE) == [
        ("MCP-Protocol-Version", "2026-07-28"),
        ("Mcp-Method", "tools/list"),
        ("MCP-Protocol-Version", "2026-07-28"),
        ("Mcp-Method", "tools/call"),
        ("Mcp-Name", "forecast"),
        ("Mcp-Param-Place", place),
    ]
    assert len(re.findall(r"POST http://127\.0\.0\.1:\d+/mcp$", said, re.MULTILINE)) == 2
    assert said.count("  << 200 OK application/json") == 2
    (transcript,) = tmp_path.rglob("transcript.jsonl")
    assert transcript.read_text("utf-8").count('"note":"http"') == 4


def test_a_step_is_repeated_alone_and_the_lesson_answers_what_is_before_it(tmp_path: Path) -> None:
    """What the lesson answered counts for nobody, and the page does not say that it failed."""
    words = ("lesson", "picked-tool", "--step", "3", "--home", str(tmp_path / "home"))
    with started(tmp_path, *words) as child:
        inbox = FolderInbox(tmp_path / "home")

        def asked() -> Item | None:
            items = (item for one in inbox.sessions() for item in inbox.items(one.name))
            return next((one for one in items if one.key.number == 3 and one.waits), None)

        inbox.send(until(asked, "step 3").key, Reply("Sunny", TextForm.TEXT, by="page"))
        said, _ = child.communicate(timeout=PATIENCE)
    assert child.returncode == 0
    assert said.count("This one is answered for you.") == 2
    assert "1 of 1 answers passed." in said
    (session,) = (tmp_path / "home" / "sessions").iterdir()
    shown = lesson_of(inbox.frames(session.name), find_lesson("picked-tool")("en"))
    assert shown is not None
    assert [one.failed for one in shown.answered] == [False] * 3
    assert main(["desk", "--stop", "--home", str(tmp_path / "home"), "--lang", "en"]) == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("picked-tool --step 4", "The lesson has the steps 1 to 3."),
        ("picked-tool --step -1", "The lesson has the steps 1 to 3."),
        ("picked-tool --step 2 --server x", "Leave out --book and --server."),
        ("sign-in --step 2", "asks each step again until it passes. Leave out --step."),
    ],
)
def test_a_step_that_cannot_be_begun_at_is_refused(
    words: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Before anything is started."""
    assert main(["lesson", *words.split(), "--home", str(tmp_path), "--lang", "en"]) == 2
    assert said in capsys.readouterr().err


def test_a_lesson_over_http_that_is_stopped_leaves_no_server(tmp_path: Path) -> None:
    """A window that is closed ends both: no process has the session any more."""
    with started(tmp_path, "lesson", "over-http") as child:
        assert child.stdout is not None
        assert any("POST http://127.0.0.1:" in line for line in child.stdout)
        child.send_signal(signal.SIGHUP)
        child.communicate(timeout=PATIENCE)
    (transcript,) = tmp_path.rglob("transcript.jsonl")
    session = transcript.parent
    assert not FolderInbox(session.parent.parent).facts(session.name).is_open
