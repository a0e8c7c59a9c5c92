"""The parts of the tap, each alone: cutting, writing between lines, recording."""

import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from humanmcp.common.line_pipe import Cut
from humanmcp.common.timestamps import now
from humanmcp.extensions.tap.pump import Pump, Sink
from humanmcp.extensions.tap.recorder import LONGEST_HEARD, MOST_UNCHECKED, Listening, TapRecorder
from humanmcp.inbox.contract import Role, SessionFacts
from humanmcp.inbox.folder import FolderInbox
from humanmcp.inbox.inbox_session import InboxSession
from humanmcp.protocol.conversation.transcript import BY_CHECK, COMMAND, Direction, Frame
from tests.support.waiting import PATIENCE, until


def test_a_whole_line_never_lands_inside_another() -> None:
    """What is inserted waits until the stream is between two lines."""
    source, sink_end = os.pipe()
    sink = Sink(sink_end)
    sink.stream(b'{"a":')
    sink.insert(b"INSERTED\n")
    sink.stream(b"1}\n{")
    sink.insert(b"AGAIN\n")
    sink.stream(b"}")
    sink.close()
    with os.fdopen(source, "rb") as stream:
        assert stream.read() == b'{"a":1}\nINSERTED\n{}\nAGAIN\n'


def test_a_reader_that_went_away_is_no_error() -> None:
    """What is written after that is thrown away."""
    source, sink_end = os.pipe()
    sink = Sink(sink_end)
    os.close(source)
    sink.stream(b"{}\n")
    assert not sink.open
    sink.insert(b"{}\n")
    sink.close()


