"""A stream of events, however it is cut into pieces."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from humanmcp.protocol.http.outbound import (
    COMMENT,
    EventError,
    EventId,
    EventReader,
    ServerSentEvent,
    event,
    priming,
)

LINES = st.lists(
    st.sampled_from(
        (
            *("data: {}", "data:x", "data", "id: 1-2", "id: a\0b", "event: ping", ": comment", ""),
            *("retry: 10", "retry: soon", "unknown: 1", "dataset: no"),
        )
    ),
    max_size=12,
)
ENDS = st.sampled_from(["\n", "\r\n", "\r"])


def read(*pieces: bytes, longest: int = 1000) -> list[ServerSentEvent]:
    """Read a stream that comes in these pieces."""
    reader = EventReader(longest)
    return [event for piece in pieces for event in reader.feed(piece)]


def test_what_the_server_writes_is_read_as_it_was() -> None:
    """The reader undoes the writer: the same line, the same id, comments and priming apart."""
    line = '{"jsonrpc":"2.0","id":1,"result":{"x":"é"}}'.encode()
    event_id = EventId(3, 1)
    content = COMMENT + priming(EventId(3, 0), 1000) + event(line, event_id) + event(line)
    assert read(content) == [
        ServerSentEvent(b"", "3-0", "message", 1000),
        ServerSentEvent(line, "3-1"),
        ServerSentEvent(line),
    ]


@given(LINES, ENDS, st.lists(st.integers(0, 200), max_size=5))
def test_pieces_change_nothing(lines: list[str], end: str, cuts: list[int]) -> None:
    """However a stream is cut, and whatever ends its lines, the events are the same."""
    content = "".join(line + end for line in lines).encode()
    places = sorted({min(cut, len(content)) for cut in cuts} | {0, len(content)})
    pieces = [content[a:b] for a, b in pairwise(places)]
    assert read(*pieces) == read("".join(line + "\n" for line in lines).encode())


def test_several_data_lines_are_one_text() -> None:
    """A line feed stands between them; a byte-order mark at the start is dropped."""
    assert read(b"\xef\xbb\xbfdata: a\ndata: b\n\n") == [ServerSentEvent(b"a\nb")]


def test_the_last_id_and_the_pause_stay_known() -> None:
    """An event without an id does not undo the one before; a new stream keeps what was learned."""
    reader = EventReader(1000)
    list(reader.feed(b"id: 7\nretry: 20\ndata: a\n\ndata: b\n\n"))
    assert (reader.last_id, reader.retry, reader.count) == ("7", 20, 2)
    reader.begin_anew()
    assert reader.last_id == "7"


@pytest.mark.parametrize("content", [b"data: " + b"x" * 200, b"data: x\n" * 60])
def test_an_endless_event_is_not_kept(content: bytes) -> None:
    """Neither one long line nor many short ones fill the memory."""
    with pytest.raises(EventError):
        read(content, longest=100)


def test_what_is_no_utf8_is_replaced_in_a_name_and_kept_in_a_message() -> None:
    """A message is judged as its bytes; a name is only shown, and sent back."""
    content = b"id: a\xff\nevent: \xc3\xa9\xff\ndata: \xff\n\n"
    assert read(content) == [ServerSentEvent(b"\xff", "a\ufffd", "é\ufffd")]


def test_an_event_may_be_as_long_as_is_allowed() -> None:
    """Its lines without their ends, and what has come of the next one."""
    content = b"id: 1\ndata: " + b"x" * 89
    assert read(content, b"\n\n", longest=100) == [ServerSentEvent(b"x" * 89, "1")]
    with pytest.raises(EventError):
        read(content, b"x", longest=100)
