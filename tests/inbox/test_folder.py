"""The folder inbox keeps every promise, and its files are what the manual says."""

import errno
import json
import logging
import os
import shutil
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from humanmcp.common.settings import UnsafeFolderError
from humanmcp.inbox import life_lock, records, session_folder, transcripts
from humanmcp.inbox.contract import (
    Answer,
    Draft,
    Inbox,
    InboxError,
    Key,
    Reply,
    SessionFacts,
    StoreError,
    TakenError,
    UnknownItemError,
)
from humanmcp.inbox.folder import FolderInbox
from humanmcp.protocol.conversation.stages import ExchangeState
from humanmcp.protocol.conversation.transcript import to_json
from humanmcp.protocol.diagnostics.model import TextForm
from tests.inbox.contract import AT, HINT, InboxContract, frame_of, item_of
from tests.inbox.crashing import Countdown, killed_at, watched
from tests.support.waiting import until

POSIX: Final = pytest.mark.skipif(os.name == "nt", reason="POSIX modes and links")


class FolderStore:
    """One folder; each view is an inbox of its own on it."""

    def __init__(self, home: Path) -> None:
        """Keep things in `home`."""
        self.home = home

    def view(self) -> FolderInbox:
        """Open another inbox on the folder."""
        return FolderInbox(self.home)

    def kill(self, inbox: Inbox) -> None:
        """Let go of its locks, as the system does for a process that died."""
        assert isinstance(inbox, FolderInbox)
        for owned in inbox._own.values():
            owned.lock.release()
        for entered in inbox._entered.values():
            entered.lock.release()

    def killed(self, step: int, *_inboxes: Inbox) -> AbstractContextManager[Countdown]:
        """Die at a call that changes the file system."""
        return killed_at(step)

    def watch(self, look: Callable[[], object], *_inboxes: Inbox) -> AbstractContextManager[None]:
        """Look before each call that changes the file system."""
        return watched(look)

    def age_writers(self, seconds: float) -> None:
        """Change the times of their files."""
        for path in (self.home / records.WRITERS).iterdir():
            at = path.stat().st_mtime_ns - int(seconds * 1e9)
            os.utime(path, ns=(at, at))


@pytest.fixture
def store(tmp_path: Path) -> FolderStore:
    """Keep things in a folder of the test."""
    return FolderStore(tmp_path / "home")


class TestFolderInbox(InboxContract):
    """The folder passes what every inbox passes."""


