"""A tapped session from one side."""

from humanmcp.protocol.conversation.transcript import (
    CHANGED,
    DROPPED,
    HELD,
    INSTEAD,
    LET_GO,
    Direction,
    Frame,
    seen_by_client,
)


def frame(seq: int, direction: Direction, number: int = 0, note: str = "") -> Frame:
    """Make a frame."""
    return Frame(seq, "", direction, b"{}", number, note=note)


SESSION = (
    frame(1, Direction.IN),
    frame(2, Direction.IN, 1, HELD),
    frame(3, Direction.IN, 1, CHANGED),
    frame(4, Direction.IN, 2, HELD),
    frame(5, Direction.OUT, 2, INSTEAD),
    frame(6, Direction.OUT, 3, HELD),
    frame(7, Direction.OUT),
    frame(8, Direction.NOTE, 3, LET_GO),
    frame(9, Direction.OUT, 4, HELD),
    frame(10, Direction.NOTE, 4, DROPPED),
    frame(11, Direction.IN, 5, HELD),
    frame(12, Direction.NOTE, 5, LET_GO),
    frame(13, Direction.OUT, 6, HELD),
    frame(14, Direction.OUT, 6, CHANGED),
    frame(15, Direction.ERR),
    frame(16, Direction.NOTE, 99, LET_GO),
)


def test_the_client_sees_what_it_wrote_and_what_reached_it() -> None:
    """A held answer when it was let go, a changed one instead of the original."""
    assert [one.seq for one in seen_by_client(SESSION)] == [1, 2, 4, 5, 7, 6, 11, 14]
