"""A seat that is removed and given back at once: nobody is let in while it is still being left."""

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from humanmcp.desk.guard import Address
from humanmcp.extensions.classroom.room.app import HostSeats
from humanmcp.extensions.classroom.room.classroom import Classroom
from humanmcp.extensions.classroom.room.pages import around_of
from humanmcp.extensions.classroom.room.records import RoomRole, Visitor, login
from tests.support.opened_room import has_its_request
from tests.support.waiting import until


@pytest.fixture
def classroom(tmp_path: Path) -> Iterator[Classroom]:
    """A room with one seat, at its first request."""
    opened = Classroom(tmp_path / "class", "en", around_of)
    opened.open(Address(1), "http://127.0.0.1:1")
    opened.run()
    seat = opened.join("Ann")
    assert seat
    until(lambda: has_its_request(seat), "the first request")
    yield opened
    opened.close()


class SecondHand(threading.Thread):
    """A teacher who lets a person in, unless the room makes them wait."""

    def __init__(self, classroom: Classroom, knock: int) -> None:
        super().__init__()
        self._classroom, self._knock = classroom, knock

    def run(self) -> None:
        """Let them in at once, or not at all: whoever waits comes later."""
        lock = self._classroom._lock
        if lock.acquire(blocking=False):
            try:
                self._classroom.let_in(self._knock, 1)
            finally:
                lock.release()


@pytest.mark.parametrize("moment", ["dismiss", "close", "told"])
def test_whoever_is_let_in_while_a_seat_is_left_keeps_it(
    classroom: Classroom, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    """The teacher can look on, the lesson goes on, and the seat is not ended once more."""
    (seat,) = classroom.seats
    knock = classroom.knock("Ann", lost=True)
    assert knock
    ended: list[int] = []

    def at(here: str) -> None:
        if here == moment and not ended:
            hand = SecondHand(classroom, knock.number)
            hand.start()
            hand.join()

    dismiss, close = classroom.door.dismiss, seat.close

    def dismissed(visitor: Visitor) -> None:
        at("dismiss")
        dismiss(visitor)

    def closed() -> None:
        at("close")
        close()

    def told(number: int) -> None:
        at("told")
        assert classroom.seat(number) is None, "the seat that was given back is ended"
        ended.append(number)

    monkeypatch.setattr(classroom.door, "dismiss", dismissed)
    monkeypatch.setattr(seat, "close", closed)
    classroom.on_removed = told
    classroom.remove([seat])
    classroom.let_in(knock.number, 1)
    (back,) = classroom.seats
    assert back is not seat
    assert ended == [1]
    watcher = Visitor(RoomRole.WATCHER, 1)
    assert classroom.door.who(login(watcher, classroom.record.teacher)) == watcher
    assert classroom.granted == {knock.number: 1}
    assert classroom.removed == {}
    until(lambda: has_its_request(back), "the same request again")


def test_the_address_of_a_seat_that_was_given_back_leads_to_no_seat_of_before(
    classroom: Classroom,
) -> None:
    """A host may have been served for the first time just before its seat was removed."""
    hosts = HostSeats(classroom)

    async def use() -> None:
        await hosts.go_on()
        (seat,) = classroom.seats
        removing = threading.Thread(target=hosts.remove, args=(1,))
        removing.start()
        removing.join()  # and meanwhile the request of before goes on
        served = hosts._of(seat)
        await asyncio.sleep(0)
        assert 1 not in hosts._open
        assert hosts._of(seat) is not served

    asyncio.run(use())
