"""A command of the person's that is run when a question waits."""

import sys
from pathlib import Path

import pytest

from humanmcp.locales.stop import StopError
from humanmcp.server.notifier import CommandNotifier
from tests.support.serve_process import Serving
from tests.support.waiting import until

SCRIPT = """
import os, sys
with open({out!r}, "a") as file:
    print(*sys.argv[1:], os.environ["HUMANMCP_NUMBER"], sys.stdin.read() == "", file=file)
print("this must not reach the wire")
"""


def command(tmp_path: Path) -> tuple[str, Path]:
    """Write a command that notes what it was told."""
    script, out = tmp_path / "tell me.py", tmp_path / "told.txt"
    script.write_text(SCRIPT.format(out=str(out)), "utf-8")
    return f"{sys.executable} '{script}'", out


def told(out: Path) -> list[list[str]]:
    """Read what it noted."""
    return [line.split(" ") for line in out.read_text("utf-8").splitlines()] if out.exists() else []


def test_each_question_is_announced_once_and_never_its_text(tmp_path: Path) -> None:
    """Without any desk; the command's output reaches no wire, and a bad name is left out."""
    words, out = command(tmp_path)
    call = '{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"%s","arguments":{}}}'
    with Serving(tmp_path / "home", "--by-hand", "--notify", words) as server:
        server.say(call % (7, "ask_human"))
        server.say(call % (8, "--evil $(x)"))
        lines = until(lambda: told(out)[1:] and told(out), "both questions")
        assert [line[1:] for line in lines] == [
            ["1", "ask_human", "1", "True"],
            ["2", "", "2", "True"],
        ]
        assert server.close()[1] == []
    assert len(told(out)) == 2


def test_what_is_answered_at_once_is_not_announced(tmp_path: Path) -> None:
    """A ping waits for nobody."""
    words, out = command(tmp_path)
    with Serving(tmp_path / "home", "--notify", words) as server:
        server.say('{"jsonrpc":"2.0","id":1,"method":"ping"}')
        server.hear()
        server.close()
    assert told(out) == []


def test_a_command_that_cannot_be_started_ends_nothing(tmp_path: Path) -> None:
    """The question waits all the same."""
    with Serving(tmp_path / "home", "--by-hand", "--notify", str(tmp_path / "none")) as server:
        server.say('{"jsonrpc":"2.0","id":1,"method":"ping"}')
        log = tmp_path / "home" / "humanmcp.log"
        until(lambda: "notify:" in log.read_text("utf-8"), "the line in the log")
        assert server.process.poll() is None


def test_an_open_quote_is_told() -> None:
    """Before anything starts."""
    with pytest.raises(StopError, match="Close every quote"):
        CommandNotifier("notify-send 'hello")
