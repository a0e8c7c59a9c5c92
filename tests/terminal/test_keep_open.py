"""An answer that leaves its request open: wrong first, and right after."""

import json

from tests.serving import Serving
from tests.terminal.rooms import CALL, Room, Shell
from tests.waiting import until


def test_a_broken_answer_goes_out_and_its_request_stays_open(room: Room, shell: Shell) -> None:
    """From the terminal as from the page; without --send-anyway nothing wrong goes out."""
    with Serving(room.home, "--by-hand") as server:
        server.say(CALL)
        until(lambda: "tools/call" in shell("inbox").out, "the call")
        wrong = ("answer", "--text", "sunny", "--break", "wrong-id", "--keep-open")
        assert shell(*wrong).status == 1
        ran = shell(*wrong, "--send-anyway")
        assert (ran.status, json.loads(server.hear())["id"]) == (0, 1000003)
        assert "is still open" in ran.out
        for _ in range(2):
            assert shell("answer", "--text", "cloudy", "--keep-open").status == 0
            assert json.loads(server.hear())["id"] == 3
        assert shell("answer", "--text", "sunny").status == 0
        assert json.loads(server.hear())["result"]["content"][0]["text"] == "sunny"
        assert server.close()[1] == []
