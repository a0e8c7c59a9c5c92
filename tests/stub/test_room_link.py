"""`humanmcp serve --room`: a server of one's own whose questions a room's seat answers, too."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from humanmcp.cli import main
from humanmcp.inbox.folder import FolderInbox
from humanmcp.locales.stop import StopError
from humanmcp.stub.room_link import checked
from tests.desk.desking import Desking
from tests.room.rooming import Rooming
from tests.serving import Serving
from tests.waiting import until

if TYPE_CHECKING:
    from pathlib import Path

CALL = b'{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"t","arguments":{}}}'


def test_a_call_is_answered_in_the_room_and_goes_on_without_it(tmp_path: Path) -> None:
    """Room 3, third way: here or there, one answer; what was missed is made good on return."""
    home = tmp_path / "room"
    with Rooming(home) as room:
        learner = room.learner("own")
        key = learner.link.rpartition("/")[2]
        flags = ("--room", f"http://127.0.0.1:{room.port}/r/{room.name}", "--seat", key)
        with Serving(tmp_path / "mine", "--by-hand", *flags) as mine:
            mine.say(CALL)
            asked = learner.question("tools/call")
            assert learner.answer(asked, "sunny", "text").json["became"] in {"sent", "on its way"}
            assert "sunny" in mine.hear()
            own = FolderInbox(tmp_path / "mine")
            until(lambda: own.sessions()[0].room == "there", "the page here knows of the room")
            room.kill()
            with Desking(tmp_path / "mine", "--lang", "en") as desk:
                until(lambda: "cannot be reached" in desk.page("/list"), "the page says it is away")
            mine.say(CALL.replace(b"5", b"6"))
            mine.type('{"result":{"content":[{"type":"text","text":"from here"}]}}')
            assert "from here" in mine.hear()
            mine.say(CALL.replace(b"5", b"7"))
            with Rooming(home) as back:
                assert back.port == room.port
                again = until(
                    lambda: next(
                        (
                            one
                            for one in learner.waiting()
                            if one["session"] == asked["session"] and one["number"] == 3
                        ),
                        None,
                    ),
                    "the third call",
                )
                assert learner.answer(again, "cloudy", "text").status in {200, 202}
                assert "cloudy" in mine.hear()
                found = learner.get("/api/history?q=from").json["lines"]
                assert found


@pytest.mark.parametrize(
    ("url", "key"), [("", "k"), ("ftp://x/r/a", "k"), ("http://x/", "k"), ("http://x/r/a", "")]
)
def test_what_is_no_seat_is_said_before_anything_begins(url: str, key: str) -> None:
    """A host shows the first lines of stderr."""
    with pytest.raises(StopError):
        checked(url, key)


def test_over_http_the_seat_itself_is_named(capfd: pytest.CaptureFixture[str]) -> None:
    """A client that speaks HTTP needs no server in between."""
    assert main(["serve", "--http", "--room", "http://x/r/a/", "--seat", "k"]) == 1
    assert "http://x/r/a/s/KEY/mcp" in capfd.readouterr().err
