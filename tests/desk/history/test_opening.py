"""A recording from elsewhere, opened on the desk as a session to read."""

import json
import os
import signal
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import pytest

from humanmcp.desk.aside import Aside
from humanmcp.inbox.contract import Life, Role
from humanmcp.inbox.folder import FolderInbox
from tests.browser.seats import INITIALIZE
from tests.cases.test_formats import FORMATS, FROM_CLIENT, LINES, values
from tests.support.desk_process import Desking
from tests.support.serve_http import Got
from tests.support.serve_process import Serving
from tests.support.waiting import until

FILE: Final = {"Content-Type": "application/octet-stream"}
WRONG: Final = (
    '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"rain"}}\n'
    '{"jsonrpc":"2.0","id":1,"result":{"content":"19 °C"}}\n'
)


def drop(desk: Desking, content: bytes, name: str = "a.log", **headers: str) -> Got:
    """Send a file to the desk, as its page does."""
    path = f"/api/recordings?name={quote(name)}"
    return desk.ask("POST", path, body=content, headers={**FILE, **desk.bearer, **headers})


def opened(desk: Desking, content: str, name: str = "a.log") -> Any:  # noqa: ANN401 - any JSON value
    """Open a file, and return the session and the address."""
    answer = drop(desk, content.encode(), name)
    assert answer.status == 200, answer.text
    return json.loads(answer.text)


def test_every_format_opens_with_all_its_messages(desk: Desking) -> None:
    """It is read by the reader of `check` and `export`, and is over."""
    inbox = FolderInbox(desk.home)
    wanted = [(is_in, json.loads(line)) for is_in, line in zip(FROM_CLIENT, LINES, strict=True)]
    for name, content in FORMATS.items():
        raw = content if isinstance(content, bytes) else content.encode()
        answer = drop(desk, raw, name)
        assert answer.status == 200, (name, answer.text)
        session = json.loads(answer.text)["session"]
        assert values(inbox.frames(session)) == wanted, name
        facts = inbox.facts(session)
        assert (facts.role, facts.life, facts.title) == (Role.READER, Life.CLOSED, name)


def test_what_is_wrong_in_it_is_on_its_page(desk: Desking) -> None:
    """It leads to the line."""
    found = opened(desk, WRONG)
    page = desk.page(found["address"])
    assert "1 message has problems." in page
    assert f'href="/line/{found["session"]}/2"' in page
    assert "content" in page
    assert "19 °C" in desk.page(f"/line/{found['session']}/2")
    assert "rain" in desk.page("/history")
    assert "0.00 s" not in desk.page("/history")  # the file has no times
    assert "<svg" not in desk.page(f"/timeline/{found['session']}").partition("<h1")[2]


def test_each_message_is_shown_with_its_place_in_the_file(desk: Desking) -> None:
    """The line and the column, as they are written there."""
    request, response = WRONG.splitlines()
    page = desk.page(opened(desk, f"x\n[a] sent: {request}\n\n[a] got: {response}\n")["address"])
    assert "line 4, column 10 of the file" in page


def test_responses_alone_are_judged_by_their_shapes(desk: Desking) -> None:
    """Nothing is said of requests that the file does not have."""
    page = desk.page(opened(desk, "\n".join(LINES[1:2] + LINES[4:5]))["address"])
    assert "No problems." in page
    assert "2 messages checked." in page


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ('{"mcpServers": {"a": {"command": "x"}}}', "the configuration of a host"),
        ('{\n  // mine\n  "servers": {"a": {"command": "x"}}\n}', "the configuration of a host"),
        ('[mcp_servers.a]\ncommand = "x"\n', "the configuration of a host"),
        ("curl https://example.com/mcp", "a command, without a message"),
        ("<!doctype html>\n<html>", "a web page"),
        ("sequenceDiagram\n  a->>b: x", "a diagram"),
        ("Dear diary", "has no messages"),
        ("", "has no messages"),
        ("\0\1\2", "bytes that are not text"),
    ],
)
def test_what_is_no_recording_is_named(desk: Desking, content: str, words: str) -> None:
    """With what to do, and no session is made."""
    answer = drop(desk, content.encode())
    assert answer.status == 422
    detail = json.loads(answer.text)["detail"]
    assert words in detail
    assert detail.startswith("a.log ")
    assert not FolderInbox(desk.home).sessions()


