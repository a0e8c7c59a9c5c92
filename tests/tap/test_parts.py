"""The parts of the tap, each alone: cutting, writing between lines, recording."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from humanmcp.protocol.transcript import Frame, Way
from humanmcp.tap.cutter import Cut, Cutter
from humanmcp.tap.recorder import Recorder
from humanmcp.tap.sink import Sink
from tests.waiting import PATIENCE

if TYPE_CHECKING:
    from pathlib import Path


@given(st.lists(st.binary(max_size=12).map(lambda piece: piece.replace(b"x", b"\n"))))
def test_what_is_cut_is_what_came_in(pieces: list[bytes]) -> None:
    """Joined with their ends the lines are the stream, however it was cut into pieces."""
    cutter = Cutter()
    cuts = [cut for piece in pieces for cut in cutter.feed(piece)]
    cuts += list(cutter.end())
    assert b"".join(cut.line + b"\n" * cut.ended for cut in cuts) == b"".join(pieces)
    assert all(cut.ended for cut in cuts[:-1])


def test_a_line_that_is_too_long_is_counted_not_kept() -> None:
    """Its beginning is, and the next line is whole again."""
    cutter = Cutter(longest=5000)
    cuts = [*cutter.feed(b"a" * 4000), *cutter.feed(b"a" * 4000), *cutter.feed(b"\nb\n")]
    assert [(len(cut.line), cut.size, cut.whole) for cut in cuts] == [
        (4096, 8000, False),
        (1, 1, True),
    ]
    assert cuts[0].note == "8000 bytes: too long to keep"


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


class Slow:
    """An output that waits until it may go on."""

    def __init__(self) -> None:
        """Wait."""
        self.go = threading.Event()
        self.frames: list[Frame] = []

    def write(self, frame: Frame) -> None:
        """Write when it may."""
        assert self.go.wait(PATIENCE)
        self.frames.append(frame)

    def idle(self) -> bool:
        """Do nothing more."""
        return False

    def close(self) -> None:
        """Finish."""


def test_a_dropped_record_is_counted_and_said() -> None:
    """A disk slower than the traffic: who forwards never waits, and the record tells of the gap."""
    slow = Slow()
    recorder = Recorder([slow], most=5000)
    recorder.start()
    for number in range(100):
        recorder.heard(Way.IN, Cut(b"%d" % number, ended=True, size=2))
    slow.go.set()
    recorder.stop()
    assert recorder.wait(PATIENCE)
    said = [frame for frame in slow.frames if frame.way is Way.NOTE]
    kept = [frame for frame in slow.frames if frame.way is Way.IN]
    assert 0 < len(kept) < 100
    assert recorder.missing == 100 - len(kept)
    assert f"{recorder.missing} lines are missing" in said[0].note
    assert [frame.seq for frame in slow.frames] == list(range(1, len(slow.frames) + 1))


class Full:
    """An output whose disk is full."""

    def write(self, frame: Frame) -> None:
        """Fail."""
        raise OSError(28, f"No space left on device for line {frame.seq}")

    def idle(self) -> bool:
        """Do nothing more."""
        return False

    def close(self) -> None:
        """Finish."""


def test_a_full_disk_is_counted_and_the_other_output_goes_on(tmp_path: Path) -> None:
    """One output that fails does not take the other with it."""
    slow = Slow()
    slow.go.set()
    recorder = Recorder([Full(), slow])
    recorder.start()
    recorder.put(Way.IN, b"{}")
    recorder.stop()
    assert recorder.wait(PATIENCE)
    assert len(slow.frames) == 1
    assert recorder.missing == 1
    assert "No space left" in recorder.trouble
