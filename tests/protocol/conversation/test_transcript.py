"""Frames of a transcript, and the logs of others that are read as one."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from humanmcp.protocol.conversation import transcript
from humanmcp.protocol.conversation.transcript import (
    COMMAND,
    PLACE,
    Direction,
    Frame,
    Perspective,
    from_json,
    recorded_command,
    to_json,
)
from humanmcp.protocol.validation.captures import (
    is_transcript,
    read_capture,
    read_recording,
    write_log_line,
)


@given(
    st.binary(max_size=60),
    st.sampled_from(Direction),
    st.integers(0, 10**6),
    st.text(max_size=10),
    st.text(max_size=10),
    st.integers(0, 10**6),
)
def test_a_frame_comes_back_as_it_was_written(  # noqa: PLR0917 - each member of a frame
    raw: bytes, direction: Direction, number: int, by: str, note: str, stream: int
) -> None:
    """Any bytes survive, also those that are no UTF-8."""
    try:
        by.encode(), note.encode()
    except UnicodeEncodeError:
        return
    frame = Frame(1, "2026-11-20T18:49:07.123Z", direction, raw, number, by, note, stream)
    line = to_json(frame)
    assert "\n" not in line
    assert from_json(line) == frame


@given(st.text(st.sampled_from('ab"\\\n\x01é😀'), max_size=12), st.integers(1, 4))
def test_a_long_text_is_quoted_in_pieces_as_it_is_as_a_whole(text: str, piece: int) -> None:
    """Wherever they end: in front of what is escaped, too."""
    frame = Frame(1, "t", Direction.IN, text.encode())
    with pytest.MonkeyPatch.context() as patching:
        patching.setattr(transcript, "_PIECE", piece)
        in_pieces = to_json(frame)
    assert in_pieces == to_json(frame)


def test_bytes_that_are_no_text_stay_readable_and_exact() -> None:
    """The readable form stands beside the exact one."""
    line = to_json(Frame(1, "t", Direction.IN, b"a\xff"))
    assert '"base64":"Yf8="' in line
    assert from_json(line).text == "a\ufffd"


@pytest.mark.parametrize("torn", ["", "{", "[]", '{"seq":1}', '{"seq":1,"at":"t","way":"up"}', "7"])
def test_a_torn_line_is_no_frame(torn: str) -> None:
    """A crash may leave half a line: that is a ValueError, nothing else."""
    with pytest.raises(ValueError):  # noqa: PT011 - json's own error or ours: both are one
        from_json(torn)


def test_the_command_of_the_real_server_is_found_where_a_tap_wrote_it() -> None:
    """The first one that can be read; a message that looks the same is none."""

    def note(raw: bytes, direction: Direction = Direction.NOTE, text: str = COMMAND) -> Frame:
        return Frame(1, "", direction, raw, note=text)

    command = note(b'["python",3]')
    others = [note(b'["x"]', Direction.IN), note(b'["x"]', text="other"), note(b'["x"')]
    assert recorded_command([*others, command, note(b'["y"]')]) == ("python", "3")
    assert recorded_command(others) == ()
    assert recorded_command([note(b'"x"'), command]) == ()


TIME = "2025-04-06 15:09:35.419"


@pytest.mark.parametrize("direction", [Direction.IN, Direction.OUT, Direction.ERR])
def test_what_is_written_is_read_back(direction: Direction) -> None:
    """Time, way and text."""
    line = write_log_line(Frame(1, "", direction, '{"x":"東京] IN: "}'.encode()), TIME)
    assert line == f'[{TIME}] {direction.name}: {{"x":"東京] IN: "}}'
    assert [(one.at, one.direction, one.text) for one in read_capture(line)] == [
        (TIME, direction, '{"x":"東京] IN: "}')
    ]


@pytest.mark.parametrize(
    "frame",
    [
        Frame(1, "", Direction.NOTE, b"{}"),
        Frame(1, "", Direction.IN, b""),
        Frame(1, "", Direction.IN, b" \r"),
    ],
    ids=["a note", "nothing", "a blank line"],
)
def test_what_is_no_message_stands_in_no_log(frame: Frame) -> None:
    """Notes and blank lines."""
    assert write_log_line(frame, TIME) is None


def test_only_a_carriage_return_is_taken_from_the_end_of_a_line() -> None:
    """It belongs to the end of the line."""
    line = write_log_line(Frame(1, "", Direction.IN, b"no JSON: X\r\r"), TIME)
    assert line == f"[{TIME}] IN: no JSON: X"


@pytest.mark.parametrize("line", ["", "hello", f"[{TIME}] UP: {{}}", f"[{TIME[:-4]}] IN: {{}}"])
def test_other_lines_are_none(line: str) -> None:
    """Another label, no time, no milliseconds."""
    assert {one.direction for one in read_capture(line)} <= {Direction.NOTE}


def test_a_log_is_read_as_frames_and_what_is_no_entry_as_a_note() -> None:
    """Blank lines are left out, and the line ends of Windows."""
    lines = [f"[{TIME}] IN: {{}}\r", "", "Traceback\r", f"[{TIME}] OUT: {{}}"]
    at = len(f"[{TIME}] IN: ") + 1
    assert list(read_recording(lines, "at {}".format)) == [
        Frame(1, f"at {TIME}", Direction.IN, b"{}", note=f"{PLACE}1:{at}"),
        Frame(2, "", Direction.NOTE, b"Traceback", note=f"{PLACE}3:1 log"),
        Frame(3, f"at {TIME}", Direction.OUT, b"{}", note=f"{PLACE}4:{at + 1}"),
    ]
    assert not is_transcript(lines[0])
    assert not is_transcript('{"seq":1}')


def test_the_log_of_claude_desktop_is_read() -> None:
    """With the server's name before or after the level, with its metadata or without."""
    at = "2025-07-12T05:51:44.{}Z"
    request, response = '{"id":1,"method":"x/y"}', '{"id":1,"result":{"b":"x: y"}}'
    lines = [
        f"{at.format('599')} [chat log] [info] Initializing server... {{ metadata: undefined }}",
        (
            f"{at.format('601')} [chat log] [info] Message from client: {request} "
            "{ metadata: undefined }"
        ),
        f"{at.format('602')} [info] [chat log] Message from server: {response}\r",
        "Traceback (most recent call last):",
    ]
    notes = [Frame(n, "", Direction.NOTE, lines[n - 1].encode()) for n in (1, 4)]
    assert [one._replace(note="") for one in read_recording(lines, str.lower)] == [
        notes[0],
        Frame(2, "2025-07-12t05:51:44.601z", Direction.IN, request.encode()),
        Frame(3, "2025-07-12t05:51:44.602z", Direction.OUT, response.encode()),
        notes[1],
    ]


