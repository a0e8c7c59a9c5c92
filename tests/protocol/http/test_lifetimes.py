"""Sessions over HTTP that nothing has ended."""

import re

from humanmcp.protocol.http.outbound import (
    MAKES_ROOM_AFTER,
    SESSION_ENDS_AFTER,
    VISIT_ENDS_AFTER,
    evictable,
    silent,
    visitor_of,
)
from tests.asking import STATED, asked


class Kept:
    """A session of which something was last heard at a moment."""

    def __init__(
        self, name: str, last_seen: float, *, is_idle: bool = True, address: str = ""
    ) -> None:
        """Begin with it."""
        self.id = name
        self.address = address
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
    assert evictable(every, 1 + MAKES_ROOM_AFTER, "") is None
    assert evictable(every, 9 + MAKES_ROOM_AFTER, "") is older
    assert evictable([waits], 9 + MAKES_ROOM_AFTER, "") is None


def test_a_client_that_opens_many_sessions_ends_its_own() -> None:
    """Those of another address are safe, however long they are silent."""
    honest = [Kept("a", 0, address="honest"), Kept("b", 0, address="honest")]
    greedy = [Kept(f"{number}", 5 + number, address="greedy") for number in range(4)]
    now = 99 + MAKES_ROOM_AFTER
    assert evictable([*honest, *greedy], now, "greedy") is greedy[0]
    assert evictable([*honest, *greedy[:2]], now, "greedy") is greedy[0]
    waiting = [Kept("w", 5, address="greedy", is_idle=False) for _ in range(3)]
    assert evictable([*honest, *waiting], now, "greedy") is None


def test_an_address_with_more_than_half_of_all_sessions_keeps_no_other_out() -> None:
    """Neither by being heard of all the while nor by letting all its requests wait."""
    other = [Kept("a", 0, address="other")]
    waiting = [Kept(f"{at}", at, address="greedy", is_idle=False) for at in range(2)]
    fresh = Kept("fresh", 9, address="greedy")
    assert evictable([*other, *waiting], 9, "new") is waiting[0]
    assert evictable([*other, *waiting, fresh], 9, "other") is fresh
    assert evictable([*other, *waiting, fresh], 9, "greedy") is None


def test_of_several_addresses_the_one_with_the_most_sessions_makes_room() -> None:
    """Whoever has more than the newcomer, and after a minute of silence alone."""
    one = [Kept("a", 0, address="one")]
    two = [Kept(f"{at}", at, address="two") for at in (4, 3)]
    three = [Kept(f"{at}", at, address="three") for at in (9, 5, 7)]
    every = [*one, *two, *three]
    assert evictable(every, 99 + MAKES_ROOM_AFTER, "new") is three[1]
    assert evictable(every, 4.5 + MAKES_ROOM_AFTER, "new") is two[1]
    assert evictable(every, 2 + MAKES_ROOM_AFTER, "two") is None


def test_clients_that_have_not_come_back_after_a_start_crowd_nobody_out() -> None:
    """Nobody knows where they are: they have the usual minute."""
    resumed = [Kept(f"{at}", at) for at in range(3)]
    assert evictable(resumed, 9, "new") is None
    assert evictable(resumed, 9 + MAKES_ROOM_AFTER, "new") is resumed[0]


def test_a_visitor_is_known_by_its_key_and_by_what_it_says_that_it_is() -> None:
    """In whatever order it says so; one that says nothing is one, too. No key is written down."""

    def of(info: object, key: str = "key", host: str = "host") -> str:
        meta = {} if info is None else {"_meta": {STATED + "clientInfo": info}}
        return visitor_of(asked("ping", meta).request, key, host)

    who = of({"version": "1", "name": "é"})
    assert who == of({"name": "é", "version": "1"})
    others = {of(None), of({"name": "é"}), of({"version": "1", "name": "é"}, "other")}
    others.add(of({"version": "1", "name": "é"}, host="other"))
    assert len({who, *others}) == 5
    assert re.fullmatch("[0-9a-f]{64}", who)
    assert of("x" * 9999) == of("x" * 99999)
