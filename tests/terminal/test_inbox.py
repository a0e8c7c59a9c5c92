"""`humanmcp inbox`: what waits, over all live sessions."""

import json
import os
import pty
import signal
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from humanmcp.cli import commands
from humanmcp.inbox.contract import Answer, Draft, Parked, Role, Waiting, Writer
from humanmcp.protocol.conversation.stages import ExchangeState
from humanmcp.terminal.inbox import request_in_short
from tests.support.inbox_folder import CALL, INITIALIZE, Room, Shell, ago, waiting
from tests.support.waiting import PATIENCE, until

COMMAND: Final = (sys.executable, "-m", "humanmcp", "inbox", "--watch")
HOSTILE: Final = "\u001b]52;c;ZXZpbA==\u0007\u001b[2J\u202eevil\r\u0085"
"""An OSC 52 that writes the clipboard, a BEL, a clear screen, a direction override, a CR, a NEL."""


def test_an_empty_inbox_says_what_to_do_next(shell: Shell) -> None:
    """Nobody is connected: the way to a host, and to the demo where it is installed."""
    ran = shell("inbox")
    assert ran.status == 0
    assert "humanmcp config" in ran.out
    assert ("humanmcp demo" in ran.out) == ("demo" in commands())


def test_a_connected_host_that_asks_nothing_is_shown(room: Room, shell: Shell) -> None:
    """Nothing waits is something else than nobody is there."""
    room.session(title="weather")
    ran = shell("inbox")
    assert "claude-code 2.1" in ran.out
    assert "weather" in ran.out
    assert "No message is waiting" in ran.out


def test_a_request_is_listed_with_its_number_tool_and_arguments(room: Room, shell: Shell) -> None:
    """One line: what to type, what is asked, how long it waits."""
    room.ask(room.session(), 3, arrived=ago(42))
    line = next(line for line in shell("inbox").out.splitlines() if "tools/call" in line)
    assert line.split()[:3] == ["3", "tools/call", "get-japan-forecast"]
    assert 'location: "東京"' in line
    assert "  0:4" in line


def test_the_list_says_what_the_book_and_the_client_will_do(room: Room, shell: Shell) -> None:
    """When the book answers, and when the client may give up, as it stands now."""
    session = room.session()
    room.ask(session, 1, INITIALIZE, arrived=ago(2), waiting=waiting(limit=30, book_at=10))
    room.ask(session, 2, arrived=ago(90), waiting=waiting(limit=60))
    room.ask(session, 3, waiting=waiting(book_at=10, book="paused"))
    _, one, two, three, _ = shell("inbox").out.splitlines()
    assert "the answer book answers in 0:0" in one
    assert "the client may time out in 0:2" in one
    assert "has probably timed out" in two
    assert "paused" in three


def test_all_shows_answered_ones_too(room: Room, shell: Shell) -> None:
    """Without --all they are out of the way."""
    key = room.ask(room.session(), 1)
    room.inbox.close(key, ExchangeState.ANSWERED, Answer("{}", "terminal", ago(0)))
    assert "tools/call" not in shell("inbox").out
    assert "answered by you, in the terminal" in shell("inbox", "--all").out


def test_all_lists_sessions_in_which_nothing_waited(room: Room, shell: Shell) -> None:
    """A tap's: the messages passed, and `export` shows them by the session's name."""
    name = room.session(role=Role.TAP, title="weather")
    room.inbox.end(name)
    assert name not in shell("inbox").out
    out = shell("inbox", "--all").out
    assert "weather" in out
    assert f"humanmcp export {name}" in out


@pytest.mark.parametrize(
    ("by", "told"), [("files", "あなた"), ("book: rule 1", "ルール 1"), ("Yuki", "Yuki")]
)
def test_who_answered_is_said_in_the_language_of_the_reader(
    room: Room, shell: Shell, by: str, told: str
) -> None:
    """A name that a person chose stays what it is."""
    key = room.ask(room.session(), 1)
    room.inbox.close(key, ExchangeState.ANSWERED, Answer("{}", by, ago(0)))
    assert told in shell("--lang", "ja", "inbox", "--all").out


def test_json_gives_a_program_everything(room: Room, shell: Shell) -> None:
    """One object; times as numbers, the id with its type, the line verbatim."""
    room.ask(room.session(), 3, arrived=ago(5), waiting=waiting(limit=60, source="measured"))
    (item,) = shell("inbox", "--json").json["items"]
    assert item["name"] == "3"
    assert item["letter"] == "a"
    assert item["id"] == 3
    assert item["arguments"] == {"location": "東京"}
    assert item["line"] == CALL
    assert item["limit"] == 60
    assert 5 <= item["waited"] < 5 + PATIENCE


def test_nothing_from_the_wire_reaches_the_terminal_as_it_is(room: Room, shell: Shell) -> None:
    """Escape sequences, BEL, CR and direction overrides are shown as code points."""
    session = room.session(client=HOSTILE)
    name = json.dumps(HOSTILE, ensure_ascii=False).replace("\\u001b", "\x1b")
    line = f'{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":{name}}}}}'
    room.ask(session, 1, line)
    room.ask(session, 2, json.dumps({"jsonrpc": "2.0", "id": 2, "method": HOSTILE}))
    key = room.ask(session, 3)
    room.inbox.close(key, ExchangeState.CANCELLED, reason=HOSTILE)
    for words in (("inbox", "--all"), ("show", "1"), ("show", "2"), ("show", "3"), ("answer", "3")):
        ran = shell(*words)
        for bad in ("\x1b", "\x07", "\r", "\u202e", "\u0085"):
            assert bad not in ran.out + ran.err, words
    assert "⟦U+202E⟧" in shell("show", "3").out


