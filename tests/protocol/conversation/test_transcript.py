"""Frames: one recorded line each."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from humanmcp.protocol.conversation.transcript import (
    COMMAND,
    Direction,
    Frame,
    command_in,
    from_json,
    to_json,
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
    assert command_in([*others, command, note(b'["y"]')]) == ("python", "3")
    assert command_in(others) == ()
    assert command_in([note(b'"x"'), command]) == ()
