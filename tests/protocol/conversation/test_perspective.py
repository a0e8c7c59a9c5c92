"""A tapped session from one side."""

from __future__ import annotations

from humanmcp.protocol.conversation.perspective import as_client, as_server
from humanmcp.protocol.conversation.transcript import (
    CHANGED,
    DROPPED,
    HELD,
    INSTEAD,
    LET_GO,
    Frame,
    Way,
)


def frame(seq: int, way: Way, number: int = 0, note: str = "") -> Frame:
    """Make a frame."""
    return Frame(seq, "", way, b"{}", number, note=note)


SESSION = (
    frame(1, Way.IN),
    frame(2, Way.IN, 1, HELD),
    frame(3, Way.IN, 1, CHANGED),
    frame(4, Way.IN, 2, HELD),
    frame(5, Way.OUT, 2, INSTEAD),
    frame(6, Way.OUT, 3, HELD),
    frame(7, Way.OUT),
    frame(8, Way.NOTE, 3, LET_GO),
    frame(9, Way.OUT, 4, HELD),
    frame(10, Way.NOTE, 4, DROPPED),
    frame(11, Way.IN, 5, HELD),
    frame(12, Way.NOTE, 5, LET_GO),
    frame(13, Way.OUT, 6, HELD),
    frame(14, Way.OUT, 6, CHANGED),
    frame(15, Way.ERR),
    frame(16, Way.NOTE, 99, LET_GO),
)


def test_the_client_sees_what_it_wrote_and_what_reached_it() -> None:
    """A held answer when it was let go, a changed one instead of the original."""
    assert [one.seq for one in as_client(SESSION)] == [1, 2, 4, 5, 7, 6, 11, 14]


def test_the_server_sees_what_reached_it_and_what_it_wrote() -> None:
    """A changed request instead of the original; nothing of one that was answered instead."""
    assert [one.seq for one in as_server(SESSION)] == [1, 3, 6, 7, 9, 11, 13]