@pytest.mark.parametrize(
    ("content", "count"),
    [
        (LINES[4], 1),
        (f"[{LINES[3]},{LINES[5]}]", 2),
        (f"[{LINES[4]},{LINES[6]}]", 1),  # a batch of responses is one line
        (f"curl https://example.com/mcp -d '{LINES[3]}'", 1),
        ('{"jsonrpc": "2.0", "id": 1, "result": {},}', 1),
    ],
)
def test_a_single_message_opens_too(desk: Desking, content: str, count: int) -> None:
    """Also one that is wrong: its page says so."""
    found = opened(desk, content)
    assert len(list(FolderInbox(desk.home).frames(found["session"]))) == count
    assert desk.page(found["address"])


def test_a_name_in_japanese_and_a_sentence_in_japanese(desk: Desking) -> None:
    """Both are shown as they are."""
    detail = json.loads(drop(desk, b"x", "記録.log", **{"Accept-Language": "ja"}).text)["detail"]
    assert detail.startswith("記録.log には MCP のメッセージも")


def test_a_recording_with_too_many_values_is_refused(desk: Desking) -> None:
    """It would keep others waiting."""
    answer = drop(desk, b"[" + b"1," * 1_000_001 + b"1]")
    assert answer.status == 413
    assert "humanmcp check" in answer.text
    assert not FolderInbox(desk.home).sessions()


def test_a_long_session_says_how_much_was_checked(desk: Desking) -> None:
    """The page stays quick."""
    page = desk.page(opened(desk, WRONG * 3000)["address"])
    assert "Only the first 5000 lines are checked here. To check all: <code>humanmcp check" in page
    assert page.count('<ul class="problems">') == 200


def test_only_a_browser_of_this_computer_opens_a_recording(desk: Desking) -> None:
    """A stranger is refused before anything is read."""
    path = "/api/recordings?name=a"
    assert desk.ask("POST", path, body=WRONG.encode(), headers=FILE).status == 401
    as_form = {**desk.bearer, "Content-Type": "text/plain"}  # which any website could send
    assert desk.ask("POST", path, body=WRONG.encode(), headers=as_form).status == 415


def test_a_request_that_still_waits_has_no_problem(desk: Desking) -> None:
    """It gets one when its session is over."""
    with Serving(desk.home, "--by-hand") as host:
        host.say(INITIALIZE)
        name = until(host.find_session, "a session").name
        until(lambda: desk.get("/api/exchanges")["waiting"], "the request waits")
        assert "never got a response" not in desk.page(f"/check/{name}")
    until(lambda: "never got a response" in desk.page(f"/check/{name}"), "its session is over")


def children_of(process: int) -> list[int]:
    """Return the processes that a desk has started; before that they are copies of itself."""
    children = Path(f"/proc/{process}/task").glob("*/children")
    found = [int(one) for each in children for one in each.read_text("ascii").split()]
    return [one for one in found if "import main; main()" in _words_of(one)]


def _words_of(process: int) -> str:
    try:
        return Path(f"/proc/{process}/cmdline").read_text("utf-8")
    except (FileNotFoundError, ProcessLookupError):  # it has ended
        return ""


def child_of(process: int) -> int:
    """Return a child process, 0 if there is none."""
    return next(iter(children_of(process)), 0)


@pytest.mark.skipif(sys.platform != "linux", reason="it looks into /proc")
def test_a_file_is_read_aside_until_its_page_has_gone(desk: Desking) -> None:
    """However long that takes, nobody waits for it, and nothing of it stays."""
    body = b'[{"a": 1},\n' * 400_000
    head = f"POST /api/recordings?name=a HTTP/1.1\r\nHost: 127.0.0.1:{desk.port}\r\n"
    headers = {**FILE, **desk.bearer, "Content-Length": str(len(body))}
    head += "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    with socket.create_connection(("127.0.0.1", desk.port)) as page:
        page.sendall(f"{head}\r\n".encode() + body)
        child = until(lambda: child_of(desk.process.pid), "a process reads the file")
        os.kill(child, signal.SIGSTOP)  # as if it took for ever
        for _visit in range(5):
            assert desk.ask("GET", "/api/exchanges", headers=desk.bearer).status == 200
        assert child_of(desk.process.pid) == child
    until(lambda: not child_of(desk.process.pid), "the process has ended")
    assert not FolderInbox(desk.home).sessions()


def test_a_failure_in_the_process_is_told() -> None:
    """Its traceback is on stderr."""
    with pytest.raises(ChildProcessError):
        list(Aside(_fail))


def _fail() -> Iterator[int]:
    yield from map(int, ("no number",))
