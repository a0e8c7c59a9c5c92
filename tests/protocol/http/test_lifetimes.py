"""Sessions over HTTP that nothing has ended."""

from __future__ import annotations

from humanmcp.protocol.http.lifetimes import (
    MAKES_ROOM_AFTER,
    SESSION_ENDS_AFTER,
    VISIT_ENDS_AFTER,
    makes_room,
    silent,
)


class Kept:
    """A session of which something was last heard at a moment."""

    def __init__(self, name: str, last_seen: float, *, is_idle: bool = True) -> None:
        """Begin with it."""
        self.id = name
        self.last_seen = last_seen
        self.is_idle = is_idle


def test_a_visitor_is_gone_long_before_a_client_that_may_come_back() -> None:
    """Who waits is never gone, whatever the silence."""
    visitor, client, waits = Kept("", 0), Kept("id", 0), Kept("", 0, is_idle=False)
    every = [visitor, client, waits]
    assert silent(every, VISIT_ENDS_AFTER) == []
    assert silent(every, VISIT_ENDS_AFTER + 1) == [visitor]
    assert silent(every, SESSION_ENDS_AFTER + 1) == [visitor, client]


def test_the_one_that_is_idle_longest_makes_room() -> None:
    """None that waits, and none that was heard of a moment ago."""
    newer, older, waits = Kept("a", 5), Kept("b", 2), Kept("c", 0, is_idle=False)
    every = [newer, older, waits]
    assert makes_room(every, 1 + MAKES_ROOM_AFTER) is None
    assert makes_room(every, 9 + MAKES_ROOM_AFTER) is older
    assert makes_room([waits], 9 + MAKES_ROOM_AFTER) is None
