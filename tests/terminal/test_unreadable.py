"""What a client sent that nobody can read, at the terminal."""

from collections.abc import Iterator
from typing import Final

import pytest

from humanmcp.inbox.folder import FolderInbox
from tests.serving import Serving
from tests.terminal.rooms import Room, Shell
from tests.waiting import until

BATCH: Final = b'[{"jsonrpc":"2.0","id":7,"method":"ping"}]'


@pytest.fixture
def server(room: Room) -> Iterator[Serving]:
    """Start a server in the room's inbox, without a client that has said its name."""
    with Serving(room.home, "--by-hand") as serving:
        yield serving


def unreadable(server: Serving) -> int:
    """Return how many lines the inbox knows of that could not be read."""
    found = FolderInbox(server.home).sessions()
    return found[0].unreadable if found else 0


def test_the_list_says_how_many_lines_could_not_be_read(server: Serving, shell: Shell) -> None:
    """They stood in the transcript alone, and the terminal said that nothing waits."""
    server.say("hello")
    until(lambda: unreadable(server) == 1, "the first")
    assert "  1 line of this client could not be read" in shell("inbox").out
    server.say(b'{"a":"\xff"}')
    until(lambda: unreadable(server) == 2, "the second")
    assert "  2 lines of this client could not be read" in shell("inbox").out
    assert "クライアントの 2 行は読めません" in shell("inbox", "--lang", "ja").out


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (b"hello", "This line is not JSON (column 1)."),
        (b'{"a":"\xff"}', "This line is not UTF-8 (byte 7)."),
        (b'{"jsonrpc":"2.0","id":1}', "It has no method, result or error"),
        (BATCH, "Only MCP 2025-03-26 has arrays of messages (batches)"),
    ],
)
def test_the_last_one_is_explained(server: Serving, shell: Shell, line: bytes, why: str) -> None:
    """Why it cannot be read, and the line itself."""
    server.say("something before it")
    server.say(line)
    server.say('{"jsonrpc":"2.0","method":"notifications/initialized"}')
    until(lambda: unreadable(server) == 2, "both")
    out = shell("show", "--unreadable").out
    assert why in out
    assert line.decode("utf-8", "replace") in out
    told = shell("show", "a", "--unreadable", "--json").json
    assert (told["unreadable"], told["letter"]) == (2, "a")
    assert [one["code"][0] for one in told["problems"]] == ["N"]
    raw = shell("show", "--unreadable", "--raw").out
    assert raw == line.decode("utf-8", "replace") + "\n"


def test_where_every_line_could_be_read_that_is_said(room: Room, shell: Shell) -> None:
    """Nothing to explain is no mistake of the person's."""
    room.ask(room.session(), 3)
    assert "could not be read" not in shell("inbox").out
    ran = shell("show", "--unreadable")
    assert ran.status == 2
    assert "every line of the client could be read" in ran.err
