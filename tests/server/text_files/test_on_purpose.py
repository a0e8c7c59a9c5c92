"""What is sent wrong on purpose from the text files."""

import itertools
import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from humanmcp.inbox.folder import FolderInbox
from humanmcp.protocol.validation.whole_conversation import openers, typed_bytes
from humanmcp.server.text_files.files import OnPurpose, TextFiles
from humanmcp.server.text_files.folder import Mark, OpenFolder, SentFolder
from humanmcp.server.text_files.out_txt import decode
from tests.inbox.crashing import killed_at
from tests.server.text_files.test_status import CALL
from tests.support.serve_process import AtFiles
from tests.support.waiting import PATIENCE, until

WRONG: Final = '{"jsonrpc":"2.0","id":7,"result":{"content":"sunny"}}'


@pytest.fixture
def server(tmp_path: Path) -> Iterator[AtFiles]:
    """Start a server with one call waiting."""
    with AtFiles(tmp_path, "--by-hand") as started:
        started.say(CALL)
        yield started


def save(server: AtFiles, name: str, content: bytes) -> None:
    """Save a file beside in.txt, and wait until it was taken."""
    (server.folder / name).write_bytes(content)
    until(lambda: not (server.folder / name).exists(), f"{name} to be taken")


def test_what_the_check_refuses_goes_out_anyway_and_answers(server: AtFiles) -> None:
    """The same text that out.txt holds back."""
    server.type(WRONG)
    until(server.complaint, "the refusal")
    save(server, "out.anyway.txt", WRONG.encode())
    assert server.hear() == WRONG
    server.says("line 1: tools/call sky (id 7): answered by you, in out.txt")
    inbox = FolderInbox(server.home)
    assert list(inbox.frames(inbox.sessions()[0].name))[-1].note == "deliberate"


def test_a_line_that_is_no_json_and_an_answer_to_nobody_go_out(server: AtFiles) -> None:
    """A log line, and an answer that comes twice or after a cancel."""
    save(server, "out.anyway.txt", b"Server started on stdio\n")
    assert server.hear() == "Server started on stdio"
    save(server, "out.anyway.txt", WRONG.replace("7", "99").encode())
    assert server.hear() == WRONG.replace("7", "99")
    server.says("line 1: tools/call sky (id 7): waits for you")


def test_bytes_go_out_as_they_are_and_the_right_answer_after_them(server: AtFiles) -> None:
    """Half a line without its end, its end, bytes that are no UTF-8; the call stays open."""
    for raw in (b'{"jsonrpc":', b'"2.0"}\n', b"\xff\xfe\n"):
        save(server, "out.raw.txt", raw)
    assert server.hear() == '{"jsonrpc":"2.0"}'
    assert server.hear_raw().rstrip(b"\n") == b"\xff\xfe"
    right = '{"jsonrpc":"2.0","id":7,"result":{"content":[]}}'
    server.type(right)
    assert server.hear() == right


def test_the_server_is_told_to_be_silent_to_exit_and_to_crash(server: AtFiles) -> None:
    """In words, one a line; what means nothing is said so."""
    save(server, "out.do.txt", b"dance\n")
    until(lambda: "dance is not a command" in server.complaint(), "the complaint")
    save(server, "out.do.txt", b"progress off\nsilence on\n")
    until(lambda: not server.complaint(), "all is well")
    (server.folder / "out.do.txt").write_bytes(b"exit 4\n")
    assert server.process.wait(timeout=PATIENCE) == 4


def test_a_crash_from_the_files(server: AtFiles) -> None:
    """As kill -9 does."""
    (server.folder / "out.do.txt").write_bytes(b"crash")
    assert server.process.wait(timeout=PATIENCE) == -signal.SIGKILL


def test_what_stood_there_before_the_session_is_left_alone(tmp_path: Path) -> None:
    """Nobody knows what it was meant for."""
    folder = tmp_path / "desk"
    folder.mkdir(mode=0o700)
    (folder / "out.do.txt").write_text("crash", encoding="utf-8")
    with AtFiles(tmp_path) as server:
        server.say('{"jsonrpc":"2.0","id":1,"method":"ping"}')
        assert json.loads(server.hear())["id"] == 1
        assert (folder / "out.do.txt").exists()


# -- the messages to begin from -------------------------------------------------------------------


def test_bytes_can_be_typed() -> None:
    """At a terminal and in the page no key writes 0xFF."""
    assert typed_bytes(r"a\xff\xFE\n\\x41é") == b"a\xff\xfe\n\\x41" + "é".encode()


