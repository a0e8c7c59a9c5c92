"""Sessions over HTTP that nothing has ended."""

from __future__ import annotations

import hashlib
import json

from humanmcp.protocol.http.lifetimes import (
    MAKES_ROOM_AFTER,
    SESSION_ENDS_AFTER,
    VISIT_ENDS_AFTER,
    digest_of,
    makes_room,
    silent,
    visitor_of,
)
from tests.asking import STATED, asked


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


def test_a_visitor_is_known_by_its_key_and_by_what_it_says_that_it_is() -> None:
    """In whatever order it says so; one that says nothing is one, too."""
    meta = {STATED + "clientInfo": {"version": "1", "name": "é"}}
    who = visitor_of(asked("ping", {"_meta": meta}).request, "key")
    assert who == ("key", '{"name": "\\u00e9", "version": "1"}')
    assert visitor_of(asked("ping").request, "") == ("", "null")
    long = visitor_of(asked("ping", {"_meta": {STATED + "clientInfo": "x" * 9999}}).request, "")
    assert 100 < len(long[1]) < 9999
    digest = digest_of(who)
    assert digest == hashlib.sha256(json.dumps(list(who)).encode()).hexdigest()