class Kept:
    """An output that keeps what it is given."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self.frames: list[Frame] = []

    def write(self, frame: Frame) -> None:
        """Keep it."""
        self.frames.append(frame)


def recorder_with(*outputs: Callable[[Frame], object]) -> TapRecorder:
    """Make a recorder that writes there."""
    recorder = TapRecorder()
    recorder.outputs.extend(outputs)
    return recorder


def test_a_line_is_written_down_when_put_returns() -> None:
    """Before it passes, and although nobody hears anything; in the order of the numbers."""
    kept = Kept()
    recorder = recorder_with(kept.write)
    for number in range(100):
        recorder.heard(Direction.IN, Cut(b"%d" % number, ended=True, size=2))
    assert [frame.raw for frame in kept.frames] == [b"%d" % number for number in range(100)]
    assert [frame.seq for frame in kept.frames] == list(range(1, 101))


@pytest.fixture
def inbox_session(tmp_path: Path) -> InboxSession:
    """Begin a session of a tap."""
    facts = SessionFacts(name="", started=now(), role=Role.TAP, pid=os.getpid(), title="tap")
    return InboxSession.begin(FolderInbox(tmp_path / "home"), facts, now)


def notes_of(inbox_session: InboxSession) -> list[str]:
    """Return what the check says in the transcript."""
    return [frame.note for frame in inbox_session.frames() if frame.by == BY_CHECK]


ASKED = b'{"jsonrpc":"2.0","id":%d,"method":"tools/list"}'
LONG = b"x" * (LONGEST_HEARD + 1)
UNASKED = b'{"jsonrpc":"2.0","id":%d,"result":{"tools":[]}}'


def test_what_passed_is_heard_and_checked_in_order(inbox_session: InboxSession) -> None:
    """What came before the thread began, what comes while it dozes, and what is last."""
    recorder = TapRecorder()
    listening = Listening(inbox_session, recorder)
    recorder.put(Direction.OUT, UNASKED % 1)
    listening.start()
    until(lambda: recorder.waking is not None, "nothing is left to hear")
    recorder.put(Direction.OUT, UNASKED % 2)
    until(lambda: len(notes_of(inbox_session)) == 2, "the second is checked")
    recorder.put(Direction.IN, ASKED % 3)
    recorder.put(Direction.OUT, UNASKED % 4)
    listening.stop()
    assert listening.wait(PATIENCE)
    about = [int(note.partition(":")[0]) for note in notes_of(inbox_session)]
    lines = {frame.seq: frame.raw for frame in inbox_session.frames() if frame.raw}
    assert [lines[seq] for seq in about] == [UNASKED % 1, UNASKED % 2, UNASKED % 4, ASKED % 3]
    assert [one.seq for one in listening.unanswered] == [about[-1]]


@pytest.mark.parametrize(
    "answer",
    [
        b'{"jsonrpc":"2.0","id":7,"result":{"tools":[],"_meta":"%s"}}',
        b'{"jsonrpc": "2.0", "result": {"tools": [], "_meta": "%s"}, "id": 7}',
        b'{"id":7,"error":{"code":1,"message":"%s"},"jsonrpc":"2.0"}',
    ],
)
def test_a_long_response_answers_its_request(inbox_session: InboxSession, answer: bytes) -> None:
    """It is not checked while others pass, but nobody hears that it never came."""
    recorder = TapRecorder()
    listening = Listening(inbox_session, recorder)
    recorder.put(Direction.IN, ASKED % 7)
    recorder.put(Direction.IN, b'{"method":"tools/list","params":{"a":"%s"},"id":8}' % LONG)
    recorder.put(Direction.OUT, answer % LONG)
    assert [one.id.token for one in listening.so_far().open] == ["8"]
    listening.stop()
    listening.start()
    assert listening.wait(PATIENCE)
    assert [one.diagnostic.detail[-1] for one in listening.unanswered] == [("id", "8")]


def test_of_a_flood_the_last_lines_are_checked(inbox_session: InboxSession) -> None:
    """All are heard: a response to one of the first requests is known as one."""
    recorder = TapRecorder()
    listening = Listening(inbox_session, recorder)
    recorder.put(Direction.IN, ASKED % 0)
    for number in range(1, MOST_UNCHECKED + 10):
        recorder.put(Direction.OUT, UNASKED % number)
    recorder.put(Direction.OUT, UNASKED % 0)
    listening.stop()
    listening.start()
    assert listening.wait(PATIENCE)
    assert listening.unanswered == ()
    about = [int(note.partition(":")[0]) for note in notes_of(inbox_session)]
    assert about
    assert about == list(range(about[0], MOST_UNCHECKED + 11))
    assert about[0] > 2


def test_a_long_backlog_at_the_end_is_left_to_an_export(inbox_session: InboxSession) -> None:
    """Others wait for our end; every line is in the record."""
    recorder = TapRecorder()
    listening = Listening(inbox_session, recorder, ("server",))
    for number in range(3000):
        recorder.put(Direction.OUT, UNASKED % number)
    listening.stop()
    listening.start()
    assert listening.wait(PATIENCE)
    assert sum(frame.direction is Direction.OUT for frame in inbox_session.frames()) == 3000
    assert notes_of(inbox_session) == [COMMAND]


def test_who_must_know_what_has_passed_learns_it_at_once(inbox_session: InboxSession) -> None:
    """A pattern that is set while lines pass: the requests that are open are known."""
    recorder = TapRecorder()
    listening = Listening(inbox_session, recorder)
    recorder.put(Direction.IN, ASKED % 7)
    assert [one.id.token for one in listening.so_far().open] == ["7"]
    recorder.put(Direction.OUT, UNASKED % 7)
    assert list(listening.so_far().open) == []


def test_what_the_disk_refused_is_passed_over(inbox_session: InboxSession) -> None:
    """What comes after it is heard, and checked."""
    recorder = TapRecorder()
    listening = Listening(inbox_session, recorder)
    (write,) = recorder.outputs
    recorder.outputs = [Full().write]
    recorder.put(Direction.OUT, UNASKED % 1)
    listening.start()
    until(lambda: recorder.waking is not None, "nothing is left to hear")
    recorder.outputs = [write]
    recorder.put(Direction.OUT, UNASKED % 2)
    until(lambda: notes_of(inbox_session), "the second is checked")
    listening.stop()
    assert listening.wait(PATIENCE)
    assert [note.partition(":")[0] for note in notes_of(inbox_session)] == ["2"]


class Thoughtful:
    """A gate that takes its time for every line."""

    def __init__(self) -> None:
        """Begin to look only when asked to go on."""
        self.looking = threading.Event()
        self.go = threading.Event()

    closed = True

    def passes(self, _direction: Direction, _line: bytes) -> bool:
        """Let it pass, after a while."""
        self.looking.set()
        return self.go.wait(PATIENCE)

    def holds_unread(self, _direction: Direction) -> bool:
        """Let a line that is too long pass."""
        return False

    def refuse(self, _direction: Direction, _cut: Cut) -> None:
        """Never happens."""


def test_a_line_that_is_looked_at_for_long_is_no_silence() -> None:
    """A server that ended while its last line was read still gets it through."""
    source, server = os.pipe()
    client, sink_end = os.pipe()
    gate = Thoughtful()
    sink, ended = Sink(sink_end), threading.Event()
    pump = Pump(
        Direction.OUT,
        source,
        sink,
        gate=gate,
        listener=TapRecorder(),
        ended=lambda _way: ended.set(),
    )
    pump.start()
    until(lambda: pump.silent_for(0.01), "silence before the first word")
    os.write(server, b"last\n")
    os.close(server)
    assert gate.looking.wait(PATIENCE)
    assert not pump.silent_for(0.0)
    gate.go.set()
    assert ended.wait(PATIENCE)
    with os.fdopen(client, "rb") as stream:
        assert stream.readline() == b"last\n"
        sink.close()


def test_what_waits_unread_in_a_pipe_is_no_silence() -> None:
    """A thread that was not let run has not read it yet."""
    source, server = os.pipe()
    pump = Pump(
        Direction.OUT,
        source,
        Sink(1),
        gate=Thoughtful(),
        listener=TapRecorder(),
        ended=lambda _way: None,
    )
    assert pump.silent_for(0.0)
    os.write(server, b"x")
    assert not pump.silent_for(0.0)
    os.close(source)
    os.close(server)


class Full:
    """An output whose disk is full."""

    def write(self, frame: Frame) -> None:
        """Fail."""
        raise OSError(28, f"No space left on device for line {frame.seq}")


def test_a_full_disk_is_counted_and_the_other_output_goes_on() -> None:
    """One output that fails does not take the other with it."""
    kept = Kept()
    recorder = recorder_with(Full().write, kept.write)
    recorder.put(Direction.IN, b"{}")
    assert len(kept.frames) == 1
    assert recorder.missing == 1
    assert "No space left" in str(recorder.trouble)