def test_each_message_to_begin_from_is_one_of_its_version() -> None:
    """A ping has gone in 2026-07-28, and so have requests of the server's own."""
    old = {one.method for one in openers("2025-11-25", (), "h-1")}
    new = {one.method for one in openers("2026-07-28", (), "h-1")}
    assert {"ping", "roots/list", "notifications/message"} <= old
    assert "ping" not in new
    assert "notifications/tools/list_changed" in new


@pytest.mark.parametrize(
    ("name", "half", "rest"),
    [
        ("out.anyway.txt", WRONG[:20], WRONG[20:] + "\n"),
        ("out.raw.txt", "{", "}\n"),
        ("out.do.txt", "exit 1", "7\n"),
    ],
)
def test_what_is_half_written_waits_for_its_other_half(
    tmp_path: Path, name: str, half: str, rest: str
) -> None:
    """`exit 1` becomes `exit 17`; a half by itself is meant after two seconds."""
    folder = OpenFolder.open(tmp_path)
    assert folder is not None
    files = OnPurpose(folder, SentFolder(folder))
    clock = itertools.count(0.0, 0.25)

    def looks(count: int) -> list[bytes]:
        moments = itertools.islice(clock, count)
        return [saved.content for now in moments for saved in files.look(now)]

    (tmp_path / name).write_text(half)
    assert looks(6) == []
    (tmp_path / name).write_text(half + rest)
    assert looks(6) == [(half + rest).encode()]
    (tmp_path / name).write_text(half)
    assert looks(12) == [half.encode()]
    folder.close()


@pytest.mark.parametrize("call", range(1, 7))
@pytest.mark.parametrize("name", ["out.anyway.txt", "out.raw.txt", "out.do.txt"])
def test_a_server_that_is_killed_leaves_what_it_did_not_send(
    tmp_path: Path, name: str, call: int
) -> None:
    """Killed at each call: nothing is lost, and nothing lies in sent/ that was not sent."""
    content = f"{WRONG}\n".encode()
    folder = OpenFolder.open(tmp_path)
    assert folder is not None
    files, sent = OnPurpose(folder, SentFolder(folder)), []
    wire = os.open(tmp_path / "wire", os.O_WRONLY | os.O_CREAT)
    (tmp_path / name).write_bytes(content)
    with killed_at(call):
        for now in range(4):
            for saved in files.look(now):
                os.write(wire, saved.content)
                sent.append(saved.content)
    os.close(wire)
    folder.close()
    left = [one for one in tmp_path.rglob("*.txt") if one.read_bytes() == content]
    assert len(left) == 1
    assert left[0].parent.name != "sent" or sent == [content]
    again = TextFiles.claim(tmp_path, decode=decode)
    told = (tmp_path / "problems.txt").read_text("utf-8")
    assert ("not-sent" in left[0].name) is (f"session took {left[0].name}" in told)
    again.release()


def test_what_is_written_on_after_a_line_went_out_goes_out_too(server: AtFiles) -> None:
    """`cat > out.raw.txt`, line by line: nothing that is typed stays behind unnoticed."""
    name = server.folder / "out.raw.txt"
    with name.open("w") as slow:
        slow.write("first\n")
        slow.flush()
        assert server.hear() == "first"
        slow.write("second\n")
        slow.flush()
        assert server.hear() == "second"
    assert not name.exists()


def test_a_link_is_not_followed_and_the_person_is_told(server: AtFiles, tmp_path: Path) -> None:
    """No bytes of another file reach the client by a link that lies in the folder."""
    (tmp_path / "secret").write_text("secret\n")
    (server.folder / "out.raw.txt").symlink_to(tmp_path / "secret")
    until(lambda: "out.raw.txt is a link" in server.complaint(), "the sentence")
    right = '{"jsonrpc":"2.0","id":7,"result":{"content":[]}}'
    server.type(right)
    assert server.hear() == right


def test_an_idle_folder_is_looked_at_as_a_whole_and_what_is_saved_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One call for all names that nothing has; hundreds of sessions wait in one process."""
    files = TextFiles.claim(tmp_path / "me", decode=decode)
    asked: list[str] = []
    mark = OpenFolder.mark

    def asking(folder: OpenFolder, name: str) -> Mark | None:
        asked.append(name)
        return mark(folder, name)

    def look(now: float) -> list[bytes]:
        found = [one.content for one in files.on_purpose(now)]
        files.poll(now)
        return found

    monkeypatch.setattr(OpenFolder, "mark", asking)
    assert [look(now) for now in (0.0, 3.0, 4.0)] == [[], [], []]
    asked.clear()
    assert look(4.5) == []
    assert asked == []
    (files.folder / "out.raw.txt").write_bytes(b"x\n")
    assert [look(now) for now in (4.7, 4.9)] == [[], [b"x\n"]]
    files.release()