def test_a_recording_is_a_transcript_or_a_text_log() -> None:
    """Its first line tells; what a crash has torn in a transcript is a note, with its place."""
    frames = [Frame(1, "t", Direction.IN, b"{}"), Frame(2, "t", Direction.OUT, b"[]")]
    first, second = map(to_json, frames)
    lines = [" ", first, second[:9], "[" * 100_000, "7", second]
    torn = [
        Frame(seq, "", Direction.NOTE, line.encode(), note=f"{PLACE}{seq + 1}:1")
        for seq, line in enumerate(lines[2:5], 2)
    ]
    assert list(read_recording(lines, str.upper)) == [frames[0], *torn, frames[1]._replace(seq=5)]
    log = ["", f"[{TIME}] IN: {{}}", "words", "\r", f"[{TIME}] OUT: []\r"]
    assert [one._replace(note="") for one in read_recording(log, lambda time: f"at {time}")] == [
        Frame(1, f"at {TIME}", Direction.IN, b"{}"),
        Frame(2, "", Direction.NOTE, b"words"),
        Frame(3, f"at {TIME}", Direction.OUT, b"[]"),
    ]
    assert list(read_recording([], str.upper)) == []


@pytest.mark.parametrize(
    ("more", "members"),
    [
        ({}, ""),
        ({"number": 3}, ',"number":3'),
        ({"by": "é"}, ',"by":"é"'),
        ({"note": 'a"'}, ',"note":"a\\""'),
        ({"stream": 4}, ',"stream":4'),
        ({"decision": "{}"}, ',"decision":"{}"'),
        (
            {"number": 1, "by": "b", "note": "n", "stream": 2, "decision": "d"},
            ',"number":1,"by":"b","note":"n","stream":2,"decision":"d"',
        ),
    ],
)
def test_a_frame_has_what_there_is_to_say_of_it(more: dict[str, Any], members: str) -> None:
    """In one order, and nothing for what is empty."""
    frame = Frame(7, "t", Direction.NOTE, b"{}", **more)
    line = f'{{"seq":7,"at":"t","way":"note","raw":"{{}}"{members}}}'
    assert to_json(frame) == line
    assert from_json(line) == frame


def test_a_frame_that_another_program_wrote_is_read_in_its_types() -> None:
    """Numbers as text, texts as numbers; the exact bytes count before the readable ones."""
    line = '{"seq":"7","at":1,"way":"err","raw":"x","base64":"Yf8=","number":"2","by":3,"note":4}'
    assert from_json(line) == Frame(7, "1", Direction.ERR, b"a\xff", 2, "3", "4")
    assert from_json('{"seq":1,"at":"","way":"in","raw":"\\ud800"}').raw == b"\xed\xa0\x80"


@pytest.mark.parametrize(
    "line",
    [
        '{"seq":1,"at":"t","way":"in","raw":7}',
        '{"seq":null,"at":"t","way":"in","raw":""}',
        '{"seq":1e999,"at":"t","way":"in","raw":""}',
        "7",
    ],
)
def test_what_is_no_frame_is_named_by_its_beginning(line: str) -> None:
    """Eighty characters of it."""
    with pytest.raises(ValueError, match="not a frame of a transcript") as error:
        from_json(line + " " * 90)
    assert str(error.value) == f"not a frame of a transcript: {(line + ' ' * 90)[:80]!r}"


@pytest.mark.parametrize(
    ("own", "seen"), [(Direction.IN, [1, 3, 5, 9]), (Direction.OUT, [1, 4, 5, 6])]
)
def test_each_side_sees_its_own_lines_and_those_of_the_other_that_reached_it(
    own: Direction, seen: list[int]
) -> None:
    """A held line when it is let go, never one that was dropped or stands for another."""
    frames = [
        Frame(1, "", Direction.IN, b"", 1, note="held"),
        Frame(2, "", Direction.NOTE, b"", 1, note="let go"),
        Frame(3, "", Direction.IN, b"", 2, note="held"),
        Frame(4, "", Direction.IN, b"", 2, note="changed"),
        Frame(5, "", Direction.OUT, b""),
        Frame(6, "", Direction.OUT, b"", 3, note="held"),
        Frame(7, "", Direction.NOTE, b"", 3, note="dropped"),
        Frame(8, "", Direction.ERR, b""),
        Frame(9, "", Direction.OUT, b"", 2, note="answered instead"),
        Frame(10, "", Direction.NOTE, b"", 3, note="let go"),
    ]
    view = Perspective(own)
    assert [one.seq for frame in frames for one in view.feed(frame)] == seen
