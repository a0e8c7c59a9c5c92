"""A room whose seats' inboxes are in a database."""

import shutil
from pathlib import Path

import pytest

from humanmcp.inbox import open_inbox
from tests.support.postgres_server import PostgresServer
from tests.support.room_process import Rooming
from tests.support.waiting import until

pytestmark = [pytest.mark.postgres, pytest.mark.xdist_group("postgres")]


def test_seats_in_a_database_are_answered_and_go_on_on_another_machine(
    tmp_path: Path, postgres: PostgresServer
) -> None:
    """Each seat has an inbox of its own there, which goes on with the room's folder."""
    with Rooming(tmp_path / "one", "--inbox", postgres.url) as room:
        ann, ben = room.learner("Ann"), room.learner("Ben")
        ann.answer_as_offered("initialize")
        before = ann.question("tools/list")["session"]
        ben.question("initialize")
        seats = [open_inbox(tmp_path, postgres.url, f"{room.name}/{n:03d}") for n in (1, 2)]

        def held() -> list[list[int]]:
            items = [seat.items(seat.sessions()[0].name) for seat in seats]
            return [[item.key.number for item in one] for one in items]

        until(lambda: held() == [[2], [1]], "one question in each inbox")
        link, seat = ann.link, room.folder / "seats" / "001"
        assert not (seat / "sessions").exists()
        room.kill()
    shutil.copytree(tmp_path / "one", tmp_path / "two")
    with Rooming(tmp_path / "two", "--inbox", postgres.url) as room:
        ann = room.visitor().follow(link)

        asked = ann.question("tools/list")
        assert (asked["session"], asked["number"]) == (before, 2)
        text = ann.get(f"/api/exchanges/{before}/2").json["document"]
        ann.answer(asked, str(text))  # it is sent when the lease of the dead process has lapsed
        assert ann.question("tools/call")["session"] == before