class TestFolderInboxOnABareSystem(InboxContract):
    """It does so without links, FIFOs and locks within a process: Python in a browser has none."""

    @pytest.fixture(autouse=True)
    def _bare(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def refuse(path: Path, _target: Path) -> None:
            raise NotImplementedError(path)

        monkeypatch.setattr(Path, "hardlink_to", refuse)
        monkeypatch.setattr(life_lock, "_lock", lambda *_, **__: None)
        monkeypatch.delattr(os, "mkfifo", raising=False)


@pytest.fixture
def server(store: FolderStore) -> FolderInbox:
    """Look at the folder as the process of a session."""
    return store.view()


@pytest.fixture
def desk(store: FolderStore) -> FolderInbox:
    """Look at the folder as a desk."""
    return store.view()


@pytest.fixture
def key(server: FolderInbox) -> Key:
    """Begin a session and deliver one exchange."""
    session = server.begin_session(SessionFacts("", AT))
    server.deliver(item_of(session))
    return Key(session, 1)


def pending(inbox: FolderInbox, key: Key) -> Path:
    """Return the folder of a pending exchange."""
    return inbox.folder(key.session) / "pending" / f"{key.number:04d}"


def everything_in(folder: Path) -> Iterator[Path]:
    """List all files and folders below a folder, and itself."""
    yield folder
    yield from folder.rglob("*")


# -- the layout -------------------------------------------------------------------------------


def test_the_folder_looks_as_the_design_says(
    store: FolderStore, server: FolderInbox, desk: FolderInbox, key: Key
) -> None:
    """Design 5: every name, and a reply that appears beside the message."""
    server.record(key.session, frame_of(1))
    desk.send(key, Reply("{}"))
    assert {path.name for path in pending(server, key).iterdir()} == {
        *("request.json", "wait.json", "draft.json", "reply.json"),
    }
    server.take_replies(key.session)
    server.close(key, ExchangeState.ANSWERED, Answer("{}", "desk", AT))
    session = store.home / "sessions" / key.session
    assert sorted(path.name for path in session.iterdir()) == sorted(
        [
            *("session.json", "session.lock", "bell", "letter.json", "transcript.jsonl", "outbox"),
            *records.STATES,
        ]
    )
    assert (session / "answered" / "0001" / "answer.json").is_file()
    assert list((store.home / "tmp").iterdir()) == []


def test_a_session_is_named_by_its_time_and_four_digits(server: FolderInbox) -> None:
    """Design 5: 20261120T184907Z-4f2a."""
    stamp, digits = server.begin_session(SessionFacts("", "")).split("-")
    time.strptime(stamp, "%Y%m%dT%H%M%SZ")
    assert len(digits) == 4
    assert set(digits) <= set("0123456789abcdef")


def test_the_request_stands_in_its_file_as_it_came(server: FolderInbox, key: Key) -> None:
    """Text, not a parsed value: `1.0` and big integers stay what they are."""
    record = json.loads((pending(server, key) / "request.json").read_text("utf-8"))
    assert record["line"] == item_of(key.session).line
    assert record["id"] == item_of(key.session).id


@POSIX
def test_only_the_owner_can_read_anything(
    store: FolderStore, server: FolderInbox, desk: FolderInbox, key: Key
) -> None:
    """Design 5: folders 0700 and files 0600, whatever the umask allows."""
    before = os.umask(0)
    try:
        other = Key(server.begin_session(SessionFacts("", AT)), 1)
        server.deliver(item_of(other.session))
        server.record(other.session, frame_of(1, number=1))
        desk.save(other, Draft("x"))
        desk.send(other, Reply("x"))
        desk.submit(other.session, Reply("x"))
        server.take_replies(other.session)
        server.refuse(other, [HINT])
        server.close(other, ExchangeState.ANSWERED, Answer("{}", "desk", AT))
    finally:
        os.umask(before)
    for path in everything_in(store.home):
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path


# -- a home that is not ours alone ------------------------------------------------------------


@POSIX
def test_a_home_that_others_can_write_in_is_refused(tmp_path: Path) -> None:
    """With the line that fixes it."""
    (tmp_path / "home").mkdir()
    (tmp_path / "home").chmod(0o777)
    with pytest.raises(UnsafeFolderError, match="chmod 700"):
        FolderInbox(tmp_path / "home")


@POSIX
def test_a_home_that_is_a_link_is_refused(tmp_path: Path) -> None:
    """Whoever may change the link would choose the folder."""
    (tmp_path / "real").mkdir(mode=0o700)
    (tmp_path / "home").symlink_to(tmp_path / "real")
    with pytest.raises(UnsafeFolderError, match="link"):
        FolderInbox(tmp_path / "home")


@POSIX
def test_sessions_swapped_for_a_link_are_refused(store: FolderStore, desk: FolderInbox) -> None:
    """Also between two looks."""
    assert desk.sessions() == []
    (store.home / "sessions").rename(store.home / "away")
    (store.home / "sessions").symlink_to(store.home / "away")
    with pytest.raises(UnsafeFolderError, match="link"):
        desk.sessions()
    with pytest.raises(UnsafeFolderError, match="link"):
        store.view()


@POSIX
@pytest.mark.skipif(hasattr(os, "getuid") and os.getuid() != 0, reason="only root gives files away")
def test_a_home_of_another_user_is_refused(tmp_path: Path) -> None:
    """Its owner could read and change everything."""
    (tmp_path / "home").mkdir(mode=0o700)
    os.chown(tmp_path / "home", 12345, -1)
    with pytest.raises(UnsafeFolderError, match="another user"):
        FolderInbox(tmp_path / "home")


def test_a_home_that_cannot_be_made_is_reported(tmp_path: Path) -> None:
    """With a sentence."""
    (tmp_path / "file").write_text("")
    with pytest.raises(UnsafeFolderError, match="cannot be created: a part of the path is not a"):
        FolderInbox(tmp_path / "file" / "home")


def test_an_inbox_whose_folder_was_removed_is_empty(store: FolderStore, desk: FolderInbox) -> None:
    """Somebody cleaned up while the desk was running."""
    (store.home / "sessions").rmdir()
    assert desk.sessions() == []


def test_a_session_whose_outbox_was_removed_has_nothing_to_say(server: FolderInbox) -> None:
    """Somebody cleaned up while the session was running."""
    session = server.begin_session(SessionFacts("", AT))
    server.submit(session, Reply("{}", by="test"))
    shutil.rmtree(server.folder(session) / "outbox")
    assert server.outgoing(session) == []


def test_a_session_name_is_not_given_twice(server: FolderInbox) -> None:
    """The first one's files are not touched."""
    server.begin_session(SessionFacts("mine", AT, title="first"))
    with pytest.raises(StoreError):
        server.begin_session(SessionFacts("mine", AT, title="second"))
    assert server.facts("mine").title == "first"


@pytest.mark.parametrize("name", ["..", "a/b", "nul", "x.y", " "])
def test_a_session_is_not_begun_under_a_name_that_is_a_path(server: FolderInbox, name: str) -> None:
    """Nothing is made outside the sessions folder."""
    with pytest.raises(ValueError, match=r".*"):
        server.begin_session(SessionFacts(name, AT))


# -- what somebody else wrote -----------------------------------------------------------------

TORN: Final = {
    "empty": b"",
    "torn": b'{"text": "ab',
    "binary": b"\xff\xfe\x00{",
    "number": b"7",
    "list": b"[]",
    "null": b"null",
    "deep": b'{"a":' * 100_000,
    "other types": b'{"text": 7, "line": [], "life": 3, "problems": {}, "tools": 1}',
    "other choices": b'{"text": "", "form": "x", "role": "x", "line": "", "purpose": []}',
    "huge number": b'{"text": "", "at": 1' + b"0" * 5000 + b"}",
    "infinite numbers": b'{"text": "", "at": "x", "number": 1e999, "pid": NaN, "seq": 1e999}',
    "odd parts": b'{"problems": [1], "text": "", "by": true, "format": 99, "limit": "1"}',
}
RECORDS: Final = (
    *("request.json", "wait.json", "draft.json", "problems.json", "reply.json"),
    *("answer.json", "kept-1.json"),
)


def read_all(inbox: FolderInbox, session: str) -> None:
    """Call every reader; none may raise anything but `UnknownItemError`."""
    inbox.sessions()
    for reader in (inbox.facts, inbox.negotiated):
        with suppress(UnknownItemError):
            reader(session)
    for state in ExchangeState:
        inbox.items(session, state)
    inbox.take_replies(session)
    inbox.drafts(session)
    inbox.outgoing(session)
    list(inbox.frames(session))


@pytest.mark.parametrize("content", TORN.values(), ids=TORN)
@pytest.mark.parametrize("name", RECORDS)
def test_a_record_that_cannot_be_read_is_passed_over(
    server: FolderInbox, desk: FolderInbox, key: Key, name: str, content: bytes
) -> None:
    """Torn, or from another program. The exchange beside it is there all the same."""
    server.deliver(item_of(key.session, 2))
    (pending(server, key) / name).write_bytes(content)
    for inbox in (server, desk):
        read_all(inbox, key.session)
    assert Key(key.session, 2) in [item.key for item in desk.items(key.session)]
    desk.save(key, Draft("typed", touched=True))
    server.close(key, ExchangeState.CANCELLED)


@pytest.mark.parametrize("content", TORN.values(), ids=TORN)
@pytest.mark.parametrize("name", ["session.json", "known.json", "outbox/0001.json"])
def test_a_session_that_cannot_be_read_hides_no_other(
    server: FolderInbox, desk: FolderInbox, key: Key, name: str, content: bytes
) -> None:
    """A record of a newer format is passed over, too."""
    other = server.begin_session(SessionFacts("", AT))
    (server.folder(key.session) / name).write_bytes(content)
    for inbox in (server, desk):
        read_all(inbox, key.session)
    assert other in [facts.name for facts in desk.sessions()]


def test_the_folder_of_a_newer_humanmcp_is_refused_with_a_sentence(desk: FolderInbox) -> None:
    """It would be read half, and written as an older one."""
    file = desk.home / "format.json"
    assert json.loads(file.read_bytes()) == {"format": records.FORMAT}
    file.write_text(f'{{"format":{records.FORMAT + 1}}}')
    with pytest.raises(InboxError, match="newer version of humanmcp"):
        FolderInbox(desk.home)


@pytest.mark.parametrize("content", [b"", b"[]", b'{"format":"x"}', b'{"format":1}'])
def test_a_folder_whose_format_is_older_or_unknown_is_brought_along(
    desk: FolderInbox, content: bytes
) -> None:
    """No torn file keeps anybody from their messages."""
    (desk.home / "format.json").write_bytes(content)
    FolderInbox(desk.home)
    assert json.loads((desk.home / "format.json").read_bytes()) == {"format": records.FORMAT}


def test_what_is_passed_over_stands_in_the_log(
    desk: FolderInbox, key: Key, caplog: pytest.LogCaptureFixture
) -> None:
    """Once, not at each look."""
    (pending(desk, key) / "draft.json").write_bytes(b"{")
    with caplog.at_level(logging.WARNING, "humanmcp.inbox"):
        for _ in range(3):
            desk.items(key.session)
    assert [record.message for record in caplog.records if "draft.json" in record.message] != []
    assert len(caplog.records) == 1


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(content=st.binary(max_size=60) | st.text(max_size=30).map(lambda text: text.encode()))
def test_any_bytes_in_any_record_are_survived(
    server: FolderInbox, desk: FolderInbox, key: Key, content: bytes
) -> None:
    """Whatever lies there, the readers live."""
    for name in RECORDS[1:]:
        (pending(server, key) / name).write_bytes(content)
    with (server.folder(key.session) / "transcript.jsonl").open("ab") as stream:
        stream.write(content + b"\n")
    for inbox in (server, desk):
        read_all(inbox, key.session)


@POSIX
@pytest.mark.parametrize("kind", ["link", "fifo", "folder", "mode 000"])
def test_what_is_no_file_is_passed_over_and_nobody_waits_for_it(
    server: FolderInbox, desk: FolderInbox, key: Key, tmp_path: Path, kind: str
) -> None:
    """A link leads nowhere, and a FIFO without a writer does not stop the server."""
    secret = tmp_path / "secret"
    secret.write_text('{"text": "secret"}')
    path = pending(server, key) / "reply.json"
    match kind:
        case "link":
            path.symlink_to(secret)
        case "fifo":
            os.mkfifo(path)
        case "folder":
            path.mkdir()
        case _:
            path.write_text("")
            path.chmod(0)
    for inbox in (server, desk):
        read_all(inbox, key.session)
    assert desk.item(key).reply is None
    assert server.take_replies(key.session) == []


def test_a_link_in_the_place_of_a_session_is_no_session(
    store: FolderStore, desk: FolderInbox, key: Key, tmp_path: Path
) -> None:
    """Nor is a link in the place of an exchange an exchange."""
    sessions = store.home / "sessions"
    (sessions / "other").symlink_to(sessions / key.session)
    with pytest.raises(UnknownItemError):
        desk.facts("other")
    assert [facts.name for facts in desk.sessions()] == [key.session]
    (pending(desk, key).parent / "0002").symlink_to(pending(desk, key))
    with pytest.raises(UnknownItemError):
        desk.item(Key(key.session, 2))
    assert len(desk.items(key.session)) == 1


@pytest.mark.parametrize("name", ["1", "00001", "-001", "+001", "١٢٣٤", "0001~", ".0001", "0000x"])
def test_folders_that_are_not_ours_are_passed_over(desk: FolderInbox, key: Key, name: str) -> None:
    """Editors and file managers leave things behind."""
    (pending(desk, key).parent / name).mkdir()
    assert [item.key for item in desk.items(key.session)] == [key]


def test_a_reply_that_stays_torn_is_put_out_of_the_way(
    server: FolderInbox, desk: FolderInbox, key: Key
) -> None:
    """It would keep everybody from sending. It is kept, not deleted."""
    (pending(server, key) / "reply.json").write_bytes(b'{"text": "half')
    with pytest.raises(TakenError):
        desk.send(key, Reply("turned away for now"))

    def sent() -> bool:
        server.take_replies(key.session)
        return not (pending(server, key) / "reply.json").exists()

    until(sent, "the torn reply is put aside")
    desk.send(key, Reply("whole"))
    assert server.take_replies(key.session) == [(key, Reply("whole"))]
    aside = list(pending(server, key).glob("torn-*.json"))
    assert [path.read_bytes() for path in aside] == [b'{"text": "half']


def test_a_reply_that_is_written_in_pieces_is_taken_when_it_is_whole(
    server: FolderInbox, key: Key
) -> None:
    """By a program that knows nothing of links: `echo > reply.json` works as well."""
    with (pending(server, key) / "reply.json").open("w") as stream:
        for piece in ('{"text"', ': "wh', 'ole"'):
            stream.write(piece)
            stream.flush()
            assert server.take_replies(key.session) == []
        stream.write("}")
    assert server.take_replies(key.session) == [(key, Reply("whole"))]


def test_a_torn_last_line_of_a_transcript_is_passed_over(
    server: FolderInbox, desk: FolderInbox, key: Key
) -> None:
    """And so is one in the middle; the next frames are found."""
    path = server.folder(key.session) / "transcript.jsonl"
    server.record(key.session, frame_of(1))
    for torn in (b'{"seq":2,"at"', b'garbage\n{"seq":2,"at":"x","way":"in"'):
        whole = path.read_bytes()
        with path.open("ab") as stream:
            stream.write(torn)
        assert [frame.seq for frame in desk.frames(key.session)] == [1]
        path.write_bytes(whole)
    with path.open("ab") as stream:
        stream.write(b'{"seq":1e400}\n\n[]\n{"seq":2}\n')
    server._own[key.session].transcript.close()
    with path.open("ab") as stream:
        stream.write(b'{"seq":3,"at":"x","way":"in","raw":"{}"}\n')
    assert [frame.seq for frame in desk.frames(key.session)] == [1, 3]
    assert [frame.seq for frame in desk.frames(key.session, 1)] == [3]


def test_reading_on_in_a_long_transcript_does_not_start_at_the_beginning(
    server: FolderInbox, desk: FolderInbox, key: Key, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Design 9: a history of 100,000 messages; also when pages stand at different places."""
    seqs = list(range(1, 4001))
    for seq in seqs:
        server.record(key.session, frame_of(seq, b"x" * 100))
    assert [frame.seq for frame in desk.frames(key.session)] == seqs
    looked: list[bytes] = []
    pattern = transcripts.SEQ_OF

    class Counting:
        """Counts the lines that are looked at."""

        def match(self, line: bytes) -> object:
            """Look at one."""
            looked.append(line)
            return pattern.match(line)

    monkeypatch.setattr(transcripts, "SEQ_OF", Counting())
    for after in (3990, 2000, 4000, 3000):
        looked.clear()
        assert [frame.seq for frame in desk.frames(key.session, after)] == seqs[after:]
        assert len(looked) < 4000 - after + 1000
    server.record(key.session, frame_of(4001))
    assert [frame.seq for frame in desk.frames(key.session, 4000)] == [4001]


@POSIX
def test_the_line_of_shell_in_the_manual_answers(
    store: FolderStore, server: FolderInbox, desk: FolderInbox
) -> None:
    """docs/reference/folder.md: a person needs no program of ours to send a reply."""
    page = (Path(__file__).parents[2] / "docs" / "reference" / "folder.md").read_text("utf-8")
    script = page.split("```sh\n")[1].split("```")[0]
    session = server.begin_session(SessionFacts("", AT))
    for number in (1, 2, 3):
        server.deliver(item_of(session, number))
    lines = script.splitlines()
    lines[0] = f"cd {store.home}/sessions/{session}"
    for code in (0, 1):  # the second one comes too late
        assert subprocess.run(["sh", "-ec", "\n".join(lines)], check=False).returncode == code
    assert server.take_replies(session) == [(Key(session, 3), Reply("sunny", TextForm.TEXT))]
    assert desk.item(Key(session, 3)).reply == Reply("sunny", TextForm.TEXT)


# -- file systems and clocks of all sorts -----------------------------------------------------


def test_replies_work_on_a_drive_without_links(
    server: FolderInbox, desk: FolderInbox, key: Key, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on exFAT and some network drives: still exactly one wins."""

    def no_links(*_: object, **__: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", no_links)
    desk.send(key, Reply("first"))
    with pytest.raises(TakenError):
        desk.send(key, Reply("second"))
    assert server.take_replies(key.session) == [(key, Reply("first"))]
    assert [draft.text for draft in desk.item(key).kept] == ["second"]


def test_a_file_that_windows_holds_for_a_moment_is_waited_for(
    desk: FolderInbox, key: Key, monkeypatch: pytest.MonkeyPatch
) -> None:
    """WinError 5, 32 and 33 pass; what lasts is reported."""
    waits: list[float] = []
    codes = [5, 32, 33]
    real = os.replace

    class HeldError(PermissionError):
        """What Windows raises: `winerror` is only there on Windows."""

        winerror = 0

    def held(source: str, target: str) -> None:
        if codes:
            error = HeldError(13, "Access is denied")
            error.winerror = codes.pop()
            raise error
        real(source, target)

    monkeypatch.setattr(os, "replace", held)
    monkeypatch.setattr(time, "sleep", waits.append)
    desk.save(key, Draft("typed", touched=True))
    assert desk.item(key).draft == Draft("typed", touched=True)
    assert len(waits) == 3
    codes.extend([32] * 50)
    with pytest.raises(StoreError):
        desk.save(key, Draft("more", touched=True))
    assert sum(waits) < 3


def test_the_order_of_things_does_not_depend_on_the_clock(
    server: FolderInbox, desk: FolderInbox
) -> None:
    """The clock jumps back between two requests."""
    session = server.begin_session(SessionFacts("", AT))
    for number, at in ((1, "2026-11-20T12:00:00Z"), (2, "1999-01-01T00:00:00Z")):
        server.deliver(item_of(session, number)._replace(arrived=at))
        server.record(session, frame_of(number, number=number)._replace(at=at))
    assert [item.key.number for item in desk.items(session)] == [1, 2]
    assert [frame.seq for frame in desk.frames(session)] == [1, 2]


# -- what it costs ----------------------------------------------------------------------------


def test_asking_for_replies_reads_no_file_and_lists_no_folder(
    server: FolderInbox, key: Key, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Design 5: the server asks 100 times a second; a few `stat` calls are all."""
    server.take_replies(key.session)

    def forbidden(*_: object, **__: object) -> None:
        raise AssertionError

    monkeypatch.setattr(os, "open", forbidden)
    monkeypatch.setattr(os, "scandir", forbidden)
    monkeypatch.setattr(os, "listdir", forbidden)
    assert server.take_replies(key.session) == []
    assert server.drafts(key.session) == []


def test_listing_sessions_again_reads_nothing_again(
    server: FolderInbox, desk: FolderInbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """500 sessions: only their `stat` and their locks are looked at."""
    for _ in range(5):
        server.begin_session(SessionFacts("", AT))
    before = desk.sessions()
    monkeypatch.setattr(
        "humanmcp.inbox.session_folder.read_file", lambda _: pytest.fail("was read")
    )
    assert desk.sessions() == before


def test_the_folder_needs_the_standard_library_only() -> None:
    """The server starts in tens of milliseconds: nothing heavy comes with the inbox."""
    heavy = ("asyncio", "tempfile", "shutil", "uuid", "tomllib", "watchdog", "subprocess", "socket")
    program = "import sys, humanmcp.inbox.folder\nsys.stderr.write(' '.join(sys.modules))"
    command = [sys.executable, "-c", program]
    loaded = subprocess.run(command, capture_output=True, text=True, check=True).stderr.split()
    assert "humanmcp.inbox.folder" in loaded
    assert [name for name in heavy if name in loaded] == []


def test_reading_begins_after_any_number_also_beside_torn_lines(tmp_path: Path) -> None:
    """The place is found by halves, and not every line has a number."""
    file = tmp_path / "transcript.jsonl"
    with file.open("wb") as stream:
        for seq in range(1, 60):
            stream.write(to_json(frame_of(seq, b"x" * (seq % 7) * 50)).encode() + b"\n")
            if seq % 9 == 0:
                stream.write(b'{"torn\n')
        stream.write(b'{"seq":60,')
    for after in range(62):
        found = [frame.seq for frame in transcripts.frames_after(file, after)]
        assert found == list(range(after + 1, 60))


def test_what_could_not_be_read_for_a_moment_is_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """With too many files open a session was hidden until the program ended; it is told once."""

    def too_many(*_: object) -> bytes:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    name = FolderInbox(tmp_path).begin_session(SessionFacts("", AT))
    looking = FolderInbox(tmp_path)
    with monkeypatch.context() as now:
        now.setattr(session_folder, "read_file", too_many)
        assert [[*looking.sessions()] for _ in range(3)] == [[], [], []]
    assert [one.name for one in looking.sessions()] == [name]
    assert [one.levelname for one in caplog.records] == ["WARNING"]
