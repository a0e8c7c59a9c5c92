"""Whatever anybody sends to any page or call of a room: never an error page."""

from collections.abc import Iterator

import pytest

from humanmcp.extensions.classroom.room.records import RoomRole
from tests.desk.test_any_request import never_an_error
from tests.extensions.classroom.room.test_rights import PEOPLE, Seat
from tests.support.room_process import Rooming


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rooming]:
    """A room."""
    with Rooming(tmp_path_factory.mktemp("any") / "home") as opened:
        yield opened


@pytest.mark.parametrize("who", PEOPLE, ids=str)
def test_no_request_to_a_room_is_answered_with_an_error_page(room: Rooming, who: RoomRole) -> None:
    """As anybody who comes there."""
    learner = room.learner("Ann")
    names = [str(learner.question()["session"])]
    never_an_error(Seat(PEOPLE[who](room)), names)