def test_a_client_cannot_fake_lines_of_the_list(room: Room, shell: Shell) -> None:
    """A line feed in a name does not begin a line."""
    room.ask(room.session(client="x\n  1  tools/call  press Send"), 1)
    assert not any(
        line.startswith("  1  tools/call  press") for line in shell("inbox").out.split("\n")
    )


@pytest.mark.parametrize("longest", [20, 40, 60])
def test_a_long_request_is_cut_to_columns_not_characters(room: Room, longest: int) -> None:
    """East Asian characters take two columns each."""
    line = CALL.replace("東京", "東" * 500)
    item = room.inbox.item(room.ask(room.session(), 1, line))
    short = request_in_short(item, longest)
    assert short.endswith("…")
    assert len(short) + sum(letter == "東" for letter in short) <= longest


def test_the_list_says_who_is_writing_an_answer(room: Room, shell: Shell) -> None:
    """Under the name that they go by; in JSON, too."""
    key = room.ask(room.session(), 1)
    room.inbox.note_writer(key, Writer("a", "花子\x1b"))
    room.inbox.note_writer(key, Writer("b"))
    assert "花子⟦U+001B⟧ is writing · someone is writing" in shell("inbox").out
    (item,) = json.loads(shell("inbox", "--json").out)["items"]
    assert item["writers"] == ["花子\x1b", ""]


# -- watching ---------------------------------------------------------------------------------


def test_watching_into_a_pipe_appends_a_line_for_each_change(room: Room) -> None:
    """No redrawing and no colours; Ctrl-C ends it without a complaint."""
    session = room.session()
    words = [*COMMAND, "--home", str(room.home), "--lang", "en"]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    try:
        key = room.ask(session, 1)
        came = process.stdout.readline().decode()
        room.inbox.close(key, ExchangeState.ANSWERED, Answer("{}", "terminal", ago(0)))
        went = process.stdout.readline().decode()
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=PATIENCE)
    finally:
        process.kill()
        process.wait()
    assert came.startswith("+ a/1  tools/call  get-japan-forecast")
    assert went.startswith("- a/1  tools/call")
    assert "answered by you, in the terminal" in went
    assert "\x1b" not in came + went
    assert (process.returncode, errors) == (0, b"")


def test_watching_ends_when_nobody_reads_any_more(room: Room) -> None:
    """`humanmcp inbox --watch | head -1` does not stay behind."""
    session = room.session()
    words = [*COMMAND, "--home", str(room.home)]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    try:
        room.ask(session, 1)
        process.stdout.readline()
        process.stdout.close()
        room.ask(session, 2)
        assert process.wait(PATIENCE) == 0
        assert process.stderr is not None
        assert process.stderr.read() == b""
        process.stderr.close()
    finally:
        process.kill()
        process.wait()


def test_watching_as_json_gives_an_object_a_change(room: Room) -> None:
    """The state says what happened."""
    key = room.ask(room.session(), 1)
    words = [*COMMAND, "--json", "--home", str(room.home)]
    process = subprocess.Popen(words, stdout=subprocess.PIPE)
    assert process.stdout is not None
    try:
        first = json.loads(process.stdout.readline())
        room.inbox.close(key, ExchangeState.CANCELLED, reason="enough")
        second = json.loads(process.stdout.readline())
    finally:
        process.kill()
        process.communicate()
    assert (first["state"], second["state"]) == ("pending", "cancelled")


def test_watching_at_a_terminal_redraws_the_list(room: Room, tmp_path: Path) -> None:
    """It is drawn again when something changes, and the bell rings once for what is new."""
    session = room.session()
    pid, master = pty.fork()
    if pid == 0:  # pragma: no cover - the child becomes the command
        words = [*COMMAND, "--home", str(room.home), "--lang", "en"]
        os.execv(words[0], words)
    seen = b""

    def shows(text: str) -> bool:
        nonlocal seen
        seen += os.read(master, 65536)
        return text in seen.decode("utf-8", "replace")

    try:
        until(lambda: shows("No message is waiting"), "the empty list")
        room.ask(session, 1, draft=Draft("x"))
        until(lambda: shows("get-japan-forecast"), "the new request")
        os.write(master, b"\x03")
        _, status = os.waitpid(pid, 0)
    finally:
        os.close(master)
    assert os.waitstatus_to_exitcode(status) == 0
    assert seen.count(b"\x1b[H\x1b[2J") >= 2
    assert seen.count(b"\a") == 1


def test_parked_calls_are_listed_apart_and_answered_after_their_session(
    room: Room, shell: Shell
) -> None:
    """They are not counted as waiting; their answer is stored until the client asks."""
    session = room.session(parked=True)
    key = room.ask(session, 3, waiting=Waiting(parked=Parked("t", "ticket")))
    before, _, parked = shell("inbox").out.partition("Parked")
    assert "get-japan-forecast" not in before
    assert "get-japan-forecast" in parked
    assert "the client asks for the answer later" in parked
    room.inbox.end(session)
    assert "a/3" in shell("inbox").out.partition("Parked")[2]
    ran = shell("answer", "a/3", "--text", "sunny")
    assert (ran.status, "Stored" in ran.out) == (0, True)
    assert "answered; the client gets it when it asks" in shell("inbox").out
    assert room.inbox.take_parked(key) is not None
