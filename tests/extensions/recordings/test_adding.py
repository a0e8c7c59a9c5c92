"""What is added to a recording, and to which file."""

from pathlib import Path

from humanmcp.extensions.recordings.recording import Addition
from humanmcp.protocol.conversation.transcript import Direction, Frame, from_json

FRAME = Frame(0, "2026-11-20T00:00:00.000Z", Direction.IN, b"{}")


def test_frames_are_numbered_on_and_a_torn_line_is_ended(tmp_path: Path) -> None:
    """A crash may have left half a line; what is added is whole all the same."""
    path = tmp_path / "recording.jsonl"
    path.write_text("torn", encoding="utf-8")
    addition = Addition(path, 7)
    assert addition.add([FRAME, FRAME]) is None
    assert addition.add([FRAME]) is None
    torn, *lines = path.read_text(encoding="utf-8").splitlines()
    assert torn == "torn"
    assert [from_json(line).seq for line in lines] == [8, 9, 10]


def test_a_file_that_takes_nothing_is_a_value(tmp_path: Path) -> None:
    """The answer goes to the client all the same."""
    assert isinstance(Addition(tmp_path, 0).add([FRAME]), OSError)
