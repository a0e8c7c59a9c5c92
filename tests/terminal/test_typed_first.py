"""What everybody types first works, or is answered with what to type."""

import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pytest

from humanmcp.cli import main
from humanmcp.protocol.conversation.transcript import Direction, Frame
from tests.support.inbox_folder import CALL, Room, Shell
from tests.support.waiting import PATIENCE

ANSWER: Final = '{"jsonrpc":"2.0","id":3,"result":{"content":[]}}'


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (("help",), 0, "usage: humanmcp"),
        (("help", "answer"), 0, "usage: humanmcp answer"),
        (("-v",), 0, "humanmcp "),
        (("inbx",), 2, "Did you mean `inbox`?"),
        (("inbox", "--sideways"), 2, "humanmcp inbox: Unknown argument: --sideways."),
        (("inbox", "--al1"), 2, "Unknown argument: --al1. Did you mean `--all`?"),
        (("serve", "--otherwize", "error"), 2, "Did you mean `--otherwise`?"),
        (("check", "--explain", "not-an-aray"), 2, "Did you mean `not-an-array`?"),
        pytest.param(
            *(("lesson", "wether"), 2, "Did you mean `weather`?"),
            marks=pytest.mark.extension("classroom"),
        ),
        (("check", "--method", "tools/cal", "x"), 2, "Did you mean tools/call?"),
        (("desk", "--port", "99999"), 2, "--port: a port is a number from 0 to 65535, not 99999"),
        (("desk", "--port", "-1"), 2, "--port: a port is a number from 0 to 65535, not -1"),
        (("check", "nofile.json"), 2, "nofile.json cannot be read: there is no such file"),
        (("export", "zz"), 2, "There is no session and no file zz."),
    ],
)
def test_a_word_is_understood_or_answered_in_one_sentence(  # noqa: PLR0917 - a row and three fixtures
    words: tuple[str, ...],
    status: int,
    said: str,
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A mistake costs one line: what is wrong, and what to do."""
    monkeypatch.setenv("HUMANMCP_LANG", "en")
    monkeypatch.setenv("HUMANMCP_HOME", str(home))
    try:
        found = main(list(words))
    except SystemExit as left:
        found = int(left.code or 0)
    out, err = capsys.readouterr()
    assert (found, said in out + err) == (status, True), out + err
    assert not status or len(err.splitlines()) == 1


@pytest.mark.parametrize(
    "place", ["home", pytest.param("files", marks=pytest.mark.extension("text_files"))]
)
@pytest.mark.parametrize(
    "command",
    [
        "serve",
        pytest.param("demo", marks=pytest.mark.extension("classroom")),
        pytest.param("lesson", marks=pytest.mark.extension("classroom")),
    ],
)
def test_a_file_in_the_place_of_a_folder_is_named_in_one_sentence(
    command: str, place: str, tmp_path: Path
) -> None:
    """No traceback, and not that it exists already: a person knows that."""
    file = tmp_path / "file"
    file.write_text("x")
    folders = {"home": str(tmp_path / "home"), place: str(file)}
    flags = [word for name, folder in folders.items() for word in (f"--{name}", folder)]
    words = [*(["lesson", "weather"] if command == "lesson" else [command]), *flags]
    ran = subprocess.run(
        [sys.executable, "-m", "humanmcp", *words, "--lang", "en"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    said = ran.stdout + ran.stderr
    assert ran.returncode == 1
    assert "a file of this name already exists" in said
    assert "Traceback" not in said


@pytest.fixture
def two_sessions(room: Room) -> Room:
    """Record two sessions, a and b: a call, and an answer to it in the second only."""
    for lines in ((CALL,), (CALL, ANSWER)):
        name = room.session()
        for seq, line in enumerate(lines, 1):
            way = Direction.OUT if seq > 1 else Direction.IN
            at = f"2026-11-20T18:00:0{seq}.000Z"
            room.inbox.record(name, Frame(seq, at, way, line.encode()))
        room.inbox.end(name)
    return room


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (("export", "b"), 0, ANSWER),
        (("export", "B"), 0, ANSWER),
        pytest.param(("diff", "a", "b"), 1, "tools/call", marks=pytest.mark.extension("testing")),
        (("check", "b"), 0, "2 messages checked"),
        pytest.param(
            ("verify", "b"),
            1,
            "The file has no record.",
            marks=pytest.mark.extension("recordings"),
        ),
        (("check", "a", "b"), 0, "a:1:1: warning request-never-answered"),
    ],
)
@pytest.mark.usefixtures("two_sessions")
def test_the_letters_that_the_inbox_lists_name_sessions_everywhere(
    words: tuple[str, ...], status: int, said: str, shell: Shell
) -> None:
    """As `show` and `answer` take them."""
    ran = shell(*words)
    assert (ran.status, said in ran.out) == (status, True), ran


def test_a_request_that_still_waits_is_not_called_unanswered(room: Room, shell: Shell) -> None:
    """Its session goes on: it may get its response."""
    room.inbox.record(
        room.session(), Frame(1, "2026-11-20T18:00:01.000Z", Direction.IN, CALL.encode())
    )
    ran = shell("check", "a")
    assert (ran.status, "never got" in ran.out, "1 message checked" in ran.out) == (0, False, True)


def test_a_session_without_a_line_says_so_when_it_is_exported(room: Room, shell: Shell) -> None:
    """Nothing on stdout, but a word on stderr."""
    room.session()
    ran = shell("export", "a")
    assert (ran.status, ran.out.strip()) == (0, "")
    assert "has nothing to write in the format log." in ran.err


@pytest.mark.parametrize(
    ("flag", "text"),
    [("--result", '{"content":[]}'), ("--message", ANSWER), ("--result", ' {"content": []}')],
)
def test_json_may_be_typed_where_a_file_is_read(
    flag: str, text: str, room: Room, shell: Shell
) -> None:
    """`answer 3 --result '{"content":[]}'`."""
    key = room.served()
    ran = shell("answer", "3", flag, text)
    assert ran.status == 0, ran
    sent: Any = room.sent(key)
    assert sent["result"] == {"content": []}


def test_a_letter_alone_means_what_waits_in_that_session(room: Room, shell: Shell) -> None:
    """The only request; of several, each is named."""
    key, other = room.served(), room.served()
    assert shell("show", "a").status == 0
    assert shell("answer", "a", "--result", '{"content":[]}').status == 0
    sent: Any = room.sent(key)
    assert sent["result"] == {"content": []}
    room.ask(other.session, 4, CALL)
    ran = shell("answer", "b", "--text", "x")
    assert (ran.status, "b/3, b/4" in ran.err) == (2, True), ran
    assert "x is not a number" in shell("show", "x").err
