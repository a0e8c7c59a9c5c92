"""The parts of the tap, each alone: cutting, writing between lines, recording."""

import os
import threading
from collections.abc import Callable
from pathlib import Path

from humanmcp.common.line_pipe import Cut
from humanmcp.protocol.conversation.transcript import Direction, Frame
from humanmcp.tap.pump import Pump, Sink
from humanmcp.tap.recorder import TapRecorder
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
    """An output that keeps what it is given; it hears only when it may."""

    def __init__(self) -> None:
        """Let it hear from the start."""
        self.go = threading.Event()
        self.go.set()
        self.frames: list[Frame] = []
        self.told: list[Frame] = []
        self.hurried = False

    def write(self, frame: Frame) -> None:
        """Keep it."""
        self.frames.append(frame)

    def hear(self, frame: Frame) -> None:
        """Hear it when it may."""
        assert self.go.wait(PATIENCE)
        self.told.append(frame)

    def idle(self) -> bool:
        """Do nothing more."""
        return False

    def hurry(self) -> None:
        """Remember that it was asked for."""
        self.hurried = True

    def last_words(self) -> None:
        """Have nothing to say."""

    def close(self) -> None:
        """Finish."""


def test_a_line_is_written_down_when_put_returns() -> None:
    """Before it passes, and although nobody hears anything yet; in the order of the numbers."""
    kept = Kept()
    recorder = TapRecorder([kept])
    for number in range(100):
        recorder.heard(Direction.IN, Cut(b"%d" % number, ended=True, size=2))
    assert [frame.raw for frame in kept.frames] == [b"%d" % number for number in range(100)]
    assert [frame.seq for frame in kept.frames] == list(range(1, 101))
    assert kept.told == []


def test_what_nobody_had_time_to_hear_is_counted_and_said() -> None:
    """It is in the record all the same: nothing is dropped from that."""
    kept = Kept()
    kept.go.clear()
    recorder = TapRecorder([kept], most=5000)
    recorder.start()
    for number in range(100):
        recorder.heard(Direction.IN, Cut(b"%d" % number, ended=True, size=2))
    kept.go.set()
    recorder.stop()
    assert recorder.wait(PATIENCE)
    lines = [frame for frame in kept.frames if frame.direction is Direction.IN]
    said = [frame.note for frame in kept.frames if frame.direction is Direction.NOTE]
    heard = [frame for frame in kept.told if frame.direction is Direction.IN]
    assert (len(lines), recorder.missing) == (100, 0)
    assert 0 < len(heard) < 100
    assert said == [
        f"{100 - len(heard)} lines were not checked here: too many came; an export checks them"
    ]


def test_what_waits_beyond_the_limit_is_read_again_from_the_record() -> None:
    """Every line is heard once, in order, while lines go on passing; few of them are in memory."""
    kept = Kept()
    kept.go.clear()
    recorder = TapRecorder([kept], most=5000)
    recorder.read_again = lambda after: iter(kept.frames[after:])
    recorder.start()
    for number in range(1500):
        recorder.heard(Direction.IN, Cut(b"%d" % number, ended=True, size=4))
    kept.go.set()
    until(lambda: kept.told, "a line is heard")
    for number in range(1500, 1600):
        recorder.heard(Direction.IN, Cut(b"%d" % number, ended=True, size=4))
    until(lambda: len(kept.told) == 1600, "all are heard")
    recorder.stop()
    assert recorder.wait(PATIENCE)
    assert [frame.raw for frame in kept.told] == [b"%d" % number for number in range(1600)]
    assert [frame.note for frame in kept.frames] == [""] * 1600


def test_who_must_know_what_has_passed_hears_it_at_once() -> None:
    """A pattern that is set while lines pass: the requests that are open are known."""
    kept = Kept()
    recorder = TapRecorder([kept])
    recorder.put(Direction.IN, b"{}")
    recorder.catch_up()
    assert [frame.raw for frame in kept.told] == [b"{}"]


def test_a_flood_of_two_hundred_thousand_messages_is_recorded() -> None:
    """Whoever hears is told to hurry at the end."""
    kept = Kept()
    recorder = TapRecorder([kept])
    recorder.read_again = lambda after: iter(kept.frames[after:])
    line = b"x" * 110
    for _ in range(200_000):
        recorder.heard(Direction.IN, Cut(line, ended=True, size=len(line)))
    recorder.stop()
    recorder.start()
    assert recorder.wait(PATIENCE)
    assert (len(kept.frames), recorder.missing) == (200_000, 0)
    assert kept.hurried


class Remarking(Kept):
    """An output that has something to say about each line, but only when it has a moment."""

    def __init__(self) -> None:
        """Have nothing to say yet."""
        super().__init__()
        self.say: Callable[[], object] = list
        self.unsaid = 0

    def hear(self, frame: Frame) -> None:
        """Keep a line for later."""
        super().hear(frame)
        self.unsaid += frame.direction is not Direction.NOTE

    def idle(self) -> bool:
        """Say something about one line."""
        if self.unsaid:
            self.unsaid -= 1
            self.say()
        return self.unsaid > 0


def test_what_is_said_of_the_last_lines_is_in_the_record() -> None:
    """What the check finds after the end is written down, and counts as no missing line."""
    output = Remarking()
    recorder = TapRecorder([output])
    output.say = lambda: recorder.put(Direction.NOTE, b"", note="odd")
    for number in range(5):
        recorder.put(Direction.IN, b"%d" % number)
    recorder.stop()
    recorder.start()
    assert recorder.wait(PATIENCE)
    assert [frame.note for frame in output.frames] == [""] * 5 + ["odd"] * 5
    assert recorder.missing == 0


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
        listener=TapRecorder([Kept()]),
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
        listener=TapRecorder([]),
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

    def hear(self, frame: Frame) -> None:
        """Hear nothing."""

    def idle(self) -> bool:
        """Do nothing more."""
        return False

    def hurry(self) -> None:
        """Go on as before."""

    def last_words(self) -> None:
        """Have nothing to say."""

    def close(self) -> None:
        """Finish."""


def test_a_full_disk_is_counted_and_the_other_output_goes_on(tmp_path: Path) -> None:
    """One output that fails does not take the other with it."""
    kept = Kept()
    recorder = TapRecorder([Full(), kept])
    recorder.start()
    recorder.put(Direction.IN, b"{}")
    recorder.stop()
    assert recorder.wait(PATIENCE)
    assert len(kept.frames) == 1
    assert recorder.missing == 1
    assert "No space left" in str(recorder.trouble)
